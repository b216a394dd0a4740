"""Traps: addresses whose pages say nothing new, and lead to ever more addresses of their kind.

An endless calendar is one.  Its pages need not be duplicates: each has another date.  So pages of
one pattern of addresses are watched, in a row.  They say nothing new if each has a known text, or
if all together have a small set of words and numbers, beside what is in their addresses.  They are
endless if they lead to as many new addresses as they are pages, and these are of such patterns, too
(months lead to days, and days to months).

Nothing here knows Scrapy, or decides what becomes of a request.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from scrapy_simhash.urls import Address, value_pattern

# So many pages in a row make a trap, each time that it was none twice as many.
BUDGET = 32
MOST_DOUBLINGS = 10
# So many new addresses for a page, and so many pages that have some: a finite archive has less.
LEAST_FOUND = 0.75
LEAST_LEADING = 3
# Words that only some of the pages have: 12 months, 7 days of the week, some endings of numbers.
MAX_WORDS = 24
# Different sets of numbers: the first and last days of the months around, say.
MAX_SETS = 10
# Pages of a kind that leads nowhere (a form to book an hour) before they count as nothing new.
LEAST_LEAVES = 20
# A page of a trap leads to so many other patterns, and a trap has so many.
MAX_LEADS = 8
MAX_PATTERNS = 20
# Years lead to months, and these to days: a trap is looked for so far up.
MOST_FINDERS = 3
# Requests of a trap that are sent at the end, and of each pattern one at least: it is endless, so
# no sample shows that all is alike.
MOST_AUDITED = 5
# Patterns that are watched: the least recently met is forgotten first.  20 MB, if all are hostile.
MAX_WATCHED = 500
MAX_TRAPPED = 2_000


class Sight(NamedTuple):
    """A page of one pattern of addresses, as traps are found by it.

    *words* and *numbers* are those of a page with little text, *own_numbers* those of its address;
    with a *known_text*, they do not matter.  *has_more* says that it has something else that no
    page had: pictures, say, or more text than a page of a trap has.  *leads* are the patterns of
    the addresses in it that no page had, one for each address.
    """

    known_text: bool = False
    has_more: bool = False
    words: frozenset[int] = frozenset()
    numbers: tuple[int, ...] = ()
    own_numbers: frozenset[int] = frozenset()
    leads: tuple[str, ...] = ()


@dataclass(slots=True)
class _Row:
    """Pages of a pattern in a row that say nothing new, and to how many addresses they have led.

    *leading* pages have led to some, and *leads* says how many to which pattern.  *common* are the
    words that all pages have, *varying* the others, *constant* the numbers that say nothing of the
    address of the first page.  *sets* are the hashes of the sets of numbers.  A row had *breaks*
    where a page said something, and *failures* where a trap was none.  *finder* is the last other
    pattern that led to this one.  *is_resumed*: of its next page, addresses that no page of this
    run had may be known.
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
        leads = self._leads_in(sight)
        says_more = sight.has_more or len(self.leads | leads.keys()) > MAX_LEADS
        if not says_more and (sight.known_text or self._is_like(sight)):
            self._count(leads)
            return True
        self.breaks += 1
        self.clear()
        leads = self._leads_in(sight)
        if not sight.has_more and len(leads) <= MAX_LEADS:
            self._is_like(sight)
            self._count(leads)
        return False

    def _leads_in(self, sight: Sight) -> Counter[str]:
        """Return how many addresses of which patterns a page leads to.

        Of the first page, single addresses do not count: all pages of its kind may have these.
        """
        leads = Counter(sight.leads)
        if self.pages:
            return leads
        return Counter({pattern: number for pattern, number in leads.items() if number > 1})

    @property
    def says_something(self) -> bool:
        """Whether its pages differ from one another: a row ended not long ago."""
        return self.breaks > 0 and self.pages < self.budget

    @property
    def budget(self) -> int:
        """How many pages in a row make a trap."""
        return BUDGET << min(self.failures, MOST_DOUBLINGS)

    @property
    def is_proven(self) -> bool:
        """Whether enough pages were seen: of those that lead nowhere, more are needed."""
        return self.found > 0 or self.pages >= LEAST_LEAVES

    def _count(self, leads: Counter[str]) -> None:
        self.pages += 1
        self.found += leads.total()
        self.leading += bool(leads)
        self.leads.update(leads.keys())

    def clear(self) -> None:
        """Begin a new row."""
        self.pages = self.found = self.leading = 0
        self.leads.clear()
        self.common = None

    def _is_like(self, sight: Sight) -> bool:
        """Whether the page has the words and numbers of the others, but for a few."""
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

    It was found after so many *pages*.  Requests for those of its patterns that are *closed* are
    not needed; of the others, too few pages were seen.  Since then, by pattern, requests were
    *asked* for, pages *met*, and requests *audited* at the end.
    """

    host: str
    patterns: set[str]
    closed: set[str]
    pages: int
    asked: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    audited: Counter[str] = field(default_factory=Counter)


class Traps:
    """Finds traps among the pages of a crawl, and says when one is none."""

    def __init__(self) -> None:
        self._rows: OrderedDict[str, _Row] = OrderedDict()
        self._of: dict[str, Trap] = {}
        self._hosts: set[str] = set()
        self._is_resumed = False

    def of(self, url: str) -> tuple[Trap, str] | None:
        """Return the trap that an address is in, and its pattern.

        Cost: 3 us on a host without traps, otherwise 10 us.
        """
        if not self._hosts:
            return None
        address = Address.of(url)
        if address.host not in self._hosts:
            return None
        pattern = value_pattern(address)
        trap = self._of.get(pattern)
        return None if trap is None or pattern not in trap.closed else (trap, pattern)

    def has(self, url: str) -> bool:
        """Whether a page is of a trap, or of a kind to which one leads; 10 us."""
        return value_pattern(Address.of(url)) in self._of

    def take(self, host: str, pattern: str, sight: Sight) -> tuple[Trap | None, list[Trap]]:
        """Take a page of a pattern; return the trap that it closes, and those that it ends.

        Cost: O(words of the page), and O(patterns of a trap).
        """
        row = self._row(pattern)
        if not row.take(sight):
            return None, self._end(pattern)
        for lead in row.leads.keys() - {pattern}:
            self._row(lead).finder = pattern
        trap = self._of.get(pattern)
        if trap is None:
            return self._found_from(host, pattern), []
        self._join(trap, row.leads)
        if len(trap.patterns) > MAX_PATTERNS or any(map(self._says_something, row.leads)):
            return None, self._end(pattern)
        if row.is_proven:
            trap.closed.add(pattern)
        return None, []

    def restore(self, host: str, pattern: str) -> None:
        """Take a pattern for that of a trap, which an earlier run has found."""
        self._hosts.add(host)
        self._of[pattern] = Trap(host, {pattern}, {pattern}, 0)

    def resume(self) -> None:
        """Note that a run begins that does not know which addresses the pages of others had."""
        self._is_resumed = True
        for row in self._rows.values():
            row.is_resumed = True

    def room_to_audit(self, pattern: str) -> int | None:
        """Return how many requests of a pattern may still be sent to look whether it is a trap.

        None if it is none.  It is called when nothing else is left to crawl, and ends a trap that
        leads to pages of which too few were seen: its rows begin anew.
        """
        trap = self._of.get(pattern)
        if trap is None:
            return None
        rows = {one: row for one in trap.patterns if (row := self._rows.get(one)) is not None}
        few = (rows[one] for one in rows.keys() - trap.closed)
        if any(row.pages and not row.is_proven for row in few) or any(
            map(self._leads_elsewhere, rows.values())
        ):
            self._end(pattern)
            for row in rows.values():
                row.clear()
            return None
        return max(0, MOST_AUDITED - trap.audited.total(), 1 - trap.audited[pattern])

    def _leads_elsewhere(self, row: _Row) -> bool:
        """Whether some pages of a row lead to a kind of which no page was seen.

        If nearly all do, it says nothing new: the calendar as a file, say.
        """
        return any(
            pages < LEAST_FOUND * (row.pages - 1)
            for lead, pages in row.leads.items()
            if (other := self._rows.get(lead)) is None or not other.pages
        )

    def note_audited(self, pattern: str, requests: int) -> None:
        """Note that so many requests of a pattern are sent to look whether it is a trap."""
        if (trap := self._of.get(pattern)) is not None:
            trap.audited[pattern] += requests

    def all(self) -> list[Trap]:
        """Return the traps that there are, each once."""
        return [*dict.fromkeys(self._of.values())]

    def _row(self, pattern: str) -> _Row:
        row = self._rows.setdefault(pattern, _Row(is_resumed=self._is_resumed))
        self._rows.move_to_end(pattern)
        if len(self._rows) > MAX_WATCHED:
            self._rows.popitem(last=False)
        return row

    def _found_from(self, host: str, pattern: str) -> Trap | None:
        """Return the trap that a pattern is in, or one that led to it."""
        for _ in range(MOST_FINDERS):
            row = self._rows.get(pattern)
            if row is None:
                return None
            if (trap := self._found(host, pattern)) is not None:
                return trap
            pattern = row.finder
        return None

    def _found(self, host: str, pattern: str) -> Trap | None:
        """Return the trap that a pattern is in, with the patterns that it leads to."""
        if not self._rows[pattern].found or len(self._of) > MAX_TRAPPED:
            return None
        patterns = self._reached(pattern)
        rows = {one: row for one in patterns if (row := self._rows.get(one)) is not None}
        pages = sum(row.pages for row in rows.values())
        if (
            len(patterns) > MAX_PATTERNS
            or not any(pattern in row.leads for row in rows.values())  # the page before a trap
            or pages < max(row.budget for row in rows.values())
            or sum(row.found for row in rows.values()) < LEAST_FOUND * pages
            or sum(row.leading for row in rows.values()) < LEAST_LEADING
            or any(row.says_something for row in rows.values())
        ):
            return None
        trap = Trap(host, set(), {one for one, row in rows.items() if row.is_proven}, pages)
        self._join(trap, patterns)
        self._hosts.add(host)
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

    def _says_something(self, pattern: str) -> bool:
        row = self._rows.get(pattern)
        return row is not None and row.says_something

    def _reached(self, pattern: str) -> list[str]:
        """Return a pattern and those that it leads to; of too many, one more than allowed."""
        reached = [pattern]
        for one in reached:
            row = self._rows.get(one)
            new = [] if row is None else [lead for lead in row.leads if lead not in reached]
            reached += new[: MAX_PATTERNS + 1 - len(reached)]
        return reached

    def _end(self, pattern: str) -> list[Trap]:
        """End the trap that has a pattern, and return it, if there is one."""
        trap = self._of.get(pattern)
        if trap is None:
            return []
        for one in trap.patterns:
            self._of.pop(one, None)
            if (row := self._rows.get(one)) is not None:
                row.failures += 1
        self._hosts = {one.host for one in self._of.values()}
        return [trap]
