"""How many pages a second does an index in Redis judge, with which latency, memory and losses?

    python benchmarks/bench_redis.py --json
    python benchmarks/bench_redis.py default --pages 100000

Starts its own servers on loopback.  The crawlers are processes that judge pages as the middleware
does, with 16 in flight each.  The pages have random fingerprints; those of a real site have more
candidates.  Server and crawlers share the machine, and its load is printed.  The parts ``default``
and ``cluster`` judge as by default, with sketches of 542 bytes; all others by the paper's rule
within 3 bits.  In a cluster of three shards there are 2,000 sites, each a scope.  Leaves out: the
analysis of pages, and Scrapy.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.decision.page import Page
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.base import Counts
from scrapy_simhash.index.redis.index import RedisIndex
from tests.proxy import Proxy
from tests.redis_servers import RedisServer, started_cluster

IN_FLIGHT = 16
PLAIN = Parameters("bench", distance=3)
VERIFIED = Parameters("bench", distance=7, share=0.9)
SITES = 2_000
BY_SITE = replace(VERIFIED, scope="site")
# The sketches are random: no two pages have similar content.
SKETCH_BYTES = 500


def page(i: int, parameters: Parameters = PLAIN, near: int = 0) -> Page:
    """Page i, with random bits far from all others; *near* is a mask of the bits to change."""
    bits = blake2b(i.to_bytes(8, "big"), digest_size=64).digest()
    request = blake2b(bits + near.to_bytes(8, "big"), digest_size=20).digest()
    found = Page(
        url=f"http://site.example/{'section/' * (bits[0] % 6)}article-{i}-{near}.html",
        request_fingerprint=request,
        scope=f"site{i % SITES}.example" if parameters.scope == "site" else "",
        fingerprint=int.from_bytes(bits[:8], "big") ^ near,
        digest=blake2b(request, digest_size=16).digest(),
        tokens=500,
        judged_at=1.7e9 + i,
        crawl=1,
    )
    if not parameters.share:
        return found
    drawn = random.Random(i).randbytes(46 + 3 * 0xA4)
    sketch = b"\0" + drawn[:46] + bytes((1, 0, 0xA4)) + drawn[46:]
    return replace(found, content_fingerprint=int.from_bytes(bits[8:16], "big"), sketch=sketch)


@dataclass
class Told:
    """The results that a crawler sends at its end."""

    verdicts: Counter[str]
    began: float
    ended: float
    processor_seconds: float
    seconds: list[float]


async def judge(index: RedisIndex, pages: Iterable[Page], every: float = 0.0) -> Told:
    """Judge pages, 16 in flight; or one each *every* seconds, timed from when it is due."""
    told = Told(Counter(), time.perf_counter(), 0.0, time.process_time(), [])
    supply = iter(pages)

    async def crawl(due: float | None = None) -> None:
        for one in supply:
            began = time.perf_counter() if due is None else due
            try:
                verdict: str = (await index.check_and_add(one)).verdict
            except IndexUnavailableError:
                verdict = "unjudged"
            told.verdicts[verdict] += 1
            told.seconds.append(time.perf_counter() - began)
            if due is not None:
                return

    if every:
        due, under_way = time.perf_counter(), set()
        for one in list(pages):
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            supply = iter([one])
            under_way.add(asyncio.ensure_future(crawl(due)))
            await asyncio.sleep(0)
            due += every
        await asyncio.gather(*under_way)
    else:
        await asyncio.gather(*(crawl() for _ in range(IN_FLIGHT)))
    told.ended = time.perf_counter()
    told.processor_seconds = time.process_time() - told.processor_seconds
    return told


def crawler(
    url: str,
    parameters: Parameters,
    numbers: Any,
    near: int,
    every: float,
    planned: int,
    start: Any,
    to: Any,
) -> None:
    async def crawl() -> Told:
        async with RedisIndex(f"{url}?pages={planned}", parameters) as index:
            start.wait()
            return await judge(index, (page(i, parameters, near) for i in numbers), every)

    to.put(asyncio.run(crawl()))


def crawl(
    url: str,
    parameters: Parameters,
    work: list[Any],
    near: Callable[[int], int] = lambda process: 0,
    every: float = 0.0,
    planned: int = 1_000_000,
) -> list[Told]:
    """Return the results of processes; each judges the pages of its numbers in *work*."""
    spawn = multiprocessing.get_context("spawn")
    start, to = spawn.Barrier(len(work)), spawn.Queue()
    children = [
        spawn.Process(
            target=crawler,
            args=(url, parameters, numbers, near(n), every, planned, start, to),
        )
        for n, numbers in enumerate(work)
    ]
    for child in children:
        child.start()
    told = [to.get() for _ in children]
    for child in children:
        child.join()
    return told


def shares(first: int, count: int, processes: int) -> list[range]:
    return [range(first + n, first + count, processes) for n in range(processes)]


def summary(told: list[Told]) -> dict[str, Any]:
    seconds = sorted(one for crawler in told for one in crawler.seconds)
    wall = max(one.ended for one in told) - min(one.began for one in told)
    return {
        "calls": len(seconds),
        "per_second": len(seconds) / wall,
        "client_us_of_processor": 1e6 * sum(one.processor_seconds for one in told) / len(seconds),
        **{
            f"{name}_ms": 1000 * seconds[min(int(part * len(seconds)), len(seconds) - 1)]
            for name, part in [("p50", 0.5), ("p99", 0.99), ("worst", 1.0)]
        },
        "verdicts": dict(sum((one.verdicts for one in told), Counter())),
        "load": os.getloadavg()[0],
    }


@contextmanager
def server(*options: str) -> Iterator[RedisServer]:
    with tempfile.TemporaryDirectory() as folder, RedisServer(Path(folder), *options) as started:
        yield started


def server_microseconds(own: RedisServer, measure: Callable[[], list[Told]]) -> dict[str, Any]:
    """Return a measurement, with the time that a call took on the server."""
    with own.client() as client:
        client.config_resetstat()
        before = own.processor_seconds()
        found = summary(measure())
        stats: Any = client.info("commandstats")
    found["server_us"] = stats["cmdstat_evalsha"]["usec_per_call"]
    found["server_us_of_processor"] = 1e6 * (own.processor_seconds() - before) / found["calls"]
    return found


def throughput_growth_memory(pages: int, parameters: Parameters) -> dict[str, Any]:
    """Store pages, and measure at several sizes: 8 crawlers, then 1,000 calls a second."""
    measured = [10_000, pages // 10, pages // 2, pages, 2 * pages]
    size = 20_000
    found: dict[str, Any] = {"growth": {}}
    with server() as own, own.client() as client:
        empty = client.info("memory")["used_memory"]
        at = 0
        for stored in sorted(set(measured)):
            if stored > at:
                crawl(own.url, parameters, shares(at, stored - at, 2), planned=pages)
                at = stored
            if stored == pages:
                used = client.info("memory")["used_memory"] - empty
                found["memory"] = memory(used, pages, parameters)
            again = partial_checks(own, parameters, at, size)
            found["growth"][stored] = again
            at += size
            if stored == pages:
                found["throughput"] = again
                slow = [range(at, at + 5_000), range(at + 5_000, at + 10_000)]
                found["latency"] = summary(crawl(own.url, parameters, slow, every=0.002))
                at += 10_000
    return found


def sharded(pages: int) -> dict[str, Any]:
    """Store pages of many sites in a cluster of three shards."""
    with tempfile.TemporaryDirectory() as folder, started_cluster(Path(folder)) as shards:
        hosts = ",".join(f"127.0.0.1:{shard.port}" for shard in shards)
        # An index for a site of the mean size.
        url = f"redis+cluster://{hosts}"
        found = summary(crawl(url, BY_SITE, shares(0, pages, 8), planned=pages // SITES))
        found["pages_of_shards"] = []
        for shard in shards:
            with shard.client() as client:
                keys = client.scan_iter("simhash:1:*:pages", count=1000)
                found["pages_of_shards"].append(sum(client.hlen(key) for key in keys))
        return found


def partial_checks(own: RedisServer, parameters: Parameters, at: int, size: int) -> dict[str, Any]:
    return server_microseconds(own, lambda: crawl(own.url, parameters, shares(at, size, 8)))


def memory(used: int, pages: int, parameters: Parameters) -> dict[str, float]:
    some = [page(i, parameters) for i in range(0, pages, max(1, pages // 1000))]
    own = sum(len(one.url) + len(one.sketch or b"") for one in some) / len(some)
    return {"bytes_a_page": used / pages, "beside_url_and_sketch": used / pages - own}


def atomicity(pairs: int, processes: int = 16) -> dict[str, Any]:
    """Let all processes judge the same pages, each its own near copy: one of each must be kept."""
    with server() as own:
        told = crawl(own.url, PLAIN, [range(pairs)] * processes, near=lambda n: 1 << n if n else 0)
        counts = asyncio.run(counted(RedisIndex(f"{own.url}?pages={pairs}", PLAIN)))
    return {**summary(told), "pages": pairs, "kept": counts.kept, "stored": counts.pages}


async def counted(index: RedisIndex) -> Counts:
    async with index:
        return await index.counts()


def restarts(fsync: str, times: int = 20, pages: int = 40_000) -> dict[str, Any]:
    """Kill and restart the server while pages are judged; count the stored pages that it lost."""
    with server("--appendonly", "yes", "--appendfsync", fsync) as own:
        taken: set[int] = set()
        index = RedisIndex(f"{own.url}?pages={pages}", PLAIN)

        async def crawl_on() -> tuple[Counter[str], set[int]]:
            verdicts: Counter[str] = Counter()
            supply = iter(range(pages))
            async with index:

                async def one_after_the_other() -> None:
                    for i in supply:
                        try:
                            verdict: str = (await index.check_and_add(page(i))).verdict
                            taken.add(i)
                        except IndexUnavailableError:
                            verdict = "unjudged"
                            await asyncio.sleep(0.02)
                        verdicts[verdict] += 1

                await asyncio.gather(*(one_after_the_other() for _ in range(IN_FLIGHT)))
                stop.set()
                await asyncio.to_thread(killer.join)
                return verdicts, {int(row.page.url.split("-")[1]) async for row in index.rows()}

        stop = threading.Event()
        done = [0]

        def kill() -> None:
            while done[0] < times and not stop.wait(random.Random(done[0]).uniform(0.05, 0.3)):
                own.kill()
                own.start()
                done[0] += 1

        killer = threading.Thread(target=kill)
        killer.start()
        verdicts, there = asyncio.run(crawl_on())
    return {
        "restarts": done[0],
        "verdicts": dict(verdicts),
        "acknowledged": len(taken),
        "lost": len(taken - there),
        "losses_noticed": index.losses,
    }


def network(cut_seconds: float = 30.0) -> dict[str, Any]:
    """Measure a cut, half a second of latency, and connections that break all the time."""
    found = {}
    with server() as own:
        for name in ("cut", "latency", "storm"):
            with Proxy(own.port) as proxy:
                url = f"redis://127.0.0.1:{proxy.port}?prefix={name}"
                ended = threading.Event()

                def disturb(
                    name: str = name, proxy: Proxy = proxy, ended: threading.Event = ended
                ) -> None:
                    if name == "latency":
                        proxy.delay = 0.5
                    elif name == "cut":
                        time.sleep(1)
                        proxy.cut()
                        time.sleep(cut_seconds)
                        proxy.mend()
                    else:
                        while not ended.wait(0.05):
                            proxy.cut()
                            proxy.mend()

                pages = {"latency": 200, "cut": int(200 * (cut_seconds + 5)), "storm": 2_000}[name]
                every = {"latency": 0.02, "cut": 0.005, "storm": 0.005}[name]
                disturbing = threading.Thread(target=disturb)
                index = RedisIndex(f"{url}?pages={pages}", PLAIN)

                async def disturbed(
                    index: RedisIndex = index,
                    pages: int = pages,
                    every: float = every,
                    proxy: Proxy = proxy,
                    ended: threading.Event = ended,
                    disturbing: threading.Thread = disturbing,
                ) -> tuple[Told, int]:
                    async with index:
                        disturbing.start()
                        told = await judge(index, [page(i) for i in range(pages)], every)
                        ended.set()
                        await asyncio.to_thread(disturbing.join)
                        proxy.delay = 0.0
                        while True:
                            try:
                                return told, (await index.counts()).pages
                            except IndexUnavailableError:
                                await asyncio.sleep(0.1)

                told, stored = asyncio.run(disturbed())
                found[name] = {**summary([told]), "pages": pages, "stored": stored}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("default", "plain", "cluster", "atomicity", "restarts", "network")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)}")
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    measures: dict[str, Callable[[], Any]] = {
        "default": lambda: throughput_growth_memory(args.pages, VERIFIED),
        "plain": lambda: throughput_growth_memory(args.pages, PLAIN),
        "cluster": lambda: sharded(args.pages),
        "atomicity": lambda: atomicity(args.pairs),
        "restarts": lambda: {fsync: restarts(fsync) for fsync in ("everysec", "always")},
        "network": network,
    }
    found = {part: measures[part]() for part in args.parts or parts}
    print(json.dumps(found, indent=None if args.json else 2))


if __name__ == "__main__":
    main()
