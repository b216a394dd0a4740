# cython: annotation_typing=False, binding=False
"""Hashes of texts, and sets of 32-bit ones in a few bytes: big-endian, each once, ascending."""

from __future__ import annotations

import struct
from collections.abc import Collection

import mmh3

HASH_BYTES = 4


def hash_of(text: str) -> int:
    """Return 32 bits, the same in every process.

    The text is encoded here, since mmh3 5.3 crashes on a string with a surrogate.
    """
    return mmh3.hash(text.encode("utf-8", "surrogatepass"), 0, False)


def long_hash_of(text: str) -> int:
    """Return 64 bits, the same in every process; see :func:`hash_of`."""
    return mmh3.hash64(text.encode("utf-8", "surrogatepass"), signed=False)[0]


def pack_hashes(hashes: Collection[int]) -> bytes:
    """Return a set of hashes in :data:`HASH_BYTES` each."""
    return struct.pack(f">{len(hashes)}I", *sorted(hashes))


def unpack_hashes(packed: bytes) -> frozenset[int]:
    """Return the hashes that :func:`pack_hashes` packed."""
    return frozenset(struct.unpack(f">{len(packed) // HASH_BYTES}I", packed))


def lowest(count: int, hashes: Collection[int], bits: int) -> list[int]:
    """Return the lowest of different hashes with a number of bits, in order.

    Those of a page are spread evenly: to sort the lower ones takes a tenth of a heap's time.
    """
    limit = (2 * count << bits) // max(1, len(hashes))
    low = sorted(value for value in hashes if value < limit)
    return (low if len(low) >= count else sorted(hashes))[:count]


_ONE, _OTHER, _THIRD = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = (1 << 64) - 1


def mix(one: int, other: int) -> int:
    """Return 64 bits of two numbers of 64 bits, in this order.

    The multipliers are those of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    """
    one = (one ^ _ONE) * _OTHER & _MASK
    one = ((one ^ one >> 31) + other) * _THIRD & _MASK
    return one ^ one >> 30


def address_id(address: str, anchor: int, place: int) -> int:
    """Return the id of the value that an address is: 48 bits of its own, 16 of its place."""
    return mix(long_hash_of(address), anchor) & ~0xFFFF | place & 0xFFFF
