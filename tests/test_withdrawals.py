"""Pages that a callback failed on leave the index, at the second attempt if need be."""

from __future__ import annotations

import asyncio

import pytest

from scrapy_simhash.crawl.withdrawals import FailedPage, Withdrawals
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.memory import MemoryIndex
from scrapy_simhash.rule.page import Decision
from tests.pages import PARAMETERS, UNIQUE, page


class BusyIndex(MemoryIndex):
    """An index that does not answer the first calls."""

    def __init__(self, refusals: int) -> None:
        super().__init__(PARAMETERS)
        self.refusals = refusals

    async def withdraw(self, scope: str, request_fingerprint: bytes, decision: Decision) -> None:
        if self.refusals:
            self.refusals -= 1
            raise IndexUnavailableError("locked")
        await super().withdraw(scope, request_fingerprint, decision)


@pytest.mark.parametrize(("refusals", "left"), [(0, 0), (1, 0), (2, 1)])
def test_page_that_could_not_be_taken_back_is_tried_once_more_at_the_end(
    refusals: int, left: int
) -> None:
    index = BusyIndex(refusals)
    failed = page("failed", 1 << 20)
    counted: list[None] = []
    withdrawals = Withdrawals(index, lambda: counted.append(None))

    async def crawl() -> int:
        assert await index.check_and_add(failed) == UNIQUE
        withdrawals.begin(FailedPage("", failed.request_fingerprint, UNIQUE, failed.url))
        taken_back = await withdrawals.finish()
        assert (await index.counts()).kept == left
        return taken_back

    assert asyncio.run(crawl()) == left
    assert len(counted) == 1 - left
