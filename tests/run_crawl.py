"""Run one crawl, as tests/conftest.py's ``crawl`` asks for it.

On purpose without ``if __name__ == "__main__"``: Scrapy's documentation shows scripts like
this, and workers must not crawl once more when they start.
"""

import asyncio
import json
import signal
import sys
from pathlib import Path

from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess, Crawler, CrawlerProcess
from twisted.internet.defer import Deferred

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests import spiders

# It is ignored where a shell or a CI system has put the tests into the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
job = json.loads(Path(sys.argv[1]).read_text())
with Path("started").open("a") as started:
    started.write("x")
process_class = CrawlerProcess if "TWISTED_REACTOR" in job["settings"] else AsyncCrawlerProcess
process = process_class(job["settings"])
crawlers: list[Crawler] = [
    process.create_crawler(getattr(spiders, name)) for name in job["spider"].split()
]


def item_scraped(item: dict[str, object]) -> None:
    with Path("items.jsonl").open("a") as file:
        file.write(json.dumps(item) + "\n")


errors: list[object] = []
crawls = []
for crawler in crawlers:
    crawler.signals.connect(item_scraped, signals.item_scraped)
    crawling = process.crawl(crawler, url=job["url"])
    if isinstance(crawling, Deferred):
        crawling.addErrback(lambda failure: errors.append(failure.value))
    crawls.append(crawling)
process.start()
for crawling in crawls:
    if isinstance(crawling, asyncio.Future) and (error := crawling.exception()):
        errors.append(error)
if errors:
    print(f"{type(errors[0]).__name__}: {errors[0]}", file=sys.stderr)
    sys.exit(1)
with Path("stats.jsonl").open("a") as file:
    for crawler in crawlers:
        file.write(json.dumps(crawler.stats.get_stats(), default=str) + "\n")
