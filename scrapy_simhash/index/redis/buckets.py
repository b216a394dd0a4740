"""The buckets of the server in which a page is looked up and stored.

A bucket is one field of a Redis hash, a string of entries of one width::

    | tag | number |  ->  | check or bits | id | check or bits | id | ...
     1 byte  3 bytes

A page is found by its request, by its text, and by what is near it (near.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from math import log2
from typing import NamedTuple, Protocol

from scrapy_simhash.decision.page import Page

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

REQUESTS, TEXTS, NEAR = 1, 2, 16

# The name of a bucket, and an entry there without the id of its page.
BucketEntry = tuple[bytes, bytes]


def number_bits(pages: int) -> int:
    """Return the width of a bucket's number for an index of *pages*."""
    return min(MAX_NUMBER_BITS, max(LONGER_BITS, round(log2(pages / ENTRIES_A_BUCKET))))


def entry_of(tag: int, width: int, key: bytes) -> BucketEntry:
    """Return the entry of a hash of 5 bytes or more, in buckets with numbers of *width* bits."""
    number = int.from_bytes(key[:3], "big") & (1 << width) - 1
    return (tag << MAX_NUMBER_BITS | number).to_bytes(4, "big"), key[-CHECK_BYTES:]


class Near(Protocol):
    """What is near a page, and how it is found."""

    @property
    def name(self) -> str:
        """The name that is stored with the index."""

    @property
    def script(self) -> str:
        """The part of add_page.lua that looks for it."""

    def has_text(self, page: Page) -> bool:
        """Whether a page is found by its text."""

    def question(self, page: Page) -> tuple[bytes, bytes]:
        """Return the names of the buckets to read, and what to look for there."""

    def entries(self, page: Page) -> Iterable[BucketEntry]:
        """Return all entries that a representative may have."""


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
        names, near = self._near.question(page)
        return Question(
            names=request.names[:-4] + text_name + names,
            request=request.request,
            text=text_check + page.digest if self._near.has_text(page) else b"",
            near=near,
        )

    def question_of_request(self, request_fingerprint: bytes) -> Question:
        """Return the question that finds only the row of a request."""
        name, check = self._of_request(request_fingerprint)
        no_text, _ = self._of_text(bytes(16))
        return Question(name + no_text, check + request_fingerprint)

    def request_entry(self, request_fingerprint: bytes, row_id: bytes) -> bytes:
        """Return the entry of a row's request, as a list for buckets.lua."""
        return _listed([self._of_request(request_fingerprint)], row_id)

    def entries(self, page: Page, row_id: bytes) -> bytes:
        """Return the entries by which a representative is found, as a list for buckets.lua."""
        text = [self._of_text(page.digest)] if self._near.has_text(page) else []
        return _listed([*text, *self._near.entries(page)], row_id)

    def _of_request(self, request_fingerprint: bytes) -> BucketEntry:
        # A request fingerprinter other than Scrapy's may give bytes of any kind.
        digest = blake2b(request_fingerprint, digest_size=8).digest()
        return entry_of(REQUESTS, self._width, digest)

    def _of_text(self, digest: bytes) -> BucketEntry:
        return entry_of(TEXTS, self._width, digest)


def _listed(entries: Iterable[BucketEntry], row_id: bytes) -> bytes:
    whole = ((name, start + row_id) for name, start in entries)
    return b"".join(bytes((len(name), len(entry))) + name + entry for name, entry in whole)
