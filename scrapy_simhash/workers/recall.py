"""Bodies that were met before, byte for byte, are not analysed a second time."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import mmh3
from cachetools import LRUCache

from scrapy_simhash.analysis.analyser import Background, PageAnalysis
from scrapy_simhash.errors import AnalysisError
from scrapy_simhash.workers.child import Outcome, hash_of_body
from scrapy_simhash.workers.pool import Workers

# Hold some 8,000 pages of 74 blocks, the median of a documentation site.
MAX_BYTES = 16 << 20
# The memory of an entry without its pickle, by tracemalloc.
ENTRY_BYTES = 600

# A hash of a body that is fast, but may be that of another, its encoding, and where it was.
_Key = tuple[bytes, str | None, str]


class RecallingWorkers(Workers):
    """Asks *workers* about each body once, and remembers what came of it, in bounded memory.

    An analysis depends on the site's template only by which of the page's blocks and values it
    holds.  Where that changed, or what changes by itself on the site, the page is analysed anew, so
    that what is recalled is always what a new analysis would say.  A body whose twin is being
    analysed waits for it.  Bodies are the same in one folder of a host only, since their links lead
    elsewhere from another; at one path only, if they lead to other queries of it (``?page=2``);
    with *url_counts*, at the same URL only.
    """

    def __init__(self, workers: Workers, url_counts: bool, max_bytes: int = MAX_BYTES) -> None:
        self._workers = workers
        self._url_counts = url_counts
        # What is cut from a page is a part of the key: a number.  An error is pickled, too, and
        # takes a third of the memory.
        self._known: LRUCache[tuple[_Key, int], Outcome] = LRUCache(max_bytes, _size_of)
        self._twins: WeakValueDictionary[_Key, asyncio.Lock] = WeakValueDictionary()

    def start(self) -> None:
        self._workers.start()

    async def analyse(
        self,
        body: bytes,
        encoding: str | None,
        url: str,
        background: Callable[[], Background] = Background,
        is_urgent: bool = False,
    ) -> PageAnalysis:
        """Return the analysis of one page; one that is known waits for no turn.

        Cost: a fast hash of the body (6 us for 60 KB); of a known one, a slow one (44 us), and
        O(blocks of the page).
        """
        tag = mmh3.mmh3_x64_128_digest(body)
        path = url.partition("?")[0]
        folder = path.rpartition("/")[0] if path.count("/") > 2 else path  # of a host alone, itself
        places = (url,) if self._url_counts else (folder, path)
        keys = [(tag, encoding, place) for place in places]
        if analysis := self._recalled(keys, body, background()):
            return analysis
        # One after the other: all at once, they would hold up the event loop.
        async with self._twins.setdefault(keys[0], asyncio.Lock()):
            if analysis := self._recalled(keys, body, background()):
                return analysis
            async with nullcontext() if is_urgent else self._workers.turn():
                return await self._analysed(keys, body, url, background())

    async def run(self, function: Callable[..., Any] | None, *arguments: object) -> Any:
        return await self._workers.run(function, *arguments)

    async def close(self) -> None:
        await self._workers.close()

    def _recalled(
        self, keys: list[_Key], body: bytes, background: Background
    ) -> PageAnalysis | None:
        """Return the analysis that is known; None where the template would change it.

        :raises AnalysisError: that is what came of the body.
        """
        found = (self._known.get((key, background.cuts.number)) for key in keys)
        known = next(filter(None, found), None)
        if known is None or known[0] != hash_of_body(body):
            return None
        outcome: PageAnalysis | AnalysisError = pickle.loads(known[1])  # noqa: S301 - our own
        if isinstance(outcome, AnalysisError):
            raise outcome
        if outcome.within(background.template) != outcome.in_template:
            return None
        return replace(outcome, seconds=0.0, recalled=True)

    async def _analysed(
        self, keys: list[_Key], body: bytes, url: str, background: Background
    ) -> PageAnalysis:
        """Ask the workers, and remember what comes of it."""
        try:
            outcome = await self._workers.run(None, body, keys[0][1], url, background)
        except AnalysisError as exc:
            if exc.reason != "worker_died":  # the cause is not the body
                failed = hash_of_body(body), pickle.dumps(exc, protocol=5)
                self._remember(keys[0], background, failed)
            raise
        analysis: PageAnalysis = pickle.loads(outcome[1])  # noqa: S301 - our own
        at = keys[-1] if _leads_on_from(url, analysis) else keys[0]
        self._remember(at, background, outcome)
        return analysis

    def _remember(self, key: _Key, background: Background, outcome: Outcome) -> None:
        if _size_of(outcome) <= self._known.maxsize:
            self._known[key, background.cuts.number] = outcome


def _leads_on_from(url: str, analysis: PageAnalysis) -> bool:
    """Whether a page leads to other queries of its own path, or to routes behind a fragment."""
    path, query, _ = url.partition("?")
    addresses = f"\n{analysis.values.addresses.joined}\n"
    return any(f"\n{path}{end}" in addresses for end in ("?", "#", *("\n" if query else "")))


def _size_of(outcome: Outcome) -> int:
    return ENTRY_BYTES + len(outcome[1])
