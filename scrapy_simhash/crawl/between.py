"""What may change or refuse a page between its verdict and the spider."""

from __future__ import annotations

import logging
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING

from scrapy.utils.python import global_object_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

# Packages whose middlewares there leave pages as they are.
_HARMLESS = ("scrapy", "scrapy_simhash", "scrapy_poet", "scrapy_zyte_api")


def say_what_is_between(crawler: Crawler, judge: object) -> None:
    """Name the middlewares that get a page after *judge*, the downloader middleware, in one line.

    Scrapy's are left out, and those that handle no responses.
    """
    names: list[str] = []
    with suppress(AttributeError, TypeError):  # an engine or a downloader of the user's
        engine = crawler.engine
        nearer = takewhile(lambda one: one is not judge, engine.downloader.middleware.middlewares)
        names += _foreign(nearer, "process_response")
        names += _foreign(engine.scraper.spidermw.middlewares, "process_spider_input")
    if names:
        logger.info(
            "Pages are judged before these middlewares get them: %(names)s. If one changes or "
            "refuses pages, let it be a downloader middleware with an order above that of "
            "SimhashDownloaderMiddleware: then a page is judged as the spider gets it",
            {"names": ", ".join(names)},
            extra={"spider": crawler.spider},
        )


def _foreign(middlewares: Iterable[object], method: str) -> Iterator[str]:
    """Yield the names of those that have a method, and are not known to be harmless."""
    for one in middlewares:
        if hasattr(one, method) and type(one).__module__.partition(".")[0] not in _HARMLESS:
            yield global_object_name(type(one))
