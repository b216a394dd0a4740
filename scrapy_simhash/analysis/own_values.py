# cython: annotation_typing=False, boundscheck=False, initializedcheck=False, binding=False
"""The values of a page in rows, and which are its own under a template of its section."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from typing import TypeAlias

from scrapy_simhash.analysis.frames import Frame
from scrapy_simhash.analysis.growing import doubled, room_for
from scrapy_simhash.decision.holdings import BESIDE_BIT, NOWHERE, PLACE, PageValues
from scrapy_simhash.hashes import mix

# Of the long texts of an element, so many are told apart by their rank, from both ends.
MOST_RANKS = 3
# Of each value itself, and the number of its chain; of each chain its id, and its base; of each
# long text its number, itself, its place, and whether something small is before it (1) or behind
# it (2); the chains of what is small.
CODES = "QiQiiQQbi"
Arrays: TypeAlias = "Sequence[array[int]]"
# Of the arrays of a page, those of hashes and then all others; of none, nothing.
State: TypeAlias = "tuple[list[bytes], list[bytes]]"
NO_STATE: State = [], []

_PLACE, _BESIDE_BIT, _NOWHERE = PLACE, BESIDE_BIT, NOWHERE
_VALUE = (1 << 64) - 1 - PLACE


class ValueRows:
    """The values of a page while it is read, with their chains."""

    def __init__(self) -> None:
        # Arrays with room for more, doubled when that is used up: to append to one takes a call.
        # Of each value: itself, its chain, its kind, the events of the element that it is in and of
        # the nearest named one around, and its own events, or what else it is (see Reader).
        self.count = 0
        self.loose = room_for("Q")
        self._chain_of = room_for("i")
        self.kinds, self.inside, self.named_at = room_for("i"), room_for("i"), room_for("i")
        self.first, self.last = room_for("i"), room_for("i")
        # Of each chain: its id, and its base.
        self._chains = 0
        self.ids, self._bases = room_for("Q"), room_for("i")
        # Of each long text; the chains of what is small.
        self._lists: list[list[int]] = [[] for _ in CODES[4:]]
        self._longs, self._texts, self._places, self._around, self.smalls = self._lists
        self.held: list[array[int]] = []  # all of CODES, at the end
        self._counts: dict[int, int] = {}
        self._begun: list[int] = []  # the numbers of the chains that are not counted yet

    def chain(self, value: int, base: int) -> int:
        """Add a chain after the value number *base* (-1 if there is none); return its number."""
        number = self._chains
        if number == len(self.ids):
            self.ids, self._bases = doubled("Q", self.ids), doubled("i", self._bases)
        self.ids[number] = value
        self._bases[number] = base
        self._chains = number + 1
        return number

    def begin(self, value: int, base: int) -> int:
        """Add a chain that counts once all is read."""
        number = self.chain(value, base)
        self._begun.append(number)
        return number

    def end_chains(self) -> None:
        """Count the chains that were begun."""
        for number in self._begun:
            self.ids[number] = self._counted(self.ids[number])

    def _counted(self, value: int) -> int:
        """Return a value, or another one if it comes again."""
        times = self._counts.get(value, 0)
        self._counts[value] = times + 1
        return mix(value, times) if times else value

    def emit(self, value: int, place: int, kind: int, frame: Frame, at: int, end: int) -> int:
        """Add a value in no chain, and return its number; if it comes again, another."""
        counted = self._counted(value)
        return self.note(counted, place, self.chain(counted, -1), kind, frame, at, end)

    def note(
        self, value: int, place: int, chain: int, kind: int, frame: Frame, at: int, end: int
    ) -> int:
        """Add a value in an element, and return its number; see :meth:`add`."""
        loose = value & _VALUE | place & _PLACE
        return self.add(loose, chain, kind, frame.at, frame.named_at, at, end)

    def add(
        self, loose: int, chain: int, kind: int, inside: int, named_at: int, at: int, end: int
    ) -> int:
        """Add a value, with the events of its element, of the named one around, and its own."""
        number = self.count
        if number == len(self.loose):
            self._make_room()
        self.loose[number] = loose
        self._chain_of[number] = chain
        self.kinds[number] = kind
        self.inside[number] = inside
        self.named_at[number] = named_at
        self.first[number] = at
        self.last[number] = end
        self.count = number + 1
        return number

    def _make_room(self) -> None:
        self.loose, self._chain_of = doubled("Q", self.loose), doubled("i", self._chain_of)
        self.kinds, self.inside = doubled("i", self.kinds), doubled("i", self.inside)
        self.named_at = doubled("i", self.named_at)
        self.first, self.last = doubled("i", self.first), doubled("i", self.last)

    def note_long(self, number: int, value: int, place: int, is_behind_small: bool) -> int:
        """Note that a value is a long text, and return which of these it is."""
        self._longs.append(number)
        self._texts.append(value)
        self._places.append(place)
        self._around.append(is_behind_small)
        return len(self._longs) - 1

    def end_long(self, chain: int, at: int, value: int, is_before_small: bool) -> None:
        """Note what a long text's chain is, and whether something small is behind it."""
        self.ids[chain] = self._counted(value)
        if is_before_small:
            self._around[at] += 2

    def id_of(self, number: int) -> int:
        """Return the id of a value: its chain, and its place."""
        return self.ids[self._chain_of[number]] & _VALUE | self.loose[number] & _PLACE

    def end(self) -> None:
        """Hold what was read as arrays from now on."""
        loose, chain_of = self.loose[: self.count], self._chain_of[: self.count]
        ids, bases = self.ids[: self._chains], self._bases[: self._chains]
        arrays = *map(bytes, (loose, chain_of, ids, bases)), *self._lists
        self.held = [array(code, one) for code, one in zip(CODES, arrays, strict=True)]

    def state(self) -> State:
        """Return what the values under another template can be told from."""
        hashes = [one.tobytes() for one in self.held if one.typecode == "Q"]
        return hashes, [one.tobytes() for one in self.held if one.typecode != "Q"]


