"""A start that is refused says why in one line."""

from __future__ import annotations

import logging

from scrapy_simhash.errors import SimhashError

logger = logging.getLogger(__name__)

# Those that tell of an exception which ended a start: tasks of asyncio, Deferreds of Twisted.
_LOGGERS = ("asyncio", "twisted")


def say_refusals_in_one_line() -> None:
    """Let a refused start be logged as its error's message; the traceback at the level DEBUG.

    Otherwise, the message is under 30 to 150 lines of traceback.  (With CrawlerProcess of Twisted,
    the line comes last: Twisted also prints the traceback by itself.)
    """
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_in_one_line)  # once: it is the same each time


def _in_one_line(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, SimhashError):
        logger.debug("The start was refused", exc_info=record.exc_info)
        record.msg, record.args = "%s: %s", (type(error).__name__, error)
        record.exc_info = record.exc_text = None
    return True
