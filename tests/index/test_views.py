"""Small scopes are lists, large ones permuted tables, and both find the same."""

from __future__ import annotations

import tracemalloc
from array import array
from random import Random

import pytest

from scrapy_simhash.decision.judge import CONTENT, MAIN_TEXT, View
from scrapy_simhash.index import views
from scrapy_simhash.index.views import SMALL_ENTRIES, TableEntries, ViewTables

Entry = tuple[View, int, int]
MASK = (1 << 64) - 1


def entries(number: int, random: Random) -> list[Entry]:
    """Fingerprints around a few, so that many are near each other."""
    centres = [random.getrandbits(64) for _ in range(3)]
    return [
        (
            random.choice((MAIN_TEXT, CONTENT)),
            random.choice(centres) ^ 1 << random.randrange(64) ^ 1 << random.randrange(64),
            row_id,
        )
        for row_id in range(number)
    ]


def found(tables: ViewTables, scope: str, asked: list[Entry]) -> list[list[tuple[int, int]]]:
    return [
        [(distance, row_id) for distance, row_id, _, _ in tables.near(scope, [(view, fingerprint)])]
        for view, fingerprint, _ in asked
    ]


def expected(stored: list[Entry], asked: list[Entry]) -> list[list[tuple[int, int]]]:
    return [
        sorted(
            (distance, row_id)
            for other, one, row_id in stored
            if other == view and (distance := (one ^ fingerprint).bit_count()) <= 3
        )
        for view, fingerprint, _ in asked
    ]


@pytest.mark.parametrize("number", [1, SMALL_ENTRIES - 1, SMALL_ENTRIES, SMALL_ENTRIES + 1, 200])
def test_scope_of_any_size_finds_what_a_linear_scan_finds(number: int) -> None:
    stored = entries(number, Random(number))
    tables = ViewTables(3)
    for view, fingerprint, row_id in stored:
        tables.add("a", view, fingerprint, row_id)
        tables.add("a", view, fingerprint, row_id)  # twice is once
        tables.add("b", view, fingerprint ^ MASK, row_id)
    assert found(tables, "a", stored) == expected(stored, stored)
    gone, kept = stored[: number // 2], stored[number // 2 :]
    for view, fingerprint, row_id in gone:
        tables.remove("a", view, fingerprint, row_id)
        with pytest.raises(KeyError):
            tables.remove("a", view, fingerprint, row_id)
    assert found(tables, "a", stored) == expected(kept, stored)


@pytest.mark.parametrize("number", [2, 2 * SMALL_ENTRIES - 2, 4 * SMALL_ENTRIES])
def test_tables_that_are_built_find_the_same(number: int) -> None:
    stored = entries(number, Random(number))
    groups = [
        TableEntries(
            "a",
            view,
            array("Q", [one for other, one, _ in part if other == view]),
            array("I", [row_id for other, _, row_id in part if other == view]),
        )
        for part in (stored[::2], stored[1::2])
        for view in (MAIN_TEXT, CONTENT)
    ]
    tables = ViewTables(3)
    tables.build(groups)
    assert found(tables, "a", stored) == expected(stored, stored)
    added = ViewTables(3)
    for scope, view, fingerprints, ids in groups:
        added.add_many(scope, view, fingerprints, ids)
    assert found(added, "a", stored) == expected(stored, stored)


def test_scope_with_one_page_takes_few_bytes() -> None:
    tables = ViewTables(7)
    tracemalloc.start()
    for i in range(10_000):
        scope = f"host{i}.example"
        tables.add(scope, MAIN_TEXT, i, i)
        tables.add(scope, CONTENT, i, i)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used / 10_000 < 300


def test_empty_scope_takes_nothing() -> None:
    tables = ViewTables(3)
    tables.add("a", MAIN_TEXT, 1, 1)
    assert tables.nbytes > 0
    tables.remove("a", MAIN_TEXT, 1, 1)
    assert tables.nbytes == 0
    assert views.SMALL_ENTRIES == SMALL_ENTRIES
