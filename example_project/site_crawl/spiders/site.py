"""Crawl one site: follow every link that stays on it, yield one item a page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor


class SiteSpider(Spider):
    """``scrapy crawl site -a url=https://www.example.com/``; several URLs with spaces between."""

    name = "site"

    def __init__(self, url: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = url.split()
        if not self.start_urls:
            raise ValueError(
                "say where to start: scrapy crawl site -a url=https://www.example.com/"
            )
        # Scrapy's own offsite middleware keeps the crawl within these.
        self.allowed_domains = sorted({urlsplit(start).hostname or "" for start in self.start_urls})
        self.links = LinkExtractor()

    async def start(self) -> AsyncIterator[Request]:
        for url in self.start_urls:
            yield Request(url)

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        if not isinstance(response, HtmlResponse):
            return
        yield {
            "url": response.url,
            "title": (response.css("title::text").get() or "").strip(),
        }
        for link in self.links.extract_links(response):
            yield Request(link.url)
