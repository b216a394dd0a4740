"""Fingerprints and their items in one file: compact, checked, and read a block at a time.

A *snapshot* is such a file::

    magic | version | count | block | block | ... | checksum
      8        4        8                             32

    block   | first fingerprint | width | differences       | items  |
                     8              1     width x (1,024 - 1)  4 each

Fingerprints are sorted and stand in blocks of 1,024, with their items behind them.  The differences
of a sorted table are stored instead of its fingerprints, as section 3.2 of Manku, Jain and Das
Sarma proposes: of each block in as many bytes as its largest one needs, the lowest byte of all
first, then the next.  Numbers are little-endian; the checksum is BLAKE2b of all bytes before it.

A snapshot does not hold the tables of its fingerprints: they are built anew, by any design.
"""

from __future__ import annotations

import hashlib
import os
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import sub
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from scrapy_simhash.errors import IndexFormatError
from scrapy_simhash.files import replacing
from scrapy_simhash.tables import PermutedTables

if TYPE_CHECKING:
    from typing_extensions import Self

MAGIC = b"SIMHSNAP"
VERSION = 2
BLOCK = 1024

_HEAD = struct.Struct("<8sIQ")
_BLOCK = struct.Struct("<QB")
_CHECKSUM_BYTES = 32
_CHUNK = 1 << 22


def save_snapshot(
    path: str | os.PathLike[str], fingerprints: Sequence[int], items: Sequence[int]
) -> None:
    """Write a snapshot in one step: at *path* stands the old file or the whole new one.

    *fingerprints* ascend, and *items* belong to them: arrays of typecodes Q and I, as
    ``entries()`` of the tables returns them.

    :raises OSError: it cannot be written; the old file is unchanged.
    """
    digest = hashlib.blake2b(digest_size=_CHECKSUM_BYTES)
    with replacing(Path(path)) as unfinished, unfinished.open("wb") as file:
        for part in _parts(fingerprints, items):
            digest.update(part)
            file.write(part)
        file.write(digest.digest())
        file.flush()
        os.fsync(file.fileno())


def _parts(fingerprints: Sequence[int], items: Sequence[int]) -> Iterator[bytes]:
    yield _HEAD.pack(MAGIC, VERSION, len(fingerprints))
    for start in range(0, len(fingerprints), BLOCK):
        block = fingerprints[start : start + BLOCK]
        differences = array("Q", map(sub, block[1:], block))
        width = (max(differences, default=0).bit_length() + 7) // 8
        data = _little_endian(differences).tobytes()
        yield _BLOCK.pack(block[0], width)
        yield b"".join(data[byte::8] for byte in range(width))
        yield _little_endian(array("I", items[start : start + BLOCK])).tobytes()


class Snapshot:
    """A snapshot that is open for reading, a block at a time.

    :raises IndexFormatError: the file is no snapshot, is truncated or altered, or is newer.
    :raises OSError: it cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = Path(path).open("rb")  # noqa: SIM115 - closed by close()
        try:
            self._count = _checked_count(self._file)
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        """Return how many fingerprints there are, repeated ones included."""
        return self._count

    def blocks(self) -> Iterator[tuple[array[int], array[int]]]:
        """Yield (fingerprints, items) of 1,024 at a time, ascending."""
        self._file.seek(_HEAD.size)
        for start in range(0, self._count, BLOCK):
            count = min(BLOCK, self._count - start)
            first, width = _BLOCK.unpack(self._file.read(_BLOCK.size))
            data = bytearray(8 * (count - 1))
            for byte in range(width):
                data[byte::8] = self._file.read(count - 1)
            differences = _little_endian(array("Q", bytes(data)))
            items = _little_endian(array("I", self._file.read(4 * count)))
            yield array("Q", accumulate(differences, initial=first)), items

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _checked_count(file: BinaryIO) -> int:
    """Return the number of fingerprints that a whole snapshot has."""
    head = file.read(_HEAD.size)
    if not head.startswith(MAGIC):
        raise IndexFormatError(f"{file.name} is no snapshot of fingerprints")
    digest = hashlib.blake2b(head, digest_size=_CHECKSUM_BYTES)
    left = os.fstat(file.fileno()).st_size - _HEAD.size - _CHECKSUM_BYTES
    while left > 0 and (chunk := file.read(min(left, _CHUNK))):
        digest.update(chunk)
        left -= len(chunk)
    if len(head) < _HEAD.size or digest.digest() != file.read():
        raise IndexFormatError(
            f"{file.name} is truncated or was altered: its checksum does not match. The file "
            f'is left as it is; make it anew by "scrapy simhash tables pack".'
        )
    _, version, count = _HEAD.unpack(head)
    if version != VERSION:
        raise IndexFormatError(
            f"{file.name} is a snapshot of version {version}; this release reads version {VERSION}"
        )
    return int(count)


def _little_endian(numbers: array[int]) -> array[int]:
    """Return numbers of the machine's byte order in that of the file, or the reverse."""
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


class MatchedPair(NamedTuple):
    """The items of a query and of a stored fingerprint within the distance, and their distance."""

    query: int
    stored: int
    distance: int


def stream_matches(
    queries: PermutedTables, stored: Iterable[tuple[Sequence[int], Sequence[int]]]
) -> Iterator[list[MatchedPair]]:
    """Yield, for each block of *stored*, all pairs within the distance of *queries*.

    The batch query of section 3.3: only the queries must fit into memory.  *stored* yields
    (fingerprints, items), as :meth:`Snapshot.blocks` does.  Pairs come in the order of the stored
    fingerprints; those of one stored fingerprint, the closest query first.
    """
    for fingerprints, items in stored:
        nearest, _ = queries.check_many(fingerprints)
        yield [
            MatchedPair(match.item, item, match.distance)
            for found, fingerprint, item in zip(nearest, fingerprints, items, strict=True)
            if found >= 0
            for match in queries.matches(fingerprint)
        ]
