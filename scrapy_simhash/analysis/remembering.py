"""Remembers what a function says of short texts: pages of one site have the same ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

T = TypeVar("T")

# Longer texts are not remembered, in characters: so all take at most some hundred kilobytes.
MAX_REMEMBERED = 200


def remembering(most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Return a decorator by which a function remembers what it said of the last *most* texts."""

    def decorated(function: Callable[[str], T]) -> Callable[[str], T]:
        known = lru_cache(most)(function)

        @wraps(function)
        def remembered(text: str) -> T:
            return known(text) if len(text) <= MAX_REMEMBERED else function(text)

        return remembered

    return decorated
