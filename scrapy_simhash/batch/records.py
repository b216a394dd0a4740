"""The records of an archive, whatever its files are: each file an :class:`Input`, read by itself.

=================================  ==========================================================
``.warc``, ``.wet``, with ``.gz``  its pages; see :mod:`~scrapy_simhash.batch.pages`
``.wacz``                          the WARC files in it, each an input: ``path!/archive/a.warc.gz``
``.jsonl``, ``.jsonl.gz``          an object a line
``.parquet``                       a row each
``.html``, ``.htm``                a page; its address is that of the file
an index of a crawl                the fingerprints of its pages
=================================  ==========================================================

What is not read is counted by its kind, with some places: see :class:`Unread`.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import date as Date
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any, BinaryIO, cast
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from scrapy_simhash.batch.pages import ArchivedPage, is_url, microseconds, pages
from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.batch.warc import MAX_BLOCK_BYTES, Note, UnreadableError, WarcFile
from scrapy_simhash.errors import SourceError
from scrapy_simhash.index.opening import file_of, is_index
from scrapy_simhash.index.sqlite import schema
from scrapy_simhash.index.sqlite.rows import Rows

WARC_SUFFIXES = (".warc", ".warc.gz", ".wet", ".wet.gz")
# In JSON, a byte of a body may take six.
_MAX_LINE_BYTES = 6 * MAX_BLOCK_BYTES
# Of pages of 50 KB these take 3 MB.
_ROWS_AT_ONCE = 64
_BUFFER_BYTES = 1 << 20
# From the year 1, the first that Python has, to 3938: as far from 1970 either way.
MOST_SECONDS = 62_135_596_800
# The head of an entry of a ZIP file has its name and more behind these bytes; their lengths stand
# at 26 and 28 (APPNOTE.TXT, section 4.3.7).
_ZIP_HEAD_BYTES = 30

_IN_WACZ = re.compile(r"(.+\.wacz)!/(.+)", re.S)
_BITS = re.compile(r"[0-9A-Fa-f]{16}")
_CANNOT_BE_READ = (OSError, pa.ArrowException, BadZipFile)


@dataclass(frozen=True)
class Columns:
    """The names of the columns of Parquet files, and of the keys of JSON Lines.

    The pages are in *html*, *text* or *fingerprint*: in the first that a row has.  A fingerprint is
    64 bits: an integer, signed or not, or 16 hexadecimal digits.  *date* is a timestamp, a text of
    ISO 8601, or a number of seconds since the epoch.  *order* is what pages are ordered by.
    """

    url: str = "url"
    html: str = "html"
    text: str = "text"
    fingerprint: str = "fingerprint"
    date: str = "date"
    encoding: str = "encoding"
    order: str | None = None

    @classmethod
    def of(cls, pairs: Iterable[str], order: str | None = None) -> Columns:
        """Return the columns that some *pairs* such as ``html=body`` name; others keep their names.

        :raises SourceError: one is no such pair.
        """
        names = [one.name for one in fields(cls) if one.name != "order"]
        chosen = {}
        for pair in pairs:
            name, _, column = pair.partition("=")
            if name not in names or not column:
                raise SourceError(
                    f"A column must be one of {', '.join(names)}, with its name in the file, as in "
                    f"html=body: got {pair!r}"
                )
            chosen[name] = column
        return cls(**chosen, order=order)

    @property
    def contents(self) -> tuple[str, str, str]:
        """The columns of which a row needs one."""
        return self.html, self.text, self.fingerprint

    @property
    def names(self) -> list[str]:
        """All columns that are read."""
        more = [] if self.order is None else [self.order]
        return [*dict.fromkeys((self.url, *self.contents, self.date, self.encoding, *more))]

    def check(self, file: str, names: Iterable[str]) -> None:
        """Refuse a file whose columns have other *names*.

        :raises SourceError: it lacks the URL, all contents, or the column of the order.
        """
        has = set(names)
        if self.url in has and has.intersection(self.contents) and self.order in (None, *has):
            return
        order = "" if self.order is None else f", and {self.order}"
        raise SourceError(
            f"{file} must have the columns {self.url}, one of {', '.join(self.contents)}{order}: "
            f"got {', '.join(sorted(has)) or 'none'}. Say which they are: --column html=NAME"
        )


@dataclass(frozen=True)
class Input:
    """A file of an archive, with its number among all; a plain value, which any process can read.

    Make them with :func:`inputs`.
    """

    place: str
    number: int
    columns: Columns = Columns()

    @property
    def state(self) -> list[object]:
        """The file as it is now, in values that JSON has."""
        inner = _IN_WACZ.fullmatch(self.place)
        system, path = _located(inner[1] if inner else self.place)
        info = system.get_file_info(path)
        return [self.place, info.size, info.mtime_ns]

    def read(self, unread: Unread) -> Iterator[ArchivedPage]:
        """Return the records of the file, in their order; count in *unread* what is not read.

        :raises SourceError: the file cannot be read, or is not what its name says.
        """
        reader = _READERS.get(_suffix(self.place), _index)
        return reader(self.place, self.columns, partial(unread.add, self.place))


def inputs(places: Sequence[str], columns: Columns = Columns()) -> list[Input]:
    """Return the files at some places: paths, or URIs of a file system that pyarrow knows.

    Of a folder these are all files in it that can be read, by their names; of a WACZ file, the WARC
    files in it.  A file that is named twice is read once.

    :raises SourceError: there is none, or it is of no kind that can be read.
    """
    found = dict.fromkeys(file for place in places for file in _files(place))
    return [Input(place, number, columns) for number, place in enumerate(found)]


def _files(place: str) -> Iterator[str]:
    if is_index(place):
        yield str(file_of(place, "A batch"))
        return
    try:
        system, path = _located(place)
        info = system.get_file_info(path)
        if info.type == fs.FileType.Directory:
            inner = system.get_file_info(fs.FileSelector(path, recursive=True))
            base = place.rstrip("/")
            names = sorted(one.path[len(path.rstrip("/")) + 1 :] for one in inner if one.is_file)
            files = [f"{base}/{name}" for name in names if not _is_hidden(name)]
        else:
            files = [place]
        known = [file for file in files if _suffix(file)]
        if not known or info.type == fs.FileType.NotFound:
            kinds = ", ".join([".wacz", *_READERS])
            raise SourceError(
                f"{place} must be a file or a folder with files of these kinds: {kinds}; or an "
                f"index of a crawl"
            )
        for file in known:
            yield from _parts(file) if file.endswith(".wacz") else [file]
    except _CANNOT_BE_READ as exc:
        raise SourceError(f"{place} cannot be read: {exc}") from exc


def _suffix(place: str) -> str:
    """Return the end of a name that says the kind of the file; "" if none does."""
    return next((one for one in (*_READERS, ".wacz") if place.lower().endswith(one)), "")


def _is_hidden(name: str) -> bool:
    """Whether a path has a part that engines leave out, as in ``_temporary/0/part.parquet``."""
    return any(part.startswith((".", "_")) for part in name.split("/"))


def _located(place: str) -> tuple[Any, str]:
    if "://" in place:
        system, path = fs.FileSystem.from_uri(place)
        return system, path
    return fs.LocalFileSystem(), str(Path(place).absolute())


def _parts(wacz: str) -> list[str]:
    """Return the WARC files in a WACZ file."""
    with _native(wacz) as file, ZipFile(file) as packed:
        names = [one for one in packed.namelist() if one.startswith("archive/") and _suffix(one)]
    return [f"{wacz}!/{name}" for name in sorted(names)]


@contextmanager
def _native(place: str) -> Iterator[Any]:
    try:
        system, path = _located(place)
        with system.open_input_file(path) as file:
            yield file
    except _CANNOT_BE_READ as exc:
        raise SourceError(f"{place} cannot be read: {exc}") from exc


@contextmanager
def opened(place: str) -> Iterator[BinaryIO]:
    """Open the file at a place for reading, also one in a WACZ file.

    :raises SourceError: it, or what the block reads of it, cannot be read.
    """
    inner = _IN_WACZ.fullmatch(place)
    with _native(inner[1] if inner else place) as native:
        raw = native if inner is None else _Part.of(native, inner[2])
        with io.BufferedReader(raw, _BUFFER_BYTES) as file:
            yield file


class _Part(io.RawIOBase):
    """A part of a file, as a file."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file = file
        self._start = start
        self._size = size
        self._at = 0

    @classmethod
    def of(cls, file: BinaryIO, name: str) -> _Part:
        """Return an entry of a ZIP file.

        :raises OSError: there is none of this name, or it is compressed.
        """
        with ZipFile(file) as packed:
            entry = packed.NameToInfo.get(name)
        if entry is None:
            raise OSError(f"it has no {name}")
        if entry.compress_type != ZIP_STORED:
            raise OSError(f"{name} must be stored in it as it is, as WACZ says, not compressed")
        file.seek(entry.header_offset)
        head = file.read(_ZIP_HEAD_BYTES)
        more = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
        return cls(file, entry.header_offset + _ZIP_HEAD_BYTES + more, entry.file_size)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = begin + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._start + self._at)
        data = self._file.read(max(min(len(buffer), self._size - self._at), 0))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def _warc(place: str, columns: Columns, note: Note) -> Iterator[ArchivedPage]:
    with opened(place) as file:
        yield from pages(WarcFile(file, place, note))


