"""Many queries at once: the batch query of section 3.3 of Manku, Jain and Das Sarma.

The tables are made of the queries, which must fit into memory.  The stored fingerprints may be
more than memory holds: they stream past the tables, a block at a time, in the order of their file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from scrapy_simhash.tables.engine import PermutedTables


class Pair(NamedTuple):
    """The items of a query and of a stored fingerprint within the distance, and their distance."""

    query: int
    stored: int
    distance: int


def stream_matches(
    queries: PermutedTables, stored: Iterable[tuple[Sequence[int], Sequence[int]]]
) -> Iterator[list[Pair]]:
    """Yield, for each block of *stored*, all pairs within the distance of *queries*.

    *stored* yields (fingerprints, items), as :meth:`Snapshot.blocks` does.  Pairs come in the
    order of the stored fingerprints; those of one stored fingerprint, the closest query first.
    """
    for fingerprints, items in stored:
        nearest, _ = queries.check_many(fingerprints)
        yield [
            Pair(match.item, item, match.distance)
            for found, fingerprint, item in zip(nearest, fingerprints, items, strict=True)
            if found >= 0
            for match in queries.matches(fingerprint)
        ]
