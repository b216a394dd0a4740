"""The file of an index: where it may be, and how it is created, checked and opened.

It must be on a disk of this machine: a network file system damages an index.  Its header has
``application_id`` ("SIMH") and ``user_version`` (the format).  Its table ``parameters`` has the
parameters that the index was built for.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

import psutil

from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.errors import IndexFormatError, IndexUnavailableError, refuse_mismatch
from scrapy_simhash.files import replacing
from scrapy_simhash.index.base import absent
from scrapy_simhash.index.sqlite.rows import COLUMNS

APPLICATION_ID = int.from_bytes(b"SIMH", "big")
FORMAT = 1

# SQLite's cache of the file.  With its default of 2 MB, from about 50,000 pages on, the leaves of
# the two indexes by hash are read from the operating system again and again.
CACHE_KIB = 16 * 1024

# At start, waiting does not delay a crawl, and another process may be loading its tables.
OPEN_SECONDS = 30.0

_KEEP = "It was left as it is; point SIMHASH_INDEX at another file"
REPAIR = ' "scrapy simhash repair INDEX" shows what can be mended.'

# The errors of SQLite, and that of Python's module if a message contains bytes of a damaged file.
ERRORS = (sqlite3.Error, UnicodeDecodeError)

# The header by "Database File Format", section 1.3 (sqlite.org/fileformat2.html): magic,
# page size at byte 16, pages at 28, user_version at 60, application_id at 68.
_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_HEADER = struct.Struct(">16x H 10x I 28x i 4x i 28x")

# File systems that other machines can write to as well.  With a write-ahead log, all processes
# that use a file must share memory (sqlite.org/wal.html, "Overview").  Also, locks of these systems
# are known to fail (sqlite.org/howtocorrupt.html, section 2.1).
NETWORK_TYPES = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "gfs2", "glusterfs", "gpfs"),
        *("lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "smb2", "smb3", "smbfs", "webdav"),
        *("fuse.ceph-fuse", "fuse.davfs", "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys"),
        *("fuse.rclone", "fuse.s3fs", "fuse.sshfs"),
    }
)

# Ids and changes are numbers of one sequence.  An id is the number of the first write of a page; a
# change is the number of its latest write, if there were several.  A process that has seen all
# numbers up to one can find what was written since, and a new page needs no index entry for that.
# Lower ids are older; no number is used again.  Hashes are indexed by their first 4 bytes: with ten
# million rows, one look-up in 400 reads a row too many; the full hash in the row shows that.
#
# The number of a run is its id; *crawl* is that of the first run of its crawl.  *beat_at* is NULL
# once a run has noted that it ended.  The permuted tables are made from the segments (segments.py).
_PARTS = f"""
CREATE TABLE parameters (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE templates (site TEXT PRIMARY KEY, state BLOB NOT NULL);
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
CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    change INTEGER,
    representative INTEGER REFERENCES pages (id),
{COLUMNS}
);
CREATE INDEX crawls_by_name ON crawls (name) WHERE name IS NOT NULL;
CREATE INDEX crawls_running ON crawls (spider) WHERE beat_at IS NOT NULL;
CREATE UNIQUE INDEX pages_by_change ON pages (change) WHERE change IS NOT NULL;
CREATE INDEX pages_by_request ON pages (scope, substr(request_fingerprint, 1, 4));
CREATE INDEX pages_by_text ON pages (scope, substr(digest, 1, 4)) WHERE representative IS NULL;
CREATE INDEX pages_by_group ON pages (representative) WHERE representative IS NOT NULL;
CREATE TABLE segments (
    until INTEGER PRIMARY KEY,
    since INTEGER NOT NULL,
    made_for TEXT NOT NULL,
    data BLOB NOT NULL
);
"""
_ITS_PARTS = (
    "SELECT type, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"
)
_SCHEMA = f"""
PRAGMA journal_mode = WAL;
PRAGMA application_id = {APPLICATION_ID};
BEGIN;
{_PARTS}
PRAGMA user_version = {FORMAT};
COMMIT;
"""


def refuse_network(path: Path) -> None:
    """Refuse a path that is on a network file system.

    :raises IndexUnavailableError: it is on one.
    """
    found = mount_of(path)
    if found is not None and found[1].lower() in NETWORK_TYPES:
        raise IndexUnavailableError(
            f"{path} is on a network file system ({found[1]}, mounted at {found[0]}): an index "
            f"must be on a disk of this machine, or it would be damaged. Point SIMHASH_INDEX at "
            f"such a file, or at a Redis server that several machines share; an index that is "
            f"there already can be copied when no crawl runs."
        )


def mount_of(path: Path) -> tuple[str, str] | None:
    """Return the mount point and the type of the file system that *path* is on, or would be."""
    whole = path.resolve()
    places = {whole, *whole.parents}
    # If several file systems are mounted at one place, the last one counts.
    mounts = {
        Path(mount.mountpoint): (mount.mountpoint, mount.fstype)
        for mount in psutil.disk_partitions(all=True)
    }
    deepest = max(places & mounts.keys(), key=lambda place: len(place.parts), default=None)
    return None if deepest is None else mounts[deepest]


def file_id(path: str) -> tuple[int, int] | None:
    """Return the device and inode of the file at a path, None if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116 - Path.stat takes twice as long
    except OSError:
        return None
    return found.st_dev, found.st_ino


