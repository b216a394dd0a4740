"""The crawls that have met a kept page: the numbers of the latest ones, in 16 bytes.

A kept page stands for others only in a crawl that has met it.  Several crawls may run in one index
at the same time.  A crawl that was forgotten meets the page once more.
"""

from __future__ import annotations

import struct

# A number of 0 is none.
_NUMBERS = struct.Struct(">4I")
MAX_CRAWLS = 4


def met_by(*crawls: int) -> bytes:
    """Return the stored form of the numbers of crawls, the latest first, at most four of them."""
    numbers = crawls[:MAX_CRAWLS]
    return _NUMBERS.pack(*numbers, *[0] * (MAX_CRAWLS - len(numbers)))


def crawls_in(stored: bytes | None) -> tuple[int, ...]:
    """Return the numbers of the crawls that have met a page, the latest first."""
    return () if stored is None else tuple(filter(None, _NUMBERS.unpack(stored)))


def together(now: bytes | None, before: bytes | None) -> bytes | None:
    """Return who has met a page that is met again; *now* comes first."""
    numbers = dict.fromkeys(crawls_in(now) + crawls_in(before))
    return met_by(*numbers) if numbers else None
