# cython: annotation_typing=False, boundscheck=False, wraparound=False, binding=False
"""A set of addresses in bounded memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterable

from scrapy_simhash.analysis.fingerprint import hash_feature, hash_features

# Slots of 8 bytes: 32 MB at most, of which the system gives only what is used.  An address is
# forgotten when another one takes its slot: of 1 million addresses, 0.01 % are, of 4 million 12 %.
SLOTS = 1 << 22
# An address may take any slot of a line of this many, as in the caches of processors.  With one
# slot for each, 11 % of 1 million would be forgotten, and every copy with 100 links would lead on.
_WAYS = 8


class KnownAddresses:
    """A set of addresses in bounded memory that may forget some, but never invents one.

    Each address is a 64-bit hash in a slot of the line that the hash names: 8 bytes an address.
    A forgotten address counts as new, so that a page passes which leads nowhere new.  Two addresses
    with one hash (a chance of 2**-42 for each page that looks among 2**22) would hide a new one.
    The hash 0, which an empty slot has, is never known.
    """

    def __init__(self, slots: int = SLOTS) -> None:
        self._lines = slots // _WAYS
        self._slots = memoryview(mmap.mmap(-1, 8 * slots)).cast("Q")

    def add(self, addresses: Iterable[str]) -> None:
        """Take note of addresses; 0.1 us each."""
        self.add_hashes(hash_features(addresses))

    def add_hashes(self, hashes: Iterable[int]) -> None:
        """Take note of addresses by what :func:`hash_feature` returns of each."""
        for value in hashes:
            start = value % self._lines * _WAYS
            at, end = start, start + _WAYS
            while at < end and self._slots[at] and self._slots[at] != value:
                at += 1
            self._slots[at if at < end else start + (value >> 32) % _WAYS] = value

    def remove(self, address: str) -> None:
        """Forget an address, if it is known."""
        value = hash_feature(address)
        start = value % self._lines * _WAYS
        line = [self._slots[start + way] for way in range(_WAYS)]
        left = [one for one in line if one != value]
        for way, one in enumerate((*left, *[0] * (_WAYS - len(left)))):
            self._slots[start + way] = one

    def missing(self, addresses: Iterable[str]) -> list[str]:
        """Return those addresses that are not in the set, in order; 0.1 us each."""
        listed = list(addresses)
        hashes = zip(listed, hash_features(listed), strict=True)
        return [address for address, value in hashes if not self.has(value)]

    def __contains__(self, address: str) -> bool:
        return self.has(hash_feature(address))

    def has(self, value: int) -> bool:
        """Whether an address is known, given as what :func:`hash_feature` returns of it."""
        at = value % self._lines * _WAYS
        end = at + _WAYS
        while at < end and self._slots[at]:  # a line is filled from its start
            if self._slots[at] == value:
                return True
            at += 1
        return False
