"""Where a page leads, in a few bytes: the hashes of the addresses that its content links to."""

from __future__ import annotations

from collections.abc import Collection

from scrapy_simhash.rule.hashes import hash_of, pack_hashes, unpack_hashes

# A page with more links has none stored: 256 bytes a page.
MAX_STORED = 64


def pack_links(addresses: Collection[str]) -> bytes | None:
    """Return the hashes of addresses; None if there are more than :data:`MAX_STORED`."""
    if len(addresses) > MAX_STORED:
        return None
    return pack_hashes(set(map(hash_of, addresses)))


def unpack_links(links: bytes | None) -> frozenset[int]:
    """Return the hashes that :func:`pack_links` packed; none if they are not known."""
    return unpack_hashes(links or b"")
