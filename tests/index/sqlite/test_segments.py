"""The tables are loaded from what crawls wrote down of them, as far as that is good."""

from __future__ import annotations

import random
import shutil
import sqlite3
import threading
from array import array
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.decision.judge import View
from scrapy_simhash.index.sqlite import index as sqlite
from scrapy_simhash.index.sqlite import segments
from scrapy_simhash.index.sqlite.repair import repair
from scrapy_simhash.index.sqlite.segments import Segments, decoded, encoded
from scrapy_simhash.index.views import TableEntries
from tests.fault_writer import spread
from tests.indexes import Blocking, ids_by_name, open_index, write_segments
from tests.pages import PARAMETERS, UNIQUE, near, page, refreshed

GROUPS = st.lists(
    st.tuples(
        st.text(max_size=5),
        st.sampled_from(["content", "main text"]),
        st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))),
    )
)
Spans = list[tuple[int, int]]


@given(GROUPS)
def test_groups_come_back(groups: list[tuple[str, View, list[tuple[int, int]]]]) -> None:
    given = [
        TableEntries(
            scope, view, array("Q", [f for f, _ in rows]), array("I", [i for _, i in rows])
        )
        for scope, view, rows in groups
    ]
    data = encoded(given, b"here")
    assert decoded(data, b"here") == given
    for other in (data[:-1], data + b"0", b"", None, data[:20] + b"x" + data[21:]):
        if other != data:
            with pytest.raises(ValueError, match="damaged"):
                decoded(other, b"here")
    with pytest.raises(ValueError, match="damaged"):
        decoded(data, b"there")


