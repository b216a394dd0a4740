"""The downloader middleware that sends no requests to a site after an alarm."""

from __future__ import annotations

import logging
from collections.abc import Set
from typing import TYPE_CHECKING

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Request
from scrapy.http.request import NO_CALLBACK

from scrapy_simhash.crawl import signals
from scrapy_simhash.crawl.exceptions import SitePaused
from scrapy_simhash.crawl.setup import active_settings
from scrapy_simhash.report.alarms import Alarm
from scrapy_simhash.urls import Address

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector
    from typing_extensions import Self

logger = logging.getLogger(__name__)


class SimhashPauseMiddleware:
    """Ignore the requests to a host after an alarm that pauses it, by ``SIMHASH_ON_ALARM``.

    The pause lasts to the end of the crawl.  Such a request is counted as
    ``simhash/paused_requests``; its errback gets a
    :class:`~scrapy_simhash.crawl.exceptions.SitePaused`.
    Requests without a callback (robots.txt, media pipelines) pass.
    """

    def __init__(self, stats: StatsCollector, pausing: Set[str]) -> None:
        self.stats = stats
        self.pausing = pausing
        self._hosts: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        pausing = active_settings(crawler).alarms_that("pause")
        if not pausing:
            raise NotConfigured  # without a message: this is the default
        middleware = cls(crawler.stats, pausing)
        crawler.signals.connect(middleware.alarm_raised, signals.alarm_raised)
        return middleware

    def alarm_raised(self, alarm: Alarm, spider: Spider) -> None:
        if alarm.name in self.pausing and alarm.host not in self._hosts:
            self._hosts.add(alarm.host)
            logger.warning(
                "No more requests to %s, after the alarm %s",
                alarm.host,
                alarm.name,
                extra={"spider": spider},
            )

    def process_request(self, request: Request) -> None:
        if not self._hosts or request.callback is NO_CALLBACK:
            return
        if (host := Address.of(request.url).host) in self._hosts:
            self.stats.inc_value("simhash/paused_requests")
            raise SitePaused(request.url, host)
