"""Counts that take a bounded amount of memory, at any number of pages.

They are plain dictionaries, not sketches from a library: the report shows bytes, examples and
texts beside each count, and a sketch has no room for them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any, TypeVar

Key = TypeVar("Key")
Row = TypeVar("Row", bound=Any)

# In a chart as wide as a page, 60 bars can still be told apart.
BINS = 60
# In a bin, beside the pages by outcome.
DUPLICATES = "duplicates"


def counted(number: int, what: str) -> str:
    """Return a number with what it counts, in which "(s)" is the plural.

    >>> counted(1, "page(s) judged"), counted(1234567, "page(s) judged")
    ('1 page judged', '1,234,567 pages judged')
    """
    return f"{number:,} {what}".replace("(s)", "" if number == 1 else "s")


def listed(counts: Iterable[tuple[int, str]]) -> str:
    """Return the numbers, each with what it counts, without zeros."""
    return ", ".join(counted(number, what) for number, what in counts if number)


class Heaviest(dict[Key, Row]):
    """The heaviest rows by key: at most *limit* of them.

    When there are more, the lighter half is removed (as in Misra and Gries, "Finding repeated
    elements", 1982).  A key that was removed and comes back starts from nothing, so the weight of
    a row is too low by at most *missing*, which is 0 until rows are removed.
    """

    def __init__(
        self, limit: int, new: Callable[[], Row], weight: Callable[[Row], int] = attrgetter("pages")
    ) -> None:
        super().__init__()
        self.limit = limit
        self.missing = 0
        self._new = new
        self._weight = weight

    def __missing__(self, key: Key) -> Row:
        """Return a new row for *key*; O(1), amortised."""
        if len(self) >= self.limit:
            self._let_go()
        row = self[key] = self._new()
        return row

    def top(self) -> Iterator[tuple[Key, Row]]:
        """Yield the rows, the heaviest first; rows of equal weight in the order they came."""
        yield from sorted(self.items(), key=lambda item: -self._weight(item[1]))

    def _let_go(self) -> None:
        ranked = list(self.top())
        half = self.limit // 2
        self.missing += self._weight(ranked[half][1])
        for key, _ in ranked[half:]:
            del self[key]


class Timeline:
    """Pages by the time of their decisions, in at most :data:`BINS` bins.

    In each bin, *pages* are counted by what became of them, and *duplicates* beside that.  A bin
    is one second wide at first.  When there would be more than :data:`BINS`, all become twice as
    wide.  Times may come in any order, as from the feeds of several machines.
    """

    def __init__(self) -> None:
        self.seconds = 1
        self.pages: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self.first = float("inf")
        self.last = float("-inf")

    def add(self, when: float, outcome: str, duplicate: bool) -> None:
        """Count a page that was judged *when*, in seconds since the epoch; O(1), amortised."""
        if not self.first <= when <= self.last:
            self.first = min(self.first, when)
            self.last = max(self.last, when)
            while self.last // self.seconds - self.first // self.seconds >= BINS:
                self._widen()
        pages = self.pages[int(when // self.seconds)]
        pages[outcome] += 1
        pages[DUPLICATES] += duplicate

    def rows(self) -> Iterator[tuple[float, Counter[str], int]]:
        """Yield (start of the bin, its pages by outcome, its duplicates), without a gap."""
        if self.pages:
            for number in range(min(self.pages), max(self.pages) + 1):
                pages = Counter(self.pages.get(number))
                duplicates = pages.pop(DUPLICATES, 0)
                yield number * self.seconds, pages, duplicates

    def _widen(self) -> None:
        self.seconds *= 2
        narrow, self.pages = self.pages, defaultdict(Counter)
        for number, pages in narrow.items():
            self.pages[number // 2].update(pages)
