"""What a crawl remembers: an index answers "have I kept a page like this one?" and learns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.extras import extra_version
from scrapy_simhash.index.contract import (
    Decision,
    Index,
    Page,
    Parameters,
    Row,
    Verdict,
)
from scrapy_simhash.index.memory import MemoryIndex
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from scrapy_simhash.places import is_in_redis
from scrapy_simhash.settings import EXPECTED_PAGES

if TYPE_CHECKING:
    from scrapy_simhash.index.redis.index import RedisIndex

MEMORY = "memory:"

__all__ = [
    "MEMORY",
    "Decision",
    "Index",
    "MemoryIndex",
    "Page",
    "Parameters",
    "Row",
    "SQLiteIndex",
    "Verdict",
    "open_index",
    "redis_index",
]


def redis_index() -> type[RedisIndex]:
    """Return the class of an index in Redis.

    :raises SettingsError: the package for Redis is not installed.
    """
    extra_version("redis", "an index in Redis")
    from scrapy_simhash.index.redis.index import RedisIndex

    return RedisIndex


def open_index(place: str, parameters: Parameters, expected_pages: int = EXPECTED_PAGES) -> Index:
    """Return the index at *place*, made where there is none.

    *place* is ``memory:``, the path of a file, or the URL of a Redis server, whose tables are
    planned for so many pages in a scope.

    :raises FingerprintIndexError: see :class:`SQLiteIndex` and ``RedisIndex``.
    :raises SettingsError: the URL is wrong, or the package for Redis is not installed.
    """
    if place == MEMORY:
        return MemoryIndex(parameters)
    if is_in_redis(place):
        return redis_index()(place, parameters, expected_pages)
    return SQLiteIndex(place, parameters)