def values_under(state: State, template: Collection[int]) -> PageValues:
    """Return the values of a page under a template, from what :meth:`Reader.state` returned.

    They are not told, and have no addresses.
    """
    found = PageValues()
    hashes, others = map(iter, state)
    held = [array(code, next(hashes if code == "Q" else others, b"")) for code in CODES]
    sort_out(held, template, found)
    return found


def sort_out(held: list[array[int]], template: Collection[int], found: PageValues) -> bytearray:
    """Tell the values of a page's own from what its section repeats.

    Return which are its own (1), and which are chained to one that is (2).
    """
    loose, chain_of, ids, bases = held[0], held[1], held[2], held[3]
    is_own = bytearray(len(loose))
    # A chain is the page's own if one in it is (1), and chained if it begins after one that is (2),
    # or if the section does not repeat it as a whole (3).
    kinds = bytearray(len(ids))
    for number in range(len(loose)):
        is_own[number] = not template or loose[number] not in template
    for chain in range(len(ids)):
        if bases[chain] >= 0 and is_own[bases[chain]]:
            kinds[chain] = 2
    has_own = bytearray(len(ids))  # more than how it ends
    for number in range(len(loose)):
        if is_own[number]:
            kinds[chain_of[number]] = 1
            has_own[chain_of[number]] |= loose[number] & _PLACE > _NOWHERE
    _note_combinations(held, template, found, kinds)
    _put(held, is_own, kinds, 1, (found.own, found.own_loose))
    _put(held, is_own, kinds, 2, (found.chained, found.chained_loose))
    _put(held, is_own, kinds, 0, (found.repeated, found.repeated_loose))
    _note_long_shapes(held, template, found, is_own)
    _note_small_shapes(held, template, found, is_own, kinds)
    places: set[int] = set()
    for number in range(len(loose)):
        chain, place = chain_of[number], loose[number] & _PLACE
        # In the content, a chain may be its own of which the section repeats all but how it ends.
        is_combined = kinds[chain] & 1 and not has_own[chain] and not place & _NOWHERE
        if place > _NOWHERE and (is_own[number] or is_combined):
            places.add(place)
        if kinds[chain] >= 2:
            is_own[number] = 2
    found.places.extend(places)
    return is_own


def _put(held: Arrays, is_own: bytearray, kinds: bytearray, kind: int, into: Arrays) -> None:
    """Put the page's own values (kind 1), or others in chains of a kind, where they are found."""
    loose, chain_of, ids = held[0], held[1], held[2]
    chosen, chosen_loose = array("Q", bytes(8 * len(loose))), array("Q", bytes(8 * len(loose)))
    count = 0
    for number in range(len(loose)):
        chain = chain_of[number]
        is_whole = kind == 2 and kinds[chain] == 3
        if is_own[number] == (kind == 1) and (kind == 1 or kinds[chain] == kind or is_whole):
            chosen[count] = ids[chain] & _VALUE | loose[number] & _PLACE
            if is_whole:
                chosen_loose[count] = ids[chain] & _VALUE | loose[number] & _BESIDE_BIT
            else:
                chosen_loose[count] = loose[number]
            count += 1
    for one, those in zip(into, (chosen, chosen_loose), strict=True):
        one.frombytes(bytes(those[:count]))


