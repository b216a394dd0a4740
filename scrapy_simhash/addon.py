"""The add-on: one line in the settings turns everything on."""

from __future__ import annotations

import logging

from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings

from scrapy_simhash.crawl.account import SimhashAccount
from scrapy_simhash.crawl.judging import SimhashDownloaderMiddleware
from scrapy_simhash.crawl.links import (
    SimhashDepthMiddleware,
    SimhashErrorsMiddleware,
    SimhashLinksMiddleware,
)
from scrapy_simhash.crawl.report import SimhashReport
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.settings import SimhashSettings

# Nearer to the engine than all others that handle responses, so that it judges the page that the
# spider gets: as a project's own middlewares (at 543, or anywhere) have changed it, and only if
# neither they nor a retry (550) nor a redirect (600) have put it aside.
DOWNLOADER_MIDDLEWARE_ORDER = 70
# Before a project's own middlewares (543) do anything for a request, which may be parked; but after
# Scrapy's for robots.txt (100).
RULES_MIDDLEWARE_ORDER = 541
# Nearer to the engine than Scrapy's own (from 50 on), so it also sees what they yield.
SPIDER_MIDDLEWARE_ORDER = 20
# Nearer to the spider than Scrapy's own for the depth (900), so it sees what that one discards.
DEPTH_MIDDLEWARE_ORDER = 910
# Nearer to the spider than any that may answer for a callback that fails.
ERRORS_MIDDLEWARE_ORDER = 990
EXTENSION_ORDER = 500
REPORT_ORDER = 510

# The loggers that tell of an exception which ended a start: tasks of asyncio, Deferreds of Twisted.
START_LOGGERS = ("asyncio", "twisted")

logger = logging.getLogger(__name__)


class Addon:
    """``ADDONS = {"scrapy_simhash.Addon": 500}``; components set by the user stay unchanged."""

    def update_settings(self, settings: BaseSettings) -> None:
        for name in START_LOGGERS:
            logging.getLogger(name).addFilter(_in_one_line)  # once: it is the same each time
        if not SimhashSettings.is_enabled(settings):
            raise NotConfigured("SIMHASH_ENABLED is off")
        for name, component, order in (
            ("DOWNLOADER_MIDDLEWARES", SimhashDownloaderMiddleware, DOWNLOADER_MIDDLEWARE_ORDER),
            ("SPIDER_MIDDLEWARES", SimhashLinksMiddleware, SPIDER_MIDDLEWARE_ORDER),
            ("SPIDER_MIDDLEWARES", SimhashDepthMiddleware, DEPTH_MIDDLEWARE_ORDER),
            ("SPIDER_MIDDLEWARES", SimhashErrorsMiddleware, ERRORS_MIDDLEWARE_ORDER),
            ("EXTENSIONS", SimhashAccount, EXTENSION_ORDER),
            ("EXTENSIONS", SimhashReport, REPORT_ORDER),
        ):
            settings.setdefault_in_component_priority_dict(name, component, order)
        if settings.get("SIMHASH_RULES") != "off":
            # Only here: it imports all that there is about rules.
            from scrapy_simhash.crawl.rules import SimhashRulesMiddleware

            settings.setdefault_in_component_priority_dict(
                "DOWNLOADER_MIDDLEWARES", SimhashRulesMiddleware, RULES_MIDDLEWARE_ORDER
            )


def _in_one_line(record: logging.LogRecord) -> bool:
    """Let a refused start be logged as its error's message, and the traceback at the level DEBUG.

    Otherwise, the message is under 30 to 150 lines of traceback.  (With CrawlerProcess of Twisted,
    the line comes last: Twisted also prints the traceback by itself.)
    """
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, SimhashError):
        logger.debug("The start was refused", exc_info=record.exc_info)
        record.msg, record.args = "%s: %s", (type(error).__name__, error)
        record.exc_info = record.exc_text = None
    return True
