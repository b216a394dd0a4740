"""The spider middleware: a flagged page's items are kept, its links are not followed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Request, Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from scrapy_simhash.crawl.choices import DECISION_META_KEY, mark_inline_downloads
from scrapy_simhash.crawl.judging import FLAG, SimhashDownloaderMiddleware
from scrapy_simhash.crawl.requests import mark_copied
from scrapy_simhash.crawl.setup import active_settings

if TYPE_CHECKING:
    from typing_extensions import Self


class _Telling:
    """Something that tells the middleware which judges pages."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        active_settings(crawler)
        return cls(crawler)

    @cached_property
    def judging(self) -> SimhashDownloaderMiddleware | None:
        return self.crawler.get_downloader_middleware(SimhashDownloaderMiddleware)


class SimhashLinksMiddleware(_Telling, BaseSpiderMiddleware):
    """Drop the requests from a flagged response.

    Dropped requests are counted as ``simhash/links_not_followed``.  If the meta of another request
    is a copy from its page, the redirects of that page are marked.
    """

    def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        mark_inline_downloads(self.crawler)  # before anything opens, which may download a page
        return super().process_start(start)

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        if response is not None and _is_cut(request, response):
            self.crawler.stats.inc_value("simhash/links_not_followed")
            return None
        mark_copied(request.meta)
        if response is not None:
            request.meta.setdefault("depth", 1)  # without Scrapy's own middleware for it
            if self.judging is not None:
                self.judging.note_link(request, response)
        return request


class SimhashDepthMiddleware(_Telling, BaseSpiderMiddleware):
    """Take note of requests that Scrapy is about to discard, since they are below ``DEPTH_LIMIT``.

    Their addresses were on a page, but the spider does not get what is there.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._limit = crawler.settings.getint("DEPTH_LIMIT")
        if not self._limit:
            raise NotConfigured

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        if response is not None and not request.meta.get("depth_reset"):
            is_too_deep = response.meta.get("depth", 0) >= self._limit
            if is_too_deep and self.judging is not None:
                self.judging.note_cut(request)
        return request


class SimhashErrorsMiddleware(_Telling):
    """Takes back the page on which a callback fails, before a middleware may answer for it.

    Then Scrapy sends no signal.
    """

    def process_spider_exception(self, response: Response, exception: Exception) -> None:
        if self.judging is not None:
            self.judging.page_failed(response)


def _is_cut(request: Request, response: Response) -> bool:
    """Whether a request is a link of a flagged page.

    One that asks for the page again is none, nor is a form that is sent.
    """
    if FLAG not in response.flags or response.request is None or request.method != "GET":
        return False
    decision = response.request.meta.get(DECISION_META_KEY)
    is_wall = decision is not None and decision.reason == "wall"
    return not is_wall and request.url not in (response.url, response.request.url)
