"""Pages that a callback failed on, on their way out of the index."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.errors import IndexUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.index import Decision, Index

logger = logging.getLogger(__name__)


class FailedPage(NamedTuple):
    """A page that the index holds though a callback failed on it."""

    scope: str
    request_fingerprint: bytes
    decision: Decision
    url: str


class Withdrawals:
    """Takes pages back out of *index* while the crawl goes on, and once more at its end.

    *count* is called for each that was.
    """

    def __init__(self, index: Index, count: Callable[[], None]) -> None:
        self._index = index
        self._count = count
        self._under_way: set[asyncio.Task[None]] = set()
        self._left: list[FailedPage] = []

    def begin(self, page: FailedPage) -> None:
        """Take a page back, without waiting for it."""
        task = asyncio.ensure_future(self._withdraw(page))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def wait(self) -> None:
        """Wait for those that have begun: what has failed must not stand for what comes now."""
        if self._under_way:
            await asyncio.wait(self._under_way)

    async def finish(self) -> int:
        """Try again to take back what could not be; return how many pages are left."""
        await self.wait()
        again, self._left = self._left, []
        for page in again:
            await self._withdraw(page)
        return len(self._left)

    async def _withdraw(self, page: FailedPage) -> None:
        scope, request_fingerprint, decision, url = page
        withdraw = partial(self._index.withdraw, scope, request_fingerprint, decision)
        try:
            await self._index.aside(withdraw)
        except IndexUnavailableError as exc:
            self._left.append(page)
            logger.warning("Not taken back after its callback failed: %s: %s", url, exc)
        else:
            self._count()
