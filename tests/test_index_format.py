"""An index of an older format is brought up to date, and what it held is there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_simhash.errors import IndexFormatError, IndexMismatchError
from scrapy_simhash.index import Parameters, SQLiteIndex
from scrapy_simhash.index.sqlite import schema
from scrapy_simhash.index.sqlite.repair import repair
from tests.test_index import PARAMETERS, UNIQUE, near, page

# As earlier versions wrote them; kept in full, since nothing else makes such files any more.
FORMAT_2 = """
PRAGMA journal_mode = WAL;
PRAGMA application_id = 0x53494d48;
CREATE TABLE parameters (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    change INTEGER NOT NULL,
    scope TEXT NOT NULL,
    request_fingerprint BLOB NOT NULL,
    url TEXT NOT NULL,
    fingerprint INTEGER NOT NULL,
    digest BLOB NOT NULL,
    tokens INTEGER NOT NULL,
    representative INTEGER REFERENCES pages (id),
    judged_at REAL NOT NULL,
    content_fingerprint INTEGER,
    sketch BLOB,
    UNIQUE (scope, request_fingerprint)
);
CREATE TABLE templates (site TEXT PRIMARY KEY, state BLOB NOT NULL);
CREATE UNIQUE INDEX pages_by_change ON pages (change);
CREATE INDEX pages_by_text ON pages (scope, digest) WHERE representative IS NULL;
PRAGMA user_version = 2;
INSERT INTO parameters VALUES ('scheme', 'test'), ('scope', 'global');
"""

FORMAT_3 = """
PRAGMA journal_mode = WAL;
PRAGMA application_id = 0x53494d48;
CREATE TABLE parameters (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE templates (site TEXT PRIMARY KEY, state BLOB NOT NULL);
CREATE TABLE crawls (
    id INTEGER PRIMARY KEY,
    spider TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER
);
CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    change INTEGER,
    crawl INTEGER REFERENCES crawls (id),
    scope TEXT NOT NULL,
    request_fingerprint BLOB NOT NULL,
    url TEXT NOT NULL,
    fingerprint INTEGER NOT NULL,
    digest BLOB NOT NULL,
    tokens INTEGER NOT NULL,
    representative INTEGER REFERENCES pages (id),
    judged_at INTEGER NOT NULL,
    content_fingerprint INTEGER,
    sketch BLOB
);
CREATE UNIQUE INDEX pages_by_change ON pages (change) WHERE change IS NOT NULL;
CREATE INDEX pages_by_request ON pages (scope, substr(request_fingerprint, 1, 8));
CREATE INDEX pages_by_text ON pages (scope, substr(digest, 1, 8)) WHERE representative IS NULL;
CREATE INDEX pages_by_group ON pages (representative) WHERE representative IS NOT NULL;
PRAGMA user_version = 3;
INSERT INTO parameters VALUES ('scheme', 'test'), ('scope', 'global');
INSERT INTO crawls VALUES (1, 'spider', 1, 2);
"""
INSERTS = {
    2: "INSERT INTO pages VALUES (?, ?, '', ?, ?, ?, ?, 100, ?, 1.5, NULL, NULL)",
    3: "INSERT INTO pages VALUES (?, ?, 1, '', ?, ?, ?, ?, 100, ?, 1, NULL, NULL)",
}


@pytest.fixture(params=[2, 3])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Pages a (0), b (1, a duplicate of a), and c (all 64 bits), which was refreshed last."""
    path = tmp_path / "old.simhash"
    rows = [(1, 1, page("a", 0), None), (2, 2, page("b", 1), 1), (3, 9, page("c", 2**64 - 1), None)]
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript({2: FORMAT_2, 3: FORMAT_3}[request.param])
        for row_id, change, one, representative in rows:
            signed = one.fingerprint - (one.fingerprint >> 63 << 64)
            connection.execute(
                INSERTS[request.param],
                (
                    row_id,
                    None if request.param == 3 and change == row_id else change,
                    one.request_fingerprint,
                    one.url,
                    signed,
                    one.digest,
                    representative,
                ),
            )
        connection.commit()
    return path


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_pages_of_an_old_format_are_found(old: Path) -> None:
    with SQLiteIndex(old, PARAMETERS) as index:
        assert [(row.id, row.representative) for row in index.rows()] == [
            (1, None),
            (2, 1),
            (3, None),
        ]
        assert index.check_and_add(page("x", 0b10)) == near("a", 1)
        assert index.check_and_add(page("y", 2**64 - 2)) == near("c", 1)
        again = index.check_and_add(page("c", 2**64 - 1))
        assert (again.verdict, again.distance) == ("refresh", 0)
        assert index.check_and_add(page("z", 0xFFFFFFFF)) == UNIQUE
    assert version_of(old) == schema.FORMAT
    assert repair(old) == []


def test_two_that_open_an_old_file_see_each_other(old: Path) -> None:
    with SQLiteIndex(old, PARAMETERS) as one, SQLiteIndex(old, PARAMETERS) as two:
        assert one.check_and_add(page("x", 0xFFFFFFFF)) == UNIQUE
        assert two.check_and_add(page("y", 0xFFFFFFFE)) == near("x", 1)


def test_old_file_of_another_scheme_is_left_as_it_is(old: Path) -> None:
    before = old.read_bytes()
    with pytest.raises(IndexMismatchError):
        SQLiteIndex(old, Parameters("other"))
    assert old.read_bytes() == before


def test_damaged_old_file_is_left_as_it_is(old: Path) -> None:
    content = bytearray(old.read_bytes())
    with closing(sqlite3.connect(old)) as connection:
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'pages'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    content[(root - 1) * size : (root - 1) * size + 8] = b"\xff" * 8
    old.write_bytes(content)
    with pytest.raises(IndexFormatError, match="damaged"):
        SQLiteIndex(old, PARAMETERS)
    assert old.read_bytes() == bytes(content)


def test_format_that_is_too_old_is_refused(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("PRAGMA user_version = 1")
    with pytest.raises(IndexFormatError, match="format 1"):
        SQLiteIndex(old, PARAMETERS)
