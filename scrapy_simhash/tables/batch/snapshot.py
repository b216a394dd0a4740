"""Fingerprints and their items in one file: compact, checked, and read a block at a time.

A *snapshot* is such a file::

    magic | header's length | header, JSON | directory | items   | blocks | checksum
      8           4                          24 a block  4 each              32

The header has version and count.  Fingerprints are sorted and stand in blocks of 1,024.
The directory has, for each block, its first fingerprint, where the block begins, and the parameter
of its codes.  Items stand in the order of the fingerprints.  Numbers are little-endian; the
checksum is BLAKE2b of all bytes before it.

A snapshot does not hold the tables of its fingerprints: they are built anew, by any design.

Blocks
------
The differences of a sorted table are stored instead of its fingerprints, as section 3.2 of Manku,
Jain and Das Sarma proposes.  Each difference is a Rice code (Rice and Plaunt, "Adaptive
Variable-Length Coding for Efficient Compression of Spacecraft Television Data", IEEE Transactions
on Communications 19(6), 1971), whose parameter r suits the mean difference of the block::

    difference   quotient by 2**r in unary | remainder in r bits
    20, r = 3    001                       | 100

Bits fill bytes from the highest.  A block of n evenly spread fingerprints takes about
log2(2**64 / n) + 1.5 bits for each, at most 0.1 bit more than the least that is possible.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.errors import IndexFormatError
from scrapy_simhash.files import replacing
from scrapy_simhash.tables import PermutedTables

if TYPE_CHECKING:
    from typing_extensions import Self

MASK = (1 << 64) - 1
MAGIC = b"SIMHSNAP"
VERSION = 1
BLOCK = 1024

_LENGTH = struct.Struct("<I")
_ENTRY = struct.Struct("<QQBxxxxxxx")  # first fingerprint, offset, Rice parameter
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
    header = json.dumps({"count": len(fingerprints), "version": VERSION}).encode()
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
                f'is left as it is; make it anew by "scrapy simhash tables pack".'
            )
        start = len(MAGIC) + _LENGTH.size
        (length,) = _LENGTH.unpack(self._map[len(MAGIC) : start])
        fields = json.loads(self._map[start : start + length])
        if fields.get("version") != VERSION:
            raise IndexFormatError(
                f"{self.path} is a snapshot of version {fields.get('version')}; this release "
                f"reads version {VERSION}"
            )
        self._count: int = fields["count"]
        directory = start + length
        self._items_at = directory + _ENTRY.size * -(-self._count // BLOCK)
        self._entries = list(_ENTRY.iter_unpack(self._map[directory : self._items_at]))
        self._blocks_at = self._items_at + 4 * self._count

    def __len__(self) -> int:
        """Return how many fingerprints there are, repeated ones included."""
        return self._count

    def blocks(self) -> Iterator[tuple[array[int], array[int]]]:
        """Yield (fingerprints, items) of 1,024 at a time, ascending."""
        return map(self._block, range(len(self._entries)))

    def _block(self, number: int) -> tuple[array[int], array[int]]:
        first, offset, r = self._entries[number]
        count = min(BLOCK, self._count - number * BLOCK)
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

    def __exit__(self, *_: object) -> None:
        self.close()


def _little_endian(typecode: str, values: Sequence[int]) -> bytes:
    numbers = array(typecode, values)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


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


def rice_parameter(fingerprints: Sequence[int]) -> int:
    """Return r for a sorted block: the bits of its mean difference, less 1; at least 0."""
    if len(fingerprints) < 2:
        return 0
    mean = (fingerprints[-1] - fingerprints[0]) // (len(fingerprints) - 1)
    return max(0, mean.bit_length() - 1)


def encode_block_in_python(fingerprints: Sequence[int], r: int) -> bytes:
    """Return the differences of a sorted block in Rice codes of parameter *r*."""
    codes = []
    for i in range(1, len(fingerprints)):
        quotient, remainder = divmod(fingerprints[i] - fingerprints[i - 1], 1 << r)
        codes.append("0" * quotient + "1" + (format(remainder, f"0{r}b") if r else ""))
    bits = "".join(codes)
    size = (len(bits) + 7) // 8
    return int(bits.ljust(8 * size, "0") or "0", 2).to_bytes(size, "big")


def decode_block_in_python(data: bytes, first: int, count: int, r: int) -> array[int]:
    """Return the *count* fingerprints of a block that begins with *first*.

    :raises ValueError: the data ends before the block, or leaves 64 bits.
    """
    bits = format(int.from_bytes(data, "big"), f"0{8 * len(data)}b") if data else ""
    fingerprints = array("Q", [first])
    at, value = 0, first
    for _ in range(count - 1):
        one = bits.find("1", at)
        end = one + 1 + r
        if one < 0 or end > len(bits):
            raise ValueError("a block of fingerprints ends early")
        value += (one - at << r) + (int(bits[one + 1 : end], 2) if r else 0)
        if value > MASK:
            raise ValueError("a block of fingerprints leaves 64 bits")
        fingerprints.append(value)
        at = end
    return fingerprints


if TYPE_CHECKING:
    encode_block, decode_block = encode_block_in_python, decode_block_in_python
else:
    try:
        from scrapy_simhash.tables.batch.compiled_codec import decode_block, encode_block
    except ImportError:
        encode_block, decode_block = encode_block_in_python, decode_block_in_python
