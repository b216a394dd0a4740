"""Real worker processes that are really killed: a page costs at most its worker."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrapy_simhash.analysis.analyser import PageAnalysis
from scrapy_simhash.errors import AnalysisError
from scrapy_simhash.workers.pool import PAGES_AT_HAND, InProcess, WorkerProcesses
from tests.conftest import CrawlFixture, Site, article, crawl_job, crawl_result, prose
from tests.rude_workers import PAGE, RUDE, Rude, children, kill_workers, outcomes, wait_until


@pytest.fixture
def rude() -> Iterator[Rude]:
    with Rude(processes=2, timeout_seconds=1.0) as rude:
        yield rude


@pytest.fixture
def patient() -> Iterator[Rude]:
    """Workers with a time limit that is long enough for a busy machine."""
    with Rude(processes=2, timeout_seconds=60.0) as rude:
        yield rude


def test_analysis_in_a_worker_is_that_of_this_process(rude: Rude) -> None:
    there = rude.run(rude.workers.analyse(PAGE, "utf-8", "http://site.example/"))
    here = RUDE.analyse(PAGE, "utf-8", "http://site.example/")
    assert (there.fingerprint, there.digest, there.tokens) == (
        here.fingerprint,
        here.digest,
        here.tokens,
    )


def test_page_that_kills_its_worker_costs_no_other_page(rude: Rude) -> None:
    assert rude.outcomes("a", "die", "b", "die", "c") == [
        "analysed",
        "worker_died",
        "analysed",
        "worker_died",
        "analysed",
    ]


def test_page_that_outlasts_its_limit_costs_no_other_page(rude: Rude) -> None:
    assert rude.outcomes("hang", "a", "b", "hang", "c") == [
        "timed_out",
        "analysed",
        "analysed",
        "timed_out",
        "analysed",
    ]


def test_pages_at_hand_of_a_worker_outlive_it() -> None:
    with Rude(processes=1, timeout_seconds=1.0) as rude:
        assert rude.outcomes("die", "a", "hang", "b", "die", "c") == [
            "worker_died",
            "analysed",
            "timed_out",
            "analysed",
            "worker_died",
            "analysed",
        ]


def test_page_outlives_all_that_stand_before_it() -> None:
    with Rude(processes=1, timeout_seconds=60) as rude:
        deadly = ["die"] * (PAGES_AT_HAND - 1)
        assert rude.outcomes(*deadly, "a") == ["worker_died"] * len(deadly) + ["analysed"]


def test_worker_is_ready_before_its_first_page() -> None:
    """Importing the libraries takes longer than these pages may take."""
    with Rude(processes=1, timeout_seconds=0.5) as rude:
        assert rude.outcomes("a", "die", "b") == ["analysed", "worker_died", "analysed"]


def test_pages_beyond_those_that_may_wait_are_refused() -> None:
    with Rude(processes=1, timeout_seconds=1, max_waiting=1) as rude:
        reasons = rude.outcomes("hang", "a", "b", "c")
        assert reasons == ["timed_out", "analysed", "workers_busy", "workers_busy"]
        assert rude.outcomes("b") == ["analysed"]


def test_what_has_no_turn_comes_before_all_that_wait() -> None:
    async def in_order(workers: WorkerProcesses) -> list[str]:
        done: list[str] = []

        async def analysed(name: str) -> None:
            await workers.analyse(PAGE, "utf-8", f"http://site.example/{name}")
            done.append(name)

        pages = [asyncio.create_task(analysed(str(i))) for i in range(3 * PAGES_AT_HAND)]
        await asyncio.sleep(0)
        await workers.run(os.getpid)
        done.append("urgent")
        await asyncio.gather(*pages)
        return done

    with Rude(processes=1, timeout_seconds=60.0) as rude:
        assert rude.run(in_order(rude.workers)).index("urgent") == PAGES_AT_HAND


def test_backlog_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 1000.0
    monkeypatch.setattr("scrapy_simhash.workers.pool.monotonic", lambda: now)
    workers = WorkerProcesses(RUDE, processes=2, timeout_seconds=1.0)
    for seconds, waiting in [(0, 5), (29, 5), (0.5, 1), (1, 5), (29, 2)]:  # drained in between
        now += seconds
        workers._note_backlog(waiting)
    assert not caplog.records
    for _ in range(3):
        now += 31
        workers._note_backlog(2)
    [said] = caplog.records
    assert "Set SIMHASH_WORKERS to more" in said.getMessage()


def test_crawl_lets_pages_pass_that_would_wait(site: Site, crawl: CrawlFixture) -> None:
    paths = ["/hang", *(f"/{i}" for i in range(6))]
    site["/"] = article(prose("start"), paths)
    for path in paths:
        site[path] = article(prose(path[1:]))
    result = crawl(
        SIMHASH_EXTRACTOR="tests.extractors.rude_text",
        SIMHASH_WORKERS=1,
        SIMHASH_MAX_WAITING=0,
        SIMHASH_PAGE_TIMEOUT=2,
        CONCURRENT_REQUESTS=8,
    )
    assert result.seen() == {"/", *paths}
    assert result.simhash_stats()["skipped/workers_busy"] >= 1
    assert "Page passed unjudged (workers_busy)" in result.log


@pytest.mark.parametrize("action", ["raise", "number", "exit"])
def test_failing_extraction_is_a_reason(rude: Rude, action: str) -> None:
    for workers in (rude.workers, InProcess(RUDE)):
        assert rude.run(outcomes(workers, action, "a")) == ["extraction_failed", "analysed"]


def test_idle_workers_that_die_are_replaced(patient: Rude) -> None:
    before = children(os.getpid())
    assert patient.outcomes("a", "b") == ["analysed", "analysed"]
    for _ in range(2):
        kill_workers(before)
        assert patient.outcomes("a", "b") == ["analysed"] * 2


def test_workers_killed_in_the_middle_cost_no_page(patient: Rude) -> None:
    before = children(os.getpid())

    async def kill_in_the_middle() -> list[PageAnalysis]:
        urls = [f"http://site.example/{i}" for i in range(40)]
        pages = [asyncio.create_task(patient.workers.analyse(PAGE, "utf-8", u)) for u in urls]
        await asyncio.wait(pages, return_when=asyncio.FIRST_COMPLETED)
        kill_workers(before)
        assert not all(page.done() for page in pages)
        return list(await asyncio.gather(*pages))

    assert len(patient.run(kill_in_the_middle())) == 40


def test_cancelled_page_does_not_hold_up_the_next() -> None:
    async def cancel_in_the_middle(workers: WorkerProcesses) -> PageAnalysis:
        await workers.analyse(PAGE, "utf-8", "http://site.example/a")
        hanging = asyncio.create_task(workers.analyse(PAGE, "utf-8", "http://site.example/hang"))
        await asyncio.sleep(0)
        hanging.cancel()
        return await asyncio.wait_for(workers.analyse(PAGE, "utf-8", "http://site.example/b"), 60)

    with Rude(processes=1, timeout_seconds=600) as rude:
        assert rude.run(cancel_in_the_middle(rude.workers)).tokens > 100


def test_pages_go_to_the_worker_with_the_fewest_at_hand() -> None:
    async def beside_one_that_hangs(workers: WorkerProcesses) -> list[str]:
        hanging = asyncio.create_task(outcomes(workers, "hang"))
        await asyncio.sleep(0)
        found = [
            outcome
            for action in ("a", "b", "c")
            for outcome in await asyncio.wait_for(outcomes(workers, action), 60)
        ]
        hanging.cancel()
        return found

    with Rude(processes=2, timeout_seconds=600) as rude:
        assert rude.run(beside_one_that_hangs(rude.workers)) == ["analysed"] * 3


class Unsendable(str):
    """An object for which there is not enough memory to send it."""

    def __reduce__(self) -> str:
        raise MemoryError


def test_page_that_cannot_be_sent_costs_no_other_page() -> None:
    async def digests(workers: WorkerProcesses) -> list[bytes]:
        first, *later = [
            asyncio.create_task(workers.analyse(page, encoding, "http://site.example/"))
            for page, encoding in [(PAGE, Unsendable()), *((page, "utf-8") for page in pages)]
        ]
        with pytest.raises(MemoryError):
            await first
        return [(await page).digest for page in later]

    pages = [article(prose(word)).encode() for word in ("a", "b", "c")]
    with Rude(processes=1, timeout_seconds=60) as rude:
        assert rude.run(digests(rude.workers)) == [
            RUDE.analyse(page, "utf-8", "http://site.example/").digest for page in pages
        ]


LARGE_PAGE = PAGE + b" " * 1_000_000  # more than a pipe holds: pages behind it are not sent yet


def test_pages_that_wait_are_given_up_with_the_workers(rude: Rude) -> None:
    async def close_in_the_middle() -> list[str]:
        pages = asyncio.create_task(outcomes(rude.workers, *["hang"] * 6, page=LARGE_PAGE))
        await asyncio.sleep(0)
        await rude.workers.close()
        return await asyncio.wait_for(pages, timeout=60)

    assert rude.run(close_in_the_middle()) == ["worker_died"] * 6


def test_no_page_waits_for_ever_when_all_workers_are_killed(rude: Rude) -> None:
    before = children(os.getpid())

    async def kill_in_the_middle() -> list[str]:
        pages = asyncio.create_task(outcomes(rude.workers, *["a"] * 16, page=LARGE_PAGE))
        for _ in range(2):
            await asyncio.to_thread(wait_until, lambda: len(children(os.getpid()) - before) >= 2)
            kill_workers(before)
        return await asyncio.wait_for(pages, timeout=60)

    assert set(rude.run(kill_in_the_middle())) <= {"analysed", "worker_died"}
    assert rude.outcomes("a") == ["analysed"]


def test_close_leaves_no_process_and_no_file(rude: Rude) -> None:
    before = children(os.getpid()), set(Path("/proc/self/fd").iterdir())
    rude.outcomes("a", "b")
    assert children(os.getpid()) - before[0]
    rude.run(rude.workers.close())
    assert children(os.getpid()) <= before[0]
    assert set(Path("/proc/self/fd").iterdir()) <= before[1]


def test_hostile_pages_pass_through_a_crawl(site: Site, crawl: CrawlFixture) -> None:
    actions = ["raise", "die", "hang", "number", "fine"]
    site["/"] = article(prose("start"), [f"/{action}" for action in actions])
    for action in actions:
        site[f"/{action}"] = article(prose(action))
    result = crawl(
        SIMHASH_EXTRACTOR="tests.extractors.rude_text",
        SIMHASH_WORKERS=2,
        SIMHASH_PAGE_TIMEOUT=1,
        CONCURRENT_REQUESTS=8,
    )
    assert result.returncode == 0
    assert result.seen() == {"/", *(f"/{action}" for action in actions)}
    reasons = {d["url"].rpartition("/")[2]: d["reason"] for d in result.decisions}
    assert reasons == {
        "": "new_text",
        "raise": "extraction_failed",
        "die": "worker_died",
        "hang": "timed_out",
        "number": "extraction_failed",
        "fine": "new_text",
    }
    assert "Page passed unjudged (timed_out)" in result.log


def test_workers_do_not_run_the_crawl_s_script_again(site: Site, tmp_path: Path) -> None:
    site["/"] = article(prose("start"))
    job = crawl_job(site, tmp_path, SIMHASH_WORKERS=2)
    done = subprocess.run(job, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert crawl_result(done.returncode, done.stderr, tmp_path).verdicts() == {"/": "unique"}
    assert (tmp_path / "started").read_text() == "x"


def test_a_function_runs_in_a_worker_within_the_time_limit_of_a_page() -> None:
    with Rude(processes=1, timeout_seconds=0.5) as rude:
        assert rude.run(rude.workers.run(os.getpid)) in children(os.getpid())
        with pytest.raises(AnalysisError, match="ValueError: invalid literal") as refused:
            rude.run(rude.workers.run(int, "no number"))
        assert refused.value.reason == "extraction_failed"
        with pytest.raises(AnalysisError) as late:
            rude.run(rude.workers.run(time.sleep, 600))
        assert late.value.reason == "timed_out"
