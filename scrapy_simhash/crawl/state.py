"""What a run of a crawl knows, in a file of its JOBDIR, for the run that resumes it."""

from __future__ import annotations

import logging
import pickle
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from scrapy.utils.job import job_dir

from scrapy_simhash._version import __version__
from scrapy_simhash.files import replacing

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

T = TypeVar("T")


class JobState(Generic[T]):
    """An object of a *kind* in the file ``simhash-NAME.state``; without a JOBDIR, in none.

    One of another version counts as one that cannot be read: it may lack something.
    """

    def __init__(self, crawler: Crawler, name: str, kind: type[T]) -> None:
        folder = job_dir(crawler.settings)
        self._path = Path(folder, f"simhash-{name}.state") if folder else None
        self._name = name
        self._kind = kind
        self._magic = f"scrapy-simhash {__version__} {name} state\n".encode()

    def load(self) -> T | None:
        """Return what an earlier run has saved; a file that cannot be read is set aside."""
        if self._path is None or not self._path.exists():
            return None
        try:
            return self._read(self._path.read_bytes())
        except Exception as exc:  # a damaged pickle may raise whatever it likes
            aside = self._path.with_suffix(".unreadable")
            self._path.replace(aside)
            logger.warning(
                "The state of the %(name)s starts anew: %(path)s cannot be read: %(error)s. It was "
                "moved to %(aside)s.",
                {"name": self._name, "path": self._path, "error": exc, "aside": aside},
            )
            return None

    def save(self, state: T) -> None:
        """Write *state*; if the process is killed, the old file or the new one is left."""
        if self._path is None:
            return
        try:
            with replacing(self._path) as unfinished:
                unfinished.write_bytes(self._magic + pickle.dumps(state))
        except OSError as exc:
            logger.warning(
                "A resumed crawl will know less, for the state of the %(name)s could not be saved: "
                "%(error)s",
                {"name": self._name, "error": exc},
            )

    def remove(self) -> None:
        """Leave nothing for the next run."""
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _read(self, data: bytes) -> T:
        if not data.startswith(self._magic):
            raise ValueError("it does not begin as it should")
        # Scrapy unpickles the other files in a JOBDIR, too.
        state = pickle.loads(data[len(self._magic) :])  # noqa: S301
        if not isinstance(state, self._kind):
            raise TypeError(f"it holds a {type(state).__name__}")
        return state
