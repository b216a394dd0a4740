"""What a page holds: its values and addresses, in a few bytes, and what of them is new.

The values of a kept page are stored as hashes: those of its own, and all others at the places where
it has any of its own.  So a value that the section repeats is known to be there, or not, where the
kept page has another one::

    | kind | number of places | place, place ... | hash, hash ...                     kind 0
       1           2               2 each            4 each
    | kind | number of places | place, place ... | 256 counts | half, half ...        kind 1
       1           2               2 each            1 each        2 each

Of kind 1, a hash has 24 bits: the counts say how many begin with each byte.  Of more hashes than
fit, the sums of groups are stored (kind 2): such a page stands for those alone that have the same
values.  Byte order is big-endian.
"""

from __future__ import annotations

import struct
from array import array
from collections import defaultdict
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, islice
from typing import NamedTuple

from scrapy_simhash.rule.hashes import address_id, hash_of, pack_hashes, unpack_hashes
from scrapy_simhash.rule.rewriting import Rewriting
from scrapy_simhash.rule.sections import TemplateOf, no_template

# Of a page with more addresses, only a digest is stored: 256 bytes a page.  It is no number of
# hashes.
MAX_ADDRESSES = 64
_DIGEST_BYTES = 6

# Where a value stands does not matter if it is beside the content, or a long text.
BESIDE, ANYWHERE = 0, 1
PLACE = 0xFFFF

# The values of a page take at most this many bytes.
MAX_BYTES = 2048
_HEAD = struct.Struct(">BH")
_MAX_PLACES = 250
_EXACT, _SHORT, _SUMS = range(3)
_GROUPS = 360
_BUCKETS = 256

# A page is compared with so many kept pages of which only sums are known: each takes 1 ms.
MAX_SUMS_COMPARED = 5

# The values of kept pages are read again for each of their copies.
UNPACKED_KEPT = 256


# The kinds of addresses that the spider must have been handed.
LEADING = ("link", "media")


class PageAddress(NamedTuple):
    """An address on a page: whole, of http or https, without what changes by itself.

    *kind* is ``link``, ``media``, ``name`` (of the page itself) or ``data``, *place* and *anchor*
    say where it is and in what.  One that *is_beside* the content is no value.  *id* is that of the
    value.
    """

    kind: str
    place: int
    anchor: int
    address: str
    is_beside: bool
    id: int


class Told(NamedTuple):
    """What a value is: its kind (text, element, data, link, media), its place and its text."""

    kind: str
    place: str
    text: str


@dataclass(frozen=True, slots=True)
class PageValues:
    """The values of a page under a template.

    Each is a 64-bit id: the upper 48 bits are a hash of the value, with what it is chained to, the
    lower 16 of its place (:data:`BESIDE` or :data:`ANYWHERE` if that does not matter).  *own* are
    those that the section is not known to repeat, *chained* those that it repeats, but that come
    after one of its own, *repeated* all others.  *loose* are the ids of all without the chain, by
    which it is known what a section repeats, *own_loose* those of its own.  *told* says what some
    of its own are.  *is_whole* is False if there is too much to be compared, *is_shell* True if the
    section repeats all of it.
    """

    own: array[int] = field(default_factory=lambda: array("Q"))
    own_loose: array[int] = field(default_factory=lambda: array("Q"))
    chained: array[int] = field(default_factory=lambda: array("Q"))
    repeated: array[int] = field(default_factory=lambda: array("Q"))
    loose: array[int] = field(default_factory=lambda: array("Q"))
    addresses: tuple[PageAddress, ...] = ()
    told: Mapping[int, Told] = field(default_factory=dict)
    is_whole: bool = True
    is_shell: bool = False

    def pack(self) -> bytes | None:
        """Return what is stored of them, at most :data:`MAX_BYTES`; None if they are not whole."""
        if not self.is_whole:
            return None
        return _packed(*self.stored())

    def stored(self) -> tuple[list[int], set[int]]:
        """Return the places where the page has values of its own, and all values that count."""
        places = {value & PLACE for value in self.own} - {BESIDE, ANYWHERE}
        values = {*self.own, *self.chained}
        values.update(value for value in self.repeated if value & PLACE in places)
        return sorted(places), values


