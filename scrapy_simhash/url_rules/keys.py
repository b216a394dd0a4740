"""The key of an address for a party of requests: 64 bits, the same in one process.

It is a hash of the party, the scheme, the host, the path and the parameters, whose order does not
count.  The hash is Python's, which has a secret of its own in each process (PEP 456): no site can
make two addresses with one key.  Sums of such hashes would be no keys: those of ``a=1&b=2`` and
``a=2&b=1`` are the same in every other process.
"""

from __future__ import annotations

from scrapy_simhash.urls import Address

_MASK = (1 << 64) - 1


class KeyedAddress:
    """An address for a party of requests that one page may serve, and its *key*."""

    __slots__ = ("_query", "address", "key", "party")

    def __init__(self, address: Address, party: str) -> None:
        self.address = address
        self.party = party
        scheme, host, path, parameters = address
        self._query = tuple(sorted(parameters))
        self.key = hash((party, scheme, host, path, self._query)) & _MASK

    def key_of(self, changed: Address | None) -> int:
        """Return the key of what rules have made of the address; None: they leave it as it is."""
        if changed is None:
            return self.key
        scheme, host, path, parameters = changed
        is_same = parameters is self.address.parameters
        query = self._query if is_same else tuple(sorted(parameters))
        return hash((self.party, scheme, host, path, query)) & _MASK
