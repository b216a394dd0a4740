"""The extension that makes the report, and raises alarms while the crawl runs."""

from __future__ import annotations

import asyncio
import json
import logging
import platform
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_simhash.crawl import signals
from scrapy_simhash.crawl.run import WORKERS, JobState
from scrapy_simhash.crawl.setup import RareWarning, active_settings, file_path
from scrapy_simhash.files import replacing
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.report.alarms import Alarm
from scrapy_simhash.report.collector import Collector, shortened
from scrapy_simhash.report.document import CrawlInfo, report_of
from scrapy_simhash.report.pairs import Pairs
from scrapy_simhash.report.record import Record
from scrapy_simhash.settings import masked
from scrapy_simhash.workers.pool import Workers

if TYPE_CHECKING:
    from typing_extensions import Self

logger = logging.getLogger(__name__)

# Saving takes about 10 ms (1.5 MB); a kill costs the report the minutes since.
SAVE_SECONDS = 300.0


class SimhashReport:
    """Collect the decisions; at close, write ``SIMHASH_REPORT_FILE`` and log what stands out.

    An alarm is logged, counted as ``simhash/alarms/<name>``, sent as the signal
    ``alarm_raised``, and closes the spider if ``SIMHASH_CLOSE_ON`` names it.  With a ``JOBDIR``,
    a crawl that is resumed goes on counting, and raises alarms anew.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.settings = settings = active_settings(crawler)
        # Where the report is written, and what compares pages for it at close.
        self.path: Path | None = None
        self.workers: Workers | None = None
        if path := file_path(crawler, "SIMHASH_REPORT_FILE", settings.report_file):
            self.path, pipeline = path.absolute(), Pipeline.of(settings)
            self.workers = WORKERS.take(pipeline.shared_by, pipeline.workers)
        self.state: JobState[Collector] = JobState(crawler, "report")
        self.collector = self.state.load() or Collector()
        self.collector.watch.resume()
        self.pairs = Pairs()
        self._log = logging.LoggerAdapter(logger, {"spider": crawler.spider})
        self._again = RareWarning(logger, crawler)
        self._links_before = self.collector.links_not_followed or 0
        self._save_at = monotonic() + SAVE_SECONDS
        self._closing: asyncio.Future[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.page_judged, signals.page_judged)
        crawler.signals.connect(extension.spider_closed, scrapy_signals.spider_closed)
        return extension

    def page_judged(self, record: Record, response: Response) -> None:
        for alarm in self.collector.add(record):
            self._raise(alarm)
        if self.path is not None and record.decision.verdict != "skipped":
            encoding = getattr(response, "encoding", None)
            self.pairs.add(record, response.body, encoding, self.collector.members(record))
        if monotonic() >= self._save_at:
            self._save_at = monotonic() + SAVE_SECONDS
            self.state.save(self.collector)

    async def spider_closed(self, spider: Spider) -> None:
        # What writes texts and pages is 6,500 objects, which the garbage collector would walk
        # all through the crawl.
        from scrapy_simhash.report.html import html_of, text_of

        self.collector.links_not_followed = self._links_before + self.crawler.stats.get_value(
            "simhash/links_not_followed", 0
        )
        report = report_of(self.collector, self._about(spider, await self._side_by_side()))
        if text := text_of(report):
            self._log.info("What stands out among the near-duplicates:\n%s", text)
        if self.path is not None:
            document = json.dumps(report, ensure_ascii=False, indent=1)
            self._write(self.path, html_of(report), document)
        self.state.save(self.collector)

    def _raise(self, alarm: Alarm) -> None:
        message = f"Alarm {alarm.name} at page {alarm.page}: {alarm.subject}: {alarm.message}"
        if self.collector.alarms[alarm.name, alarm.subject] is alarm:
            self._log.warning("%s", message)
        else:
            self._again.log(message)
        self.crawler.stats.inc_value(f"simhash/alarms/{alarm.name}")
        self.crawler.signals.send_catch_log(
            signals.alarm_raised, alarm=alarm, spider=self.crawler.spider
        )
        engine = self.crawler.engine
        if alarm.name in self.settings.close_on and self._closing is None and engine is not None:
            closing = engine.close_spider_async(reason=f"simhash_{alarm.name}")
            self._closing = asyncio.ensure_future(closing)

    def _write(self, path: Path, html: str, document: str) -> None:
        try:
            for suffix, text in ((path.suffix, html), (".json", document)):
                with replacing(path.with_suffix(suffix)) as unfinished:
                    unfinished.write_bytes(text.encode("utf-8", "backslashreplace"))
        except OSError as exc:
            self._log.error(
                "The report of near-duplicates could not be written: %s. With "
                "SIMHASH_DECISIONS_FILE, it can be made again: scrapy simhash report FILE",
                exc,
            )
        else:
            self._log.info("Report of near-duplicates: %s", path)

    async def _side_by_side(self) -> list[dict[str, Any]]:
        """Return what differs in pages of the largest groups, if it is to be written."""
        if self.workers is None:
            return []
        try:
            return await self.pairs.side_by_side(self.workers, self.settings.page_timeout)
        finally:
            await WORKERS.give_back(self.workers)

    def _about(self, spider: Spider, side_by_side: list[dict[str, Any]]) -> CrawlInfo:
        settings = self.crawler.settings
        told = self.crawler.signals.send_catch_log(signals.report_due)
        rows: dict[str, list[dict[str, Any]]] = {}
        for _, one in told:
            rows.update(one if isinstance(one, dict) else {})  # not the failure of a handler
        ours = sorted(name for name in settings if name.startswith("SIMHASH_"))
        return CrawlInfo(
            name=spider.name,
            settings={name: shortened(masked(repr(settings[name]))) for name in ours},
            versions={
                "Python": platform.python_version(),
                **{name: version(name) for name in ("scrapy-simhash", "Scrapy", "trafilatura")},
            },
            side_by_side=side_by_side,
            **rows,
        )
