"""Inline downloads: requests that code sends by ``crawler.engine.download_async`` and waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals as scrapy_signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

_META_KEY = "simhash_inline"


def is_inline(request: Request) -> bool:
    """Whether somebody waits for the answer to a request."""
    return _META_KEY in request.meta


def mark_inline_downloads(crawler: Crawler) -> None:
    """Mark the requests that are downloaded past the scheduler; to be called once it is open.

    Scrapy does not tell them from others.  Redirects keep the mark; it goes where a request with a
    copied meta is scheduled.
    """
    engine = crawler.engine
    if engine is None:
        return
    download = engine.download_async

    async def download_async(request: Request) -> Response:
        request.meta[_META_KEY] = True
        return await download(request)

    engine.download_async = download_async  # type: ignore[method-assign]
    crawler.signals.connect(_unmark, scrapy_signals.request_scheduled)


def _unmark(request: Request) -> None:
    request.meta.pop(_META_KEY, None)
