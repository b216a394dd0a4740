"""Which crawl the pages of a process belong to: begun with the index, and kept alive in it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING

from scrapy.utils.job import job_dir
from scrapy.utils.misc import load_object

from scrapy_simhash.errors import IndexUnavailableError, SettingsError
from scrapy_simhash.files import replacing
from scrapy_simhash.index.base import BEAT_SECONDS

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_simhash.index.base import Index, Run
    from scrapy_simhash.settings import SimhashSettings

logger = logging.getLogger(__name__)

# The file in JOBDIR that names the crawl: a run that resumes it belongs to the same one.
JOB_FILE = "simhash.crawl"
# Where the index did not take the beginning, it is asked again after this time.
AGAIN_SECONDS = 1.0


class CrawlRun:
    """The run of one crawler in an index.

    It is part of the crawl that ``SIMHASH_CRAWL`` or its ``JOBDIR`` names, or of that with whose
    runs it shares a queue.  Nothing else tells that two runs are one crawl: they may have other
    arguments.
    """

    def __init__(self, crawler: Crawler, index: Index, settings: SimhashSettings) -> None:
        self._spider_name = crawler.spidercls.name
        self._index = index
        is_named = settings.crawl is not None
        self._joins = "" if is_named else _queue_of(crawler)
        folder = job_dir(crawler.settings)
        self._job_file = Path(folder) / JOB_FILE if folder and not is_named else None
        self._name = settings.crawl if self._job_file is None else _name_in(self._job_file)
        self._run: Run | None = None
        self._lock = asyncio.Lock()
        self._try_at = 0.0
        self._beats: asyncio.Future[None] | None = None

    async def current(self) -> Run:
        """Return the run, which begins with the first call.

        :raises IndexUnavailableError: the index did not take it: no page can be judged yet, since
            nobody knows which pages this crawl has met.
        """
        if self._run is None:
            async with self._lock:
                await self._begin()
        assert self._run is not None  # noqa: S101 - for mypy
        return self._run

    async def _begin(self) -> None:
        if self._run is not None:  # another page has waited for it
            return
        if monotonic() < self._try_at:
            raise IndexUnavailableError(f"{self._index} does not know of this crawl yet")
        try:
            self._run = await self._index.begin_crawl(self._spider_name, self._name, self._joins)
        except IndexUnavailableError:
            self._try_at = monotonic() + AGAIN_SECONDS
            raise
        self._beats = asyncio.ensure_future(self._beat(self._run))

    async def end(self, delivered: bool, is_done: bool) -> None:
        """Note the end of the run.

        *delivered*: all its pages were passed on, or dropped; *is_done*: its job has nothing left
        to do, so that the next run in its ``JOBDIR`` is another crawl.
        """
        if is_done and self._job_file is not None:
            with suppress(OSError):
                self._job_file.unlink(missing_ok=True)
        if self._run is not None and self._beats is not None:
            self._beats.cancel()
            await self._index.end_crawl(self._run, delivered)

    async def _beat(self, run: Run) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                await self._index.beat(run)
            except IndexUnavailableError as exc:
                logger.debug("The index was not told that the crawl goes on: %s", exc)


def _queue_of(crawler: Crawler) -> str:
    """Return the key of the queue that scrapy-redis shares among runs; empty without it."""
    scheduler = load_object(crawler.settings["SCHEDULER"])
    if not any(one.__module__.startswith("scrapy_redis") for one in scheduler.__mro__):
        return ""
    key = crawler.settings["SCHEDULER_QUEUE_KEY"] or "%(spider)s:requests"
    return str(key % {"spider": crawler.spidercls.name})


def _name_in(file: Path) -> str:
    """Return the name that a file holds, which is made if there is none.

    :raises SettingsError: the file cannot be read or written.
    """
    try:
        if file.exists() and (name := file.read_text("utf-8").strip()):
            return name
        name = f"job {token_hex(16)}"
        with replacing(file) as unfinished:
            unfinished.write_text(f"{name}\n", "utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(f"{file} in JOBDIR must be a file that can be written: {exc}") from exc
    return name
