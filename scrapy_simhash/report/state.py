"""A collector in a file, for a crawl that is resumed."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

from scrapy_simhash._version import __version__
from scrapy_simhash.report.collector import Collector

# A collector of another version may lack what this one counts.
MAGIC = f"scrapy-simhash {__version__} report state\n".encode()


class StateError(Exception):
    """The file is none, is damaged, or is of another version."""


def save(collector: Collector, path: Path) -> None:
    """Write *collector* to *path*; killing the process leaves the old file or the new one.

    :raises OSError: it could not be written.
    """
    write_whole(path, MAGIC + pickle.dumps(collector))


def load(path: Path) -> Collector:
    """Return the collector in the file at *path*, which this crawl wrote itself.

    :raises StateError: it cannot be read.
    """
    try:
        data = path.read_bytes()
        if not data.startswith(MAGIC):
            raise ValueError("it does not begin as it should")
        # As Scrapy reads all else that is in a JOBDIR.
        collector = pickle.loads(data[len(MAGIC) :])  # noqa: S301
    except Exception as exc:  # a damaged pickle may raise whatever it likes
        raise StateError(f"{path} is no state of a report: {exc}") from exc
    if not isinstance(collector, Collector):
        raise StateError(f"{path} is no state of a report")
    return collector


def write_whole(path: Path, data: bytes) -> None:
    """Put a file with *data* in the place of the one at *path*.

    :raises OSError: it could not be written; the old file is there still.
    """
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.unfinished")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
