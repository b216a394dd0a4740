"""Of thousands of variants of one text, is a copy of each found?

    python benchmarks/bench_variants.py [--pages 20000] [--json]

Pages of a shop that say the same and differ in a name, a number and a price, as attributes, are
judged by an index of each kind, then each once more at another address, both in random order.
Prints, for each: variants that were kept, copies that were dropped, how many of these for the page
that they are a copy of, and the time of a page on the event loop, in ms.

Leaves out: the analysis of pages, Scrapy, the network, and an index in Redis.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from scrapy_simhash.index.base import Index
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from scrapy_simhash.pipeline import Fetched, Pipeline
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.workers.pool import InProcess

TEXT = " ".join(f"{word}{number}" for number in range(30) for word in ("made", "by", "hand", "of"))
HTML = """<html><head><title>Shop</title></head><body><nav><a href="/">Home</a></nav><main>
<h1>Bench</h1><p>{text}</p><form class="buy" data-name="{name}" data-number="{number}"
data-price="{price}"><button>Buy</button></form></main></body></html>"""


async def judged(index: Index, pipeline: Pipeline, pages: int) -> dict[str, Any]:
    """Judge all variants, then a copy of each; return the row of an index."""
    rng = random.Random(1)
    order = [*range(pages)]
    workers = InProcess(pipeline.analyser)
    kept = dropped = right = 0
    seconds = 0.0
    for place in ("item", "copy"):
        rng.shuffle(order)
        for number in order:
            url = f"http://shop.example/{place}/{number}"
            html = HTML.format(
                text=TEXT, name=f"M{number * 7919 % 99991}", number=number, price=number % 500
            ).encode()
            fetched = Fetched(url, html, "utf-8", hashlib.sha1(url.encode()).digest())
            page, _ = await pipeline.page(fetched, workers, index.learned, "x")
            started = time.perf_counter()
            decision = await index.add(page)
            seconds += time.perf_counter() - started
            await index.learn(page, decision)
            if place == "item":
                kept += not decision.is_duplicate
            elif decision.is_duplicate:
                dropped += 1
                right += decision.representative == f"http://shop.example/item/{number}"
    return {
        "index": type(index).__name__,
        "pages": pages,
        "kept": kept,
        "copies_dropped": dropped,
        "of_the_right_page": right,
        "index_ms": 1e3 * seconds / (2 * pages),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    pipeline = Pipeline.of(SimhashSettings.read({"SIMHASH_TAKES": "items", "SIMHASH_WORKERS": 0}))
    rows = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        indexes = (
            SQLiteIndex("memory:", pipeline.parameters),
            SQLiteIndex(folder / "i", pipeline.parameters),
        )
        for index in indexes:
            rows.append(asyncio.run(judged(index, pipeline, args.pages)))
            asyncio.run(index.close())
    if args.json:
        print(json.dumps(rows))
        return
    print(f"{'index':12} {'pages':>7} {'kept':>7} {'dropped':>8} {'right':>7} {'ms':>6}")
    for row in rows:
        print(
            f"{row['index']:12} {row['pages']:7,} {row['kept']:7,} {row['copies_dropped']:8,} "
            f"{row['of_the_right_page']:7,} {row['index_ms']:6.2f}"
        )


if __name__ == "__main__":
    main()
