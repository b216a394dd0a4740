"""What the spiders of one process share: made for the first of them, closed after the last."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class _Held(Generic[T]):
    resource: T
    users: int = 0


class Shared(Generic[T]):
    """Resources by key; all who take the same key at the same time get the same one."""

    def __init__(self) -> None:
        self._held: dict[Hashable, _Held[T]] = {}

    def take(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the resource of *key*, made by *make* where nobody holds it."""
        if key not in self._held:
            self._held[key] = _Held(make())
        held = self._held[key]
        held.users += 1
        return held.resource

    def give_back(self, resource: T) -> bool:
        """Return whether nobody holds *resource* any more: it is to be closed then, by the caller.

        Users are counted in one thread; closing may take its time in another one.
        """
        for key, held in self._held.items():
            if held.resource is resource:
                held.users -= 1
                if not held.users:
                    del self._held[key]
                return not held.users
        return False
