"""What is learned of sites: this process learns it, and the index stores it for all.

What a site repeats (its template) is stored under its name, what changes by itself (its noise)
under :func:`noise_key` of it, and the rules for its addresses under :func:`rules_key`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

from scrapy_simhash.addresses.book import RuleBook, SiteRules
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.rule.noise import Noise, Noises, Visit
from scrapy_simhash.rule.page import Decision, Page
from scrapy_simhash.rule.rule import SiteKnowledge
from scrapy_simhash.rule.template import Templates

# Calls a function with the stored state of a site (None if there is none), stores the result in
# its place, and returns it.  Raises IndexUnavailableError if it cannot.
Exchange = Callable[[str, Callable[["bytes | None"], bytes]], Awaitable[bytes]]

# A template is settled after 30 pages, or never, if a site repeats nothing.  The text of a page
# takes about 20 KB, compressed; so all early pages take under 25 MB.
EARLY_PAGES = 60
EARLY_SITES = 20


# No host ends like these.
_NOISE = " noise"
_RULES = " rules"


def noise_key(site: str) -> str:
    """Return what the noise of a site is stored under."""
    return f"{site}{_NOISE}"


def rules_key(site: str) -> str:
    """Return what the rules for the addresses of a site are stored under."""
    return f"{site}{_RULES}"


def site_of_rules(key: str) -> str | None:
    """Return the site whose rules are stored under a key; None if it is not one of rules."""
    return key.removesuffix(_RULES) if key.endswith(_RULES) else None


class Learned:
    """What is known of the sites of an index, exchanged with what others have learned of them."""

    def __init__(self, share: float | None, exchange: Exchange | None = None) -> None:
        self._share = share
        self._templates = Templates()
        self._noises = Noises()
        self.rules = RuleBook()
        self._early: OrderedDict[str, list[Page]] = OrderedDict()
        self._exchange = exchange

    def of(self, page: Page) -> SiteKnowledge:
        """Return what a page is judged by.

        Templates that are not settled count as well.  They must not decide what a page is found by,
        since many of their blocks change.
        """
        template = self._union(self._templates.likely_blocks, page.section or page.site)
        return SiteKnowledge(template, self.noise(page.site).places, self.blocks)

    def blocks(self, site: str) -> frozenset[int]:
        """Return the ids of the blocks that a site, or a section and its site, repeat."""
        return self._union(self._templates.blocks, site)

    def _union(self, blocks_of: Callable[[str], frozenset[int]], site: str) -> frozenset[int]:
        host, is_section, _ = site.partition("/")
        return blocks_of(host) | blocks_of(site) if is_section else blocks_of(host)

    def noise(self, site: str) -> Noise:
        """Return what is known to change by itself on *site*."""
        return self._noises.of(site)

    async def learn_noise(self, site: str, first: Visit, second: Visit) -> None:
        """Learn from two visits to one address of a site, and store what is known now."""
        self._noises.learn(site, first, second)
        await self._store_noise(site)

    async def store_rules(self, site: str) -> None:
        """Store the rules for the addresses of a site, with what others have learned of them."""
        if self._exchange is not None:
            with suppress(IndexUnavailableError):  # the next trial, or the end, stores them
                await self._exchange(rules_key(site), partial(self.rules.merged, site))

    async def change_rules(self, site: str, change: Callable[[SiteRules], None]) -> None:
        """Change the rules for the addresses of a site, here and in the store.

        *change* may be called more than once.

        :raises IndexUnavailableError: the index did not answer; the store may be as before.
        """
        if self._exchange is not None:
            await self._exchange(rules_key(site), partial(self.rules.changed, site, change))

    async def learn(self, page: Page, decision: Decision) -> None:
        """Learn the templates of a page's site and section from it; store them now and then.

        A page that looks like a kept one, but has another name, say, tells nothing of the site: its
        text would count for as many pages as there are like it.  While no template is known, many
        pages look alike.
        """
        is_one_more = decision.closest is not None and decision.closest.share >= (self._share or 2)
        for place in {page.site, page.section or page.site}:
            is_known = is_one_more and self._templates.blocks(place)
            if decision.verdict == "unique" and page.blocks and not is_known:
                self._templates.learn(place, page.blocks)
            if self._templates.take_due(place):
                await self._store(place)
        if decision.verdict == "unique" and page.view_under is not None:
            self._remember(page)

    def _remember(self, page: Page) -> None:
        """Remember a page that is kept before the template of its site is settled."""
        pages = self._early.setdefault(page.site, [])
        if len(pages) < EARLY_PAGES:
            pages.append(page)
        if len(self._early) > EARLY_SITES:
            self._early.popitem(last=False)

    def forget(self, scope: str, request_fingerprint: bytes) -> None:
        """Forget a page that was taken back, so that it is not stored anew."""
        taken = scope, request_fingerprint
        for pages in self._early.values():
            pages[:] = [one for one in pages if (one.scope, one.request_fingerprint) != taken]

    def take_settled(self, site: str) -> Iterator[Page]:
        """Yield the pages that were kept before the template of *site* was settled, once it is.

        Each has the view that it would have now.
        """
        if site not in self._early or not self._templates.blocks(site):
            return
        for page in self._early.pop(site):
            view = page.view_under and page.view_under(self.blocks(page.section or site))
            if view is not None:
                fingerprint, sketch = view
                yield replace(page, content_fingerprint=fingerprint, sketch=sketch, view_under=None)

    async def store_all(self) -> None:
        """Store what was learned since the last time; ignore what the index cannot store."""
        for site in self._templates.take_changed():
            await self._store(site)
        for site in self.rules.take_changed():
            await self.store_rules(site)

    def restore(self, site: str, state: bytes) -> None:
        """Take over the stored state of a site; a damaged one is ignored and learned again."""
        if site.endswith(_NOISE):
            self._noises.restore(site.removesuffix(_NOISE), state)
            return
        if (of_rules := site_of_rules(site)) is not None:
            self.rules.restore(of_rules, state)
            return
        with suppress(ValueError):
            self._templates.restore(site, state)

    async def adopt(self, site: str, state: bytes) -> None:
        """Take over the state of a site from another index, and store it."""
        self.restore(site, state)
        if (of_rules := site_of_rules(site)) is not None:
            await self.store_rules(of_rules)
        elif site.endswith(_NOISE):
            await self._store_noise(site.removesuffix(_NOISE))
        else:
            await self._store(site)

    async def _store_noise(self, site: str) -> None:
        if self._exchange is not None:
            with suppress(IndexUnavailableError):  # another visit will store it
                await self._exchange(noise_key(site), partial(self._noises.merged, site))

    async def _store(self, site: str) -> None:
        if self._exchange is None:
            return
        try:
            stored = await self._exchange(site, lambda stored: self._templates.merged(site, stored))
        except IndexUnavailableError:  # it can be learned again
            self._templates.note_lost(site)
        else:
            self._templates.note_stored(site, stored)
