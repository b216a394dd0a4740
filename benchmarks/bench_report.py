"""What does the report cost: a page, a crawl of millions, a feed read back?

Made-up decisions of 300 sites: 60 % kept pages, a third of them with parameters, 35 % duplicates
(session ids, print views, other addresses), 5 % not judged.  Every kept page has a folder of its
own, which is more patterns than real sites have.  Leaves out: what the signal of a decision
costs Scrapy, writing the feed, and the memory of the bodies that are held to be compared (16 MB at
the most; here all are one).

    python benchmarks/bench_report.py [--pages 1000000] [--feed 1000000]
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import resource
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any

from scrapy_simhash.report.collector import Collector
from scrapy_simhash.report.document import CrawlInfo, report_of
from scrapy_simhash.report.html import html_of
from scrapy_simhash.report.pairs import Pairs
from scrapy_simhash.report.record import Record
from scrapy_simhash.report.savings import FeedRules

KEPT = 10_000
SITES = 300
TIMED = 20_000


def decisions(seed: int) -> Iterator[dict[str, Any]]:
    """Yield lines of the decisions feed, for ever."""
    chance = random.Random(seed)
    kept = ["https://www0.example.com/"]
    second = datetime(2026, 11, 1, tzinfo=timezone.utc).timestamp()
    while True:
        second += 0.05
        line: dict[str, Any] = {
            "url": "",
            "verdict": "unique",
            "representative": None,
            "distance": None,
            "share": None,
            "closest": None,
            "reason": "new_text",
            "changed": None,
            "action": "pass",
            "fingerprint": f"{chance.getrandbits(64):016x}",
            "tokens": 300,
            "body_bytes": chance.randrange(1000, 90_000),
            "analysis_seconds": chance.random() / 50,
            "index_seconds": 0.0003,
            "start_request": False,
            "error": None,
            "time": datetime.fromtimestamp(second, timezone.utc).isoformat(timespec="milliseconds"),
        }
        number = chance.getrandbits(40)
        host = f"https://www{chance.randrange(SITES)}.example.com"
        kind = chance.random()
        if kind < 0.6:
            line["url"] = f"{host}/{chance.choice(['news', 'shop/item'])}/{number:x}/page.html"
            if chance.random() < 0.3:
                line["url"] += f"?page={number % 50}&category={number % 9}"
            if len(kept) < KEPT:
                kept.append(line["url"])
            else:
                kept[number % KEPT] = line["url"]
        elif kind < 0.95:
            twin = chance.choice(kept)
            alias = twin + ("&" if "?" in twin else "?") + f"sid={number:x}"
            line.update(
                url=chance.choice([alias, twin.replace("/news/", "/print/"), f"{host}/{number:x}"]),
                verdict=chance.choice(["near_duplicate", "exact_duplicate"]),
                representative=twin,
                distance=number % 8,
                share=0.9 + chance.random() / 10,
                reason="share_in_common",
                action="drop",
            )
        else:
            line.update(url=f"{host}/{number:x}", verdict="skipped", reason="not_html")
        yield line


def collect(pages: int) -> Collector:
    """Feed a collector, and print what a page takes: the best of all rounds."""
    collector, pairs = Collector(), Pairs()
    body = bytes(90_000)
    source = decisions(seed=1)
    lines = list(islice(source, TIMED))
    before = peak_bytes()
    rounds = []
    for _ in range(-(-pages // TIMED)):
        started = time.process_time()
        for line in lines:
            record = Record.from_json(line)
            collector.add(record)
            if record.decision.verdict != "skipped":
                pairs.add(record, body, "utf-8", collector.members(record))
        rounds.append((time.process_time() - started) / TIMED)
        lines.clear()
        lines += islice(source, TIMED)
    rounds.sort()
    print(
        f"{collector.pages:,} pages: {1e6 * rounds[len(rounds) // 2]:.1f} us a page (median; best "
        f"{1e6 * rounds[0]:.1f}), {(peak_bytes() - before) / 1e6:.1f} MB at the most, "
        f"{len(pickle.dumps(collector)) / 1e6:.1f} MB pickled"
    )
    return collector


def read_back(count: int) -> None:
    """Read a feed from a file into a page, and print what that takes."""
    with tempfile.TemporaryDirectory() as folder:
        feed = Path(folder, "decisions.jsonl")
        with feed.open("w") as file:
            for line in islice(decisions(seed=2), count):
                file.write(json.dumps(line) + "\n")
        before = peak_bytes()
        started, used = time.perf_counter(), time.process_time()
        collector, rules = Collector(), FeedRules()
        with feed.open("rb") as file:
            while chunk := file.readlines(1 << 20):
                for record in collector.add_lines(chunk):
                    rules.add(record)
        html = html_of(report_of(collector, CrawlInfo(rules=rules.rows())))
        print(
            f"{count:,} lines of {feed.stat().st_size / 1e6:,.0f} MB: "
            f"{time.perf_counter() - started:.1f} s ({time.process_time() - used:.1f} s of one "
            f"processor), {(peak_bytes() - before) / 1e6:.1f} MB more, page of "
            f"{len(html.encode()) / 1e3:.0f} KB"
        )


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--feed", type=int, default=1_000_000)
    args = parser.parse_args()
    collector = collect(args.pages)
    started = time.process_time()
    html = html_of(report_of(collector, CrawlInfo()))
    print(f"page of {len(html.encode()) / 1e3:.0f} KB in {time.process_time() - started:.2f} s")
    read_back(args.feed)


if __name__ == "__main__":
    main()
