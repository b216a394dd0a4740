"""What changes by itself on a site, learned from second visits to its pages.

Two visits to one address, one right after the other, show the same page: whatever differs is noise.
It is known by its place (:mod:`scrapy_simhash.analysis.places`), or by the name of a parameter that
all links carry with another value at each visit, as they carry a session.  A place is noise while
two visits have nothing in common there, in at least half of the cases.  A place that holds both
what stays and what changes is none: there, what is new cannot be told from what changed.  Of
addresses, those in other folders than the ones that changed count all the same.
"""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from itertools import chain
from typing import NamedTuple
from urllib.parse import urlsplit

SHARE = 0.5
# Of a site, so many places and parameters are watched; what was met first is forgotten first.
MAX_WATCHED = 1_000
MAX_SITES = 1_000
# A parameter with one value in so many addresses of a page is one of the visit.  In one address, it
# may as well be the number of what a rotating box shows.
MIN_CARRIERS = 2

# Folders of an address that tell what kind of address it is.
FOLDERS = 2

Addresses = Mapping[int, Iterable[str]]
# A place with its values; a place and a folder, with the addresses there; a parameter.
Key = int | tuple[int, str] | str


class Visit(NamedTuple):
    """What a page held at one visit, by place: its addresses, and the hashes of other values."""

    addresses: Addresses
    values: Mapping[int, Iterable[int]]


class Noise:
    """What changes by itself on one site.

    *places* are the places whose values do not count, *parameters* the names of those parameters
    that do not count in any address.
    """

    def __init__(self) -> None:
        # Of each key: visits that could tell, and changes.
        self._seen: dict[Key, tuple[int, int]] = {}
        self.places: frozenset[int] = frozenset()
        self.parameters: frozenset[str] = frozenset()
        # By place, the folders whose addresses do not count there.
        self._folders: dict[int, set[str]] = {}

    def learn(self, first: Visit, second: Visit) -> None:
        """Compare two visits to one address.  Cost: O(what the page held)."""
        before, after = _carried(first.addresses), _carried(second.addresses)
        for name in before.keys() & after.keys():
            self._count(name, before[name] != after[name])
        self._decide()  # what such a parameter explains is no change of a place
        there, then = self._by_key(first), self._by_key(second)
        for key in there.keys() | then.keys():
            self._count(key, there.get(key, set()).isdisjoint(then.get(key, ())))
        self._decide()

    def without(self, addresses: Addresses) -> list[str]:
        """Return the addresses that are no noise in their places, without parameters of noise."""
        if not self._folders and not self.parameters:
            return list(chain.from_iterable(addresses.values()))
        own = []
        for place, there in addresses.items():
            folders = self._folders.get(place, ())
            for address in map(self.stripped, there):
                if not folders or _folder(address) not in folders:
                    own.append(address)
        return own

    def stripped(self, address: str) -> str:
        """Return an address without the parameters that are noise."""
        if not any(f"{name}=" in address for name in self.parameters):
            return address
        parts = urlsplit(address)
        pieces = parts.query.split("&")
        own = [piece for piece in pieces if piece.partition("=")[0] not in self.parameters]
        return parts._replace(query="&".join(own)).geturl()

    def merge(self, other: Noise) -> None:
        """Take over what *other* has seen more of, from the same site."""
        for key, seen in other._seen.items():
            if self._seen.get(key, (0, 0)) < seen:
                self._seen[key] = seen
        self._decide()

    def to_bytes(self) -> bytes:
        """Return the state to store."""
        return json.dumps([[key, *seen] for key, seen in self._seen.items()]).encode()

    @classmethod
    def from_bytes(cls, stored: bytes) -> Noise:
        """Return the noise that :meth:`to_bytes` stored.

        :raises ValueError: it is not such a state.
        """
        noise = cls()
        try:
            for written, visits, changes in json.loads(stored):
                key = tuple(written) if isinstance(written, list) else written
                if not _is_key(key) or not 0 <= changes <= visits:
                    raise ValueError(f"no noise: {changes!r} of {visits!r} visits to {key!r}")
                noise._seen[key] = visits, changes
        except (TypeError, RecursionError) as exc:
            raise ValueError(f"no noise: {exc}") from exc
        noise._decide()
        return noise

    def _by_key(self, visit: Visit) -> dict[Key, set[Hashable]]:
        found: dict[Key, set[Hashable]] = defaultdict(set)
        for place, values in visit.values.items():
            found[place].update(values)
        for place, addresses in visit.addresses.items():
            for address in map(self.stripped, addresses):
                found[place, _folder(address)].add(address)
        return found

    def _count(self, key: Key, is_changed: bool) -> None:
        if not is_changed and key not in self._seen:
            return  # what never changed need not be watched
        visits, changes = self._seen.pop(key, (0, 0))
        self._seen[key] = visits + 1, changes + is_changed
        if len(self._seen) > MAX_WATCHED:
            del self._seen[next(iter(self._seen))]

    def _decide(self) -> None:
        noise = {key for key, (visits, changes) in self._seen.items() if changes >= SHARE * visits}
        self.places = frozenset(key for key in noise if isinstance(key, int))
        self.parameters = frozenset(key for key in noise if isinstance(key, str))
        self._folders = defaultdict(set)
        for key in noise:
            if isinstance(key, tuple):
                self._folders[key[0]].add(key[1])


