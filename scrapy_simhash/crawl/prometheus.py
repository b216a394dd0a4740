"""The extension that writes the stats to a file for Prometheus.

This is the only module that imports Prometheus' client.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import Spider
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from scrapy_simhash.crawl.setup import RareWarning, active_settings, file_path
from scrapy_simhash.settings import extra_version

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import CounterMetricFamily
    from scrapy.statscollectors import StatsCollector
    from typing_extensions import Self

logger = logging.getLogger(__name__)

# The usual interval at which Prometheus asks its node exporter.  Writing takes 0.5 ms.
WRITE_SECONDS = 15
STATS = "simhash/"
# The label for the second part of a stat's name, as in simhash/skipped/not_html.
LABELS = {"skipped": "reason", "distance": "bits", "alarms": "alarm", "variant": "reason"}


class SimhashPrometheus:
    """Write the stats to ``SIMHASH_PROMETHEUS_FILE`` every 15 seconds, and at close.

    ``simhash/judged`` becomes ``scrapy_simhash_judged_total{spider="news"}``.
    """

    def __init__(self, stats: StatsCollector, spider_name: str, path: Path) -> None:
        from prometheus_client import CollectorRegistry

        self.stats = stats
        self.spider_name = spider_name
        self.path = path
        self._registry: CollectorRegistry = CollectorRegistry()
        self._registry.register(self)
        self._writing = create_looping_call(self.write)
        self._warning = RareWarning(logger)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = active_settings(crawler)
        path = file_path(crawler, "SIMHASH_PROMETHEUS_FILE", settings.prometheus_file)
        if path is None:
            raise NotConfigured  # without a message: this is the default
        extra_version("prometheus_client", "SIMHASH_PROMETHEUS_FILE", extra="prometheus")
        extension = cls(crawler.stats, crawler.spidercls.name, path)
        crawler.signals.connect(extension.spider_opened, scrapy_signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, scrapy_signals.spider_closed)
        return extension

    def spider_opened(self, spider: Spider) -> None:
        self._writing.start(WRITE_SECONDS)

    def spider_closed(self, spider: Spider) -> None:
        self._writing.stop()
        self.write()

    def write(self) -> None:
        """Replace the file by one with the present stats."""
        from prometheus_client import write_to_textfile

        try:
            write_to_textfile(str(self.path), self._registry)
        except Exception as exc:  # other extensions may put values of any type into the stats
            message = f"Prometheus will read older stats, since its file cannot be written: {exc}"
            self._warning.log(message, extra={})

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Yield the stats; Prometheus' client calls this."""
        from prometheus_client.core import CounterMetricFamily

        families: dict[str, CounterMetricFamily] = {}
        for stat, value in sorted(self.stats.get_stats().items()):
            name, _, detail = stat.removeprefix(STATS).partition("/")
            # Stats of other packages are left out, and the totals of stats that have a label.
            if not stat.startswith(STATS) or bool(detail) != (name in LABELS):
                continue
            labels = {"spider": self.spider_name, **({LABELS[name]: detail} if detail else {})}
            family = families.setdefault(
                name,
                CounterMetricFamily(
                    f"scrapy_simhash_{name}", f"scrapy-simhash's stat {stat}", labels=tuple(labels)
                ),
            )
            family.add_metric(list(labels.values()), value)
        yield from families.values()