NO_VALUES = PageValues()


def _packed(places: list[int], values: Collection[int]) -> bytes:
    kind = _SUMS
    if len(places) <= _MAX_PLACES:
        room = MAX_BYTES - _HEAD.size - 2 * len(places)
        if 4 * len(values) <= room:
            kind = _EXACT
        elif 2 * len(values) + _BUCKETS <= room:
            kind = _SHORT
    if kind == _SUMS:
        sums = [0] * _GROUPS
        for value in values:
            sums[value % _GROUPS] += value >> 24
        halves = (one & 0xFFFFFFFF for one in sums)
        return _HEAD.pack(kind, 0) + struct.pack(f">{_GROUPS}I", *halves)
    start = _HEAD.pack(kind, len(places)) + struct.pack(f">{len(places)}H", *places)
    if kind == _EXACT:
        return start + pack_hashes({value >> 32 for value in values})
    counts = bytearray(_BUCKETS)
    short = sorted({value >> 40 for value in values})
    for value in short:
        counts[value >> 16] = min(255, counts[value >> 16] + 1)
    if 255 in counts:  # somebody made them so
        return _packed([0] * (_MAX_PLACES + 1), values)
    return start + counts + struct.pack(f">{len(short)}H", *(value & 0xFFFF for value in short))


class _Kept(NamedTuple):
    """The values of a kept page: its places, and hashes of so many bits."""

    places: frozenset[int]
    hashes: frozenset[int]
    shift: int


@lru_cache(UNPACKED_KEPT)
def _unpacked(stored: bytes) -> _Kept | None:
    """Return the values of a kept page; None if only sums are known."""
    kind, number = _HEAD.unpack_from(stored)
    if kind == _SUMS:
        return None
    at = _HEAD.size + 2 * number
    places = frozenset(struct.unpack(f">{number}H", stored[_HEAD.size : at]))
    if kind == _EXACT:
        return _Kept(places, unpack_hashes(stored[at:]), 32)
    counts, halves = (
        stored[at : at + _BUCKETS],
        iter(struct.iter_unpack(">H", stored[at + _BUCKETS :])),
    )
    hashes = frozenset(
        first << 16 | half
        for first, count in enumerate(counts)
        for (half,) in islice(halves, count)
    )
    return _Kept(places, hashes, 40)


