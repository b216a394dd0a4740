"""The permuted tables of an index: one set for each scope and view, or a list for a small scope."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from sys import getsizeof
from typing import NamedTuple

from scrapy_simhash.decision.judge import CONTENT, MAIN_TEXT, View
from scrapy_simhash.tables import Match, PermutedTables, design, say_if_not_compiled

# The tables are planned for a crawl that takes one machine some days.  They are the quickest ones
# that take at most this much memory for each fingerprint.
PLANNED_PAGES = 1_000_000
PLANNED_BYTES = 64


class TableEntries(NamedTuple):
    """Rows of one scope and one view; the fingerprint of a row has the same position as its id."""

    scope: str
    view: View
    fingerprints: array[int]
    ids: array[int]


# A scope with at most this many entries (a row has one for each view) is a list that is read from
# end to end, in up to 10 us.  Permuted tables take 9 KB even for one: a crawl of a million hosts,
# each a scope of its own, would take 9 GB.
SMALL_ENTRIES = 32

# A view is searched until this many rows are found, in up to 0.5 ms.  The rule looks at 100.
MOST_MATCHES = 400

_VIEWS: tuple[View, ...] = (MAIN_TEXT, CONTENT)
# An entry of a list is a view, a fingerprint and an id, side by side.
_WIDTH = 3


class ViewTables:
    """Finds rows by any of their fingerprints, in their scope.

    A scope with one page takes about 250 bytes.
    """

    def __init__(self, distance: int) -> None:
        say_if_not_compiled()
        self._distance = distance
        self._design = design(PLANNED_PAGES, distance, PLANNED_PAGES * PLANNED_BYTES)
        # A scope is in one of the two.
        self._small: dict[str, array[int]] = {}
        self._tables: dict[str, dict[View, PermutedTables]] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of memory that all tables take, approximately."""
        small = sum(getsizeof(entries) for entries in self._small.values())
        return small + sum(one.nbytes for views in self._tables.values() for one in views.values())

    def add(self, scope: str, view: View, fingerprint: int, row_id: int) -> None:
        """Add a row under a fingerprint."""
        if scope in self._tables:
            self._of(scope, view).add(fingerprint, row_id)
            return
        entry = _VIEWS.index(view), fingerprint, row_id
        entries = self._small.setdefault(scope, array("Q"))
        if entry not in _entries(entries):
            entries.extend(entry)
        if len(entries) > SMALL_ENTRIES * _WIDTH:
            self._grow(scope)

    def add_many(
        self, scope: str, view: View, fingerprints: array[int], row_ids: array[int]
    ) -> None:
        """Add rows, each under the fingerprint at its position; the first of all are quickest."""
        if len(row_ids) > SMALL_ENTRIES:
            self._grow(scope)
            tables = self._of(scope, view)
            (tables.add_many if len(tables) else tables.build)(fingerprints, row_ids)
            return
        for fingerprint, row_id in zip(fingerprints, row_ids, strict=True):
            self.add(scope, view, fingerprint, row_id)

    def build(self, groups: Iterable[TableEntries]) -> None:
        """Fill the empty tables, several times faster than by adding."""
        whole: dict[tuple[str, View], TableEntries] = {}
        for group in groups:
            known = whole.setdefault((group.scope, group.view), group)
            if known is not group:
                known.fingerprints.extend(group.fingerprints)
                known.ids.extend(group.ids)
        while whole:
            (scope, view), group = whole.popitem()
            self.add_many(scope, view, group.fingerprints, group.ids)

    def remove(self, scope: str, view: View, fingerprint: int, row_id: int) -> None:
        """Remove a row from under a fingerprint.

        :raises KeyError: it is not there.
        """
        if scope in self._tables:
            self._tables[scope][view].remove(fingerprint, row_id)
            return
        entries = self._small.get(scope, array("Q"))
        entry = _VIEWS.index(view), fingerprint, row_id
        for place, found in enumerate(_entries(entries)):
            if found == entry:
                del entries[place * _WIDTH : (place + 1) * _WIDTH]
                if not entries:
                    del self._small[scope]
                return
        raise KeyError(f"row {row_id} is not stored under fingerprint {fingerprint:016x}")

    def near(
        self, scope: str, views: Iterable[tuple[View, int]]
    ) -> Iterator[tuple[int, int, View, int]]:
        """Yield (distance, row id, view, stored fingerprint), view after view.

        In each view, the closest come first, then the oldest.  A row near in two views comes twice.
        If over 400 rows are near, some are left out.
        """
        for view, fingerprint in views:
            for distance, row_id, found in self._matches(scope, view, fingerprint):
                yield distance, row_id, view, found

    def _matches(self, scope: str, view: View, fingerprint: int) -> list[Match]:
        tables = self._tables.get(scope, {}).get(view)
        if tables is not None:
            return tables.matches(fingerprint, MOST_MATCHES)
        wanted = _VIEWS.index(view)
        return sorted(
            Match(distance, row_id, found)
            for number, found, row_id in _entries(self._small.get(scope, ()))
            if number == wanted
            and (distance := (found ^ fingerprint).bit_count()) <= self._distance
        )

    def _grow(self, scope: str) -> None:
        """Let a scope have permuted tables from now on."""
        if scope in self._tables:
            return
        self._tables[scope] = {}
        for number, fingerprint, row_id in _entries(self._small.pop(scope, ())):
            self._of(scope, _VIEWS[number]).add(fingerprint, row_id)

    def _of(self, scope: str, view: View) -> PermutedTables:
        views = self._tables[scope]
        if view not in views:
            views[view] = PermutedTables(self._distance, self._design.tables)
        return views[view]


def _entries(entries: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    numbers = iter(entries)
    return zip(numbers, numbers, numbers, strict=True)
