"""Hashes of texts, and sets of 32-bit ones in a few bytes: big-endian, each once, ascending."""

from __future__ import annotations

import struct
from collections.abc import Collection

import mmh3


def hash_of(text: str) -> int:
    """Return 32 bits, the same in every process.

    The text is encoded here, since mmh3 5.3 crashes on a string with a surrogate.
    """
    return mmh3.hash(text.encode("utf-8", "surrogatepass"), 0, False)


def long_hash_of(text: str) -> int:
    """Return 64 bits, the same in every process; see :func:`hash_of`."""
    return mmh3.hash64(text.encode("utf-8", "surrogatepass"), signed=False)[0]


def pack_hashes(hashes: Collection[int]) -> bytes:
    """Return a set of hashes in 4 bytes each."""
    return struct.pack(f">{len(hashes)}I", *sorted(hashes))


def unpack_hashes(packed: bytes) -> frozenset[int]:
    """Return the hashes that :func:`pack_hashes` packed."""
    return frozenset(struct.unpack(f">{len(packed) // 4}I", packed))
