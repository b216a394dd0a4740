"""Rows as SQLite stores them: 64 bits are signed there, and nothing is checked."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from scrapy_simhash.index.contract import Row
from scrapy_simhash.rule.sketch import is_sketch


def row_of(values: Sequence[Any]) -> Row:
    """Return the row of all its columns.

    :raises sqlite3.DatabaseError: it is damaged.
    """
    row_id, crawl, scope, request, url, fingerprint, digest, tokens, *rest = values
    representative, judged_at, content, sketch = rest
    if not (
        isinstance(digest, bytes)
        and (sketch is None or (isinstance(sketch, bytes) and is_sketch(sketch)))
    ):
        raise _damaged(row_id)
    return Row(
        id=row_number(row_id),
        crawl=crawl,
        scope=text(scope),
        request_fingerprint=request,
        url=text(url),
        fingerprint=unsigned(fingerprint),
        digest=digest,
        tokens=number(tokens),
        representative=representative,
        judged_at=number(judged_at),
        content_fingerprint=optional(content),
        sketch=sketch,
    )


def signed(fingerprint: int | None) -> int | None:
    """Return the 64 bits as the signed integer that SQLite stores."""
    return None if fingerprint is None else fingerprint - (fingerprint >> 63 << 64)


def number(stored: Any) -> int:
    """Return what must be a number.

    :raises sqlite3.DatabaseError: it is none.
    """
    if not isinstance(stored, int):
        raise _damaged(stored)
    return stored


def row_number(stored: Any) -> int:
    """Return the number of a row or of a change: one of 32 bits, as the tables hold it.

    :raises sqlite3.DatabaseError: it is none.
    """
    if not 0 <= number(stored) < 1 << 32:
        raise _damaged(stored)
    return int(stored)


def text(stored: Any) -> str:
    """Return what must be text.

    :raises sqlite3.DatabaseError: it is none.
    """
    if not isinstance(stored, str):
        raise _damaged(stored)
    return stored


def unsigned(stored: Any) -> int:
    """Return the 64 bits of a signed integer."""
    return number(stored) & (1 << 64) - 1


def optional(stored: Any) -> int | None:
    """Return the 64 bits of a signed integer, or None for none."""
    return None if stored is None else unsigned(stored)


def _damaged(value: object) -> sqlite3.DatabaseError:
    """Return the error for what only a damaged file can hold: SQLite has no checksums of rows."""
    return sqlite3.DatabaseError(f"a row is damaged: {value!r}")
