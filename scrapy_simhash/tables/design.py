"""Which tables find every fingerprint within k bits: three families, all exact, and a planner.

A table orders the fingerprints by some of their bits, its key.  A probe reads the fingerprints
under one key; with radius 1, also those under the keys one bit away.

::

    fingerprint   | A | B | C | D |      64 bits in 4 blocks
    key {A}       | A |                  16 bits: many candidates, few tables
    key {A, B}    | A | B |              32 bits: few candidates, more tables

The docstring of each function says why its tables are exact.  The tests check every design
over all ways to spread k bits over its blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from math import comb, log2

BITS = 64
MAX_DISTANCE = 7

# More tables than this cost more memory than a crawl can spend on the time that they save.
MAX_TABLES = 40
# If the blocks outnumber the distance by more than this, a key is wider than any crawl can fill.
MAX_SPARE_BLOCKS = 4

# The compiled engine's line of 64 bytes holds 7 fingerprints, and 5 on average before the
# tables grow.  Only the first table has row numbers (4 bytes each) beside it.
ENTRIES_A_LINE = 5
LINE_BYTES = 64
ROW_LINE_BYTES = 28

# Estimates by benchmarks/bench_index.py, one core of an AMD EPYC, from 1 to 10 million
# fingerprints: the time of a query, of each table, of each place in memory that it reads, and of
# ENTRIES_A_LINE further fingerprints at such a place.
CHECK_NANOSECONDS = 340.0
TABLE_NANOSECONDS = 20.0
PLACE_NANOSECONDS = 27.0
LINE_NANOSECONDS = 1.5


@dataclass(frozen=True)
class Table:
    """One table: the bits of its key, and the number of them that may differ (0 or 1)."""

    mask: int
    radius: int

    @cached_property
    def flips(self) -> tuple[int, ...]:
        """The changes of the key that a query tries, one at a time; ``0`` is the key itself."""
        single = (1 << bit for bit in range(BITS) if self.mask >> bit & 1)
        return (0, *single) if self.radius else (0,)

    def probes(self, fingerprint: int) -> Iterator[int]:
        """Yield the keys to read: 1, or 1 + the key's width if the radius is 1."""
        key = fingerprint & self.mask
        return (key ^ flip for flip in self.flips)

    @property
    def key_bits(self) -> int:
        """The width of the key."""
        return self.mask.bit_count()


@dataclass(frozen=True)
class Design:
    """Tables that together are exact for *distance*, and what they cost.

    The figures are expectations for fingerprints with independent, uniform bits.
    """

    name: str
    distance: int
    tables: tuple[Table, ...]

    @property
    def probes(self) -> int:
        """The number of keys that a query reads, over all tables."""
        return sum(len(table.flips) for table in self.tables)

    @property
    def bytes_per_fingerprint(self) -> float:
        """Memory that the compiled engine takes for one fingerprint and its row number."""
        return (len(self.tables) * LINE_BYTES + ROW_LINE_BYTES) / ENTRIES_A_LINE

    def seconds_per_check(self, pages: int) -> float:
        """Return the estimated time of one query in the compiled engine.

        Its tables grow with the pages, up to one line for each key.  Keys that differ only
        in bits that do not choose the line yet share a line, which is read once.
        """
        address_bits = max(0.0, log2(max(1, pages) / ENTRIES_A_LINE))
        nanoseconds = CHECK_NANOSECONDS
        for table in self.tables:
            bits = min(address_bits, table.key_bits)
            further_lines = max(0.0, pages / 2**bits / ENTRIES_A_LINE - 1)
            places = 1 + table.radius * bits
            nanoseconds += TABLE_NANOSECONDS
            nanoseconds += places * (PLACE_NANOSECONDS + LINE_NANOSECONDS * further_lines)
        return nanoseconds / 1e9


def design(pages: int, distance: int, max_bytes: float | None = None) -> Design:
    """Return the design with the quickest check for *pages* fingerprints.

    *max_bytes* limits the memory of all fingerprints together.  If no design is within the limit,
    the smallest design is returned.

    >>> design(1_000_000, distance=3, max_bytes=50_000_000).name
    'split 2'

    :raises ValueError: *pages* is not above 0; *distance* is not from 0 to 7.
    """
    if pages < 1:
        raise ValueError(f"pages must be at least 1: got pages={pages}")
    known = designs(distance)
    if max_bytes is not None:
        known = [d for d in known if d.bytes_per_fingerprint * pages <= max_bytes] or known[:1]
    return min(known, key=lambda d: (d.seconds_per_check(pages), len(d.tables)))


