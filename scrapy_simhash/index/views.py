"""The permuted tables of an index: one set for each scope and view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scrapy_simhash.tables import PermutedTables


class ViewTables:
    """Finds rows by any of several fingerprints, in the scope that they belong to."""

    def __init__(self, distance: int) -> None:
        self._distance = distance
        self._tables: dict[tuple[str, str], PermutedTables] = {}

    def add(self, scope: str, view: str, fingerprint: int, row_id: int) -> None:
        """Let a row be found by a fingerprint."""
        tables = self._tables.get((scope, view))
        if tables is None:
            tables = self._tables[scope, view] = PermutedTables(self._distance)
        tables.add(fingerprint, row_id)

    def remove(self, scope: str, view: str, fingerprint: int, row_id: int) -> None:
        """Let a row be found by a fingerprint no more."""
        self._tables[scope, view].remove(fingerprint, row_id)

    def near(
        self, scope: str, views: Iterable[tuple[str, int]]
    ) -> Iterator[tuple[int, int, str, int]]:
        """Yield (distance, row id, view, stored fingerprint), closest first, then oldest.

        A row that is near in two views comes twice.
        """
        found = [
            (match.distance, match.item, view, match.fingerprint)
            for view, fingerprint in views
            if (scope, view) in self._tables
            for match in self._tables[scope, view].matches(fingerprint)
        ]
        return iter(sorted(found))
