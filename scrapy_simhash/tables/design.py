"""Which tables find every fingerprint within k bits: two families, both exact.

A table orders the fingerprints by some of their bits, its key.  A probe reads what
stands under one key; with radius 1, also what stands under the keys one bit away.

::

    fingerprint   | A | B | C | D |      64 bits in 4 blocks
    key {A}       | A |                  16 bits: many candidates, few tables
    key {A, B}    | A | B |              32 bits: few candidates, more tables
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

BITS = 64
MAX_DISTANCE = 7


@dataclass(frozen=True)
class Table:
    """One table: the bits of its key, and how many of them may differ in a probe (0 or 1)."""

    mask: int
    radius: int

    @cached_property
    def flips(self) -> tuple[int, ...]:
        """What a probe changes in the key, one at a time; ``0`` is the key itself."""
        single = (1 << bit for bit in range(BITS) if self.mask >> bit & 1)
        return (0, *single) if self.radius else (0,)

    def probes(self, fingerprint: int) -> Iterator[int]:
        """Yield the keys to read: 1, or 1 + the key's width where the radius is 1."""
        key = fingerprint & self.mask
        return (key ^ flip for flip in self.flips)


def blocks(count: int) -> list[int]:
    """Return the masks of *count* contiguous blocks of nearly the same width, highest first.

    >>> [f"{mask:016x}" for mask in blocks(2)]
    ['ffffffff00000000', '00000000ffffffff']
    """
    edges = [BITS - BITS * i // count for i in range(count + 1)]
    return [(1 << high) - (1 << low) for high, low in pairwise(edges)]


def split_tables(distance: int) -> list[Table]:
    """Return the fewest tables with radius 0 or 1 that are exact for *distance* (0 to 7).

    One block a table.  Two fingerprints that no table brings together differ in at
    least radius + 1 bits of every block, so in the sum of (radius + 1) bits over all
    tables: exact when that sum is above *distance* (the pigeonhole of multi-index
    hashing: Norouzi, Punjani and Fleet, CVPR 2012, section 3).  Every radius is 1, but
    for the last one's where *distance* is even.

    >>> [table.radius for table in split_tables(4)]
    [1, 1, 0]
    """
    check_distance(distance)
    masks = blocks(distance // 2 + 1)
    radii = [1] * len(masks)
    if distance % 2 == 0:
        radii[-1] = 0
    return [Table(mask, radius) for mask, radius in zip(masks, radii, strict=True)]


def block_tables(distance: int, count: int) -> list[Table]:
    """Return the C(count, distance) tables of Manku, Jain and Das Sarma, section 3.1.

    The key of a table is all but *distance* of *count* blocks: however *distance* bits
    are spread, at most *distance* blocks hold one, and the table of the others has the
    same key on both sides.

    >>> len(block_tables(3, 6))
    20

    :raises ValueError: *count* is not above *distance*, or above 64.
    """
    check_distance(distance)
    if not distance < count <= BITS:
        raise ValueError(
            f"blocks must be greater than distance and at most {BITS}: "
            f"got blocks={count}, distance={distance}"
        )
    keys = combinations(blocks(count), count - distance)
    return [Table(sum(masks), radius=0) for masks in keys]


def check_distance(distance: int) -> None:
    """Refuse a distance that no design here covers.

    :raises ValueError: *distance* is not from 0 to 7.
    """
    if not 0 <= distance <= MAX_DISTANCE:
        raise ValueError(f"distance must be from 0 to {MAX_DISTANCE}: got distance={distance}")
