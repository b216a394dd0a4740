"""Pages in WARC and WET files: those that a crawl would judge, as it would get them.

The encodings that Python cannot read are left to FastWARC.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from hashlib import blake2b
from typing import BinaryIO, NamedTuple
from urllib.parse import urlsplit

from w3lib.encoding import http_content_type_encoding

from scrapy_simhash.batch.warc import MAX_BLOCK_BYTES, Note, WarcFile, WarcRecord, fields_of

# Types of records in ISO 28500; a file may have any text there.
_TYPES = frozenset(
    {
        *("warcinfo", "response", "resource", "request", "metadata", "revisit", "conversion"),
        "continuation",
    }
)
_READ_TYPES = frozenset({"response", "conversion", "revisit"})
# Names of contents to which a revisit may refer: two of each record, at 130 bytes.
_MOST_NAMES = 1_000_000

_STATUS = re.compile(rb"HTTP/\d(?:\.\d)? +(\d{3})\b")
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")

# The classes of scrapy.responsetypes, without its guess by the end of the URL.
_HTML = frozenset({"text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"})
_OTHER = re.compile(r"text/.*|application/((atom|rdf|rss)\+xml|xml|(x-)?(json|javascript).*)")
_MARKUP = re.compile(rb"<html[\s>]|<!doctype\s+html", re.I)
_SNIFFED_BYTES = 5000
_BINARY_BYTES = bytes(set(range(32)) - {*b"\0\t\n\r"})

# The dates of WARC/1.1 may be shorter, and have up to nine decimals.
_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?)?)?"
    r"(Z|[+-]\d\d:?\d\d)?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class WarcPage(NamedTuple):
    """A page of an archive: *content* is its HTML without the encodings of HTTP, or its text.

    *offset* is where its record begins in the file, *date* in microseconds since the epoch, UTC.
    *encoding* is that of the HTML, if the server said one.  *links* are the headers ``Link``.
    """

    offset: int
    url: str
    date: int | None
    content: bytes | str
    encoding: str | None = None
    links: Sequence[bytes] = ()


class UnreadableError(Exception):
    """A whole record is no page that can be read; *kind* says why."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class ResolvedPage(NamedTuple):
    """A page with its record, and the one that has its content: of a revisit, an earlier one."""

    record: WarcRecord
    origin: WarcRecord
    page: WarcPage


def pages(file: BinaryIO, place: str, note: Note) -> Iterator[WarcPage]:
    """Yield the pages of a WARC or WET file that a crawl would judge: HTML, with a status of 2xx.

    A revisit record is the page that it refers to, if that is read before it in the same file.

    :raises SourceError: it is no such file, or has several records in one member of gzip.
    """
    return (content.page for content in contents(WarcFile(file, place, note)))


def contents(records: WarcFile) -> Iterator[ResolvedPage]:
    """Yield the same with their records."""
    note = records.note
    known: dict[int, int | str] = {}
    for record in records:
        kind = record.headers.get("warc-type", "").lower()
        if kind not in _READ_TYPES:
            note(kind if kind in _TYPES else "unknown_type", record.offset)
            continue
        place: int | str = record.offset
        try:
            origin = record
            if kind == "revisit":
                place = _origin(record, known)
                origin = records.at(place)
            yield ResolvedPage(record, origin, _page(record, origin))
        except UnreadableError as exc:
            place = exc.kind
            note(exc.kind, record.offset)
        if len(known) < _MOST_NAMES:
            for name in _names(record.headers, "warc-date", record.url):
                if isinstance(place, int) or name not in known:
                    known[name] = place


def _names(headers: Mapping[str, str], date: str, url: str) -> list[int]:
    """Return the names of a content: its digest, and the address and time at which it was met."""
    digest, met = headers.get("warc-payload-digest"), headers.get(date)
    names = [digest] if digest else []
    if url and met:
        names.append(f"{url} {met}")
    return [
        int.from_bytes(blake2b(name.encode("utf-8", "replace"), digest_size=8).digest(), "big")
        for name in names
    ]


def _origin(record: WarcRecord, known: Mapping[int, int | str]) -> int:
    """Return where the record begins that has the content of a revisit.

    :raises UnreadableError: it was not met before, or is none that is read.
    """
    url = record.headers.get("warc-refers-to-target-uri", record.url).strip("<>")
    for name in _names(record.headers, "warc-refers-to-date", url):
        found = known.get(name)
        if isinstance(found, int):
            return found
        if found is not None:
            raise UnreadableError(found)
    raise UnreadableError("revisit_unresolved")


def _page(record: WarcRecord, content: WarcRecord) -> WarcPage:
    """Return the page that a record is; a revisit has the *content* of another one.

    :raises UnreadableError: it is none that a crawl would judge.
    """
    url = record.url
    if not is_url(url):
        raise UnreadableError("no_url")
    if not url.lower().startswith(("http:", "https:")):
        raise UnreadableError("not_http")
    if content.is_too_large:
        raise UnreadableError("too_large")
    date = microseconds(record.headers.get("warc-date", ""))
    if content.headers["warc-type"].lower() == "conversion":
        if not content.headers.get("content-type", "").startswith("text/plain"):
            raise UnreadableError("conversion")
        return WarcPage(record.offset, url, date, content.block.decode(errors="replace"))
    status = _STATUS.match(content.block)
    if status is None:
        raise UnreadableError("not_http")
    if not status[1].startswith(b"2"):
        raise UnreadableError("status")
    headers, at = http_headers(content.block)
    body = _unpacked(content.block[at:], headers)
    kind = headers.get("content-type", [b""])[0].decode("latin-1")
    if not is_html(kind, body):
        raise UnreadableError("not_html")
    links = headers.get("link", ())
    return WarcPage(record.offset, url, date, body, http_content_type_encoding(kind), links)


