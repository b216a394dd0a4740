"""Crawls a scenario in processes of their own, and compares what the spider took."""

from __future__ import annotations

import json
import multiprocessing
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asked import around, askers, callbacks, carried, rounds, walls
from asked.scenario import Scenario
from asked.server import AskedServer

SCENARIOS: dict[str, Scenario] = {
    **callbacks.SCENARIOS,
    **carried.SCENARIOS,
    **walls.SCENARIOS,
    **rounds.SCENARIOS,
    **askers.SCENARIOS,
    **around.SCENARIOS,
}
WITHOUT = "off"
MODES: dict[str, dict[str, Any]] = {
    WITHOUT: {},
    "drop": {"ADDONS": {"scrapy_simhash.Addon": 500}},
    "rules": {"ADDONS": {"scrapy_simhash.Addon": 500}, "SIMHASH_RULES": "use"},
}
# Far more than any of these crawls takes.
MOST_SECONDS = 120
# One after the other, so that pages come in the same order in each crawl.
SETTINGS = {"CONCURRENT_REQUESTS": 1, "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False}


@dataclass
class Crawl:
    """What one mode brought; *items* are distinct, as JSON."""

    mode: str
    items: list[str]
    lost: list[str]
    requests: int
    errors: int
    seconds: float
    stats: dict[str, int]


def crawl(name: str, folder: str, part: str, url: str, settings: dict[str, Any]) -> None:
    """Crawl a site in *folder*, and write what was found to a file there, named by *part*."""
    from itemadapter import ItemAdapter
    from scrapy import signals
    from scrapy.crawler import AsyncCrawlerProcess

    os.chdir(folder)
    scenario = SCENARIOS[name]
    items: list[str] = []

    def keep(item: Any) -> None:
        items.append(json.dumps(ItemAdapter(item).asdict(), sort_keys=True))

    process = AsyncCrawlerProcess({**SETTINGS, "LOG_FILE": f"{part}.log", **settings})
    crawler = process.create_crawler(scenario.spider)
    crawler.signals.connect(keep, signals.item_scraped)
    process.crawl(crawler, base=url, part=part, **scenario.args)
    process.start()
    found = {"items": items, "stats": crawler.stats.get_stats()}
    Path(f"{part}.json").write_text(json.dumps(found, default=str))


def together(
    name: str, folder: str, url: str, settings: dict[str, Any]
) -> tuple[set[str], list[Mapping[str, Any]]]:
    """Crawl all parts of a scenario at the same time; return the items and each part's stats."""
    spawn = multiprocessing.get_context("spawn")
    parts = SCENARIOS[name].parts
    children = [
        spawn.Process(target=crawl, args=(name, folder, part, url, settings)) for part in parts
    ]
    for child in children:
        child.start()
    items: set[str] = set()
    stats = []
    for part, child in zip(parts, children, strict=True):
        child.join(MOST_SECONDS)
        child.kill()
        results = Path(folder, f"{part}.json")
        # A crawl that does not end by itself counts as an error without items.
        empty: dict[str, Any] = {"items": [], "stats": {"log_count/ERROR": 1}}
        found = json.loads(results.read_text()) if results.exists() else empty
        results.unlink(missing_ok=True)
        items.update(found["items"])
        stats.append(found["stats"])
    return items, stats


def crawl_in(name: str, mode: str, settings: Mapping[str, Any]) -> tuple[set[str], Crawl]:
    """Crawl a scenario in one mode; return the items of its first crawl, and its last crawl."""
    scenario = SCENARIOS[name]
    server = AskedServer(scenario.site)
    of_crawl = {**scenario.settings, **MODES[mode], **settings}
    before: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for file in scenario.files:
            Path(folder, file).touch()
        for number in range(1, scenario.crawls + 1):
            server.requests()
            server.counts["crawls"] = number
            items, stats = together(name, folder, server.url, of_crawl)
            if number < scenario.crawls:
                before = items
    requests = server.requests().total()
    server.close()
    errors = sum(one.get("log_count/ERROR", 0) for one in stats)
    seconds = max(one.get("elapsed_time_seconds", 0.0) for one in stats)
    counted = {
        key: sum(one.get(key, 0) for one in stats)
        for key in sorted({key for one in stats for key in one if key.startswith("simhash/")})
        if all(isinstance(one.get(key, 0), int) for one in stats)
    }
    return before, Crawl(mode, sorted(items), [], requests, errors, round(seconds, 1), counted)


def measure(name: str, modes: Sequence[str], settings: Mapping[str, Any]) -> list[Crawl]:
    """Crawl a scenario without the plug-in and in *modes*; each crawl has what it lost."""
    before, without = crawl_in(name, WITHOUT, settings)
    without.items = [item for item in without.items if item not in before]
    crawls = [without]
    for mode in modes:
        if mode != WITHOUT:
            _, found = crawl_in(name, mode, settings)
            found.lost = sorted(set(without.items) - set(found.items))
            crawls.append(found)
    return crawls
