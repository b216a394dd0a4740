"""What a crawl has seen at which address: a map from 64-bit keys to small values.

| key, 64 bits | content, 21 bits | address, 8 bits | is a copy | is kept | is tried |

The keys lie in sorted blocks, as in the lists of sortedcontainers: 12 bytes an entry, and at most
15 with the room that arrays leave to grow.  Beside them is a filter (Bloom, "Space/time trade-offs
in hash coding with allowable errors", Communications of the ACM 13, 1970): one bit for each key,
the same whatever its salt is.
"""

from __future__ import annotations

import mmap
from array import array
from bisect import bisect_left, bisect_right
from typing import NamedTuple

# A key takes 12 bytes, so all take less than 16 MB.
MAX_SIGHTINGS = 1 << 20
# A block of more is split into two.
MAX_BLOCK = 512

_CONTENT_BITS = 21
_ADDRESS_BITS = 8
# Of the filter: 16 for each key, if there are as many as may be.
_FILTER_BITS = 24
_FILTER_MASK = (1 << _FILTER_BITS) - 1


class Sighting(NamedTuple):
    """What was seen under a key: hashes of the kept page whose content it was, and of an address.

    *is_kept*: this kept page is itself under the key.  *is_tried*: the key has had its trial.
    *is_copy*: a page under the key is a copy of the kept page, and a rule says why.
    Two contents have the same hash with a chance of 2**-21; then a failure is overlooked.  Two
    addresses have with one of 2**-8; then a trial is.
    """

    content: int
    address: int
    is_kept: bool
    is_tried: bool
    is_copy: bool

    @classmethod
    def of(
        cls,
        content: int,
        address: int,
        is_kept: bool,
        is_tried: bool = False,
        is_copy: bool = False,
    ) -> Sighting:
        """Return a sighting from hashes of any length."""
        content, address = content_of(content), address % (1 << _ADDRESS_BITS)
        return cls(content, address, is_kept, is_tried, is_copy)

    @property
    def is_known(self) -> bool:
        """Whether nothing is lost if no other page with the key is downloaded."""
        return self.is_kept or self.is_copy

    def is_at(self, address: int) -> bool:
        """Whether it was seen at an address, which is a hash of any length."""
        return self.address == address % (1 << _ADDRESS_BITS)


class Sightings:
    """Sightings by key, in bounded memory: it may forget some, but never invents one.

    Several may have one key, each with a salt of 64 bits; without any, the salt is 0.
    """

    def __init__(self, limit: int = MAX_SIGHTINGS) -> None:
        self._limit = limit
        self._size = 0
        # The first key of each block but the first.
        self._starts: list[int] = []
        self._keys = [array("Q")]
        self._values = [array("I")]
        # A bit for each content: whether its page is kept no more.
        self._retracted = bytearray(1 << _CONTENT_BITS - 3)
        # What nothing was put under takes no memory: it is mapped when it is written to.
        self._filter = mmap.mmap(-1, 1 << _FILTER_BITS - 3)

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        blocks = (*self._keys, *self._values, *self._starts)
        return sum(block.__sizeof__() for block in blocks) + 3 * 8 * len(self._keys)

    def may_have(self, key: int) -> bool:
        """Whether anything may have been put under a key, with whatever salt; 0.2 us."""
        return bool(self._filter[(key & _FILTER_MASK) >> 3] >> (key & 7) & 1)

    def get(self, key: int, salt: int = 0) -> Sighting | None:
        """Return what was seen under a key; 1 us, and 0.2 us if there is nothing, mostly."""
        if not self.may_have(key):
            return None
        salted = key ^ salt
        block = bisect_right(self._starts, salted)
        keys = self._keys[block]
        place = bisect_left(keys, salted)
        if place == len(keys) or keys[place] != salted:
            return None
        found = _unpacked(self._values[block][place])
        if found.is_copy and self._retracted[found.content >> 3] >> (found.content & 7) & 1:
            return found._replace(is_copy=False)
        return found

    def put(self, key: int, sighting: Sighting, salt: int = 0) -> None:
        """Note what was seen under a key, in place of what was there; 2 us."""
        self._filter[(key & _FILTER_MASK) >> 3] |= 1 << (key & 7)
        salted = key ^ salt
        block = bisect_right(self._starts, salted)
        keys, values = self._keys[block], self._values[block]
        place = bisect_left(keys, salted)
        if place < len(keys) and keys[place] == salted:
            values[place] = _packed(sighting)
            return
        keys.insert(place, salted)
        values.insert(place, _packed(sighting))
        self._size += 1
        if len(keys) > MAX_BLOCK:
            self._split(block)
        if self._size > self._limit:
            self._forget_block(salted)

    def remove(self, key: int, salt: int = 0) -> None:
        """Forget what was seen under a key, if it is there."""
        salted = key ^ salt
        block = bisect_right(self._starts, salted)
        keys = self._keys[block]
        place = bisect_left(keys, salted)
        if place < len(keys) and keys[place] == salted:
            del keys[place], self._values[block][place]
            self._size -= 1

    def retract(self, content: int) -> None:
        """Note that a page is kept no more, nor are its copies: never again."""
        self._retracted[content >> 3] |= 1 << (content & 7)

    def _split(self, block: int) -> None:
        half = MAX_BLOCK // 2
        keys, values = self._keys[block], self._values[block]
        self._keys[block : block + 1] = [keys[:half], keys[half:]]
        self._values[block : block + 1] = [values[:half], values[half:]]
        self._starts.insert(block, keys[half])

    def _forget_block(self, key: int) -> None:
        """Forget a block; keys are hashes, so the lowest bits of one choose a block by chance."""
        block = key % len(self._keys)
        self._size -= len(self._keys[block])
        if len(self._keys) == 1:
            del self._keys[0][:], self._values[0][:]
            return
        del self._keys[block], self._values[block], self._starts[max(block - 1, 0)]


def content_of(page: int) -> int:
    """Return what stands for the content of a kept page, from a hash of its address."""
    return page % (1 << _CONTENT_BITS)


def _packed(sighting: Sighting) -> int:
    flags = sighting.is_copy << 2 | sighting.is_kept << 1 | sighting.is_tried
    return (sighting.content << _ADDRESS_BITS | sighting.address) << 3 | flags


def _unpacked(value: int) -> Sighting:
    above = value >> 3
    return Sighting(
        above >> _ADDRESS_BITS,
        above % (1 << _ADDRESS_BITS),
        bool(value & 2),
        bool(value & 1),
        bool(value & 4),
    )
