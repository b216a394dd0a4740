"""The runs of crawls in an index file; the caller begins and ends transactions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator

from scrapy_simhash.index.base import CrawlRecord, Run, RunningRun, crawl_to_join, this_process

# A run's number is its id; *crawl* is that of the first run of its crawl.  *beat_at* is NULL once
# a run has said that it ended.
TABLE = """
CREATE TABLE crawls (
    id INTEGER PRIMARY KEY,
    crawl INTEGER NOT NULL,
    spider TEXT NOT NULL,
    name TEXT,
    joins TEXT NOT NULL,
    process TEXT,
    beat_at REAL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER
);
"""
INDEXES = """
CREATE INDEX crawls_by_name ON crawls (name) WHERE name IS NOT NULL;
CREATE INDEX crawls_running ON crawls (spider) WHERE beat_at IS NOT NULL;
"""


class Crawls:
    """The runs in the file of a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def begin(self, spider: str, name: str | None, joins: str) -> Run:
        """Return a run that begins: see :meth:`Index.begin_crawl`."""
        now = time.time()
        crawl = None if name is None else self._named(name)
        if crawl is None and joins:
            crawl = crawl_to_join(self._running(spider, joins), now)
        return self._insert(
            crawl, spider, name, joins, this_process(), now, started_at=int(now), finished_at=None
        )

    def beat(self, run: Run) -> None:
        """Note that a run is going on."""
        self._connection.execute(
            "UPDATE crawls SET beat_at = ? WHERE id = ?", (time.time(), run.id)
        )

    def end(self, run: Run, delivered: bool) -> None:
        """Note that a run has ended."""
        self._connection.execute(
            "UPDATE crawls SET beat_at = NULL, finished_at = ? WHERE id = ?",
            (int(time.time()) if delivered else None, run.id),
        )

    def was_delivered(self, run: int | None) -> bool:
        """Whether a run is known to have passed on all its pages."""
        query = "SELECT 1 FROM crawls WHERE id = ? AND finished_at IS NOT NULL"
        return self._connection.execute(query, (run,)).fetchone() is not None

    def all(self) -> list[CrawlRecord]:
        """Return all runs, by number."""
        query = "SELECT id, spider, started_at, finished_at FROM crawls ORDER BY id"
        return [CrawlRecord(*found) for found in self._connection.execute(query)]

    def adopt(self, record: CrawlRecord) -> int:
        """Return the number here of a run of another index; it is added if it is not there."""
        _, *wanted = vars(record).values()
        for known in self.all():
            if list(vars(known).values())[1:] == wanted:
                return known.id
        spider, started_at, finished_at = record.spider, record.started_at, record.finished_at
        return self._insert(None, spider, None, "", None, None, started_at, finished_at).id

    def _insert(
        self,
        crawl: int | None,
        spider: str,
        name: str | None,
        joins: str,
        process: str | None,
        beat_at: float | None,
        started_at: int,
        finished_at: int | None,
    ) -> Run:
        (last,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM crawls").fetchone()
        run = Run(last + 1, last + 1 if crawl is None else crawl)
        values = (*run, spider, name, joins, process, beat_at, started_at, finished_at)
        self._connection.execute("INSERT INTO crawls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        return run

    def _named(self, name: str) -> int | None:
        query = "SELECT min(crawl) FROM crawls WHERE name = ?"
        (crawl,) = self._connection.execute(query, (name,)).fetchone()
        return None if crawl is None else int(crawl)

    def _running(self, spider: str, joins: str) -> Iterator[RunningRun]:
        query = (
            "SELECT crawl, process, beat_at FROM crawls"
            " WHERE spider = ? AND joins = ? AND beat_at IS NOT NULL"
        )
        return map(RunningRun._make, self._connection.execute(query, (spider, joins)))
