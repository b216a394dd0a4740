"""Pages in WARC and WET files: those that a crawl would judge, as it would get them.

The encodings that Python cannot read are left to FastWARC.
"""

from __future__ import annotations

import io
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import partial
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import urlsplit

from w3lib.encoding import http_content_type_encoding

from scrapy_simhash.analysis.analyser import leading_headers
from scrapy_simhash.batch.warc import (
    MAX_BLOCK_BYTES,
    UnreadableError,
    WarcFile,
    WarcRecord,
    fields_of,
)

# Types of records in ISO 28500; a file may have any text there.
_TYPES = frozenset(
    {
        *("warcinfo", "response", "resource", "request", "metadata", "revisit", "conversion"),
        "continuation",
    }
)
_READ_TYPES = frozenset({"response", "conversion", "revisit"})

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


class ArchivedPage(NamedTuple):
    """A page of an archive: *content* is its HTML without the encodings of HTTP, text, or 64 bits.

    *file* is the path as it was given.  *offset* is where the record begins: bytes in a WARC or WET
    file (of the record's own member of gzip), else the number of the line or row, from 0, or the id
    in an index.  *date* is in microseconds since the epoch, UTC.  *encoding* is that of the HTML,
    if the server said one.  *links* are the headers that lead on.  *column* is the value of the
    column by which pages are ordered.  *names* are those of its content, by which a revisit refers
    to it.  A revisit has no content here, but *refers*: the names of what it is a visit of, the
    surest first.
    """

    file: str
    offset: int
    url: str
    date: int | None
    content: bytes | str | int | None
    encoding: str | None = None
    links: Sequence[bytes] = ()
    column: int | float | str | None = None
    names: Sequence[int] = ()
    refers: Sequence[int] | None = None

    @property
    def payload(self) -> bytes:
        """A digest of what is judged: 16 bytes, or the eight of a fingerprint."""
        content = self.content
        if isinstance(content, int):
            return content.to_bytes(8, sys.byteorder)
        if isinstance(content, str):
            content = content.encode(errors="surrogatepass")
        return blake2b(content or b"", digest_size=16).digest()


def pages(records: WarcFile) -> Iterator[ArchivedPage]:
    """Yield the pages of a WARC or WET file that a crawl would judge: HTML, with a status of 2xx.

    A revisit record is a page without its content.

    :raises SourceError: it is no such file, or has several records in one member of gzip.
    """
    for record in records:
        kind = record.headers.get("warc-type", "").lower()
        if kind not in _READ_TYPES:
            records.note(kind if kind in _TYPES else "unknown_type", record.offset)
            continue
        try:
            yield page_of(record, records.place)
        except UnreadableError as exc:
            records.note(exc.kind, record.offset)


def _names(url: str, date: str | None, digest: str | None) -> list[int]:
    """Return the names of a content: the address and time at which it was met, and its digest."""
    names = [f"{url} {date}"] if url and date else []
    names += [digest] if digest else []
    digests = (blake2b(one.encode("utf-8", "replace"), digest_size=8).digest() for one in names)
    return [int.from_bytes(one, "big", signed=True) for one in digests]


def page_of(record: WarcRecord, file: str) -> ArchivedPage:
    """Return the page that a record is.

    :raises UnreadableError: it is none that a crawl would judge.
    """
    url, given = record.url, record.headers
    if not is_url(url):
        raise UnreadableError("no_url")
    if not url.lower().startswith(("http:", "https:")):
        raise UnreadableError("not_http")
    if record.is_too_large:
        raise UnreadableError("too_large")
    day, digest = given.get("warc-date"), given.get("warc-payload-digest")
    date, names = microseconds(day or ""), _names(url, day, digest)
    kind = given["warc-type"].lower()
    if kind == "revisit":
        of = given.get("warc-refers-to-target-uri", url).strip("<>")
        refers = _names(of, given.get("warc-refers-to-date"), digest)
        return ArchivedPage(file, record.offset, url, date, None, refers=refers)
    if kind == "conversion":
        if not given.get("content-type", "").startswith("text/plain"):
            raise UnreadableError("conversion")
        text = record.block.decode(errors="replace")
        return ArchivedPage(file, record.offset, url, date, text, names=names)
    status = _STATUS.match(record.block)
    if status is None:
        raise UnreadableError("not_http")
    if not status[1].startswith(b"2"):
        raise UnreadableError("status")
    headers, at = http_headers(record.block)
    body = _unpacked(record.block[at:], headers)
    kind = headers.get("content-type", [b""])[0].decode("latin-1")
    if not is_html(kind, body):
        raise UnreadableError("not_html")
    encoding = http_content_type_encoding(kind)
    links = tuple(leading_headers(lambda name: headers.get(name.lower(), ())))
    return ArchivedPage(file, record.offset, url, date, body, encoding, links, names=names)


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
    fraction = int((decimals or "").ljust(6, "0")[:6])
    try:
        moment = datetime(year, month, day, hour, minute, tzinfo=timezone.utc)
        moment += timedelta(seconds=second, microseconds=fraction)
        if zone and zone != "Z":
            ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
            moment += ahead if zone[0] == "-" else -ahead
    except (ValueError, OverflowError):
        return None
    return (moment - _EPOCH) // timedelta(microseconds=1)
