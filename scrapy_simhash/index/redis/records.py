"""How a page is stored in Redis: a head of fixed size, then request, URL and sketch.

::

    | change | representative | call | crawl | tokens | judged at | fingerprint | content's |
        4           4            4      4       4          8            8            8
    | digest | what there is | length of request, of URL | request | URL | sketch |
        16          1                 1        4

Byte order is big-endian.  *change* is put there by the server; a representative of 0 says that the
page is one.  *call* is the number of the call that wrote it: so the server knows a call that comes
again because its answer was lost.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from scrapy_simhash.errors import IndexFormatError, IndexUnavailableError
from scrapy_simhash.index.contract import Page, Row
from scrapy_simhash.index.redis.keys import Scope

_HEAD = struct.Struct(">IIIIIdQQ16sBBI")
_HAS_CONTENT = 1
_HAS_SKETCH = 2
_CHANGE_BYTES = 4

# What fits into the head.
MAX_REQUEST_BYTES = 0xFF
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
    *_, length, _ = _HEAD.unpack_from(stored)
    return stored[_HEAD.size : _HEAD.size + int(length)]


def pack(page: Page, representative: int, call: int, crawl: int | None) -> bytes:
    """Return a page as it is stored, without its change.

    :raises IndexUnavailableError: it cannot be stored.
    """
    request, url = page.request_fingerprint, page.url.encode("utf-8", "surrogatepass")
    if len(request) > MAX_REQUEST_BYTES:
        raise IndexUnavailableError(
            f"request_fingerprint must be at most {MAX_REQUEST_BYTES} bytes long in Redis: "
            f"got {len(request)}"
        )
    head = _HEAD.pack(
        0,
        representative,
        call,
        crawl or 0,
        min(page.tokens, MAX_NUMBER),
        page.judged_at,
        page.fingerprint,
        page.content_fingerprint or 0,
        page.digest,
        _HAS_CONTENT * (page.content_fingerprint is not None)
        | _HAS_SKETCH * (page.sketch is not None),
        len(request),
        len(url),
    )
    return head[_CHANGE_BYTES:] + request + url + (page.sketch or b"")


def unpack(number: int, scope: Scope, stored: bytes) -> StoredRow:
    """Return the row that is stored under a number in a scope.

    :raises IndexFormatError: it is something else.
    """
    try:
        change, representative, _, crawl, tokens, judged_at, *rest = _HEAD.unpack_from(stored)
        fingerprint, content, digest, there_is, request_length, url_length = rest
        request_end = _HEAD.size + request_length
        url = stored[request_end : request_end + url_length].decode("utf-8", "surrogatepass")
    except (struct.error, UnicodeDecodeError, TypeError) as exc:
        raise IndexFormatError(f"page {number} is damaged: {exc}") from exc
    row = Row(
        id=scope.base + number,
        crawl=crawl or None,
        scope=scope.name,
        request_fingerprint=stored[_HEAD.size : request_end],
        url=url,
        fingerprint=fingerprint,
        digest=digest,
        tokens=tokens,
        representative=scope.base + representative if representative else None,
        judged_at=judged_at,
        content_fingerprint=content if there_is & _HAS_CONTENT else None,
        sketch=stored[request_end + url_length :] if there_is & _HAS_SKETCH else None,
    )
    return StoredRow(row, change)
