"""The planner offers what is known, and chooses by size, distance and memory."""

from __future__ import annotations

import random
from array import array
from itertools import combinations

import pytest

from scrapy_simhash.tables import Design, block_design, design, designs, split_design
from scrapy_simhash.tables.design import (
    COVERINGS,
    PLACE_NANOSECONDS,
    TABLE_NANOSECONDS,
)
from tests.tables.engines import CompiledTables


def test_tables_of_the_paper() -> None:
    found = block_design(3, 6)
    assert len(found.tables) == 20
    assert {t.key_bits for t in found.tables} <= {31, 32, 33}


@pytest.mark.parametrize(("tables", "key_bits"), [(6, 21), (8, 24), (11, 29), (14, 32)])
def test_coverings_need_fewer_tables_than_the_paper(tables: int, key_bits: int) -> None:
    (covering,) = [d for d in designs(3) if d.name == f"covering {tables}"]
    assert len(covering.tables) == tables
    narrowest = min(t.key_bits for t in covering.tables)
    assert narrowest >= key_bits - 1
    of_the_paper = [d for d in designs(3) if d.name.startswith("blocks")]
    assert all(
        len(d.tables) > tables
        for d in of_the_paper
        if min(t.key_bits for t in d.tables) >= narrowest
    )


def test_the_fewest_tables_come_first() -> None:
    for distance in range(8):
        counts = [len(d.tables) for d in designs(distance)]
        assert counts == sorted(counts)
        assert designs(distance)[0] == split_design(distance)


def test_candidates_and_probes() -> None:
    found = block_design(3, 4)
    assert found.probes == 4
    assert split_design(3).probes == 66


def test_no_design_has_more_tables_than_a_crawl_can_pay_for() -> None:
    assert max(len(d.tables) for distance in range(8) for d in designs(distance)) <= 40


@pytest.mark.skipif(CompiledTables is None, reason="not compiled")
@pytest.mark.parametrize("planned", [split_design(3), split_design(7), block_design(3, 6)])
def test_tables_take_the_memory_that_is_planned(planned: Design) -> None:
    numbers, chance = 100_000, random.Random(1)
    tables = CompiledTables(planned.distance, planned.tables)
    tables.add_many(
        array("Q", (chance.getrandbits(64) for _ in range(numbers))), array("I", range(numbers))
    )
    assert 0.6 < tables.nbytes / numbers / planned.bytes_per_fingerprint < 1.6


def test_less_memory_means_fewer_tables() -> None:
    pages = 10_000_000
    quick = design(pages, 3)
    small = design(pages, 3, max_bytes=40 * pages)
    assert len(small.tables) == 2 < len(quick.tables)
    assert quick.seconds_per_check(pages) < small.seconds_per_check(pages)


def test_the_smallest_design_serves_where_none_fits() -> None:
    assert design(10**9, 3, max_bytes=1) == split_design(3)


@pytest.mark.parametrize("pages", [0, -1])
def test_no_pages_are_refused(pages: int) -> None:
    with pytest.raises(ValueError, match=f"got pages={pages}"):
        design(pages, 3)


@pytest.mark.parametrize("distance", [-1, 8])
def test_distance_out_of_range_is_refused(distance: int) -> None:
    with pytest.raises(ValueError, match=f"got distance={distance}"):
        designs(distance)


@pytest.mark.parametrize(
    ("errors", "count", "text"), [(k, *keys) for k, found in COVERINGS.items() for keys in found]
)
def test_a_covering_stands_no_more_errors_than_it_says(errors: int, count: int, text: str) -> None:
    keys = [{int(block, 16) for block in key} for key in text.split()]
    more = combinations(range(count), errors + 1)
    assert any(all(key & set(errors) for key in keys) for errors in more)


def test_each_table_takes_its_time() -> None:
    """One page is in one line of each table."""
    of_a_table = TABLE_NANOSECONDS + PLACE_NANOSECONDS
    few, many = block_design(3, 4), block_design(3, 6)
    assert many.seconds_per_check(1) - few.seconds_per_check(1) == pytest.approx(16e-9 * of_a_table)
