"""The permuted tables in plain Python: short, always available, the oracle of the tests."""

from __future__ import annotations

import sys
from array import array
from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from scrapy_simhash.tables.design import BITS, Table, check_distance, split_design

# Items are stored in 4 bytes.
ITEM_BITS = 32
ALL_MATCHES = 2**32 - 1


class Match(NamedTuple):
    """A stored item within k bits; sorts closest first, then oldest (lowest item) first."""

    distance: int
    item: int
    fingerprint: int


class ReferenceTables:
    """Items that are found by their fingerprints within *distance* bits, inclusive, exactly.

    An item is an int from 0 to 2**32 - 1; a lower one is older.  Several items may share a
    fingerprint.  *tables* belong to a design that is exact for *distance*; the default is that of
    :func:`~scrapy_simhash.tables.design.split_design`.

    >>> tables = ReferenceTables(distance=3)
    >>> tables.add(0b1011, item=1)
    >>> tables.nearest(0b1000)
    Match(distance=2, item=1, fingerprint=11)
    >>> tables.nearest(0b11110000) is None
    True

    Cost, with t tables of p key bits and n fingerprints: adding and removing touch t
    buckets.  A query reads the probed buckets of each table; each holds about n / 2**p
    uniform fingerprints.
    """

    def __init__(self, distance: int, tables: Sequence[Table] | None = None) -> None:
        check_distance(distance)
        self.distance = distance
        self.tables = tuple(split_design(distance).tables if tables is None else tables)
        self._buckets: list[dict[int, list[int]]] = [{} for _ in self.tables]
        self._items: dict[int, list[int]] = {}
        self._count = 0

    def __len__(self) -> int:
        """Return the number of stored items."""
        return self._count

    def add(self, fingerprint: int, item: int) -> None:
        """Store *item*; storing it twice under one fingerprint changes nothing.

        :raises ValueError: the fingerprint or the item is out of range.
        """
        check_fingerprint(fingerprint)
        check_item(item)
        items = self._items.get(fingerprint)
        if items is not None:
            if item not in items:
                insort(items, item)
                self._count += 1
            return
        self._items[fingerprint] = [item]
        self._count += 1
        for table, buckets in zip(self.tables, self._buckets, strict=True):
            buckets.setdefault(fingerprint & table.mask, []).append(fingerprint)

    def reserve(self, count: int) -> None:
        """Make room for *count* fingerprints in empty tables; these tables need no room."""

    def add_many(self, fingerprints: Sequence[int], items: Sequence[int]) -> None:
        """Store many items at once.

        :raises ValueError: one is out of range, or the lengths differ; nothing is stored.
        """
        if len(fingerprints) != len(items):
            raise ValueError(
                f"fingerprints and items must be equally many: "
                f"got {len(fingerprints)} and {len(items)}"
            )
        for fingerprint, item in zip(fingerprints, items, strict=True):
            check_fingerprint(fingerprint)
            check_item(item)
        for fingerprint, item in zip(fingerprints, items, strict=True):
            self.add(fingerprint, item)

    def build(self, fingerprints: Sequence[int], items: Sequence[int]) -> None:
        """Store many items in empty tables; here this is :meth:`add_many`.

        :raises ValueError: as :meth:`add_many`; the tables are not empty.
        """
        if self._count:
            raise ValueError(f"this must come first: the tables have {len(self)} items")
        self.add_many(fingerprints, items)

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
        for table, buckets in zip(self.tables, self._buckets, strict=True):
            key = fingerprint & table.mask
            buckets[key].remove(fingerprint)
            if not buckets[key]:
                del buckets[key]

    def matches(self, fingerprint: int, most: int = ALL_MATCHES) -> list[Match]:
        """Return every item within the distance, closest first, then oldest.

        *most* bounds the work: a search stops at this number of stored fingerprints (one may be met
        in several tables), and returns about this number of the items of each.
        """
        check_fingerprint(fingerprint)
        return sorted(
            Match(distance, item, found)
            for found, distance in islice(self._within(fingerprint), most)
            for item in self._items[found][:most]
        )

    def nearest(self, fingerprint: int) -> Match | None:
        """Return the closest item, the oldest of several; None if none is near enough.

        The search stops at once if the fingerprint itself is stored.
        """
        if items := self._items.get(fingerprint):
            return Match(0, items[0], fingerprint)
        return min(self.matches(fingerprint), default=None)

    def check_and_add(self, fingerprint: int, item: int) -> Match | None:
        """Return the result of :meth:`nearest`; if it is None, store *item*."""
        check_item(item)
        match = self.nearest(fingerprint)
        if match is None:
            self.add(fingerprint, item)
        return match

    def check_many(self, fingerprints: Iterable[int]) -> tuple[array[int], array[int]]:
        """Return, for each fingerprint, the closest stored item and its distance.

        Two arrays: items (typecode ``q``) and distances (``b``); both -1 if none is near enough.
        """
        items, distances = array("q"), array("b")
        for fingerprint in fingerprints:
            match = self.nearest(fingerprint)
            items.append(-1 if match is None else match.item)
            distances.append(-1 if match is None else match.distance)
        return items, distances

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the tables take, approximately."""
        lists = [*self._items.values(), *(b for table in self._buckets for b in table.values())]
        return sum(map(sys.getsizeof, [self._items, *self._buckets, *lists])) + 36 * len(self)

    def _check(self) -> None:
        """Assert every invariant; for tests."""
        assert self._count == sum(map(len, self._items.values()))  # noqa: S101
        for table, buckets in zip(self.tables, self._buckets, strict=True):
            stored = [(key, f) for key, found in buckets.items() for f in found]
            assert all(f & table.mask == key for key, f in stored)  # noqa: S101
            assert sorted(f for _, f in stored) == sorted(self._items)  # noqa: S101

    def _within(self, fingerprint: int) -> Iterator[tuple[int, int]]:
        """Yield each stored fingerprint within the distance once, and its distance."""
        seen: set[int] = set()
        for table, buckets in zip(self.tables, self._buckets, strict=True):
            for key in table.probes(fingerprint):
                for candidate in buckets.get(key, ()):
                    distance = (candidate ^ fingerprint).bit_count()
                    if distance <= self.distance and candidate not in seen:
                        seen.add(candidate)
                        yield candidate, distance


def _check_range(name: str, bits: int, value: int) -> None:
    """Refuse a value that does not fit into a number of bits.

    :raises TypeError: it is not an int.
    :raises ValueError: it is not from 0 to 2**bits - 1.
    """
    if not isinstance(value, int):
        raise TypeError(f"{name} must be an int: got {value!r}")
    if not 0 <= value < 1 << bits:
        raise ValueError(f"{name} must be from 0 to 2**{bits} - 1: got {value}")


check_fingerprint = partial(_check_range, "fingerprint", BITS)
check_item = partial(_check_range, "item", ITEM_BITS)
