"""Finding what is near a page by the keys of its sketch (:func:`scrapy_simhash.rule.sketch.keys`).

With verification, a page needs the kept pages that share nearly all of its content.  Permuted
tables for 7 bits and two views read 136 buckets and compare what grows with the pages; keys read
8 buckets, and find more: two pages that share 0.9 of their shingles are within 7 bits in half of
the cases, and have a key in common in 9,999 of 10,000.
"""

from __future__ import annotations

from scrapy_simhash.index.redis.buckets import NEAR, Place, number_bits, place_of
from scrapy_simhash.rule.page import Page
from scrapy_simhash.rule.sketch import keys

# The bytes of a page without its URL and its sketch, measured with as many pages as planned for,
# 125,000 (Redis 7.0).
BYTES_PER_PAGE = 269.0


class NearKeys:
    """The keys of the sketches of an index, for *pages* in a scope."""

    name = "keys"
    script = "near_keys.lua"

    def __init__(self, pages: int) -> None:
        self._width = number_bits(pages)

    def has_text(self, page: Page) -> bool:
        return bool(page.tokens)  # an empty text says nothing

    def question(self, page: Page) -> tuple[bytes, bytes]:
        places = self.places(page)
        return b"".join(name for name, _ in places), b"".join(check for _, check in places)

    def places(self, page: Page) -> list[Place]:
        found = [] if page.sketch is None else keys(page.sketch)
        return [place_of(NEAR, self._width, key) for key in found]
