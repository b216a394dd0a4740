"""The processes of workers: how they start and end, and what an extractor does in them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scrapy_simhash.analysis.analyser import Analyser
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.workers.child import MEASURED_PAGES
from scrapy_simhash.workers.pool import InProcess, WorkerProcesses, _DiedError, _Process
from tests.conftest import article, prose
from tests.rude_workers import PAGE, RUDE, Rude, children, outcomes, wait_until

FOLDER = Path(__file__).parents[2]
GROWS = Analyser.create(extractor="tests.extractors.growing_text", verify=False)


@pytest.mark.parametrize("action", ["fork", "read"])
def test_what_an_extractor_runs_takes_no_part(action: str) -> None:
    """Neither answers in its worker's stead nor reads what the worker is asked."""

    async def digests(workers: WorkerProcesses) -> list[bytes]:
        analyses = (workers.analyse(page, "utf-8", url) for url, page in pages)
        return [analysis.digest for analysis in await asyncio.gather(*analyses)]

    pages = [
        (f"http://site.example/{path}", article(prose(path)).encode())
        for path in ("a", action, "b", "c", "d")
    ]
    with Rude(processes=1, timeout_seconds=60) as rude:
        assert rude.run(digests(rude.workers)) == [
            RUDE.analyse(page, "utf-8", "http://site.example/").digest for _, page in pages
        ]


def test_what_an_extractor_forks_analyses_no_page() -> None:
    async def tokens() -> set[int]:
        workers = WorkerProcesses(GROWS, processes=1, timeout_seconds=60)
        urls = ["http://site.example/fork", *(f"http://site.example/{i}" for i in range(30))]
        analyses = await asyncio.gather(*(workers.analyse(PAGE, "utf-8", url) for url in urls))
        await workers.close()
        return {analysis.tokens for analysis in analyses}

    assert len(asyncio.run(tokens())) == 1


PRINTER = """
import asyncio
from tests.rude_workers import Rude
with Rude(processes=1, timeout_seconds=60) as rude:
    print(rude.outcomes("print"))
"""


def test_what_an_extractor_prints_is_no_output_of_the_crawl() -> None:
    done = subprocess.run([sys.executable, "-c", PRINTER], cwd=FOLDER, capture_output=True)
    assert done.stdout == b"['analysed']\n"
    assert done.stderr == b"said by an extractor\n"


def test_what_an_extractor_runs_ends_with_its_worker() -> None:
    async def time_out(rude: Rude) -> list[int]:
        waiting = asyncio.create_task(outcomes(rude.workers, "wait"))
        await asyncio.to_thread(wait_until, lambda: bool(grandchildren()))
        found = grandchildren()
        assert await waiting == ["timed_out"]
        return found

    def grandchildren() -> list[int]:
        return [pid for child in children(os.getpid()) - before for pid in children(child)]

    before = children(os.getpid())
    with Rude(processes=1, timeout_seconds=1) as rude:
        assert rude.outcomes("a") == ["analysed"]
        found = rude.run(time_out(rude))
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in found))


def test_worker_that_cannot_start_leaves_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with Rude(processes=2, timeout_seconds=60) as rude:
        rude.run(asyncio.sleep(0))
        before = set(Path("/proc/self/fd").iterdir())
        assert rude.outcomes("a", "b", "c") == ["worker_died"] * 3
        assert set(Path("/proc/self/fd").iterdir()) <= before


CRAWLER = """
import asyncio, signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where CI systems start tests
from tests.rude_workers import PAGE, Analyser, WorkerProcesses
analyser = Analyser.create(extractor="tests.workers.hasty.text")
workers = WorkerProcesses(analyser, processes=2, timeout_seconds=2)

async def main():
    await workers.analyse(PAGE, 'utf-8', '')
    hanging = [asyncio.create_task(workers.analyse(PAGE, 'utf-8', '/hang')) for _ in range(4)]
    await asyncio.sleep(0.2)
    print('ready', flush=True)
    await asyncio.gather(*hanging, return_exceptions=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_killed_crawler_leaves_no_worker(how: signal.Signals) -> None:
    """Not even those that hang over a page: nobody is left to stop them."""
    with subprocess.Popen(
        [sys.executable, "-c", CRAWLER],
        cwd=FOLDER,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as crawler:
        assert crawler.stdout is not None
        assert crawler.stdout.readline() == b"ready\n"
        orphans = children(crawler.pid)
        assert len(orphans) >= 2
        crawler.send_signal(how)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in orphans))


def test_worker_with_a_hanging_thread_ends_without_its_crawler() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CRAWLER.replace("''", "'/thread'").replace("/hang", "/a")],
        cwd=FOLDER,
        stdout=subprocess.PIPE,
    ) as crawler:
        assert crawler.stdout is not None
        assert crawler.stdout.readline() == b"ready\n"
        orphans = children(crawler.pid)
        crawler.kill()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in orphans))


@pytest.mark.parametrize("turns", range(4))
def test_crawl_that_breaks_off_while_workers_start_ends(turns: int) -> None:
    code = f"""
