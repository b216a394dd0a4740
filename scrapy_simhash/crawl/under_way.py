"""Requests that are sent and have no verdict yet: their twins wait for it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from scrapy_simhash.addresses.learner import Match

# Of requests that are under way, and of twins that wait.  What has no end that is seen here is
# forgotten when so many others are under way; its twins are sent.
MOST_UNDER_WAY = 500
MOST_WAITING = 500


class Place(NamedTuple):
    """The address of a request and the name of its cookie jar."""

    url: str
    jar: str


class UnderWay:
    """The requests under way, by the keys that acting rules give them.  Cost: O(such rules)."""

    def __init__(self) -> None:
        # By request, what rules say of it.
        self._matches: OrderedDict[Place, list[Match]] = OrderedDict()
        # By key, the first request that is under way.
        self._first: dict[int, Place] = {}
        # By key, how many twins wait for the first.
        self._waiting: dict[int, int] = {}
        self._waiting_in_all = 0

    def twin(self, place: Place, matches: Iterable[Match]) -> Match | None:
        """Return the rule by which a request may wait for one to another address, if any."""
        if self._waiting_in_all >= MOST_WAITING:
            return None
        for one in matches:
            if self._first.get(one.key, place) != place:
                return one
        return None

    def wait(self, key: int) -> None:
        """Note that a twin waits for the first request that has a key."""
        self._waiting[key] = self._waiting.get(key, 0) + 1
        self._waiting_in_all += 1

    def begin(self, place: Place, matches: list[Match]) -> Place | None:
        """Note that a request is sent; return another one that is to be ended in its place."""
        if not matches:
            return None
        self._matches[place] = matches
        for one in matches:
            self._first.setdefault(one.key, place)
        return next(iter(self._matches)) if len(self._matches) > MOST_UNDER_WAY else None

    def end(self, place: Place) -> list[Match]:
        """Note that a request has its verdict, or will have none; return what twins wait for."""
        own = [one for one in self._matches.pop(place, ()) if self._first.get(one.key) == place]
        awaited = []
        for one in own:
            del self._first[one.key]
            if waiting := self._waiting.pop(one.key, 0):
                self._waiting_in_all -= waiting
                awaited.append(one)
        return awaited