class Comparable:
    """The values of a page at *url*, to be compared with those of kept pages.

    *packed* is what would be stored of them.  *template_of* returns what the section of a URL is
    known to repeat.
    """

    def __init__(
        self,
        url: str,
        values: PageValues,
        packed: bytes | None,
        section: str,
        template_of: TemplateOf = no_template,
    ) -> None:
        self._url = url
        self._values = values
        self._packed = packed
        self._section = section
        self._template_of = template_of
        self._by_bits: dict[int, dict[int, list[int]]] = {}
        self._addresses: dict[int, list[PageAddress]] | None = None
        self._places: dict[int, list[int]] | None = None
        self._sums_compared = 0

    def new_beside(
        self, url: str, stored: bytes | None, section: str, most: int | None = None
    ) -> list[int] | None:
        """Return the ids of what a kept page has not, at *most* so many; None if that is unknown.

        Cost: O(values of the page), and for each address that it has elsewhere 10 us.
        """
        if stored is None or self._packed is None:
            return None
        if stored == self._packed:
            return []
        kept = _unpacked(stored)
        if kept is None:
            return self._new_beside_sums(url, stored)
        mine = self._by_hash(kept.shift)
        missing = sorted(one for value in mine.keys() - kept.hashes for one in mine[value])
        misplaced = self._misplaced(kept)
        if not missing and not misplaced:
            return []
        is_elsewhere = section != self._section
        template = self._template_of(section) if is_elsewhere else frozenset()
        rewriting: Rewriting | None = None
        own, loose, chained = self._values.own, self._values.own_loose, self._values.chained
        new = []
        for number in missing:
            value = own[number] if number < len(own) else chained[number - len(own)]
            # Another section may say otherwise what it repeats.
            is_said = number >= len(own) or (is_elsewhere and loose[number] in template)
            if is_elsewhere and is_said and value & PLACE not in kept.places:
                continue
            misplaced.append(value)
        # What has no address is told at once, and mostly enough.
        for value in sorted(dict.fromkeys(misplaced), key=lambda one: bool(self._at(one))):
            is_free = value & PLACE not in kept.places
            for one in self._at(value):
                if rewriting is None:
                    rewriting = Rewriting(self._url, url)
                if _is_among(one, rewriting, kept, template if is_free else ()):
                    break
            else:
                new.append(value)
                if len(new) == most:
                    break
        return new

    def is_same_as(self, url: str, stored: bytes | None, section: str) -> bool:
        """Whether a page at *url* has the same values, and none that this one has not."""
        if stored is None or stored == self._packed:
            return stored == self._packed
        kept = _unpacked(stored)
        if kept is None or self.new_beside(url, stored, section, 1) != []:
            return False
        of = self._values
        mine = {value >> kept.shift for value in chain(of.own, of.chained, of.repeated, of.loose)}
        return kept.hashes <= mine

    def _new_beside_sums(self, url: str, stored: bytes) -> list[int] | None:
        """Compare with a kept page of which only sums are known: it has the same values, or not."""
        self._sums_compared += 1
        if self._sums_compared > MAX_SUMS_COMPARED:
            return None
        rewriting = Rewriting(self._url, url)

        def there(value: int) -> int:
            for one in self._at(value):
                if one.kind != "data":
                    return address_id(rewriting.whole(one.address), one.anchor, one.place)
            return value

        places, values = self._values.stored()
        return [] if _packed(places, {*map(there, values)}) == stored else None

    def _by_hash(self, shift: int) -> dict[int, list[int]]:
        """Return the numbers of the values that count, by as much of their hashes as is stored."""
        found = self._by_bits.get(shift)
        if found is None:
            found = self._by_bits[shift] = defaultdict(list)
            for number, value in enumerate((*self._values.own, *self._values.chained)):
                found[value >> shift].append(number)
        return found

    def _misplaced(self, kept: _Kept) -> list[int]:
        """Return what the section repeats where the kept page has something else."""
        if self._places is None:
            self._places = defaultdict(list)
            for value in self._values.repeated:
                self._places[value & PLACE].append(value)
        return [
            value
            for place in kept.places & self._places.keys()
            for value in self._places[place]
            if value >> kept.shift not in kept.hashes
        ]

    def _at(self, value: int) -> list[PageAddress]:
        if self._addresses is None:
            self._addresses = defaultdict(list)
            for one in self._values.addresses:
                if not one.is_beside:
                    self._addresses[one.id].append(one)
        return self._addresses.get(value, [])


def _is_among(
    one: PageAddress, rewriting: Rewriting, kept: _Kept, template: Container[int]
) -> bool:
    """Whether a kept page has an address, under one of the names that it may have there.

    Of a link or a file, the crawl knows whether the spider was handed it.  Of any other address
    nobody knows what it leads to.
    """
    addresses = rewriting(one.address) if one.kind != "data" else rewriting.own(one.address)
    for address in addresses:
        value = address_id(address, one.anchor, one.place)
        if value >> kept.shift in kept.hashes or value in template:
            return True
    return False


def pack_addresses(addresses: Collection[str]) -> bytes:
    """Return the hashes of addresses; of more than :data:`MAX_ADDRESSES`, a digest of them all."""
    packed = pack_hashes(set(map(hash_of, addresses)))
    if len(addresses) <= MAX_ADDRESSES:
        return packed
    return blake2b(packed, digest_size=_DIGEST_BYTES).digest()


def unpack_addresses(packed: bytes | None) -> frozenset[int]:
    """Return the hashes that :func:`pack_addresses` packed; none if they are not known."""
    return unpack_hashes(packed or b"") if len(packed or b"") != _DIGEST_BYTES else frozenset()