def http_headers(block: bytes) -> tuple[dict[str, list[bytes]], int]:
    """Return the headers of a response, and where its body begins."""
    found = _END_OF_HEAD.search(block)
    head, at = (block[: found.start()], found.end()) if found else (block, len(block))
    return fields_of(head.splitlines()[1:]), at


def is_url(url: str) -> bool:
    """Whether a text is an address with a scheme, and with a host if it needs one."""
    try:
        parts = urlsplit(url)
        _ = parts.port
        url.encode()
    except ValueError:
        return False
    return bool(parts.scheme and (parts.hostname or parts.scheme not in ("http", "https")))


def is_html(content_type: str, body: bytes) -> bool:
    """Whether a body is HTML: by its type, or by its beginning if it has none that says so."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind in _HTML or _OTHER.fullmatch(kind):
        return kind in _HTML
    start = body[:_SNIFFED_BYTES]
    is_text = len(start.translate(None, _BINARY_BYTES)) == len(start)
    return is_text and _MARKUP.search(start) is not None


def _unpacked(body: bytes, headers: Mapping[str, list[bytes]]) -> bytes:
    """Return a body without the encodings that its headers say.

    Many archives hold bodies that are unpacked already, under the headers of the packed ones.

    :raises UnreadableError: it cannot be unpacked, or is too large then.
    """
    if b"chunked" in b",".join(headers.get("transfer-encoding", [])).lower():
        body = _joined(body)
    codings = b",".join(headers.get("content-encoding", [])).decode("latin-1").lower().split(",")
    for coding in reversed([coding.strip() for coding in codings]):
        if coding in ("", "identity"):
            continue
        try:
            body = _UNPACK[coding](body)
        except (KeyError, OSError, zlib.error, ImportError) as exc:
            if not body.lstrip().startswith(b"<"):
                raise UnreadableError("content_encoding") from exc
    if len(body) > MAX_BLOCK_BYTES:
        raise UnreadableError("too_large")
    return body


def _joined(body: bytes) -> bytes:
    """Return the chunks of a body as one, of one that is cut short those that are there."""
    chunks, at = [], 0
    while chunk := _CHUNK.match(body, at):
        size = int(chunk[1], 16)
        at = chunk.end() + size
        chunks.append(body[chunk.end() : at])
        if not size:
            return b"".join(chunks)
        at += len(b"\r\n") if body[at : at + 1] == b"\r" else len(b"\n")
    return b"".join(chunks) if at >= len(body) else body


def _inflated(body: bytes) -> bytes:
    """Return what one or more members of gzip hold, or a stream of zlib, or of bare deflate."""
    parts, left = [], MAX_BLOCK_BYTES + 1
    while body and left > 0:
        inflater = zlib.decompressobj(32 + zlib.MAX_WBITS)
        try:
            parts.append(inflater.decompress(body, left))
        except zlib.error:
            if parts:
                break
            inflater = zlib.decompressobj(-zlib.MAX_WBITS)
            parts.append(inflater.decompress(body, left))
        left -= len(parts[-1])
        body = inflater.unused_data
    return b"".join(parts)


def _by_fastwarc(name: str, body: bytes) -> bytes:
    """Return what a body holds that Python cannot unpack.

    :raises ImportError: FastWARC has no wheel for this platform.
    """
    from fastwarc import stream_io

    reader = getattr(stream_io, name)(io.BytesIO(body))
    parts, left = [], MAX_BLOCK_BYTES + 1
    while left > 0 and (part := reader.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _inflated,
    "x-gzip": _inflated,
    "deflate": _inflated,
    "br": partial(_by_fastwarc, "BrotliReader"),
    "zstd": partial(_by_fastwarc, "ZstdReader"),
}


def microseconds(date: str) -> int | None:
    """Return a date of ISO 8601 in microseconds since the epoch, None if it is none.

    What is missing at its end is the earliest; without a zone, it is in UTC.

    >>> microseconds("1970-01-01T00:00:01.5Z")
    1500000
    >>> microseconds("1970-01-02")
    86400000000
    """
    found = _DATE.fullmatch(date.strip())
    if found is None:
        return None
    *parts, decimals, zone = found.groups()
    year, month, day, hour, minute, second = (
        int(part or least) for part, least in zip(parts, (0, 1, 1, 0, 0, 0), strict=True)
    )
    try:
        moment = datetime(year, month, day, hour, minute, tzinfo=timezone.utc)
    except ValueError:
        return None
    if zone and zone != "Z":
        ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        moment += ahead if zone[0] == "-" else -ahead
    fraction = int((decimals or "").ljust(6, "0")[:6])
    return (moment - _EPOCH) // timedelta(microseconds=1) + second * 1_000_000 + fraction
