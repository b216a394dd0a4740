"""The index in one SQLite file, shared by all processes of a machine.

The rows are the truth; the permuted tables are made from them at open and kept up with
what other processes add.  In a file's header stand ``application_id`` ("SIMH") and
``user_version`` (the format); in the table ``parameters`` what the index was built for.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from scrapy_simhash.errors import (
    FingerprintIndexError,
    IndexFormatError,
    IndexMismatchError,
    IndexUnavailableError,
)
from scrapy_simhash.index.contract import Index, IndexParameters, Page, Row
from scrapy_simhash.index.views import ViewTables

APPLICATION_ID = int.from_bytes(b"SIMH", "big")
FORMAT = 2

# A page that finds the file locked waits this long, then passes unjudged, and the next ones
# do not wait until one succeeds: other processes hold the lock for under a millisecond a page.
BUSY_SECONDS = 1.0
# At start there is no crawl to hold up yet, and another process may be loading its tables.
OPEN_SECONDS = 30.0

# What sites repeat is stored after so many pages: losing the last of it costs nothing.
SAVE_TEMPLATES_EVERY = 500

# The header by "Database File Format", section 1.3 (sqlite.org/fileformat2.html): magic,
# page size at byte 16, pages at 28, user_version at 60, application_id at 68.
_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_HEADER = struct.Struct(">16x H 10x I 28x i 4x i 28x")

# "change" grows with every insert and update, whichever process made it: a process that
# has seen all up to one change reads the later ones.  Ids never change; lower is older.
_SCHEMA = f"""
PRAGMA journal_mode = WAL;
PRAGMA application_id = {APPLICATION_ID};
BEGIN;
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
PRAGMA user_version = {FORMAT};
COMMIT;
"""
_COLUMNS = "id, url, fingerprint, digest, tokens, representative, content_fingerprint, sketch"
_ROW = f"SELECT {_COLUMNS} FROM pages "  # noqa: S608 - a constant


class SQLiteIndex(Index):
    """An index file, made where there is none.

    A page is committed before :meth:`check_and_add` returns: killing the process at any
    point loses none.  (A commit is not flushed to the disk one by one: if the machine
    itself fails, the last moments may be missing, but the file is whole.)

    :raises IndexFormatError: the file is no index, is damaged, or is of a newer format.
    :raises IndexMismatchError: it was built for another scheme or scope.
    :raises IndexUnavailableError: it cannot be made, written or locked.
    """

    def __init__(self, path: str | os.PathLike[str], parameters: IndexParameters) -> None:
        super().__init__(parameters)
        self.path = Path(path)
        self._tables = ViewTables(parameters.distance)
        self._unsaved = 0
        self._last_change = 0
        if not self.path.exists():
            _create(self.path, parameters)
        _check(self.path, parameters)
        self._load()
        self._connection = self._open()
        self._wait_for_lock(True)

    def __str__(self) -> str:
        return str(self.path)

    def __len__(self) -> int:
        query = "SELECT count(*) FROM pages WHERE representative IS NULL"
        return int(self._connection.execute(query).fetchone()[0])

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the tables hold, about."""
        return self._tables.nbytes

    def rows(self) -> Iterable[Row]:
        return map(_row, self._connection.execute(_ROW + "ORDER BY id"))

    def close(self) -> None:
        with suppress(sqlite3.Error):  # what a site repeats can be learned again
            self._save_templates()
        self._connection.close()

    def _load(self) -> None:
        """Make the tables from the rows, without writing: a damaged file stays as it is."""
        try:
            with closing(_read_only(self.path)) as connection:
                self._catch_up(connection)
                for site, state in connection.execute("SELECT site, state FROM templates"):
                    self.templates.restore(site, state)
        except sqlite3.Error as exc:
            raise _translated(self.path, exc) from exc

    def _open(self) -> sqlite3.Connection:
        """Return a connection that can write."""
        connection = sqlite3.connect(self.path, timeout=OPEN_SECONDS, isolation_level=None)
        try:
            # With WAL, NORMAL survives the death of the process, not that of the machine;
            # FULL would cost a flush of the disk for each page.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.Error as exc:
            connection.close()
            raise _translated(self.path, exc) from exc
        return connection

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._catch_up(self._connection)
            yield
            self._connection.execute("COMMIT")
            if not self._patient:
                self._wait_for_lock(True)
        except BaseException as exc:
            with suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            if isinstance(exc, sqlite3.Error):
                self._wait_for_lock(False)
                raise IndexUnavailableError(f"{self.path} did not take a page: {exc}") from exc
            raise

    def _wait_for_lock(self, patient: bool) -> None:
        """While the file stays locked, only the first page waits for it."""
        self._patient = patient
        with suppress(sqlite3.Error):
            milliseconds = int(BUSY_SECONDS * 1000) if patient else 0
            self._connection.execute(f"PRAGMA busy_timeout = {milliseconds}")

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Put into the tables what was written since the last look."""
        rows = connection.execute(
            f"SELECT change, scope, {_COLUMNS} FROM pages "  # noqa: S608 - a constant
            "WHERE change > ? ORDER BY change",
            (self._last_change,),
        )
        for change, scope, *columns in rows:
            row = _row(columns)
            if row.representative is None:
                for view, fingerprint in self._views(row):
                    self._tables.add(scope, view, fingerprint, row.id)
            self._last_change = change

    def _row_of_request(self, page: Page) -> Row | None:
        return self._find(
            "WHERE scope = ? AND request_fingerprint = ?", page.scope, page.request_fingerprint
        )

    def _of_same_text(self, page: Page) -> Iterable[Row]:
        where = "WHERE scope = ? AND digest = ? AND representative IS NULL ORDER BY id"
        return map(_row, self._connection.execute(_ROW + where, (page.scope, page.digest)))

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

    def _write(self, page: Page, own: Row | None, representative: int | None) -> None:
        self._connection.execute(
            "INSERT INTO pages (change, scope, request_fingerprint, url, fingerprint, digest,"
            " tokens, representative, judged_at, content_fingerprint, sketch)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (scope, request_fingerprint) DO UPDATE SET change = excluded.change,"
            " url = excluded.url, fingerprint = excluded.fingerprint, digest = excluded.digest,"
            " tokens = excluded.tokens, representative = excluded.representative,"
            " judged_at = excluded.judged_at,"
            " content_fingerprint = excluded.content_fingerprint, sketch = excluded.sketch",
            (
                self._last_change + 1,
                page.scope,
                page.request_fingerprint,
                page.url,
                _signed(page.fingerprint),
                page.digest,
                page.tokens,
                representative,
                page.judged_at,
                _signed(page.content_fingerprint),
                page.sketch,
            ),
        )
        self._unsaved += 1
        if self._unsaved >= SAVE_TEMPLATES_EVERY:
            self._save_templates()

    def _save_templates(self) -> None:
        """Store what the sites repeat, as far as this process has learned it."""
        self._unsaved = 0
        self._connection.executemany(
            "INSERT OR REPLACE INTO templates (site, state) VALUES (?, ?)",
            self.templates.take_changed(),
        )

    def _find(self, where: str, *values: Any) -> Row | None:
        found = self._connection.execute(_ROW + where, values).fetchone()
        return None if found is None else _row(found)


def _create(path: Path, parameters: IndexParameters) -> None:
    """Make an empty index at *path* in one step: nobody ever sees half of one."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.unlink(missing_ok=True)
        with closing(sqlite3.connect(unfinished, isolation_level=None)) as connection:
            connection.executescript(_SCHEMA)
            connection.executemany(
                "INSERT INTO parameters VALUES (?, ?)",
                [("scheme", parameters.scheme), ("scope", parameters.scope)],
            )
        with suppress(FileExistsError):  # another process was quicker: use its file
            os.link(unfinished, path)
    except (OSError, sqlite3.Error) as exc:
        raise IndexUnavailableError(f"{path} cannot be made: {exc}") from exc
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def _check(path: Path, parameters: IndexParameters) -> None:
    """Refuse a file that is no index for *parameters*; whatever it is, it stays as it was."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
            size = file.seek(0, os.SEEK_END)
            unmerged = _has_write_ahead_log(path)
    except OSError as exc:
        raise IndexUnavailableError(f"{path} cannot be read: {exc}") from exc
    keep = "It was left as it is; point SIMHASH_INDEX at another file"
    if not header.startswith(_MAGIC[: len(header)]):
        raise IndexFormatError(f"{path} is not an index of scrapy-simhash. {keep}.")
    if len(header) < _HEADER_BYTES:
        raise IndexFormatError(f"{path} is truncated: {size} bytes. {keep} or restore a copy.")
    page_size, pages, version, application_id = _HEADER.unpack(header)
    if application_id != APPLICATION_ID:
        raise IndexFormatError(
            f"{path} is an SQLite file of something else (application_id {application_id:#010x}, "
            f"not {APPLICATION_ID:#010x}). {keep}."
        )
    if version != FORMAT:
        raise IndexFormatError(
            f"{path} is of format {version}; this version of scrapy-simhash reads format {FORMAT}. "
            f"{keep} or upgrade scrapy-simhash."
        )
    expected = pages * (65536 if page_size == 1 else page_size)
    if size < expected and not unmerged:
        raise IndexFormatError(
            f"{path} is truncated: {size} bytes of {expected}. {keep} or restore a copy."
        )
    try:
        # Where no process has the file open, it is read with no trace beside it.
        with closing(_read_only(path, "" if unmerged else "&immutable=1")) as connection:
            stored = dict(connection.execute("SELECT name, value FROM parameters"))
    except sqlite3.Error as exc:
        raise _translated(path, exc) from exc
    for name, wanted in (("scheme", parameters.scheme), ("scope", parameters.scope)):
        if stored.get(name) != wanted:
            raise IndexMismatchError(
                f"{path} was built with {name} {stored.get(name)!r}; this crawl asks for "
                f"{wanted!r}. {keep}, or set what it was built with."
            )


def _read_only(path: Path, options: str = "") -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=ro{options}"
    return sqlite3.connect(uri, uri=True, timeout=OPEN_SECONDS)


def _has_write_ahead_log(path: Path) -> bool:
    """Whether pages are waiting to be merged into the file, which may then be behind its header."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _translated(path: Path, exc: sqlite3.Error) -> FingerprintIndexError:
    """Return our error for one of SQLite's that was met while opening."""
    if isinstance(exc, sqlite3.OperationalError):
        return IndexUnavailableError(f"{path} cannot be opened for writing: {exc}")
    return IndexFormatError(
        f"{path} is damaged: {exc}. It was left as it is; point SIMHASH_INDEX at another file or "
        f"restore a copy."
    )


def _row(values: Sequence[Any]) -> Row:
    row_id, url, fingerprint, digest, tokens, representative, content, sketch = values
    return Row(
        id=row_id,
        url=url,
        fingerprint=_unsigned(fingerprint),
        digest=digest,
        tokens=tokens,
        representative=representative,
        content_fingerprint=None if content is None else _unsigned(content),
        sketch=sketch,
    )


def _signed(fingerprint: int | None) -> int | None:
    """Return the 64 bits as the signed integer that SQLite stores."""
    return None if fingerprint is None else fingerprint - (fingerprint >> 63 << 64)


def _unsigned(stored: int) -> int:
    return stored & (1 << 64) - 1
