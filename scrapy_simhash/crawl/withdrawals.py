"""The removal of pages from the index after their callback failed."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.errors import IndexUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.index.contract import Index
    from scrapy_simhash.rule.page import Decision

logger = logging.getLogger(__name__)


class FailedPage(NamedTuple):
    """A page in the index on which a callback failed."""

    scope: str
    request_fingerprint: bytes
    decision: Decision
    url: str


class Withdrawals:
    """Removes pages from *index* while the crawl runs, and tries failed removals again at its end.

    *count* is called for each removed page.
    """

    def __init__(self, index: Index, count: Callable[[], None]) -> None:
        self._index = index
        self._count = count
        self._under_way: set[asyncio.Task[None]] = set()
        self._left: list[FailedPage] = []

    def begin(self, page: FailedPage) -> None:
        """Begin to remove a page, without waiting for the end."""
        task = asyncio.ensure_future(self._withdraw(page))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def wait(self) -> None:
        """Wait for the removals under way: the next page must not be judged by a failed one."""
        if self._under_way:
            await asyncio.wait(self._under_way)

    async def finish(self) -> int:
        """Try again to remove the pages that are left; return the number that still are."""
        await self.wait()
        again, self._left = self._left, []
        for page in again:
            await self._withdraw(page)
        return len(self._left)

    async def _withdraw(self, page: FailedPage) -> None:
        scope, request_fingerprint, decision, url = page
        try:
            await self._index.withdraw(scope, request_fingerprint, decision)
        except IndexUnavailableError as exc:
            self._left.append(page)
            logger.warning("Not taken back after its callback failed: %s: %s", url, exc)
        else:
            self._count()
