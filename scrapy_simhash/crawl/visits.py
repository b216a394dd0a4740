"""What changes by itself: second visits that show it, and kept pages read again without it."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from itertools import repeat
from math import inf
from operator import itemgetter
from typing import NamedTuple
from weakref import WeakValueDictionary

from cachetools import FIFOCache
from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from scrapy_simhash.analysis.analyser import Analyser
from scrapy_simhash.crawl.requests import ask_for_us
from scrapy_simhash.decision.comparison import marks, overlap
from scrapy_simhash.decision.judge import has_same_text
from scrapy_simhash.decision.page import Decision, Page
from scrapy_simhash.errors import AnalysisError, IndexUnavailableError
from scrapy_simhash.index.base import Index
from scrapy_simhash.pipeline import Fetched
from scrapy_simhash.urls import Address, host_of, owner_of, value_pattern
from scrapy_simhash.workers.pool import Workers

# At most this many second visits in a crawl, and beyond them this share of its pages.
FREE_VISITS = 20
MOST_SHARE = 0.02
# Sections that are watched, and visits that may be under way; the oldest is forgotten first.
MAX_SECTIONS = 1_000
MAX_UNDER_WAY = 100
# After so many dropped pages of a kind, they are counted anew if something else is cut by now.
COUNTED_ANEW = 32
# A bigger page is not visited again: to compare two visits takes about a second for this much.
MAX_COMPARED_BYTES = 1_000_000
# On a host where something changes by itself, a section is visited at this number of kept pages.
FIRST_VISIT_AT = 3
# Where so many visits to a host have shown that nothing does, a section is at this number of pages.
CALM, FIRST_OF_CALM = 5, 4
# Names of pages that are remembered, and which share of all visits is to pages that are only named
# like another.
MAX_NAMES = 10_000
SHARE_OF_NAMED = 0.5
# The name of a page is as much of the end of its path.
NAME_SEGMENTS = 2

# Two visits to a page share at least so much of it: in a short page, much may change by itself.
SAME_SHARE = 0.5
# As much is enough under a heading that pages of at most so many names have, if neither is twice as
# long as the other: random boxes may be longer than a page, but a wall has the heading of the site.
HEADED_SHARE, MOST_HEADED = 0.2, 2

# A name that is a word and a number, as of a script.
_NUMBERED = re.compile(r"([a-z]+)[-_]?\d", re.IGNORECASE)

# The latest kept pages are remembered: at most this number, with this many bytes of bodies.
MAX_KEPT_BYTES = 32_000_000
MAX_KEPT = 1_000
# At most this many of them are read again for one page that is like them.
MOST_READ_AGAIN = 3
# A page is like them within this distance of the fingerprints of their main texts.
LIKE = 7


class FirstVisit(NamedTuple):
    """What a page was when it was met first."""

    page: Page
    body: bytes  # compressed
    is_dropped: bool
    turn: str  # of what pages it was one


class SecondVisits:
    """Asks for a page that was just met once more, and compares the two answers.

    The request is a copy of the page's own, so it goes through the crawl's scheduler, delays and
    middlewares as any other; its answer never reaches the spider.  Which pages are visited:

    - In each section, some of the pages that are kept although they are like a kept one.  After a
      visit that has taught something, the next one comes when their number has grown by one
      *probes*-th.  After one that has taught nothing, or while *probes* visits are under way, it
      comes when their number has doubled.
    - In the same way, of those that are like no other, but have the path of one before, as a copy
      has of which too much changes by itself to tell.
    - Before there are such pages, one page of a section if something changes by itself elsewhere
      on its host.
    - Where something is cut as noise, the first, second, fourth, ... dropped page of each kind of
      addresses, to see if it is noise there; so again once something else is.
    """

    def __init__(self, crawler: Crawler, index: Index, probes: int) -> None:
        self._crawler = crawler
        self._index = index
        self._probes = probes
        # By section: the number of pages that might be visited, and at which one the next is due.
        self._met: FIFOCache[str, tuple[int, int]] = FIFOCache(MAX_SECTIONS)
        # Kept pages by section, where none was visited yet.
        self._early: FIFOCache[str, int] = FIFOCache(MAX_SECTIONS)
        # Dropped pages by kind of addresses, where something is cut, and the number of these cuts.
        self._dropped: FIFOCache[str, tuple[int, int]] = FIFOCache(MAX_SECTIONS)
        self._under_way: FIFOCache[str, FirstVisit] = FIFOCache(MAX_UNDER_WAY)
        # The ends of the paths of pages, with their hosts' domains.
        self._names: FIFOCache[str, None] = FIFOCache(MAX_NAMES)
        # How many of these have a heading.
        self._headed: FIFOCache[int | None, int] = FIFOCache(MAX_NAMES)
        # By host: how many visits have shown nothing that changes; once one has, below all numbers.
        self._calm: FIFOCache[str, float] = FIFOCache(MAX_SECTIONS)
        self._asked = self._asked_named = self._judged = 0

    def consider(
        self, request: Request, response: Response, page: Page, decision: Decision
    ) -> None:
        """Ask for a page that was judged once more, if that may help."""
        self._judged += 1
        section = page.section or page.site
        most = FREE_VISITS + MOST_SHARE * self._judged
        may_be_copy = self._is_named_before(page) and decision.verdict == "unique"
        is_named = may_be_copy and not decision.may_be_noise
        turn = f"{section} named" if is_named else section
        if decision.may_be_noise or is_named:
            met, due = self._met.get(turn, (0, self._first_of(page.url)))
            self._met[turn] = met, due = met + 1, due
            is_due = met >= due
        elif decision.is_duplicate:
            cuts = self._index.learned.noises.of(section).cuts
            is_due = bool(cuts) and self._asked < most and self._is_audit(page.url, cuts.number)
        else:
            is_due = decision.is_kept and section not in self._met and self._is_first(section)
        if not is_due or not self._probes or request.method != "GET":
            return
        if "cached" in response.flags:  # by Scrapy: the page may be another one by now
            return
        if len(response.body) > MAX_COMPARED_BYTES:
            return
        if self._asked >= most or (is_named and self._asked_named >= SHARE_OF_NAMED * most):
            return
        # Another process may get the request from a scheduler that is shared.
        number = ask_for_us(self._crawler, request, request.url)
        if number is None:
            return
        self._asked += 1
        self._asked_named += is_named
        self._crawler.stats.inc_value("simhash/second_visits")
        self._under_way[number] = FirstVisit(
            page, zlib.compress(response.body, 1), decision.is_duplicate, turn
        )
        if not decision.is_duplicate:
            waiting = sum(one.turn == turn for one in self._under_way.values())
            self._wait(turn, waiting < self._probes)

    def _is_named_before(self, page: Page) -> bool:
        """Whether a page has the end of the path of one before; take note of it."""
        name = _name_of(page.url)
        is_known = name in self._names
        self._names[name] = None
        self._headed[page.heading] = self._headed.get(page.heading, 0) + (not is_known)
        return is_known

    def _first_of(self, url: str) -> int:
        """Return at which page a section is visited first."""
        return FIRST_OF_CALM if self._calm.get(host_of(url), 0) >= CALM else 1

    def _is_first(self, section: str) -> bool:
        """Count one more kept page of a section; return whether it is to be visited."""
        pages = self._early[section] = self._early.get(section, 0) + 1
        return pages >= FIRST_VISIT_AT and self._index.learned.noises.is_noisy(section)

    def _is_audit(self, url: str, number: int) -> bool:
        """Count one more page that cuts of a *number* were left out of; return whether it is due.

        What was cut from it as noise of other pages may be content here.
        """
        kind = _kind_of(url)
        pages, counted = self._dropped.get(kind, (0, number))
        if number != counted and pages >= COUNTED_ANEW:
            pages, counted = 0, number
        self._dropped[kind] = pages + 1, counted
        return pages & (pages + 1) == 0

    def first(self, number: str) -> FirstVisit | None:
        """Return what the first visit saw, by the number of the second; None if it is none."""
        return self._under_way.pop(number, None)

    async def compare(
        self,
        first: FirstVisit,
        page: Page,
        response: Response,
        analyser: Analyser,
        workers: Workers,
    ) -> set[str]:
        """Learn from the second visit to a page, if it shows the text of the first.

        Return the sections of which other things are known to change by themselves now.
        """
        if page.url != first.page.url or not self._is_same(page, first.page):
            return set()
        self._crawler.stats.inc_value("simhash/second_visits_compared")
        second = zlib.compress(response.body, 1)
        encoding = getattr(response, "encoding", None)
        section = page.section or page.site
        learned = self._index.learned
        watched = learned.noises.of(section).watched()
        found = await workers.run(analyser.compare, first.body, second, encoding, page.url, watched)
        host = host_of(page.url)
        self._calm[host] = -inf if found.changed else self._calm.get(host, 0) + 1
        if first.is_dropped:
            return await learned.audit_noise(section, found, _kind_of(page.url))
        may_teach, changed = await learned.learn_noise(section, found)
        self._wait(first.turn, may_teach)
        return changed

    def _is_same(self, page: Page, first: Page) -> bool:
        """Whether a second visit shows the page of the first: under its heading, enough of it."""
        template = self._index.learned.repeated_blocks(page.section or page.site)
        if page.sketch is None or first.sketch is None or page.heading != first.heading:
            return has_same_text(page, first, self._index.parameters, template)
        is_headed = page.heading is not None and self._headed.get(page.heading, 0) <= MOST_HEADED
        less, more = sorted((page.tokens, first.tokens))
        least = HEADED_SHARE if is_headed and more < 2 * less else SAME_SHARE
        return overlap(page.sketch, first.sketch, marks(template)).share >= least

    def _wait(self, turn: str, may_teach: bool) -> None:
        """Set the number of pages of a section at which the next one is visited."""
        met, _ = self._met.get(turn, (0, 1))
        self._met[turn] = met, met + (max(1, met // self._probes) if may_teach else met)


def _name_of(url: str) -> str:
    """Return what copies of a page share of their addresses: the end of its path, its domain."""
    segments = Address.of(url).path.rstrip("/").rsplit("/", NAME_SEGMENTS)[-NAME_SEGMENTS:]
    return "/".join((owner_of(url), *segments))


def _kind_of(url: str) -> str:
    """Return what kind of address a page has: ``/item17.php`` and ``/post17.php`` are two."""
    address = Address.of(url)
    word = _NUMBERED.match(address.path.rpartition("/")[2])
    return f"{value_pattern(address)} {word[1] if word else ''}"


class _Kept(NamedTuple):
    """A kept page as it was fetched; *leads_on*: the spider was handed what is on it."""

    fetched: Fetched
    section: str
    name: str
    fingerprint: int
    leads_on: bool


class KeptPages:
    """The latest kept pages, which are read again when more is known to change by itself.

    A kept page is stored without what was known to change by itself when it was judged.  When more
    is known, a copy has values that the stored page lacks, and would pass.  So the page is analysed
    again, and given to *store* with whether the spider was handed what is on it.

    Cost: at most :data:`MOST_READ_AGAIN` analyses before a page is judged, of pages that are like
    it or named like it.
    """

    def __init__(self, store: Callable[[Fetched, bool], Awaitable[None]]) -> None:
        self._store = store
        self._pages: OrderedDict[tuple[str, bytes], _Kept] = OrderedDict()
        self._bytes = 0
        # Of each page about which more is known: by how many lessons it must be read again.
        self._outdated: dict[tuple[str, bytes], int] = {}
        self._lessons = 0
        # Held while a page is read, for all that are to be compared with it.
        self._reading: WeakValueDictionary[tuple[str, bytes], asyncio.Lock] = WeakValueDictionary()

    def note(self, fetched: Fetched, page: Page, leads_on: bool) -> None:
        """Remember a page that is kept."""
        key = page.scope, page.request_fingerprint
        self._forget(key)
        self._pages[key] = _Kept(
            fetched, page.section, _name_of(page.url), page.fingerprint, leads_on
        )
        self._bytes += len(fetched.body)
        while self._bytes > MAX_KEPT_BYTES or len(self._pages) > MAX_KEPT:
            self._forget(next(iter(self._pages)))

    def note_noise(self, sections: Collection[str]) -> None:
        """Note that more is known to change by itself in some sections."""
        self._lessons += 1
        pages = self._pages.items()
        self._outdated |= {key: self._lessons for key, kept in pages if kept.section in sections}

    async def read_again(self, page: Page) -> None:
        """Read kept pages again that a page is to be compared with, if more is known of them now.

        If one fails, it stays as it is.
        """
        like = self._like(page)
        rest = [key for key in like if key not in self._reading][:MOST_READ_AGAIN]
        keys = [*filter(self._reading.__contains__, like), *rest]
        locks = [self._reading.setdefault(key, asyncio.Lock()) for key in keys]
        await asyncio.gather(*map(self._read, keys, locks, repeat(self._lessons)))

    async def _read(self, key: tuple[str, bytes], lock: asyncio.Lock, known: int) -> None:
        """Read a page again, unless others have meanwhile, with the lessons that were *known*."""
        async with lock:
            lessons = self._outdated.get(key)
            if lessons is None or lessons > known:
                return
            with suppress(AnalysisError, IndexUnavailableError):
                await self._store(self._pages[key].fetched, self._pages[key].leads_on)
            if self._outdated.get(key) == lessons:  # nothing more was learned meanwhile
                del self._outdated[key]

    def _like(self, page: Page) -> list[tuple[str, bytes]]:
        """Return the keys of the outdated pages that are like a page, the most alike first."""
        own, fingerprint = (page.scope, page.request_fingerprint), page.fingerprint
        name = _name_of(page.url) if self._outdated else ""
        like = [
            (distance, key)
            for key in self._outdated
            if (distance := (self._pages[key].fingerprint ^ fingerprint).bit_count()) <= LIKE
            or self._pages[key].name == name
        ]
        like.sort(key=itemgetter(0))
        return [key for _, key in like if key[0] == page.scope and key != own]

    def _forget(self, key: tuple[str, bytes]) -> None:
        self._outdated.pop(key, None)
        if (kept := self._pages.pop(key, None)) is not None:
            self._bytes -= len(kept.fetched.body)
