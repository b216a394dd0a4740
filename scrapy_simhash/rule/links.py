"""Where a page leads, in a few bytes: the hashes of the addresses that its content links to.

Hashes are of 32 bits, big-endian, each once, ascending.
"""

from __future__ import annotations

import struct
from collections.abc import Collection

import mmh3

# A page with more links has none stored: 256 bytes a page.
MAX_STORED = 64


def hash_of(address: str) -> int:
    """Return 32 bits of an address."""
    return mmh3.hash(address.encode("utf-8", "surrogatepass"), 0, False)


def pack_links(addresses: Collection[str]) -> bytes | None:
    """Return the hashes of addresses; None if there are more than :data:`MAX_STORED`."""
    if len(addresses) > MAX_STORED:
        return None
    hashes = sorted(set(map(hash_of, addresses)))
    return struct.pack(f">{len(hashes)}I", *hashes)


def unpack_links(links: bytes | None) -> frozenset[int]:
    """Return the hashes that :func:`pack_links` packed; none if they are not known."""
    return frozenset() if not links else frozenset(struct.unpack(f">{len(links) // 4}I", links))
