"""Which runs are one crawl, in every index."""

from __future__ import annotations

import asyncio
import itertools
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scrapy.utils.misc import load_object
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.run import AGAIN_SECONDS, JOB_FILE, CrawlRun
from scrapy_simhash.decision.judge import SiteKnowledge, judge
from scrapy_simhash.decision.page import Found, Row, View, crawls_in, met_by, together
from scrapy_simhash.errors import IndexUnavailableError, SettingsError
from scrapy_simhash.index import base
from scrapy_simhash.index.base import Run, is_dead
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from scrapy_simhash.settings import SimhashSettings
from tests.indexes import Blocking, open_index
from tests.pages import PARAMETERS, VERIFIED, page, page_with_content
from tests.redis_servers import shared_server
from tests.spiders import Links

QUEUE = "spider:requests"


@pytest.fixture
def index(place: str) -> Iterator[Blocking]:
    with open_index(place, PARAMETERS) as opened:
        yield opened


def test_runs_that_share_a_queue_at_the_same_time_are_one_crawl(index: Blocking) -> None:
    first = index.begin_crawl("spider", joins=QUEUE)
    assert first == Run(first.id, first.id)
    second = index.begin_crawl("spider", joins=QUEUE)
    assert (second.crawl, second.id != first.id) == (first.crawl, True)
    assert index.begin_crawl("other", joins=QUEUE).crawl not in (first.id, second.id)
    assert index.begin_crawl("spider", joins="another").crawl not in (first.id, second.id)
    index.end_crawl(first)
    # the second still goes on
    assert index.begin_crawl("spider", joins=QUEUE).crawl == first.crawl


def test_runs_of_one_spider_are_two_crawls_as_they_may_have_other_arguments(
    index: Blocking,
) -> None:
    runs = [index.begin_crawl("spider") for _ in range(2)]
    assert [run.crawl for run in runs] == [run.id for run in runs]
    assert index.begin_crawl("spider", joins=QUEUE).crawl not in {run.crawl for run in runs}


def test_run_after_the_end_of_all_others_is_a_new_crawl(index: Blocking) -> None:
    runs = [index.begin_crawl("spider", joins=QUEUE) for _ in range(2)]
    index.end_crawl(runs[0])
    index.end_crawl(runs[1], delivered=False)
    assert index.begin_crawl("spider", joins=QUEUE).crawl not in {run.crawl for run in runs}


def test_runs_with_one_name_are_one_crawl_at_any_time(index: Blocking) -> None:
    first = index.begin_crawl("spider", "monday")
    index.end_crawl(first)
    again = index.begin_crawl("other spider", "monday")
    assert again.crawl == first.crawl
    assert index.begin_crawl("spider", "tuesday").crawl != first.crawl
    assert index.begin_crawl("spider", joins=QUEUE).crawl not in {first.crawl, again.crawl}


def test_run_that_joins_no_other_is_a_crawl_of_its_own(index: Blocking) -> None:
    running = index.begin_crawl("spider", joins=QUEUE)
    assert index.begin_crawl("spider").crawl != running.crawl
    assert index.begin_crawl("spider", joins=QUEUE).crawl == running.crawl


def test_of_several_crawls_the_oldest_is_joined(index: Blocking) -> None:
    names = [f"{number}" for number in range(20)]
    runs = [index.begin_crawl("spider", name) for name in names]
    for name in names:
        index.begin_crawl("spider", name, QUEUE)
    assert index.begin_crawl("spider", joins=QUEUE).crawl == runs[0].crawl


def test_run_that_has_said_that_it_goes_on_can_end(index: Blocking) -> None:
    run = index.begin_crawl("spider", joins=QUEUE)
    index.beat(run)
    index.end_crawl(run)
    assert index.begin_crawl("spider", joins=QUEUE).crawl != run.crawl


def test_job_that_joins_others_is_resumed_as_part_of_their_crawl(index: Blocking) -> None:
    first = index.begin_crawl("spider", joins=QUEUE)
    job = index.begin_crawl("spider", "job 1", QUEUE)
    assert job.crawl == first.crawl
    for run in (first, job):
        index.end_crawl(run)
    later = index.begin_crawl("spider", joins=QUEUE)
    assert index.begin_crawl("spider", "job 1", QUEUE).crawl == first.crawl != later.crawl


