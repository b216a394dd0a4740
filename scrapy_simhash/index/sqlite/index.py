"""The index in one SQLite file, shared by all processes of a machine.

The rows are the truth; the permuted tables are made from them at open and kept up with
what other processes add.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.contract import Page, Parameters, Row
from scrapy_simhash.index.copying import CrawlRecord, LastingIndex
from scrapy_simhash.index.local import LocalIndex
from scrapy_simhash.index.sqlite import schema, segments
from scrapy_simhash.index.sqlite.checkpoint import Checkpoints
from scrapy_simhash.index.sqlite.mounts import refuse_network
from scrapy_simhash.index.sqlite.rows import row_of, signed
from scrapy_simhash.index.sqlite.segments import Segments, last_number, written
from scrapy_simhash.index.views import Group, ViewTables
from scrapy_simhash.progress import progress

logger = logging.getLogger(__name__)

# A page that finds the file locked waits this long, then passes unjudged, and the next ones
# do not wait until one succeeds: other processes hold the lock for under a millisecond a page.
BUSY_SECONDS = 1.0
# Between two looks at a lock. SQLite's own waiting sleeps up to 100 ms and lets others overtake:
# with four processes the worst page waited 1.2 s.
LOOK_SECONDS = 0.0001

# Reading half a million rows takes about a second: the log tells of more.
SPANS_IN_SILENCE = 5

_COLUMNS = (
    "id, crawl, scope, request_fingerprint, url, fingerprint, digest, tokens, representative,"
    " judged_at, content_fingerprint, sketch"
)
_ROW = f"SELECT {_COLUMNS} FROM pages "  # noqa: S608 - a constant
_BRIEF_ROWS = f"SELECT {_COLUMNS.replace('sketch', 'NULL')} FROM pages ORDER BY id"  # noqa: S608
_NAMES = _COLUMNS.split(", ")[1:]
_INSERT = f"INSERT INTO pages ({_COLUMNS}) VALUES (?{', ?' * len(_NAMES)})"  # noqa: S608
_SET = ", ".join(f"{name} = ?" for name in _NAMES)
_UPDATE = f"UPDATE pages SET change = coalesce(?, change), {_SET} WHERE id = ?"  # noqa: S608


class SQLiteIndex(LocalIndex, LastingIndex):
    """An index file, made where there is none.

    A page is committed before :meth:`check_and_add` returns: killing the process at any
    point loses none.  (A commit is not flushed to the disk one by one: if the machine
    itself fails, the last moments may be missing, but the file is whole.)

    :raises IndexFormatError: the file is no index, is damaged, or is of a newer format.
    :raises IndexMismatchError: it was built for another scheme or scope.
    :raises IndexUnavailableError: it cannot be made, written or locked, or is not on this machine.
    """

    def __init__(self, path: str | os.PathLike[str], parameters: Parameters) -> None:
        super().__init__(parameters)
        self.path = Path(path)
        self._place = os.fspath(path)
        self._tables = ViewTables(parameters.distance)
        self._last_change = 0
        self._seen_version = -1
        self._patient = True
        self._unpresented: list[tuple[str, str, int, int]] = []
        self._uncommitted: dict[str, bytes] = {}  # what sites repeat
        self._segments = Segments(
            f"min_tokens={parameters.min_tokens} verified={bool(parameters.share)}", self._views_of
        )
        refuse_network(self.path)
        if not self.path.exists():
            schema.create(self.path, parameters)
        schema.check(self.path, parameters)
        schema.bring_up_to_date(self.path)
        self._load()
        self._connection = schema.writable(self.path)
        self._connection.execute("PRAGMA busy_timeout = 0")
        self._connection.execute("PRAGMA wal_autocheckpoint = 0")
        self._inode = self._inode_of_path()
        self._checkpoints = Checkpoints(self.path, self._segments)

    def __str__(self) -> str:
        return str(self.path)

    def __len__(self) -> int:
        query = "SELECT count(*) FROM pages WHERE representative IS NULL"
        return int(self._connection.execute(query).fetchone()[0])

    def count(self) -> int:
        """Return how many pages there are, representatives and duplicates."""
        return int(self._connection.execute("SELECT count(*) FROM pages").fetchone()[0])

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the tables hold, about."""
        return self._tables.nbytes

    def rows(self) -> Iterator[Row]:
        with schema.errors_translated(self.path):
            yield from self._select("ORDER BY id")

    def brief_rows(self) -> Iterator[Row]:
        with schema.errors_translated(self.path):
            yield from map(row_of, self._connection.execute(_BRIEF_ROWS))

    def crawls(self) -> list[CrawlRecord]:
        query = "SELECT id, spider, started_at, finished_at FROM crawls ORDER BY id"
        with schema.errors_translated(self.path):
            return [CrawlRecord(*found) for found in self._connection.execute(query)]

    def learned(self) -> Iterator[tuple[str, bytes]]:
        with schema.errors_translated(self.path):
            yield from self._connection.execute("SELECT site, state FROM templates ORDER BY site")

    def adopt(self, page: Page, representative: int | None) -> int:
        with self._transaction():
            own = self._row_of_request(page.scope, page.request_fingerprint)
            if own is None:
                self._write(page, None, representative, page.crawl)
                return self._last_change
            return own.id

    def adopt_crawl(self, crawl: CrawlRecord) -> int:
        found = (crawl.spider, crawl.started_at, crawl.finished_at)
        with self._transaction():
            for known in self.crawls():
                if (known.spider, known.started_at, known.finished_at) == found:
                    return known.id
            names = "INSERT INTO crawls (spider, started_at, finished_at) VALUES (?, ?, ?)"
            row_id = self._connection.execute(names, found).lastrowid
        return row_id or 0

    def adopt_learned(self, site: str, state: bytes) -> None:
        with suppress(ValueError):  # damaged; it can be learned again
            self.templates.restore(site, state)
            with self._transaction():
                self._save_templates([(site, state)])

    def begin_crawl(self, spider: str) -> int | None:
        with suppress(IndexUnavailableError), self._transaction():
            return self._connection.execute(
                "INSERT INTO crawls (spider, started_at) VALUES (?, ?)", (spider, int(time.time()))
            ).lastrowid
        return None

    def end_crawl(self, crawl: int | None) -> None:
        with suppress(IndexUnavailableError), self._transaction():
            self._connection.execute(
                "UPDATE crawls SET finished_at = ? WHERE id = ?", (int(time.time()), crawl)
            )

    def close(self) -> None:
        # What a site repeats can be learned again.
        with suppress(IndexUnavailableError), self._transaction():
            self._save_templates(self.templates.take_changed())
        self._checkpoints.close()
        self._connection.close()

    def _load(self) -> None:
        """Make the tables, without writing: a damaged file stays as it is."""
        path = self.path
        with schema.errors_translated(path), closing(schema.read_only(path)) as connection:
            connection.execute("BEGIN")
            self._tables.build(self._written_before(connection))
            for site, state in connection.execute("SELECT site, state FROM templates"):
                with suppress(ValueError):  # damaged; it can be learned again
                    self.templates.restore(site, state)

    def _written_before(self, connection: sqlite3.Connection) -> Iterator[Group]:
        """Yield all that the tables are to hold: the segments, and what is in none of them."""
        for until, groups in self._segments.load(connection):
            yield from groups
            self._last_change = until
        last = last_number(connection)
        starts = range(self._last_change, last, segments.SPAN)
        spans: Iterable[int] = starts
        if len(starts) > SPANS_IN_SILENCE:
            logger.info(
                "The pages of %(path)s are read one by one, since there is no good snapshot of "
                "them; while a crawl runs, one is made",
                {"path": self.path},
            )
            spans = progress(starts, "Reading pages", len(starts))
        for since in spans:
            yield from written(connection, since, min(since + segments.SPAN, last), self._views_of)
        self._last_change = last

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        connection, last_change = self._connection, self._last_change
        try:
            self._begin()
            # Grows with every commit of another connection, and with no other.
            (version,) = connection.execute("PRAGMA data_version").fetchone()
            if version != self._seen_version:
                self._catch_up(connection)
                self._seen_version = version
            last_change = self._last_change
            yield
            connection.execute("COMMIT")
        except BaseException as exc:
            self._last_change = last_change
            self._unpresented.clear()
            for site in self._uncommitted:
                self.templates.note_lost(site)
            self._uncommitted.clear()
            with suppress(*schema.ERRORS):
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            if isinstance(exc, schema.ERRORS):
                raise IndexUnavailableError(f"{self.path} did not take a page: {exc}") from exc
            raise
        for scope, view, fingerprint, row_id in self._unpresented:
            self._tables.add(scope, view, fingerprint, row_id)
        self._unpresented.clear()
        for site, state in self._uncommitted.items():
            self.templates.note_stored(site, state)
        self._uncommitted.clear()
        self._checkpoints.written()

    def _begin(self) -> None:
        """Take the lock of the file; while it stays locked, only the first page waits for it."""
        if self._inode_of_path() != self._inode:
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

    def _inode_of_path(self) -> tuple[int, int] | None:
        try:
            found = os.stat(self._place)  # noqa: PTH116 - Path.stat takes twice as long
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Put into the tables what was written since the last look."""
        last = last_number(connection)
        if last > self._last_change:
            for group in written(connection, self._last_change, last, self._views_of):
                self._tables.add_many(*group)
            self._last_change = last

    def _next_change(self) -> int:
        self._last_change += 1
        return self._last_change

    def _row_of_request(self, scope: str, request_fingerprint: bytes) -> Row | None:
        return self._find(
            "WHERE scope = ? AND substr(request_fingerprint, 1, 4) = ? AND request_fingerprint = ?",
            scope,
            request_fingerprint[:4],
            request_fingerprint,
        )

    def _of_same_text(self, page: Page) -> Iterator[Row]:
        yield from self._select(
            "WHERE scope = ? AND substr(digest, 1, 4) = ? AND digest = ?"
            " AND representative IS NULL ORDER BY id",
            page.scope,
            page.digest[:4],
            page.digest,
        )

    def _near(self, page: Page) -> Iterator[tuple[Row, int]]:
        seen: set[int] = set()
        near = self._tables.near(page.scope, self._views(page))
        for distance, row_id, view, fingerprint in near:
            if row_id in seen:
                continue
            row = self._find("WHERE id = ? AND representative IS NULL", row_id)
            # A row that was judged anew since is in the tables as it is now, too; what is
            # left of its past is swept up when it is met.
            if row is None or (view, fingerprint) not in self._views(row):
                self._tables.remove(page.scope, view, fingerprint, row_id)
            else:
                seen.add(row_id)
                yield row, distance

    def _write(
        self, page: Page, own: Row | None, representative: int | None, crawl: int | None
    ) -> None:
        is_found_anew = representative is None
        values = (
            crawl,
            page.scope,
            page.request_fingerprint,
            page.url,
            signed(page.fingerprint),
            page.digest,
            page.tokens,
            representative,
            int(page.judged_at),
            signed(page.content_fingerprint),
            page.sketch,
        )
        if own is None:
            row_id = self._next_change()
            self._connection.execute(_INSERT, (row_id, *values))
        else:
            row_id = own.id
            # A row that is found as before gets no new number: others need not look at it.
            if own.representative is None and self._views(own) == self._views(page):
                is_found_anew = False
            change = self._next_change() if is_found_anew else None
            self._connection.execute(_UPDATE, (change, *values, row_id))
        if is_found_anew:
            self._present(row_id, page)
        self._save_templates(self.templates.take_due(page.site))

    def _row(self, row_id: int) -> Row | None:
        return self._find("WHERE id = ?", row_id)

    def _judged_before(self, time: float) -> list[int]:
        with schema.errors_translated(self.path):
            found = self._connection.execute("SELECT id FROM pages WHERE judged_at < ?", (time,))
            return [row_id for (row_id,) in found]

    def _was_delivered(self, row: Row) -> bool:
        query = "SELECT 1 FROM crawls WHERE id = ? AND finished_at IS NOT NULL"
        return self._connection.execute(query, (row.crawl,)).fetchone() is not None

    def _mark_undelivered(self, row: Row) -> None:
        self._connection.execute("UPDATE pages SET crawl = NULL WHERE id = ?", (row.id,))

    def _delete(self, row: Row) -> None:
        if row.representative is None:
            self._pass_on(row)
        self._connection.execute("DELETE FROM pages WHERE id = ?", (row.id,))
        self._remember_last_change()

    def _delete_group(self, row: Row) -> None:
        self._connection.execute("DELETE FROM pages WHERE representative = ?", (row.id,))
        self._delete(row)

    def _pass_on(self, row: Row) -> None:
        """Let the oldest of those that point to a representative take its place, if any do."""
        query = "SELECT min(id) FROM pages WHERE representative = ?"
        (heir,) = self._connection.execute(query, (row.id,)).fetchone()
        if heir is None:
            return
        self._connection.execute(
            "UPDATE pages SET change = ?, representative = NULL, crawl = NULL WHERE id = ?",
            (self._next_change(), heir),
        )
        self._connection.execute(
            "UPDATE pages SET representative = ? WHERE representative = ?", (heir, row.id)
        )
        for promoted in self._select("WHERE id = ?", heir):
            self._present(heir, promoted)

    def _remember_last_change(self) -> None:
        """Keep the numbers of what is forgotten from being used again."""
        self._connection.execute(
            "INSERT OR REPLACE INTO parameters VALUES ('last_change', ?)", (str(self._last_change),)
        )

    def _present(self, row_id: int, page: Page | Row) -> None:
        """Let others be compared with a representative, as soon as it is committed."""
        for view, fingerprint in self._views(page):
            self._unpresented.append((page.scope, view, fingerprint, row_id))

    def _save_templates(self, learned: Iterable[tuple[str, bytes]]) -> None:
        """Store what sites repeat, as this process and others have learned it."""
        self._uncommitted.update(learned)
        for site, state in self._uncommitted.items():
            stored = self._connection.execute(
                "SELECT state FROM templates WHERE site = ?", (site,)
            ).fetchone()
            merged = self.templates.merged(site, state, stored and stored[0])
            self._connection.execute(
                "INSERT OR REPLACE INTO templates (site, state) VALUES (?, ?)", (site, merged)
            )
            self._uncommitted[site] = merged

    def _select(self, where: str, *values: Any) -> Iterable[Row]:
        return map(row_of, self._connection.execute(_ROW + where, values))

    def _find(self, where: str, *values: Any) -> Row | None:
        return next(iter(self._select(where, *values)), None)
