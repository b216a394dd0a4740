"""The buckets of the server in which a page is looked up and stored.

A bucket is one field of a Redis hash, a string of entries of one width.  The key of a table is one
block of the fingerprint, here rotated to the front::

    | number of the bucket | rest of the key | all other bits |
                           '------------ entry ---------------' + id of the page

A look-up reads the bucket of its own key.  If the table's radius is 1, one bit of the rest may
differ in that bucket.  The look-up then also reads the buckets with a number that differs in one
bit; there the rest must be the same.  Each of these is a search for a few bytes, which Redis does
30 times in a microsecond.  If a bucket's number is the whole key, all its entries are compared, 15
in a microsecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import log2

from scrapy_simhash.errors import IndexFormatError
from scrapy_simhash.rule.page import Page
from scrapy_simhash.rule.rule import CONTENT, MAIN_TEXT, View
from scrapy_simhash.tables.design import BITS, Design, Table, block_design, split_design

# The time of a look-up on the server, in microseconds (one core of an AMD EPYC, 1 million pages):
# for a bucket at a random place, which is not in the processor's cache; for an entry to compare.
READ_MICROSECONDS = 1.0
ENTRY_MICROSECONDS = 0.07

# With 1 million pages, buckets of 15 entries were the quickest to read: reading one at random took
# 0.55 us.  With 8 entries it took 0.9 us (more buckets than the processor's cache holds), with 60
# entries 1.1 us.
ENTRIES_A_BUCKET = 16
MAX_NUMBER_BITS = 24
# Requests and texts are found by a search for bytes: longer buckets are as quick, and cost less
# memory.
LONGER_BITS = 2
# Only once in a thousand look-ups, an entry with the same check belongs to another request or
# text; the page itself shows that.
CHECK_BYTES = 2

REQUESTS, TEXTS, TABLES = 1, 2, 16
VIEWS: dict[View, int] = {CONTENT: 0, MAIN_TEXT: 1}
MAX_TABLES = 16
ID_BYTES = 4

_ALL = (1 << BITS) - 1


def number_bits(pages: int) -> int:
    """Return the width of a bucket's number for an index of *pages*."""
    return min(MAX_NUMBER_BITS, max(LONGER_BITS, round(log2(pages / ENTRIES_A_BUCKET))))


def plan(distance: int, pages: int) -> Design:
    """Return the quicker one for *pages* of the two designs with the fewest entries a page.

    Each entry costs memory that all crawlers share.  With few tables of radius 1, a look-up reads
    many buckets and compares few entries in each.  With one table more than the distance, it reads
    few buckets and compares many entries.

    >>> plan(3, 1_000_000).name, plan(3, 100_000_000).name, plan(7, 1_000_000).name
    ('blocks 4', 'split 2', 'split 4')
    """

    def microseconds(design: Design) -> float:
        tables = [PackedTable(table, 0, number_bits(pages)) for table in design.tables]
        reads = sum(table.fields for table in tables)
        compared = sum(pages * t.fields / (1 << t.number_bits) for t in tables if not t.rest_bits)
        return reads * READ_MICROSECONDS + compared * ENTRY_MICROSECONDS

    return min(split_design(distance), block_design(distance, distance + 1), key=microseconds)


# Measured with 125,000 pages in an index planned for 125,000 (Redis 7.0): the bytes of a page
# without its URL, its sketch and its tables; the bytes of a table's entry besides its own.
PAGE_BYTES = 162.0
ENTRY_BYTES = 4.3


def bytes_per_page(design: Design, pages: int) -> float:
    """Return the bytes of a page in one view, without URL and sketch, in an index of *pages*."""
    tables = [PackedTable(table, 0, number_bits(pages)) for table in design.tables]
    own = sum(table.rest_bytes + table.other_bytes + ID_BYTES for table in tables)
    return PAGE_BYTES + own + ENTRY_BYTES * len(tables)


def design_named(name: str, distance: int) -> Design:
    """Return the design of a stored index.

    :raises IndexFormatError: there is no design of this name.
    """
    for design in (split_design(distance), block_design(distance, distance + 1)):
        if design.name == name:
            return design
    raise IndexFormatError(f"The index has tables {name!r}, which this version does not know")


def _repeat(width: int, count: int) -> int:
    """Return the factor that repeats a number of *width* bits *count* times, side by side."""
    return sum(1 << width * place for place in range(count))


def _beside(width: int, numbers: Sequence[int]) -> int:
    """Return numbers of *width* bits written side by side, the first one first."""
    return sum(number << width * place for place, number in enumerate(reversed(numbers)))


