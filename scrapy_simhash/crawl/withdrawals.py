"""The removal of pages from the index whose callback failed, or whose items were refused."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.errors import IndexUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy_simhash.index.base import Index
    from scrapy_simhash.rule.page import Decision

logger = logging.getLogger(__name__)

MAX_BEGUN = 1_000


class FailedPage(NamedTuple):
    """A page in the index that the spider, or a pipeline, could not use."""

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
        # By their identity, the decisions on the last pages: several items of a page may be
        # refused, and its request may be judged again later, with an equal decision.
        self._begun: OrderedDict[int, Decision] = OrderedDict()

    def begin(self, page: FailedPage) -> None:
        """Begin to remove a page, once, without waiting for the end."""
        if id(page.decision) in self._begun:
            return
        self._begun[id(page.decision)] = page.decision
        if len(self._begun) > MAX_BEGUN:
            self._begun.popitem(last=False)
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
            logger.warning("Not taken back, though it could not be used: %s: %s", url, exc)
        else:
            self._count()
