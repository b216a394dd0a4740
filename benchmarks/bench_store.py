"""What does a page cost in the index file: time on the reactor, disk, and memory?

Judges seeded pages with 80-byte URLs and sketches of realistic size.  Of five pages, four are
unique (uniform fingerprints), and one is a near-duplicate of an earlier page.  Every page is as in
a crawl (two views, 30 blocks, 10 of which the site repeats).  Prints pages a second, the time of
single calls (they block the reactor), bytes on disk without the sketch, the growth of memory and
the tables' part in it, and the time to open the file again.  Several processes write to one file.
On a machine with other load, the processor time tells what a call itself takes.
With --at-once, each process has so many pages judged at a time, and a call is that of all of them.

Leaves out: the analysis of pages, fingerprints that cluster, and recrawls.

    python benchmarks/bench_store.py [--pages 1000000] [--processes 1] [--at-once 1]
        [--file PATH] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import resource
import struct
import tempfile
import time
from array import array
from hashlib import blake2b
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.decision.page import Page
from scrapy_simhash.decision.sketch import sketch_of
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from scrapy_simhash.pipeline import VERIFIED_DISTANCE

PARAMETERS = Parameters("bench", distance=VERIFIED_DISTANCE, share=0.9)
SITES = 20
BLOCKS = 30
REPEATED_BLOCKS = 10
# Sketches of texts that have nothing in common.  Pages far apart may share a sketch: they are not
# candidates for each other.
POOL = 2_000


def sketches() -> list[bytes]:
    """Three in four are of long pages, as on documentation sites, the others of any length."""
    rng = random.Random(1)
    pool = []
    for i in range(POOL):
        shingles = 250 if i % 4 else rng.randint(5, 150)
        pool.append(sketch_of({rng.getrandbits(64): rng.getrandbits(5) for _ in range(shingles)}))
    return pool


class Pages:
    """Page number i, the same on every run."""

    def __init__(self) -> None:
        self._sketches = sketches()

    def __getitem__(self, i: int) -> Page:
        # Every fifth page is a copy of the page before it, with another URL and two other bits.
        origin, flipped = (i - 1, 0b101) if i % 5 == 4 else (i, 0)
        digest = blake2b(struct.pack(">Q", origin), digest_size=32).digest()
        main, content = struct.unpack_from(">QQ", digest, 16)
        site = f"site{origin % SITES}.example"
        blocks = range(origin * 1000, origin * 1000 + BLOCKS - REPEATED_BLOCKS)
        return Page(
            url=f"https://{site}/{i:0{80 - 9 - len(site)}}",
            request_fingerprint=blake2b(struct.pack(">Q", i), digest_size=20).digest(),
            scope="",
            fingerprint=main ^ flipped,
            digest=digest[:15] + bytes([flipped]),
            tokens=500,
            judged_at=1.8e9 + i,
            content_fingerprint=content ^ flipped,
            sketch=self._sketches[origin % POOL],
            site=site,
            blocks=(*range(REPEATED_BLOCKS), *blocks),
        )

    def sketch_bytes(self, count: int) -> int:
        lengths = [len(sketch) for sketch in self._sketches]
        return sum(lengths[(i - 1 if i % 5 == 4 else i) % POOL] for i in range(count))


def resident_bytes() -> int:
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * resource.getpagesize()


def judge(path: Path, pages: range, at_once: int, start: Barrier, results: Any) -> None:
    """Judge pages, *at_once* at a time, and report how long each time took."""
    results.put(asyncio.run(judged(path, pages, at_once, start)))


async def judged(path: Path, numbers: range, at_once: int, start: Barrier) -> tuple[Any, ...]:
    pages = Pages()
    seconds, processor_seconds = array("d"), array("d")
    async with SQLiteIndex(path, PARAMETERS) as index:
        start.wait()
        before, started = resident_bytes(), time.perf_counter()
        kept = 0
        for first in numbers[::at_once]:
            some = [pages[i] for i in range(first, min(first + at_once, numbers.stop))]
            called, worked = time.perf_counter(), time.thread_time()
            decisions = await asyncio.gather(*map(index.check_and_add, some))
            processor_seconds.append(time.thread_time() - worked)
            seconds.append(time.perf_counter() - called)
            kept += sum(decision.verdict == "unique" for decision in decisions)
        ended = time.perf_counter()
        grown = resident_bytes() - before - 2 * seconds.itemsize * len(seconds)
        tables = sum(one.nbytes for one in index._tables._views.values())
    taken = seconds.tobytes(), processor_seconds.tobytes()
    return kept, started, ended, grown, tables, *taken


def percentiles(seconds: array[float]) -> dict[str, float]:
    """The percentiles, in milliseconds."""
    ordered = sorted(seconds)
    return {
        name: 1000 * ordered[min(int(len(ordered) * part), len(ordered) - 1)]
        for name, part in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("worst", 1.0)]
    }


async def opened_again(path: Path) -> tuple[float, int]:
    """Return the seconds to open the file, and the number of kept pages in it."""
    started = time.perf_counter()
    async with SQLiteIndex(path, PARAMETERS) as index:
        return time.perf_counter() - started, (await index.counts()).kept


def measure(path: Path, pages: int, processes: int, at_once: int) -> dict[str, Any]:
    spawn = multiprocessing.get_context("spawn")
    start, results = spawn.Barrier(processes), spawn.Queue()
    share = pages // processes
    children = [
        spawn.Process(target=judge, args=(path, pages_of, at_once, start, results))
        for pages_of in (range(n * share, (n + 1) * share) for n in range(processes))
    ]
    for child in children:
        child.start()
    count = share * processes
    told = [results.get() for _ in children]
    for child in children:
        child.join()
    calls, worked = array("d"), array("d")
    for *_, taken, processor in told:
        calls.frombytes(taken)
        worked.frombytes(processor)
    wall = max(one[2] for one in told) - min(one[1] for one in told)
    disk = path.stat().st_size
    open_seconds, kept = asyncio.run(opened_again(path))
    return {
        "pages": count,
        "processes": processes,
        "at_once": at_once,
        "kept": kept,
        "pages_per_second": count / (sum(calls) if processes == 1 else wall),
        "pages_per_processor_second": count / sum(worked),
        "milliseconds": percentiles(calls),
        "of_processor": percentiles(worked),
        "calls_over_1_ms": sum(1 for one in calls if one > 0.001),
        "calls_over_10_ms": sum(1 for one in calls if one > 0.010),
        "disk_bytes_per_page": disk / count,
        "beside_its_sketch": (disk - Pages().sketch_bytes(count)) / count,
        "memory_bytes_per_page": max(one[3] for one in told) / count,
        "of_it_tables": max(one[4] for one in told) / count,
        "open_seconds": open_seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=1, help="as the replies of a worker come")
    parser.add_argument("--file", type=Path, help="where the index is made (and left)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path = args.file or Path(folder) / "pages.simhash"
        found = measure(path, args.pages, args.processes, args.at_once)
    if args.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        for key, number in value.items() if isinstance(value, dict) else [("", value)]:
            print(f"{name:>26} {key:6} {number:,.3f}".rstrip("0").rstrip("."))


if __name__ == "__main__":
    main()
