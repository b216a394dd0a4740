"""A few hundred bytes of a page, which estimate how much of its text another page shares.

A sketch is a bottom-k sample (Broder, "On the resemblance and containment of documents",
SEQUENCES 1997; Cohen and Kaplan, "Summarizing data using bottom-k sketches", PODC 2007): the
shingles of the page's content that have the lowest hashes.  Each carries a mark of its block.
So a comparison can leave out the blocks of the site's template, even if these were learned after
the sketch was made.

::

    | sample is whole | total | keys  | block, count, hash, hash ... | block, count, ...    bytes
            1             6     8 x 5    2      1     3     3             2      1

Byte order is big-endian.  A hash is the upper 23 bits of 64, and a bit that says whether the page
hides the shingle; the mark of a block is the lower 16 bits of its id.  The total is the sum of the
hashes of all shingles: two pages with one total have the same content, if nobody made it so.
Blocks come in the order of their lowest hashes, which rise in each block.  After the keys, a
sketch consists of words of 24 bits.

A key is the lower 40 bits of one of the eight lowest hashes, so it says nothing of their order.
Fewer hashes leave zeros.  An index can find a page by its keys: two pages that share 0.9 of their
shingles have one of the four lowest in common in all but 1 of 10,000 cases.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from scrapy_simhash.hashes import lowest

# A sketch has as many samples as fit: the medians for the larger pages of three sites are 126 to
# 154, the minimum is 87.  The standard error of a share of 0.9 is 0.024 for 150 samples.
MAX_SAMPLE_BYTES = 511
# With fewer samples, a share says nothing, unless the samples are the whole page.
MIN_SAMPLES = 20

# Two pages of 10,000 shingles, with 150 samples each, have 0.2 samples in common by chance.
HASH_BITS = 24
HIDDEN = 1
NO_LIMIT = 1 << HASH_BITS
# The sketch of a kept page is read again for each of its copies.  This many unpacked sketches take
# 2 MB, by tracemalloc; that is more than one page is compared with.
UNPACKED_KEPT = 256
WORD_BYTES = 3
# No more samples than this fit.
MOST_SAMPLES = MAX_SAMPLE_BYTES // WORD_BYTES
_TOTAL_BYTES = 6
KEY_BYTES = 5
_KEYS = 8
_KEYS_AT = 1 + _TOTAL_BYTES
HEAD_BYTES = _KEYS_AT + _KEYS * KEY_BYTES
_NO_KEY = bytes(KEY_BYTES)


def is_sketch(stored: bytes) -> bool:
    """Whether bytes have the form of a result of :meth:`Sketch.to_bytes`."""
    at = HEAD_BYTES
    if len(stored) < at:
        return False
    while at + WORD_BYTES <= len(stored):
        at += WORD_BYTES * (1 + stored[at + 2])
    return at == len(stored)


def keys(stored: bytes) -> list[bytes]:
    """Return the keys of a page by its stored sketch: at most 8 of 5 bytes, the lowest hash first.

    >>> [key.hex() for key in keys(Sketch.of({1 << 50 | 0xAB: 7, 3: 7}).to_bytes())]
    ['0000000003', '00000000ab']
    """
    found = [stored[at : at + KEY_BYTES] for at in range(_KEYS_AT, HEAD_BYTES, KEY_BYTES)]
    return [key for key in found if key != _NO_KEY]


def total_of(stored: bytes) -> bytes:
    """Return the sum of the hashes of all shingles of a page, by its stored sketch."""
    return stored[1:_KEYS_AT]


def mark(block: int) -> int:
    """Return the mark of a block in a sketch: the lower 16 bits of its id."""
    return block & 0xFFFF


@dataclass(frozen=True, slots=True)
class Sketch:
    """The samples of a page, by the marks of their blocks: all its hashes up to *limit*.

    *total* is the sum of the hashes of all shingles, *keys* are its keys as they are stored.
    """

    limit: int
    samples: Mapping[int, tuple[int, ...]]
    total: int
    keys: bytes

    @property
    def whole(self) -> bool:
        """Whether the samples are all hashes of the page."""
        return self.limit == NO_LIMIT

    @classmethod
    def of(cls, shingles: Mapping[int, int], hidden: Collection[int] = ()) -> Sketch:
        """Return the sketch of *shingles*: 64-bit hash -> id of its block.

        *hidden* are the hashes of those that the page does not show.
        """
        sample = {value: shingles[value] for value in lowest(MOST_SAMPLES, shingles, 64)}
        return cls.of_lowest(sample, sum(shingles), hidden)

    @classmethod
    def of_lowest(
        cls, sample: Mapping[int, int], total: int, hidden: Collection[int] = ()
    ) -> Sketch:
        """Return the sketch of shingles whose lowest :data:`MOST_SAMPLES` are given, in order.

        *total* is the sum of all hashes.
        """
        room = MAX_SAMPLE_BYTES
        marks: dict[int, int] = {}
        met: set[int] = set()
        for value, block in sample.items():
            room -= WORD_BYTES * (1 if mark(block) in met else 2)
            if room < 0:
                break
            met.add(mark(block))
            marks[value >> 64 - HASH_BITS & ~HIDDEN | (value in hidden)] = mark(block)
        samples: dict[int, list[int]] = {}
        for value, block in marks.items():
            samples.setdefault(block, []).append(value)
        total %= 1 << 8 * _TOTAL_BYTES
        keys = b"".join(value.to_bytes(8, "big")[-KEY_BYTES:] for value in islice(sample, _KEYS))
        by_block = {block: tuple(values) for block, values in samples.items()}
        return cls._of(room >= 0, by_block, total, keys.ljust(_KEYS * KEY_BYTES, b"\0"))

    def to_bytes(self) -> bytes:
        """Return at most 558 bytes."""
        words: list[int] = []
        for block, values in self.samples.items():
            words += (256 * block + len(values), *values)
        total = self.total.to_bytes(_TOTAL_BYTES, "big")
        return bytes([self.whole]) + total + self.keys + _packed(words)

    @classmethod
    @lru_cache(UNPACKED_KEPT)
    def from_bytes(cls, stored: bytes) -> Sketch:
        """Return the sketch that :meth:`to_bytes` stored."""
        words = _unpacked(stored[HEAD_BYTES:])
        samples: dict[int, tuple[int, ...]] = {}
        at = 0
        while at < len(words):
            block, count = divmod(words[at], 256)
            samples[block] = words[at + 1 : at + 1 + count]
            at += 1 + count
        total = int.from_bytes(stored[1:_KEYS_AT], "big")
        return cls._of(bool(stored[0]), samples, total, stored[_KEYS_AT:HEAD_BYTES])

    @classmethod
    def _of(
        cls, whole: bool, samples: Mapping[int, tuple[int, ...]], total: int, keys: bytes
    ) -> Sketch:
        highest = max(chain.from_iterable(samples.values()), default=0)
        return cls(NO_LIMIT if whole else highest, samples, total, keys)

    def up_to(self, limit: int, template: Collection[int]) -> set[int]:
        """Return the samples up to *limit*, without those of blocks with a mark in *template*."""
        samples = set().union(
            *(values for block, values in self.samples.items() if block not in template)
        )
        return samples if self.limit <= limit else {value for value in samples if value <= limit}


class Overlap(NamedTuple):
    """The estimated Jaccard similarity of two pages, and the number of shingles compared.

    *first_in_second* says that the second page has all shingles of the first, *second_in_first*
    that the first has all of the second, *hidden_in_second* that the second has all that the first
    one hides.  *is_exact* says that this holds for all shingles and not only for samples: both
    samples are whole, or the totals are equal.
    """

    share: float
    compared: int
    first_in_second: bool
    second_in_first: bool
    hidden_in_second: bool
    is_exact: bool


def _packed(words: Collection[int]) -> bytes:
    """Return words of 24 bits as bytes: packed as 32 bits by struct, without the zero bytes."""
    wide = struct.pack(f">{len(words)}I", *words)
    packed = bytearray(WORD_BYTES * len(words))
    packed[0::3], packed[1::3], packed[2::3] = wide[1::4], wide[2::4], wide[3::4]
    return bytes(packed)


def _unpacked(packed: bytes) -> tuple[int, ...]:
    """Return all words of 24 bits at once: one by one, a sketch takes 20 us instead of 6."""
    wide = bytearray(len(packed) // WORD_BYTES * 4)
    wide[1::4], wide[2::4], wide[3::4] = packed[0::3], packed[1::3], packed[2::3]
    return struct.unpack(f">{len(wide) // 4}I", wide)
