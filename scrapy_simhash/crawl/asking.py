"""Requests of the plug-in's own."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request

logger = logging.getLogger(__name__)


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
