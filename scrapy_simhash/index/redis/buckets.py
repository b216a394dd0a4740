"""The buckets of the server in which a page is looked up and stored.

A bucket is one field of a Redis hash, a string of entries of one width::

    | tag | number |  ->  | check or bits | id | check or bits | id | ...
     1 byte  3 bytes

A page is found by its request, by its text, and by what is near it: by permuted tables, or by keys.

With the paper's plain rule, :class:`NearTables` finds all pages within the distance.  The key of a
table is one block of the fingerprint, here rotated to the front::

    | number of the bucket | rest of the key | all other bits |
                           '------------ entry ---------------' + id of the page

A look-up reads the bucket of its own key.  If the table's radius is 1, one bit of the rest may
differ in that bucket.  The look-up then also reads the buckets with a number that differs in one
bit; there the rest must be the same.  Each of these is a search for a few bytes, which Redis does
30 times in a microsecond.  If a bucket's number is the whole key, all its entries are compared, 15
in a microsecond.

With verification, a page needs the kept pages that share nearly all of its content.
:class:`NearKeys` finds them by the keys of its sketch
(:func:`scrapy_simhash.decision.sketch.keys`). Permuted tables for 7 bits and two views read 136
buckets and compare what grows with the pages; keys read 8 buckets, and find more: two pages that
share 0.9 of their shingles are within 7 bits in half of the cases, and have a key in common in
9,999 of 10,000.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from math import log2
from typing import NamedTuple, TypeAlias

from scrapy_simhash.decision.page import Page
from scrapy_simhash.decision.sketch import keys
from scrapy_simhash.tables.design import BITS, Design, Table, block_design, split_design

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

_ALL = (1 << BITS) - 1
# What changes no bit of a number, or one.
_FLIPS = [0, *(1 << bit for bit in range(BITS))]

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


def plan(distance: int, pages: int) -> Design:
    """Return the quicker one for *pages* of the two designs with the fewest entries a page.

    Each entry costs memory that all crawlers share.  With few tables of radius 1, a look-up reads
    many buckets and compares few entries in each.  With one table more than the distance, it reads
    few buckets and compares many entries.

    >>> plan(3, 1_000_000).name, plan(3, 100_000_000).name, plan(7, 1_000_000).name
    ('blocks 4', 'split 2', 'split 4')
    """

    def microseconds(design: Design) -> float:
        tables = _packed(design, pages)
        reads = sum(table.fields for table in tables)
        compared = sum(pages * t.fields / (1 << t.number_bits) for t in tables if not t.rest_bits)
        return reads * READ_MICROSECONDS + compared * ENTRY_MICROSECONDS

    return min(split_design(distance), block_design(distance, distance + 1), key=microseconds)


class PackedTable:
    """A table whose key is one block, in buckets whose numbers have *width* bits."""

    def __init__(self, table: Table, tag: int, width: int) -> None:
        self._tag = tag
        self._key_bits = table.key_bits
        # To the left, which brings the key to the front.
        self._turn = BITS - table.mask.bit_length()
        self.number_bits = min(width, table.key_bits)
        self.rest_bits = table.key_bits - self.number_bits
        self.rest_bytes = -(-self.rest_bits // 8)
        self.other_bytes = -(-(BITS - table.key_bits) // 8)
        # How many buckets a look-up reads, and how many rests it looks for in that of its own key.
        self.fields = 1 + table.radius * self.number_bits
        self.rests = 1 + table.radius * self.rest_bits if self.rest_bits else 0

    def parts(self, fingerprint: int) -> tuple[int, int, int]:
        """Return the number of the bucket, the rest of the key, and all other bits."""
        turned = (fingerprint << self._turn | fingerprint >> BITS - self._turn) & _ALL
        other_bits = BITS - self._key_bits
        key = turned >> other_bits
        number, rest = key >> self.rest_bits, key & (1 << self.rest_bits) - 1
        return number, rest, turned & (1 << other_bits) - 1

    def question(self, fingerprint: int) -> tuple[bytes, bytes]:
        """Return the names of the buckets to read, and what near_tables.lua has to know."""
        number, rest, other = self.parts(fingerprint)
        name = self._tag << MAX_NUMBER_BITS | number
        names = [(name ^ flip).to_bytes(4, "big") for flip in _FLIPS[: self.fields]]
        rests = [(rest ^ flip).to_bytes(self.rest_bytes, "big") for flip in _FLIPS[: self.rests]]
        layout = bytes((self.rest_bytes, self.other_bytes, self.fields, self.rests))
        return b"".join(names), b"".join([layout, *rests, other.to_bytes(self.other_bytes, "big")])

    def entry(self, fingerprint: int) -> BucketEntry:
        """Return the entry of a fingerprint."""
        number, rest, other = self.parts(fingerprint)
        name = self._tag << MAX_NUMBER_BITS | number
        entry = rest.to_bytes(self.rest_bytes, "big") + other.to_bytes(self.other_bytes, "big")
        return name.to_bytes(4, "big"), entry


def _packed(design: Design, pages: int) -> list[PackedTable]:
    """Return the tables of a design, with buckets for *pages* in a scope."""
    width = number_bits(pages)
    return [PackedTable(table, NEAR + i, width) for i, table in enumerate(design.tables)]


class NearTables:
    """The permuted tables of an index that are planned for *pages* in a scope.

    A page with fewer than *min_tokens* is near no other.
    """

    script = "near_tables.lua"

    def __init__(self, distance: int, min_tokens: int, pages: int) -> None:
        design = plan(distance, pages)
        self.name = design.name
        self._min_tokens = min_tokens
        self._tables = _packed(design, pages)

    def has_text(self, page: Page) -> bool:
        """Whether a page is found by its text."""
        return True

    def question(self, page: Page) -> tuple[bytes, bytes]:
        """Return the names of the buckets to read, and what to look for there."""
        asked = [table.question(page.fingerprint) for table in self._of(page)]
        return b"".join(names for names, _ in asked), b"".join(wanted for _, wanted in asked)

    def entries(self, page: Page) -> list[BucketEntry]:
        """Return all entries that a representative may have."""
        return [table.entry(page.fingerprint) for table in self._of(page)]

    def _of(self, page: Page) -> Sequence[PackedTable]:
        return self._tables if page.tokens >= self._min_tokens else ()


class NearKeys:
    """The keys of the sketches of an index, for *pages* in a scope; see :class:`NearTables`."""

    name = "keys"
    script = "near_keys.lua"

    def __init__(self, pages: int) -> None:
        self._width = number_bits(pages)

    def has_text(self, page: Page) -> bool:
        return bool(page.tokens)  # an empty text says nothing

    def question(self, page: Page) -> tuple[bytes, bytes]:
        entries = self.entries(page)
        return b"".join(name for name, _ in entries), b"".join(check for _, check in entries)

    def entries(self, page: Page) -> list[BucketEntry]:
        found = [] if page.sketch is None else keys(page.sketch)
        return [entry_of(NEAR, self._width, key) for key in found]
