"""Requests of the plug-in's own, and what a request may hold beside its page: one of a browser."""

from __future__ import annotations

import logging
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request

logger = logging.getLogger(__name__)

# Before other requests: other pages, or other requests, wait for what the answer says.
PRIORITY = 10
# Keys in the meta of requests that do more than ask for a page: scrapy-playwright then leaves the
# page of the browser open for the callback, or clicks in it.
ONE_TIME_KEYS = frozenset(
    ("playwright_include_page", "playwright_page", "playwright_page_methods", "splash", "zyte_api")
)
BROWSER_PAGE_KEY = "playwright_page"


def ask(crawler: Crawler, request: Request) -> bool:
    """Give a request to the crawl's scheduler; return whether it took it."""
    if crawler.engine is None:
        return False
    try:
        crawler.engine.crawl(request)
    except Exception:  # a scheduler of the user's, say: nothing of the crawl is lost
        logger.debug("%s was not asked for", request, exc_info=True)
        return False
    return True


def ask_for_us(crawler: Crawler, request: Request, url: str, meta_key: str) -> str | None:
    """Ask for *url* as *request* was asked for, but before others; return a number, if it is taken.

    The number is in the request's meta.  By it, the middleware knows the answer, which ends there.
    A request that does more than ask for a page is not sent.
    """
    if not ONE_TIME_KEYS.isdisjoint(request.meta):
        return None
    number = token_hex(8)
    own = request.replace(
        url=url,
        callback=None,  # which any scheduler can store
        errback=None,
        dont_filter=True,
        priority=request.priority + PRIORITY,
        meta={**request.meta, meta_key: number, "dont_cache": True},
    )
    return number if ask(crawler, own) else None


async def close_browser_page(request: Request) -> None:
    """Close the page of a browser that waits for a callback which will not come."""
    page = request.meta.get(BROWSER_PAGE_KEY)
    if page is not None:
        with suppress(Exception):  # it may be closed already
            await page.close()
