"""Whatever happens to an index, no page that was acknowledged is lost, and the file is whole.

The short form runs always. The long one, as for a release:

    FAULTS=200 PAIRS=10000 python -m pytest tests/index/sqlite/test_faults.py
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from scrapy_simhash.errors import FingerprintIndexError, IndexFormatError, IndexUnavailableError
from scrapy_simhash.index.sqlite import schema, segments
from scrapy_simhash.index.sqlite.repair import repair
from tests.fault_writer import page_of, writer, written
from tests.indexes import open_index, write_segments
from tests.pages import PARAMETERS, UNIQUE, VERIFIED, near, page, page_with_content

FAULTS = int(os.environ.get("FAULTS", "20"))
PAIRS = int(os.environ.get("PAIRS", "200"))


def stored(path: Path) -> set[str]:
    with open_index(path, PARAMETERS) as index:
        return {row.page.url.rpartition("/")[2] for row in index.rows()}


def acknowledged(lines: list[str], number: int = 0) -> set[str]:
    """The names of the pages of whole lines that say that they were taken."""
    told = [line.split() for line in lines if line.endswith("\n")]
    return {f"{i}-{number}" for i, verdict in told if verdict != "passed"}


def test_index_survives_kills_at_any_moment(tmp_path: Path) -> None:
    path = tmp_path / "pages.simhash"
    rng = random.Random(1)
    expected: set[str] = set()
    for kill in range(FAULTS):
        with writer(path, 1_000_000 * kill, 1_000_000, piped=True) as child:
            lines: list[str] = []
            if kill % 4:
                lines = list(itertools.islice(child.stdout, rng.randrange(1, 300)))
            else:  # while it starts
                with suppress(subprocess.TimeoutExpired):
                    child.wait(rng.uniform(0, 0.1))
            child.send_signal(signal.SIGKILL)
            lines += child.stdout
        expected |= acknowledged(lines)
        if path.exists():
            assert repair(path) == []
            assert expected <= stored(path)
    assert len(expected) > FAULTS


@pytest.mark.parametrize("writers", [2, 8])
def test_of_near_identical_pages_judged_at_once_exactly_one_is_kept(
    tmp_path: Path, writers: int
) -> None:
    path = tmp_path / "pages.simhash"
    lines = written([writer(path, 0, PAIRS, number) for number in range(writers)])
    kept = Counter(line.split()[0] for line in lines if line.endswith("unique"))
    assert kept == {str(i): 1 for i in range(PAIRS)}
    assert repair(path) == []
    with open_index(path, PARAMETERS) as index:
        assert (len(index), index.counts().pages) == (PAIRS, PAIRS * writers)


def test_copies_of_the_files_taken_at_any_moment_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "pages.simhash"
    rng = random.Random(2)
    lines: list[str] = []
    with writer(path, 0, 10_000_000, piped=True) as child:
        for copied in range(FAULTS):
            lines += itertools.islice(child.stdout, rng.randrange(1, 200))
            child.send_signal(signal.SIGSTOP)
            while psutil.Process(child.pid).status() != psutil.STATUS_STOPPED:
                """It gets there."""
            folder = tmp_path / f"copy{copied}"
            folder.mkdir()
            for found in tmp_path.glob("pages.simhash*"):
                shutil.copy(found, folder)
            child.send_signal(signal.SIGCONT)
            (folder / "pages.simhash-shm").unlink()  # is in memory only, gone with the power
            assert repair(folder / "pages.simhash") == []
            assert acknowledged(lines) <= stored(folder / "pages.simhash")
        child.send_signal(signal.SIGKILL)


@pytest.fixture
def unmerged(tmp_path: Path) -> Path:
    """A folder with an index of 300 pages, 200 of which are only in the log; nobody has it open."""
    path = tmp_path / "pages.simhash"
    with open_index(path, PARAMETERS) as index:
        for i in range(100):
            index.check_and_add(page_of(i, 0))
    with open_index(path, PARAMETERS) as index:
        for i in range(100, 300):
            index.check_and_add(page_of(i, 0))
        (tmp_path / "copy").mkdir()
        for name in ("pages.simhash", "pages.simhash-wal"):
            shutil.copy(tmp_path / name, tmp_path / "copy")
    return tmp_path / "copy"


def test_torn_log_gives_the_pages_before_the_tear(unmerged: Path, tmp_path: Path) -> None:
    rng = random.Random(3)
    content = (unmerged / "pages.simhash-wal").read_bytes()
    counts = set()
    for torn in range(FAULTS):
        folder = tmp_path / f"torn{torn}"
        shutil.copytree(unmerged, folder)
        cut = rng.randrange(len(content))
        tail = b"" if torn % 2 else bytes(min(512, len(content) - cut)) + content[cut + 512 :]
        (folder / "pages.simhash-wal").write_bytes(content[:cut] + tail)
        path = folder / "pages.simhash"
        assert repair(path) == []
        names = stored(path)
        assert names == {f"{i}-0" for i in range(len(names))}
        counts.add(len(names))
    assert min(counts) >= 100
    assert len(counts) > 3


def test_flipped_bits_are_detected_or_harmless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "SPAN", 10)
    whole = tmp_path / "whole.simhash"
    with open_index(whole, VERIFIED) as index:
        for i in range(60):
            known = page_with_content(f"p{i}", range(1000 * i + 1, 1000 * i + 60), main_text=i << 9)
            index.check_and_add(replace(known, content_fingerprint=i << 40))
        assert write_segments(index) == 6
    content = whole.read_bytes()
    rng = random.Random(4)
    refused = 0
    for _ in range(10 * FAULTS):
        path = tmp_path / "flipped.simhash"
        flipped = bytearray(content)
        flipped[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        try:
            with open_index(path, VERIFIED) as index:
                for i in range(0, 60, 7):
                    # As near as can be by both fingerprints, with other content.
                    start = 1_000_000 + 1000 * i
                    other = page_with_content("x", range(start, start + 60), main_text=i << 9)
                    with suppress(IndexUnavailableError):
                        assert index.check(replace(other, content_fingerprint=i << 40)) == UNIQUE
        except FingerprintIndexError:
            refused += 1
            assert path.read_bytes() == flipped
        with suppress(FingerprintIndexError):
            if all(problem.repaired for problem in repair(path)):
                assert repair(path) == []
        for left in tmp_path.glob("flipped*"):
            left.unlink()
    assert refused > 0


def test_full_disk_takes_no_page_and_loses_none(tmp_path: Path) -> None:
    path = tmp_path / "pages.simhash"
    assert len(written([writer(path, 0, 50)])) == 50
    limit = path.stat().st_size + 100_000
    taken = acknowledged([f"{line}\n" for line in written([writer(path, 50, 500, limit=limit)])])
    assert 0 < len(taken) < 500
    assert repair(path) == []
    names = stored(path)
    assert taken <= names
    assert len(names) == 50 + len(taken)
    with open_index(path, PARAMETERS) as index:
        assert index.check_and_add(page_of(10_000, 0)) == UNIQUE


def test_index_works_on_when_the_disk_has_room_again(tmp_path: Path) -> None:
    with open_index(tmp_path / "pages.simhash", PARAMETERS) as index:
        (pages,) = index._connection.execute("PRAGMA page_count").fetchone()
        index._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
        taken = 0
        with suppress(IndexUnavailableError):
            for taken in range(1000):
                index.check_and_add(page_of(taken, 0))
        with pytest.raises(IndexUnavailableError, match="full"):
            index.check_and_add(page_of(taken, 0))
        index._connection.execute("PRAGMA max_page_count = 1000000")
        assert index.check_and_add(page_of(taken, 0)) == UNIQUE
        assert index.check_and_add(page_of(taken, 1)).is_duplicate
        assert index.counts().pages == taken + 2
    assert repair(tmp_path / "pages.simhash") == []


def test_clock_may_jump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pages.simhash"
    rng = random.Random(5)
    for jump in range(FAULTS):
        now = rng.choice([0.0, -1e9, 4e9, 1.7e9, 1e12])
        monkeypatch.setattr(time, "time", lambda now=now: now)
        with open_index(path, PARAMETERS) as index:
            run = index.begin_crawl("spider")
            for i in range(20):
                new = replace(
                    page_of(20 * jump + i, 0), judged_at=now + rng.uniform(-5, 5), crawl=run.id
                )
                assert index.check_and_add(new) == UNIQUE
                assert index.check_and_add(new).verdict == "refresh"
            index.end_crawl(run)
    assert repair(path) == []
    assert len(stored(path)) == 20 * FAULTS


def damaged(path: Path, table: str) -> Path:
    """An index of some pages, of which the root of a table or index of SQLite is overwritten."""
    with open_index(path, PARAMETERS) as index:
        for i in range(100):
            index.check_and_add(page(f"{i}", i << 10))
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE name = ?"
        (root,) = connection.execute(query, (table,)).fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xff" * 8)
    return path


def test_what_is_mended_in_a_damaged_file_is_said(tmp_path: Path) -> None:
    path = damaged(tmp_path / "pages.simhash", "pages")
    (problem,) = repair(path)
    assert not problem.repaired
    assert schema.stored_parameters(path)["scheme"] == PARAMETERS.scheme


def test_pages_of_a_damaged_file_are_not_counted(tmp_path: Path) -> None:
    path = damaged(tmp_path / "pages.simhash", "pages_by_text")
    with open_index(path, PARAMETERS) as index, pytest.raises(IndexFormatError, match="damaged"):
        index.counts()


class FailsOnce:
    """A connection whose next commit fails, as on a disk that was full for a moment."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._fails = True

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if self._fails and statement == "COMMIT":
            self._fails = False
            raise sqlite3.OperationalError("disk I/O error")
        return self._connection.execute(statement, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_failed_commit_leaves_nothing_behind(tmp_path: Path) -> None:
    """Neither is the refused page found, nor is the number of it taken for one that was read."""
    path = tmp_path / "pages.simhash"
    with open_index(path, PARAMETERS) as index, open_index(path, PARAMETERS) as other:
        index.check_and_add(page("a", 0xFF, scope="one"))
        connection = index._connection
        index.index._connection = FailsOnce(connection)
        with pytest.raises(IndexUnavailableError, match="disk I/O error"):
            index.check_and_add(page("refused", 0b0, scope="one"))
        # It has the number that the refused page had.
        assert other.check_and_add(page("b", 0b0, scope="two")) == UNIQUE
        assert index.check_and_add(page("d", 0b1, scope="two")) == near("b", 1)
        assert index.check_and_add(page("c", 0b1, scope="one")) == UNIQUE
        assert index.counts().pages == 4
        index.index._connection = connection
