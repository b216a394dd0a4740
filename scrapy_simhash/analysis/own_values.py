# cython: annotation_typing=False, boundscheck=False, initializedcheck=False, binding=False
"""Which values of a page are its own, under a template of what its section repeats."""

from __future__ import annotations

from array import array
from collections.abc import Collection
from typing import TypeAlias

from scrapy_simhash.decision.holdings import BESIDE_BIT, NOWHERE, PLACE, PageValues
from scrapy_simhash.hashes import mix

# Of the long texts of an element, so many are told apart by their rank, from both ends.
MOST_RANKS = 3
# Of each value itself, and the number of its chain; of each chain its id, and its base; of each
# long text its number, itself, its place, and whether something small is before it (1) or behind
# it (2); the chains of what is small.
CODES = "QiQiiQQbi"
# Of the arrays of a page, those of hashes and then all others; of none, nothing.
State: TypeAlias = "tuple[list[bytes], list[bytes]]"
NO_STATE: State = [], []

_PLACE, _BESIDE_BIT = PLACE, BESIDE_BIT
_VALUE = (1 << 64) - 1 - PLACE


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
    """Tell the values of a page's own from what its section repeats; return which are its own."""
    loose, chain_of, ids, bases = held[0], held[1], held[2], held[3]
    own, own_loose, chained, chained_loose, repeated, repeated_loose = [], [], [], [], [], []
    is_own = bytearray(len(loose))
    # A chain is the page's own if one in it is (1), and chained if it begins after one that is (2).
    kinds = bytearray(len(ids))
    for number in range(len(loose)):
        is_own[number] = loose[number] not in template
    for chain in range(len(ids)):
        if bases[chain] >= 0 and is_own[bases[chain]]:
            kinds[chain] = 2
    for number in range(len(loose)):
        if is_own[number]:
            kinds[chain_of[number]] = 1
    _note_combinations(held, template, found, kinds)
    for number in range(len(loose)):
        chain = chain_of[number]
        value = ids[chain] & _VALUE | loose[number] & _PLACE
        if is_own[number]:
            own.append(value)
            own_loose.append(loose[number])
        elif kinds[chain] == 2:
            chained.append(value)
            chained_loose.append(loose[number])
        elif kinds[chain] == 0:
            repeated.append(value)
            repeated_loose.append(loose[number])
    found.own.fromlist(own)
    found.own_loose.fromlist(own_loose)
    found.chained.fromlist(chained)
    found.chained_loose.fromlist(chained_loose)
    found.repeated.fromlist(repeated)
    found.repeated_loose.fromlist(repeated_loose)
    _note_long_shapes(held, template, found, is_own)
    _note_small_shapes(held, template, found, is_own, kinds)
    return is_own


def _note_combinations(
    held: list[array[int]], template: Collection[int], found: PageValues, kinds: bytearray
) -> None:
    """Note which chains of what the section repeats it does not repeat as a whole.

    "In stock" and "sold out" may be on all pages, and what they are said of.
    """
    loose, chain_of, ids, longs = held[0], held[1], held[2], held[4]
    first = array("i", [-1]) * len(ids)
    for number in range(len(loose) - 1, -1, -1):
        first[chain_of[number]] = number
    for at in range(len(longs)):
        first[chain_of[longs[at]]] = -1
    is_own = kinds if template else bytearray(len(ids))  # before, all is its own
    chains: set[int] = set()
    for chain in range(len(ids)):
        if first[chain] < 0 or is_own[chain] == 1:
            continue
        value = ids[chain] & _VALUE
        if value != loose[first[chain]] & _VALUE:
            value |= loose[first[chain]] & _BESIDE_BIT
            chains.add(value)
            if not kinds[chain] and value not in template:
                kinds[chain] = 2
    found.shapes.extend(chains)


def _note_long_shapes(
    held: list[array[int]], template: Collection[int], found: PageValues, is_own: bytearray
) -> None:
    """Note around which long texts of this section there is less than around others."""
    loose, chain_of, ids, longs = held[0], held[1], held[2], held[4]
    texts, places, around = held[5], held[6], held[7]
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
        # Whether there may be something before it, though there is nothing, and behind it.
        may_be = [False, False]
        for side in (0, 1):
            if not flags >> side & 1:
                ranks = behind if side else rank
                shape = mix(mix(place, side), min(ranks, MOST_RANKS)) & _VALUE | NOWHERE
                shapes.add(shape)
                may_be[side] = shape in template
        if is_own[number] and (may_be[0] or may_be[1]):
            sides = [[0, 1] if may_be[side] else [flags >> side & 1] for side in (0, 1)]
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
            shape_of[chain] = mix(shape_of[chain], place) & _VALUE | NOWHERE
            if is_own[number] and place != NOWHERE:
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
