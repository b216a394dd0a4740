# cython: annotation_typing=False, binding=False
"""Hashes of texts, and sets of 32-bit ones in a few bytes."""

from __future__ import annotations

import struct
import sys
from array import array
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
    """Return a set of hashes in :data:`HASH_BYTES` each: big-endian, ascending."""
    return struct.pack(f">{len(hashes)}I", *sorted(hashes))


def unpack_hashes(packed: bytes) -> frozenset[int]:
    """Return the hashes that :func:`pack_hashes` packed."""
    return frozenset(struct.unpack(f">{len(packed) // HASH_BYTES}I", packed))


_ONE, _OTHER, _THIRD = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = (1 << 64) - 1


def mix(one: int, other: int) -> int:
    """Return 64 bits of two numbers of 64 bits, in this order.

    The multipliers are those of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    """
    one = (one ^ _ONE) * _OTHER & _MASK
    one = ((one ^ one >> 31) + other) * _THIRD & _MASK
    return one ^ one >> 30


def add(one: int, other: int) -> int:
    """Return 64 bits of two numbers of 64 bits, whichever comes first."""
    return one + other & _MASK


def address_id(address: str, anchor: int, place: int) -> int:
    """Return the id of the value that an address is: 48 bits of its own, 16 of its place."""
    return mix(long_hash_of(address), anchor) & ~0xFFFF | place & 0xFFFF


# A set in a table of fixed size: each hash is added to a cell of each of three parts.
_PART = 99
_CELLS = 3 * _PART
TABLE_BYTES = (1 + HASH_BYTES + 1) * _CELLS


def pack_table(hashes: Collection[int]) -> bytes:
    """Return an invertible Bloom lookup table of a set: of its cells the counts, sums and checks.

    From the tables of two sets it is known in what they differ, however large they are, if that
    are at most about 200 hashes (Eppstein, Goodrich, Uyeda and Varghese, "What's the
    Difference?", SIGCOMM 2011).  Cost: O(hashes), 30 ns each if this is compiled.
    """
    counts, sums, checks = _table(hashes)
    if sys.byteorder == "little":
        sums.byteswap()
    return counts.tobytes() + sums.tobytes() + checks.tobytes()


def difference(hashes: Collection[int], table: bytes) -> tuple[set[int], set[int]] | None:
    """Return what a set has that the set of a table has not, and the reverse.

    None if they differ in too many.
    """
    counts, sums, checks = _table(hashes)
    its_sums = array("I", table[_CELLS : _CELLS + HASH_BYTES * _CELLS])
    if sys.byteorder == "little":
        its_sums.byteswap()
    for cell in range(_CELLS):
        counts[cell] = (counts[cell] - table[cell]) & 0xFF
        sums[cell] ^= its_sums[cell]
        checks[cell] ^= table[TABLE_BYTES - _CELLS + cell]
    more: set[int] = set()
    less: set[int] = set()
    waiting = list(range(_CELLS))
    while waiting:
        cell = waiting.pop()
        count, one = counts[cell], sums[cell]
        if count not in (1, 0xFF):
            continue
        mixed = mix(one, 0)
        cells = [_PART * part + (mixed >> 16 * part) % _PART for part in range(3)]
        if checks[cell] != mixed >> 56 or cell not in cells:
            continue  # the sum of several
        side = more if count == 1 else less
        if one in side:
            return None
        side.add(one)
        for there in cells:
            counts[there] = (counts[there] - count) & 0xFF
            sums[there] ^= one
            checks[there] ^= mixed >> 56
            waiting.append(there)
    return None if any(counts) or any(sums) or any(checks) else (more, less)


def _table(hashes: Collection[int]) -> tuple[array[int], array[int], array[int]]:
    counts = array("B", bytes(_CELLS))
    sums = array("I", bytes(HASH_BYTES * _CELLS))
    checks = array("B", bytes(_CELLS))
    _add_all(hashes, counts, sums, checks)
    return counts, sums, checks


def _add_all(
    hashes: Collection[int], counts: array[int], sums: array[int], checks: array[int]
) -> None:
    for one in hashes:
        mixed = mix(one, 0)
        for part in range(3):
            place = _PART * part + (mixed >> 16 * part) % _PART
            counts[place] = (counts[place] + 1) & 0xFF
            sums[place] ^= one
            checks[place] ^= mixed >> 56
