"""One crawl that measures itself; bench_crawl.py and soak_crawl.py run it in a fresh process.

    python benchmarks/measured_crawl.py JOB.json

JOB.json holds ``urls``, ``settings``, ``warm_up`` (the number of pages before the time and the CPU
are counted) and ``tick`` (whether to tick, which itself takes up to 0.4 ms of CPU a page).
Prints one JSON object.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from scrapy import Request, Spider, signals
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor

if TYPE_CHECKING:
    from typing_extensions import Self

TICK_SECONDS = 0.01
MEGABYTE = 1 << 20


class Given(Spider):
    """Get the given pages, and do with each what a usual spider does, but follow no link.

    All requests come from the first page: then the scheduler is as full as in a crawl that follows
    links.  Scrapy takes the requests of :meth:`start` one by one, so a crawl with only such
    requests has two or three of them under way.
    """

    name = "given"
    links = LinkExtractor()

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.urls = urls

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self.urls[0], self.parse_first)

    def parse_first(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        yield from self.parse(response)
        yield from map(Request, reversed(self.urls[1:]))  # the last one is taken first

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        if isinstance(response, HtmlResponse):
            title = (response.css("title::text").get() or "").strip()
            yield {"title": title, "links": len(self.links.extract_links(response))}


@dataclass(frozen=True)
class Reading:
    """The readings of the clocks, in seconds."""

    at: float
    own_cpu: float
    worker_cpu: float

    @classmethod
    def now(cls) -> Reading:
        own = resource.getrusage(resource.RUSAGE_SELF)
        gone = resource.getrusage(resource.RUSAGE_CHILDREN)
        worker_cpu = gone.ru_utime + gone.ru_stime
        for worker in psutil.Process().children(recursive=True):
            try:
                times = worker.cpu_times()
            except psutil.NoSuchProcess:
                continue
            worker_cpu += times.user + times.system
        return cls(time.perf_counter(), own.ru_utime + own.ru_stime, worker_cpu)


class Meter:
    """Reads the clocks after the warm-up and at the end, and measures the delay of a 10 ms tick.

    From time to time, Python's garbage collector stops everything for 50 to 100 ms, for objects of
    any origin.  So the delay is given with the collector's time and without it.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.warm_up = crawler.settings.getint("METER_WARM_UP")
        self.ticks = crawler.settings.getbool("METER_TICK")
        self.memory_every = crawler.settings.getint("METER_MEMORY_EVERY")
        self.pages = 0
        self.late: list[float] = []
        self.late_by_itself: list[float] = []
        self.collecting = 0.0
        self.memory: list[dict[str, float]] = []
        self.opened = 0.0
        self.first_page_after = 0.0
        self.begin: Reading | None = None
        self.end: Reading | None = None
        self._collection_began = 0.0
        self._ticking: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        meter = cls(crawler)
        crawler.signals.connect(meter.spider_opened, signals.spider_opened)
        crawler.signals.connect(meter.response_downloaded, signals.response_downloaded)
        crawler.signals.connect(meter.spider_idle, signals.spider_idle)
        global last_meter
        last_meter = meter
        return meter

    def spider_opened(self) -> None:
        self.opened = time.perf_counter()

    def response_downloaded(self) -> None:
        self.pages += 1
        if self.pages == 1:
            self.first_page_after = time.perf_counter() - self.opened
        if self.pages == 2 and self.ticks:  # the first page yields all the requests
            gc.callbacks.append(self._collection)
            self._ticking = asyncio.get_running_loop().create_task(self._tick())
        if self.pages == self.warm_up:
            self.begin = Reading.now()
        if self.memory_every and self.pages % self.memory_every == 0:
            self.memory.append({"pages": self.pages, **memory()})

    def spider_idle(self) -> None:
        self.end = Reading.now()
        self.memory.append({"pages": self.pages, **memory()})
        if self._ticking is not None:
            self._ticking.cancel()

    def _collection(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._collection_began = time.perf_counter()
        else:
            self.collecting += time.perf_counter() - self._collection_began

    async def _tick(self) -> None:
        while True:
            due, collecting = time.perf_counter() + TICK_SECONDS, self.collecting
            await asyncio.sleep(TICK_SECONDS)
            self.late.append(time.perf_counter() - due)
            self.late_by_itself.append(max(0.0, self.late[-1] + collecting - self.collecting))

    def result(self) -> dict[str, Any]:
        """Return what was measured after the warm-up.

        :raises SystemExit: there is nothing after the warm-up.
        """
        pages = self.pages - self.warm_up
        if self.begin is None or self.end is None or pages <= 0:
            sys.exit(
                f"measured_crawl.py: pages must be more than warm_up: got pages={self.pages}, "
                f"warm_up={self.warm_up}; if more were given, the first page has failed, which "
                "yields all others"
            )
        late = sorted(self.late) or [0.0]
        by_itself = sorted(self.late_by_itself) or [0.0]
        return {
            "pages_per_second": pages / (self.end.at - self.begin.at),
            "crawler_cpu_ms": 1000 * (self.end.own_cpu - self.begin.own_cpu) / pages,
            "worker_cpu_ms": 1000 * (self.end.worker_cpu - self.begin.worker_cpu) / pages,
            "worst_stall_ms": 1000 * late[-1],
            "p99_stall_ms": 1000 * late[int(0.99 * len(late))],
            "worst_stall_without_gc_ms": 1000 * by_itself[-1],
            "p99_stall_without_gc_ms": 1000 * by_itself[int(0.99 * len(late))],
            "first_page_seconds": self.first_page_after,
            "crawler_mb": self.memory[-1]["crawler_mb"],
            "workers_mb": self.memory[-1]["workers_mb"],
            "memory": self.memory,
        }


last_meter: Meter


def memory() -> dict[str, float]:
    """Return the resident memory of this process, and of its child processes."""
    workers = 0
    for worker in psutil.Process().children(recursive=True):
        try:
            workers += worker.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return {
        "crawler_mb": psutil.Process().memory_info().rss / MEGABYTE,
        "workers_mb": workers / MEGABYTE,
    }


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    settings = {
        "EXTENSIONS": {Meter: 0},
        "METER_WARM_UP": job["warm_up"],
        "METER_TICK": job["tick"],
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "LOG_LEVEL": "ERROR",
        **job["settings"],
    }
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(Given)
    process.crawl(crawler, urls=job["urls"])
    process.start()
    assert crawler.stats is not None
    stats = {k: v for k, v in crawler.stats.get_stats().items() if isinstance(v, (int, float))}
    print(json.dumps({**last_meter.result(), "stats": stats}))


if __name__ == "__main__":
    main()
