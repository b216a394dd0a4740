"""Merging the write-ahead log into the file, off the reactor.

SQLite itself would do it in the commit that makes the log 1,000 pages long: that page then waits
for two flushes of the disk. Here a thread with a connection of its own does it meanwhile.
"""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing, suppress
from pathlib import Path

# About four pages of 4 KB are written for a page of the crawl: the log stays around 16 MB.
EVERY_WRITES = 1_000
# While pages keep coming, the log cannot start over. From so many pages of 4 KB on (256 MB),
# the writers are held for the moment that the last of it takes.
LONG_LOG = 65_536
# A reader that stays in the log must not hold the writers longer than this.
HOLD_SECONDS = 0.02


class Checkpoints:
    """A thread that merges the log of the index at *path* whenever enough was written."""

    def __init__(self, path: Path) -> None:
        self._path = path
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
        """End the thread, after the merging that it may be at."""
        self._closing = True
        self._due.set()
        self._thread.join()

    def _run(self) -> None:
        # On an error (a full disk, say) the log grows until the next time, and nothing is lost.
        with (
            suppress(sqlite3.Error),
            closing(
                sqlite3.connect(self._path, timeout=HOLD_SECONDS, isolation_level=None)
            ) as connection,
        ):
            while self._due.wait() and not self._closing:
                self._due.clear()
                with suppress(sqlite3.Error):
                    self._merge(connection)

    def _merge(self, connection: sqlite3.Connection) -> None:
        _, length, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if length > LONG_LOG:
            connection.execute("PRAGMA wal_checkpoint(FULL)")
