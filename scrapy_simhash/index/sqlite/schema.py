"""The file of an index: how it is made, refused, brought up to date, and read.

In its header stand ``application_id`` ("SIMH") and ``user_version`` (the format); in the table
``parameters`` what the index was built for.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from scrapy_simhash.errors import (
    FingerprintIndexError,
    IndexFormatError,
    IndexMismatchError,
    IndexUnavailableError,
)
from scrapy_simhash.index.contract import Parameters

APPLICATION_ID = int.from_bytes(b"SIMH", "big")
FORMAT = 4
# What the first version wrote can be brought up to date.
OLDEST_FORMAT = 2

# SQLite's cache of the file. With its own 2 MB, the leaves of the two indexes by hash are read
# from the operating system again and again from about 50,000 pages on.
CACHE_KIB = 16 * 1024

# At start there is no crawl to hold up yet, and another process may be loading its tables.
OPEN_SECONDS = 30.0

_KEEP = "It was left as it is; point SIMHASH_INDEX at another file"

# What SQLite raises, and Python's module where a message holds bytes of a damaged file.
ERRORS = (sqlite3.Error, UnicodeDecodeError)

# The header by "Database File Format", section 1.3 (sqlite.org/fileformat2.html): magic,
# page size at byte 16, pages at 28, user_version at 60, application_id at 68.
_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_HEADER = struct.Struct(">16x H 10x I 28x i 4x i 28x")

# Ids and changes are numbers of one sequence: an id is the number of the page's first writing,
# a change that of its latest, if there were several. So whoever has seen all up to one number
# finds what was written since, and a new page needs no entry in an index for that. Lower ids are
# older; none is ever used again. Hashes are indexed by their first 4 bytes: of ten million rows, a
# look-up reads one more than it looks for in 400 times, and the row says whether it is the one.
_TABLES = """
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
"""
INDEXES = """
CREATE UNIQUE INDEX pages_by_change ON pages (change) WHERE change IS NOT NULL;
CREATE INDEX pages_by_request ON pages (scope, substr(request_fingerprint, 1, 4));
CREATE INDEX pages_by_text ON pages (scope, substr(digest, 1, 4)) WHERE representative IS NULL;
CREATE INDEX pages_by_group ON pages (representative) WHERE representative IS NOT NULL;
"""
# What the tables are made of at open (segments.py).
_SEGMENTS = """
CREATE TABLE segments (
    until INTEGER PRIMARY KEY,
    since INTEGER NOT NULL,
    made_for TEXT NOT NULL,
    data BLOB NOT NULL
);
"""
_SCHEMA = f"""
PRAGMA journal_mode = WAL;
PRAGMA application_id = {APPLICATION_ID};
BEGIN;
CREATE TABLE parameters (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE templates (site TEXT PRIMARY KEY, state BLOB NOT NULL);
{_TABLES}
{INDEXES}
{_SEGMENTS}
PRAGMA user_version = {FORMAT};
COMMIT;
"""
# In format 2 every writing had a change; ids and changes were numbers of two sequences.
_FROM_FORMAT_2 = f"""
DROP INDEX pages_by_change;
DROP INDEX pages_by_text;
ALTER TABLE pages RENAME TO pages_2;
{_TABLES}
INSERT INTO pages
    SELECT id, NULL, NULL, scope, request_fingerprint, url, fingerprint, digest, tokens,
    representative, CAST(judged_at AS INTEGER), content_fingerprint, sketch
    FROM pages_2 ORDER BY id;
DROP TABLE pages_2;
{INDEXES}
{_SEGMENTS}
PRAGMA user_version = {FORMAT};
"""  # noqa: S608 - a constant
# In format 3 the hashes were indexed by 8 bytes, and there was no snapshot of the tables.
_FROM_FORMAT_3 = f"""
DROP INDEX pages_by_change;
DROP INDEX pages_by_request;
DROP INDEX pages_by_text;
DROP INDEX pages_by_group;
{INDEXES}
{_SEGMENTS}
PRAGMA user_version = {FORMAT};
"""
_FROM_FORMAT = {2: _FROM_FORMAT_2, 3: _FROM_FORMAT_3}


def create(path: Path, parameters: Parameters) -> None:
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


def check(path: Path, parameters: Parameters) -> None:
    """Refuse a file that is no index for *parameters*; whatever it is, it stays as it was."""
    stored = stored_parameters(path)
    for name, wanted in (("scheme", parameters.scheme), ("scope", parameters.scope)):
        if stored.get(name) != wanted:
            raise IndexMismatchError(
                f"{path} was built with {name} {stored.get(name)!r}; this crawl asks for "
                f"{wanted!r}. {_KEEP}, set what it was built with, or make it anew by "
                f'"scrapy simhash rebuild".'
            )


def stored_parameters(path: Path) -> dict[str, str]:
    """Return what the index at *path* was built for.

    :raises FingerprintIndexError: it is no index, or damaged, or of a format not known here.
    """
    try:
        # Both before and after: another process may end, and merge its pages, in between.
        unmerged = _has_write_ahead_log(path)
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
            size = file.seek(0, os.SEEK_END)
        unmerged |= _has_write_ahead_log(path)
    except OSError as exc:
        raise IndexUnavailableError(f"{path} cannot be read: {exc}") from exc
    _check_header(path, header, size, unmerged)
    # Where no process has the file open, it is read with no trace beside it.
    options = "" if unmerged else "&immutable=1"
    with errors_translated(path), closing(read_only(path, options)) as connection:
        stored = dict(connection.execute("SELECT name, value FROM parameters"))
        for name in ("scheme", "scope"):
            if not isinstance(stored.get(name), str):
                raise sqlite3.DatabaseError(f"it does not say its {name}")
        return stored


def _check_header(path: Path, header: bytes, size: int, unmerged: bool) -> None:
    """Refuse a file whose header is not that of an index, or that is shorter than it says."""
    if not header.startswith(_MAGIC[: len(header)]):
        raise IndexFormatError(f"{path} is not an index of scrapy-simhash. {_KEEP}.")
    if len(header) < _HEADER_BYTES:
        raise IndexFormatError(f"{path} is truncated: {size} bytes. {_KEEP} or restore a copy.")
    page_size, pages, version, application_id = _HEADER.unpack(header)
    if application_id != APPLICATION_ID:
        raise IndexFormatError(
            f"{path} is an SQLite file of something else (application_id {application_id:#010x}, "
            f"not {APPLICATION_ID:#010x}). {_KEEP}."
        )
    _check_format(path, version)
    expected = pages * (65536 if page_size == 1 else page_size)
    if size < expected and not unmerged:
        raise IndexFormatError(
            f"{path} is truncated: {size} bytes of {expected}. {_KEEP} or restore a copy."
        )


def _check_format(path: Path, version: int) -> None:
    if not OLDEST_FORMAT <= version <= FORMAT:
        raise IndexFormatError(
            f"{path} is of format {version}; this version of scrapy-simhash reads format {FORMAT}. "
            f"{_KEEP} or upgrade scrapy-simhash."
        )


def bring_up_to_date(path: Path) -> None:
    """Make an index of an older format one of this format, in one transaction."""
    with errors_translated(path):
        with closing(read_only(path)) as connection:
            if _format_of(connection) == FORMAT:
                return
        with closing(writable(path)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            version = _format_of(connection)
            _check_format(path, version)
            if version == FORMAT:  # another process was quicker
                return
            for statement in _FROM_FORMAT[version].split(";"):
                connection.execute(statement)
            connection.execute("COMMIT")


def _format_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def writable(path: Path) -> sqlite3.Connection:
    """Return a connection that can write, and whose commits survive the death of the process.

    With WAL, synchronous = NORMAL does; FULL would survive that of the machine, too, but costs a
    flush of the disk for each page.

    :raises FingerprintIndexError: it cannot be written.
    """
    with errors_translated(path):
        connection = sqlite3.connect(path, timeout=OPEN_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except ERRORS:
            connection.close()
            raise
    return connection


def read_only(path: Path, options: str = "") -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=ro{options}"
    return sqlite3.connect(uri, uri=True, timeout=OPEN_SECONDS)


def _has_write_ahead_log(path: Path) -> bool:
    """Whether pages are waiting to be merged into the file, which may then be behind its header."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


@contextmanager
def errors_translated(path: Path) -> Iterator[None]:
    """Raise our errors for those of SQLite that are met while opening."""
    try:
        yield
    except ERRORS as exc:
        raise _translated(path, exc) from exc


def _translated(path: Path, exc: Exception) -> FingerprintIndexError:
    """Return our error for one of SQLite's that was met while opening."""
    if isinstance(exc, sqlite3.OperationalError):
        return IndexUnavailableError(f"{path} cannot be opened for writing: {exc}")
    return IndexFormatError(
        f"{path} is damaged: {exc}. {_KEEP}, restore a copy, or see what "
        f'"scrapy simhash repair" can mend.'
    )
