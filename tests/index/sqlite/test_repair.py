"""What repair mends in the rows of an index file: each rule, and nothing beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.decision.page import STORED
from scrapy_simhash.index.sqlite import rows
from scrapy_simhash.index.sqlite.repair import RULES, Problem, repair
from tests.indexes import open_index
from tests.pages import PARAMETERS, VERIFIED, page, page_with_content


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Pages 1 and 4 are kept, each in a scope of its own; 2 and 3 are duplicates of 1."""
    path = tmp_path / "pages.simhash"
    with open_index(path, VERIFIED) as index:
        run = index.begin_crawl("spider")
        for name, scope in [("a", "one"), ("b", "one"), ("c", "one"), ("d", "two")]:
            new = replace(page_with_content(name, range(100)), scope=scope, crawl=run.id)
            index.check_and_add(new)
    return path


def told(path: Path) -> dict[int, tuple[str, int | None, int | None, bool]]:
    """For each id, the name, the representative, the crawl, and whether there is a sketch."""
    with open_index(path, VERIFIED) as index:
        return {
            row.id: (row.page.url[-1], row.representative, row.page.crawl, bool(row.page.sketch))
            for row in index.rows()
        }


WHOLE = {
    1: ("a", None, 1, True),
    2: ("b", 1, 1, True),
    3: ("c", 1, 1, True),
    4: ("d", None, 1, True),
}
REMOVED = [
    "digest = 'text'",
    "digest = zeroblob(15)",
    "fingerprint = 'text'",
    "tokens = -1",
    "tokens = 'many'",
    "judged_at = 'now'",
    "url = x'00'",
    "scope = x'00'",
    "request_fingerprint = 'text'",
    "id = 1 << 40",
    "id = 0",
    "canonical = x'00'",
]


def all_after(path: Path, change: str, row_id: int) -> list[Problem]:
    """Change a row, and return what repair says of the file."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE pages SET {change} WHERE id = {row_id}")
    problems = repair(path)
    assert repair(path) == []
    assert all(problem.repaired for problem in problems)
    return problems


def changed(path: Path, change: str, row_id: int) -> Problem:
    (problem,) = all_after(path, change, row_id)
    return problem


def test_whole_file_has_no_problem(path: Path) -> None:
    assert repair(path) == []
    assert told(path) == WHOLE


@pytest.mark.parametrize("change", REMOVED)
def test_row_that_is_no_page_is_removed(path: Path, change: str) -> None:
    problem = changed(path, change, 3)
    assert (problem.count, len(problem.ids)) == (1, 1)
    assert told(path) == {row_id: row for row_id, row in WHOLE.items() if row_id != 3}


@pytest.mark.parametrize(
    ("change", "rule"), [("crawl = 77", -2), ("change = 1 << 50", 2), ("change = 0", 2)]
)
def test_number_that_nothing_has_is_taken_away(path: Path, change: str, rule: int) -> None:
    assert changed(path, change, 2) == Problem(RULES[rule].words, 1, [2], True)
    crawl = None if "crawl" in change else 1
    assert told(path) == WHOLE | {2: ("b", 1, crawl, True)}


@pytest.mark.parametrize(
    "change", ["sketch = NULL", "content_fingerprint = NULL", "sketch = x'010203'", "sketch = 7"]
)
def test_page_without_a_whole_second_view_has_none(path: Path, change: str) -> None:
    assert changed(path, change, 2) == Problem(RULES[0].words, 1, [2], True)
    assert told(path) == WHOLE | {2: ("b", 1, 1, False)}


@pytest.mark.parametrize("representative", [3, 4, 99])
def test_duplicate_of_no_kept_page_of_its_scope_becomes_one(
    path: Path, representative: int
) -> None:
    """A crawl passes it on once more; those who have the file open find it."""
    with open_index(path, VERIFIED) as index:
        index.check(page_with_content("x", range(100)))
        assert changed(path, f"representative = {representative}", 2).ids == [2]
        found = replace(page_with_content("x", range(100)), scope="one")
        assert index.check(found).representative == "http://site.example/a"
        index.forget([1, 3])
        assert index.check(found).representative == "http://site.example/b"
    assert told(path) == {2: ("b", None, None, True), 4: WHOLE[4]}


def test_of_two_rows_of_a_request_the_later_one_stays(path: Path) -> None:
    same = "request_fingerprint = (SELECT request_fingerprint FROM pages)"
    assert all_after(path, same, 3) == [
        Problem(RULES[3].words, 1, [1], True),
        Problem(RULES[-1].words, 2, [2, 3], True),  # they pointed to it
    ]
    assert {row_id: row[1] for row_id, row in told(path).items()} == {2: None, 3: None, 4: None}


def test_removed_numbers_are_not_used_again(path: Path) -> None:
    changed(path, "scope = x'00'", 4)
    with open_index(path, VERIFIED) as index:
        index.check_and_add(replace(page_with_content("new", range(500, 600)), scope="one"))
        assert max(row.id for row in index.rows()) > 4


def test_of_many_bad_rows_some_are_named(tmp_path: Path) -> None:
    path = tmp_path / "many.simhash"
    with open_index(path, PARAMETERS) as index:
        for number in range(20):
            index.check_and_add(page(f"{number}", number))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE pages SET tokens = -1 WHERE id > 2")
    (problem,) = repair(path)
    assert (problem.count, problem.ids) == (18, [3, 4, 5, 6, 7])


def wrong_values() -> Iterator[tuple[int, Any]]:
    """For each stored field, values of other types."""
    for place, field in enumerate(STORED):
        right = rows._COLUMN[field.kind][0]
        wrong = {"TEXT": [b"x", 1], "BLOB": ["x", 1], "INTEGER": ["x", b"x", 1.5]}[right]
        yield from ((place, value) for value in wrong)
        if not field.optional:
            yield place, None


@pytest.mark.parametrize(("place", "value"), [*wrong_values()])
def test_value_of_another_kind_is_damage(path: Path, place: int, value: object) -> None:
    names = ", ".join(field.name for field in STORED)
    with closing(sqlite3.connect(path)) as connection:
        (stored,) = connection.execute(f"SELECT id, representative, {names} FROM pages LIMIT 1")
    assert rows.row_of(stored).id == 1
    broken = [*stored]
    broken[place + 2] = value
    with pytest.raises(sqlite3.DatabaseError, match="a row is damaged"):
        rows.row_of(tuple(broken))