def _html(place: str, columns: Columns, note: Note) -> Iterator[ArchivedPage]:
    with opened(place) as file:
        body = file.read(MAX_BLOCK_BYTES + 1)
    if len(body) > MAX_BLOCK_BYTES:
        note("too_large", 0)
    else:
        url = place if "://" in place else Path(place).absolute().as_uri()
        yield ArchivedPage(place, 0, url, None, body)


def _index(place: str, columns: Columns, note: Note) -> Iterator[ArchivedPage]:
    path = Path(place)
    with schema.errors_translated(path), closing(schema.read_only(path)) as connection:
        for row in Rows(connection).all():
            page = row.page
            date = int(page.judged_at * 1_000_000)
            yield ArchivedPage(place, row.id, page.url, date, page.fingerprint)


def _lines(place: str, columns: Columns, note: Note) -> Iterator[ArchivedPage]:
    names: set[str] = set()
    read = 0
    with opened(place) as file:
        is_packed = place.lower().endswith(".gz")
        source = cast("BinaryIO", gzip.GzipFile(fileobj=file)) if is_packed else file
        for number, line in _numbered(source, note):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                note("bad_record" if line.endswith(b"\n") else "truncated", number)
                continue
            if not isinstance(row, dict):
                note("bad_record", number)
                continue
            names.update(row)
            for record in _of_row(row, place, number, columns, note):
                read += 1
                yield record
    if names and not read:
        columns.check(place, names)


