"""What is known of sites: each process learns it, and the index stores it for all.

An index stores one state for each key:

======================  ==========================================================
key                     state
======================  ==========================================================
site or section         the blocks that it repeats
section `` values``     the values that it repeats
folder `` beside``      the values that it repeats beside the content
section `` noise``      what changes by itself in it
site `` rules``         the rules for its addresses
host `` validators``    when they said of a page which had changed that it had not
======================  ==========================================================
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from cachetools import FIFOCache

from scrapy_simhash.decision.differences import Differences
from scrapy_simhash.decision.holdings import BESIDE_BIT, is_all
from scrapy_simhash.decision.judge import SiteKnowledge
from scrapy_simhash.decision.noise import Noises
from scrapy_simhash.decision.page import Decision, Page
from scrapy_simhash.decision.template import VALUES, Templates
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.urls import Address, folder_of, section_of, section_of_folder

if TYPE_CHECKING:
    from scrapy_simhash.url_rules.book import RuleBook
    from scrapy_simhash.url_rules.rule import AddressRule

# Calls a function with the state stored under a key (None if there is none), stores the result in
# its place, and returns it.  Raises IndexUnavailableError if it cannot.
Exchange = Callable[[str, Callable[["bytes | None"], bytes]], Awaitable[bytes]]

# The pages of a section that are remembered until its template is settled: after 30 pages, or never
# if the section repeats nothing.  Each takes about 25 KB (compressed), all together under 40 MB.
EARLY_PAGES = 40
EARLY_SECTIONS = 40
# So long, all their values are known, and not only those that fit into an index: in the pages of a
# shop 1,700, which take 7 KB.
EARLY_BYTES = 16_000

# No host ends like these.
_NOISE = " noise"
_RULES = " rules"
_LIES = " validators"
_VALUES, _BESIDE = " values", " beside"

# After this many pages of a folder, it is known what stands beside the content on all of them.
BESIDE_PAGES = 10
# After this many pages of a section, only one page of four is learned from: learning takes 0.1 ms
# for each 200 values.
MANY_PAGES = 100
TAUGHT_OF_MANY = 4

# A server that was wrong may have been repaired after a month; if not, that is found once more.
DISTRUST_SECONDS = 30 * 86_400

# Of pages with one text, one in so many of its section's is learned from: sixty aliases must not
# teach it.  At most this many texts are remembered, and sections.
TAUGHT_AGAIN = 100
TEXTS_KEPT, SECTIONS_KEPT = 50_000, 10_000


def noise_key(site: str) -> str:
    """Return what the noise of a site is stored under."""
    return f"{site}{_NOISE}"


def rules_key(site: str) -> str:
    """Return what the rules for the addresses of a site are stored under."""
    return f"{site}{_RULES}"


def site_of_rules(key: str) -> str | None:
    """Return the site whose rules are stored under a key; None if it is not one of rules."""
    return key.removesuffix(_RULES) if key.endswith(_RULES) else None


def _key(page: Page) -> tuple[str, bytes]:
    return page.scope, page.request_fingerprint


# Of one page it is asked several times, and for thousands of pages nothing changes.
@lru_cache(maxsize=64)
def _together(one: frozenset[int], other: frozenset[int]) -> frozenset[int]:
    return one | other


class Liars(dict[str, int]):
    """The hosts that said of a page which had changed that it had not, and when, in seconds."""

    def include(self, host: str) -> bool:
        """Whether a host is not trusted now: :data:`DISTRUST_SECONDS` long."""
        return self.get(host, 0) > time.time() - DISTRUST_SECONDS

    def restore(self, host: str, state: bytes) -> None:
        """Take over what others have found."""
        self[host] = int(state)

    def merged(self, host: str, stored: bytes | None) -> bytes:
        """Return the state of a host to store: when it was found last, as far as is known here."""
        return b"%d" % self.get(host, 0)


class _Early(NamedTuple):
    """A page that was kept before the template of its section was settled, and all its values."""

    page: Page
    values: bytes | None


class Learned:
    """What is known of the sites of an index, merged with what other processes have learned."""

    def __init__(self, share: float | None, exchange: Exchange) -> None:
        self._share = share
        self._blocks = Templates()
        self._values = Templates(VALUES)
        self.noises = Noises()
        self.liars = Liars()
        self._early: FIFOCache[str, dict[tuple[str, bytes], _Early]] = FIFOCache(EARLY_SECTIONS)
        # Of each, which page of its section taught it last; and how many those of a section are.
        self._texts: FIFOCache[tuple[str, bytes], int] = FIFOCache(TEXTS_KEPT)
        self._judged: FIFOCache[str, int] = FIFOCache(SECTIONS_KEPT)
        self._exchange = exchange

    @cached_property
    def rules(self) -> RuleBook:
        """The rules for addresses; their modules are imported when they are first needed."""
        from scrapy_simhash.url_rules.book import RuleBook

        return RuleBook()

    def of(self, page: Page) -> SiteKnowledge:
        """Return what a page is judged by.

        Blocks of templates that are not settled count as well.  They must not decide what a page is
        found by, since many of them change.
        """
        section = page.section or page.site
        likely = self._union(self._blocks.likely_blocks, section)
        values = self._values_of(section)
        return SiteKnowledge(
            likely, self.repeated_blocks, values, self._values_of, self._own_values
        )

    def _own_values(self, kept: Page) -> bytes | None:
        """Return all values of a kept page, if they are known, or else what is stored of them."""
        stored = kept.own_values
        if is_all(stored):
            return stored
        early = self._early.get(section_of(kept.url), {}).get(_key(kept))
        return early.values if early is not None and early.page.own_values == stored else stored

    def template(self, folder: str) -> frozenset[int]:
        """Return the ids of the blocks and values that the pages of a folder are known to repeat.

        *folder* is that of :func:`~scrapy_simhash.urls.folder_of`.
        """
        section = section_of_folder(folder)
        if not self._is_settled(section):
            return frozenset()
        values = self._values_of(section)
        if self._values.pages(beside := f"{folder}{_BESIDE}") >= BESIDE_PAGES:
            values = _together(values, self._values.likely_blocks(beside))
        return _together(self.repeated_blocks(section), values)

    def _is_settled(self, section: str) -> bool:
        """Whether it is known what a section repeats: values, or blocks where none are compared."""
        if self._texts:
            return bool(self._values_of(section))
        return bool(self._blocks.blocks(section.partition("/")[0]))

    def repeated_blocks(self, section: str) -> frozenset[int]:
        """Return the ids of the blocks that a site, or a section and its site, repeat."""
        return self._union(self._blocks.blocks, section)

    def _values_of(self, section: str) -> frozenset[int]:
        return self._values.blocks(f"{section}{_VALUES}")

    def _union(self, blocks_of: Callable[[str], frozenset[int]], site: str) -> frozenset[int]:
        host, is_section, _ = site.partition("/")
        return _together(blocks_of(host), blocks_of(site)) if is_section else blocks_of(host)

    async def audit_noise(self, section: str, found: Differences, kind: str) -> set[str]:
        """Learn from two visits to a page of a *kind* what is no noise, and store that.

        Return the sections in which other things are noise now.
        """
        changed = self.noises.audit(section, found, kind)
        for one in {section, *changed}:
            await self._store(noise_key(one))
        return changed

    async def learn_noise(self, section: str, found: Differences) -> tuple[bool, set[str]]:
        """Learn from two visits to one page of a section, and store what is known now.

        Return what :meth:`~scrapy_simhash.decision.noise.Noises.learn` does.
        """
        is_open, changed = self.noises.learn(section, found)
        for one in {section, *changed}:
            await self._store(noise_key(one))
        return is_open, changed

    async def distrust(self, host: str) -> None:
        """Note that the validators of a host are wrong."""
        self.liars[host] = int(time.time())
        await self._store(f"{host}{_LIES}")

    async def store_rules(self, site: str) -> None:
        """Store the rules for the addresses of a site, with what others have learned of them."""
        await self._store(rules_key(site))

    async def forget_rule(self, site: str, rule: AddressRule) -> None:
        """Forget a rule of a site; a running crawl stores it again."""
        await self._exchange(rules_key(site), partial(self.rules.merged, site, forgotten=rule))

    async def learn(self, page: Page, decision: Decision) -> None:
        """Learn the templates of a page's site and section from it; store them now and then.

        What was learned of the rules for its site is stored as well, if that is due.

        Once a template is known, a page that looks like a kept one is not learned from: its text
        would count once for each page like it.  While no template is known, many pages look alike.
        """
        is_one_more = decision.closest is not None and decision.closest.share >= (self._share or 2)
        section = page.section or page.site
        for place in {page.site, section}:
            is_known = is_one_more and self._blocks.blocks(place)
            if decision.is_kept and page.blocks and not is_known:
                self._blocks.learn(place, page.blocks)
            await self._store_if_due(self._blocks, place)
        if page.holds.loose and decision.verdict != "exact_duplicate":
            await self._learn_values(page, section)
        if decision.is_kept:
            self.remember(page)
        if "rules" in vars(self) and (due := self.rules.take_due(Address.of(page.url).host)):
            await self.store_rules(due)

    async def _learn_values(self, page: Page, section: str) -> None:
        """Learn from the values of a page, also of one that is dropped, but of each text rarely."""
        number = self._judged[section] = self._judged.get(section, 0) + 1
        text = section, page.digest
        if page.tokens and number < self._texts.get(text, -TAUGHT_AGAIN) + TAUGHT_AGAIN:
            return
        self._texts[text] = number
        values = page.holds.loose + page.holds.shapes
        beside = [value for value in values if value & BESIDE_BIT]
        is_sampled = not page.request_fingerprint[-1] % TAUGHT_OF_MANY
        keys = (f"{section}{_VALUES}", values), (f"{folder_of(page.url)}{_BESIDE}", beside)
        for key, taught in keys:
            if is_sampled or self._values.pages(key) <= MANY_PAGES:
                self._values.learn(key, taught)
                await self._store_if_due(self._values, key)

    async def _store_if_due(self, templates: Templates, key: str) -> None:
        if templates.take_due(key):
            await self._store(key)

    def remember(self, page: Page) -> None:
        """Remember a kept page, if the template of its section is not settled."""
        if page.view_under is None:
            return
        pages = self._early.setdefault(page.section or page.site, {})
        if len(pages) < EARLY_PAGES:
            stored = page.own_values
            values = stored if is_all(stored) else page.holds.pack(EARLY_BYTES)
            pages[_key(page)] = _Early(page, values)

    def forget(self, scope: str, request_fingerprint: bytes) -> None:
        """Forget a page that was taken back, so that it is not stored anew."""
        for pages in self._early.values():
            pages.pop((scope, request_fingerprint), None)

    def take_settled(self, page: Page) -> Iterator[Page]:
        """Yield the pages that were kept before the template of a page's section was settled.

        Once it is, each has the view that it would have now.
        """
        section = page.section or page.site
        if section not in self._early or not self._is_settled(section):
            return
        for early in self._early.pop(section).values():
            viewed = self.viewed(early.page)
            if viewed is not early.page:
                yield viewed

    def viewed(self, page: Page) -> Page:
        """Return a page as it is under its template, if that is settled now, but was not before."""
        template = self.template(folder_of(page.url)) if page.view_under is not None else None
        view = page.view_under(template) if page.view_under is not None and template else None
        return page if view is None else replace(page, **view._asdict(), view_under=None)

    async def store_all(self) -> None:
        """Store what was learned since the last time; ignore what the index cannot store."""
        for templates in self._blocks, self._values:
            for key in templates.take_changed():
                await self._store(key)
        for site in self.rules.take_changed() if "rules" in vars(self) else ():
            await self.store_rules(site)

    def restore(self, key: str, state: bytes) -> None:
        """Take over the state stored under a key; a damaged one is ignored and learned again."""
        part, name = self._part(key)
        with suppress(ValueError):
            part.restore(name, state)

    async def adopt(self, key: str, state: bytes) -> None:
        """Take over a state from another index, and store it."""
        self.restore(key, state)
        await self._store(key)

    async def _store(self, key: str) -> None:
        """Store the state of a key; if the index does not answer, a later change stores it."""
        part, name = self._part(key)
        stored = None
        with suppress(IndexUnavailableError):
            stored = await self._exchange(key, partial(part.merged, name))
        if isinstance(part, Templates):
            if stored is None:
                part.note_lost(key)
            else:
                part.note_stored(key, stored)

    def _part(self, key: str) -> tuple[Templates | Noises | RuleBook | Liars, str]:
        """Return the part that a key belongs to, and its name there."""
        if key.endswith(_LIES):
            return self.liars, key.removesuffix(_LIES)
        if key.endswith(_NOISE):
            return self.noises, key.removesuffix(_NOISE)
        if (site := site_of_rules(key)) is not None:
            return self.rules, site
        return self._values if key.endswith((_VALUES, _BESIDE)) else self._blocks, key
