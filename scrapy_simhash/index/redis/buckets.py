"""The buckets of the server in which a page is looked up and stored.

A bucket is one field of a Redis hash, a string of entries of one width::

    | tag | number |  ->  | check or bits | id | check or bits | id | ...
     1 byte  3 bytes

A page is found by its request, by its text, and by what is near it: by permuted tables, or by keys.

With the paper's plain rule, :class:`NearTables` finds all pages within the distance: in each table,
the bucket of the fingerprint's bits that are the key of that table.  All its entries are compared.

With verification, a page needs the kept pages that share nearly all of its content.
:class:`NearKeys` finds them by the keys of its sketch
(:func:`scrapy_simhash.decision.sketch.keys`). Permuted tables for 7 bits and two views read 136
buckets and compare what grows with the pages; keys read 8 buckets, and find more: two pages that
share 0.9 of their shingles are within 7 bits in half of the cases, and have a key in common in
9,999 of 10,000.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from math import log2
from typing import NamedTuple, TypeAlias

from scrapy_simhash.decision.page import Page
from scrapy_simhash.decision.sketch import keys
from scrapy_simhash.tables.design import Design, designs

# With 1 million pages, buckets of 15 entries were the quickest to read: reading one at random took
# 0.55 us.  With 8 entries it took 0.9 us (more buckets than the processor's cache holds), with 60
# entries 1.1 us.
ENTRIES_A_BUCKET = 16
MAX_NUMBER_BITS = 24
# Requests and texts are found by a search for bytes: longer buckets are as quick, and cost less
# memory.
LONGER_BITS = 2
# Only once in a thousand look-ups, an entry with the same check belongs to another request, text or
# key; the page itself shows that.
CHECK_BYTES = 2
ID_BYTES = 4

# The time of a look-up on the server, in microseconds (one core of an AMD EPYC, 1 million pages):
# for a bucket at a random place, which is not in the processor's cache; for an entry to compare.
READ_MICROSECONDS = 1.0
ENTRY_MICROSECONDS = 0.07

REQUESTS, TEXTS, NEAR = 1, 2, 16

# The name of a bucket, and an entry there without the id of its page.
BucketEntry = tuple[bytes, bytes]
# What is near a page, and how it is found.
Near: TypeAlias = "NearTables | NearKeys"


def number_bits(pages: int) -> int:
    """Return the width of a bucket's number for an index of *pages*."""
    return min(MAX_NUMBER_BITS, max(LONGER_BITS, round(log2(pages / ENTRIES_A_BUCKET))))


def entry_of(tag: int, width: int, key: bytes) -> BucketEntry:
    """Return the entry of a hash of 5 bytes or more, in buckets with numbers of *width* bits."""
    number = int.from_bytes(key[:3], "big") & (1 << width) - 1
    return (tag << MAX_NUMBER_BITS | number).to_bytes(4, "big"), key[-CHECK_BYTES:]


class Question(NamedTuple):
    """Arguments 4 to 7 of add_page.lua, for one page."""

    names: bytes
    request: bytes
    text: bytes = b""
    near: bytes = b""


class Buckets:
    """The buckets of an index, sized for *pages* in a scope."""

    def __init__(self, near: Near, pages: int) -> None:
        self._near = near
        self._width = number_bits(pages) - LONGER_BITS

    def question(self, page: Page) -> Question:
        """Return the question for a page."""
        request = self.question_of_request(page.request_fingerprint)
        text_name, text_check = self._of_text(page.digest)
        near = self._near.entries(page)
        return Question(
            names=b"".join((request.names, text_name, *(name for name, _ in near))),
            request=request.request,
            text=text_check + page.digest if page.tokens else b"",  # an empty text says nothing
            near=b"".join(start for _, start in near),
        )

    def question_of_request(self, request_fingerprint: bytes) -> Question:
        """Return the question that finds only the row of a request."""
        name, check = self._of_request(request_fingerprint)
        return Question(name, check + request_fingerprint)

    def request_entry(self, request_fingerprint: bytes, row_id: bytes) -> bytes:
        """Return the entry of a row's request, as a list for buckets.lua."""
        return _listed([self._of_request(request_fingerprint)], row_id)

    def entries(self, page: Page, row_id: bytes) -> bytes:
        """Return the entries by which a representative is found, as a list for buckets.lua."""
        text = [self._of_text(page.digest)] if page.tokens else []
        return _listed([*text, *self._near.entries(page)], row_id)

    def _of_request(self, request_fingerprint: bytes) -> BucketEntry:
        # A request fingerprinter other than Scrapy's may give bytes of any kind.
        return entry_of(REQUESTS, self._width, _hash(request_fingerprint))

    def _of_text(self, digest: bytes) -> BucketEntry:
        return entry_of(TEXTS, self._width, digest)


def _listed(entries: Iterable[BucketEntry], row_id: bytes) -> bytes:
    whole = ((name, start + row_id) for name, start in entries)
    return b"".join(bytes((len(name), len(entry))) + name + entry for name, entry in whole)


def plan(distance: int, pages: int) -> Design:
    """Return the quickest design for *pages* of those that read one bucket for each table.

    More tables have wider keys, so that fewer entries are compared, but a page has one in each.

    >>> plan(3, 1_000_000).name, plan(3, 100_000_000).name, plan(7, 1_000_000).name
    ('blocks 4', 'covering 8', 'blocks 9')
    """

    def microseconds(design: Design) -> float:
        bits = [min(table.key_bits, number_bits(pages)) for table in design.tables]
        compared = sum(pages / (1 << one) for one in bits)
        return len(bits) * READ_MICROSECONDS + compared * ENTRY_MICROSECONDS

    exact = (one for one in designs(distance) if not any(table.radius for table in one.tables))
    return min(exact, key=microseconds)


class NearTables:
    """The permuted tables of an index that are planned for *pages* in a scope.

    A page with fewer than *min_tokens* is near no other.
    """

    script = "near_tables.lua"

    def __init__(self, distance: int, min_tokens: int, pages: int) -> None:
        design = plan(distance, pages)
        self.name = f"{design.name}, whole"  # so are the fingerprints in the entries
        self._min_tokens = min_tokens
        self._width = number_bits(pages)
        self._masks = [table.mask for table in design.tables]

    def entries(self, page: Page) -> list[BucketEntry]:
        """Return all entries that a representative may have."""
        if page.tokens < self._min_tokens:
            return []
        keys = (_packed(page.fingerprint & mask) for mask in self._masks)
        buckets = (entry_of(tag, self._width, _hash(key)) for tag, key in enumerate(keys, NEAR))
        return [(name, _packed(page.fingerprint)) for name, _ in buckets]


def _packed(bits: int) -> bytes:
    return bits.to_bytes(8, "big")


def _hash(key: bytes) -> bytes:
    return blake2b(key, digest_size=8).digest()


class NearKeys:
    """The keys of the sketches of an index, for *pages* in a scope; see :class:`NearTables`."""

    name = "keys"
    script = "near_keys.lua"

    def __init__(self, pages: int) -> None:
        self._width = number_bits(pages)

    def entries(self, page: Page) -> list[BucketEntry]:
        found = [] if page.sketch is None else keys(page.sketch)
        return [entry_of(NEAR, self._width, key) for key in found]
