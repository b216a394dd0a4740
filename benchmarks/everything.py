"""A spider that follows all links, for crawls of archived sites."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor

# Returns the request for an address, or None to leave it alone.
Follow = Callable[[str], "Request | None"]


class Everything(Spider):
    """Ask for what *follow* makes of the links of each page, without their fragments."""

    name = "everything"
    links = LinkExtractor()

    def __init__(self, start_urls: list[str], follow: Follow) -> None:
        super().__init__(start_urls=start_urls)
        self.follow = follow

    def parse(self, response: Response) -> Iterator[Request]:
        if isinstance(response, HtmlResponse):
            for link in self.links.extract_links(response):
                request = self.follow(link.url.partition("#")[0])
                if request is not None:
                    yield request


def crawl_everything(
    settings: dict[str, Any], start_urls: list[str], follow: Follow
) -> dict[str, int]:
    """Crawl in this process, which can do it once; return the stats that are whole numbers."""
    process = AsyncCrawlerProcess(
        {"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, **settings}
    )
    crawler = process.create_crawler(Everything)
    process.crawl(crawler, start_urls=start_urls, follow=follow)
    process.start()
    assert crawler.stats is not None
    return {name: n for name, n in crawler.stats.get_stats().items() if type(n) is int}
