"""The content of the tables in a form that loads a hundred times quicker than the rows.

A segment is made of the rows with their latest numbers (schema.py) in one span.  It is in the index
file itself: a copy of the file has segments and rows of the same moment.  Segments follow each
other from number 0 on, without a gap; the rows since the last segment are read as rows.  Later
changes of a row do not matter: everything that the tables find is looked up in the rows.

::

    checksum | groups | ids    | fingerprints
       16      a line   4 each   8 each

Groups (scope, view, count) are a line of JSON, which is compressed together with the ids.  The
checksum is BLAKE2b of everything after it, and of the segment's place.  Numbers are in the byte
order that *made_for* names.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from scrapy_simhash.decision.judge import View
from scrapy_simhash.index.sqlite.rows import integer, optional, row_number, text, unsigned
from scrapy_simhash.index.views import TableEntries

# A segment spans this many numbers: at open, this many rows are read in 0.2 s, and writing a
# segment locks the file for 5 ms.
SPAN = 100_000
# Segments may hold this many times as many entries as the rows: pages change, and are forgotten.
MOST_STALE = 2

_optional_unsigned = optional(unsigned)
_CHECKSUM_BYTES = 16

# The highest number of the sequence: forgotten pages may have had higher numbers than the rows.
_LAST = (
    "SELECT max(coalesce((SELECT max(id) FROM pages), 0),"
    " coalesce((SELECT max(change) FROM pages WHERE change IS NOT NULL), 0),"
    " coalesce((SELECT CAST(value AS INTEGER) FROM parameters WHERE name = 'last_change'), 0))"
)
# The columns that the tables need, of the representatives last written in a span of numbers.
_WRITTEN = (
    "SELECT scope, id, tokens, fingerprint, content_fingerprint FROM pages"
    " WHERE id > :since AND id <= :until AND change IS NULL AND representative IS NULL"
    " UNION ALL SELECT scope, id, tokens, fingerprint, content_fingerprint FROM pages"
    " WHERE change > :since AND change <= :until AND representative IS NULL"
)

ViewsOf = Callable[[int, int, "int | None"], "list[tuple[View, int]]"]


def last_number(connection: sqlite3.Connection) -> int:
    """Return the highest number that a row has or had."""
    (last,) = connection.execute(_LAST).fetchone()
    return row_number(last) if last else 0


def written(
    connection: sqlite3.Connection, since: int, until: int, views_of: ViewsOf
) -> Iterable[TableEntries]:
    """Return the table entries of the rows with their latest numbers in a span."""
    groups: dict[tuple[str, View], TableEntries] = {}
    span = {"since": since, "until": until}
    for scope, row_id, tokens, main, content in connection.execute(_WRITTEN, span):
        for view, found in views_of(integer(tokens), unsigned(main), _optional_unsigned(content)):
            group = groups.get((scope, view))
            if group is None:
                group = groups[scope, view] = TableEntries(
                    text(scope), view, array("Q"), array("I")
                )
            group.fingerprints.append(found)
            group.ids.append(row_number(row_id))
    return groups.values()


class Segments:
    """The segments of an index file, for tables of the views that *views_of* returns.

    *made_for* names everything that *views_of* depends on: segments made for others are not used.
    """

    def __init__(self, made_for: str, views_of: ViewsOf) -> None:
        self._made_for = made_for
        self._views_of = views_of
        self._good_until: int | None = None
        self._loaded = 0

    def load(self, connection: sqlite3.Connection) -> Iterator[tuple[int, list[TableEntries]]]:
        """Yield the good segments one after the other, each with its last number.

        From the first segment that is damaged or of other views on, all will be written again.
        """
        end = self._good_until = 0
        loaded: Counter[str] = Counter()
        for until, made_for, groups in good_segments(connection):
            if made_for != self._made_for:
                return
            yield until, groups
            end = self._good_until = until
            for group in groups:
                loaded[group.view] += len(group.ids)
        self._loaded = max(loaded.values(), default=0)
        if connection.execute("SELECT max(until) FROM segments").fetchone()[0] in (None, end):
            self._good_until = None

    def write(self, connection: sqlite3.Connection) -> bool:
        """Write the next segment, or remove one to write again; False if there is nothing to do.

        The rows are read without the lock of the file.
        """
        if self._are_stale(connection):
            self._good_until = 0
        if self._good_until is not None:
            if self._removed(connection, self._good_until):
                return True
            self._good_until = None
        with connection:
            connection.execute("BEGIN")
            since = self._end(connection)
            if since is None or last_number(connection) < since + SPAN:
                return False
            until = since + SPAN
            groups = list(written(connection, since, until, self._views_of))
        data = encoded(groups, _place(since, until, self._made_for))
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if self._end(connection) == since:  # no other process was quicker
                connection.execute(
                    "INSERT INTO segments VALUES (?, ?, ?, ?)", (until, since, self._made_for, data)
                )
        return True

    def _are_stale(self, connection: sqlite3.Connection) -> bool:
        """Whether many of the loaded entries have no row any more; only the first call checks."""
        loaded, self._loaded = self._loaded, 0
        if not loaded:
            return False
        query = "SELECT count(*) FROM pages WHERE representative IS NULL"
        return loaded > MOST_STALE * int(connection.execute(query).fetchone()[0])

    def _end(self, connection: sqlite3.Connection) -> int | None:
        """Return the last number of the segments; None if they are of other views."""
        end = connection.execute(
            "SELECT until, made_for FROM segments ORDER BY until DESC LIMIT 1"
        ).fetchone()
        if end is None:
            return 0
        return int(end[0]) if end[1] == self._made_for else None

    def _removed(self, connection: sqlite3.Connection, good_until: int) -> bool:
        """Remove the last of the segments to write again, so that there is never a gap."""
        return bool(
            connection.execute(
                "DELETE FROM segments WHERE until = (SELECT max(until) FROM segments)"
                " AND until > ?",
                (good_until,),
            ).rowcount
        )


def good_segments(connection: sqlite3.Connection) -> Iterator[tuple[int, str, list[TableEntries]]]:
    """Yield the segments before the first that is damaged or does not follow the one before it.

    Each comes with its last number and what it was made for.
    """
    end, last = 0, last_number(connection)
    # The checksum detects damage, unless SQLite has already.
    with suppress(ValueError, sqlite3.DatabaseError):
        for since, until, made_for, data in connection.execute(
            "SELECT since, until, made_for, data FROM segments ORDER BY until"
        ):
            if since != end or until > last:
                return
            yield until, made_for, decoded(data, _place(since, until, made_for))
            end = until


def encoded(groups: Iterable[TableEntries], place: bytes) -> bytes:
    """Return a segment as bytes.  No step holds the interpreter's lock for long."""
    groups = list(groups)
    about = json.dumps([(group.scope, group.view, len(group.ids)) for group in groups]).encode()
    ids = [group.ids.tobytes() for group in groups]
    fingerprints = [group.fingerprints.tobytes() for group in groups]
    payload = b"".join([zlib.compress(b"".join([about, b"\n", *ids]), 1), *fingerprints])
    return _checksum(payload, place) + payload


def decoded(data: Any, place: bytes) -> list[TableEntries]:
    """Return the groups of a segment.

    :raises ValueError: it is damaged.
    """
    if not isinstance(data, bytes) or data[:_CHECKSUM_BYTES] != _checksum(
        payload := data[_CHECKSUM_BYTES:], place
    ):
        raise ValueError("a segment is damaged")
    unpacker = zlib.decompressobj()
    about, _, ids = unpacker.decompress(payload).partition(b"\n")
    fingerprints = unpacker.unused_data
    groups: list[TableEntries] = []
    start = 0
    for scope, view, count in json.loads(about):
        end = start + count
        own_fingerprints = array("Q", fingerprints[8 * start : 8 * end])
        groups.append(
            TableEntries(scope, view, own_fingerprints, array("I", ids[4 * start : 4 * end]))
        )
        start = end
    return groups


def _place(since: int, until: int, made_for: str) -> bytes:
    return f"{since} {until} {made_for}".encode()


def _checksum(payload: bytes, place: bytes) -> bytes:
    digest = hashlib.blake2b(payload, digest_size=_CHECKSUM_BYTES)
    digest.update(place)
    return digest.digest()
