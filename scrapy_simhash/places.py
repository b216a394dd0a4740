"""Places of indexes as users write them: whether one is in Redis, and how to show it in a log."""

from __future__ import annotations

import re

# The server of scrapy-redis.
REDIS_OF_CRAWL = "redis:"
MEMORY = "memory:"
_REDIS = (REDIS_OF_CRAWL, "rediss:", "redis+", "rediss+")

# A password may contain an @, as in urllib, and by mistake anything else: all up to the last @ of a
# line counts as one.  redis-py also reads a password from the query.
_LOGIN = re.compile(r"(?<=://)([^:/?#@\s]*):.*@")
_QUERY = re.compile(r"(?<=password=)[^&'\"\n]*")


def is_in_redis(place: str) -> bool:
    """Whether a place is in Redis; its URL may still be wrong."""
    return place.startswith(_REDIS)


def masked(text: str) -> str:
    """Return a text with the passwords of its URLs masked, for logs that others read.

    >>> masked("redis://crawler:secret@cache.example/0")
    'redis://crawler:***@cache.example/0'
    """
    return _QUERY.sub("***", _LOGIN.sub(r"\1:***@", text))
