"""The permuted tables of an index: one set for each scope and view."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scrapy_simhash.rule.rule import View
from scrapy_simhash.tables import PermutedTables, design, say_if_not_compiled

# The tables are planned for a crawl that takes one machine some days.  They are the quickest ones
# that take at most this much memory for each fingerprint.
PLANNED_PAGES = 1_000_000
PLANNED_BYTES = 64


class Group(NamedTuple):
    """Rows of one scope and one view; the fingerprint of a row has the same position as its id."""

    scope: str
    view: View
    fingerprints: array[int]
    ids: array[int]


class ViewTables:
    """Finds rows by any of their fingerprints, in their scope."""

    def __init__(self, distance: int) -> None:
        say_if_not_compiled()
        self._distance = distance
        self._design = design(PLANNED_PAGES, distance, PLANNED_PAGES * PLANNED_BYTES)
        self._tables: dict[tuple[str, View], PermutedTables] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of memory that all tables take, approximately."""
        return sum(tables.nbytes for tables in self._tables.values())

    def add(self, scope: str, view: View, fingerprint: int, row_id: int) -> None:
        """Add a row under a fingerprint."""
        self._of(scope, view).add(fingerprint, row_id)

    def add_many(
        self, scope: str, view: View, fingerprints: array[int], row_ids: array[int]
    ) -> None:
        """Add rows, each under the fingerprint at its position."""
        self._of(scope, view).add_many(fingerprints, row_ids)

    def build(self, groups: Iterable[Group]) -> None:
        """Fill the empty tables, several times faster than by adding."""
        whole: dict[tuple[str, View], Group] = {}
        for group in groups:
            known = whole.setdefault((group.scope, group.view), group)
            if known is not group:
                known.fingerprints.extend(group.fingerprints)
                known.ids.extend(group.ids)
        while whole:
            (scope, view), group = whole.popitem()
            self._of(scope, view).build(group.fingerprints, group.ids)

    def remove(self, scope: str, view: View, fingerprint: int, row_id: int) -> None:
        """Remove a row from under a fingerprint."""
        self._tables[scope, view].remove(fingerprint, row_id)

    def near(
        self, scope: str, views: Iterable[tuple[View, int]]
    ) -> Iterator[tuple[int, int, View, int]]:
        """Yield (distance, row id, view, stored fingerprint), view after view.

        In each view, the closest come first, then the oldest.  A row near in two views comes twice.
        """
        for view, fingerprint in views:
            tables = self._tables.get((scope, view))
            if tables is not None:
                for match in tables.matches(fingerprint):
                    yield match.distance, match.item, view, match.fingerprint

    def _of(self, scope: str, view: View) -> PermutedTables:
        tables = self._tables.get((scope, view))
        if tables is None:
            tables = self._tables[scope, view] = PermutedTables(self._distance, self._design.tables)
        return tables