def _numbered(source: BinaryIO, note: Note) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not empty, and not too long, with their numbers."""
    number = 0
    try:
        while line := source.readline(_MAX_LINE_BYTES):
            is_cut = not line.endswith(b"\n")
            if is_cut and len(line) == _MAX_LINE_BYTES:
                note("too_large", number)
                while line and not line.endswith(b"\n"):
                    line = source.readline(_BUFFER_BYTES)
            elif line.strip():
                yield number, line
            number += 1
    except EOFError:
        note("truncated", number)
    except (zlib.error, gzip.BadGzipFile):
        note("given_up", number)


def _rows(place: str, columns: Columns, note: Note) -> Iterator[ArchivedPage]:
    with parquet_file(place, columns) as file:
        for first, batch in row_batches(file, columns, _ROWS_AT_ONCE, note):
            for number, row in enumerate(_values(batch), first):
                yield from _of_row(row, place, number, columns, note)


@contextmanager
def parquet_file(place: str, columns: Columns) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file that has the columns.

    :raises SourceError: it has not, or cannot be read.
    """
    with _native(place) as file:
        parquet = pq.ParquetFile(file)
        columns.check(place, parquet.schema_arrow.names)
        yield parquet


def row_batches(
    file: pq.ParquetFile, columns: Columns, at_once: int, note: Note
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield some rows at a time, with the number of the first; note where a group is damaged."""
    has = file.schema_arrow.names
    names = [name for name in columns.names if name in has]
    first = 0
    for group in range(file.num_row_groups):
        number = first
        try:
            for batch in file.iter_batches(
                at_once, row_groups=[group], columns=names, use_threads=False
            ):
                yield number, batch
                number += len(batch)
        except (pa.ArrowException, OSError):
            note("given_up", number)
        first += file.metadata.row_group(group).num_rows


def _values(batch: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of a batch; times are in seconds, a text in no encoding is None."""
    names = batch.schema.names
    for values in zip(*map(_plain_values, batch.columns), strict=True):
        yield dict(zip(names, values, strict=True))


def _plain_values(column: Any) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        whole = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
        return [None if one is None else one / 1_000_000 for one in whole.to_pylist()]
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except ValueError:
        return [_value(one) for one in column]


def _value(scalar: Any) -> Any:
    with suppress(ValueError):
        return scalar.as_py()
    return None


def _of_row(
    row: Mapping[str, Any], place: str, number: int, columns: Columns, note: Note
) -> Iterator[ArchivedPage]:
    """Yield the record of a row or a line, or note why it has none."""
    try:
        if not isinstance(url := row.get(columns.url), str) or not is_url(url):
            raise UnreadableError("no_url")
        content, encoding = _content(row, columns)
    except UnreadableError as exc:
        note(exc.kind, number)
        return
    date = _date(given := row.get(columns.date))
    if date is None and given is not None:
        note("bad_date", number)
    value = None if columns.order is None else _comparable(row.get(columns.order))
    yield ArchivedPage(place, number, url, date, content, encoding, column=value)


def _content(row: Mapping[str, Any], columns: Columns) -> tuple[bytes | str | int, str | None]:
    """Return what is judged of a row, and the encoding of HTML."""
    html, text, fingerprint = (row.get(name) for name in columns.contents)
    if html is None and text is None:
        return _bits(fingerprint), None
    encoding = row.get(columns.encoding)
    if html is None:
        html, encoding = text.decode(errors="replace") if isinstance(text, bytes) else text, None
    elif isinstance(html, str):
        html, encoding = html.encode(errors="surrogatepass"), "utf-8"
    if not isinstance(html, (bytes, str)):
        raise UnreadableError("bad_record")
    if len(html) > MAX_BLOCK_BYTES:
        raise UnreadableError("too_large")
    return html, encoding if isinstance(encoding, str) else None


def _bits(fingerprint: object) -> int:
    if fingerprint is None:
        raise UnreadableError("no_content")
    if isinstance(fingerprint, str) and _BITS.fullmatch(fingerprint):
        return int(fingerprint, 16)
    if type(fingerprint) is int and -(1 << 63) <= fingerprint < 1 << 64:
        return fingerprint & (1 << 64) - 1
    raise UnreadableError("bad_record")


def _date(given: object) -> int | None:
    """Return a date in microseconds, None if it is none: days are those of Parquet."""
    if isinstance(given, str):
        return microseconds(given)
    if isinstance(given, Date):
        return microseconds(given.isoformat())
    if isinstance(given, (int, float)) and abs(given) < MOST_SECONDS:
        return round(given * 1_000_000)
    return None


def _comparable(value: object) -> int | float | str | None:
    """Return a value that others can be compared with, None if there is none."""
    if isinstance(value, float):
        return None if isnan(value) else value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else None
    return None if value is None else str(value)


_READERS: dict[str, Callable[[str, Columns, Note], Iterator[ArchivedPage]]] = {
    **dict.fromkeys(WARC_SUFFIXES, _warc),
    ".jsonl": _lines,
    ".jsonl.gz": _lines,
    ".parquet": _rows,
    ".html": _html,
    ".htm": _html,
}
