"""Pages that a callback failed on leave the index, at the second attempt if need be."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

import pytest
from scrapy.http import HtmlResponse, Request
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.choices import DECISION_META_KEY, policy_of
from scrapy_simhash.crawl.judging import SimhashDownloaderMiddleware
from scrapy_simhash.crawl.requests import RequestFacts
from scrapy_simhash.crawl.run import Withdrawals
from scrapy_simhash.crawl.setup import Parts
from scrapy_simhash.decision.page import Decision
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.base import Run
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.workers.pool import InProcess
from tests.pages import PARAMETERS, UNIQUE, page
from tests.spiders import Links


class BusyIndex(SQLiteIndex):
    """An index that does not answer the first calls."""

    def __init__(self, refusals: int) -> None:
        super().__init__("memory:", PARAMETERS)
        self.refusals = refusals
        self.ends: list[bool] = []

    async def end_crawl(self, run: Run, delivered: bool = True) -> None:
        self.ends.append(delivered)

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
        withdrawals.begin("", failed.request_fingerprint, UNIQUE, failed.url)
        taken_back = await withdrawals.finish()
        assert (await index.counts()).kept == left
        return taken_back

    assert asyncio.run(crawl()) == left
    assert len(counted) == 1 - left


@pytest.mark.parametrize(("refusals", "delivered"), [(0, True), (1, True), (2, False)])
def test_crawl_whose_failed_pages_stay_in_the_index_passed_not_all_pages_on(
    refusals: int, delivered: bool
) -> None:
    """Otherwise the next crawl would skip a page as unchanged that no spider could use."""
    index, settings = BusyIndex(refusals), SimhashSettings()
    crawler = get_crawler(Links)
    crawler.crawling, crawler.engine = True, Mock()
    pipeline = Pipeline.of(settings)
    parts = Parts(pipeline, index, RequestFacts(crawler, settings))
    middleware = SimhashDownloaderMiddleware(
        crawler, parts, InProcess(pipeline.analyser), policy_of(settings, crawler)
    )
    request = Request("http://site.example/", meta={DECISION_META_KEY: UNIQUE})

    async def crawl() -> None:
        await middleware.spider_opened()
        middleware.page_failed(HtmlResponse(request.url, request=request))
        await middleware.spider_closed("finished")

    asyncio.run(crawl())
    assert index.ends == [delivered]