def designs(distance: int) -> list[Design]:
    """Return every design for *distance* with at most 40 tables, the fewest tables first.

    :raises ValueError: *distance* is not from 0 to 7.
    """
    check_distance(distance)
    found = [split_design(distance)]
    if distance == 0:
        return found
    found += [
        block_design(distance, count)
        for count in range(distance + 1, distance + 1 + MAX_SPARE_BLOCKS)
        if comb(count, distance) <= MAX_TABLES
    ]
    found += [covering_design(distance, *keys) for keys in COVERINGS.get(distance, [])]
    return sorted(found, key=lambda d: (len(d.tables), d.probes))


def split_design(distance: int) -> Design:
    """Return the fewest tables with radius 0 or 1 that are exact for *distance* (0 to 7).

    Each table has one block as its key.  If no table finds a pair of fingerprints, they
    differ in at least radius + 1 bits of every block.  In total they differ in at least the
    sum of (radius + 1) over all tables, so the design is exact if this sum is above
    *distance* (the pigeonhole principle of multi-index hashing: Norouzi, Punjani and Fleet,
    CVPR 2012, section 3).  Every radius is 1, except the last one if *distance* is even.

    >>> [table.radius for table in split_design(4).tables]
    [1, 1, 0]
    """
    masks = blocks(distance // 2 + 1)
    radii = [1] * len(masks)
    if distance % 2 == 0:
        radii[-1] = 0
    tables = tuple(Table(mask, radius) for mask, radius in zip(masks, radii, strict=True))
    return Design(f"split {len(tables)}", distance, tables)


def block_design(distance: int, count: int) -> Design:
    """Return the C(count, distance) tables of Manku, Jain and Das Sarma, section 3.1.

    The key of a table is all but *distance* of *count* blocks, which are more.  Two fingerprints
    that differ in *distance* bits differ in at most *distance* blocks.  The table with the other
    blocks has the same key for both.

    >>> len(block_design(3, 6).tables)
    20
    """
    keys = combinations(blocks(count), count - distance)
    tables = tuple(Table(sum(masks), radius=0) for masks in keys)
    return Design(f"blocks {count}", distance, tables)


# Covering designs for each distance: the number of blocks, and the keys of the tables, whose
# hexadecimal digits are blocks.  Found by simulated annealing, which swaps one block of a key at a
# time; the tests check each.
COVERINGS: dict[int, list[tuple[int, str]]] = {
    2: [(5, "02 13 04 24")],
    3: [
        (6, "45 13 03 24 01 25"),
        (8, "027 014 347 245 135 167 056 236"),
        (11, "14569 0467a 1357a 03568 2458a 34789 0189a 2369a 02579 01234 12678"),
        (8, "1245 0135 0126 0257 0367 1567 0147 1346 0456 3457 0234 2356 1237 2467"),
    ],
    4: [
        (7, "46 34 23 01 24 05 26 36 15"),
        (9, "035 378 125 168 134 567 247 028 046 458 236 017"),
        (
            10,
            "1389 1347 0589 0169 5679 2457 2359 2367 0278 3469"
            " 0249 0157 0345 1678 4568 1246 0123 0368 4789 1258",
        ),
    ],
    5: [(8, "47 46 02 12 13 56 67 03 45 23 57 01")],
}


def covering_design(distance: int, count: int, keys: str) -> Design:
    """Return tables with keys of which at least one stays the same if any *distance* blocks change.

    The sets of blocks that the keys leave out form a covering design C(count, size, distance):
    every set of *distance* blocks is within one of those sets.  At most *distance* bits differ, so
    they are in at most *distance* blocks, and at least one key has none of these blocks.  There are
    fewer tables than the paper's for keys of the same width.
    """
    masks = blocks(count)
    tables = tuple(
        Table(sum(masks[int(block, 16)] for block in key), radius=0) for key in keys.split()
    )
    return Design(f"covering {len(tables)}", distance, tables)


def blocks(count: int) -> list[int]:
    """Return the masks of *count* contiguous blocks of nearly the same width, highest first.

    >>> [f"{mask:016x}" for mask in blocks(2)]
    ['ffffffff00000000', '00000000ffffffff']
    """
    edges = [BITS - BITS * i // count for i in range(count + 1)]
    return [(1 << high) - (1 << low) for high, low in pairwise(edges)]


def check_distance(distance: int) -> None:
    """Refuse a distance that no design covers.

    :raises ValueError: *distance* is not from 0 to 7.
    """
    if not 0 <= distance <= MAX_DISTANCE:
        raise ValueError(f"distance must be from 0 to {MAX_DISTANCE}: got distance={distance}")
