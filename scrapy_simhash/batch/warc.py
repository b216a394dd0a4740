"""The records of a WARC file, each with its place, whatever is damaged beside it.

FastWARC stops at the first damaged record, and reads a record that is cut short as a whole one.  So
this module frames the records itself, by ISO 28500 (WARC/1.0 and 1.1)::

    | record | record | damaged | record |         a .warc: found again by its first line
    [ member ][ member ][ damaged ][ member ]      a .warc.gz: one record each, found by its magic
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

from scrapy_simhash.errors import SourceError

# Notes what is not read: the kind of the record, or what is wrong with it, and where it begins.
Note = Callable[[str, int], None]

# A longer block is not read: no page of a crawl is as long.
MAX_BLOCK_BYTES = 50 << 20
MAX_HEAD_BYTES = 64 << 10
# Of a length; no file is as long.
_MOST_DIGITS = 18

_GZIP = b"\x1f\x8b\x08"
_CHUNK_BYTES = 16 << 10
_SEARCH_BYTES = 64 << 10
# What is read of a file in vain, in its length, and at least: other damage is done on purpose.
_VAIN_TIMES, _VAIN_BYTES = 4, 16 << 20


class WarcRecord(NamedTuple):
    """A record as it stands in a file, from *offset* to *end*; *block* is empty if not wanted."""

    offset: int
    end: int
    headers: Mapping[str, str]
    block: bytes
    is_too_large: bool = False

    @property
    def url(self) -> str:
        """The address of the record; some writers put it in brackets."""
        return self.headers.get("warc-target-uri", "").strip("<>")


class UnreadableError(Exception):
    """There is no record, or page, that can be read; *kind* says why.

    *is_record* if a record begins there.
    """

    def __init__(self, kind: str, is_record: bool = False) -> None:
        super().__init__(kind)
        self.kind = kind
        self.is_record = is_record


class WarcFile:
    """The records of a file, in their order, and one by its place.

    Those of the types that are read have their blocks.  A damaged record is noted, and the search
    goes on behind its first byte: the next whole one may begin anywhere.  At most
    :data:`_VAIN_TIMES` the length of the file is read in vain.

    :raises SourceError: see :func:`pages`.
    """

    def __init__(self, file: BinaryIO, place: str, note: Note = lambda kind, offset: None) -> None:
        self._file = file
        self.place = place
        self.note = note
        self.size = file.seek(0, io.SEEK_END)
        file.seek(0)
        start = file.read(len(b"WARC/"))
        is_named = place.endswith(".gz") and not start.startswith(b"WARC/")
        self.is_gzip = start.startswith(_GZIP) or is_named

    def __iter__(self) -> Iterator[WarcRecord]:
        vain = max(_VAIN_TIMES * self.size, _VAIN_BYTES)
        found = noted = 0
        at, is_expected = 0, True
        if not self.size:
            self.note("truncated", 0)
        while at < self.size:
            try:
                record = self.at(at)
            except UnreadableError as damage:
                vain -= self._file.tell() - at
                if damage.is_record or is_expected:
                    noted += damage.is_record or damage.kind == "truncated"
                    self.note(damage.kind, at)
                at, is_expected = self._next(at + 1), False
                vain -= self._file.tell() - at
                if vain < 0:
                    self.note("given_up", at)
                    return
            else:
                found += 1
                at, is_expected = record.end, True
                yield record
        if self.size and not found and not noted:
            raise SourceError(f"{self.place} cannot be read: no WARC record begins there")

    def at(self, offset: int) -> WarcRecord:
        """Return the record that begins at a place.

        :raises UnreadableError: none does, or not all of it is there.
        """
        self._file.seek(offset)
        if not self.is_gzip:
            return self._plain(offset)
        member = _Member(self._file)
        source = io.BufferedReader(member, _CHUNK_BYTES)
        headers = _headers(source)
        with _within_a_record():
            block, is_too_large = _block(source, headers)
            rest = source.read(len(b"\r\n\r\nWARC/"))
            if rest.lstrip(b"\r\n").startswith(b"WARC/"):
                raise SourceError(
                    f"{self.place} must have each record in a member of gzip of its own, so that "
                    f"a record can be found again: write it anew with "
                    f'"warcio recompress {self.place} NEW.warc.gz"'
                )
            if rest.strip(b"\r\n") or source.read(1):
                raise UnreadableError("bad_record")
        return WarcRecord(offset, member.end, headers, block, is_too_large)

    def member(self, record: WarcRecord) -> bytes:
        """Return a record as a member of gzip of its own: byte by byte, if it is one."""
        self._file.seek(record.offset)
        data = self._file.read(record.end - record.offset)
        return data if self.is_gzip else gzip.compress(data, mtime=0)

    def _plain(self, offset: int) -> WarcRecord:
        headers = _headers(self._file)
        with _within_a_record():
            end = self._file.tell() + _length(headers)
            if end > self.size:
                raise UnreadableError("truncated")
            block, is_too_large = _block(self._file, headers)
            rest = self._file.read(_CHUNK_BYTES)
            behind = rest.lstrip(b"\r\n")
            is_whole = rest.startswith(b"\r\n\r\n") or behind.startswith(b"WARC/")
            if not is_whole and (behind or len(rest) == _CHUNK_BYTES):
                raise UnreadableError("bad_record")
        return WarcRecord(offset, end + len(rest) - len(behind), headers, block, is_too_large)

    def _next(self, start: int) -> int:
        """Return where the next record may begin, behind a place; else the file's length."""
        wanted = _GZIP if self.is_gzip else b"\nWARC/"
        at = start
        while at < self.size:
            self._file.seek(at)
            found = (data := self._file.read(_SEARCH_BYTES)).find(wanted)
            if found >= 0:
                at += found if self.is_gzip else found + 1
                self._file.seek(at)
                return at
            at += max(len(data) - len(wanted) + 1, 1)
        return self.size


