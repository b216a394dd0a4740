"""How a page is stored in Redis: a head of fixed size, then what not every page has as much of.

::

    | change | representative | call | crawl | tokens | judged at | fingerprint | digest |
        4           4            4      4       4          4             8          16
    | what there is | length of request, of URL | content's fingerprint | request | URL | sketch |
            1               1          2                8, if any

Byte order is big-endian.  *change* is put there by the server; a representative of 0 says that the
page is one.  *call* is the number of the call that wrote it: so the server knows a call that comes
again because its answer was lost.  Times are whole seconds, as in a file.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from scrapy_simhash.errors import IndexFormatError, IndexUnavailableError
from scrapy_simhash.index.contract import Page, Row
from scrapy_simhash.index.redis.keys import Scope

_HEAD = struct.Struct(">IIIIIIQ16sBBH")
_CONTENT = struct.Struct(">Q")
_HAS_CONTENT = 1
_HAS_SKETCH = 2
_CHANGE_BYTES = 4

# What fits into the head.
MAX_REQUEST_BYTES = 0xFF
MAX_URL_BYTES = 0xFFFF
MAX_NUMBER = 0xFFFFFFFF


_ID = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row, and the number of its last change."""

    row: Row
    change: int


def pack_id(number: int) -> bytes:
    """Return the number of a page in its scope as the server has it."""
    return _ID.pack(number)


def number_of(row_id: bytes) -> int:
    """Return what :func:`pack_id` was given."""
    (number,) = _ID.unpack(row_id)
    return int(number)


def numbers_of(ids: bytes) -> list[int]:
    """Return the numbers of pages whose ids stand side by side."""
    return [number for (number,) in _ID.iter_unpack(ids)]


def request_of(stored: bytes) -> bytes:
    """Return the request fingerprint of a page that is stored."""
    *_, there_is, length, _ = _HEAD.unpack_from(stored)
    at = _HEAD.size + _CONTENT.size * bool(there_is & _HAS_CONTENT)
    return stored[at : at + int(length)]


def pack(page: Page, representative: int, call: int, crawl: int | None) -> bytes:
    """Return a page as it is stored, without its change.

    :raises IndexUnavailableError: it cannot be stored.
    """
    request, url = page.request_fingerprint, page.url.encode("utf-8", "surrogatepass")
    for name, value, most in (
        ("request_fingerprint", request, MAX_REQUEST_BYTES),
        ("url", url, MAX_URL_BYTES),
    ):
        if len(value) > most:
            raise IndexUnavailableError(
                f"{name} must be at most {most} bytes long in Redis: got {len(value)}"
            )
    content = page.content_fingerprint
    head = _HEAD.pack(
        0,
        representative,
        call,
        crawl or 0,
        min(page.tokens, MAX_NUMBER),
        min(max(int(page.judged_at), 0), MAX_NUMBER),
        page.fingerprint,
        page.digest,
        _HAS_CONTENT * (content is not None) | _HAS_SKETCH * (page.sketch is not None),
        len(request),
        len(url),
    )
    more = b"" if content is None else _CONTENT.pack(content)
    return head[_CHANGE_BYTES:] + more + request + url + (page.sketch or b"")


def unpack(number: int, scope: Scope, stored: bytes) -> StoredRow:
    """Return the row that is stored under a number in a scope.

    :raises IndexFormatError: it is something else.
    """
    try:
        change, representative, _, crawl, tokens, judged_at, *rest = _HEAD.unpack_from(stored)
        fingerprint, digest, there_is, request_length, url_length = rest
        at, content = _HEAD.size, None
        if there_is & _HAS_CONTENT:
            (content,) = _CONTENT.unpack_from(stored, at)
            at += _CONTENT.size
        request_end = at + request_length
        url = stored[request_end : request_end + url_length].decode("utf-8", "surrogatepass")
    except (struct.error, UnicodeDecodeError, TypeError) as exc:
        raise IndexFormatError(f"page {number} is damaged: {exc}") from exc
    row = Row(
        id=scope.base + number,
        crawl=crawl or None,
        scope=scope.name,
        request_fingerprint=stored[at:request_end],
        url=url,
        fingerprint=fingerprint,
        digest=digest,
        tokens=tokens,
        representative=scope.base + representative if representative else None,
        judged_at=judged_at,
        content_fingerprint=content,
        sketch=stored[request_end + url_length :] if there_is & _HAS_SKETCH else None,
    )
    return StoredRow(row, change)