def _note_combinations(
    held: list[array[int]], template: Collection[int], found: PageValues, kinds: bytearray
) -> None:
    """Note which chains of what the section repeats it does not repeat as a whole (3).

    "In stock" and "sold out" may be on all pages, and what they are said of; as may a long text,
    with something small around it or not.
    """
    loose, chain_of, ids = held[0], held[1], held[2]
    first = array("i", [-1]) * len(ids)
    for number in range(len(loose) - 1, -1, -1):
        first[chain_of[number]] = number
    is_own = kinds if template else bytearray(len(ids))  # before, all is its own
    chains: set[int] = set()
    for chain in range(len(ids)):
        if first[chain] < 0:
            continue
        # Beside the content, its folder may repeat what is the page's own in its section.
        beside = loose[first[chain]] & _BESIDE_BIT
        if is_own[chain] == 1 and not beside:
            continue
        value = ids[chain] & _VALUE
        if value != loose[first[chain]] & _VALUE:
            value |= beside
            chains.add(value)
            if not kinds[chain] and value not in template:
                kinds[chain] = 3
    found.shapes.extend(chains)


def _note_long_shapes(
    held: list[array[int]], template: Collection[int], found: PageValues, is_own: bytearray
) -> None:
    """Note around which long texts of this section there is less than around others."""
    loose, chain_of, ids, longs = held[0], held[1], held[2], held[4]
    texts, places, around = held[5], held[6], held[7]
    most = MOST_RANKS
    first: dict[int, int] = {}
    count: dict[int, int] = {}
    shapes: set[int] = set()
    for at in range(len(longs)):
        count[places[at]] = count.get(places[at], 0) + 1
    for at in range(len(longs)):
        place, flags, number = places[at], around[at], longs[at]
        rank = first.get(place, 0)
        first[place] = rank + 1
        behind = count[place] - rank - 1
        # Whether there may be something before it (1), though there is nothing, and behind it (2).
        may_be = 0
        for side in range(2):
            if not flags >> side & 1:
                ranks = behind if side else rank
                shape = mix(mix(place, side), min(ranks, most)) & _VALUE
                shapes.add(shape)
                if template and shape in template:
                    may_be |= 1 << side
        if is_own[number] and may_be:
            sides = [[0, 1] if may_be >> side & 1 else [flags >> side & 1] for side in (0, 1)]
            found.shaped[ids[chain_of[number]] & _VALUE | loose[number] & _PLACE] = tuple(
                [mix(mix(texts[at], one), other) >> 32 for one in sides[0] for other in sides[1]]
            )
    found.shapes.extend(shapes)


def _note_small_shapes(
    held: list[array[int]],
    template: Collection[int],
    found: PageValues,
    is_own: bytearray,
    kinds: bytearray,
) -> None:
    """Note which chains of this section hold less than others."""
    loose, chain_of, ids, bases, smalls = held[0], held[1], held[2], held[3], held[8]
    is_small = bytearray(len(ids))
    bare = array("Q", bytes(8 * len(ids)))
    shape_of = array("Q", bytes(8 * len(ids)))
    for at in range(len(smalls)):
        chain = smalls[at]
        is_small[chain] = 1
        if bases[chain] >= 0 and is_own[bases[chain]]:
            bare[chain] = loose[bases[chain]]
    for number in range(len(loose)):
        chain = chain_of[number]
        if is_small[chain]:
            place = loose[number] & _PLACE
            shape_of[chain] = mix(shape_of[chain], place) & _VALUE
            if is_own[number] and place > _NOWHERE:
                bare[chain] = mix(bare[chain], loose[number])
    shapes = {shape_of[chain] for chain in smalls}
    found.shapes.extend(shapes)
    found.bare.extend([bare[chain] for chain in smalls if kinds[chain] == 1])
    known = {shape for shape in shapes if shape in template}
    if not known:
        return
    for number in range(len(loose)):
        chain = chain_of[number]
        if is_own[number] and is_small[chain] and shape_of[chain] in known:
            value = ids[chain] & _VALUE | loose[number] & _PLACE
            found.shaped[value] = (bare[chain] >> 32,)
