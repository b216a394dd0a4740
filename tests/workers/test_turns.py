"""A page that waits for its turn is analysed with what is known by then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from scrapy_simhash.decision.cuts import EVERYWHERE
from scrapy_simhash.decision.differences import Differences
from scrapy_simhash.index.site_knowledge import Learned
from scrapy_simhash.pipeline import Fetched, Pipeline
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.workers.pool import InProcess
from tests.conftest import article, prose
from tests.indexes import stored_nowhere

URL = "http://site.example/a"
SESSION = Differences(frozenset({(EVERYWHERE, ("parameter", "session"))}), frozenset(), frozenset())


class Meanwhile(InProcess):
    """Workers for whose turn a page waits until something is learned."""

    known: Learned

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        for _ in range(3):
            await self.known.learn_noise("site.example", SESSION)
        yield


def test_what_is_learned_while_a_page_waits_counts_for_it() -> None:
    pipeline = Pipeline.of(SimhashSettings())
    body = article(prose("text"), [f"/{i}?session=4711" for i in range(3)]).encode()

    async def links(is_urgent: bool) -> list[str]:
        workers = Meanwhile(pipeline.analyser)
        workers.known = Learned(0.9, stored_nowhere)
        fetched = Fetched(URL, body, "utf-8", b"1")
        page, _ = await pipeline.page(
            fetched, workers, workers.known, "spider", is_urgent=is_urgent
        )
        return page.holds.addresses.texts

    assert asyncio.run(links(is_urgent=False)) == [f"http://site.example/{i}" for i in range(3)]
    assert all("session=4711" in link for link in asyncio.run(links(is_urgent=True)))
