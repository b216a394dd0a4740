"""The key of an address in a cookie jar: 64 bits.

| hash of jar, scheme, host and path | + | hash of a parameter | + ...

The order of the parameters does not count in a sum, and what a rule leaves alone is hashed once.
The upper half of the sum is mixed into the lower one: otherwise, of parameters with hashes that end
alike, so would the keys of all pages.
"""

from __future__ import annotations

from scrapy_simhash.addresses.address import Address
from scrapy_simhash.rule.hashes import long_hash_of

_MASK = (1 << 64) - 1


class KeyedAddress:
    """An address in the cookie jar with a name, and its *key*."""

    __slots__ = ("_parameters", "_place", "_query", "address", "jar", "key")

    def __init__(self, address: Address, jar: str) -> None:
        self.address = address
        self.jar = jar
        # No text that was decoded has a lone surrogate.
        self._parameters = {
            pair: long_hash_of(f"{pair[0]}\ud801{pair[1]}") for pair in address.parameters
        }
        self._place = _hash_of_place(address, jar)
        self._query = self._sum(address)
        self.key = _mixed(self._place + self._query)

    def key_of(self, changed: Address | None) -> int:
        """Return the key of what rules have made of the address; None: they leave it as it is."""
        own = self.address
        if changed is None or changed is own:
            return self.key
        query = self._query if changed.parameters is own.parameters else self._sum(changed)
        if changed.path is own.path and changed.host is own.host and changed.scheme is own.scheme:
            return _mixed(self._place + query)
        return _mixed(_hash_of_place(changed, self.jar) + query)

    def _sum(self, address: Address) -> int:
        return sum(map(self._parameters.__getitem__, address.parameters))


def _mixed(total: int) -> int:
    total &= _MASK
    return total ^ total >> 32


def _hash_of_place(address: Address, jar: str) -> int:
    return long_hash_of(f"{jar}\0{address.scheme}\0{address.host}\0{address.path}")
