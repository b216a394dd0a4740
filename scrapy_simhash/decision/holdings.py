"""What a page holds: its values and addresses, in a few bytes, and what of them is new.

The values of a kept page are stored as hashes of 32 bits: those of its own, and all others at the
places where it has any of its own.  So a value that the section repeats is known to be there, or
not, where the kept page has another one::

    | kind | number of places | place, place ... | hash, hash ...      kind 0
       1           2               2 each            4 each
    | kind | a bit for 2,048 groups of places | a table of hashes      kind 1
       1                   256                          1782

If these are more than fit, a table of all values says in what two pages differ, if that is little
(:func:`~scrapy_simhash.hashes.pack_table`).  Byte order is big-endian.
"""

from __future__ import annotations

import struct
from array import array
from collections import defaultdict
from collections.abc import Collection, Container, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from itertools import chain
from typing import NamedTuple

from scrapy_simhash.decision.comparison import TemplateOf, no_template
from scrapy_simhash.decision.rewriting import Rewriting
from scrapy_simhash.hashes import (
    HASH_BYTES,
    TABLE_BYTES,
    address_id,
    difference,
    long_hash_of,
    mix,
    pack_hashes,
    pack_table,
    unpack_hashes,
)

# Of a page with more addresses, only a digest is stored: 256 bytes a page.  It is no number of
# hashes.
MAX_ADDRESSES = 64
_DIGEST_BYTES = 6

# A place has 16 bits, of which the lowest say that it is beside the content, and in the head.  What
# ends a chain stands nowhere else: its place is at most NOWHERE.
PLACE = 0xFFFF
BESIDE_BIT = 1
HEAD_BIT = 2
NOWHERE = BESIDE_BIT | HEAD_BIT

_EXACT, _TABLE = 0, 1
_EXACT_HEAD = struct.Struct(">BH")
_PLACE_BYTES = 256
# The values of a page take at most this many bytes.
MAX_BYTES = 1 + _PLACE_BYTES + TABLE_BYTES

# A page is compared with so many kept pages of which there are tables: each takes 0.2 ms.
MAX_TABLES_COMPARED = 20
# With so many of them also as the page would be at their addresses, with so many addresses: each of
# these takes 20 us.
MAX_TABLES_RENAMED = 4
MAX_RENAMED = 2_000

# Of what is told of a value, in characters.
MAX_TOLD = 100

# The values of kept pages are read again for each of their copies.
UNPACKED_KEPT = 256
# Of so many sections, it is remembered where they repeat something.
MOST_TEMPLATES = 16


# The kinds of values, by their numbers: those of addresses are as here, too.  The last is what all
# that an element holds ends with: it is another one where the element of a kept page holds more.
KINDS = ("text", "element", "data", "link", "media", "name", "end")
LESS = "(less than on the kept page, or in another order)"
# The kinds of addresses that the spider must have been handed.
LEADING = ("link", "media")
# An address that is beside the content is no value.
BESIDE_KIND = 0x80
# Of one that is cut, it is what is written that may lead somewhere.
CUT_KIND = 0x40


