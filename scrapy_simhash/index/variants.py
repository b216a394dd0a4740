"""Finds the kept page of a copy that its fingerprints do not find.

Of thousands of variants of one text, all are near the copy, and only 100 are compared with it; a
page of which much changes by itself is near no copy.  The page that it is a copy of has values that
others have not, and is found by these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from heapq import nsmallest

from scrapy_simhash.decision.holdings import PLACE

# The number of values by which a kept page is found: those that the fewest pages before it had.
RARE_OF_PAGE = 4
# The number of values that are remembered, about 30 MB.  The oldest are forgotten first.
MOST_VALUES = 1 << 18
# How often each was met, up to 255: values that share a byte seem less rare than they are.  The
# lowest bits of a value are of its place on the page, and do not count.
_COUNTS = 1 << 20
# The number of kept pages that are found for a page, those with most of its rare values first.
MOST_FOUND = 8


class Variants:
    """Finds kept pages by the rare values that they share with another; memory is bounded.

    It is of one process: what others have stored, or this one before it was started, is not found.
    """

    def __init__(self) -> None:
        self._counts = bytearray(_COUNTS)
        self._rows: dict[int, int] = {}

    def add(self, values: Iterable[int], row_id: int) -> None:
        """Take note of a kept page's values; 0.2 us each."""
        counts = self._counts
        own = []
        for value in set(values):
            place = value // (PLACE + 1) % _COUNTS
            times = counts[place]
            if times < 255:
                counts[place] = times = times + 1
            own.append((times, value))
        for _, value in nsmallest(RARE_OF_PAGE, own):
            self._rows.setdefault(value, row_id)
        while len(self._rows) > MOST_VALUES:
            del self._rows[next(iter(self._rows))]

    def like(self, values: Iterable[int]) -> list[int]:
        """Return the ids of kept pages that share rare values with a page; 0.1 us a value."""
        rows = self._rows
        shared: Counter[int] = Counter()  # the rarer a value is, the more it counts
        for value in set(values):
            if value in rows:
                shared[rows[value]] += 255 // self._counts[value // (PLACE + 1) % _COUNTS]
        return [row_id for row_id, _ in shared.most_common(MOST_FOUND)]
