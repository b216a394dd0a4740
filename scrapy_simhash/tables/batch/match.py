"""Many queries at once: the batch query of section 3.3 of Manku, Jain and Das Sarma.

The tables are made of the queries, which fit into memory; the stored fingerprints, which need
not, stream past them, a block at a time, in the order of their file.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from scrapy_simhash.tables.batch.snapshot import BLOCK
from scrapy_simhash.tables.engine import PermutedTables


class Pair(NamedTuple):
    """A query and a stored fingerprint within the distance, each by its item."""

    query: int
    stored: int
    distance: int


def stream_matches(
    queries: PermutedTables, stored: Iterable[tuple[Sequence[int], Sequence[int]]]
) -> Iterator[list[Pair]]:
    """Yield, for each block of *stored*, all pairs within the distance of *queries*.

    *stored* yields (fingerprints, items), as :meth:`Snapshot.blocks` does.  Pairs come in the
    order of the stored fingerprints; of one of them, the closest query first.
    """
    for fingerprints, items in stored:
        nearest, _ = queries.check_many(fingerprints)
        yield [
            Pair(match.item, item, match.distance)
            for found, fingerprint, item in zip(nearest, fingerprints, items, strict=True)
            if found >= 0
            for match in queries.matches(fingerprint)
        ]


def check_in_threads(
    tables: PermutedTables, fingerprints: array[int], threads: int | None = None
) -> tuple[array[int], array[int]]:
    """Return what ``check_many`` does, by several threads: one for each core by default.

    *fingerprints* is an array of typecode Q.  The compiled engine searches without the
    interpreter's lock; for the other one, threads bring nothing.
    """
    threads = threads or os.cpu_count() or 1
    size = max(BLOCK, -(-len(fingerprints) // threads))
    view = memoryview(fingerprints)
    parts = [view[start : start + size] for start in range(0, len(view), size)]
    items, distances = array("q"), array("b")
    with ThreadPoolExecutor(threads) as pool:
        for part_items, part_distances in pool.map(tables.check_many, parts):
            items += part_items
            distances += part_distances
    return items, distances
