"""Every design finds what a linear scan finds: no more, no less, for every k from 0 to 7."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash import Match, PermutedTables, hamming_distance
from scrapy_simhash.tables import Table, block_tables, split_tables

MASK = (1 << 64) - 1
DISTANCES = range(8)
FINGERPRINTS = st.integers(0, MASK)


def designs(distance: int) -> list[list[Table]]:
    return [split_tables(distance), block_tables(distance, distance + 1)] + (
        [block_tables(distance, distance + 2)] if distance <= 3 else []
    )


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


@pytest.mark.parametrize("distance", DISTANCES)
@given(data=st.data())
def test_matches_are_those_of_a_linear_scan(distance: int, data: st.DataObject) -> None:
    stored, query = data.draw(planted(distance))
    expected = linear_scan(stored, query, distance)
    for design in designs(distance):
        tables = PermutedTables(distance, design)
        for item, fingerprint in enumerate(stored):
            tables.add(fingerprint, item)
        assert tables.matches(query) == expected
        assert tables.nearest(query) == min(expected, default=None)
        met = tables.any(query)
        assert met is None if not expected else met in expected


@pytest.mark.parametrize("distance", DISTANCES)
def test_exactly_k_matches_and_one_more_does_not(distance: int) -> None:
    tables = PermutedTables(distance)
    tables.add(0, item=7)
    assert tables.nearest((1 << distance) - 1) == (distance, 7, 0)
    assert tables.nearest((1 << distance + 1) - 1) is None


@pytest.mark.parametrize("distance", DISTANCES)
def test_designs_are_exact_however_the_bits_are_spread(distance: int) -> None:
    """Exhaustive at block level: every way to put k bits into the blocks of the keys."""
    for design in designs(distance):
        edges = sorted({0, 64} | {b for t in design for b in edges_of(t.mask)})
        cells = [(1 << high) - (1 << low) for low, high in pairwise(edges)]
        for bits in spread(cells, distance):
            difference = sum(bits)
            assert any((difference & t.mask).bit_count() <= t.radius for t in design)


def edges_of(mask: int) -> set[int]:
    return {i for i in range(65) if (mask << 1 >> i & 1) != (mask << 1 >> i + 1 & 1)}


def spread(cells: list[int], distance: int) -> list[tuple[int, ...]]:
    """One difference for each way to share *distance* bits among the cells."""

    def shares(left: int, over: int) -> list[list[int]]:
        if over == 1:
            return [[left]]
        return [[n, *rest] for n in range(left + 1) for rest in shares(left - n, over - 1)]

    return [
        tuple((cell & -cell) << i for cell, n in zip(cells, share, strict=True) for i in range(n))
        for share in shares(distance, len(cells))
        if all(n <= cell.bit_count() for cell, n in zip(cells, share, strict=True))
    ]


def test_tables_of_the_paper() -> None:
    tables = block_tables(3, 6)
    assert len(tables) == 20
    assert {t.mask.bit_count() for t in tables} <= {31, 32, 33}


def test_keys_of_a_block_table() -> None:
    high, low = split_tables(3)
    assert (high.mask, low.mask) == (0xFFFFFFFF00000000, 0x00000000FFFFFFFF)
    assert len(list(high.probes(0))) == 33
    assert list(Table(0b11, radius=0).probes(0b111)) == [0b11]


@pytest.mark.parametrize("distance", [-1, 8])
def test_distance_out_of_range_is_refused(distance: int) -> None:
    with pytest.raises(ValueError, match=f"got distance={distance}"):
        PermutedTables(distance)


def test_too_few_blocks_are_refused() -> None:
    with pytest.raises(ValueError, match="got blocks=3, distance=3"):
        block_tables(3, 3)


def test_the_closest_wins_and_then_the_oldest() -> None:
    tables = PermutedTables(3)
    tables.add(0b0001, item=9)
    tables.add(0b0010, item=4)
    tables.add(0b0111, item=1)
    assert tables.nearest(0b0000) == (1, 4, 0b0010)
    assert tables.matches(0b0000) == [(1, 4, 0b0010), (1, 9, 0b0001), (3, 1, 0b0111)]


def test_items_share_a_fingerprint_until_removed() -> None:
    tables = PermutedTables(2)
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


def test_removing_what_is_not_there_is_an_error() -> None:
    tables = PermutedTables(2)
    with pytest.raises(KeyError, match="item 1"):
        tables.remove(5, item=1)


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 5)), max_size=30))
def test_after_removals_the_rest_is_found(operations: list[tuple[int, int]]) -> None:
    tables = PermutedTables(1)
    model: set[tuple[int, int]] = set()
    for fingerprint, item in operations:
        if (fingerprint, item) in model:
            tables.remove(fingerprint, item)
            model.remove((fingerprint, item))
        else:
            tables.add(fingerprint, item)
            model.add((fingerprint, item))
        assert len(tables) == len(model)
    for query in range(16):
        expected = sorted(
            Match(hamming_distance(f, query), item, f)
            for f, item in model
            if hamming_distance(f, query) <= 1
        )
        assert tables.matches(query) == expected
