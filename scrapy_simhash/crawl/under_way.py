"""Requests that are sent and have no verdict yet: their twins wait for it."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from scrapy_simhash.url_rules.learner import RuleMatch

# Of requests that are under way, and of twins that wait.  What has no end that is seen here is
# forgotten when so many others are under way; its twins are sent.
MOST_UNDER_WAY = 500
MOST_WAITING = 500


class Place(NamedTuple):
    """The address of a request, and which others one page may serve as well as it."""

    url: str
    party: str


class UnderWay:
    """The requests under way, by the key that acting rules give their addresses together."""

    def __init__(self) -> None:
        # By request, its key.
        self._keys: OrderedDict[Place, int] = OrderedDict()
        # By key, the first request that is under way.
        self._first: dict[int, Place] = {}
        # By such a request, what its twins wait by.
        self._waiting: dict[Place, list[RuleMatch]] = {}
        self._waiting_in_all = 0

    def first(self, place: Place, key: int) -> Place | None:
        """Return the request to another address that one with a key may wait for, if any."""
        first = self._first.get(key, place)
        return None if first == place or self._waiting_in_all >= MOST_WAITING else first

    def wait(self, first: Place, match: RuleMatch) -> None:
        """Note that a twin waits for a request, by the rule that makes them one."""
        self._waiting.setdefault(first, []).append(match)
        self._waiting_in_all += 1

    def begin(self, place: Place, key: int) -> Place | None:
        """Note that a request is sent; return another one that is to be ended in its place."""
        self._keys[place] = key
        self._first.setdefault(key, place)
        return next(iter(self._keys)) if len(self._keys) > MOST_UNDER_WAY else None

    def end(self, place: Place) -> list[RuleMatch]:
        """Note that a request has its verdict, or will have none; return what twins wait by."""
        key = self._keys.pop(place, None)
        if key is None or self._first.get(key) != place:
            return []
        del self._first[key]
        awaited = self._waiting.pop(place, [])
        self._waiting_in_all -= len(awaited)
        return [*{one.key: one for one in awaited}.values()]
