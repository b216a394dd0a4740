"""What does a page cost at worst if thousands of kept pages are like it?

    python benchmarks/bench_flood.py [--pages 10000] [--json]

Pages that are made to be like each other are stored in an index of each kind; then the processor
time of further ones is measured: of the event loop, and of the server if there is one.  The kinds:

- ``text``: one main text, other content (a note that an extractor takes for the text)
- ``content``: one content, other names (pages kept apart by an identifier)
- ``data``: one content, and 5,000 values of data of which one is other (listings)
- ``views``: other content, but both fingerprints within 7 bits (crafted)
- ``empty``: no main text, other content (galleries)
- ``group``: one page at many addresses, all but the first dropped
- ``bucket``: the paper's plain rule; one block of the fingerprints is the same (crafted)

The columns: processor time of the event loop, median and worst of 200 pages, and that of the server
(mean), in ms; and how many of the 200 were not compared with all that are like them.

Leaves out: the analysis of pages, Scrapy, the network.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))


from scrapy_simhash.decision.holdings import PageValues
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.decision.page import Page
from scrapy_simhash.decision.sketch import sketch_of
from scrapy_simhash.index.base import Index
from scrapy_simhash.index.redis.index import RedisIndex
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from tests.redis_servers import RedisServer

PLAIN = Parameters("bench", distance=3)
VERIFIED = Parameters("bench", distance=7, share=0.9)
KINDS = ("text", "content", "data", "views", "empty", "group", "bucket")
FURTHER = 200
# About as many as are stored one by one.
MOST_VALUES = 480
VALUES = [random.Random(value).getrandbits(64) for value in range(MOST_VALUES)]


def page(kind: str, number: int) -> Page:
    """Page *number* of a kind."""
    rng = random.Random(number)
    is_copy = kind == "group"
    content = random.Random(0) if is_copy or kind in ("content", "data") else rng
    sketch = sketch_of({content.getrandbits(64): content.getrandbits(4) for _ in range(600)})
    near = sum(1 << bit for bit in rng.sample(range(64), 3))
    is_near = kind in ("views", "content", "data", "group")
    own = [] if is_copy else [*(VALUES[1:] if kind == "data" else ()), number << 32 | 1]
    values = PageValues(own=array("Q", own), own_loose=array("Q", own))
    fingerprint = near if is_near else rng.getrandbits(64)
    if kind == "bucket":
        fingerprint >>= 16
    return Page(
        url=f"http://site.example/{kind}/{number}",
        request_fingerprint=rng.randbytes(20),
        scope="",
        fingerprint=0 if kind == "text" else fingerprint,
        digest=bytes(16) if kind in ("text", "empty", "group") else rng.randbytes(16),
        tokens=0 if kind == "empty" else 500,
        judged_at=1.7e9,
        crawl=1,
        content_fingerprint=near if is_near else rng.getrandbits(64),
        own_values=values.pack(),
        holds=values,
        sketch=None if kind == "bucket" else sketch,
        site="site.example",
    )


async def flood(index: Index, kind: str, pages: int, server: RedisServer | None) -> dict[str, Any]:
    async with index:
        store = index.check_and_add if kind == "group" else index.keep
        for number in range(pages):
            await store(page(kind, number))
        further = [page(kind, pages + number) for number in range(FURTHER)]
        crowded, times = 0, []
        gc.collect()
        gc.freeze()  # the pauses of the collector grow with the pages of an index in memory
        before = server.processor_seconds() if server else 0.0
        for one in further:
            began = time.process_time()
            decision = await index.check_and_add(one)
            times.append(1000 * (time.process_time() - began))
            crowded += decision.is_crowded
        return {
            "loop_ms_median": sorted(times)[FURTHER // 2],
            "loop_ms_worst": max(times),
            "server_ms": 1000 * (server.processor_seconds() - before) / FURTHER if server else 0.0,
            "crowded": crowded,
        }


def measure(kind: str, pages: int) -> Iterator[tuple[str, dict[str, Any]]]:
    parameters = PLAIN if kind == "bucket" else VERIFIED
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(RedisServer(folder))
        indexes: dict[str, tuple[Callable[[], Index], RedisServer | None]] = {
            "memory": (lambda: SQLiteIndex("memory:", parameters), None),
            "file": (lambda: SQLiteIndex(folder / "pages.simhash", parameters), None),
            "redis": (lambda: RedisIndex(f"{server.url}?pages={1_000_000}", parameters), server),
        }
        for name, (made, own) in indexes.items():
            yield name, asyncio.run(flood(made(), kind, pages, own))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    results = []
    for kind in args.kinds or KINDS:
        for name, found in measure(kind, args.pages):
            results.append({"kind": kind, "index": name, **found})
            if not args.json:
                figures = " | ".join(f"{value:.2f}" for value in found.values())
                print(f"| {kind} | {name} | {figures} |", flush=True)
    if args.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
