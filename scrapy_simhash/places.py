"""Places of indexes as people write them: which are in Redis, and how they may be shown."""

from __future__ import annotations

import re

# Takes the server of scrapy-redis.
REDIS_OF_CRAWL = "redis:"
_REDIS = (REDIS_OF_CRAWL, "rediss:", "redis+", "rediss+")

# A password may itself hold an @, as urllib has it; redis-py takes one from the query, too.
_LOGIN = re.compile(r"(?<=://)([^:/?#@\s]*):\S*@")
_QUERY = re.compile(r"(?<=password=)[^&\s'\"]*")


def is_in_redis(place: str) -> bool:
    """Whether a place is one in Redis; its URL may be wrong all the same."""
    return place.startswith(_REDIS)


def masked(text: str) -> str:
    """Return a text with the passwords of its URLs made unreadable: logs are read by others.

    >>> masked("redis://crawler:secret@cache.example/0")
    'redis://crawler:***@cache.example/0'
    """
    return _QUERY.sub("***", _LOGIN.sub(r"\1:***@", text))
