"""The index file: refused untouched when it is not right, whole after any death."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.decision.page import Page
from scrapy_simhash.errors import (
    FingerprintIndexError,
    IndexFormatError,
    IndexMismatchError,
    IndexUnavailableError,
)
from scrapy_simhash.index.sqlite import index as sqlite
from scrapy_simhash.index.sqlite import schema, segments
from scrapy_simhash.index.sqlite.index import Checkpoints, SQLiteIndex
from scrapy_simhash.index.sqlite.repair import repair
from tests.indexes import Blocking, open_index
from tests.pages import PARAMETERS, UNIQUE, near, page

FOLDER = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index with 200 pages."""
    path = tmp_path / "pages.simhash"
    with open_index(path, PARAMETERS) as index:
        for i in range(200):
            index.check_and_add(page(f"page{i}", spread(i)))
    return path


def spread(i: int) -> int:
    """A fingerprint that is far from those of all other i (Fibonacci hashing)."""
    return (i + 1) * 0x9E3779B97F4A7C15 % (1 << 64)


def refused(path: Path, error: type[FingerprintIndexError], words: str) -> None:
    before = path.read_bytes()
    with pytest.raises(error, match=words) as refusal:
        open_index(path, PARAMETERS)
    assert str(path) in str(refusal.value)
    assert path.read_bytes() == before


def test_pages_are_there_after_reopening(path: Path) -> None:
    with open_index(path, PARAMETERS) as index:
        assert len(index) == 200
        assert index.check_and_add(page("new", spread(5) ^ 1)) == near("page5", 1)


def test_folder_is_made(tmp_path: Path) -> None:
    with open_index(tmp_path / "a" / "b" / "pages.simhash", PARAMETERS) as index:
        assert index.check_and_add(page("a", 0)) == UNIQUE
    assert [found.name for found in (tmp_path / "a" / "b").iterdir()] == ["pages.simhash"]


@pytest.mark.parametrize("content", [b"%PDF-1.7 something else entirely", b"\0" * 5000, b"SQL"])
def test_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    refused(path, IndexFormatError, "truncated" if content == b"SQL" else "not an index")


