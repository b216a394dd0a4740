"""The permuted tables of an index: one for each view, which all scopes share."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from secrets import token_bytes
from typing import NamedTuple

from scrapy_simhash.decision.judge import CONTENT, MAIN_TEXT, View
from scrapy_simhash.tables import PermutedTables, design, say_if_not_compiled

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


# A view is searched until this many rows are found, in up to 0.5 ms.  The rule looks at 100.
MOST_MATCHES = 400

_BYTES = 8


class ViewTables:
    """Finds rows by any of their fingerprints, in their scope.

    A fingerprint is stored in its difference from a mask, a number of its scope.  So pages of one
    scope are as near each other as they are, and those of two only by chance: about once in 26
    billion pairs within 7 bits.  The masks are secret, so nobody can make a page that is near those
    of another scope.
    """

    def __init__(self, distance: int) -> None:
        say_if_not_compiled()
        tables = design(PLANNED_PAGES, distance, PLANNED_PAGES * PLANNED_BYTES).tables
        self._views = {view: PermutedTables(distance, tables) for view in (MAIN_TEXT, CONTENT)}
        self._key = token_bytes(32)

    def _mask(self, scope: str) -> bytes:
        return blake2b(scope.encode(), key=self._key, digest_size=_BYTES).digest()

    def _masked(self, scope: str, fingerprint: int) -> int:
        """Return a fingerprint as it is stored, or one that is stored as it was."""
        return fingerprint ^ int.from_bytes(self._mask(scope), sys.byteorder)

    def add(self, scope: str, view: View, fingerprint: int, row_id: int) -> None:
        """Add a row under a fingerprint."""
        self._views[view].add(self._masked(scope, fingerprint), row_id)

    def add_many(self, groups: Iterable[TableEntries]) -> None:
        """Add rows; into empty tables, several times faster than one by one."""
        whole = {view: (array("Q"), array("I")) for view in self._views}
        for scope, view, fingerprints, ids in groups:
            masks = int.from_bytes(self._mask(scope) * len(ids), sys.byteorder)
            masked = int.from_bytes(fingerprints.tobytes(), sys.byteorder) ^ masks
            whole[view][0].frombytes(masked.to_bytes(_BYTES * len(ids), sys.byteorder))
            whole[view][1].extend(ids)
        while whole:
            view, entries = whole.popitem()
            tables = self._views[view]
            (tables.add_many if len(tables) else tables.build)(*entries)

    def remove(self, scope: str, view: View, fingerprint: int, row_id: int) -> None:
        """Remove a row from under a fingerprint.

        :raises KeyError: it is not there.
        """
        self._views[view].remove(self._masked(scope, fingerprint), row_id)

    def near(
        self, scope: str, views: Iterable[tuple[View, int]]
    ) -> Iterator[tuple[int, int, View, int]]:
        """Yield (distance, row id, view, stored fingerprint), view after view.

        In each view, the closest come first, then the oldest.  A row near in two views comes twice,
        and by chance there may be one of another scope.  If over 400 rows are near, some are left
        out.
        """
        for view, fingerprint in views:
            masked = self._masked(scope, fingerprint)
            for distance, row_id, found in self._views[view].matches(masked, MOST_MATCHES):
                yield distance, row_id, view, self._masked(scope, found)