@dataclass(frozen=True)
class PackedTable:
    """A table whose key is one block, and the width of its buckets' numbers."""

    table: Table
    tag: int
    width: int

    @cached_property
    def turn(self) -> int:
        """The number of bits to rotate a fingerprint left, which brings its key to the front."""
        return BITS - self.table.mask.bit_length()

    @cached_property
    def number_bits(self) -> int:
        return min(self.width, self.table.key_bits)

    @cached_property
    def rest_bits(self) -> int:
        return self.table.key_bits - self.number_bits

    @cached_property
    def rest_bytes(self) -> int:
        return -(-self.rest_bits // 8)

    @cached_property
    def other_bytes(self) -> int:
        return -(-(BITS - self.table.key_bits) // 8)

    @cached_property
    def fields(self) -> int:
        """The number of buckets that a look-up reads."""
        return 1 + self.table.radius * self.number_bits

    @cached_property
    def rests(self) -> int:
        """The number of rests that a look-up searches for in the bucket of its own key."""
        return 1 + self.table.radius * self.rest_bits if self.rest_bits else 0

    @cached_property
    def _field_factor(self) -> int:
        return _repeat(32, self.fields)

    @cached_property
    def _field_flips(self) -> int:
        return _beside(32, [0, *(1 << bit for bit in range(self.fields - 1))])

    @cached_property
    def _rest_factor(self) -> int:
        return _repeat(8 * self.rest_bytes, self.rests)

    @cached_property
    def _rest_flips(self) -> int:
        return _beside(8 * self.rest_bytes, [0, *(1 << bit for bit in range(self.rests - 1))])

    def parts(self, fingerprint: int) -> tuple[int, int, int]:
        """Return the number of the bucket, the rest of the key, and all other bits."""
        turned = (fingerprint << self.turn | fingerprint >> BITS - self.turn) & _ALL
        key, other_bits = turned >> BITS - self.table.key_bits, BITS - self.table.key_bits
        number, rest = key >> self.rest_bits, key & (1 << self.rest_bits) - 1
        return number, rest, turned & (1 << other_bits) - 1

    def question(self, view: int, fingerprint: int) -> tuple[bytes, bytes]:
        """Return the names of the buckets to read, and the data on the table for add_page.lua."""
        number, rest, other = self.parts(fingerprint)
        name = (self.tag + MAX_TABLES * view << MAX_NUMBER_BITS) | number
        names = (name * self._field_factor ^ self._field_flips).to_bytes(4 * self.fields, "big")
        rests = (rest * self._rest_factor ^ self._rest_flips).to_bytes(
            self.rest_bytes * self.rests, "big"
        )
        layout = bytes((view, self.rest_bytes, self.other_bytes, self.fields, self.rests))
        return names, layout + rests + other.to_bytes(self.other_bytes, "big")

    def place(self, view: int, fingerprint: int) -> tuple[bytes, bytes]:
        """Return the name of the bucket for a fingerprint, and its entry there."""
        number, rest, other = self.parts(fingerprint)
        name = (self.tag + MAX_TABLES * view << MAX_NUMBER_BITS) | number
        entry = rest.to_bytes(self.rest_bytes, "big") + other.to_bytes(self.other_bytes, "big")
        return name.to_bytes(4, "big"), entry


@dataclass(frozen=True)
class Question:
    """Arguments 4 to 7 of add_page.lua, for one page."""

    names: bytes
    request: bytes
    text: bytes
    tables: bytes


class Buckets:
    """The buckets of an index with the tables of *design*, sized for *pages* in a scope."""

    def __init__(self, design: Design, pages: int) -> None:
        self.width = number_bits(pages)
        self.tables = [
            PackedTable(table, TABLES + position, self.width)
            for position, table in enumerate(design.tables)
        ]

    def question(
        self, request_fingerprint: bytes, digest: bytes | None, views: Sequence[tuple[View, int]]
    ) -> Question:
        """Return the question for a page; *digest* is None if the page is not found by its text."""
        request_name, request_check = self._of_request(request_fingerprint)
        text_name, text_check = self._of_text(digest or bytes(16))
        asked = [
            table.question(VIEWS[view], fingerprint)
            for view, fingerprint in views
            for table in self.tables
        ]
        return Question(
            names=request_name + text_name + b"".join(names for names, _ in asked),
            request=request_check + request_fingerprint,
            text=b"" if digest is None else text_check + digest,
            tables=b"".join(told for _, told in asked),
        )

    def request_place(self, request_fingerprint: bytes, row_id: bytes) -> bytes:
        """Return the place of a row's request, in the form of a list for buckets.lua."""
        name, check = self._of_request(request_fingerprint)
        return _listed(name, check + row_id)

    def places(
        self, page: Page, has_text: bool, views: Sequence[tuple[View, int]], row_id: bytes
    ) -> bytes:
        """Return the places by which a representative is found, as a list for buckets.lua."""
        name, check = self._of_text(page.digest)
        found = [_listed(name, check + row_id)] if has_text else []
        for view, fingerprint in views:
            for table in self.tables:
                name, entry = table.place(VIEWS[view], fingerprint)
                found.append(_listed(name, entry + row_id))
        return b"".join(found)

    def _of_request(self, request_fingerprint: bytes) -> tuple[bytes, bytes]:
        # A request fingerprinter other than Scrapy's may give bytes of any kind.
        digest = blake2b(request_fingerprint, digest_size=8).digest()
        return self._name(REQUESTS, digest), digest[-CHECK_BYTES:]

    def _of_text(self, digest: bytes) -> tuple[bytes, bytes]:
        return self._name(TEXTS, digest), digest[-CHECK_BYTES:]

    def _name(self, tag: int, digest: bytes) -> bytes:
        number = int.from_bytes(digest[:4], "big") & (1 << self.width - LONGER_BITS) - 1
        return (tag << MAX_NUMBER_BITS | number).to_bytes(4, "big")


def _listed(name: bytes, entry: bytes) -> bytes:
    return bytes((len(name), len(entry))) + name + entry
