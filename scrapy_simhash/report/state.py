"""A collector in a file, for a crawl that will be resumed."""

from __future__ import annotations

import pickle
from pathlib import Path

from scrapy_simhash._version import __version__
from scrapy_simhash.errors import ReportStateError
from scrapy_simhash.files import replacing
from scrapy_simhash.report.collector import Collector

# A collector of another version may lack some of the counts.
MAGIC = f"scrapy-simhash {__version__} report state\n".encode()


def save(collector: Collector, path: Path) -> None:
    """Write *collector* to *path*; if the process is killed, the old file or the new one is left.

    :raises OSError: it could not be written.
    """
    with replacing(path) as unfinished:
        unfinished.write_bytes(MAGIC + pickle.dumps(collector))


def load(path: Path) -> Collector:
    """Return the collector in the file at *path*, which an earlier run of this crawl wrote.

    :raises ReportStateError: it cannot be read.
    """
    try:
        data = path.read_bytes()
        if not data.startswith(MAGIC):
            raise ValueError("it does not begin as it should")
        # Scrapy unpickles the other files in a JOBDIR, too.
        collector = pickle.loads(data[len(MAGIC) :])  # noqa: S301
    except Exception as exc:  # a damaged pickle may raise whatever it likes
        raise ReportStateError(f"{path} is no state of a report: {exc}") from exc
    if not isinstance(collector, Collector):
        raise ReportStateError(f"{path} is no state of a report")
    return collector
