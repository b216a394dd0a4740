"""The permuted tables of an index: one set for each scope and view."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scrapy_simhash.tables import PermutedTables, design, say_if_not_compiled

# An index is planned for a crawl that one machine does in days, and for the quickest tables
# that take no more memory than this for each fingerprint.
PLANNED_PAGES = 1_000_000
PLANNED_BYTES = 64


class Group(NamedTuple):
    """Rows of one scope that are found by one view, each by the fingerprint at its place."""

    scope: str
    view: str
    fingerprints: array[int]
    ids: array[int]


class ViewTables:
    """Finds rows by any of several fingerprints, in the scope that they belong to."""

    def __init__(self, distance: int) -> None:
        say_if_not_compiled()
        self._distance = distance
        self._design = design(PLANNED_PAGES, distance, PLANNED_PAGES * PLANNED_BYTES)
        self._tables: dict[tuple[str, str], PermutedTables] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of memory that all tables hold, about."""
        return sum(tables.nbytes for tables in self._tables.values())

    def add(self, scope: str, view: str, fingerprint: int, row_id: int) -> None:
        """Let a row be found by a fingerprint."""
        self._of(scope, view).add(fingerprint, row_id)

    def add_many(
        self, scope: str, view: str, fingerprints: array[int], row_ids: array[int]
    ) -> None:
        """Let rows be found, each by the fingerprint at its place."""
        self._of(scope, view).add_many(fingerprints, row_ids)

    def build(self, groups: Iterable[Group]) -> None:
        """Fill the tables, which are empty, several times faster than by adding."""
        whole: dict[tuple[str, str], Group] = {}
        for group in groups:
            known = whole.setdefault((group.scope, group.view), group)
            if known is not group:
                known.fingerprints.extend(group.fingerprints)
                known.ids.extend(group.ids)
        while whole:
            (scope, view), group = whole.popitem()
            self._of(scope, view).build(group.fingerprints, group.ids)

    def remove(self, scope: str, view: str, fingerprint: int, row_id: int) -> None:
        """Let a row be found by a fingerprint no more."""
        self._tables[scope, view].remove(fingerprint, row_id)

    def near(
        self, scope: str, views: Iterable[tuple[str, int]]
    ) -> Iterator[tuple[int, int, str, int]]:
        """Yield (distance, row id, view, stored fingerprint), view after view.

        In each, closest first, then oldest; a row that is near in two views comes twice.
        """
        for view, fingerprint in views:
            tables = self._tables.get((scope, view))
            if tables is not None:
                for match in tables.matches(fingerprint):
                    yield match.distance, match.item, view, match.fingerprint

    def _of(self, scope: str, view: str) -> PermutedTables:
        tables = self._tables.get((scope, view))
        if tables is None:
            tables = self._tables[scope, view] = PermutedTables(self._distance, self._design.tables)
        return tables