class _Member(io.RawIOBase):
    """What one member of gzip holds; *end* is where it ends in the file, once all of it is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._inflater = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self.end = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        inflater = self._inflater
        while not inflater.eof:
            packed = inflater.unconsumed_tail or self._file.read(_CHUNK_BYTES)
            try:
                data = inflater.decompress(packed, len(buffer))
            except zlib.error as exc:
                raise UnreadableError("bad_record") from exc
            if inflater.eof:
                self.end = self._file.tell() - len(inflater.unused_data)
            if data:
                buffer[: len(data)] = data
                return len(data)
            if not packed and not inflater.eof:
                raise UnreadableError("truncated")
        return 0


@contextmanager
def _within_a_record() -> Iterator[None]:
    try:
        yield
    except UnreadableError as damage:
        damage.is_record = True
        raise


def _headers(source: BinaryIO) -> dict[str, str]:
    """Return the headers of the record that begins here, by their names in lower case."""
    start = source.readline(_CHUNK_BYTES)
    if not start.startswith(b"WARC/"):
        raise UnreadableError("truncated" if b"WARC/".startswith(start) else "bad_record")
    with _within_a_record():
        lines, left = [], MAX_HEAD_BYTES
        while (line := source.readline(left)) not in (b"\r\n", b"\n"):
            if not line.endswith(b"\n"):
                raise UnreadableError("bad_record" if source.read(1) else "truncated")
            lines.append(line)
            left -= len(line)
    return {name: _decoded(values[0]) for name, values in fields_of(lines).items()}


def fields_of(lines: Iterable[bytes]) -> dict[str, list[bytes]]:
    """Return headers with their values, as they stand in the lines of WARC or HTTP."""
    fields: dict[str, list[bytes]] = {}
    values: list[bytes] = []
    for line in lines:
        if values and line[:1] in (b" ", b"\t"):
            values[-1] += b" " + line.strip()
            continue
        name, colon, value = line.partition(b":")
        if colon:
            values = fields.setdefault(name.strip().lower().decode("latin-1"), [])
            values.append(value.strip())
    return fields


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _length(headers: Mapping[str, str]) -> int:
    length = headers.get("content-length", "")
    if not length.isdecimal() or len(length) > _MOST_DIGITS:
        raise UnreadableError("bad_record")
    return int(length)


def _block(source: BinaryIO, headers: Mapping[str, str]) -> tuple[bytes, bool]:
    """Return the block of a record, if it is wanted, and whether it is too large to be read."""
    length = _length(headers)
    is_wanted = headers.get("warc-type", "").lower() in ("response", "conversion")
    if not is_wanted or length > MAX_BLOCK_BYTES:
        _skip(source, length)
        return b"", is_wanted
    block = source.read(length)
    if len(block) < length:
        raise UnreadableError("bad_record")
    return block, False


def _skip(source: BinaryIO, count: int) -> None:
    if source.seekable():  # a member of gzip is not
        source.seek(count, io.SEEK_CUR)
        return
    while count:
        read = len(source.read(min(count, _SEARCH_BYTES)))
        if not read:
            raise UnreadableError("bad_record")
        count -= read
