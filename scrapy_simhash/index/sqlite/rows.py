"""Pages as rows of SQLite: the columns, the checks of their values, and how rows are changed.

SQLite stores 64 bits as a signed integer, and does not check the type of a value.  A value that is
not of its column's kind is in a damaged file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator
from operator import attrgetter
from typing import Any

from scrapy_simhash.rule.page import STORED, Kind, Page, Row
from scrapy_simhash.rule.sketch import is_sketch

DIGEST_BYTES = 16


def signed(bits: int) -> int:
    """Return 64 bits as the signed integer that SQLite stores."""
    return bits - (bits >> 63 << 64)


def unsigned(stored: Any) -> int:
    """Return the 64 bits of a signed integer.

    :raises sqlite3.DatabaseError: it is not an integer.
    """
    return integer(stored) & (1 << 64) - 1


def optional_unsigned(stored: Any) -> int | None:
    """Return the 64 bits of a signed integer, or None for NULL."""
    return None if stored is None else unsigned(stored)


def integer(stored: Any) -> int:
    """Return a stored value that must be an integer.

    :raises sqlite3.DatabaseError: it is not an integer.
    """
    if not isinstance(stored, int):
        raise _damaged(stored)
    return stored


def row_number(stored: Any) -> int:
    """Return the number of a row or of a change, which has 32 bits in the tables.

    :raises sqlite3.DatabaseError: it is not such a number.
    """
    if not 0 <= integer(stored) < 1 << 32:
        raise _damaged(stored)
    return int(stored)


def text(stored: Any) -> str:
    """Return a stored value that must be text.

    :raises sqlite3.DatabaseError: it is not text.
    """
    if not isinstance(stored, str):
        raise _damaged(stored)
    return stored


def _bytes(stored: Any) -> bytes:
    if not isinstance(stored, bytes):
        raise _damaged(stored)
    return stored


def _digest(stored: Any) -> bytes:
    if len(_bytes(stored)) != DIGEST_BYTES:
        raise _damaged(stored)
    return bytes(stored)


def _sketch(stored: Any) -> bytes:
    if not is_sketch(_bytes(stored)):
        raise _damaged(stored)
    return bytes(stored)


def _damaged(value: object) -> sqlite3.DatabaseError:
    """Return the error for a value from a damaged file: SQLite has no checksums of rows."""
    return sqlite3.DatabaseError(f"a row is damaged: {value!r}")


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda stored: None if stored is None else read(stored)


# For each kind: the type of its column, and the function that reads a value.
_COLUMN: dict[Kind, tuple[str, Callable[[Any], Any]]] = {
    Kind.TEXT: ("TEXT", text),
    Kind.BYTES: ("BLOB", _bytes),
    Kind.SKETCH: ("BLOB", _sketch),
    Kind.DIGEST: ("BLOB", _digest),
    Kind.BITS: ("INTEGER", unsigned),
    Kind.COUNT: ("INTEGER", integer),
    Kind.NUMBER: ("INTEGER", integer),
    Kind.SECONDS: ("INTEGER", integer),
}
# For each kind that is not stored as it is: the function that writes a value.
_WRITE: dict[Kind, Callable[[Any], int]] = {Kind.BITS: signed, Kind.SECONDS: int}

COLUMNS = ",\n".join(
    f"    {field.name} {_COLUMN[field.kind][0]}{'' if field.optional else ' NOT NULL'}"
    for field in STORED
)
_READ = [
    _optional(_COLUMN[field.kind][1]) if field.optional else _COLUMN[field.kind][1]
    for field in STORED
]
_VALUES = attrgetter(*(field.name for field in STORED))
_WRITTEN = [
    (place, _WRITE[field.kind]) for place, field in enumerate(STORED) if field.kind in _WRITE
]

_NAMES = ["representative", *(field.name for field in STORED)]
_BRIEF_NAMES = [
    "representative",
    *("NULL" if field.kind is Kind.SKETCH else field.name for field in STORED),
]
_SELECT = f"SELECT id, {', '.join(_NAMES)} FROM pages "  # noqa: S608 - constants
_SELECT_BRIEF = f"SELECT id, {', '.join(_BRIEF_NAMES)} FROM pages ORDER BY id"  # noqa: S608
_INSERT = f"INSERT INTO pages (id, {', '.join(_NAMES)}) VALUES (?{', ?' * len(_NAMES)})"  # noqa: S608
_SET = ", ".join(f"{name} = ?" for name in _NAMES)
_UPDATE = f"UPDATE pages SET change = coalesce(?, change), {_SET} WHERE id = ?"  # noqa: S608


def row_of(stored: tuple[Any, ...]) -> Row:
    """Return a row from its id, its representative and the columns of :data:`STORED`, in order.

    :raises sqlite3.DatabaseError: it is damaged.
    """
    row_id, representative, *values = stored
    page = Page(*[read(value) for read, value in zip(_READ, values, strict=True)])
    return Row(row_number(row_id), page, representative)


def _values(page: Page, representative: int | None) -> list[Any]:
    values = list(_VALUES(page))
    for place, write in _WRITTEN:
        if values[place] is not None:
            values[place] = write(values[place])
    return [representative, *values]


class Rows:
    """The rows of an index file in one connection; the caller begins and ends transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def of_request(self, scope: str, request_fingerprint: bytes) -> Row | None:
        """Return the row of a request in a scope."""
        return self._find(
            "WHERE scope = ? AND substr(request_fingerprint, 1, 4) = ? AND request_fingerprint = ?",
            scope,
            request_fingerprint[:4],
            request_fingerprint,
        )

    def of_text(self, scope: str, digest: bytes) -> Iterator[Row]:
        """Yield the representatives in a scope that have a digest, oldest first."""
        yield from self._select(
            "WHERE scope = ? AND substr(digest, 1, 4) = ? AND digest = ?"
            " AND representative IS NULL ORDER BY id",
            scope,
            digest[:4],
            digest,
        )

    def by_id(self, row_id: int) -> Row | None:
        """Return the row with an id."""
        return self._find("WHERE id = ?", row_id)

    def by_ids(self, ids: Collection[int]) -> dict[int, Row]:
        """Return those of some rows that are there, by their ids."""
        found = self._select(f"WHERE id IN ({', '.join('?' * len(ids))})", *ids)
        return {row.id: row for row in found}

    def all(self) -> Iterator[Row]:
        """Yield all rows, oldest first."""
        return self._select("ORDER BY id")

    def all_brief(self) -> Iterator[Row]:
        """Yield all rows without their sketches, oldest first."""
        return map(row_of, self._connection.execute(_SELECT_BRIEF))

    def ids_before(self, time: float) -> list[int]:
        """Return the ids of the rows that were judged last before *time*."""
        found = self._connection.execute("SELECT id FROM pages WHERE judged_at < ?", (time,))
        return [row_id for (row_id,) in found]

    def insert(self, row_id: int, page: Page, representative: int | None) -> None:
        """Store a page as a new row."""
        self._connection.execute(_INSERT, (row_id, *_values(page, representative)))

    def update(
        self, row_id: int, change: int | None, page: Page, representative: int | None
    ) -> None:
        """Store a page in place of a row; *change* is its new latest change, unless it is None."""
        self._connection.execute(_UPDATE, (change, *_values(page, representative), row_id))

    def duplicates_of(self, row_id: int) -> Iterator[Row]:
        """Yield the rows that point to a row, oldest first."""
        return self._select("WHERE representative = ? ORDER BY id", row_id)

    def delete(self, row_id: int) -> None:
        """Remove a row."""
        self._connection.execute("DELETE FROM pages WHERE id = ?", (row_id,))

    def counts(self) -> tuple[int, int]:
        """Return the number of rows, and the number of representatives among them."""
        count = "SELECT count(*) FROM pages"
        ((pages,),) = self._connection.execute(count)
        ((kept,),) = self._connection.execute(f"{count} WHERE representative IS NULL")
        return pages, kept

    def _select(self, where: str, *values: Any) -> Iterator[Row]:
        return map(row_of, self._connection.execute(_SELECT + where, values))

    def _find(self, where: str, *values: Any) -> Row | None:
        return next(self._select(where, *values), None)
