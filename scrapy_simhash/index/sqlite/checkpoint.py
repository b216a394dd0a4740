"""Maintenance of the index file while a crawl writes to it, off the reactor.

A thread with its own connection does two things.  It merges the write-ahead log into the file:
SQLite itself would do that in the commit that makes the log 1,000 pages long, and that commit
would wait for two flushes of the disk.  And it writes the content of the tables, segment by segment
(segments.py), so that the next crawl starts quickly.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_simhash.index.sqlite.segments import Segments

logger = logging.getLogger(__name__)

# A page of the crawl writes about four pages of 4 KB: the log stays around 16 MB.
EVERY_WRITES = 1_000
# While pages keep coming, the log cannot start over.  From this many pages of 4 KB on (256 MB),
# the writers wait while the rest of the log is merged.
LONG_LOG = 65_536
# A reader that still uses the log must not make the writers wait longer than this.
HOLD_SECONDS = 0.02
# The pause between two segments: many segments in a row keep a core busy only part of the time.
PAUSE_SECONDS = 0.2


class Checkpoints:
    """A thread that maintains the index at *path* each time that enough was written."""

    def __init__(self, path: Path, segments: Segments) -> None:
        self._path = path
        self._segments = segments
        self._writes = 0
        self._due = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="simhash-checkpoints", daemon=True)
        self._thread.start()

    def written(self) -> None:
        """Count one more commit."""
        self._writes += 1
        if self._writes >= EVERY_WRITES:
            self._writes = 0
            self._due.set()

    def close(self) -> None:
        """End the thread, after the step that it is doing."""
        self._closing = True
        self._due.set()
        self._thread.join()

    def _run(self) -> None:
        # On an error (a full disk, for example) the log grows until the next time; nothing is lost.
        with (
            suppress(sqlite3.Error),
            closing(
                sqlite3.connect(self._path, timeout=HOLD_SECONDS, isolation_level=None)
            ) as connection,
        ):
            while self._due.wait() and not self._closing:
                self._due.clear()
                for step in (self._merge, self._write_segments):
                    try:
                        step(connection)
                    except sqlite3.Error:
                        continue
                    except Exception:  # this thread must live as long as the crawl
                        logger.warning("Error in scrapy-simhash: %s", self._path, exc_info=True)

    def _merge(self, connection: sqlite3.Connection) -> None:
        _, length, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if length > LONG_LOG:
            connection.execute("PRAGMA wal_checkpoint(FULL)")

    def _write_segments(self, connection: sqlite3.Connection) -> None:
        while not self._closing and self._segments.write(connection):
            time.sleep(PAUSE_SECONDS)
