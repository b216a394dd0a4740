"""Pages as rows of SQLite: how they are read, checked and changed.

SQLite stores 64 bits as a signed integer, and does not check the type of a value.  A value that is
not of its column's kind is in a damaged file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar

from scrapy_simhash.decision.page import STORED, Kind, Page, Row
from scrapy_simhash.decision.sketch import is_sketch
from scrapy_simhash.index.base import Counts

DIGEST_BYTES = 16
# So many rows are remembered as they were read: 1 MB.
READ_KEPT = 256

T = TypeVar("T")


def signed(bits: int) -> int:
    """Return 64 bits as the signed integer that SQLite stores."""
    return bits - (bits >> 63 << 64)


def _reader(kind: type[T], is_right: Callable[[T], bool] | None = None) -> Callable[[Any], T]:
    """Return a function that returns a stored value if it is of its kind.

    Otherwise it raises sqlite3.DatabaseError: the file is damaged.
    """

    def read(stored: Any) -> T:
        if not isinstance(stored, kind) or (is_right is not None and not is_right(stored)):
            raise sqlite3.DatabaseError(f"a row is damaged: {stored!r}")
        return stored

    return read


integer = _reader(int)
text = _reader(str)
# The number of a row or of a change, which has 32 bits in the tables.
row_number = _reader(int, lambda number: 0 < number < 1 << 32)
_count = _reader(int, lambda number: number >= 0)
_bytes = _reader(bytes)
_digest = _reader(bytes, lambda digest: len(digest) == DIGEST_BYTES)
_sketch = _reader(bytes, is_sketch)


def unsigned(stored: Any) -> int:
    """Return the 64 bits of a signed integer.

    :raises sqlite3.DatabaseError: it is not an integer.
    """
    return integer(stored) & (1 << 64) - 1


def optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that reads a value, and None for NULL."""
    return lambda stored: None if stored is None else read(stored)


# For each kind: the type of its column, and the function that reads a value.
_COLUMN: dict[Kind, tuple[str, Callable[[Any], Any]]] = {
    Kind.TEXT: ("TEXT", text),
    Kind.BYTES: ("BLOB", _bytes),
    Kind.SKETCH: ("BLOB", _sketch),
    Kind.DIGEST: ("BLOB", _digest),
    Kind.BITS: ("INTEGER", unsigned),
    Kind.COUNT: ("INTEGER", _count),
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
    optional(_COLUMN[field.kind][1]) if field.optional else _COLUMN[field.kind][1]
    for field in STORED
]
_VALUES = attrgetter(*(field.name for field in STORED))
_WRITTEN = [
    (place, _WRITE[field.kind]) for place, field in enumerate(STORED) if field.kind in _WRITE
]

_NAMES = ["representative", *(field.name for field in STORED)]
COLUMNS_OF_ROW = f"id, {', '.join(_NAMES)}"
_SELECT = f"SELECT {COLUMNS_OF_ROW} FROM pages "  # noqa: S608 - constants
_INSERT = f"INSERT INTO pages (id, {', '.join(_NAMES)}) VALUES (?{', ?' * len(_NAMES)})"  # noqa: S608
_SET = ", ".join(f"{name} = ?" for name in _NAMES)
_UPDATE = f"UPDATE pages SET change = coalesce(?, change), {_SET} WHERE id = ?"  # noqa: S608


# A page is compared with up to a hundred rows, and the next one of its section with most of them
# once more: to check one and to make a Row of it takes 10 us.
@lru_cache(READ_KEPT)
def row_of(stored: tuple[Any, ...]) -> Row:
    """Return a row from :data:`COLUMNS_OF_ROW`.

    :raises sqlite3.DatabaseError: it is damaged.
    """
    row_id, representative, *values = stored
    page = Page(*[read(value) for read, value in zip(_READ, values, strict=True)])
    return Row(row_number(row_id), page, representative)


def is_row(*stored: Any) -> bool:
    """Whether :func:`row_of` can read a row."""
    with suppress(sqlite3.DatabaseError):
        return row_of(stored) is not None
    return False


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

    def counts(self) -> Counts:
        """Return how many rows there are."""
        count = "SELECT count(*) FROM pages"
        ((pages,),) = self._connection.execute(count)
        ((kept,),) = self._connection.execute(f"{count} WHERE representative IS NULL")
        return Counts(pages, kept)

    def _select(self, where: str, *values: Any) -> Iterator[Row]:
        return map(row_of, self._connection.execute(_SELECT + where, values))

    def _find(self, where: str, *values: Any) -> Row | None:
        return next(self._select(where, *values), None)
