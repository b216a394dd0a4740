"""The index in one SQLite file, shared by all processes of a machine, or in memory.

The rows are the truth.  The permuted tables are made from them at open, and follow the rows that
other processes add.  While a crawl writes, a thread maintains the file (:class:`Checkpoints`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from scrapy_simhash.decision.judge import Parameters, stored_as
from scrapy_simhash.decision.page import Decision, Found, Page, Row
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.base import (
    SILENT_SECONDS,
    Counts,
    CrawlRecord,
    Index,
    Run,
    absent,
    is_dead,
    this_process,
)
from scrapy_simhash.index.site_knowledge import Learned
from scrapy_simhash.index.sqlite import schema, segments
from scrapy_simhash.index.sqlite.rows import Rows
from scrapy_simhash.index.sqlite.segments import Segments, last_number, written
from scrapy_simhash.index.variants import Variants
from scrapy_simhash.index.views import TableEntries, ViewTables
from scrapy_simhash.settings import MEMORY

logger = logging.getLogger(__name__)

# A page that finds the file locked waits this long, then passes unjudged.  The next pages do not
# wait until one succeeds: other processes hold the lock for under a millisecond a page.
BUSY_SECONDS = 1.0
# The time between two tries to take the lock.  SQLite's own waiting sleeps up to 100 ms and lets
# others overtake: with four processes the worst page waited 1.2 s.
LOOK_SECONDS = 0.0001

# This many pages are judged in one transaction at most, which holds the lock for 2 to 4 ms.
GROUP_PAGES = 16

# At most this many rows are forgotten in one transaction: other processes wait about 20 ms for it.
FORGET_AT_ONCE = 500

# Reading half a million rows takes about a second.  If there are more, the log shows the progress.
SPANS_IN_SILENCE = 5
SPANS_A_LINE = 50

# This many candidates are read at once: one by one, each takes 6 us more.
READ_AT_ONCE = 25

# A page of the crawl writes about four pages of 4 KB: the log stays around 16 MB.
EVERY_WRITES = 1_000
# While pages keep coming, the log cannot start over.  From this many pages of 4 KB on (256 MB),
# the writers wait while the rest of the log is merged.
LONG_LOG = 65_536
# A reader that still uses the log must not make the writers wait longer than this.
HOLD_SECONDS = 0.02
# The pause between two segments: many segments in a row keep a core busy only part of the time.
PAUSE_SECONDS = 0.2

# A page, and where its decision is awaited.
_Waiting = tuple[Page, "asyncio.Future[Decision]"]


class SQLiteIndex(Index):
    """An index file, created if there is none, and *parameters* are given.

    One at ``memory:`` is of this process alone, and gone when it is closed.

    A page is committed before :meth:`add` returns: killing the process at any point loses no page.
    (Commits are not flushed to the disk one by one: if the machine itself fails, the last pages may
    be missing, but the file is whole.)  Methods wait only for the file's lock.  Pages that are
    added at once, as the replies of a worker come, share one transaction.

    :raises IndexFormatError: the file is not an index, is damaged, or has another format.
    :raises IndexMismatchError: it was built for another scheme or scope.
    :raises IndexUnavailableError: it cannot be created, written or locked, or is not on this
        machine.
    """

    def __init__(self, path: str | os.PathLike[str], parameters: Parameters | None) -> None:
        self.path = Path(path)
        self._place = os.fspath(path)
        is_lasting = self._place != MEMORY
        if is_lasting:
            schema.refuse_network(self.path)
            if parameters is not None and not self.path.exists():
                schema.create(self.path, parameters)
            parameters = schema.checked(self.path, parameters)
        elif parameters is None:
            raise absent(self)
        self.parameters = parameters
        self.learned = Learned(parameters.share, self._exchange_state)
        self._variants = Variants()
        self._tables = ViewTables(parameters.distance)
        self._last_change = 0
        self._seen_version = -1
        self._patient = True
        self._waiting: list[_Waiting] = []
        self._segments = Segments(
            f"min_tokens={parameters.min_tokens} verified={bool(parameters.share)} {sys.byteorder}",
            parameters.views_of,
        )
        if is_lasting:
            self._load()
        self._connection = schema.writable(self.path) if is_lasting else schema.in_memory()
        self._connection.execute("PRAGMA busy_timeout = 0")
        self._connection.execute("PRAGMA wal_autocheckpoint = 0")
        self._rows = Rows(self._connection)
        self._inode = schema.file_id(self._place)
        self._checkpoints = Checkpoints(self.path, self._segments) if is_lasting else None

    def __str__(self) -> str:
        return str(self.path)

    async def add(self, page: Page) -> Decision:
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_soon(self._take_waiting)
        self._waiting.append((page, loop.create_future()))
        return await self._waiting[-1][1]

    def _take_waiting(self) -> None:
        """Judge the pages that wait, or the first :data:`GROUP_PAGES` of them."""
        group, self._waiting = self._waiting[:GROUP_PAGES], self._waiting[GROUP_PAGES:]
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._take_waiting)
        self._take([one for one in group if not one[1].done()])  # or else nobody waits any more

    def _take(self, group: Sequence[_Waiting]) -> None:
        """Judge pages in one transaction; if it fails, each in its own: one may be the cause."""
        try:
            with self._transaction():
                decisions = [self._add(page) for page, _ in group]
        except Exception as exc:
            if len(group) == 1:
                group[0][1].set_exception(exc)
            else:
                for one in group:
                    self._take([one])
            return
        for (_, answer), decision in zip(group, decisions, strict=True):
            answer.set_result(decision)

    def _add(self, page: Page) -> Decision:
        """Judge and store a page, in a transaction."""
        found = self._found(page)
        judged = self._judge(page, found)
        own, place, kept = found.own, judged.place(found.own), judged.representative
        if own is not None and place is not own:
            self._delete(own)
        row_id = self._write(stored_as(page, judged, own), place, None if kept is None else kept.id)
        if kept is None:
            self._variants.add(page.holds.own, row_id)
        if (left := judged.left) is not None:
            self._write(left.page, None, left.id)
        return judged.decision

    async def keep(self, page: Page) -> None:
        with self._transaction():
            own = self._rows.of_request(page.scope, page.request_fingerprint)
            if own is None or not own.is_kept:
                self._write(page, own, None)

    async def check(self, page: Page) -> Decision:
        with self._transaction():
            return self._judge(page, self._found(page)).decision

    async def _take_back(self, scope: str, request_fingerprint: bytes, was_new: bool) -> None:
        with self._transaction():
            row = self._rows.of_request(scope, request_fingerprint)
            if row is None or not row.is_kept:
                return
            if was_new:
                for one in [*self._rows.duplicates_of(row.id), row]:
                    self._remove(one)
            else:
                self._write(replace(row.page, crawl=None, met_by=None), row, None)

    async def forget(self, ids: Iterable[int]) -> int:
        wanted = sorted(set(ids))
        forgotten = 0
        # Duplicates first: no duplicate becomes a representative only to be forgotten next.
        for keep_kept in (True, False):
            for start in range(0, len(wanted), FORGET_AT_ONCE):
                with self._transaction():
                    for row in map(self._rows.by_id, wanted[start : start + FORGET_AT_ONCE]):
                        if row is not None and not (keep_kept and row.is_kept):
                            self._delete(row)
                            forgotten += 1
        return forgotten

    def _delete(self, row: Row) -> None:
        """Remove a row; the oldest of those that point to it, if there are any, takes its place.

        No crawl has passed that one on, so another copy may pass.
        """
        heir = next(iter(self._rows.duplicates_of(row.id)), None) if row.is_kept else None
        self._remove(row if heir is None else heir)
        if heir is not None:
            self._write(replace(heir.page, crawl=None, met_by=None), row, None)

    async def delivered(self, scope: str, request_fingerprint: bytes, run: Run) -> Page | None:
        with schema.errors_translated(self.path):
            own = self._rows.of_request(scope, request_fingerprint)
            if own is None or not own.is_kept or not self._was_delivered(own.page, run.id):
                return None
            return own.page

    async def _row_of_request(self, scope: str, request_fingerprint: bytes) -> Row | None:
        with schema.errors_translated(self.path):
            return self._rows.of_request(scope, request_fingerprint)

    async def begin_crawl(self, spider: str, name: str | None = None, joins: str = "") -> Run:
        with self._transaction():
            now = time.time()
            crawl = None if name is None else self._crawl_named(name)
            if crawl is None and joins:
                crawl = self._crawl_to_join(spider, joins, now)
            return self._add_run(crawl, spider, name, joins, this_process(), now, int(now), None)

    async def beat(self, run: Run) -> None:
        with self._transaction():
            update = "UPDATE crawls SET beat_at = ? WHERE id = ?"
            self._connection.execute(update, (time.time(), run.id))

    async def end_crawl(self, run: Run, delivered: bool = True) -> None:
        with suppress(IndexUnavailableError), self._transaction():
            self._connection.execute(
                "UPDATE crawls SET beat_at = NULL, finished_at = ? WHERE id = ?",
                (int(time.time()) if delivered else None, run.id),
            )

    async def counts(self) -> Counts:
        with schema.errors_translated(self.path):
            return self._rows.counts()

    async def rows(self) -> AsyncIterator[Row]:
        with schema.errors_translated(self.path):
            for row in self._rows.all():
                yield row

    async def row(self, row_id: int) -> Row | None:
        with schema.errors_translated(self.path):
            return self._rows.by_id(row_id)

    async def crawls(self) -> list[CrawlRecord]:
        with schema.errors_translated(self.path):
            query = "SELECT id, spider, started_at, finished_at FROM crawls ORDER BY id"
            return [CrawlRecord(*found) for found in self._connection.execute(query)]

    async def templates(self) -> AsyncIterator[tuple[str, bytes]]:
        query = "SELECT site, state FROM templates ORDER BY site"
        with schema.errors_translated(self.path):
            for site, state in self._connection.execute(query):
                yield site, state

    async def adopt(self, page: Page, representative: int | None) -> int:
        with self._transaction():
            own = self._rows.of_request(page.scope, page.request_fingerprint)
            if own is None:
                return self._write(page, None, representative)
            return own.id

    async def add_crawl(self, crawl: CrawlRecord) -> int:
        with self._transaction():
            times = crawl.started_at, crawl.finished_at
            return self._add_run(None, crawl.spider, None, "", None, None, *times).id

    def _add_run(self, crawl: int | None, *values: object) -> Run:
        """Add a run to a crawl, or to one of its own; *values* are the columns from spider on."""
        (last,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM crawls").fetchone()
        run = Run(last + 1, last + 1 if crawl is None else crawl)
        insert = "INSERT INTO crawls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._connection.execute(insert, (*run, *values))
        return run

    def _crawl_named(self, name: str) -> int | None:
        query = "SELECT min(crawl) FROM crawls WHERE name = ?"
        (crawl,) = self._connection.execute(query, (name,)).fetchone()
        return None if crawl is None else int(crawl)

    def _crawl_to_join(self, spider: str, joins: str, now: float) -> int | None:
        """Return the oldest crawl that has a running run, None if there is none."""
        query = (
            "SELECT crawl, process, beat_at FROM crawls"
            " WHERE spider = ? AND joins = ? AND beat_at IS NOT NULL ORDER BY crawl"
        )
        for crawl, process, beat_at in self._connection.execute(query, (spider, joins)):
            if abs(now - beat_at) < SILENT_SECONDS and not is_dead(process):
                return int(crawl)
        return None

    def _was_delivered(self, page: Page, run: int | None) -> bool:
        """Whether a page is known to have been passed on to the spider of a run, or to any."""
        query = (
            "SELECT 1 FROM crawls WHERE id = ? AND finished_at IS NOT NULL"
            " AND spider = coalesce((SELECT spider FROM crawls WHERE id = ?), spider)"
        )
        return self._connection.execute(query, (page.crawl, run)).fetchone() is not None

    async def close(self) -> None:
        await self.learned.store_all()
        if self._checkpoints is not None:
            self._checkpoints.close()
        self._connection.close()

    def _load(self) -> None:
        """Make the tables without writing to the file: a damaged file stays unchanged."""
        path = self.path
        with schema.errors_translated(path), closing(schema.read_only(path)) as connection:
            connection.execute("BEGIN")
            self._tables.add_many(self._all_written(connection))
            for site, state in connection.execute("SELECT site, state FROM templates"):
                self.learned.restore(site, state)

    def _all_written(self, connection: sqlite3.Connection) -> Iterator[TableEntries]:
        """Yield the content of the tables: the segments, and the rows that are in no segment."""
        for until, groups in self._segments.load(connection):
            yield from groups
            self._last_change = until
        yield from self._newly_written(connection)

    def _newly_written(self, connection: sqlite3.Connection) -> Iterator[TableEntries]:
        """Yield what the tables need of the rows that were written since the last time."""
        last = last_number(connection)
        starts = range(self._last_change, last, segments.SPAN)
        if len(starts) > SPANS_IN_SILENCE:
            logger.info(
                "The pages of %(path)s are read one by one, since the file has no good segments of "
                "them; a running crawl writes segments",
                {"path": self.path},
            )
        for done, since in enumerate(starts):
            if done and done % SPANS_A_LINE == 0:
                logger.info("%(share).0f %% are read", {"share": 100 * done / len(starts)})
            until = min(since + segments.SPAN, last)
            yield from written(connection, since, until, self.parameters.views_of)
        self._last_change = max(self._last_change, last)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Lock the file for other processes; on an error, roll back.

        What a page has added to the tables stays there: a look-up removes it when it finds that the
        row is not so.

        :raises IndexUnavailableError: the file could not be locked or written.
        """
        connection, last_change = self._connection, self._last_change
        try:
            self._begin()
            # Changes with every commit of another connection, and only with those.
            (version,) = connection.execute("PRAGMA data_version").fetchone()
            if version != self._seen_version:
                self._tables.add_many(self._newly_written(connection))
                self._seen_version = version
            last_change = self._last_change
            yield
            connection.execute("COMMIT")
        except BaseException as exc:
            self._last_change = last_change
            with suppress(*schema.ERRORS):
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            if isinstance(exc, schema.ERRORS):
                advice = "" if isinstance(exc, sqlite3.OperationalError) else f".{schema.REPAIR}"
                told = f"{self.path} did not take a page: {exc}{advice}"
                raise IndexUnavailableError(told) from exc
            raise
        if self._checkpoints is not None:
            self._checkpoints.written()

    def _begin(self) -> None:
        """Take the lock of the file; while others keep it, only the first page waits for it."""
        if schema.file_id(self._place) != self._inode:
            raise IndexUnavailableError(f"{self.path} was taken away or replaced; start again")
        deadline = time.monotonic() + BUSY_SECONDS if self._patient else 0.0
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as exc:
                if "locked" not in str(exc) or time.monotonic() >= deadline:
                    self._patient = False
                    raise
                time.sleep(LOOK_SECONDS)
            else:
                self._patient = True
                return

    def _next_change(self) -> int:
        self._last_change += 1
        return self._last_change

    def _found(self, page: Page) -> Found:
        """Return what a page is judged by; candidates are looked up only on demand."""
        own = self._rows.of_request(page.scope, page.request_fingerprint)
        return Found(
            own=own,
            delivered=own is not None and self._was_delivered(own.page, page.crawl),
            same_text=self._rows.of_text(page.scope, page.digest),
            near=self._near(page),
            alike=self._alike(page),
        )

    def _alike(self, page: Page) -> Iterator[Row]:
        """Yield kept pages that share the page's rare values."""
        ids = self._variants.like(page.holds.own) if page.own_values is not None else []
        for row in map(self._rows.by_id, ids):
            if row is not None and row.is_kept and row.page.scope == page.scope:
                yield row

    def _near(self, page: Page) -> Iterator[tuple[Row, int]]:
        """Yield the representatives within the distance: see :class:`Found`."""
        seen: set[int] = set()
        near = self._tables.near(page.scope, self.parameters.views(page))
        while some := list(islice(near, READ_AT_ONCE)):
            rows = self._rows.by_ids({row_id for _, row_id, _, _ in some} - seen)
            for distance, row_id, view, fingerprint in some:
                row = rows.get(row_id)
                if row_id in seen or (row is not None and row.page.scope != page.scope):
                    continue
                # A row that was judged again since is also in the tables by its present
                # fingerprints.  Its old entry is removed when a look-up finds it.
                if (
                    row is None
                    or not row.is_kept
                    or (view, fingerprint) not in self.parameters.views(row.page)
                ):
                    self._tables.remove(page.scope, view, fingerprint, row_id)
                else:
                    seen.add(row_id)
                    yield row, distance

    def _write(self, page: Page, own: Row | None, representative: int | None) -> int:
        is_found_anew = representative is None
        if own is None:
            row_id = self._next_change()
            self._rows.insert(row_id, page, representative)
        else:
            row_id = own.id
            # A row with unchanged fingerprints gets no new number: others need not read it again.
            if own.is_kept and self.parameters.views(own.page) == self.parameters.views(page):
                is_found_anew = False
            change = self._next_change() if is_found_anew else None
            self._rows.update(row_id, change, page, representative)
        if is_found_anew:
            for view, fingerprint in self.parameters.views(page):
                self._tables.add(page.scope, view, fingerprint, row_id)
        return row_id

    def _remove(self, row: Row) -> None:
        self._rows.delete(row.id)
        # So the numbers of forgotten rows are not used again.
        self._connection.execute(
            "INSERT OR REPLACE INTO parameters VALUES ('last_change', ?)", (str(self._last_change),)
        )

    async def _exchange_state(self, key: str, merge: Callable[[bytes | None], bytes]) -> bytes:
        """Store what *merge* makes of the stored state of a key, and return it."""
        with self._transaction():
            stored = self._connection.execute(
                "SELECT state FROM templates WHERE site = ?", (key,)
            ).fetchone()
            state = merge(None if stored is None else stored[0])
            self._connection.execute(
                "INSERT OR REPLACE INTO templates (site, state) VALUES (?, ?)", (key, state)
            )
        return state


class Checkpoints:
    """A thread that maintains the index at *path* each time that enough was written.

    With its own connection, it merges the write-ahead log into the file: SQLite itself would do
    that in the commit that makes the log 1,000 pages long, and that commit would wait for two
    flushes of the disk.  And it writes the content of the tables, segment by segment, so that the
    next crawl starts quickly.
    """

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
