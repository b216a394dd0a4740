"""What changes by itself on a site, learned from second visits to its pages.

Two visits to one page show the same: whatever differs is noise
(:mod:`scrapy_simhash.decision.differences`).  What changes may have changed for good, as a stock
does: noise is what changed on :data:`AGREEING` pages, and in at least half of the visits that could
tell.  A parameter that all links of a page carry with another value at each visit, as they carry a
session, is known at once.
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Collection, Iterable, Mapping
from itertools import count

from cachetools import FIFOCache

from scrapy_simhash.decision.cuts import (
    EVERYWHERE,
    NO_CUTS,
    OF_ALL,
    ONE_WORD,
    WHOLE,
    Cut,
    Cuts,
    element_at,
    in_order,
    is_cut,
)
from scrapy_simhash.decision.differences import Differences, LeftOut, everywhere

SHARE = 0.5
# More visits than there are.
NEVER_NOISE = 1_000_000
# No hash of what stays.
OWN = -1
AGREEING = 3
# What is noise in so many places of a host is noise in the next one as soon as it changes there.
TOLD_BY_PLACES = 2
# What stays at so many visits to pages is their own; a change counts as many times as a visit.
STAYING = 4
# What the visits to so many pages show is compared, of which this share may be alike by chance.
MAX_COMPARED = 8
MOST_OWN = 1 / 3
# A field has no more words than this on a page, on average; what has more may be a list.
MOST_OF_FIELD = 8
MOST_KINDS = 100
# A place in which more words come and go may show others.
MAX_VOCABULARY = 200
# Hardly any word is still to come if at most so many visits, of all, show one that no other does
# (I. J. Good, "The population frequencies of species", 1953).
MOST_NEW = 1 / 6
# In all places of a section, so many are told; the rest may be any.
MAX_WORDS = 10_000
# Of a section, so many changes are watched; what was met first is forgotten first.
MAX_WATCHED = 1_000
MAX_SECTIONS = 2_000
_numbers = count(1)


class _Word:
    """A word of a vocabulary: on how many pages both visits show it, and on how many one alone.

    *returns*: other words came between two visits that show it.
    """

    __slots__ = ("apart", "last", "returns", "together")

    def __init__(self) -> None:
        self.together = self.apart = 0
        self.last = [0, 0]  # of the first visits, and of the second ones
        self.returns = False


class _Vocabulary:
    """The words that visits have shown in a place, and whether these are all that come by chance.

    They are if hardly any was shown once alone, and if half of those that come and go come again
    after others; a time does not.
    """

    def __init__(self) -> None:
        self._pages = 0
        self._visits = [0, 0]
        self._words: dict[int, _Word] = {}

    def note(self, left_out: LeftOut, both: frozenset[int], once: frozenset[int]) -> None:
        """Note what is left out at two visits to a page, and of it what both show, or one alone."""
        self._pages += 1
        for number, words in enumerate(left_out):
            self._visits[number] += bool(words)
            for word in words if len(self._words) <= MAX_VOCABULARY else ():
                found = self._words.setdefault(word, _Word())
                found.returns |= 0 < found.last[number] < self._visits[number] - 1
                found.last[number] = self._visits[number]
        for word in both & self._words.keys():
            self._words[word].together += 1
        for word in once & self._words.keys():
            self._words[word].apart += 1

    def add(self, words: Iterable[int]) -> None:
        """Take over words that come by chance."""
        self._pages = max(self._pages, AGREEING)
        for word in words:
            found = self._words.setdefault(word, _Word())
            found.apart, found.returns = max(found.apart, 2), True

    def words(self) -> frozenset[int] | None:
        """Return all words that come by chance, or stand on all pages; None if they are unknown."""
        if self._pages < AGREEING or len(self._words) > MAX_VOCABULARY:
            return None
        apart = [word for word in self._words.values() if word.apart]
        once = sum(word.apart + word.together == 1 for word in apart)
        if once > MOST_NEW * sum(self._visits):
            return None
        # What else stands there comes with all others.
        changing = [word for word in apart if word.apart + 2 * word.together < sum(self._visits)]
        if 2 * sum(word.returns for word in changing) < len(changing) - once:
            return None
        return frozenset(at for at, word in self._words.items() if self._is_noise(word))

    def _is_noise(self, word: _Word) -> bool:
        if word.apart:
            return word.apart + word.together > 1
        return word.together == self._pages


class Noise:
    """What changes by itself in one section of a site; *cuts* are what is known of it."""

    def __init__(self) -> None:
        # Of each place and cut: visits that could tell, and changes.
        self._seen: dict[tuple[int, Cut], tuple[int, int]] = {}
        # What parameters had as values: one that returns on another page is none of a visit.
        self._values: dict[tuple[int, Cut], set[int]] = {}
        # Those that have returned: what an address with one leads to is named by it.
        self._naming: set[tuple[int, Cut]] = set()
        # What stays of the addresses with one, where nothing else does.
        self._stay: dict[tuple[int, Cut], int] = {}
        # The wide places of those that are near a text.
        self._wide: dict[int, int] = {}
        # What was left out at the visits to the last pages: by place, and everywhere.
        self._left_out: deque[tuple[Mapping[int, LeftOut], LeftOut]] = deque(maxlen=MAX_COMPARED)
        self._own: set[int] = set()  # the places that seem to show something of the pages' own
        # Those that were cut before, and may be lists all the same: once refuted again, for good.
        self._refuted: set[int] = set()
        # Of each place: on how many pages both visits show words that none before did, and on how
        # many one visit shows words that one visit before did.
        self._met: FIFOCache[int, tuple[int, int]] = FIFOCache(MAX_WATCHED)
        # The words of each place.
        self._vocabularies: FIFOCache[int, _Vocabulary] = FIFOCache(MAX_WATCHED)
        self.cuts = NO_CUTS
        # Of each cut, by kind of page: by how many visits it seems to stay there.
        self._stays: FIFOCache[tuple[int, Cut], Counter[str]] = FIFOCache(MAX_WATCHED)
        # So many cuts have turned out to be no noise, or none of other words.
        self.refuted = 0

    def has_cut(self, place: int, cut: Cut) -> bool:
        """Whether something is known to change in a place by itself."""
        return cut in self.cuts.places.get(place, ())

    def learn(self, found: Differences, audited: Collection[tuple[int, Cut]] = ()) -> None:
        """Learn from two visits to one page what is noise, beside what is *audited*.

        A page that is audited has the texts of another: what comes behind them says no more.
        """
        returning = set()
        for key, values in found.values.items():
            known = self._values.setdefault(key, set())
            if not known.isdisjoint(values):
                returning.add(key)
            known |= values
            if len(self._values) > MAX_WATCHED or len(known) > MAX_WATCHED:
                self._values.clear()
        for key in returning:  # never again
            if key in found.leading and key not in self._naming:
                self._seen.setdefault((key[0], WHOLE), self._seen.get(key, (0, 0)))
            self._seen[key] = NEVER_NOISE, 0
        self._naming |= returning
        if len(self._naming) > MAX_WATCHED:
            self._naming.clear()
        if len(self._stay) > MAX_WATCHED:
            self._stay.clear()
        for key, stays in found.leading.items():
            if self._stay.setdefault(key, stays) != stays:  # it is the pages' own: photo 7
                self._stay[key] = OWN
                if key in self._naming:
                    self._seen[key[0], WHOLE] = NEVER_NOISE, 0
        self._wide |= found.wide
        self._note_left_out(found.left_out)
        changed = {
            (place, cut)
            for place, cut in self._changed(found).difference(audited)
            if (found.wide.get(place), cut) not in audited
        }
        for key in changed:
            visits, changes = self._seen.pop(key, (0, 0))
            self._seen[key] = visits + 1, changes + 1
        for key in self._seen.keys() - changed - set(audited):
            if found.is_same(key):
                visits, changes = self._seen[key]
                self._seen[key] = visits + 1, changes
        while len(self._seen) > MAX_WATCHED:
            del self._seen[next(iter(self._seen))]
        if len(self._refuted) > MAX_WATCHED:
            self._refuted.clear()
        if len(self._wide) > MAX_WATCHED:
            watched = {place for place, _ in self._seen}
            self._wide = {place: self._wide[place] for place in watched & self._wide.keys()}
        self._decide()

    def is_open(self, found: Differences) -> bool:
        """Whether more visits may teach more: something changed on fewer pages than must agree."""
        changed = self._changed(found)
        return any(self._seen.get(key, (0, 0))[1] in range(1, AGREEING) for key in changed)

    def _changed(self, found: Differences) -> frozenset[tuple[int, Cut]]:
        """Return what changed: with a parameter that says what links lead to, these as a whole."""
        naming = found.leading.keys() & self._naming
        return found.changed | {(key[0], WHOLE) for key in naming if self._stay.get(key) != OWN}

    def agree(self, known: Mapping[Cut, Collection[int]]) -> bool:
        """Take as noise what has changed here and is *known* to be; whether any is.

        *known* has the places of each cut in all sections of the host.
        """
        found = [
            (place, cut)
            for (place, cut), (_, changes) in self._seen.items()
            if 0 < changes < AGREEING and _is_known_at(place, cut, known)
        ]
        for key in found:
            visits, changes = self._seen[key]
            self._seen[key] = visits + AGREEING - changes, AGREEING
        if found:
            self._decide()
        return bool(found)

    def audit(self, found: Differences, kind: str) -> set[tuple[int, Cut]]:
        """Learn from two visits to a page of a *kind* of which something may have been cut wrongly.

        Return what was cut of it.

        What stays where nothing changes in its place is the pages' own, and noise of other pages:
        it is never cut again once it has stayed at :data:`STAYING` visits to pages of one kind, or
        of several kinds, one more for each kind in which it changes.  What is not cut may be.
        """
        known: set[tuple[int, Cut]]
        known = {(place, cut) for place, cuts in self.cuts.places.items() for cut in cuts}
        known |= {(EVERYWHERE, ("parameter", name)) for name in self.cuts.parameters}
        for key in known:
            stays = self._stays.setdefault(key, Counter())
            if key in found.changed:
                stays[kind] -= STAYING
            elif found.is_same(key):
                stays[kind] += 1
                changing = sum(one < 0 for one in stays.values())
                if max(stays[kind], (+stays).total() - changing) >= STAYING:
                    self._refute(key)
            if len(stays) > MOST_KINDS:
                stays.clear()
        self.learn(found, known)
        return known

    def refute(self, key: tuple[int, Cut], kind: str) -> bool:
        """Cut something never again if it seems to stay on pages of a *kind*; whether it does."""
        if (
            self._stays.get(key, Counter())[kind] <= 0
            or self._seen.get(key, (0, 0))[0] >= NEVER_NOISE
        ):
            return False
        self._refute(key)
        self._decide()
        return True

    def _refute(self, key: tuple[int, Cut]) -> None:
        self._seen[key] = NEVER_NOISE, 0
        self.refuted += 1

    def merge(self, other: Noise) -> None:
        """Take over what *other* has seen more of, from the same section."""
        self._wide |= other._wide
        for key, seen in other._seen.items():
            if self._seen.get(key, (0, 0)) < seen:
                self._seen[key] = seen
        for place, words in other.cuts.words.items():
            self._vocabularies.setdefault(place, _Vocabulary()).add(words)
        self._decide()

    def to_bytes(self) -> bytes:
        """Return the state to store, without what seems to be the pages' own for now."""
        rows = [
            [place, self._wide.get(place, 0), list(cut), visits, changes]
            for (place, cut), (visits, changes) in self._seen.items()
            if changes < AGREEING or place not in self._own
        ]
        words = [[place, sorted(words)] for place, words in self.cuts.words.items()]
        return json.dumps({"cuts": rows, "words": words}).encode()

    @classmethod
    def from_bytes(cls, stored: bytes) -> Noise:
        """Return the noise that :meth:`to_bytes` stored.

        :raises ValueError: it is not such a state.
        """
        noise = cls()
        try:
            state = json.loads(stored)
            for place, wide, cut, visits, changes in state["cuts"]:
                is_one = is_cut(cut) and (place != EVERYWHERE or cut[0] == "parameter")
                is_one = is_one and type(place) is type(wide) is int
                if not (is_one and 0 <= changes <= visits):
                    raise ValueError(f"no noise: {changes!r} of {visits!r} visits to {cut!r}")
                noise._seen[place, tuple(cut)] = visits, changes
                if wide:
                    noise._wide[place] = wide
            for place, words in state["words"]:
                noise._vocabularies.setdefault(place, _Vocabulary()).add(map(int, words))
        except (TypeError, LookupError, RecursionError) as exc:
            raise ValueError(f"no noise: {exc}") from exc
        noise._decide()
        return noise

    def watched(self) -> dict[int, list[Cut]]:
        """Return what has changed, by its places."""
        found: dict[int, list[Cut]] = defaultdict(list)
        for place, cut in self._seen:
            found[place].append(cut)
        return dict(found)

    def _note_left_out(self, left_out: Mapping[int, LeftOut]) -> None:
        """Note what is left out at two visits to a page, and what of it came on pages before."""
        of_all = everywhere(left_out.values())
        for place in left_out:
            visits = Counter[int]()
            for both, once in self._shown_at(place):
                visits.update((*both, *both, *once))
            both, once = _shown(left_out[place], of_all)
            vocabulary = self._vocabularies.setdefault(place, _Vocabulary())
            vocabulary.note(left_out[place], both, once)
            if visits:
                together, apart = self._met.get(place, (0, 0))
                together += any(not visits[word] for word in both)
                apart += any(visits[word] == 1 for word in once)
                self._met[place] = together, apart
        self._left_out.append((left_out, of_all))

    def _shown_at(self, place: int) -> list[LeftOut]:
        """Return the words that the visits to the last pages showed in a place (:func:`_shown`)."""
        return [
            _shown(left_out[place], of_all)
            for left_out, of_all in self._left_out
            if any(left_out.get(place, ()))
        ]

    def _is_own(self, place: int) -> bool:
        """Whether what would be cut in a place belongs to the pages, written in several ways.

        Then both visits to a page show words there, or anywhere if one of them shows nothing there,
        that visits to other pages do not, nor only one of two.  A list that rotates does so by
        chance, above all where a page is served from a cache for a while: it has many words, and
        those that two visits show are seldom at the visits to one page.  That may turn out late.
        """
        shown = self._shown_at(place)
        both = Counter(word for words, _ in shown for word in words)
        once = Counter(word for _, words in shown for word in words)
        together, apart = self._met.get(place, (0, 0))
        if _is_long(shown) and apart > max(1, 2 * together):
            return False
        if place in self._refuted:
            return True
        own = {w for w, pages in both.items() if once[w] < pages < len(shown) - once[w]}
        return sum(not own.isdisjoint(words) for words, _ in shown) > MOST_OWN * len(shown)

    def _decide(self) -> None:
        parameters = set()
        places: dict[int, list[Cut]] = defaultdict(list)
        agreed: Counter[int] = Counter()
        near: Counter[int] = Counter()
        seen = self._seen.items()
        agreeing = {place for (place, _), (n, many) in seen if many >= max(AGREEING, SHARE * n)}
        self._own = {*filter(self._is_own, agreeing)}
        refuted = frozenset(self._refuted)
        for (place, cut), (visits, changes) in self._seen.items():
            if changes < SHARE * visits:
                continue
            if changes >= AGREEING and place in self._own:
                if self.has_cut(place, cut):
                    self.refuted += 1
                    if place not in refuted and _is_long(self._shown_at(place)):
                        self._refuted.add(place)
                    else:
                        self._seen[place, cut] = NEVER_NOISE, 0
                continue
            if place == EVERYWHERE:
                parameters.add(str(cut[1]))
                continue
            if changes >= AGREEING:
                places[place].append(cut)
            if cut[0] not in OF_ALL:
                continue
            if changes >= AGREEING:
                agreed[place] = max(agreed[place], changes)
            if changes > 1 and place in self._wide:  # that text is on several pages
                near[place] = max(near[place], changes)
        explained: Counter[int] = Counter()
        for place, changes in near.items():
            explained[self._wide[place]] += changes
        for place in explained.keys() & agreed.keys():
            # All of it is behind texts of several pages: behind another text, something of the
            # page's own may be there.
            if explained[place] >= agreed[place]:
                places[place] = [cut for cut in places[place] if cut[0] not in OF_ALL]
        ordered = {place: in_order(cuts) for place, cuts in places.items() if cuts}
        elements = frozenset(element_at(self._wide.get(place, place)) for place in ordered)
        words = self._words_of(ordered)
        # Of what was cut there before, other words are no noise.
        self.refuted += len(words.keys() - self.cuts.words.keys())
        cuts = Cuts(frozenset(parameters), ordered, elements, words, next(_numbers))
        if cuts != self.cuts:
            self.cuts = cuts

    def _words_of(self, places: Iterable[int]) -> dict[int, frozenset[int]]:
        """Return the words that come by chance in each place where they are known."""
        found: dict[int, frozenset[int]] = {}
        size = 0
        for place in places:
            vocabulary = self._vocabularies.get(place)
            words = None if vocabulary is None else vocabulary.words()
            if words is not None and size + len(words) <= MAX_WORDS:
                size += len(words)
                found[place] = words
        return found


