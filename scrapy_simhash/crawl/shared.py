"""Resources that the spiders of one process share: made for the first, closed after the last.

This is the only module with state of the process: :data:`WORKERS` and :data:`INDEXES`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from scrapy_simhash.index.base import Index
from scrapy_simhash.workers.pool import Workers

T = TypeVar("T")


@dataclass
class _Held(Generic[T]):
    resource: T
    users: int = 0


class Shared(Generic[T]):
    """Resources by key; all users of a key at the same time get the same resource."""

    def __init__(self) -> None:
        self._held: dict[Hashable, _Held[T]] = {}

    def take(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the resource of *key*; *make* makes it if it has no user yet."""
        if key not in self._held:
            self._held[key] = _Held(make())
        held = self._held[key]
        held.users += 1
        return held.resource

    def give_back(self, resource: T) -> bool:
        """End one use of *resource*; return whether it was the last, so the caller must close it.

        Users are counted in one thread; closing may take place in another one.
        """
        for key, held in self._held.items():
            if held.resource is resource:
                held.users -= 1
                if not held.users:
                    del self._held[key]
                return not held.users
        return False


WORKERS: Shared[Workers] = Shared()
INDEXES: Shared[Index] = Shared()
