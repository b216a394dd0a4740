"""Tables that are built at once are those that come of adding one by one."""

from __future__ import annotations

import random
import subprocess
import sys
from array import array
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.tables import PermutedTables, ReferenceTables, designs
from scrapy_simhash.tables.design import Table
from tests.tables.engines import (
    DISTANCES,
    ENDS_AND_MIDDLE,
    CompiledTables,
    each_engine,
    held,
    site,
)

PAIRS = st.lists(st.tuples(st.integers(0, 20) | st.integers(0, 2**64 - 1), st.integers(0, 9)))


def built(engine: Any, distance: int, design: Any, stored: list[int], items: list[int]) -> Any:
    tables = engine(distance, design.tables)
    tables.build(array("Q", stored), array("I", items))
    tables._check()
    return tables


@each_engine
@pytest.mark.parametrize("distance", DISTANCES)
@given(pairs=PAIRS)
def test_built_tables_hold_what_added_ones_do(
    engine: Any, distance: int, pairs: list[tuple[int, int]]
) -> None:
    stored, items = [f for f, _ in pairs], [i for _, i in pairs]
    for design in designs(distance):
        tables = built(engine, distance, design, stored, items)
        added = ReferenceTables(distance, design.tables)
        added.add_many(stored, items)
        assert_holds_what_was_added(tables, added, stored)


def assert_holds_what_was_added(tables: Any, added: ReferenceTables, stored: list[int]) -> None:
    """The same, and each fingerprint once: all can be removed again."""
    assert held(tables, stored) == held(added, stored)
    for fingerprint, item in held(added, stored):
        tables.remove(fingerprint, item)
    tables._check()
    assert len(tables) == 0


@each_engine
@pytest.mark.parametrize("distance", ENDS_AND_MIDDLE)
def test_built_tables_grow_and_shrink(engine: Any, distance: int) -> None:
    """Thousands of fingerprints, piled up and repeated: lines have runs."""
    stored = site(3000, seed=distance)
    for design in designs(distance):
        tables = built(engine, distance, design, stored[:2000], [i // 2 for i in range(2000)])
        for item, fingerprint in enumerate(stored[2000:], start=1000):
            tables.add(fingerprint, item)
        for item in range(0, 2000, 3):
            tables.remove(stored[item], item // 2) if item % 2 else tables.add(stored[item], item)
        tables._check()
        for query in stored[::100]:
            expected = {m.fingerprint for m in tables.matches(query)}
            near = {f for f in stored if (f ^ query).bit_count() <= distance}
            assert expected <= near


@each_engine
@pytest.mark.parametrize("distance", [3, 7])
def test_built_tables_hold_what_added_ones_do_if_one_line_has_thousands(
    engine: Any, distance: int
) -> None:
    """Crafted: the first table has one key for all.  Some are there twice, or often."""
    rng = random.Random(distance)
    design = designs(distance)[0]
    mask = design.tables[0].mask
    stored = [rng.getrandbits(64) & ~mask for _ in range(3000)]
    stored += rng.choices(stored, k=300) + 20 * stored[:1]
    rng.shuffle(stored)
    items = rng.sample(range(len(stored)), len(stored))
    tables = built(engine, distance, design, stored, items)
    added = ReferenceTables(distance, design.tables)
    added.add_many(stored, items)
    assert_holds_what_was_added(tables, added, stored)


@pytest.mark.skipif(CompiledTables is None, reason="not compiled")
def test_tables_that_grow_take_little_more_than_built_ones() -> None:
    """Of runs that grow by a sixteenth, 3 % are unused."""
    rng, items = random.Random(1), array("I", range(100_000))
    stored = array("Q", [rng.getrandbits(64) for _ in items])
    tables = (Table(0x1FF << 8, 1), Table(0x1FF << 40, 1))  # runs of 190
    grown, whole = CompiledTables(3, tables), CompiledTables(3, tables)
    for one, item in zip(stored, items, strict=True):
        grown.add(one, item)
    whole.build(stored, items)
    assert grown.nbytes <= 1.04 * whole.nbytes


@each_engine
def test_only_empty_tables_are_built(engine: Any) -> None:
    tables = engine(3)
    tables.build(array("Q"), array("I"))
    with pytest.raises(ValueError, match="equally many"):
        tables.build(array("Q", [1, 2]), array("I", [1]))
    tables.build(array("Q", [1]), array("I", [1]))
    with pytest.raises(ValueError, match="must come first"):
        tables.build(array("Q", [2]), array("I", [2]))
    assert len(tables) == 1


NO_MEMORY_LEFT = """
import os, resource
from array import array
from scrapy_simhash.tables import designs
from scrapy_simhash.tables.compiled import CompiledTables

def in_use():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()

count = 1_000_000
fingerprints = array("Q", os.urandom(8 * count))
items = array("I", range(count))
for design in (designs(7)[0], designs(3)[0]):
    for room in (1, 5, 20, 30, 40):
        tables = CompiledTables(design.distance, design.tables)
        limit = in_use() + room * 1_000_000
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        try:
            tables.build(fingerprints, items)
            raise SystemExit(f"{room} MB were enough")
        except MemoryError:
            pass
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert len(tables) == 0
        tables._check()
        tables.build(fingerprints, items)
        assert len(tables) == count
"""


@pytest.mark.skipif(PermutedTables is ReferenceTables, reason="not compiled")
@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_an_allocation_that_fails_leaves_the_tables_empty() -> None:
    done = subprocess.run([sys.executable, "-c", NO_MEMORY_LEFT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
