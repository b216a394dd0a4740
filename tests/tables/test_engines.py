"""Every engine with every design finds what a linear scan finds: no more, no less."""

from __future__ import annotations

import subprocess
import sys
from array import array
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash import hamming_distance
from scrapy_simhash.tables import (
    Match,
    ReferenceTables,
    Table,
    designs,
    say_if_not_compiled,
    split_design,
)
from tests.tables.engines import (
    DISTANCES,
    ENDS_AND_MIDDLE,
    CompiledTables,
    each_engine,
    held,
    site,
)

MASK = (1 << 64) - 1
FINGERPRINTS = st.integers(0, MASK)


def linear_scan(stored: list[int], fingerprint: int, distance: int) -> list[Match]:
    return sorted(
        Match(hamming_distance(other, fingerprint), item, other)
        for item, other in enumerate(stored)
        if hamming_distance(other, fingerprint) <= distance
    )


@st.composite
def planted(draw: st.DrawFn, distance: int) -> tuple[list[int], int]:
    """Stored fingerprints and a query, with neighbours at 0, k - 1, k and k + 1 bits."""
    query = draw(FINGERPRINTS)
    stored = draw(st.lists(FINGERPRINTS, max_size=20))
    for bits in {0, max(distance - 1, 0), distance, distance + 1}:
        flips = draw(st.sets(st.integers(0, 63), min_size=bits, max_size=bits))
        stored.append(query ^ sum(1 << bit for bit in flips))
    return draw(st.permutations(stored)), query


