"""The downloader middleware that sends no requests to a site after an alarm."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK

from scrapy_simhash.crawl import signals
from scrapy_simhash.crawl.exceptions import SitePaused
from scrapy_simhash.crawl.setup import RareWarning, active_settings
from scrapy_simhash.report.alarms import Alarm
from scrapy_simhash.urls import Address

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector
    from typing_extensions import Self

logger = logging.getLogger(__name__)


class SimhashPauseMiddleware:
    """Ignore the requests to a host after an alarm that pauses it, by ``SIMHASH_ON_ALARM``.

    The pause lasts for some minutes, or to the end of the crawl.  Such a request is counted as
    ``simhash/paused_requests``; its errback gets a
    :class:`~scrapy_simhash.crawl.exceptions.SitePaused`.
    Requests without a callback (robots.txt, media pipelines) pass.
    """

    def __init__(self, stats: StatsCollector, pauses: Mapping[str, float]) -> None:
        self.stats = stats
        self.pauses = pauses
        self._again = RareWarning(logger)
        self._ends: dict[str, float] = {}  # host -> end of its pause, by monotonic()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = active_settings(crawler)
        if not settings.pauses:
            raise NotConfigured  # without a message: this is the default
        middleware = cls(crawler.stats, settings.pauses)
        crawler.signals.connect(middleware.alarm_raised, signals.alarm_raised)
        return middleware

    def alarm_raised(self, alarm: Alarm, spider: Spider) -> None:
        seconds = self.pauses.get(alarm.name)
        if seconds is None:
            return
        until = "to the end of the crawl" if seconds == inf else f"for {seconds:g} s"
        message = f"No more requests to {alarm.host} {until}, after the alarm {alarm.name}"
        extra: dict[str, object] = {"spider": spider}
        if alarm.host in self._ends:
            self._again.log(message, extra)
        else:
            logger.warning("%s", message, extra=extra)
        self._ends[alarm.host] = monotonic() + seconds

    def process_request(self, request: Request) -> None:
        if not self._ends or request.callback is NO_CALLBACK:
            return
        host = Address.of(request.url).host
        if monotonic() < self._ends.get(host, 0):
            self.stats.inc_value("simhash/paused_requests")
            raise SitePaused(request.url, host)