def test_sqlite_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cookies.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE cookies (name)")
    refused(path, IndexFormatError, "SQLite file of something else")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_truncated_file_is_refused(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    refused(path, IndexFormatError, "truncated|damaged")


def test_file_that_does_not_say_what_it_was_built_for_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE parameters SET name = 'scheMe' WHERE name = 'scheme'")
        connection.commit()
    refused(path, IndexFormatError, "damaged: it does not say its scheme")


def test_damage_that_a_page_meets_says_what_to_do(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = 'pages_by_request'"
        (root,) = connection.execute(query).fetchone()
    content = bytearray(path.read_bytes())
    content[(root - 1) * 4096 : (root - 1) * 4096 + 8] = b"\xff" * 8
    path.write_bytes(content)
    with (
        open_index(path, PARAMETERS) as index,
        pytest.raises(IndexUnavailableError, match=r"malformed.*scrapy simhash repair INDEX"),
    ):
        index.check_and_add(page("new", spread(5)))


@pytest.mark.parametrize(
    "damage",
    ["id = 5000000000", "id = id + (1 << 45)", "change = 1 << 50", "scope = CAST(scope AS BLOB)"],
)
def test_number_or_scope_that_no_page_has_is_refused_and_mended(path: Path, damage: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"UPDATE pages SET {damage} WHERE id = 20")
    refused(path, IndexFormatError, "a row is damaged")
    assert all(problem.repaired for problem in repair(path))
    assert repair(path) == []
    with open_index(path, PARAMETERS) as index:
        assert index.check_and_add(page("new", spread(5) ^ 1)) == near("page5", 1)
        assert index.check_and_add(page("own", spread(1000))) == UNIQUE
        assert max(row.id for row in index.rows()) < 300


def test_damaged_row_does_not_end_the_merging_of_the_log(
    path: Path, merged: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "SPAN", 50)
    with open_index(path, PARAMETERS) as index:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE pages SET scope = CAST(scope AS BLOB) WHERE id = 20")
        for batch in range(3):
            for i in range(100):
                index.check_and_add(page(f"new{batch} {i}", spread(1000 * batch + i + 1000)))
            assert merged.wait(30)
            merged.clear()


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TRIGGER t AFTER INSERT ON pages BEGIN DELETE FROM pages WHERE id < new.id; END",
        "CREATE VIEW v AS SELECT * FROM pages",
        "DROP INDEX pages_by_request",
        "ALTER TABLE pages ADD COLUMN more TEXT",
    ],
)
def test_file_with_other_parts_than_an_index_has_is_refused(path: Path, change: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(change)
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(IndexFormatError, match="other tables, indexes or triggers"):
        open_index(path, PARAMETERS)
    assert path.read_bytes() == before


def test_newer_format_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {schema.FORMAT + 1}")
    refused(path, IndexFormatError, f"format {schema.FORMAT + 1}.*upgrade scrapy-simhash")


def test_other_scheme_or_scope_is_refused(path: Path) -> None:
    before = path.read_bytes()
    for parameters in (replace(PARAMETERS, scheme="other"), replace(PARAMETERS, scope="site")):
        with pytest.raises(IndexMismatchError, match=r"was built with sc.*SIMHASH_INDEX"):
            open_index(path, parameters)
    assert path.read_bytes() == before


def test_distance_and_floor_may_change_from_crawl_to_crawl(path: Path) -> None:
    with open_index(path, replace(PARAMETERS, distance=7, min_tokens=200)) as index:
        assert index.check_and_add(page("new", spread(5) ^ 1, tokens=200)) == UNIQUE
    with open_index(path, replace(PARAMETERS, distance=1)) as index:
        assert index.check_and_add(page("newer", spread(5) ^ 2)) == near("page5", 1)


def test_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(IndexUnavailableError, match="cannot be made"):
        open_index(tmp_path / "file" / "pages.simhash", PARAMETERS)


def test_busy_file_is_an_error_and_nothing_is_remembered(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.01)
    with open_index(path, PARAMETERS) as index, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(IndexUnavailableError, match="locked"):
            index.check_and_add(page("new", spread(999)))
        other.rollback()
        assert index.check_and_add(page("new", spread(999))) == UNIQUE


def test_each_page_waits_for_another_process(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after one that did; only a page that has waited in vain spares the next the wait."""
    with open_index(path, PARAMETERS) as index, closing(sqlite3.connect(path)) as other:
        monkeypatch.setattr("time.sleep", lambda _: other.rollback())
        for number in (999, 998):
            other.execute("BEGIN IMMEDIATE")
            assert index.check_and_add(page(f"{number}", spread(number))) == UNIQUE


def test_error_in_the_middle_leaves_no_trace(path: Path) -> None:
    with open_index(path, PARAMETERS) as index:
        with closing(sqlite3.connect(path)) as other:
            other.execute("ALTER TABLE pages RENAME COLUMN judged_at TO at")
        with pytest.raises(IndexUnavailableError, match="judged_at"):
            index.check_and_add(page("new", spread(999)))
        with closing(sqlite3.connect(path)) as other:
            other.execute("ALTER TABLE pages RENAME COLUMN at TO judged_at")
        assert index.check_and_add(page("new", spread(999))) == UNIQUE


def test_pages_of_another_process_are_seen_at_once(path: Path) -> None:
    with open_index(path, PARAMETERS) as one, open_index(path, PARAMETERS) as two:
        assert one.check_and_add(page("a", spread(999))) == UNIQUE
        assert two.check_and_add(page("b", spread(999) ^ 1)) == near("a", 1)
        two.check_and_add(page("a", spread(998)))  # the page has changed
        assert one.check_and_add(page("c", spread(999) ^ 3)) == UNIQUE
        assert one.check_and_add(page("d", spread(998) ^ 3)) == near("a", 2)


def test_file_that_was_taken_away_takes_no_page(path: Path) -> None:
    with open_index(path, PARAMETERS) as index:
        aside = path.rename(path.with_name("aside"))
        with pytest.raises(IndexUnavailableError, match="taken away or replaced"):
            index.check_and_add(page("new", spread(999)))
        path.write_bytes(aside.read_bytes())
        with pytest.raises(IndexUnavailableError, match="taken away or replaced"):
            index.check_and_add(page("new", spread(999)))


@pytest.fixture
def merged(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when the log was merged, which is due after every 100 pages."""
    event = threading.Event()
    original = Checkpoints._merge

    def merge(self: Checkpoints, connection: sqlite3.Connection) -> None:
        original(self, connection)
        event.set()

    monkeypatch.setattr(sqlite, "EVERY_WRITES", 100)
    monkeypatch.setattr(Checkpoints, "_merge", merge)
    return event


def test_log_is_merged_while_the_crawl_runs(path: Path, merged: threading.Event) -> None:
    before = path.read_bytes()
    with open_index(path, PARAMETERS) as index:
        for i in range(100):
            index.check_and_add(page(f"new{i}", spread(1000 + i)))
        assert merged.wait(30)
        assert path.read_bytes() != before


@pytest.mark.parametrize("long_log", [0, 10**6])
def test_merged_log_starts_over(
    path: Path, merged: threading.Event, monkeypatch: pytest.MonkeyPatch, long_log: int
) -> None:
    monkeypatch.setattr(sqlite, "LONG_LOG", long_log)
    log = path.with_name(path.name + "-wal")
    with open_index(path, PARAMETERS) as index:
        sizes = []
        for start in range(1000, 2000, 100):
            merged.clear()
            for i in range(start, start + 100):
                index.check_and_add(page(f"new{i}", spread(i)))
            assert merged.wait(30)
            sizes.append(log.stat().st_size)
        assert sizes[-1] < 2 * sizes[0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_file_is_refused(path: Path) -> None:
    path.chmod(0o400)
    refused(path, IndexUnavailableError, "cannot be opened for writing")


def added_at_once(index: Blocking, *pages: Page) -> list[Any]:
    async def added() -> list[Any]:
        return await asyncio.gather(*map(index.index.add, pages), return_exceptions=True)

    return index.run(added())


def test_pages_that_are_added_at_once_share_a_transaction(path: Path) -> None:
    with open_index(path, PARAMETERS) as index:
        statements: list[str] = []
        index.index._connection.set_trace_callback(statements.append)
        some = [page(f"new{i}", spread(i + 1000)) for i in range(2 * sqlite.GROUP_PAGES)]
        assert added_at_once(index, *some) == [UNIQUE] * len(some)
        assert statements.count("COMMIT") == 2
        with open_index(path, PARAMETERS) as other:
            assert len(other) == 200 + len(some)


def test_page_that_fails_takes_no_other_with_it_and_leaves_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_index(path, PARAMETERS) as index:
        stored = index.index._write

        def failing(one: Page, *rest: Any) -> None:
            stored(one, *rest)
            if one.url.endswith("bad"):
                raise RecursionError

        monkeypatch.setattr(index.index, "_write", failing)
        bad = page("bad", spread(1000))
        first, failed, last = added_at_once(index, page("a", 0), bad, page("b", spread(1001)))
        assert (first, last) == (UNIQUE, UNIQUE)
        assert isinstance(failed, RecursionError)
        assert len(index) == 202
        again = page("again", spread(1000), text="like the bad one")
        for _ in range(2):
            assert index.check(again) == UNIQUE


def test_page_that_nobody_waits_for_any_more_is_not_added(path: Path) -> None:
    async def given_up(index: SQLiteIndex) -> None:
        adding = asyncio.ensure_future(index.add(page("a", 0)))
        other = asyncio.ensure_future(index.add(page("b", spread(1000))))
        await asyncio.sleep(0)
        adding.cancel()
        assert await other == UNIQUE

    with open_index(path, PARAMETERS) as index:
        index.run(given_up(index.index))
        assert "a" not in {row.page.url.rpartition("/")[2] for row in index.rows()}