@each_engine
def test_search_for_some_matches_stops(engine: Any) -> None:
    tables = engine(3)
    for item in range(5_000):
        tables.add(item // 20 << 1 & 0b111, item)  # four fingerprints with 1,250 items each
        tables.add(item << 20, 10_000 + item)
    assert len(tables.matches(0)) > 5_000
    some = tables.matches(0, 100)
    assert len(some) <= 2 * 4 * 100
    assert some == sorted(some)
    assert set(some) <= set(tables.matches(0))


@each_engine
@pytest.mark.parametrize("distance", DISTANCES)
@given(data=st.data())
def test_matches_are_those_of_a_linear_scan(
    engine: Any, distance: int, data: st.DataObject
) -> None:
    stored, query = data.draw(planted(distance))
    expected = linear_scan(stored, query, distance)
    for design in designs(distance):
        tables = engine(distance, design.tables)
        for item, fingerprint in enumerate(stored):
            tables.add(fingerprint, item)
        assert tables.matches(query) == expected
        assert tables.nearest(query) == min(expected, default=None)


@pytest.mark.skipif(CompiledTables is None, reason="not compiled")
@pytest.mark.parametrize("distance", ENDS_AND_MIDDLE)
def test_the_engines_agree_as_tables_grow_and_shrink(distance: int) -> None:
    """With thousands of fingerprints, lines split, and runs appear and disappear."""
    stored = site(3000, seed=distance)
    for design in designs(distance):
        one = ReferenceTables(distance, design.tables)
        two = CompiledTables(distance, design.tables)
        for tables in (one, two):
            for item, fingerprint in enumerate(stored):
                tables.add(fingerprint, item // 2)
            for item in range(0, len(stored), 3):
                if item // 2 in [m.item for m in tables.matches(stored[item])]:
                    tables.remove(stored[item], item // 2)
            tables._check()
        assert len(one) == len(two)
        assert held(one, stored) == held(two, stored)
        for query in stored[::50] + site(50, seed=99):
            assert one.matches(query) == two.matches(query)
            assert one.nearest(query) == two.nearest(query)


@pytest.mark.skipif(CompiledTables is None, reason="not compiled")
def test_every_way_to_compare_finds_the_same() -> None:
    from scrapy_simhash.tables.compiled import SCANNERS, use_scanner

    stored = site(3000, seed=11)
    tables, reference = CompiledTables(5), ReferenceTables(5)
    for item, fingerprint in enumerate(stored):
        tables.add(fingerprint, item)
        reference.add(fingerprint, item)
    assert SCANNERS[-1] == "portable"
    try:
        for scanner in SCANNERS:
            use_scanner(scanner)
            for query in stored[::40]:
                assert tables.matches(query) == reference.matches(query)
                assert tables.nearest(query) == reference.nearest(query)
    finally:
        use_scanner(SCANNERS[0])


@each_engine
def test_many_at_once_are_the_same_as_one_by_one(engine: Any) -> None:
    stored, queries = site(2000, seed=1), site(500, seed=2)
    stored[100:110] = stored[0:10]  # repeated fingerprints share one entry
    one, two = engine(3), engine(3)
    two.add_many(array("Q", stored), array("I", range(len(stored))))
    for item, fingerprint in enumerate(stored):
        one.add(fingerprint, item)
    assert held(one, stored) == held(two, stored)
    items, distances = two.check_many(array("Q", queries))
    for query, item, distance in zip(queries, items, distances, strict=True):
        match = one.nearest(query)
        assert (distance, item) == ((-1, -1) if match is None else match[:2])


@each_engine
@pytest.mark.parametrize("room", [0, 1, 40, 41, 500, 2000, 100_000])
@pytest.mark.parametrize("distance", [0, 3, 7])
def test_room_made_beforehand_changes_nothing(engine: Any, room: int, distance: int) -> None:
    stored = site(2000, seed=4)
    tables, roomy = engine(distance), engine(distance)
    roomy.reserve(room)
    for one in (tables, roomy):
        one.add_many(array("Q", stored), array("I", range(len(stored))))
        one._check()
    assert len(tables) == len(roomy)
    assert tables.check_many(array("Q", stored)) == roomy.check_many(array("Q", stored))


@pytest.mark.skipif(CompiledTables is None, reason="not compiled")
def test_threads_may_search_at_once() -> None:
    stored = array("Q", site(20_000, seed=1))
    tables = CompiledTables(3)
    tables.add_many(stored, array("I", range(len(stored))))
    expected = tables.check_many(stored)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(tables.check_many, [stored] * 8)) == [expected] * 8


@each_engine
def test_check_and_add_keeps_one_of_each_group(engine: Any) -> None:
    tables = engine(2)
    assert tables.check_and_add(0b0000, item=0) is None
    assert tables.check_and_add(0b0011, item=1) == Match(2, 0, 0b0000)
    assert tables.check_and_add(0b0111, item=2) is None
    assert len(tables) == 2


@pytest.mark.parametrize("distance", DISTANCES)
def test_designs_are_exact_however_the_bits_are_spread(distance: int) -> None:
    """Exhaustive at block level: every way to put k bits into the blocks of the keys."""
    for design in designs(distance):
        edges = sorted({0, 64} | {b for t in design.tables for b in edges_of(t.mask)})
        cells = [(1 << high) - (1 << low) for low, high in pairwise(edges)]
        for bits in spread(cells, distance):
            difference = sum(bits)
            assert any((difference & t.mask).bit_count() <= t.radius for t in design.tables)


def edges_of(mask: int) -> set[int]:
    return {i for i in range(65) if (mask << 1 >> i & 1) != (mask << 1 >> i + 1 & 1)}


def spread(cells: list[int], distance: int) -> list[tuple[int, ...]]:
    """One difference for each way to distribute *distance* bits over the cells."""

    def shares(left: int, over: int) -> list[list[int]]:
        if over == 1:
            return [[left]]
        return [[n, *rest] for n in range(left + 1) for rest in shares(left - n, over - 1)]

    return [
        tuple((cell & -cell) << i for cell, n in zip(cells, share, strict=True) for i in range(n))
        for share in shares(distance, len(cells))
        if all(n <= cell.bit_count() for cell, n in zip(cells, share, strict=True))
    ]


def test_keys_of_a_table() -> None:
    high, low = split_design(3).tables
    assert (high.mask, low.mask) == (0xFFFFFFFF00000000, 0x00000000FFFFFFFF)
    assert len(list(high.probes(0))) == 33
    assert list(Table(0b11, radius=0).probes(0b111)) == [0b11]


@each_engine
@pytest.mark.parametrize("distance", DISTANCES)
def test_exactly_k_matches_and_one_more_does_not(engine: Any, distance: int) -> None:
    tables = engine(distance)
    tables.add(0, item=7)
    assert tables.nearest((1 << distance) - 1) == (distance, 7, 0)
    assert tables.nearest((1 << distance + 1) - 1) is None


@each_engine
@pytest.mark.parametrize("distance", [-1, 8])
def test_distance_out_of_range_is_refused(engine: Any, distance: int) -> None:
    with pytest.raises(ValueError, match=f"got distance={distance}"):
        engine(distance)
    with pytest.raises(ValueError, match=f"got distance={distance}"):
        engine(distance, split_design(3).tables)


@each_engine
@pytest.mark.parametrize("wrong", [-1, 1 << 64, 1.0, float("nan"), "1", None])
def test_what_is_no_fingerprint_is_refused(engine: Any, wrong: Any) -> None:
    tables = engine(3)
    for call in (tables.nearest, tables.matches):
        with pytest.raises((TypeError, ValueError), match="fingerprint must be"):
            call(wrong)
    with pytest.raises((TypeError, ValueError), match="fingerprint must be"):
        tables.add(wrong, 1)
    assert len(tables) == 0


@each_engine
@pytest.mark.parametrize("wrong", [-1, 1 << 32, 1.0, None])
def test_what_is_no_item_is_refused(engine: Any, wrong: Any) -> None:
    tables = engine(3)
    for call in (tables.add, tables.check_and_add):
        with pytest.raises((TypeError, ValueError), match="item must be"):
            call(1, wrong)
    assert len(tables) == 0


@each_engine
def test_unequal_lengths_are_refused(engine: Any) -> None:
    tables = engine(3)
    with pytest.raises(ValueError, match="got 2 and 1"):
        tables.add_many(array("Q", [1, 2]), array("I", [1]))
    assert len(tables) == 0


def test_none_of_many_is_stored_if_one_is_no_fingerprint() -> None:
    tables = ReferenceTables(3)
    with pytest.raises(ValueError, match="fingerprint must be"):
        tables.add_many([1, 1 << 64], [1, 2])
    assert len(tables) == 0


@pytest.mark.skipif(CompiledTables is None, reason="not compiled")
@pytest.mark.parametrize(
    "wrong",
    [array("d", [1.0]), array("I", [1]), b"12345678", memoryview(array("Q", [1, 2, 3, 4]))[::2]],
)
def test_wrong_kinds_of_buffers_are_refused(wrong: Any) -> None:
    tables = CompiledTables(3)
    with pytest.raises((ValueError, BufferError), match=r"[Bb]uffer|contiguous"):
        tables.check_many(wrong)
    with pytest.raises((ValueError, BufferError), match=r"[Bb]uffer|contiguous"):
        tables.add_many(wrong, array("I", [1]))
    assert len(tables) == 0


@each_engine
def test_the_closest_wins_and_then_the_oldest(engine: Any) -> None:
    tables = engine(3)
    tables.add(0b0001, item=9)
    tables.add(0b0010, item=4)
    tables.add(0b0111, item=1)
    assert tables.nearest(0b0000) == (1, 4, 0b0010)
    assert tables.matches(0b0000) == [(1, 4, 0b0010), (1, 9, 0b0001), (3, 1, 0b0111)]


@each_engine
def test_items_share_a_fingerprint_until_removed(engine: Any) -> None:
    tables = engine(2)
    tables.add(5, item=2)
    tables.add(5, item=1)
    tables.add(5, item=1)
    assert len(tables) == 2
    assert tables.nearest(5) == (0, 1, 5)
    tables.remove(5, item=1)
    assert tables.nearest(5) == (0, 2, 5)
    tables.remove(5, item=2)
    assert tables.nearest(5) is None
    assert len(tables) == 0


@each_engine
def test_removing_what_is_not_there_is_an_error(engine: Any) -> None:
    tables = engine(2)
    with pytest.raises(KeyError, match="item 1"):
        tables.remove(5, item=1)


@each_engine
@given(operations=st.lists(st.tuples(st.integers(0, 15), st.integers(0, 5)), max_size=60))
def test_after_removals_the_rest_is_found(engine: Any, operations: list[tuple[int, int]]) -> None:
    tables = engine(1)
    model: set[tuple[int, int]] = set()
    for fingerprint, item in operations:
        if (fingerprint, item) in model:
            tables.remove(fingerprint, item)
            model.remove((fingerprint, item))
        else:
            tables.add(fingerprint, item)
            model.add((fingerprint, item))
        assert len(tables) == len(model)
    tables._check()
    for query in range(16):
        expected = sorted(
            Match(hamming_distance(f, query), item, f)
            for f, item in model
            if hamming_distance(f, query) <= 1
        )
        assert tables.matches(query) == expected


@each_engine
def test_memory_in_use_is_known(engine: Any) -> None:
    tables = engine(3)
    empty = tables.nbytes
    for item, fingerprint in enumerate(site(5000, seed=3)):
        tables.add(fingerprint, item)
    assert 20 * 5000 < tables.nbytes - empty < 2000 * 5000


NO_MEMORY_LEFT = """
import os, resource, sys
from array import array
from scrapy_simhash.tables import designs
from scrapy_simhash.tables.compiled import CompiledTables

def in_use():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()

for design in designs(3)[slice(*map(int, sys.argv[1:]))]:
    tables = CompiledTables(3, design.tables)
    added = 0
    resource.setrlimit(resource.RLIMIT_AS, (in_use() + 12_000_000, resource.RLIM_INFINITY))
    try:
        for added in range(10_000_000):
            tables.add(int.from_bytes(os.urandom(8), "big"), added)
        raise SystemExit("it never ended")
    except MemoryError:
        pass
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert len(tables) == added > 100_000, (len(tables), added)
    tables._check()
    tables.add(1 << 63, added)
    assert tables.nearest(1 << 63) is not None
"""


@pytest.mark.skipif(CompiledTables is None, reason="not compiled")
@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
@pytest.mark.parametrize("some", [(0, 1), pytest.param((1, 4), marks=pytest.mark.long)])
def test_an_allocation_that_fails_leaves_the_tables_as_they_were(some: tuple[int, int]) -> None:
    command = [sys.executable, "-c", NO_MEMORY_LEFT, *map(str, some)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


WITHOUT_COMPILED_PARTS = """
import sys
COMPILED = ("analysis.compiled", "analysis.compiled_walk", "tables.compiled")
for name in COMPILED:
    sys.modules[f"scrapy_simhash.{name}"] = None  # importing it fails
import logging
logging.basicConfig(format="%(levelname)s %(message)s")
from scrapy_simhash import FeatureScheme, PermutedTables, fingerprint_text
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.index.sqlite.index import SQLiteIndex
for _ in range(2):
    SQLiteIndex("memory:", Parameters("scheme"))
tables = PermutedTables(3)
tables.add(fingerprint_text("some text", FeatureScheme.from_name("words-1")).fingerprint, 1)
print(type(tables).__name__, len(tables))
"""


@pytest.mark.skipif(CompiledTables is None, reason="not compiled")
def test_with_a_compiler_nothing_is_said(caplog: pytest.LogCaptureFixture) -> None:
    say_if_not_compiled.__wrapped__()
    assert not caplog.records


def test_without_a_compiler_python_serves_and_says_so_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_COMPILED_PARTS], capture_output=True, text=True
    )
    assert done.stdout == "ReferenceTables 1\n", done.stderr
    assert done.stderr.count("WARNING The compiled permuted tables are missing") == 1