import asyncio
from tests.rude_workers import RUDE, WorkerProcesses

async def main():
    WorkerProcesses(RUDE, processes=2, timeout_seconds=600).start()
    for _ in range({turns}):
        await asyncio.sleep(0)

asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", code], cwd=FOLDER, timeout=60, check=True)


def test_worker_starts_whatever_else_is_in_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts put a Path there, which Python passes over."""
    monkeypatch.setattr("sys.path", [Path(), *sys.path])
    with Rude(processes=1, timeout_seconds=60) as rude:
        assert rude.outcomes("a") == ["analysed"]


def test_worker_that_grew_too_far_is_replaced() -> None:
    workers = WorkerProcesses(GROWS, processes=1, timeout_seconds=20)

    async def workers_of(*urls: str) -> list[int]:
        try:
            return [(await workers.analyse(PAGE, "utf-8", url)).tokens for url in urls]
        finally:
            await workers.close()

    before = ["a", "grow", *map(str, range(MEASURED_PAGES - 2))]
    *measured, after = asyncio.run(workers_of(*before, "b"))
    assert len(set(measured)) == 1
    assert after not in measured


LIAR = """
import os, pickle
from scrapy_simhash.workers.child import LENGTH, Reply
asked = os.fdopen(os.dup(0), 'rb')
questions = [pickle.load(asked) for _ in range(2)]
for number, question in [(99, 'nobody'), *reversed(questions), *questions]:
    reply = pickle.dumps(Reply(number, question))
    os.write(0, LENGTH.pack(len(reply)) + reply)
asked.read()
"""


def test_answer_goes_to_the_page_with_its_number() -> None:
    """Whatever else a worker says, and in whatever order."""

    async def ask() -> tuple[str, str]:
        process = _Process([sys.executable, "-c", LIAR])
        await process.connect()
        one, two = process.ask("one", 60), process.ask("two", 60)
        answers = await one, await two
        process.stop("enough")
        await process.ended
        return answers

    assert asyncio.run(ask()) == ("one", "two")


ANSWERS_AND_GOES = """
import os, pickle, sys
from scrapy_simhash.workers.child import LENGTH, Reply
number, question = pickle.load(os.fdopen(os.dup(0), "rb"))
reply = pickle.dumps(Reply(number, question))
os.write(0, LENGTH.pack(len(reply)) + reply)
"""


def test_answer_of_a_process_that_has_gone_since_is_heard() -> None:
    """To ask it once more fails, before anybody has read what it said."""

    async def ask() -> str:
        process = _Process([sys.executable, "-c", ANSWERS_AND_GOES])
        await process.connect()
        one = process.ask("one", 60)
        process._popen.wait()
        two = process.ask("two", 60)
        with pytest.raises(_DiedError):
            await two
        await process.ended
        answer: str = await one
        return answer

    assert asyncio.run(ask()) == "one"


def test_process_that_has_gone_already_can_be_stopped() -> None:
    async def stop() -> None:
        process = _Process([sys.executable, "-c", ""])
        await process.connect()
        process._popen.wait()
        process.stop("enough")
        await process.ended

    asyncio.run(stop())


def test_a_frozen_application_starts_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its executable runs the application, whatever the arguments are."""
    pipeline = Pipeline.of(SimhashSettings(workers=1))
    assert isinstance(pipeline.workers()._workers, WorkerProcesses)  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert isinstance(pipeline.workers()._workers, InProcess)  # type: ignore[attr-defined]


DAEMON = """
import asyncio, os, sys
from scrapy_simhash.analysis.analyser import Analyser
from scrapy_simhash.workers.pool import WorkerProcesses

async def tokens():
    workers = WorkerProcesses(Analyser.create("text"), processes=1, timeout_seconds=60)
    workers.start()
    page = b"<html><body><p>" + 20 * b"A page of a daemon. "
    found = await workers.analyse(page, "utf-8", "http://a.example/")
    await workers.close()
    return found.tokens

for number in (0, 1, 2):
    os.close(number)
with open(sys.argv[1], "w") as file:
    file.write(str(asyncio.run(tokens())))
"""


def test_a_daemon_without_standard_streams_has_workers(tmp_path: Path) -> None:
    told = tmp_path / "tokens"
    subprocess.run([sys.executable, "-c", DAEMON, told], check=True, timeout=60)
    assert told.read_text() == "100"
