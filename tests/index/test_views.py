"""One set of tables finds the rows of each scope, and of no other."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from random import Random

import pytest

from scrapy_simhash.decision.judge import CONTENT, MAIN_TEXT, View
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from scrapy_simhash.index.views import TableEntries, ViewTables
from tests.indexes import Blocking
from tests.pages import PARAMETERS, UNIQUE, page

Entry = tuple[str, View, int, int]


def entries(number: int, random: Random) -> list[Entry]:
    """Fingerprints around a few, so that many are near each other, in all scopes."""
    centres = [random.getrandbits(64) for _ in range(3)]
    return [
        (
            random.choice("abc"),
            random.choice((MAIN_TEXT, CONTENT)),
            random.choice(centres) ^ 1 << random.randrange(64) ^ 1 << random.randrange(64),
            row_id,
        )
        for row_id in range(number)
    ]


def found(tables: ViewTables, asked: list[Entry]) -> list[list[tuple[int, int, View, int]]]:
    return [list(tables.near(scope, [(view, found)])) for scope, view, found, _ in asked]


def expected(stored: list[Entry], asked: list[Entry]) -> list[list[tuple[int, int, View, int]]]:
    return [
        sorted(
            (distance, row_id, view, one)
            for other_scope, other, one, row_id in stored
            if (other_scope, other) == (scope, view)
            and (distance := (one ^ fingerprint).bit_count()) <= 3
        )
        for scope, view, fingerprint, _ in asked
    ]


@pytest.mark.parametrize("number", [1, 30, 300])
def test_tables_find_what_a_linear_scan_finds(number: int) -> None:
    stored = entries(number, Random(number))
    tables = ViewTables(3)
    for entry in stored:
        tables.add(*entry)
        tables.add(*entry)  # twice is once
    assert found(tables, stored) == expected(stored, stored)
    gone, kept = stored[: number // 2], stored[number // 2 :]
    for entry in gone:
        tables.remove(*entry)
        with pytest.raises(KeyError):
            tables.remove(*entry)
    assert found(tables, stored) == expected(kept, stored)


def grouped(stored: list[Entry]) -> Iterator[TableEntries]:
    """The entries in groups of one scope and view, each in two parts."""
    for part in (stored[::2], stored[1::2]):
        for place in {entry[:2] for entry in part}:
            own = [entry[2:] for entry in part if entry[:2] == place]
            fingerprints, ids = zip(*own, strict=True)
            yield TableEntries(*place, array("Q", fingerprints), array("I", ids))


@pytest.mark.parametrize("number", [0, 2, 30, 300])
def test_tables_find_what_was_added_at_once(number: int) -> None:
    stored = entries(number, Random(number))
    tables = ViewTables(3)
    half = number // 2
    for some in (stored[:half], stored[half:], []):  # into empty tables, and to others
        tables.add_many(grouped(some))
    assert found(tables, stored) == expected(stored, stored)


def test_scope_with_one_page_takes_few_bytes() -> None:
    tables = ViewTables(7)
    for i in range(10_000):
        for view in (MAIN_TEXT, CONTENT):
            tables.add(f"host{i}.example", view, i, i)
    used = sum(one.nbytes for one in tables._views.values())
    assert used / 10_000 < 300


def test_page_of_another_scope_that_is_near_by_chance_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ViewTables, "_mask", lambda self, scope: bytes(8))  # all are the same
    index = Blocking(SQLiteIndex("memory:", PARAMETERS))
    for scope in "ab":
        assert index.check_and_add(page("one", 0b1, scope=scope)) == UNIQUE
    for scope in "ab":  # each has found the other's, and left it there
        decision = index.check_and_add(page("two", 0b11, scope=scope))
        assert (decision.verdict, decision.distance) == ("near_duplicate", 1)
    index.close()
