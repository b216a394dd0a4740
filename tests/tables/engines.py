"""The engines of permuted tables, each of which a test may ask for, and fingerprints for them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from scrapy_simhash.tables import ReferenceTables

try:
    from scrapy_simhash.tables.compiled import CompiledTables
except ImportError:  # there was no compiler
    CompiledTables = None  # type: ignore[assignment,misc]

__all__ = ["DISTANCES", "ENDS_AND_MIDDLE", "CompiledTables", "each_engine", "held", "site"]

DISTANCES = range(8)
# For tests that take seconds for each.
ENDS_AND_MIDDLE = [
    pytest.param(distance, marks=[] if distance in (0, 3, 7) else pytest.mark.long)
    for distance in DISTANCES
]
# A fixture would do, but for Hypothesis, which runs a test many times over.
each_engine = pytest.mark.parametrize(
    "engine",
    [
        ReferenceTables,
        pytest.param(
            CompiledTables, marks=pytest.mark.skipif(CompiledTables is None, reason="not compiled")
        ),
    ],
)


def site(size: int, seed: int) -> list[int]:
    """Fingerprints as a site has them: in clusters, with piles of nearly the same."""
    rng = random.Random(seed)
    centres = [rng.getrandbits(64) for _ in range(8)]
    found = []
    for _ in range(size):
        fingerprint = rng.choice(centres) if rng.random() < 0.7 else rng.getrandbits(64)
        for _ in range(rng.randrange(12)):
            fingerprint ^= 1 << rng.randrange(64)
        found.append(fingerprint)
    return found


def held(tables: Any, stored: Iterable[int]) -> list[tuple[int, int]]:
    """All that the tables hold, as sorted fingerprints and items, if it is among those *stored*."""
    found = (match for one in {*stored} for match in tables.matches(one) if not match.distance)
    whole = sorted((match.fingerprint, match.item) for match in found)
    assert len(whole) == len(tables)
    return whole
