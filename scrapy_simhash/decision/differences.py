"""What differs between two visits to one page, and how it is cut from the values of others.

Of an address only the parameters or segments that changed are noise, of any other value only the
words that changed, in its place (:mod:`scrapy_simhash.decision.cuts`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, ItemsView, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial
from itertools import accumulate, chain
from operator import eq
from types import MappingProxyType
from typing import NamedTuple

from scrapy_simhash.decision.cuts import (
    AT_END,
    AT_START,
    EVERYWHERE,
    OF_PARAMETERS,
    ONE_WORD,
    WHOLE,
    WORDS,
    Cut,
    Cuts,
    alphanumeric,
    in_order,
    pieces_of,
    stripped,
    words_left_out,
)
from scrapy_simhash.decision.rewriting import common_beginning, parameters_of
from scrapy_simhash.hashes import hash_of

# A parameter with one value in so many addresses of a page is one of the visit.  In one address, it
# may as well be the number of what a rotating box shows.
MIN_CARRIERS = 2
# A change is known by this much of what is before and behind it.
MAX_AROUND = 60

# So many times more texts than different ones say of what kind something is.
MANY = 4
# Of a value, so many changes are looked at, and so many cuts of a place: each reads all its texts.
MOST_RUNS = 32
MOST_CUTS = 256
# So many words before and behind a change tell it from others in the value.
NEAR_WORDS = 3
# What stays is looked for at other places of a value, too, among so many words: 50 ms.
MOST_ALIGNED = 200
# A text of less letters is a name: another one in its place may have some of its words.
MIN_SENTENCE = 60
# A text of more words is no field, and so many words are told of all places.
MOST_WORDS = 100
MOST_LEFT_OUT = 1_000
# An address between slashes: the scheme, nothing, the host, the first folder.
_HOST = 2

_NUMBERED = re.compile(r"(?!index|default).*\d.*\.\w+$")
# A value that is no sentence.
_CODE = re.compile(r"[\[({=:,]\s*\\*[\"']")


class Place(NamedTuple):
    """Where something is: a :func:`wide_place`, and a :func:`near_place`."""

    wide: int
    near: int


class Atom(NamedTuple):
    """A text of a page that may be cut: an ``address``, a ``text`` of the page, or a ``value``.

    *near* is its :func:`near_place`, *boxes* are the places of the elements that it is in.
    """

    kind: str
    text: str
    is_beside: bool = False
    boxes: tuple[Place, ...] = ()
    near: int = 0


# The atoms of a page by their places, in order.
Atoms = Mapping[int, list[Atom]]

# Hashes of the words that cuts take from the first and from the second visit.
LeftOut = tuple[frozenset[int], frozenset[int]]


class Differences(NamedTuple):
    """What differs between two visits: cuts by place, and the places and parameters that do not.

    Of the places that do not, those that are watched, or are where something else differs.
    *values* are hashes of what the parameters that differ had as values.  *wide* are the wide
    places of those that are near a text.  *names* are those of the parameters in the addresses of
    each place that does not differ.  *left_out* are hashes of the words that cuts take from each
    visit, in places and boxes that show one thing: at most :data:`MOST_LEFT_OUT`.  *leading* are
    the parameters that all addresses of a place have, none of which both visits show there, each
    with a hash of what stays of these.
    """

    changed: frozenset[tuple[int, Cut]]
    same_places: frozenset[int]
    same_parameters: frozenset[str]
    values: Mapping[tuple[int, Cut], frozenset[int]] = MappingProxyType({})
    wide: Mapping[int, int] = MappingProxyType({})
    names: Mapping[int, frozenset[str]] = MappingProxyType({})
    left_out: Mapping[int, LeftOut] = MappingProxyType({})
    leading: Mapping[tuple[int, Cut], int] = MappingProxyType({})

    def is_same(self, key: tuple[int, Cut]) -> bool:
        """Whether both visits show the same in a place, or for a parameter of all links.

        Where no address has a parameter, they say nothing of it.
        """
        place, cut = key
        if place == EVERYWHERE:
            return cut[1] in self.same_parameters
        has_it = cut[0] not in OF_PARAMETERS or cut[1] in self.names.get(place, ())
        return place in self.same_places and has_it


# What two visits show in one place.
Visits = tuple[Sequence[Atom], Sequence[Atom]]

# What two visits say of the texts in one place of a box: they stay, are others, all of which is cut
# where they are, or may belong to either.
_STAYS, _OTHERS, _CUT, _EITHER = "stays", "others", "cut", "either"
_DIFFER = {_OTHERS, _CUT}


def differences(
    first: Atoms, second: Atoms, *, watched: Mapping[int, Collection[Cut]] = MappingProxyType({})
) -> Differences:
    """Compare two visits to one page, of a section in which *watched* have changed before.

    Cost: O(what they hold).
    """
    return _Comparison(first, second, watched).differences()


class _Comparison:
    """Compares two visits to one page: each place, and from all of them the boxes around them."""

    def __init__(self, first: Atoms, second: Atoms, watched: Mapping[int, Collection[Cut]]) -> None:
        self._first, self._second, self._watched = first, second, watched
        before, after = _carried_by(first), _carried_by(second)
        common = before.keys() & after.keys()
        self._of_visit = {name for name in common if before[name] != after[name]}
        self._same_parameters = frozenset(common - self._of_visit)
        self._gone, self._come = _only_in(first, second), _only_in(second, first)
        # As in Differences.
        self._changed: set[tuple[int, Cut]] = set()
        self._same: set[int] = set()
        self._values: dict[tuple[int, Cut], frozenset[int]] = {}
        self._wide: dict[int, int] = {}
        self._names: dict[int, frozenset[str]] = {}
        self._left_out: dict[int, LeftOut] = {}
        self._leading: dict[tuple[int, Cut], int] = {}
        # Of each box: what became of what is in its places, and what they show.
        self._fates: dict[int, set[str]] = defaultdict(set)
        self._shown: dict[int, list[Visits]] = defaultdict(list)
        # What both visits show alike in boxes that may show others elsewhere; what is left of it.
        self._calm: dict[int, list[tuple[Visits, Mapping[str, str]]]] = defaultdict(list)

    def differences(self) -> Differences:
        """Return what the visits differ in."""
        first, second = self._first, self._second
        self._changed.update((EVERYWHERE, ("parameter", name)) for name in self._of_visit)
        places = first.keys() | second.keys()
        differ = {place for place in places if first.get(place) != second.get(place)}
        for place in differ:
            self._compare(place, (first.get(place, ()), second.get(place, ())))
        # A place at which both show the same, as nearly all do, says something only if it or a box
        # around it has changed before, or may show others.
        asked = {*self._watched, *self._unsettled_boxes()}
        for place in first.keys() - differ if asked else ():
            atoms = first[place]
            around = (at for atom in atoms for box in atom.boxes for at in box)
            if not asked.isdisjoint(chain((place,), (atom.near for atom in atoms), around)):
                self._compare(place, (atoms, atoms))
        self._decide_boxes()
        sizes = accumulate(len(one) + len(two) for one, two in self._left_out.values())
        told = zip(self._left_out.items(), sizes, strict=True)
        return Differences(
            frozenset(self._changed),
            frozenset(self._same),
            self._same_parameters,
            self._values,
            {place: self._wide[place] for place, _ in self._changed if place in self._wide},
            self._names,
            dict(one for one, size in told if size <= MOST_LEFT_OUT),
            self._leading,
        )

    def _unsettled_boxes(self) -> set[int]:
        """Return the boxes that may show others, as far as is known."""
        return {box for box, found in self._fates.items() if not found.isdisjoint(_DIFFER)}

    def _compare(self, place: int, visits: Visits) -> None:
        """Compare what the visits show in a place, and behind each text that both have."""
        self._compare_at(place, visits)
        is_shuffled = _are_same(*visits)
        mine, its = (_by_near(visit) for visit in visits)  # nothing, beside the content
        for near in mine.keys() & its.keys():
            if not is_shuffled or _are_same(mine[near], its[near]):
                self._wide[near] = place
                self._compare_at(near, (mine[near], its[near]))

    def _compare_at(self, place: int, visits: Visits) -> None:
        atoms = (*visits[0], *visits[1])
        kind = atoms[0].kind
        one, two = ([_text_of(atom, self._of_visit) for atom in visit] for visit in visits)
        cuts = _changes(atoms, one, two)
        if cuts is None or (cuts and _have_moved(one, two, self._gone, self._come)):
            # Something of it stays, nobody knows what.
            for around in {around for atom in atoms for around in atom.boxes}:
                self._fates[around.wide].add(_STAYS)
                self._fates[around.near].add(_STAYS)
            return
        keep = _kept_by(cuts, place, kind)
        if any(keep(place, one) != one for one in Counter(one) & Counter(two)):
            # Some of it is the page's own; but in a cart, it may be the visitor's.
            is_beside = all(atom.is_beside for atom in atoms)
            if not is_beside or cuts != {WHOLE} or _stay_in_place(one, two):
                cuts = set()
        self._changed.update((place, cut) for cut in cuts)
        if left := cuts or {*self._watched.get(place, ())}:
            kept = partial(_kept_by(left, place, kind), place)
            if kind == "address":
                kept = partial(_kept_with_names, kept)
            words = _left_out(one, two, kept)
            self._note_left_out(place, _all_left_out(one, two) if words is None else words)
        if not cuts:
            self._same.add(place)
            if kind == "address" and (found := {name for text in one for name, _ in _pairs(text)}):
                self._names[place] = frozenset(found)
        for cut in cuts:
            if cut[0] in OF_PARAMETERS:
                of = [dict(_pairs(atom.text)).get(str(cut[1]), "") for atom in atoms]
                self._values[place, cut] = frozenset(map(hash_of, of))
                if cut[0] == "parameter" and all(of) and not {*one} & {*two}:
                    stays = sorted({keep(place, text) for text in (*one, *two)})
                    self._leading[place, cut] = hash_of(" ".join(stays))
        if place not in self._wide:
            self._note_boxes(place, visits, one, two, cuts)

    def _note_boxes(
        self, place: int, visits: Visits, one: list[str], two: list[str], cuts: set[Cut]
    ) -> None:
        """Note what *cuts* leave of two visits to a place in each of the boxes around it."""
        kind = (visits[0] or visits[1])[0].kind
        keep = _kept_by(cuts - {WHOLE}, place, kind)
        # What is left of the titles of others may be the name of a brand.
        if any(len({keep(place, text) for text in visit}) < len({*visit}) for visit in (one, two)):
            keep = _kept_by(set(), place, kind)
        is_shuffled = _are_same(*visits)
        texts = {atom.text: text for atom, text in zip(chain(*visits), (*one, *two), strict=True)}
        said = {text: keep(place, without) for text, without in texts.items()}
        boxes = dict(_in_boxes(visits, self._wide))
        for box, in_box in boxes.items():
            if in_box[0] == in_box[1] and box not in self._watched:
                self._calm[box].append((in_box, said))
                continue
            fate = _fate(in_box, said)
            if fate == _OTHERS and is_shuffled:
                fate = _EITHER
            elif fate == _OTHERS and cuts == {WHOLE} and _is_name(boxes[self._wide.get(box, box)]):
                fate = _CUT  # it needs no box, which may say something
            self._fates[box].add(fate)
            self._shown[box].append(in_box)

    def _decide_boxes(self) -> None:
        """Decide which boxes show others, and which the same."""
        for box in self._calm.keys() & self._unsettled_boxes():
            self._fates[box].update(_fate(in_box, said) for in_box, said in self._calm[box])
            self._shown[box] += (in_box for in_box, _ in self._calm[box])
        rotating = set()
        for box, found in self._fates.items():
            if _OTHERS in found and _STAYS not in found:
                rotating.add(box)
            elif _STAYS in found or _CUT not in found:
                self._same.add(box)
        self._changed.update((box, WHOLE) for box in rotating)
        for box in self._shown.keys() & {*rotating, *self._watched}:
            words = everywhere([_all_left_out(*map(_texts, visits)) for visits in self._shown[box]])
            self._note_left_out(box, words)

    def _note_left_out(self, place: int, words: LeftOut) -> None:
        """Note the words that are left out in a place, if a field may have as many."""
        if max(map(len, words)) <= MOST_WORDS:
            self._left_out[place] = words


def _left_out(one: list[str], two: list[str], keep: Callable[[str], str]) -> LeftOut | None:
    """Return the words that are left out of what two visits show in one place.

    None if more than one of its texts has changed, or if it has more than :data:`MOST_WORDS`.
    """
    mine, its = Counter(one) - Counter(two), Counter(two) - Counter(one)
    if not mine and not its:
        mine = its = Counter(text for text in one if keep(text) != text)
    if max(mine.total(), its.total()) > 1:
        return None
    left_out = _words_in(mine, keep), _words_in(its, keep)
    return left_out if max(map(len, left_out)) <= MOST_WORDS else None


def _all_left_out(one: list[str], two: list[str]) -> LeftOut:
    """Return the words of what two visits show in one place, all of which may be left out.

    If more than one text has changed, both show the words of those alone that stay where they were,
    from the first or from the last.
    """
    changed = _left_out(one, two, _nothing)
    if changed is None:
        mine, its = _words_in({*one}, _nothing), _words_in({*two}, _nothing)
        changed = mine, its - mine if len(its) <= MOST_WORDS else its
    pairs = chain(zip(one, two, strict=False), zip(one[::-1], two[::-1], strict=False))
    staying = _words_in({text for text, other in pairs if text == other}, _nothing)
    return changed[0] | staying, changed[1] | staying


def _nothing(_text: str) -> str:
    return ""


def everywhere(left_out: Collection[LeftOut]) -> LeftOut:
    """Return the words that are left out of each of two visits in several places."""
    first = frozenset[int]().union(*(one for one, _ in left_out))
    return first, frozenset[int]().union(*(other for _, other in left_out))


def _words_in(texts: Iterable[str], keep: Callable[[str], str]) -> frozenset[int]:
    """Return hashes of the words that are left out of some texts; 501.00 is 501.

    Not of all, if they are more than :data:`MOST_WORDS`.
    """
    found: set[int] = set()
    for text in texts:
        found.update(words_left_out(text, keep(text)))
        if len(found) > MOST_WORDS:
            break
    return frozenset(found)


def _only_in(one: Atoms, other: Atoms) -> set[str]:
    """Return the texts that one visit shows in a place where the other does not."""
    return {
        text
        for place, atoms in one.items()
        if atoms != other.get(place)
        for text in Counter(a.text for a in atoms) - Counter(a.text for a in other.get(place, ()))
    }


def _have_moved(one: list[str], two: list[str], gone: set[str], come: set[str]) -> bool:
    """Whether most of what is gone from a place, or has come there, stands elsewhere as well.

    A class around it may be another, or a row more above it.
    """
    here = (Counter(one) - Counter(two)).keys(), (Counter(two) - Counter(one)).keys()
    moved = len(here[0] & come) + len(here[1] & gone)
    return 2 * moved >= len(here[0]) + len(here[1])


def _texts(atoms: Iterable[Atom]) -> list[str]:
    return [atom.text for atom in atoms]


def _text_of(atom: Atom, names: Collection[str]) -> str:
    """Return the text of an atom, an address without parameters that change everywhere."""
    return stripped(atom.text, names) if atom.kind == "address" else atom.text


def _are_same(one: Sequence[Atom], two: Sequence[Atom]) -> bool:
    """Whether two visits show the same texts, in whatever order."""
    return len(one) == len(two) and Counter(a.text for a in one) == Counter(a.text for a in two)


def _is_name(visits: Visits) -> bool:
    """Whether each of two visits shows one name or number."""
    return all(len(visit) == 1 and len(visit[0].text) < MIN_SENTENCE for visit in visits)


def _by_near(atoms: Iterable[Atom]) -> dict[int, list[Atom]]:
    found: dict[int, list[Atom]] = defaultdict(list)
    for atom in atoms:
        if atom.near and not atom.is_beside:
            found[atom.near].append(atom)
    return found


def _in_boxes(visits: Visits, wide: dict[int, int]) -> Iterator[tuple[int, Visits]]:
    """Yield the atoms of two visits in each of the boxes around them, by both of its places.

    Behind a text that only one of them has, there is no box.
    """
    found: dict[int, tuple[list[Atom], list[Atom]]] = defaultdict(lambda: ([], []))
    for number, visit in enumerate(visits):
        for atom in visit:
            for box in atom.boxes:
                found[box.wide][number].append(atom)
                if not atom.is_beside:
                    wide[box.near] = box.wide
                    found[box.near][number].append(atom)
    for place, both in found.items():
        if place not in wide or all(both):
            yield place, both


def _kept_by(cuts: set[Cut], place: int, kind: str) -> Callable[[int, str], str]:
    """Return the function that says what cuts leave of a text at a place."""
    rest = Cuts(places={place: in_order(cuts)})
    return rest.address if kind == "address" else rest.text


def _changes(atoms: Sequence[Atom], one: list[str], two: list[str]) -> set[Cut] | None:
    """Return what changed in one place, of whose *atoms* two visits show these texts.

    None if some of it stays, but it cannot be said what.
    """
    kind = atoms[0].kind
    if sorted(one) == sorted(two):
        return set()
    found: list[Collection[Cut] | None] = []
    if kind == "address":
        found.append(_changes_of_addresses(one, two))
    elif len(one) == len(two):
        pairs = [(a, b) for a, b in zip(one, two, strict=True) if a != b]
        found += [_change(a, b, kind == "text", len(one) == 1) for a, b in pairs]
        if any(some and WHOLE not in some for some in found):
            # A token beside data that have one: of these, something stays.
            found = [
                [("words", 0, len(WORDS.findall(a)), 0)] if some == [WHOLE] else some
                for (a, _), some in zip(pairs, found, strict=True)
            ]
    if None in found:
        return None
    cuts = {*in_order({cut for some in found for cut in some or ()})[:MOST_CUTS]}
    is_beside = all(atom.is_beside for atom in atoms)
    if not cuts and (is_beside or not set(one) & set(two)):
        cuts = {WHOLE}  # a rotating box, an advertisement, a cart beside the content
    return cuts


def _stay_in_place(one: Sequence[str], two: Sequence[str]) -> bool:
    """Whether two visits show as many texts, of which some stand where they stood."""
    return len(one) == len(two) and any(map(eq, one, two))


def _fate(visits: Visits, said: Mapping[str, str]) -> str:
    """Return what became of what is in one place of a box; *said* is what is left of each text.

    A box may show others, some of which have the price of one before.  What it says of each, as
    the button of a list of offers does, belongs to whatever it shows.  Beside the content, as in a
    cart, some may stay.
    """
    one, two = ([said[atom.text] for atom in visit] for visit in visits)
    is_beside = all(atom.is_beside for visit in visits for atom in visit)
    most = max(len(one), len(two))
    kinds = len({*one, *two})
    if kinds == 1 < most or (is_beside and MANY * kinds <= most):
        return _EITHER
    if is_beside and {*one} != {*two}:
        return _EITHER if _stay_in_place(one, two) else _OTHERS
    if one == two:
        return _STAYS
    common = (Counter(one) & Counter(two)).total()
    if not common:
        return _OTHERS
    # A link that is the first or last at both visits, say, is the page's own among others.
    is_link = (visits[0] or visits[1])[0].kind == "address" and len({*one}) == len(one)
    is_own = is_link and (any(map(eq, one, two)) or any(map(eq, one[::-1], two[::-1])))
    return _STAYS if is_own or 2 * common > most else _EITHER


def _change(one: str, other: str, is_text: bool, is_single: bool) -> list[Cut] | None:
    """Return between which words two values differ; nothing if all of it is another.

    None if it is too long, or if it only is written in another way, as 1301 and 1,301 are, or with
    its words in another order.
    """
    if (said := alphanumeric(one)) and said == alphanumeric(other):
        return None
    mine, its = WORDS.findall(one), WORDS.findall(other)
    runs = _runs(mine, its, is_text or not _CODE.search(one))
    if runs == []:  # it has only grown
        one, other, mine, its = other, one, its, mine
        runs = _runs(mine, its, is_text or not _CODE.search(one))
    if runs is None or _are_in_other_order(mine, its, runs):
        return None
    is_even = len(mine) == len(its)
    if runs == [(0, len(mine))]:
        return [WHOLE] if is_single or not is_text else []
    if is_text and len(runs) == 1:
        ((start, end),) = runs
        before, behind = "".join(mine[:start]), "".join(mine[end:])
        if not _letters((*mine[:start], *mine[end:])):
            return [WHOLE] if is_single else []
        if len(before) <= MAX_AROUND and len(behind) <= MAX_AROUND:
            return [("between", before, behind, ONE_WORD * (end - start == 1 and is_even))]
    cuts: list[Cut] = []
    for at, (start, end) in enumerate(runs[:MOST_RUNS]):
        first = runs[at - 1][1] if at else 0
        last = runs[at + 1][0] if at + 1 < len(runs) else len(mine)
        if not is_text:  # what is near may be another on each page
            first, last = max(first, start - NEAR_WORDS), min(last, end + NEAR_WORDS)
        first, last = max(first, start - MAX_AROUND), min(last, end + MAX_AROUND)
        while len("".join(mine[first:start])) > MAX_AROUND:
            first += 1
        while len("".join(mine[end:last])) > MAX_AROUND:
            last -= 1
        ends = AT_START * (first == 0) + AT_END * (last == len(mine))
        ends += ONE_WORD * (end - start == 1 and is_even)
        cuts.append(("near", "".join(mine[first:start]), "".join(mine[end:last]), ends))
        if not is_text and is_even:
            cuts.append(("words", start, end - start, len(mine) - end))
    return cuts


def _are_in_other_order(mine: list[str], its: list[str], runs: list[tuple[int, int]]) -> bool:
    """Whether most of what differs of one value stands elsewhere in another."""
    words = Counter(word for start, end in runs for word in mine[start:end])
    staying = Counter(mine) - words
    moved = words & (Counter(its) - staying)
    return 2 * _letters(moved.elements()) >= max(1, _letters(words.elements()))


def _letters(words: Iterable[str]) -> int:
    """Return how many letters and digits words have."""
    return sum(len(word) for word in words if word[0].isalnum())


def _letters_in(words: list[str], blocks: list[tuple[int, int]]) -> int:
    return sum(_letters(words[start:end]) for start, end in blocks)


def _runs(mine: list[str], its: list[str], is_said: bool) -> list[tuple[int, int]] | None:
    """Return where the words of one value differ from those of another; None if they are too many.

    Two sentences (*is_said*) that have half of their words in common, or less, are two.
    """
    before = common_beginning(mine, its)
    behind = common_beginning(mine[::-1], its[::-1])
    behind = min(behind, len(mine) - before, len(its) - before)
    one, other = mine[before : len(mine) - behind], its[before : len(its) - behind]
    is_long = max(len(one), len(other)) > MOST_ALIGNED
    is_name = is_said and _letters(mine) < MIN_SENTENCE
    is_sentence = is_said and not is_name
    most = max(_letters(one), _letters(other))
    if is_sentence and 2 * _letters((Counter(one) & Counter(other)).elements()) < most:
        blocks = []
    elif (is_name or is_long) and len(one) == len(other):
        blocks = _in_place(one, other)
    elif is_long:
        return None
    else:
        blocks = _staying(one, other)
        if is_sentence and 2 * _letters_in(one, blocks) < most:
            blocks = []
    around = _letters((*mine[:before], *mine[len(mine) - behind :]))
    if not around and not _letters_in(one, blocks) and _letters(mine):
        return [(0, len(mine))]  # the hyphens of a UUID are nothing that stays
    starts = [0, *(end for _, end in blocks)]
    ends = [*(start for start, _ in blocks), len(one)]
    runs = zip(starts, ends, strict=True)
    return [(before + start, before + end) for start, end in runs if start < end or blocks]


def _in_place(one: list[str], other: list[str]) -> list[tuple[int, int]]:
    """Return which words of one value another has at the same place."""
    if len(one) != len(other):
        return []
    same = [*map(eq, one, other), False]
    starts = [at for at in range(len(one)) if same[at] and not (at and same[at - 1])]
    return [(at, same.index(False, at)) for at in starts]


def _staying(one: list[str], other: list[str]) -> list[tuple[int, int]]:
    """Return which words of one value another has as well, in this order."""
    # What is between words is the same by chance.
    mine, its = ([at for at, word in enumerate(of) if word[0].isalnum()] for of in (one, other))
    matcher = SequenceMatcher(None, [one[at] for at in mine], [other[at] for at in its], False)
    moved: list[tuple[int, int]] = []
    for first, second, size in matcher.get_matching_blocks():
        for at, there in zip(mine[first : first + size], its[second : second + size], strict=True):
            start = at - (min(at, there) > 0 and one[at - 1] == other[there - 1])
            end = at + 1 + (one[at + 1 : at + 2] == other[there + 1 : there + 2])
            if moved and start <= moved[-1][1]:
                start = moved.pop()[0]
            moved.append((start, min(end, len(one))))
    return max(_in_place(one, other), moved, key=partial(_letters_in, one))


def _changes_of_addresses(one: list[str], two: list[str]) -> set[Cut] | None:
    """Return what of two lists of addresses changed, if they are the same without it.

    None if they lead to files of the same names with numbers, such as 17.jpg, or if too much has.
    """
    values: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for a, b in zip(one, two, strict=False):
        mine, its = dict(_pairs(a)), dict(_pairs(b))
        for name in mine | its:
            values[name].append((mine.get(name, ""), its.get(name, "")))
    changed = {name: of for name, of in values.items() if any(a != b for a, b in of)}
    if len(changed) > MOST_CUTS:
        return None
    cuts: set[Cut] = set()
    for name, of in changed.items():
        cuts |= {("part", name, *part) for part in _pieces(of)} or {("parameter", name)}
    left, its_left = _left(cuts, one, two)
    # A rotating box shows others, which the parameter alone tells apart.
    are_apart = len({*left}) == len({*one}) and len({*its_left}) == len({*two})
    if sorted(left) == sorted(its_left):
        return cuts if are_apart else set()
    if len(one) != len(two):
        return set()
    pairs = [
        (a.partition("?")[0].split("/"), b.partition("?")[0].split("/"))
        for a, b in zip(left, its_left, strict=True)
        if a != b
    ]
    is_file = any(a[-1] == b[-1] and _NUMBERED.match(a[-1]) for a, b in pairs)
    unsaid = None if is_file else set[Cut]()
    if any(len(a) != len(b) for a, b in pairs):
        return unsaid
    segments = {i for a, b in pairs for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y}
    if not segments or min(segments) < _HOST:
        return unsaid
    for number in segments:
        for many in {len(a) for a, _ in pairs if number < len(a)}:
            pieces = _pieces([(a[number], b[number]) for a, b in pairs if len(a) == many])
            cuts |= {("piece", number, many, *piece) for piece in pieces} or {
                ("segment", number, many)
            }
    kept, its_kept = map(set, _left(cuts, one, two))
    if are_apart and kept == its_kept and len(kept) == len({*one}) == len({*two}):
        return cuts
    return unsaid


def _left(cuts: set[Cut], *visits: list[str]) -> list[list[str]]:
    """Return what cuts leave of the addresses of each visit."""
    keep = _kept_by(cuts, 0, "address")
    return [[keep(0, address) for address in visit] for visit in visits]


def _pieces(values: Iterable[tuple[str, str]]) -> set[tuple[int, int, int]]:
    """Return which words of some values changed: how many are before, in and behind them.

    Nothing if no word but that of a file's kind stays in one, or if one has more words then.
    """
    by_count: dict[int, list[tuple[list[str], list[str]]]] = defaultdict(list)
    for one, other in values:
        mine, its = pieces_of(one), pieces_of(other)
        if len(mine) != len(its):
            return set()
        by_count[len(mine)].append((mine, its))
    pieces = set()
    for count, words in by_count.items():
        before = min(common_beginning(mine, its) for mine, its in words)
        behind = min(common_beginning(mine[::-1], its[::-1]) for mine, its in words)
        behind = min(behind, count - before)
        kind = 2 * all(mine[-2:-1] == ["."] for mine, _ in words)
        staying = (*range(before), *range(count - behind, count - kind))
        if not any(mine[at][0].isalnum() for mine, _ in words for at in staying):
            return set()
        pieces.add((before, count - before - behind, behind))
    return pieces


def _kept_with_names(keep: Callable[[str], str], address: str) -> str:
    """Return what is kept of an address, with the names of its parameters, which stay."""
    return " ".join((keep(address), *(name for name, _ in _pairs(address))))


def _pairs(address: str) -> ItemsView[str, str]:
    return parameters_of(address.partition("?")[2]).items()


def _carried_by(atoms: Atoms) -> dict[str, str]:
    return carried(
        {atom.text for there in atoms.values() for atom in there if atom.kind == "address"}
    )


def carried(addresses: Iterable[str]) -> dict[str, str]:
    """Return the parameters of a visit: with one value in all addresses of a page that have them.

    At least :data:`MIN_CARRIERS` do, which are different ones without the parameter.
    """
    values: dict[str, set[str]] = defaultdict(set)
    carriers: dict[str, set[str]] = defaultdict(set)
    for address in {one.partition("#")[0] for one in addresses}:
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
