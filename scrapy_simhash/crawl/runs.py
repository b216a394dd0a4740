"""Which crawl the pages of a process belong to: begun with the index, and kept alive in it."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING

from scrapy.utils.job import job_dir

from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.running import BEAT_SECONDS

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_simhash.index.contract import Index, Run
    from scrapy_simhash.settings import SimhashSettings

logger = logging.getLogger(__name__)

# The file in JOBDIR that names the crawl: a run that resumes it belongs to the same one.
JOB_FILE = "simhash.crawl"
# Where the index did not take the beginning, it is asked again after this time.
AGAIN_SECONDS = 1.0


class CrawlRun:
    """The run of one crawler in an index."""

    def __init__(self, crawler: Crawler, index: Index, settings: SimhashSettings) -> None:
        self._crawler = crawler
        self._index = index
        self._settings = settings
        self._run: Run | None = None
        self._try_at = 0.0
        self._beats: asyncio.Future[None] | None = None

    async def current(self) -> Run:
        """Return the run, which begins with the first call.

        :raises IndexUnavailableError: the index did not take it: no page can be judged yet, since
            nobody knows which pages this crawl has met.
        """
        if self._run is None:
            if monotonic() < self._try_at:
                raise IndexUnavailableError(f"{self._index} does not know of this crawl yet")
            self._try_at = monotonic() + AGAIN_SECONDS
            self._run = await self._index.begin_crawl(
                self._crawler.spidercls.name, self._name(), joins=self._settings.crawl is None
            )
            self._beats = asyncio.ensure_future(self._beat(self._run))
        return self._run

    async def end(self, delivered: bool) -> None:
        """Note the end of the run; *delivered*: all its pages were passed on, or dropped."""
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

    def _name(self) -> str | None:
        if self._settings.crawl is not None:
            return self._settings.crawl
        folder = job_dir(self._crawler.settings)
        return None if folder is None else _name_in(Path(folder) / JOB_FILE)


def _name_in(file: Path) -> str:
    """Return the name that a file holds, which is made if there is none."""
    try:
        return file.read_text("utf-8").strip()
    except FileNotFoundError:
        name = f"job {token_hex(16)}"
        file.write_text(f"{name}\n", "utf-8")
        return name