def _is_key(key: object) -> bool:
    if isinstance(key, tuple):
        return len(key) == 2 and isinstance(key[0], int) and isinstance(key[1], str)
    return isinstance(key, (int, str))


def _folder(address: str) -> str:
    """Return the host of an address and its first folders."""
    return "/".join(address.partition("?")[0].split("/")[:-1][: 3 + FOLDERS])


def _carried(addresses: Addresses) -> dict[str, str]:
    """Return the parameters with one value in all of a page's addresses that have them."""
    values: dict[str, set[str]] = defaultdict(set)
    carriers: dict[str, set[str]] = defaultdict(set)
    for address in {address for there in addresses.values() for address in there}:
        start, _, query = address.partition("?")
        pieces = query.split("&") if query else []
        for place, piece in enumerate(pieces):
            name, _, value = piece.partition("=")
            values[name].add(value)
            carriers[name].add("&".join((start, *pieces[:place], *pieces[place + 1 :])))
    return {
        name: next(iter(found))
        for name, found in values.items()
        if len(found) == 1 and len(carriers[name]) >= MIN_CARRIERS
    }


QUIET = Noise()


class Noises:
    """The noise of the sites of a crawl; the least recently learned is forgotten first."""

    def __init__(self) -> None:
        self._sites: OrderedDict[str, Noise] = OrderedDict()

    def of(self, site: str) -> Noise:
        """Return the noise of *site* as it is known now; it is not to be changed."""
        return self._sites.get(site, QUIET)

    def learn(self, site: str, first: Visit, second: Visit) -> None:
        """Compare two visits to one address of *site*."""
        self._sites.setdefault(site, Noise()).learn(first, second)
        self._use(site)

    def merged(self, site: str, stored: bytes | None) -> bytes:
        """Return the state of *site* to store, merged with the state that others have *stored*.

        A stored state that is damaged is replaced.
        """
        noise = self._sites.setdefault(site, Noise())
        if stored is not None:
            self.restore(site, stored)
        return noise.to_bytes()

    def restore(self, site: str, stored: bytes) -> None:
        """Take over the stored state of a site, beside what is known; ignore a damaged one."""
        try:
            other = Noise.from_bytes(stored)
        except ValueError:
            return
        self._sites.setdefault(site, Noise()).merge(other)
        self._use(site)

    def _use(self, site: str) -> None:
        self._sites.move_to_end(site)
        if len(self._sites) > MAX_SITES:
            self._sites.popitem(last=False)