def _shown(left_out: LeftOut, of_all: LeftOut) -> LeftOut:
    """Return the words that are left out in a place of both visits to a page, and of one alone."""
    first, second = left_out
    before, after = left_out if first and second else of_all  # it may be elsewhere
    both = (first & after) | (second & before)
    return both, (first | second) - both


def _is_long(shown: Collection[LeftOut]) -> bool:
    """Whether visits show more words in a place than a field has."""
    return sum(len(both) + len(once) for both, once in shown) > MOST_OF_FIELD * len(shown)


QUIET = Noise()


class Noises:
    """The noise of the sections of a crawl; the least recently learned is forgotten first."""

    def __init__(self) -> None:
        self._sections: OrderedDict[str, Noise] = OrderedDict()
        self._noisy: set[str] = set()  # hosts
        # Of a host, a kind of pages and a cut: by how many visits it seems to stay in all sections.
        self._stays: FIFOCache[tuple[str, str, tuple[int, Cut]], int] = FIFOCache(MAX_WATCHED)

    def of(self, section: str) -> Noise:
        """Return the noise of a section as it is known now; it is not to be changed."""
        return self._sections.get(section, QUIET)

    def refuted(self) -> dict[str, int]:
        """Return of each section how much that was cut there has turned out to be no noise."""
        return {section: noise.refuted for section, noise in self._sections.items()}

    def is_noisy(self, section: str | None = None) -> bool:
        """Whether anything is known to change by itself, on the host of a *section* or anywhere."""
        return bool(self._noisy) if section is None else _host(section) in self._noisy

    def learn(self, section: str, found: Differences) -> tuple[bool, set[str]]:
        """Learn from two visits to one page of a section.

        Return whether more may teach more, and of which sections other things are noise now.  What
        changes by itself in one section of a host is noise in others that it has changed in, too.
        """
        host = _host(section)
        own = self._sections.setdefault(section, Noise())
        before = own.cuts
        own.learn(found)
        sections = {one: noise for one, noise in self._sections.items() if _host(one) == host}
        known = defaultdict[Cut, set[int]](set)
        for noise in sections.values():
            for place, cuts in noise.cuts.places.items():
                for cut in cuts:
                    known[cut].add(place)
        changed = {one for one, noise in sections.items() if noise.agree(known)}
        self._use(section)
        return own.is_open(found), changed | ({section} if own.cuts is not before else set())

    def audit(self, section: str, found: Differences, kind: str) -> set[str]:
        """Learn what of a section is no noise; see :meth:`Noise.audit`.

        Return the sections in which other things are noise now.  What stays at as many visits to
        pages of one kind in several sections of a host is none in any of these.
        """
        if (own := self._sections.get(section)) is None:
            return set()
        host, before, changed = _host(section), own.cuts, set[str]()
        for key in own.audit(found, kind):
            at = host, kind, key
            if key in found.changed:
                self._stays[at] = self._stays.get(at, 0) - STAYING
            elif found.is_same(key):
                stays = self._stays[at] = self._stays.get(at, 0) + 1
                for one, noise in self._sections.items() if stays >= STAYING else ():
                    if _host(one) == host and noise.refute(key, kind):
                        changed.add(one)
        return changed | ({section} if own.cuts is not before else set())

    def merged(self, section: str, stored: bytes | None) -> bytes:
        """Return the state of a section to store, merged with the state that others have *stored*.

        A stored state that is damaged is replaced.
        """
        noise = self._sections.setdefault(section, Noise())
        if stored is not None:
            self.restore(section, stored)
        return noise.to_bytes()

    def restore(self, section: str, stored: bytes) -> None:
        """Take over a stored state, beside what is known; ignore a damaged one."""
        try:
            other = Noise.from_bytes(stored)
        except ValueError:
            return
        self._sections.setdefault(section, Noise()).merge(other)
        self._use(section)

    def _use(self, section: str) -> None:
        if self._sections[section].cuts:
            self._noisy.add(_host(section))
        self._sections.move_to_end(section)
        if len(self._sections) > MAX_SECTIONS:
            self._sections.popitem(last=False)


def _is_known_at(place: int, cut: Cut, known: Mapping[Cut, Collection[int]]) -> bool:
    """Whether a cut is known at a place, or tells what is noise anywhere, as it does in several.

    The name of a parameter does, and so do the words around one that changes.
    """
    places = known.get(cut, ())
    tells = cut[0] == "parameter" or (cut[0] == "between" and cut[3] == ONE_WORD)
    return place in places or (tells and len(places) >= TOLD_BY_PLACES)


def _host(section: str) -> str:
    return section.partition("/")[0]