def create(path: Path, parameters: Parameters) -> None:
    """Create an empty index at *path* in one step: no other process sees an unfinished file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # If another process is quicker, its file is used.
        with (
            replacing(path, only_new=True) as unfinished,
            closing(sqlite3.connect(unfinished, isolation_level=None)) as connection,
        ):
            connection.executescript(_SCHEMA)
            connection.executemany(
                "INSERT INTO parameters VALUES (?, ?)",
                [("scheme", parameters.scheme), ("scope", parameters.scope)],
            )
    except (OSError, sqlite3.Error) as exc:
        raise IndexUnavailableError(f"{path} cannot be made: {exc}") from exc


def checked(path: Path, parameters: Parameters | None) -> Parameters:
    """Return *parameters*, or those of the file, which stays unchanged.

    :raises FingerprintIndexError: it is not an index for *parameters*, or not there.
    """
    if not path.exists():
        raise absent(path)
    stored = stored_parameters(path)
    if parameters is None:
        return Parameters(stored["scheme"], stored["scope"], distance=0)
    parts = [(name, stored[name], getattr(parameters, name)) for name in ("scheme", "scope")]
    advice = f'{_KEEP}, set what it was built with, or make it anew by "scrapy simhash import".'
    refuse_mismatch(path, parts, advice)
    return parameters


def stored_parameters(path: Path, advice: str = REPAIR) -> dict[str, str]:
    """Return the parameters that the index at *path* was built for.

    :raises FingerprintIndexError: it is not an index, is damaged, or has an unknown format.
    """
    try:
        # Checked before and after: another process may end, and merge its pages, in between.
        unmerged = _has_write_ahead_log(path)
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
            size = file.seek(0, os.SEEK_END)
        unmerged |= _has_write_ahead_log(path)
    except OSError as exc:
        raise IndexUnavailableError(f"{path} cannot be read: {exc}") from exc
    _check_header(path, header, size, unmerged)
    # If no process has the file open, reading it must not create files beside it.
    options = "" if unmerged else "&immutable=1"
    with errors_translated(path, advice), closing(read_only(path, options)) as connection:
        stored = dict(connection.execute("SELECT name, value FROM parameters"))
        for name in ("scheme", "scope"):
            if not isinstance(stored.get(name), str):
                raise sqlite3.DatabaseError(f"it does not say its {name}")
        if set(connection.execute(_ITS_PARTS)) != _parts():
            raise sqlite3.DatabaseError(
                "it has other tables, indexes or triggers than an index has"
            )
        return stored


@cache
def _parts() -> set[tuple[str, str]]:
    """Return the kind and the definition of each part of an index file.

    A file from elsewhere may have triggers, which would run with each page, or lack the indexes by
    which a page is found in less than the time of reading all.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_PARTS)
        return set(connection.execute(_ITS_PARTS))


def is_index_file(path: Path) -> bool:
    """Whether a file says of itself that it is an index, of whatever format."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    is_whole = header.startswith(_MAGIC) and len(header) == _HEADER_BYTES
    return is_whole and _HEADER.unpack(header)[3] == APPLICATION_ID


def _check_header(path: Path, header: bytes, size: int, unmerged: bool) -> None:
    """Refuse a file without the header of an index, or shorter than its header says."""
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
    if version != FORMAT:
        raise IndexFormatError(
            f"{path} is of format {version}; this version of scrapy-simhash reads format {FORMAT}. "
            f"{_KEEP} or upgrade scrapy-simhash."
        )
    expected = pages * (65536 if page_size == 1 else page_size)
    if size < expected and not unmerged:
        raise IndexFormatError(
            f"{path} is truncated: {size} bytes of {expected}. {_KEEP} or restore a copy."
        )


def writable(path: Path, advice: str = REPAIR) -> sqlite3.Connection:
    """Return a connection that can write; its commits survive the death of the process.

    With WAL, synchronous = NORMAL is enough for that.  FULL would also survive a failure of the
    machine, but costs a flush of the disk for each page.

    :raises FingerprintIndexError: it cannot be written.
    """
    with errors_translated(path, advice):
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


def in_memory() -> sqlite3.Connection:
    """Return a connection to an empty index in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(_PARTS)
    return connection


def read_only(path: Path, options: str = "") -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=ro{options}"
    return sqlite3.connect(uri, uri=True, timeout=OPEN_SECONDS)


def _has_write_ahead_log(path: Path) -> bool:
    """Whether pages wait to be merged into the file, which may then be shorter than it says."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


@contextmanager
def errors_translated(path: Path, advice: str = REPAIR) -> Iterator[None]:
    """Raise the package's errors in place of those of SQLite; *advice* ends that of damage."""
    try:
        yield
    except ERRORS as exc:
        if isinstance(exc, sqlite3.OperationalError):
            raise IndexUnavailableError(f"{path} cannot be opened for writing: {exc}") from exc
        damaged = f"{path} is damaged: {exc}. {_KEEP}, or restore a copy.{advice}"
        raise IndexFormatError(damaged) from exc
