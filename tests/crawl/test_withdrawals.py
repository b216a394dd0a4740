"""Pages that a callback failed on leave the index, at the second attempt if need be."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from scrapy.exceptions import DontCloseSpider
from scrapy.http import HtmlResponse, Request
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.choices import DECISION_META_KEY, policy_of
from scrapy_simhash.crawl.judging import SimhashDownloaderMiddleware
from scrapy_simhash.crawl.requests import RequestFacts
from scrapy_simhash.crawl.run import Withdrawals
from scrapy_simhash.crawl.setup import Parts
from scrapy_simhash.crawl.walls import DroppedPage
from scrapy_simhash.decision.page import Decision
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.base import Run
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.workers.pool import InProcess
from tests.conftest import Site, article, crawl_job, crawl_result, ended, prose, start_job
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


# Copies that one process has dropped for a page which another one has kept -----------------------


@pytest.mark.parametrize("spider", ["FailsWhenTold", "Retries"])
def test_copies_of_what_another_process_has_taken_back_or_found_to_be_a_wall_arrive(
    site: Site, tmp_path: Path, spider: str
) -> None:
    """The copy of a wall is another page when it is asked for again."""
    told, is_over = Event(), Event()
    shown = article(("captcha " if spider == "Retries" else "") + prose("shown"))

    def kept(visit: int) -> str:
        return shown if visit == 1 or not told.wait(60) else article(prose("kept"))

    def slow(visit: int) -> str:
        is_over.wait(60)
        return article(prose("slow"))

    site["/a"], site["/b"] = article(prose("a"), ["/kept"]), article(prose("b"), ["/copy", "/slow"])
    site["/kept"], site["/slow"] = kept, slow
    other = article(prose("copy")) if spider == "Retries" else shown
    site["/copy"] = lambda visit: shown if visit == 1 else other
    settings: dict[str, Any] = {"SIMHASH_INDEX": str(tmp_path / "one.db"), "SIMHASH_CRAWL": "one"}
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    first, second = (
        crawl_job(site, folder, name, f"/{folder.name}", **settings)
        for folder, name in zip(folders, (spider, "Links"), strict=True)
    )

    def wait_for(folder: Path, path: str) -> None:
        deadline = time.monotonic() + 60
        while path not in crawl_result(0, "", folder).verdicts():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    with start_job(first, folders[0]) as one:
        wait_for(folders[0], "/kept")
        with start_job(second, folders[1]) as two:
            wait_for(folders[1], "/copy")
            (folders[0] / "told").touch()
            told.set()
            ended(one, folders[0])
            is_over.set()
            result = ended(two, folders[1])
    verdicts = [one["verdict"] for one in result.decisions if one["url"].endswith("/copy")]
    assert verdicts == ["exact_duplicate", "unique"]
    assert result.seen() == {"/b", "/copy", "/slow"}


@pytest.mark.parametrize(
    ("is_shared", "stands", "asked"),
    [(False, False, []), (True, True, []), (True, False, ["copy"]), (True, None, ["copy"])],
    ids=["alone", "stands", "is gone", "nobody knows"],
)
def test_a_crawl_of_several_processes_looks_for_what_it_dropped_before_it_ends(
    is_shared: bool, stands: bool | None, asked: list[str]
) -> None:
    async def stands_for(scope: str, request_fingerprint: bytes, crawl: int) -> bool:
        assert (scope, request_fingerprint, crawl) == ("scope", b"copy", 2)
        await asyncio.sleep(0.01)
        if stands is None:
            raise IndexUnavailableError("away")
        return stands

    async def current() -> Run:
        return Run(3, 2)

    again: list[str] = []
    dropped = DroppedPage("kept", Request("http://a.example"), None, key=("scope", b"copy"))
    middleware: Any = SimpleNamespace(
        index=SimpleNamespace(stands_for=stands_for),
        _run=SimpleNamespace(is_shared=is_shared, current=current),
        _dropped=SimpleNamespace(
            copies=lambda: [dropped], ask_for=lambda one: again.append(one.key[1].decode())
        ),
        _look=None,
        _looked_until=0.0,
    )
    middleware._look_for = lambda copies: SimhashDownloaderMiddleware._look_for(middleware, copies)

    async def idle() -> int:
        for times in range(10):
            try:
                SimhashDownloaderMiddleware.spider_idle(middleware)
            except DontCloseSpider:
                await asyncio.sleep(0.005)
            else:
                return times
        raise AssertionError("it never ends")

    assert bool(asyncio.run(idle())) is is_shared
    assert again == asked
