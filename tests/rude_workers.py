"""Workers whose extractor does as the URL of a page says, and what the tests see of them."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import psutil

from scrapy_simhash.analysis.analyser import Analyser
from scrapy_simhash.errors import AnalysisError
from scrapy_simhash.workers.pool import WorkerProcesses, Workers

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")

# Workers that import little start soon.
RUDE = Analyser.create(extractor="tests.extractors.rude_text")
PAGE = " ".join(f"word{i}" for i in range(200)).encode()


class Rude:
    """Workers with a rude extractor, on an event loop of their own."""

    def __init__(self, processes: int, timeout_seconds: float, max_waiting: int | None = None):
        self.loop = asyncio.new_event_loop()
        self.workers = WorkerProcesses(RUDE, processes, timeout_seconds, max_waiting)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self.workers.close())
        self.loop.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(coroutine)

    def outcomes(self, *actions: str, page: bytes = PAGE) -> list[str]:
        """What becomes of pages that are given to the workers at once."""
        return self.run(outcomes(self.workers, *actions, page=page))


async def outcomes(workers: Workers, *actions: str, page: bytes = PAGE) -> list[str]:
    async def one(action: str) -> str:
        try:
            analysis = await workers.analyse(page, "utf-8", f"http://site.example/{action}")
        except AnalysisError as exc:
            return exc.reason
        assert analysis.tokens > 100
        return "analysed"

    return list(await asyncio.gather(*map(one, actions)))


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def children(of: int) -> set[int]:
    """The processes below one, none where it is gone."""
    try:
        return {child.pid for child in psutil.Process(of).children()}
    except psutil.NoSuchProcess:
        return set()


def kill_workers(spare: set[int]) -> None:
    for worker in children(os.getpid()) - spare:
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
