"""Crawls a site in a process of its own, and counts what reached the spider."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from reach.pages import Site
from reach.server import ITEM_HEADER, SiteServer

MODES = ("none", "drop", "flag")
# A crawl of a seeded site that needs more is endless.
MOST_PAGES = 40_000
SHOWN_STATS = ("simhash/variant", "simhash/second_visits")


@dataclass
class Crawl:
    """What one crawl found: how often each item arrived, with and without the flag."""

    passed: Counter[str] = field(default_factory=Counter)
    flagged: Counter[str] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    stats: dict[str, int] = field(default_factory=dict)
    is_whole: bool = True


def crawl(url: str, mode: str, settings: dict[str, Any], results: Any) -> None:
    """Crawl a site and put a :class:`Crawl` into *results*."""
    import scrapy
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.linkextractors import LinkExtractor

    found = Crawl()

    class Everything(scrapy.Spider):
        name = "everything"
        start_urls = [url]  # noqa: RUF012 - as Scrapy has it
        links = LinkExtractor(
            tags=("a", "area", "button"),
            attrs=("href", "data-href"),
            allow_domains=[urlsplit(url).netloc],
        )

        def parse(self, response: Any) -> Any:
            is_flagged = "near-duplicate" in response.flags
            decision = response.meta.get("simhash_decision")
            for name in response.headers.getlist(ITEM_HEADER):
                item = name.decode()
                (found.flagged if is_flagged else found.passed)[item] += 1
                if decision is not None and decision.verdict == "unique":
                    found.reasons[item, decision.reason] += 1
            for link in self.links.extract_links(response):
                yield scrapy.Request(link.url)

    of_crawl: dict[str, Any] = {
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "CLOSESPIDER_PAGECOUNT": MOST_PAGES,
    }
    if mode != "none":
        of_crawl["ADDONS"] = {"scrapy_simhash.Addon": 500}
        of_crawl |= {"SIMHASH_INDEX": "memory:", "SIMHASH_ACTION": mode}
    process = AsyncCrawlerProcess(of_crawl | settings)
    crawler = process.create_crawler(Everything)
    process.crawl(crawler)
    process.start()
    stats = crawler.stats.get_stats()
    found.stats = {name: stats[name] for name in stats if name.startswith(SHOWN_STATS)}
    found.is_whole = stats.get("finish_reason") == "finished"
    results.put(found)


def measure(site: Site, noise: Collection[str], settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a site's table: one for each mode and each row of the site."""
    server = SiteServer(site, noise)
    spawn = multiprocessing.get_context("spawn")
    reached: set[str] = set()
    rows = []
    for mode in MODES:
        results = spawn.Queue()
        child = spawn.Process(target=crawl, args=(server.url, mode, settings, results))
        child.start()
        found: Crawl = results.get()
        child.join()
        if mode == "none":
            reached = set(found.passed)
        rows += _rows(site, mode, found, reached, server.requests())
    server.close()
    return rows


def _rows(
    site: Site, mode: str, found: Crawl, reached: set[str], requests: Counter[str]
) -> list[dict[str, Any]]:
    """Return a row for each row of the site, and one for the whole site."""
    names = sorted({site.item_row(item) for item in reached} - {""})
    rows = []
    for name in names:
        of_row = Crawl(
            Counter({i: n for i, n in found.passed.items() if site.item_row(i) == name}),
            Counter({i: n for i, n in found.flagged.items() if site.item_row(i) == name}),
        )
        for (item, reason), times in found.reasons.items():
            if site.item_row(item) == name and reason != "new_text":
                of_row.stats[reason] = of_row.stats.get(reason, 0) + times
        items = {item for item in reached if site.item_row(item) == name}
        rows.append(_row(name, mode, of_row, items, requests[name]))
    return [*rows, _row("", mode, found, reached, requests.total())]


def _row(name: str, mode: str, found: Crawl, reached: set[str], requests: int) -> dict[str, Any]:
    arrived = set(found.passed) | set(found.flagged)
    return {
        "row": name,
        "mode": mode,
        "requests": requests,
        "items": len(arrived),
        "lost": len(reached - arrived),
        "flagged": len(arrived - set(found.passed)),
        "copies": found.passed.total() - len(found.passed),
        "stats": {stat.removeprefix("simhash/"): n for stat, n in sorted(found.stats.items())},
        "is_whole": found.is_whole,
    }
