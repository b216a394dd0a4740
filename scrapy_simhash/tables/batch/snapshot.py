"""Fingerprints and their items in one file: compact, checked, and read a block at a time.

::

    magic | header's length | header, JSON | directory | items   | blocks | checksum
      8           4                          24 a block  4 each              32

The header says version, count, distance, scheme and change.  Fingerprints are sorted and stand in
blocks of 1,024 (:mod:`scrapy_simhash.tables.batch.codec`); the directory has, for each, its first
fingerprint, where it begins, and the parameter of its codes.  Items stand in the order of the
fingerprints.  Numbers are little-endian; the checksum is BLAKE2b of all before it.

The layout of the tables in memory is not in it: tables are made anew, under any design.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.errors import IndexFormatError
from scrapy_simhash.tables.batch.codec import decode_block, encode_block, rice_parameter
from scrapy_simhash.tables.engine import PermutedTables

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from scrapy_simhash.tables.design import Table

MAGIC = b"SIMHSNAP"
VERSION = 1
BLOCK = 1024

_LENGTH = struct.Struct("<I")
_ENTRY = struct.Struct("<QQBxxxxxxx")  # first fingerprint, offset, Rice parameter
_CHECKSUM_BYTES = 32
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Header:
    """What a snapshot says of itself: *scheme* and *change* are for its reader to compare."""

    count: int
    distance: int
    scheme: str = ""
    change: int = 0
    version: int = VERSION


def save_snapshot(
    path: str | os.PathLike[str],
    fingerprints: Sequence[int],
    items: Sequence[int],
    distance: int,
    scheme: str = "",
    change: int = 0,
) -> None:
    """Write a snapshot in one step: at *path* stands the old file or the whole new one.

    *fingerprints* ascend, and *items* belong to them: arrays of typecodes Q and I, as
    ``entries()`` of the tables returns them.

    :raises OSError: it cannot be written; nothing has changed.
    """
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.new")
    header = json.dumps(asdict(Header(len(fingerprints), distance, scheme, change))).encode()
    blocks, directory = _encoded(fingerprints)
    head = MAGIC + _LENGTH.pack(len(header)) + header
    digest = hashlib.blake2b(digest_size=_CHECKSUM_BYTES)
    try:
        with unfinished.open("wb") as file:
            for part in (head, directory, _little_endian("I", items), *blocks):
                digest.update(part)
                file.write(part)
            file.write(digest.digest())
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


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
    """A snapshot that is open for reading, mapped into memory: only what is read is loaded.

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
                f"{self.path} is truncated or was altered: its checksum is another one. It was "
                f"left as it is; delete it, and it is made anew from the index"
            )
        start = len(MAGIC) + _LENGTH.size
        (length,) = _LENGTH.unpack(self._map[len(MAGIC) : start])
        fields = json.loads(self._map[start : start + length])
        if fields.get("version") != VERSION:
            raise IndexFormatError(
                f"{self.path} is a snapshot of version {fields.get('version')}; this release "
                f"reads version {VERSION}"
            )
        self.header = Header(**fields)
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

    def items_of(self, fingerprint: int) -> list[int]:
        """Return the items of one fingerprint; reads one block, or those it goes on in."""
        number = max(0, bisect_left(self._entries, (fingerprint,)) - 1)
        found: list[int] = []
        while number < len(self._entries) and self._entries[number][0] <= fingerprint:
            fingerprints, items = self._block(number)
            start = bisect_left(fingerprints, fingerprint)
            while start < len(fingerprints) and fingerprints[start] == fingerprint:
                found.append(items[start])
                start += 1
            number += 1
        return found

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

    def tables(self, distance: int, tables: Sequence[Table] | None = None) -> PermutedTables:
        """Return permuted tables with all that is in the snapshot."""
        made = PermutedTables(distance, tables)
        fingerprints, items = array("Q"), array("I")
        for block, block_items in self.blocks():
            fingerprints.extend(block)
            items.extend(block_items)
        made.build(fingerprints, items)
        return made

    def close(self) -> None:
        """Let go of the file; closing twice is no error."""
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
