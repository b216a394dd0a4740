"""What happens to a page while another one is being judged, here or in another process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.choices import policy_of
from scrapy_simhash.crawl.judging import SimhashDownloaderMiddleware
from scrapy_simhash.crawl.requests import RequestFacts
from scrapy_simhash.crawl.setup import Parts
from scrapy_simhash.decision.holdings import MAX_ADDRESSES
from scrapy_simhash.decision.judge import Judged, Parameters, SiteKnowledge, judge
from scrapy_simhash.decision.page import Decision, Found, Page
from scrapy_simhash.index import base, opening
from scrapy_simhash.index.base import Index
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.workers.pool import InProcess
from tests.conftest import article, prose
from tests.indexes import Blocking, ids_by_name, open_index
from tests.pages import PARAMETERS, UNIQUE, VERIFIED, near, page, page_with_content
from tests.spiders import Links

Act = Callable[[Index], Coroutine[Any, Any, Any]]
Meanwhile = Callable[[Act], None]


@pytest.fixture
def meanwhile(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Meanwhile]:
    """A function that has another user of the index act once, in the middle of the next page.

    That is after the page was judged by rows of the index, and before it is written.
    """

    def do_once(act: Act) -> None:
        left = [act]

        async def done(parameters: Parameters) -> None:
            async with opening.open_index(redis_url, parameters) as other:
                await left.pop()(other)

        def judge_then(
            page: Page, found: Found, parameters: Parameters, site: SiteKnowledge
        ) -> Judged:
            judged = judge(page, found, parameters, site)
            if left and (judged.row is not None or judged.decision.closest is not None):
                thread.submit(lambda: asyncio.run(done(parameters))).result()
            return judged

        monkeypatch.setattr(base, "judge", judge_then)

    with ThreadPoolExecutor(1) as thread:
        yield do_once


@pytest.fixture
def index(redis_url: str) -> Iterator[Blocking]:
    with open_index(redis_url, PARAMETERS) as opened:
        yield opened


def test_copy_that_is_kept_meanwhile_is_found(redis_url: str, meanwhile: Meanwhile) -> None:
    """Both have a candidate, which is like neither of them."""
    twins = [page_with_content(name, range(1, 101)) for name in ("one", "two")]
    with open_index(redis_url, VERIFIED) as index:
        index.check_and_add(page_with_content("candidate", range(501, 601)))
        meanwhile(lambda other: other.check_and_add(twins[1]))
        assert index.check_and_add(twins[0]).representative == twins[1].url
        assert len(index) == 2


def test_of_twins_with_a_candidate_judged_at_once_one_is_kept(redis_url: str) -> None:
    async def together(index: Blocking) -> list[str]:
        names = [f"{number} {twin}" for number in range(1, 21) for twin in ("one", "two")]
        pages = (
            page_with_content(name, range(500 * number, 500 * number + 100), main_text=number << 8)
            for name in names
            for number in [int(name.split()[0])]
        )
        told = await asyncio.gather(*map(index.index.check_and_add, pages))
        return [name.split()[0] for name, one in zip(names, told, strict=True) if one == UNIQUE]

    with open_index(redis_url, VERIFIED) as index:
        for number in range(1, 21):
            candidate = page_with_content(f"{number}", range(100), main_text=number << 8 | 1)
            index.keep(candidate)
        kept = index.run(together(index))
        assert len(index) == 40, kept


def test_page_is_no_duplicate_of_one_that_is_forgotten_meanwhile(
    index: Blocking, meanwhile: Meanwhile
) -> None:
    """The heir has the id of the forgotten page, and another fingerprint."""
    for name, fingerprint in [("a", 0b00), ("b", 0b01)]:
        index.check_and_add(page(name, fingerprint))
    forgotten = ids_by_name(index)["a"]
    meanwhile(lambda other: other.forget([forgotten]))
    assert index.check_and_add(page("c", 0b10)) == near("b", 2)


def test_page_whose_last_candidate_is_forgotten_meanwhile_is_kept(
    index: Blocking, meanwhile: Meanwhile
) -> None:
    index.check_and_add(page("a", 0b00))
    forgotten = ids_by_name(index)["a"]
    meanwhile(lambda other: other.forget([forgotten]))
    assert index.check_and_add(page("c", 0b10)) == UNIQUE
    assert [row.is_kept for row in index.rows()] == [True]


def test_page_that_is_met_again_meanwhile_stays_what_the_other_made_it(
    index: Blocking, meanwhile: Meanwhile
) -> None:
    index.check_and_add(page("a", 0b00))
    meanwhile(lambda other: other.check_and_add(page("a", 0xFF00)))
    assert index.check_and_add(page("b", 0b01)) == UNIQUE
    assert index.check_and_add(page("c", 0xFF01)) == near("a", 1)


class LearnsLate(SQLiteIndex):
    """An index that learns from a page when the next ones were judged."""

    async def learn(self, page: Page, decision: Decision) -> None:
        for _ in range(100):
            await asyncio.sleep(0)
        await super().learn(page, decision)


def test_copy_that_is_judged_while_its_page_teaches_does_not_lead_on() -> None:
    links = [f"/leads/to/{i}" for i in range(2 * MAX_ADDRESSES)]

    async def told() -> list[str]:
        crawler = get_crawler(Links)
        crawler.crawling = True
        settings = SimhashSettings()
        pipeline = Pipeline.of(settings)
        middleware = SimhashDownloaderMiddleware(
            crawler,
            Parts(
                pipeline,
                LearnsLate("memory:", pipeline.parameters),
                RequestFacts(crawler, settings),
            ),
            InProcess(pipeline.analyser),
            policy_of(settings, crawler),
        )
        requests = [Request(f"http://a.example/{name}") for name in ("page", "copy")]
        body = article(prose("one text"), links).encode()
        responses = [HtmlResponse(request.url, request=request, body=body) for request in requests]
        passed = await asyncio.gather(
            *map(middleware.process_response, requests, responses), return_exceptions=True
        )
        return [type(one).__name__ for one in passed]

    assert asyncio.run(told()) == ["HtmlResponse", "NearDuplicate"]
