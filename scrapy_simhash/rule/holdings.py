"""What a page holds beside its text, in a few bytes: addresses, and data.

Both are sets of 32-bit hashes.  Of addresses, there are all or none.  Of data, there are those with
the lowest hashes, as many as may be stored: whether the page has a value with a higher hash than
the last of these is not known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping
from itertools import chain

from scrapy_simhash.rule.engine import compiled
from scrapy_simhash.rule.hashes import (
    HASH_BYTES,
    hash_of,
    lowest_halves,
    pack_hashes,
    unpack_hashes,
)
from scrapy_simhash.rule.sections import BySection, TemplateOf, no_template

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
    return pack_hashes(lowest_halves(MAX_DATA, list(values)))


class OwnData:
    """The data of a page that counts, to be compared with that of kept pages.

    *data* are the 64-bit hashes of the page's values, by their places.  Values in *template* do not
    count, nor do those in the places of *noise*, nor, beside a page of another *section*, what
    *template_of* says that this one repeats.
    """

    def __init__(
        self,
        data: Mapping[int, Collection[int]],
        template: Collection[int],
        noise: Collection[int],
        section: str = "",
        template_of: TemplateOf = no_template,
    ) -> None:
        self._data = data
        self._noise = noise
        self._lowest = BySection(template, section, template_of, self._lowest_but)

    def has_new(self, kept: bytes | None, section: str = "") -> bool:
        """Whether there is a value that a kept page, with its packed data, is not known to have.

        Cost: O(:data:`MAX_DATA`), and O(values) for the first page of each section.
        """
        known = kept or b""
        return _are_new(self._lowest.own, known) and _are_new(self._lowest.beside(section), known)

    def _lowest_but(self, template: Collection[int]) -> tuple[list[int], bytes]:
        """Return the lowest hashes that count, as many as are stored, and packed."""
        counted = (values for place, values in self._data.items() if place not in self._noise)
        found = lowest_halves(MAX_DATA, list(chain.from_iterable(counted)), template)
        return found, pack_hashes(found)


def _are_new(lowest_of: tuple[list[int], bytes], known: bytes) -> bool:
    hashes, own = lowest_of
    if len(known) == HASH_BYTES * MAX_DATA:
        highest = int.from_bytes(known[-HASH_BYTES:], "big")
        own = own[: HASH_BYTES * bisect_right(hashes, highest)]
    return len(own) > len(known) or not are_among(own, known)


def reference_are_among(some: bytes, others: bytes) -> bool:
    """Whether others have all of some hashes; both as :func:`pack_hashes` packed them."""
    return unpack_hashes(some) <= unpack_hashes(others)


are_among = reference_are_among if compiled is None else compiled.are_among
