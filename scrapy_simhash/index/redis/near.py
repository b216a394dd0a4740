"""Finding what is near a page in the buckets of the server: by permuted tables, or by keys.

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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from scrapy_simhash.decision.page import Page
from scrapy_simhash.decision.sketch import keys
from scrapy_simhash.errors import IndexFormatError
from scrapy_simhash.index.redis.buckets import (
    ID_BYTES,
    MAX_NUMBER_BITS,
    NEAR,
    BucketEntry,
    entry_of,
    number_bits,
)
from scrapy_simhash.tables.design import BITS, Design, Table, block_design, split_design

# The time of a look-up on the server, in microseconds (one core of an AMD EPYC, 1 million pages):
# for a bucket at a random place, which is not in the processor's cache; for an entry to compare.
READ_MICROSECONDS = 1.0
ENTRY_MICROSECONDS = 0.07

_ALL = (1 << BITS) - 1


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


# Measured with 125,000 pages in an index planned for 125,000 (Redis 7.0): the bytes of a page
# without its URL and its tables; the bytes of a table's entry besides its own; the bytes of a page
# that is found by keys, without its URL and its sketch.
PAGE_BYTES = 202.0
ENTRY_BYTES = 4.3
BYTES_PER_PAGE_WITH_KEYS = 269.0


def bytes_per_page(design: Design, pages: int) -> float:
    """Return the bytes of a page without its URL, in permuted tables for *pages*."""
    tables = _packed(design, pages)
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

    def question(self, fingerprint: int) -> tuple[bytes, bytes]:
        """Return the names of the buckets to read, and what near_tables.lua has to know."""
        number, rest, other = self.parts(fingerprint)
        name = self.tag << MAX_NUMBER_BITS | number
        names = (name * self._field_factor ^ self._field_flips).to_bytes(4 * self.fields, "big")
        rests = (rest * self._rest_factor ^ self._rest_flips).to_bytes(
            self.rest_bytes * self.rests, "big"
        )
        layout = bytes((self.rest_bytes, self.other_bytes, self.fields, self.rests))
        return names, layout + rests + other.to_bytes(self.other_bytes, "big")

    def entry(self, fingerprint: int) -> BucketEntry:
        """Return the entry of a fingerprint."""
        number, rest, other = self.parts(fingerprint)
        name = self.tag << MAX_NUMBER_BITS | number
        entry = rest.to_bytes(self.rest_bytes, "big") + other.to_bytes(self.other_bytes, "big")
        return name.to_bytes(4, "big"), entry


def _packed(design: Design, pages: int) -> list[PackedTable]:
    """Return the tables of a design, with buckets for *pages* in a scope."""
    width = number_bits(pages)
    return [PackedTable(table, NEAR + i, width) for i, table in enumerate(design.tables)]


class NearTables:
    """The permuted tables of an index, by the *design* that is planned for *pages* in a scope.

    A page with fewer than *min_tokens* is near no other.
    """

    script = "near_tables.lua"

    def __init__(self, design: Design, min_tokens: int, pages: int) -> None:
        self.name = design.name
        self._min_tokens = min_tokens
        self._tables = _packed(design, pages)

    def has_text(self, page: Page) -> bool:
        return True

    def question(self, page: Page) -> tuple[bytes, bytes]:
        asked = [table.question(page.fingerprint) for table in self._of(page)]
        return b"".join(names for names, _ in asked), b"".join(wanted for _, wanted in asked)

    def entries(self, page: Page) -> list[BucketEntry]:
        return [table.entry(page.fingerprint) for table in self._of(page)]

    def _of(self, page: Page) -> Sequence[PackedTable]:
        return self._tables if page.tokens >= self._min_tokens else ()


class NearKeys:
    """The keys of the sketches of an index, for *pages* in a scope."""

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
