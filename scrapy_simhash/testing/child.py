"""The process of a crawl in a test: ``python -m scrapy_simhash.testing.child JOB RESULT``."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from itemadapter import ItemAdapter
from scrapy import Spider, signals
from scrapy.crawler import AsyncCrawlerProcess, Crawler, CrawlerProcess
from scrapy.settings import Settings
from twisted.internet.defer import Deferred

from scrapy_simhash.crawl.signals import page_judged
from scrapy_simhash.report.record import Record


def run_spiders(
    spiders: Sequence[type[Spider]],
    arguments: Mapping[str, Any],
    settings: Mapping[str, Any],
    handlers: Mapping[object, Callable[..., None]],
) -> list[Crawler]:
    """Run spiders at the same time until all have ended, and return their crawlers.

    *settings* take precedence over the spiders' own; *handlers* are called at their signals.

    :raises SystemExit: a crawl could not start; it says why.
    """
    of_all = Settings({"ADDONS": {"scrapy_simhash.Addon": 500}})
    of_all.setdict(settings, "cmdline")
    process_class = CrawlerProcess if "TWISTED_REACTOR" in settings else AsyncCrawlerProcess
    process = process_class(of_all)
    crawlers = [process.create_crawler(spider) for spider in spiders]
    errors: list[object] = []
    crawls = []
    for crawler in crawlers:
        for signal, handler in handlers.items():
            crawler.signals.connect(handler, signal)
        crawling = process.crawl(crawler, **arguments)
        if isinstance(crawling, Deferred):
            crawling.addErrback(lambda failure: errors.append(failure.value))
        crawls.append(crawling)
    process.start()
    done = [one for one in crawls if isinstance(one, asyncio.Future) and one.done()]
    errors += filter(None, (crawling.exception() for crawling in done))
    if errors:
        raise SystemExit(f"{type(errors[0]).__name__}: {errors[0]}")
    return crawlers


def at_site(spider: type[Spider], start_urls: list[str] | None, host: str) -> type[Spider]:
    """Return the spider with other URLs to start from, if there are some; it stays on a host."""

    class AtSite(spider):  # type: ignore[misc, valid-type]
        @classmethod
        def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Any:
            made: Any = super().from_crawler(crawler, *args, **kwargs)
            made.allowed_domains = [host]
            if start_urls:
                made.start_urls = start_urls
            return made

    return AtSite


def main(job_file: Path, result_file: Path) -> None:
    """Run the crawl of a job, and write its result."""
    job = json.loads(job_file.read_text())
    spider = at_site(resolve_name(job["spider"]), job["start_urls"], job["host"])
    items: list[dict[str, Any]] = []
    decisions: list[dict[str, Any]] = []

    def item_scraped(item: Any) -> None:
        items.append(ItemAdapter(item).asdict())

    def judged(record: Record) -> None:
        decisions.append(record.as_json())

    handlers = {signals.item_scraped: item_scraped, page_judged: judged}
    [crawler] = run_spiders([spider], job["arguments"], job["settings"], handlers)
    result = {"items": items, "decisions": decisions, "stats": crawler.stats.get_stats()}
    result_file.write_text(json.dumps(result, default=str))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
