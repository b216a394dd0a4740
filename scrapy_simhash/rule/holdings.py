"""What a page holds beside its text, in a few bytes: addresses, and data.

Both are sets of 32-bit hashes.  Of addresses, there are all or none.  Of data, there are those with
the lowest hashes, as many as may be stored: whether the page has a value with a higher hash than
the last of these is not known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from scrapy_simhash.rule.hashes import hash_of, pack_hashes, unpack_hashes

# A page with more addresses has none stored: 256 bytes a page.
MAX_ADDRESSES = 64
# More than the pages of five documentation sites have (at most 267), at 4 bytes each.
MAX_DATA = 512


def pack_addresses(addresses: Collection[str]) -> bytes | None:
    """Return the hashes of addresses; None if there are more than :data:`MAX_ADDRESSES`."""
    if len(addresses) > MAX_ADDRESSES:
        return None
    return pack_hashes(set(map(hash_of, addresses)))


def unpack_addresses(packed: bytes | None) -> frozenset[int]:
    """Return the hashes that :func:`pack_addresses` packed; none if they are not known."""
    return unpack_hashes(packed or b"")


def pack_data(values: Iterable[int]) -> bytes:
    """Return the upper halves of hashes of 64 bits, at most :data:`MAX_DATA` of them."""
    return pack_hashes(sorted({value >> 32 for value in values})[:MAX_DATA])


def has_new_data(
    data: Mapping[int, Collection[int]],
    kept: bytes | None,
    template: Collection[int],
    noise: Collection[int],
) -> bool:
    """Whether a page has a value that a kept one, with its packed data, is not known to have.

    *data* are the 64-bit hashes of the page's values, by their places.  Values in *template* do not
    count, nor do those in the places of *noise*.
    """
    hashes = unpack_hashes(kept or b"")
    limit = max(hashes) if len(hashes) == MAX_DATA else 1 << 32
    return any(
        value >> 32 not in hashes and value >> 32 <= limit and value not in template
        for place, values in data.items()
        if place not in noise
        for value in values
    )
