"""Fingerprints and their items in one file: compact, checked, and read a block at a time.

::

    magic | header's length | header, JSON | directory | items   | blocks | checksum
      8           4                          24 a block  4 each              32

The header has version, count and distance.  Fingerprints are sorted and stand in blocks of 1,024
(:mod:`scrapy_simhash.tables.batch.codec`).  The directory has, for each block, its first
fingerprint, where the block begins, and the parameter of its codes.  Items stand in the order of
the fingerprints.  Numbers are little-endian; the checksum is BLAKE2b of all bytes before it.

A snapshot does not hold the tables of its fingerprints: they are built anew, by any design.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
import sys
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexFormatError
from scrapy_simhash.files import replacing
from scrapy_simhash.tables.batch.codec import decode_block, encode_block, rice_parameter

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

MAGIC = b"SIMHSNAP"
VERSION = 1
BLOCK = 1024

_LENGTH = struct.Struct("<I")
_ENTRY = struct.Struct("<QQBxxxxxxx")  # first fingerprint, offset, Rice parameter
_CHECKSUM_BYTES = 32
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Header:
    """How many fingerprints a snapshot has, and the distance that they were saved for."""

    count: int
    distance: int
    version: int = VERSION


def save_snapshot(
    path: str | os.PathLike[str],
    fingerprints: Sequence[int],
    items: Sequence[int],
    distance: int,
) -> None:
    """Write a snapshot in one step: at *path* stands the old file or the whole new one.

    *fingerprints* ascend, and *items* belong to them: arrays of typecodes Q and I, as
    ``entries()`` of the tables returns them.

    :raises OSError: it cannot be written; the old file is unchanged.
    """
    header = json.dumps(asdict(Header(len(fingerprints), distance))).encode()
    blocks, directory = _encoded(fingerprints)
    head = MAGIC + _LENGTH.pack(len(header)) + header
    digest = hashlib.blake2b(digest_size=_CHECKSUM_BYTES)
    with replacing(Path(path)) as unfinished, unfinished.open("wb") as file:
        for part in (head, directory, _little_endian("I", items), *blocks):
            digest.update(part)
            file.write(part)
        file.write(digest.digest())
        file.flush()
        os.fsync(file.fileno())


def _encoded(fingerprints: Sequence[int]) -> tuple[list[bytes], bytes]:
    blocks, directory, offset = [], [], 0
    for start in range(0, len(fingerprints), BLOCK):
        block = fingerprints[start : start + BLOCK]
        r = rice_parameter(block)
        data = encode_block(block, r)
        directory.append(_ENTRY.pack(block[0], offset, r))
        blocks.append(data)
        offset += len(data)
    return blocks, b"".join(directory)


class Snapshot:
    """A snapshot that is open for reading, mapped into memory: a block is loaded when it is read.

    :raises IndexFormatError: the file is no snapshot, is truncated or altered, or is newer.
    :raises OSError: it cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        with self.path.open("rb") as file:
            try:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError as exc:  # an empty file cannot be mapped
                raise IndexFormatError(f"{self.path} is no snapshot: it is empty") from exc
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    def _check(self) -> None:
        if self._map[: len(MAGIC)] != MAGIC:
            raise IndexFormatError(f"{self.path} is no snapshot of fingerprints")
        end = len(self._map) - _CHECKSUM_BYTES
        digest = hashlib.blake2b(digest_size=_CHECKSUM_BYTES)
        with memoryview(self._map) as view:
            for start in range(0, end, _CHUNK):
                digest.update(view[start : min(start + _CHUNK, end)])
        if digest.digest() != self._map[max(0, end) :]:
            raise IndexFormatError(
                f"{self.path} is truncated or was altered: its checksum does not match. The file "
                f'is left as it is; make it anew by "scrapy simhash pack".'
            )
        start = len(MAGIC) + _LENGTH.size
        (length,) = _LENGTH.unpack(self._map[len(MAGIC) : start])
        fields = json.loads(self._map[start : start + length])
        if fields.get("version") != VERSION:
            raise IndexFormatError(
                f"{self.path} is a snapshot of version {fields.get('version')}; this release "
                f"reads version {VERSION}"
            )
        self.header = Header(fields["count"], fields["distance"])
        directory = start + length
        self._items_at = directory + _ENTRY.size * -(-self.header.count // BLOCK)
        self._entries = list(_ENTRY.iter_unpack(self._map[directory : self._items_at]))
        self._blocks_at = self._items_at + 4 * self.header.count

    def __len__(self) -> int:
        """Return how many fingerprints there are, repeated ones included."""
        return self.header.count

    @property
    def nbytes(self) -> int:
        """The size of the file."""
        return len(self._map)

    def blocks(self) -> Iterator[tuple[array[int], array[int]]]:
        """Yield (fingerprints, items) of 1,024 at a time, ascending."""
        return map(self._block, range(len(self._entries)))

    def _block(self, number: int) -> tuple[array[int], array[int]]:
        first, offset, r = self._entries[number]
        count = min(BLOCK, self.header.count - number * BLOCK)
        at = self._items_at + 4 * BLOCK * number
        items = array("I", self._map[at : at + 4 * count])
        if sys.byteorder == "big":
            items.byteswap()
        start = self._blocks_at + offset
        end = len(self._map) - _CHECKSUM_BYTES
        if number + 1 < len(self._entries):
            end = self._blocks_at + self._entries[number + 1][1]
        return decode_block(self._map[start:end], first, count, r), items

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        self._map.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _little_endian(typecode: str, values: Sequence[int]) -> bytes:
    numbers = array(typecode, values)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
