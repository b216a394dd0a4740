"""The templates of sites: this process learns them, and the index stores them for all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.rule.page import Decision, Page
from scrapy_simhash.rule.template import Templates

# Calls a function with the stored state of a site (None if there is none), stores the result in
# its place, and returns it.  Raises IndexUnavailableError if it cannot.
Exchange = Callable[[str, Callable[["bytes | None"], bytes]], Awaitable[bytes]]


class Learned:
    """The templates of the sites of an index, exchanged with what others have learned of them."""

    def __init__(self, exchange: Exchange | None = None) -> None:
        self._templates = Templates()
        self._exchange = exchange

    def blocks(self, site: str) -> frozenset[int]:
        """Return the ids of the blocks that *site* is known to repeat."""
        return self._templates.blocks(site)

    async def learn(self, page: Page, decision: Decision) -> None:
        """Learn the template of a site from a judged page; store it from time to time."""
        if decision.verdict == "unique" and page.blocks:
            self._templates.learn(page.site, page.blocks)
        if self._templates.take_due(page.site):
            await self._store(page.site)

    async def store_all(self) -> None:
        """Store what was learned since the last time; ignore what the index cannot store."""
        for site in self._templates.take_changed():
            await self._store(site)

    def restore(self, site: str, state: bytes) -> None:
        """Take over the stored state of a site; a damaged one is ignored and learned again."""
        with suppress(ValueError):
            self._templates.restore(site, state)

    async def adopt(self, site: str, state: bytes) -> None:
        """Take over the state of a site from another index, and store it."""
        self.restore(site, state)
        await self._store(site)

    async def _store(self, site: str) -> None:
        if self._exchange is None:
            return
        try:
            stored = await self._exchange(site, lambda stored: self._templates.merged(site, stored))
        except IndexUnavailableError:  # it can be learned again
            self._templates.note_lost(site)
        else:
            self._templates.note_stored(site, stored)