@pytest.fixture(autouse=True)
def _short_spans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "SPAN", 50)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An index with pages 0 to 219 (numbers 1 to 220), and segments up to number 200."""
    path = tmp_path / "pages.simhash"
    with open_index(path, PARAMETERS) as index:
        for i in range(220):
            index.check_and_add(page(f"page{i}", spread(i)))
        assert write_segments(index) == 4
    return path


@pytest.fixture
def read_as_rows(monkeypatch: pytest.MonkeyPatch) -> Spans:
    """The spans of numbers that are read from the rows."""
    spans: Spans = []
    original = segments.written

    def written(connection: sqlite3.Connection, since: int, until: int, views_of: object) -> object:
        spans.append((since, until))
        return original(connection, since, until, views_of)  # type: ignore[arg-type]

    monkeypatch.setattr("scrapy_simhash.index.sqlite.index.written", written)
    return spans


def assert_all_are_found(path: Path, pages: range = range(220)) -> None:
    with open_index(path, PARAMETERS) as index:
        for i in pages:
            assert index.check(page("new", spread(i) ^ 1)) == near(f"page{i}", 1)


def test_only_rows_since_the_last_segment_are_read(path: Path, read_as_rows: Spans) -> None:
    assert_all_are_found(path)
    assert read_as_rows == [(200, 220)]


def test_crawl_writes_segments_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_as_rows: Spans
) -> None:
    written = threading.Event()
    original = Segments.write

    def write(self: Segments, connection: sqlite3.Connection) -> bool:
        wrote = original(self, connection)
        written.set()
        return wrote

    monkeypatch.setattr(sqlite, "EVERY_WRITES", 70)
    monkeypatch.setattr(Segments, "write", write)
    path = tmp_path / "pages.simhash"
    with open_index(path, PARAMETERS) as index:
        for i in range(70):
            index.check_and_add(page(f"page{i}", spread(i)))
        assert written.wait(30)
    read_as_rows.clear()
    assert_all_are_found(path, range(70))
    assert read_as_rows == [(50, 70)]


def test_forgotten_page_is_not_found_and_its_heir_is(path: Path) -> None:
    with open_index(path, PARAMETERS) as index:
        index.check_and_add(page("copy", spread(7) ^ 1))
        index.forget([ids_by_name(index)[name] for name in ("page3", "page7")])
    with open_index(path, PARAMETERS) as index:
        assert index.check_and_add(page("new", spread(3))) == UNIQUE
        assert index.check(page("newer", spread(7))) == near("copy", 1)


def test_page_is_found_by_its_new_text_only(path: Path, read_as_rows: Spans) -> None:
    with open_index(path, PARAMETERS) as index:
        changed = refreshed("page3", (spread(3) ^ spread(999)).bit_count(), changed=True)
        assert index.check_and_add(page("page3", spread(999))) == changed
    with open_index(path, PARAMETERS) as index:
        assert index.check(page("old", spread(3))) == UNIQUE
        assert index.check(page("new", spread(999) ^ 1)) == near("page3", 1)
        for i in range(300, 329):
            index.check_and_add(page(f"page{i}", spread(i)))
        assert write_segments(index) == 1
    read_as_rows.clear()
    with open_index(path, PARAMETERS) as index:
        assert index.check(page("new", spread(999) ^ 1)) == near("page3", 1)
        assert index.check(page("old", spread(3))) == UNIQUE
    assert read_as_rows == []


def test_unchanged_page_is_not_written_down_again(path: Path) -> None:
    with open_index(path, PARAMETERS) as index:
        for _ in range(3):
            for i in range(100):
                again = index.check_and_add(page(f"page{i}", spread(i)))
                assert again == refreshed(f"page{i}", 0, changed=False)
        assert write_segments(index) == 0


def damage(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(statement).rowcount == 1
        connection.commit()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE segments SET data = zeroblob(length(data)) WHERE until = 100",
        "UPDATE segments SET data = substr(data, 1, length(data) - 1) WHERE until = 100",
        "UPDATE segments SET data = 'text' WHERE until = 100",
        "UPDATE segments SET data = (SELECT data FROM segments WHERE until = 50) WHERE until = 100",
        "UPDATE segments SET since = 49 WHERE until = 100",
        "UPDATE segments SET until = 99 WHERE until = 100",
        "DELETE FROM segments WHERE until = 100",
    ],
)
def test_bad_segment_is_not_used_and_made_anew(
    path: Path, read_as_rows: Spans, statement: str
) -> None:
    damage(path, statement)
    assert_all_are_found(path)
    assert read_as_rows == [(50, 100), (100, 150), (150, 200), (200, 220)]
    with open_index(path, PARAMETERS) as index:
        write_segments(index)
    read_as_rows.clear()
    assert_all_are_found(path)
    assert read_as_rows == [(200, 220)]


def test_any_flipped_bit_of_a_segment_is_noticed(path: Path, read_as_rows: Spans) -> None:
    rng = random.Random(1)
    with closing(sqlite3.connect(path)) as connection:
        (data,) = connection.execute("SELECT data FROM segments WHERE until = 50").fetchone()
    content = path.read_bytes()
    at = content.index(data[:1000])
    for _ in range(20):
        flipped = bytearray(content)
        flipped[at + rng.randrange(len(data[:1000]))] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        read_as_rows.clear()
        assert_all_are_found(path, range(0, 220, 20))
        assert read_as_rows[0] == (0, 50)


def test_verify_removes_bad_segments(path: Path) -> None:
    damage(path, "UPDATE segments SET data = zeroblob(100) WHERE until = 150")
    (problem,) = repair(path)
    assert (problem.rule, problem.count, problem.repaired) == (
        "the segments of the tables are whole",
        2,
        True,
    )
    assert repair(path) == []
    assert_all_are_found(path)


def test_copy_that_was_put_back_goes_on_with_its_own_segments(
    path: Path, tmp_path: Path, read_as_rows: Spans
) -> None:
    shutil.copy(path, tmp_path / "backup")
    with open_index(path, PARAMETERS) as index:
        for i in range(300, 400):
            index.check_and_add(page(f"page{i}", spread(i)))
        assert write_segments(index) == 2
    shutil.copy(tmp_path / "backup", path)
    read_as_rows.clear()
    assert_all_are_found(path)
    assert read_as_rows == [(200, 220)]
    with open_index(path, PARAMETERS) as index:
        for i in range(500, 600):
            assert index.check_and_add(page(f"page{i}", spread(i))) == UNIQUE
        assert write_segments(index) == 2
        assert index.check(page("gone", spread(300))) == UNIQUE
    assert_all_are_found(path, range(500, 600))


def test_other_parameters_have_segments_of_their_own(path: Path, read_as_rows: Spans) -> None:
    other = replace(PARAMETERS, min_tokens=200)
    with open_index(path, PARAMETERS) as old, open_index(path, other) as index:
        assert read_as_rows[-1] == (200, 220)
        assert index.check(page("new", spread(5) ^ 1, tokens=200)) == UNIQUE
        assert write_segments(index) == 4 + 4  # removed, and written
        assert write_segments(old) == 0  # does not mix in its own
    read_as_rows.clear()
    with open_index(path, other):
        assert read_as_rows == [(200, 220)]
    assert_all_are_found(path)


def test_segments_full_of_old_texts_are_made_anew(path: Path, read_as_rows: Spans) -> None:
    with open_index(path, PARAMETERS) as index:
        for i in range(1, 4):
            for j in range(220):
                index.check_and_add(page(f"page{j}", spread(1000 * i + j)))
            assert write_segments(index) > 3
    with open_index(path, PARAMETERS) as index:
        assert write_segments(index) == 17 + 17
    read_as_rows.clear()
    with open_index(path, PARAMETERS) as index:
        assert write_segments(index) == 0
        for j in range(220):
            assert index.check(page("new", spread(3000 + j) ^ 1)) == near(f"page{j}", 1)
    assert read_as_rows == [(850, 880)]


def test_two_processes_make_one_row_of_segments(path: Path) -> None:
    with open_index(path, PARAMETERS) as one, open_index(path, PARAMETERS) as two:
        for i in range(300, 700):
            [one, two][i % 2].check_and_add(page(f"page{i}", spread(i)))
        threads = [threading.Thread(target=write_all, args=(index,)) for index in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with closing(sqlite3.connect(path)) as connection:
        spans = connection.execute("SELECT since, until FROM segments ORDER BY until").fetchall()
    assert spans == [(start, start + 50) for start in range(0, 600, 50)]
    assert repair(path) == []
    assert_all_are_found(path, range(300, 700))


def write_all(index: Blocking) -> None:
    """Write the segments that are due; the file may be locked meanwhile."""
    with closing(sqlite3.connect(index.path, isolation_level=None)) as connection:
        while index._segments.write(connection):
            pass


def test_segment_that_the_disk_has_no_room_for_is_left_out(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "SPAN", 500)  # more than there is room for on a page of the file
    with open_index(path, PARAMETERS) as index:
        for i in range(300, 800):
            index.check_and_add(page(f"page{i}", spread(i)))
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages}")
            with pytest.raises(sqlite3.OperationalError, match="full"):
                index._segments.write(connection)
            connection.execute("PRAGMA max_page_count = 1000000")
            assert index._segments.write(connection)
    assert repair(path) == []
    assert_all_are_found(path)


def test_long_reading_of_rows_is_said_once(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapy_simhash.index.sqlite.index.SPANS_IN_SILENCE", 2)
    with caplog.at_level("INFO"):
        assert_all_are_found(path)
        assert caplog.messages == []
        damage(path, "DELETE FROM segments WHERE until = 50")
        assert_all_are_found(path)
    (message,) = caplog.messages
    assert str(path) in message
    assert "no good segments" in message
