"""Where fingerprints within a distance of k bits meet, however they crowd.

A fingerprint is placed by each of k + 1 blocks of bits.  Two that differ in at most k bits have one
block in common, so they meet in a place, whatever the blocks are.  A place that too many share is
divided by k + 1 blocks of the bits in which its fingerprints differ, and stays exact.

::

    fingerprint    | A | B | C | D |              64 bits, k = 3: in 4 places
    too many have this A:  |  a  |  b  |  c  |  d  |      ... in 4 places instead of that one
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scrapy_simhash.tables.design import BITS, blocks

# A place with more fingerprints is divided: with this number, a search takes 10 us instead of 1.
MOST_OF_PLACE = 20_000
# A place of the sample with fewer may be one by chance.
LEAST_CROWD = 100
# A fingerprint is in at most (k + 1) ** 3 places.
MOST_DIVISIONS = 2
# A bit differs if one of its values is that of this share of the fingerprints.
DIFFERING = 0.01


@dataclass(frozen=True)
class Division:
    """The *blocks* by which fingerprints are placed: masks without a common bit.

    *crowded* has, for each block, the places that are divided again, by the bits in it.  It need
    not be known exactly which are crowded: any answer is right.
    """

    blocks: Sequence[int]
    crowded: Sequence[Mapping[int, Division]]

    @classmethod
    def of(cls, sample: np.ndarray, share: float, distance: int) -> Division:
        """Return the division of the fingerprints of which *sample* is a share."""
        most = max(LEAST_CROWD, share * MOST_OF_PLACE)
        chosen = blocks_of(sample, distance)
        return cls._by(sample, most, distance, chosen or blocks(distance + 1), MOST_DIVISIONS)

    @classmethod
    def _by(
        cls, some: np.ndarray, most: float, distance: int, chosen: Sequence[int], levels: int
    ) -> Division:
        crowded: list[dict[int, Division]] = [{} for _ in chosen]
        if levels:
            for mask, places in zip(chosen, crowded, strict=True):
                bits = some & np.uint64(mask)
                values, counts = np.unique(bits, return_counts=True)
                for value in values[counts > most]:
                    inside = some[bits == value]
                    if inner := blocks_of(inside, distance):
                        places[int(value)] = cls._by(inside, most, distance, inner, levels - 1)
        return cls(chosen, crowded)

    def places(
        self, fingerprints: np.ndarray, some: np.ndarray | None = None, path: int = 0
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield numbers of fingerprints with those of the places that they are in, of 64 bits.

        *some* are the numbers of those in one place, *path* is its number.
        """
        if some is None:
            some = np.arange(len(fingerprints))
        for mask, crowded in zip(self.blocks, self.crowded, strict=True):
            bits = fingerprints[some] & np.uint64(mask)
            numbers = _hash(bits, hash((path, mask)))
            if not crowded:
                yield some, numbers
                continue
            is_divided = np.isin(bits, np.array([*crowded], np.uint64))
            yield some[~is_divided], numbers[~is_divided]
            for value in np.unique(bits[is_divided]).tolist():
                inside = bits == value
                inner = int(numbers[inside][0])
                yield from crowded[value].places(fingerprints, some[inside], inner)


def blocks_of(fingerprints: np.ndarray, distance: int) -> list[int]:
    """Return distance + 1 blocks of the bits that differ; none if these are too few.

    >>> [hex(mask) for mask in blocks_of(np.arange(256, dtype=np.uint64), 3)]
    ['0xc0', '0x30', '0xc', '0x3']
    """
    least = DIFFERING * len(fingerprints)
    bits = []
    for bit in reversed(range(BITS)):
        ones = np.count_nonzero(fingerprints & np.uint64(1 << bit))
        if least < ones < len(fingerprints) - least:
            bits.append(bit)
    count = distance + 1
    ends = [len(bits) * at // count for at in range(count + 1)]
    if len(bits) < count:
        return []
    return [sum(1 << bit for bit in bits[ends[at] : ends[at + 1]]) for at in range(count)]


def _hash(bits: np.ndarray, salt: int) -> np.ndarray:
    """Return the finaliser of MurmurHash3, which spreads all bits."""
    mixed: np.ndarray = bits ^ np.uint64(salt % (1 << BITS))
    for factor in 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53:
        mixed = (mixed ^ mixed >> np.uint64(33)) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(33)
    return mixed
