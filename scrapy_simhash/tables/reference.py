"""The permuted tables in plain Python: short, always there, and what others are tested against."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scrapy_simhash.tables.design import Table, check_distance, split_tables


class Match(NamedTuple):
    """A stored item within k bits; sorts closest first, then oldest (lowest item) first."""

    distance: int
    item: int
    fingerprint: int


class PermutedTables:
    """Fingerprints of items, found again within *distance* bits, inclusive: exactly, always.

    An item is an int, lower ones being older; several items may share a fingerprint.
    *tables* is a design that is exact for *distance*; :func:`split_tables` by default.

    >>> tables = PermutedTables(distance=3)
    >>> tables.add(0b1011, item=1)
    >>> tables.nearest(0b1000)
    Match(distance=2, item=1, fingerprint=11)
    >>> tables.nearest(0b11110000) is None
    True

    Cost, with t tables of p key bits and n fingerprints: adding and removing touch t
    buckets; a query reads the probed buckets of each table, each about n / 2**p long for
    uniform fingerprints.
    """

    def __init__(self, distance: int, tables: Sequence[Table] | None = None) -> None:
        check_distance(distance)
        self.distance = distance
        self._tables = tuple(split_tables(distance) if tables is None else tables)
        self._buckets: list[dict[int, list[int]]] = [{} for _ in self._tables]
        self._items: dict[int, list[int]] = {}
        self._count = 0

    def __len__(self) -> int:
        """Return how many items are stored."""
        return self._count

    def add(self, fingerprint: int, item: int) -> None:
        """Store *item*; storing it twice under one fingerprint changes nothing."""
        items = self._items.get(fingerprint)
        if items is not None:
            if item not in items:
                insort(items, item)
                self._count += 1
            return
        self._items[fingerprint] = [item]
        self._count += 1
        for table, buckets in zip(self._tables, self._buckets, strict=True):
            buckets.setdefault(fingerprint & table.mask, []).append(fingerprint)

    def remove(self, fingerprint: int, item: int) -> None:
        """Forget *item*.

        :raises KeyError: it is not stored under *fingerprint*.
        """
        items = self._items.get(fingerprint, [])
        if item not in items:
            raise KeyError(f"item {item} is not stored under fingerprint {fingerprint:016x}")
        items.remove(item)
        self._count -= 1
        if items:
            return
        del self._items[fingerprint]
        for table, buckets in zip(self._tables, self._buckets, strict=True):
            key = fingerprint & table.mask
            buckets[key].remove(fingerprint)
            if not buckets[key]:
                del buckets[key]

    def matches(self, fingerprint: int) -> list[Match]:
        """Return every item within the distance, closest first, then oldest."""
        return sorted(
            Match(distance, item, found)
            for found, distance in self._within(fingerprint)
            for item in self._items[found]
        )

    def nearest(self, fingerprint: int) -> Match | None:
        """Return the closest item, the oldest of several; None where none is near enough.

        Stops at once where the fingerprint itself is stored.
        """
        if items := self._items.get(fingerprint):
            return Match(0, items[0], fingerprint)
        return min(self.matches(fingerprint), default=None)

    def any(self, fingerprint: int) -> Match | None:
        """Return the first item that is met, for those who need not know the closest."""
        for found, distance in self._within(fingerprint):
            return Match(distance, self._items[found][0], found)
        return None

    def _within(self, fingerprint: int) -> Iterator[tuple[int, int]]:
        """Yield each stored fingerprint within the distance once, and its distance."""
        seen: set[int] = set()
        for table, buckets in zip(self._tables, self._buckets, strict=True):
            for key in table.probes(fingerprint):
                for candidate in buckets.get(key, ()):
                    distance = (candidate ^ fingerprint).bit_count()
                    if distance <= self.distance and candidate not in seen:
                        seen.add(candidate)
                        yield candidate, distance