class Addresses(NamedTuple):
    """The addresses on a page: whole, of http or https, without what changes by itself.

    *joined* are the different ones, one a line, *hashes* the 64 bits of each that
    :func:`~scrapy_simhash.hashes.long_hash_of` returns.  All else is of each time that one comes,
    in the order of the page: *rows* say which it is, *kinds* are numbers of :data:`KINDS` (with
    another bit for those beside the content, and one for those that are cut at their place).  Of a
    link that is no value, the *anchor* is a hash of what it is called.  *said* is one of the texts
    of all these: by it, it is known that a page says something else than it did.

    Of each link that is cut, *cuts* have the row of what is written, that of what is left (-2 if
    nothing is), and its place.
    """

    joined: str = ""
    hashes: array[int] = array("Q")
    rows: array[int] = array("I")
    places: array[int] = array("H")
    anchors: array[int] = array("Q")
    ids: array[int] = array("Q")
    kinds: bytes = b""
    said: int = 0
    cuts: tuple[tuple[int, int, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.kinds)

    @property
    def texts(self) -> list[str]:
        """The different addresses."""
        return self.joined.split("\n") if self.hashes else []

    def rows_of(self, *kinds: str, are_values: bool = False) -> list[int]:
        """Return which addresses have one of some kinds, in the order of the page, each once.

        *are_values*: only those that are values of the page.
        """
        numbers = {KINDS.index(kind) for kind in kinds}
        if not are_values:
            numbers |= {number | BESIDE_KIND for number in numbers}
        pairs = zip(self.rows, self.kinds, strict=True)
        return [*dict.fromkeys(row for row, kind in pairs if kind in numbers)]

    def of(self, *kinds: str, are_values: bool = False) -> list[str]:
        """Return the addresses that :meth:`rows_of` says."""
        if not self.kinds:
            return []
        texts = self.texts
        return [texts[row] for row in self.rows_of(*kinds, are_values=are_values)]

    def values(self) -> dict[int, list[int]]:
        """Return at which places of the page each address is that is a value, by the value's id."""
        found: dict[int, list[int]] = defaultdict(list)
        for number, (value, kind) in enumerate(zip(self.ids, self.kinds, strict=True)):
            if not kind & BESIDE_KIND:
                found[value].append(number)
        return found

    def calls(self) -> list[tuple[int, int]]:
        """Return the links that are no values: the row of each, and a hash of it with its call."""
        link = KINDS.index("link") | BESIDE_KIND
        found = dict.fromkeys(
            (row, mix(self.hashes[row], anchor))
            for row, kind, anchor in zip(self.rows, self.kinds, self.anchors, strict=True)
            if kind == link
        )
        return [*found]

    def styles(self) -> list[int]:
        """Return the hashes of the style sheets, which are no values; 0.05 us for each address."""
        style = KINDS.index("media") | BESIDE_KIND
        pairs = zip(self.rows, self.kinds, strict=True)
        return [self.hashes[row] for row, kind in pairs if kind == style]

    def kind_of(self, number: int) -> str:
        """Return the kind of an address, by its number."""
        return KINDS[self.kinds[number] & ~(BESIDE_KIND | CUT_KIND)]

    def kinds_of(self, chosen: Container[str]) -> dict[str, list[str]]:
        """Return some addresses by kind, each once, in order; links that are cut come last."""
        texts, found = self.texts, defaultdict[str, list[str]](list)
        written = ((self.kind_of(number), texts[row]) for number, row in enumerate(self.rows))
        cut = (("link", link) for link in self.cut_links())
        for kind, text in dict.fromkeys(chain(written, cut)):
            if text in chosen:
                found[kind].append(text)
        return found

    def cut_links(self) -> dict[str, tuple[str, int]]:
        """Return the links that are cut, as written: what is left of each, and its place."""
        texts = self.texts if self.cuts else []
        return {texts[row]: (texts[left] if left >= 0 else "", at) for row, left, at in self.cuts}

    def pack(self) -> bytes:
        """Return what is stored of those that the spider must have been handed, and of *said*."""
        hashes = {self.hashes[row] for row in self.rows_of(*LEADING)}
        return pack_addresses(hashes | {self.said} if self.said else hashes)

    def with_links(self, links: Iterable[str]) -> Addresses:
        """Return the same with links that stand beside the content."""
        more = [*dict.fromkeys(links)]
        if not more:
            return self
        count = len(self.hashes)
        link = KINDS.index("link") | BESIDE_KIND
        none = array("Q", [0] * len(more))
        return self._replace(
            joined="\n".join((*self.texts, *more)),
            hashes=self.hashes + array("Q", map(long_hash_of, more)),
            rows=self.rows + array("I", range(count, count + len(more))),
            places=self.places + array("H", [BESIDE_BIT] * len(more)),
            anchors=self.anchors + none,
            ids=self.ids + none,
            kinds=self.kinds + bytes([link] * len(more)),
        )


class Told(NamedTuple):
    """What a value is: its kind (one of ``KINDS``), its place and its text."""

    kind: str
    place: str
    text: str


class ToldValues(NamedTuple):
    """What some values are: of each its id, the numbers of its kind and its place, and its text.

    The texts are joined, one a line.  An end has none.
    """

    ids: array[int] = array("Q")
    kinds: bytes = b""
    places: array[int] = array("H")
    names: tuple[str, ...] = ()
    joined: str = ""

    def by_id(self, wanted: Container[int] | None = None) -> dict[int, Told]:
        """Return what the *wanted* values are, or all; of several in one chain, it is all."""
        told: dict[int, Told] = {}
        texts = self.joined.split("\n")
        for value, kind, place, text in zip(self.ids, self.kinds, self.places, texts, strict=False):
            if wanted is not None and value not in wanted:
                continue
            text = text if KINDS[kind] != "end" else LESS
            if value in told:
                text = f"{told[value].text}, {text}"[:MAX_TOLD]
            told[value] = Told(KINDS[kind], self.names[place], text)
        return told


@dataclass(frozen=True, slots=True)
class PageValues:
    """The values of a page under a template.

    Each is a 64-bit id: the upper 48 bits are a hash of the value, with what it is chained to, the
    lower 16 of its place.  *own* are those that the section is not known to repeat, *chained*
    those that it repeats, but that come after one of its own, or in a chain that it does not repeat
    as a whole, *repeated* all others.  *loose* are the ids of all without the chain, by which it is
    known what a section repeats, *own_loose*, *chained_loose* and *repeated_loose* those of each
    kind; of a chain that is not repeated as a whole, they are that.  *told* says what some of its
    own are.
    *is_whole* is False if there is too much to be compared, *is_shell* True if the section repeats
    all of it.

    A print view has less around what it shows, and says so of no page by it.  *shapes* are the
    places of what each chain holds, and whether something small is around each long text.  *shaped*
    are those of the page's own values whose shape the section repeats, with the hashes of what they
    may be on a page with more around them: a long text with anything before or behind it, a chain
    without what the section repeats.  *bare* are the chains of the page's own without that.
    """

    own: array[int] = field(default_factory=lambda: array("Q"))
    own_loose: array[int] = field(default_factory=lambda: array("Q"))
    shapes: array[int] = field(default_factory=lambda: array("Q"))
    bare: array[int] = field(default_factory=lambda: array("Q"))
    shaped: dict[int, tuple[int, ...]] = field(default_factory=dict)
    chained: array[int] = field(default_factory=lambda: array("Q"))
    chained_loose: array[int] = field(default_factory=lambda: array("Q"))
    repeated: array[int] = field(default_factory=lambda: array("Q"))
    repeated_loose: array[int] = field(default_factory=lambda: array("Q"))
    loose: array[int] = field(default_factory=lambda: array("Q"))
    addresses: Addresses = field(default_factory=Addresses)
    told_values: ToldValues = field(default_factory=ToldValues)
    places: array[int] = field(default_factory=lambda: array("H"))
    is_whole: bool = True
    is_shell: bool = False

    @property
    def told(self) -> dict[int, Told]:
        """What some of its own values are, by their ids."""
        return self.told_values.by_id()

    def pack(self, most: int = MAX_BYTES) -> bytes | None:
        """Return what is stored of them, one by one in *most* bytes; None if they are not whole.

        If they do not fit, it is a table of :data:`MAX_BYTES`.
        """
        if not self.is_whole:
            return None
        places = set(self.places)
        values = self.hashes(places) | self.bare_hashes
        if _EXACT_HEAD.size + 2 * len(places) + HASH_BYTES * len(values) <= most:
            held = struct.pack(f">{len(places)}H", *sorted(places)), pack_hashes(values)
            return b"".join((_EXACT_HEAD.pack(_EXACT, len(places)), *held))
        return bytes((_TABLE,)) + _bits_of(places) + pack_table(self.hashes())

    def hashes(self, places: Container[int] | None = None) -> set[int]:
        """Return the hashes of its values: of those that its section repeats, only at some places.

        Without *places*, they are the same whatever the section is known to repeat.
        """
        found = {value >> 32 for value in chain(self.own, self.chained)}
        found.update(
            value >> 32 for value in self.repeated if places is None or value & PLACE in places
        )
        return found

    @property
    def bare_hashes(self) -> set[int]:
        """The hashes of the chains of its own without what the section repeats."""
        return {value >> 32 for value in self.bare}


NO_VALUES = PageValues()


def is_all(stored: bytes | None) -> bool:
    """Whether what is stored of the values of a page says them one by one, if there are any."""
    return stored is None or stored[0] == _EXACT


def _bits_of(places: Iterable[int]) -> bytes:
    bits = bytearray(_PLACE_BYTES)
    for place in places:
        bits[place // 8 % _PLACE_BYTES] |= 1 << place % 8
    return bytes(bits)


def _has_place(bits: bytes, place: int) -> int:
    return bits[place // 8 % _PLACE_BYTES] >> place % 8 & 1


class _Kept(NamedTuple):
    """The values of a kept page: the places of its own, and the hashes."""

    places: frozenset[int]
    hashes: AbstractSet[int]


@lru_cache(UNPACKED_KEPT)
def _unpacked(stored: bytes) -> _Kept:
    """Return the values of a kept page that are stored one by one."""
    _, number = _EXACT_HEAD.unpack_from(stored)
    at = _EXACT_HEAD.size + 2 * number
    places = frozenset(struct.unpack(f">{number}H", stored[_EXACT_HEAD.size : at]))
    return _Kept(places, unpack_hashes(stored[at:]))


@lru_cache(MOST_TEMPLATES)
def _places_in_content(template: frozenset[int]) -> frozenset[int]:
    """Return where a section repeats something in the content, but for ends."""
    return frozenset(value & PLACE for value in template if value & PLACE and not value & NOWHERE)


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
        self._tables_compared = self._tables_renamed = 0
        # The numbers of the addresses that the last kept page has only under another name.
        self.renamed: list[int] = []

    def new_beside(
        self, url: str, stored: bytes | None, section: str, most: int | None = None
    ) -> list[int] | None:
        """Return the ids of what a kept page has not, at *most* so many; None if that is unknown.

        Cost: O(values of the page), and for each address that it has elsewhere 10 us.
        """
        self.renamed = []
        if stored is None or self._packed is None:
            return None
        is_elsewhere = section != self._section
        if stored == self._packed and not is_elsewhere:  # elsewhere, other values are left out
            return []
        kept = self._values_in(url, stored)
        if kept is None:
            return None
        template = self._template_of(section) if is_elsewhere else frozenset()
        held = kept.hashes
        missing = [number for number, one in enumerate(self._hashes) if one not in held]
        there = _places_in_content(template)
        misplaced = self._misplaced(kept, there, template)
        if not missing and not misplaced:
            return []
        rewriting: Rewriting | None = None
        values = self._values
        own = len(values.own)
        new = []
        for number in missing:
            is_said = number >= own  # by its own section
            if is_said:
                value, loose = values.chained[number - own], values.chained_loose[number - own]
            else:
                value, loose = values.own[number], values.own_loose[number]
            # Another section may say otherwise, or elsewhere, what it repeats; what stands in a
            # chain, as a whole.
            is_free = value & PLACE not in kept.places
            is_alone = value | PLACE == loose | PLACE
            is_said = is_said and not is_alone
            known = loose if is_said or is_alone else value & ~PLACE | value & BESIDE_BIT
            if is_elsewhere and is_free and loose in template and known in template:
                continue
            if is_free and value in self._with_place:
                continue
            if is_elsewhere and is_free and is_said and value & PLACE not in there:
                continue
            if is_elsewhere and not kept.hashes.isdisjoint(self._values.shaped.get(value, ())):
                continue
            misplaced.append(value)
        # What has no address is told at once, and mostly enough.
        for value in sorted(dict.fromkeys(misplaced), key=self._addresses.__contains__):
            is_free = value & PLACE not in kept.places
            for number in self._addresses.get(value, ()):
                if rewriting is None:
                    rewriting = Rewriting(self._url, url)
                if self._is_among(number, rewriting, kept, template if is_free else ()):
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
        has_all = self.share_had(url, stored) == 1.0
        return has_all and self.new_beside(url, stored, section, 1) == []

    def share_had(self, url: str, stored: bytes | None) -> float:
        """Return what share of the values of a page at *url* this one has; 0 if that is unknown."""
        kept = None if stored is None else self._values_in(url, stored)
        if kept is None or not kept.hashes:
            return float(kept is not None)
        of = self._values
        mine = of.hashes() | of.bare_hashes | {value >> 32 for value in of.loose}
        return len(kept.hashes & mine) / len(kept.hashes)

    def _values_in(self, url: str, stored: bytes) -> _Kept | None:
        """Return the values of a kept page; None if they differ from the page's in too many."""
        if is_all(stored):
            return _unpacked(stored)
        self._tables_compared += 1
        if self._tables_compared > MAX_TABLES_COMPARED:
            return None
        table = stored[1 + _PLACE_BYTES :]
        mine = self._mine
        differing = difference(mine, table)
        if differing is None and (renamed := self._renamed(mine, url)):
            mine, differing = renamed, difference(renamed, table)
        if differing is None:
            return None
        has_place = partial(_has_place, stored[1 : 1 + _PLACE_BYTES])
        more, less = differing
        return _Kept(frozenset(filter(has_place, self._places)), (mine - more) | less)

    def _renamed(self, hashes: set[int], url: str) -> set[int] | None:
        """Return the hashes of the values of a copy at *url*, as far as can be said of its links.

        A page with hundreds of links differs from its copy in another folder in all of them.  None
        if no link of the copy has another name, or too many do.
        """
        if self._tables_renamed == MAX_TABLES_RENAMED:
            return None
        rewriting, held = Rewriting(self._url, url), self._values.addresses
        numbers = [
            (value, number)
            for value, (number, *_) in self._addresses.items()
            if held.kind_of(number) != "data"
            and rewriting.may_rename(self._texts[held.rows[number]])
        ]
        self._tables_renamed += bool(numbers)
        if not numbers or len(numbers) > MAX_RENAMED:
            return None
        renamed = hashes - {value >> 32 for value, _ in numbers}
        for _, number in numbers:
            text = self._texts[held.rows[number]]
            name = rewriting.likeliest(text)
            renamed.add(address_id(name, held.anchors[number], held.places[number]) >> 32)
        return renamed

    @cached_property
    def _mine(self) -> set[int]:
        return self._values.hashes()

    @cached_property
    def _places(self) -> set[int]:
        values = self._values
        return {value & PLACE for value in chain(values.own, values.chained, values.repeated)}

    @cached_property
    def _hashes(self) -> list[int]:
        """The hashes of the values that count, by their numbers."""
        return [value >> 32 for value in chain(self._values.own, self._values.chained)]

    @cached_property
    def _by_place(self) -> dict[int, list[tuple[int, int]]]:
        """What the section repeats, with and without its chain, by the place of each value."""
        found: dict[int, list[tuple[int, int]]] = defaultdict(list)
        repeated = zip(self._values.repeated, self._values.repeated_loose, strict=True)
        for value, loose in repeated:
            found[value & PLACE].append((value, loose))
        return found

    @cached_property
    def _addresses(self) -> dict[int, list[int]]:
        return self._values.addresses.values()

    @cached_property
    def _with_place(self) -> set[int]:
        """The ids of addresses that are values once more, with their places."""
        of = self._values.addresses
        anchors = {*map(mix, of.anchors, of.places)}
        return {value for value, one in zip(of.ids, of.anchors, strict=True) if one in anchors}

    @cached_property
    def _texts(self) -> list[str]:
        return self._values.addresses.texts

    def _misplaced(
        self, kept: _Kept, there: AbstractSet[int], template: Collection[int]
    ) -> list[int]:
        """Return what the section repeats where the kept page has something else.

        A kept page of another section may have what that one repeats in the content, its
        *template*, which stands at the places *there*.  The frames of two sections, and the files
        that they load, are different ones.
        """
        return [
            value
            for place in (kept.places | there) & self._by_place.keys()
            for value, loose in self._by_place[place]
            if value >> 32 not in kept.hashes
            and loose not in template
            and (place in kept.places or value not in self._addresses)
        ]

    def _is_among(
        self, number: int, rewriting: Rewriting, kept: _Kept, template: Container[int]
    ) -> bool:
        """Whether a kept page has an address, under one of the names that it may have there.

        Of a link or a file, the crawl knows whether the spider was handed it.  Of any other address
        nobody knows what it leads to, so it may only be on the other host.
        """
        held = self._values.addresses
        text = self._texts[held.rows[number]]
        anchor, place = held.anchors[number], held.places[number]
        own = [*rewriting.own(text)]
        is_data = held.kind_of(number) == "data"
        others = rewriting.on_host(text) if is_data else rewriting.others(text)
        for address in chain(own, others):
            value = address_id(address, anchor, place)
            if value >> 32 in kept.hashes or value in template:
                if address not in own:
                    self.renamed.append(number)
                return True
        return False


def pack_addresses(hashes: Collection[int]) -> bytes:
    """Return the upper halves of 64-bit hashes; of more than :data:`MAX_ADDRESSES`, a digest."""
    packed = pack_hashes({value >> 32 for value in hashes})
    if len(hashes) <= MAX_ADDRESSES:
        return packed
    return blake2b(packed, digest_size=_DIGEST_BYTES).digest()


def unpack_addresses(packed: bytes | None) -> frozenset[int]:
    """Return what :func:`pack_addresses` packed of each hash; nothing if that is not known."""
    return unpack_hashes(packed or b"") if len(packed or b"") != _DIGEST_BYTES else frozenset()