def test_silent_run_has_ended_and_one_that_beats_goes_on(
    lasting_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("index.sqlite.index", "index.redis.index"):
        monkeypatch.setattr(f"scrapy_simhash.{module}.SILENT_SECONDS", 2)
    with open_index(lasting_place, PARAMETERS) as index:
        silent, beating = (index.begin_crawl(name, joins=QUEUE) for name in ("silent", "beating"))
        time.sleep(1.6)  # the clock is that of the server
        index.beat(beating)
        time.sleep(1.6)
        assert index.begin_crawl("silent", joins=QUEUE).crawl != silent.crawl
        assert index.begin_crawl("beating", joins=QUEUE).crawl == beating.crawl


def test_run_of_a_process_that_has_ended_is_none(
    lasting_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    here = base.this_process()
    monkeypatch.setattr("os.getpid", lambda: ended.pid)
    with open_index(lasting_place, PARAMETERS) as index:
        first = index.begin_crawl("spider", joins=QUEUE)
        assert is_dead(base.this_process())
        monkeypatch.undo()
        assert not is_dead(here)
        assert index.begin_crawl("spider", joins=QUEUE).crawl != first.crawl


@pytest.mark.parametrize("process", ["", "elsewhere 1", "nothing", f"{socket.gethostname()} x"])
def test_process_that_cannot_be_seen_may_be_alive(process: str) -> None:
    assert not is_dead(process)


def test_oldest_crawl_is_joined(index: Blocking) -> None:
    ended, oldest, _ = (index.begin_crawl("spider", f"job {i}", QUEUE) for i in range(3))
    index.end_crawl(ended)
    assert index.begin_crawl("spider", joins=QUEUE).crawl == oldest.crawl


def test_addresses_that_went_to_another_spider_are_none_that_this_one_knows() -> None:
    """Of a kept page that another crawl has met since."""
    content = range(200)
    kept = replace(page_with_content("kept", content), addresses=b"1234")
    for met, addresses in (((5, 6), b"1234"), ((6, 5), None)):
        row = Row(1, replace(kept, met_by=met_by(*met)))
        new = replace(page_with_content("new", content), met_by=met_by(5))
        judged = judge(new, Found(same_text=[row]), VERIFIED, SiteKnowledge())
        assert judged.decision.verdict == "exact_duplicate"
        assert judged.decision.kept_addresses == addresses


def test_page_that_was_taken_back_is_not_stored_once_more(place: str) -> None:
    """When a template settles, the pages before it are stored with what they are under it."""

    def view_anew(template: Collection[int]) -> View | None:
        pytest.fail("it was taken back")

    with open_index(place, VERIFIED) as index:
        early = replace(page_with_content("early", range(200)), view_under=view_anew)
        decision = index.check_and_add(early)
        index.withdraw("", early.request_fingerprint, decision)
        for i in range(2, 60):  # until the template is settled
            other = page_with_content(f"{i}", range(300 * i, 300 * i + 200))
            index.check_and_add(replace(other, blocks=(1, i)))
        assert index.learned.template("site.example") == {1}


class NotYet(SQLiteIndex):
    """An index that does not answer when a crawl begins, at first."""

    begins = 0

    async def begin_crawl(self, spider: str, name: str | None = None, joins: str = "") -> Run:
        self.begins += 1
        if self.begins == 1:
            raise IndexUnavailableError("not yet")
        return await super().begin_crawl(spider, name, joins)


def test_crawl_begins_when_the_index_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.chain([100.0] * 3, itertools.repeat(100.0 + AGAIN_SECONDS))
    monkeypatch.setattr("scrapy_simhash.crawl.run.monotonic", lambda: next(clock))
    index = NotYet("memory:", PARAMETERS)

    async def begin() -> None:
        run = CrawlRun(get_crawler(Links), index, SimhashSettings())
        for _ in range(2):  # the second does not ask
            with pytest.raises(IndexUnavailableError):
                await run.current()
        assert index.begins == 1
        assert await run.current() == await run.current() == Run(1, 1)
        await run.end(delivered=True, is_done=False)

    asyncio.run(begin())


class SharedScheduler(load_object("scrapy_redis.scheduler.Scheduler")):  # type: ignore[misc]
    """A scheduler of a project, made from that of scrapy-redis."""


class Slow(SQLiteIndex):
    """An index that takes its time when a crawl begins."""

    async def begin_crawl(self, spider: str, name: str | None = None, joins: str = "") -> Run:
        run = await super().begin_crawl(spider, name, joins)
        await asyncio.sleep(0.05)
        return run


def test_pages_that_come_at_the_same_time_wait_for_one_run() -> None:
    async def begin() -> list[Run]:
        run = CrawlRun(get_crawler(Links), Slow("memory:", PARAMETERS), SimhashSettings())
        runs = await asyncio.gather(*(run.current() for _ in range(5)))
        await run.end(delivered=True, is_done=True)
        return runs

    assert asyncio.run(begin()) == [Run(1, 1)] * 5


def test_runs_that_share_the_queue_of_scrapy_redis_are_one_crawl(tmp_path: Path) -> None:
    """Of one spider; two that run with other arguments or queues are two crawls."""
    index = SQLiteIndex("memory:", PARAMETERS)
    redis: dict[str, Any] = {"SCHEDULER": "scrapy_redis.scheduler.Scheduler"}
    own: dict[str, Any] = {"SCHEDULER": SharedScheduler}
    wanted: list[tuple[dict[str, Any], int]] = [
        ({}, 1),
        ({}, 2),
        (redis, 3),
        (own, 3),
        ({**redis, "SCHEDULER_QUEUE_KEY": "%(spider)s:requests"}, 3),
        ({**redis, "SCHEDULER_QUEUE_KEY": "%(spider)s:others"}, 6),
        ({**redis, "SCHEDULER_QUEUE_KEY": "links:others"}, 6),
        ({**redis, "JOBDIR": str(tmp_path)}, 3),
        ({"JOBDIR": str(tmp_path)}, 3),  # as the file in it says
        ({**redis, "SIMHASH_CRAWL": "monday"}, 10),
    ]

    async def begin() -> list[int]:
        runs = []
        for settings, _ in wanted:
            crawler = get_crawler(Links, settings)
            runs.append(CrawlRun(crawler, index, SimhashSettings.read(crawler.settings)))
        crawls = [(await run.current()).crawl for run in runs]
        for run in runs:
            await run.end(delivered=True, is_done=True)
        return crawls

    assert asyncio.run(begin()) == [crawl for _, crawl in wanted]


def test_file_of_a_job_names_its_crawl_until_that_is_done(tmp_path: Path) -> None:
    crawler = get_crawler(Links, {"JOBDIR": str(tmp_path)})
    file, index = tmp_path / JOB_FILE, SQLiteIndex("memory:", PARAMETERS)

    async def crawl(is_done: bool) -> int:
        run = CrawlRun(crawler, index, SimhashSettings())
        number = (await run.current()).crawl
        await run.end(delivered=True, is_done=is_done)
        return number

    first = asyncio.run(crawl(is_done=False))
    assert asyncio.run(crawl(is_done=True)) == first
    assert not file.exists()
    assert asyncio.run(crawl(is_done=False)) != first
    file.write_text("")  # the disk was full, say
    second = asyncio.run(crawl(is_done=False))
    assert second != first
    assert asyncio.run(crawl(is_done=True)) == second
    file.write_bytes(b"\xff")
    with pytest.raises(SettingsError, match=r"simhash\.crawl in JOBDIR must be a file that"):
        CrawlRun(crawler, index, SimhashSettings())


def test_numbers_of_runs_are_not_used_again(redis_url: str) -> None:
    """A server may be emptied, or restarted with an old snapshot."""
    with open_index(redis_url, PARAMETERS) as index:
        before = index.begin_crawl("spider")
        with shared_server().client() as client:
            client.delete(*client.keys(f"{redis_url.rpartition('=')[2]}:*:crawls"))
        time.sleep(1.1)  # from one on, they go with the seconds of the server
        assert index.begin_crawl("other").crawl not in before
        assert index.begin_crawl("third").id > before.id


def test_page_that_another_crawl_has_moved_stands_for_no_copy_of_a_failed_one(
    index: Blocking,
) -> None:
    new = replace(page("a", 0b0), met_by=met_by(1))
    decision = index.check_and_add(new)
    assert index.check_and_add(replace(page("b", 0b0), met_by=met_by(2))).reason == "moved"
    index.withdraw("", new.request_fingerprint, decision)
    assert index.check_and_add(replace(page("c", 0b0), met_by=met_by(1))).reason == "moved"


def test_duplicate_that_any_run_of_its_crawl_has_judged_is_met_again_on_purpose(
    index: Blocking,
) -> None:
    """A crawl that is resumed polls; another one, at the same time, has its own polls."""

    def poll(crawl_name: str, name: str = "copy") -> str:
        run = index.begin_crawl("spider", crawl_name)
        new = replace(page(name, 0b0), crawl=run.id, met_by=met_by(run.crawl))
        return str(index.check_and_add(replace(new, is_asked_again=True)).verdict)

    assert [poll("job", "kept"), poll("job")] == ["unique", "exact_duplicate"]
    assert [poll("another", "kept"), poll("another")] == ["refresh", "exact_duplicate"]
    assert poll("job") == "refresh", "in the third run of its job"


def test_heir_was_handed_to_no_crawl(index: Blocking) -> None:
    """Its spider did not get it, so another copy of it may pass."""
    for name in ("kept", "copy"):
        index.check_and_add(replace(page(name, 0b0), met_by=met_by(1)))
    index.forget([next(row.id for row in index.rows() if row.is_kept)])
    assert index.check_and_add(replace(page("other", 0b0), met_by=met_by(1))).reason == "moved"


def test_four_crawls_are_remembered_the_latest_first() -> None:
    met = None
    for crawl in (1, 2, 3, 2, 4, 5):
        met = together(met_by(crawl), met)
    assert crawls_in(met) == (5, 4, 2, 3)
    assert together(None, None) is None
    assert together(None, met) == met
    assert crawls_in(None) == ()
