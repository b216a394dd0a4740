"""Dead ends: traps, whose pages say nothing new, and trees of pages that are not there.

A *trap* leads to ever more addresses of its kind: an endless calendar, for example.  Its pages need
not be duplicates: each has another date.  So the pages of one value pattern (see urls.py) are
watched, in a row.  They say nothing new if each has a known text, or if all together have a small
set of words and numbers beside those in their addresses.  They are endless if they lead to as many
new addresses as they are pages, and these have such patterns, too (months lead to days, and days to
months).

A *tree* has pages that are not there but answer 200: their relative links lead ever deeper.  A page
of a tree says what the page says that led to it, which lies above it.  When two pages do, a request
for an address that cannot exist tells whether this is what the site says for missing pages.

Nothing here sends a request, or decides what becomes of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from cachetools import FIFOCache, LRUCache

from scrapy_simhash.hashes import long_hash_of
from scrapy_simhash.url_rules.rule import AddressRule
from scrapy_simhash.urls import Address, value_pattern

# Pages in a row that make a trap; twice as many each time that it turned out to be none.
BUDGET = 32
MOST_DOUBLINGS = 10
# New addresses for each page, and pages that have some, that a trap has at least: a finite archive
# has fewer.
LEAST_FOUND = 0.75
LEAST_LEADING = 3
# Words that only some of the pages have: 12 months, 7 days of the week, some endings of numbers.
MAX_WORDS = 24
# Different sets of numbers: the first and last days of the months around, for example.
MAX_SETS = 10
# Pages of a kind that leads nowhere (a form to book an hour) before they count as nothing new.
LEAST_LEAVES = 20
# Patterns to which a page of a trap leads, and patterns of a trap.
MAX_LEADS = 8
MAX_PATTERNS = 20
# Years lead to months, and these to days: the levels that are searched for a trap.
MOST_FINDERS = 3
# Requests of a trap that are sent at the end, and at least one for each pattern: it is endless, so
# no sample shows that all its pages are alike.
AUDITED_OF_TRAP = 5
# Patterns that are watched: the least recently met is forgotten first.  20 MB, if all are hostile.
MAX_WATCHED = 500
MAX_TRAPPED = 2_000

# Pages of a tree after which the site is asked.
LEAST_OF_TREE = 2
# Trees that are watched, and the addresses of one that are known: 25 MB, if all are hostile.
MAX_TREES = 100
MAX_FOUND = 1_000
# Hosts, with depths of folders, that were asked.
MAX_ASKED = 1_000
# Requests of a tree that are sent at the end, to look whether their pages are missing.
AUDITED_OF_TREE = 1
# http://host/name
_SLASHES_OF_FIRST_FOLDER = 3

State = Literal["watched", "asked", "missing"]
# Returns those of some addresses that the spider has not met.
Unmet = Callable[[Iterable[str]], list[str]]


class Sight(NamedTuple):
    """What is seen on a page, as far as it shows whether the page is one of a trap.

    *words* and *numbers* are those of a page with little text, *own_numbers* those of its address;
    they do not matter if the text is known.  *has_more* says that the page has something else that
    no page had: pictures, for example, or more text than a page of a trap has.  *leads* are the
    patterns of the addresses on it that no page had, one for each address.
    """

    known_text: bool = False
    has_more: bool = False
    words: frozenset[int] = frozenset()
    numbers: tuple[int, ...] = ()
    own_numbers: frozenset[int] = frozenset()
    leads: tuple[str, ...] = ()


@dataclass(slots=True)
class _Streak:
    """Pages of one pattern in a row that say nothing new.

    They led to *found* new addresses; *leading* pages led to at least one, and *leads* counts the
    pages that led to a pattern.  *common* are the words that all pages have, *varying* the others,
    *constant* the numbers that have nothing to do with the address of the first page, and *sets*
    the hashes of the sets of numbers.  *breaks* counts the pages that said something, *failures*
    the traps that turned out to be none.  *finder* is the last other pattern that led to this one.
    *is_resumed*: an earlier run may have known the addresses on the next page, though no page of
    this run had them.
    """

    pages: int = 0
    found: int = 0
    leading: int = 0
    leads: Counter[str] = field(default_factory=Counter)
    common: frozenset[int] | None = None
    varying: set[int] = field(default_factory=set)
    constant: frozenset[int] = frozenset()
    sets: set[int] = field(default_factory=set)
    breaks: int = 0
    failures: int = 0
    finder: str = ""
    is_resumed: bool = False

    def take(self, sight: Sight) -> bool:
        """Take one more page; return whether it says nothing new.  Cost: O(its words)."""
        if self.is_resumed:
            sight, self.is_resumed = sight._replace(leads=()), False
        if self._takes(sight):
            return True
        self.breaks += 1
        self.clear()
        self._takes(sight)
        return False

    def _takes(self, sight: Sight) -> bool:
        """Count a page if it says nothing new beside the others; return whether it was counted."""
        leads = self._leads_in(sight)
        if sight.has_more or len(self.leads | leads.keys()) > MAX_LEADS:
            return False
        if not (sight.known_text or self._is_like(sight)):
            return False
        self.pages += 1
        self.found += leads.total()
        self.leading += bool(leads)
        self.leads.update(leads.keys())
        return True

    def _leads_in(self, sight: Sight) -> Counter[str]:
        """Return how many addresses of which patterns a page leads to.

        Of the first page, single addresses do not count: all pages of its kind may have these.
        """
        leads = Counter(sight.leads)
        several = {pattern: number for pattern, number in leads.items() if number > 1}
        return leads if self.pages else Counter(several)

    @property
    def says_something(self) -> bool:
        """Whether its pages differ from one another: a streak ended not long ago."""
        return self.breaks > 0 and self.pages < self.budget

    @property
    def budget(self) -> int:
        """How many pages in a row make a trap."""
        return BUDGET << min(self.failures, MOST_DOUBLINGS)

    @property
    def is_proven(self) -> bool:
        """Whether enough pages were seen: of those that lead nowhere, more are needed."""
        return self.found > 0 or self.pages >= LEAST_LEAVES

    def clear(self) -> None:
        """Begin a new streak."""
        self.pages = self.found = self.leading = 0
        self.leads.clear()
        self.common = None

    def _is_like(self, sight: Sight) -> bool:
        """Whether the page has the words and numbers of the others, except for a few."""
        if self.common is None:
            self.common, self.varying, self.sets = sight.words, set(), set()
            # The hours of a day stay, even where one is the number of the day.
            self.constant = frozenset(sight.numbers) - sight.own_numbers
        common = self.common & sight.words
        self.varying |= (self.common | sight.words) - common
        self.common = common
        self.sets.add(hash(frozenset(sight.numbers) - (sight.own_numbers - self.constant)))
        return len(self.varying) <= MAX_WORDS and len(self.sets) <= MAX_SETS


@dataclass(eq=False, slots=True)
class Trap:
    """Patterns of addresses on a host that lead to one another and say nothing new.

    It was found after *pages* pages.  Requests for its *closed* patterns are needless; of its other
    patterns, too few pages were seen.  The counters say, by pattern, what came since then: how many
    requests the spider made, pages it met, and requests were audited at the end.
    """

    patterns: set[str]
    closed: set[str]
    pages: int
    asked: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    audited: Counter[str] = field(default_factory=Counter)

    def rule(self, pattern: str) -> AddressRule:
        """Return the rule by which requests for a pattern are parked."""
        return AddressRule("trap", pattern.partition("/")[0], pattern, "")


class Traps:
    """Finds traps among the pages of a crawl, and says when one turns out to be none."""

    def __init__(self) -> None:
        self._streaks: LRUCache[str, _Streak] = LRUCache(MAX_WATCHED)
        self._of: dict[str, Trap] = {}
        self._is_resumed = False

    def of(self, url: str) -> tuple[Trap, str] | None:
        """Return the trap that an address is in, and its pattern; 10 us if there are traps."""
        if not self._of:
            return None
        pattern = value_pattern(Address.of(url))
        trap = self._of.get(pattern)
        return None if trap is None or pattern not in trap.closed else (trap, pattern)

    def has(self, url: str) -> bool:
        """Whether a page is of a trap, or of a kind to which one leads; 10 us."""
        return value_pattern(Address.of(url)) in self._of

    def take(self, pattern: str, sight: Sight) -> tuple[Trap | None, list[Trap]]:
        """Take a page of a pattern; return the trap that it closes, and those that it ends.

        Cost: O(words of the page), and O(patterns of a trap).
        """
        streak = self._streak(pattern)
        if not streak.take(sight):
            return None, self.end(pattern)
        for lead in streak.leads.keys() - {pattern}:
            self._streak(lead).finder = pattern
        trap = self._of.get(pattern)
        if trap is None:
            return self._found_from(pattern), []
        self._join(trap, streak.leads)
        led_to = self._streaks_of(streak.leads).values()
        if len(trap.patterns) > MAX_PATTERNS or any(one.says_something for one in led_to):
            return None, self.end(pattern)
        if streak.is_proven:
            trap.closed.add(pattern)
        return None, []

    def restore(self, pattern: str) -> None:
        """Take a pattern for that of a trap, which an earlier run has found."""
        self._of[pattern] = Trap({pattern}, {pattern}, 0)

    def resume(self) -> None:
        """Note that a run begins that does not know which addresses the pages of others had."""
        self._is_resumed = True
        for streak in self._streaks.values():
            streak.is_resumed = True

    def take_audits(self, pattern: str, most: int) -> int | None:
        """Return how many of *most* requests of a pattern to send now, to look if it is a trap.

        None if it is none.  It is called when nothing else is left to crawl, and ends a trap that
        leads to pages of which too few were seen: its streaks begin anew.
        """
        trap = self._of.get(pattern)
        if trap is None:
            return None
        streaks = self._streaks_of(trap.patterns)
        few = (streaks[one] for one in streaks.keys() - trap.closed)
        if any(streak.pages and not streak.is_proven for streak in few) or any(
            map(self._leads_elsewhere, streaks.values())
        ):
            self.end(pattern)
            for streak in streaks.values():
                streak.clear()
            return None
        room = max(0, AUDITED_OF_TRAP - trap.audited.total(), 1 - trap.audited[pattern])
        trap.audited[pattern] += min(room, most)
        return min(room, most)

    def _leads_elsewhere(self, streak: _Streak) -> bool:
        """Whether some pages of a streak lead to a kind of which no page was seen.

        If nearly all do, it says nothing new: the calendar as a file, say.
        """
        return any(
            pages < LEAST_FOUND * (streak.pages - 1)
            for lead, pages in streak.leads.items()
            if (other := self._streaks.get(lead)) is None or not other.pages
        )

    def all(self) -> list[Trap]:
        """Return the traps that there are, each once."""
        return [*dict.fromkeys(self._of.values())]

    def _streak(self, pattern: str) -> _Streak:
        return self._streaks.setdefault(pattern, _Streak(is_resumed=self._is_resumed))

    def _streaks_of(self, patterns: Iterable[str]) -> dict[str, _Streak]:
        """Return the streaks of those patterns that are watched."""
        return {one: self._streaks[one] for one in patterns if one in self._streaks}

    def _found_from(self, pattern: str) -> Trap | None:
        """Return the trap that a pattern is in, or one that led to it."""
        for _ in range(MOST_FINDERS):
            streak = self._streaks.get(pattern)
            if streak is None:
                return None
            if (trap := self._found(pattern)) is not None:
                return trap
            pattern = streak.finder
        return None

    def _found(self, pattern: str) -> Trap | None:
        """Return the trap that a pattern is in, with the patterns that it leads to."""
        if not self._streaks[pattern].found or len(self._of) > MAX_TRAPPED:
            return None
        patterns = self._reached(pattern)
        streaks = self._streaks_of(patterns)
        found = streaks.values()
        pages = sum(one.pages for one in found)
        if (
            len(patterns) > MAX_PATTERNS
            or not any(pattern in one.leads for one in found)  # the page before a trap
            or pages < max(one.budget for one in found)
            or sum(one.found for one in found) < LEAST_FOUND * pages
            or sum(one.leading for one in found) < LEAST_LEADING
            or any(one.says_something for one in found)
        ):
            return None
        closed = {name for name, one in streaks.items() if one.is_proven}
        trap = Trap(set(), closed, pages)
        self._join(trap, patterns)
        return trap

    def _join(self, trap: Trap, patterns: Collection[str]) -> None:
        """Make patterns those of a trap, with all those of the traps that they are in."""
        for pattern in patterns:
            other = self._of.get(pattern)
            if other is not None and other is not trap:
                trap.patterns |= other.patterns
                trap.closed |= other.closed
            trap.patterns.add(pattern)
        self._of.update(dict.fromkeys(trap.patterns, trap))

    def _reached(self, pattern: str) -> list[str]:
        """Return a pattern and those that it leads to, at most one more than allowed."""
        reached = [pattern]
        for one in reached:
            streak = self._streaks.get(one)
            new = [] if streak is None else [lead for lead in streak.leads if lead not in reached]
            reached += new[: MAX_PATTERNS + 1 - len(reached)]
        return reached

    def end(self, pattern: str) -> list[Trap]:
        """End the trap that has a pattern, and return it, if there is one."""
        trap = self._of.get(pattern)
        if trap is None:
            return []
        for one in trap.patterns:
            self._of.pop(one, None)
        for streak in self._streaks_of(trap.patterns).values():
            streak.failures += 1
        return [trap]


@dataclass(eq=False, slots=True)
class Tree:
    """Pages of a host that all say the same; *first* is what is known of the first one, at *url*.

    *pages* are the hashes of the addresses of all pages, *found* those of the addresses that were
    found on these pages only.  *question* is the number of what this run has asked the site.
    """

    host: str
    url: str
    first: Any
    pages: set[int]
    found: set[int] = field(default_factory=set)
    state: State = "watched"
    question: str = ""
    asked_after: int = 0
    audited: int = 0

    @property
    def rule(self) -> AddressRule:
        """The rule by which requests for what was found on its pages are parked."""
        return AddressRule("missing", self.host, self.url, "")

    def __contains__(self, url: str) -> bool:
        return long_hash_of(url) in self.pages


class MissingPages:
    """Finds trees of missing pages."""

    def __init__(self) -> None:
        self._trees: dict[str, Tree] = {}
        # By the hash of an address, the tree that it was found in.
        self._of: dict[int, Tree] = {}
        self._asked: FIFOCache[tuple[str, int], None] = FIFOCache(MAX_ASKED)

    def tree_of(self, url: str) -> Tree | None:
        """Return the tree that has the only pages on which an address was found; 1 us."""
        return self._of.get(long_hash_of(url)) if self._of else None

    def held(self, url: str) -> Tree | None:
        """Return the tree of an address whose page may be missing; 1 us."""
        tree = self.tree_of(url)
        return None if tree is None or tree.state == "watched" else tree

    def asked(self, question: str) -> Tree | None:
        """Return the tree for which a question was asked, unless a page has ended it."""
        return next((one for one in self._trees.values() if one.question == question), None)

    def found_on(self, host: str) -> list[Tree]:
        """Return the trees of a host that are more than watched; O(trees)."""
        return [one for one in self._trees.values() if one.host == host and one.state != "watched"]

    def grow(self, tree: Tree, url: str, links: Iterable[str], unmet: Unmet = list) -> bool:
        """Add a page that says what the others say; return whether the site should be asked.

        *links* are the addresses on it, of which *unmet* returns those that no page had.
        """
        if len(tree.pages) < MAX_FOUND:
            tree.pages.add(long_hash_of(url))
        self._find(tree, url, links, url.count("/"), unmet)
        question = tree.host, tree.url.count("/")
        are_enough = len(tree.pages) >= LEAST_OF_TREE
        if tree.state != "watched" or not are_enough or question in self._asked:
            return False
        tree.asked_after = len(tree.pages)
        self._asked[question] = None
        return True

    def begin(
        self, host: str, url: str, links: Iterable[str], first: object, unmet: Unmet = list
    ) -> None:
        """Watch a page: it may be the first of a tree, if it leads to *unmet* addresses below it.

        The relative links of a page in the first folder lead to pages that are there.
        """
        tree = Tree(host, url, first, {long_hash_of(url)})
        if url.count("/") > _SLASHES_OF_FIRST_FOLDER:
            self._find(tree, url, links, url.count("/") + 1, unmet)
        if not tree.found:
            return
        self._trees[url] = tree
        if len(self._trees) > MAX_TREES:
            watched = (one for one in self._trees.values() if one.state == "watched")
            self.end(next(watched, tree))

    def confirm(self, tree: Tree, is_like: Callable[[Any], bool]) -> None:
        """Note that the pages of a tree are missing, and those of other trees like it."""
        tree.state = "missing"
        for other in [*self._trees.values()]:
            if other.host == tree.host and other is not tree and is_like(other.first):
                self.end(other)
                if len(tree.found) < MAX_FOUND:
                    tree.pages |= other.pages
                    tree.found |= other.found
                    self._of.update(dict.fromkeys(other.found, tree))

    def resume(self) -> None:
        """Note that a run begins that gets no answer to what an earlier one has asked."""
        for tree in self._trees.values():
            if tree.state == "asked":
                tree.state, tree.question = "watched", ""
                self._asked.pop((tree.host, tree.url.count("/")), None)

    def missing(self) -> list[Tree]:
        """Return the trees whose pages are known to be missing."""
        return [one for one in self._trees.values() if one.state == "missing"]

    def end(self, tree: Tree) -> None:
        """Forget a tree: its pages exist, or there are too many trees."""
        self._trees.pop(tree.url, None)
        for key in tree.found:
            if self._of.get(key) is tree:
                del self._of[key]

    def linked(self, links: Iterable[str]) -> list[tuple[Tree, int]]:
        """Take the links of a page in no tree: return those that were in one, as tree and hash."""
        if not self._of:
            return []
        held = []
        for key in map(long_hash_of, links):
            tree = self._of.pop(key, None)
            if tree is not None:
                tree.found.discard(key)
                held.append((tree, key))
        return held

    def take_audits(self, url: str, most: int) -> int | None:
        """Return how many of *most* requests of the tree at *url* to send now, to look at it.

        None if there is none any more, or the site has not answered.
        """
        tree = self._trees.get(url)
        if tree is None or tree.state != "missing":
            return None
        room = min(AUDITED_OF_TREE - tree.audited, most)
        tree.audited += room
        return room

    def _find(self, tree: Tree, url: str, links: Iterable[str], least: int, unmet: Unmet) -> None:
        """Note the *unmet* links to addresses below a page that have at least *least* slashes."""
        folder = url.partition("?")[0].rpartition("/")[0] + "/"
        below = [one for one in links if one.startswith(folder) and one.count("/") >= least]
        for key in map(long_hash_of, unmet(below)):
            if len(tree.found) >= MAX_FOUND:
                return
            tree.found.add(key)
            self._of[key] = tree
