"""Does a crawl survive hours of failures, and does its memory stay constant?

``kill``: kills a random worker every second (SIGKILL) during a crawl, and counts the pages that are
judged, counted as failed, or lost.

``leak``: crawls many pages without the plug-in and with it.  One page in ten is new, and no two
have the same bytes.  Prints the memory of the crawler and of the workers at 5,000 pages and at the
end.  The index grows with the new pages, which come first.  Later growth, beyond that without the
plug-in, is a leak (or the memory of known bodies, which is full at 16 MiB).

Leaves out: network failures, and hostile pages (tests/analysis/test_hostile.py).

    python benchmarks/soak_crawl.py kill [--pages 2000] [--workers 2]
    python benchmarks/soak_crawl.py leak [--pages 20000] [--workers 2]
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
from bench_crawl import FOLDER, served

EARLY_PAGES = 5000


def start(folder: Path, base: str, args: argparse.Namespace, **own: Any) -> subprocess.Popen[str]:
    """Start a crawl of all pages in order."""
    urls = [f"{base}{number}" for number in range(args.pages)]
    settings = {"METER_MEMORY_EVERY": 1000, **own}
    job = folder / "job.json"
    job.write_text(json.dumps({"urls": urls, "settings": settings, "warm_up": 100, "tick": True}))
    command = [sys.executable, str(FOLDER / "measured_crawl.py"), str(job)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)


def plugged_in(folder: Path, workers: int) -> dict[str, Any]:
    """Return the settings of a crawl with the plug-in, and a decisions feed."""
    return {
        "ADDONS": {"scrapy_simhash.Addon": 500},
        "SIMHASH_ACTION": "drop",
        "SIMHASH_WORKERS": workers,
        "SIMHASH_INDEX": str(folder / "soak.simhash"),
        "SIMHASH_DECISIONS_FILE": str(folder / "decisions.jsonl"),
    }


def end_of(crawl: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the measurements of a crawl, at its end."""
    output, _ = crawl.communicate()
    print(f"the crawl ended with {crawl.returncode}")
    result: dict[str, Any] = json.loads(output)
    return result


def workers_of(crawler: psutil.Process) -> list[psutil.Process]:
    return [
        child
        for child in crawler.children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE
    ]


def kill_workers(crawl: subprocess.Popen[str], rng: random.Random) -> int:
    """Kill a random worker every second until the crawl ends; return the number of kills."""
    killed = 0
    while True:
        try:
            crawl.wait(timeout=1)
            return killed
        except subprocess.TimeoutExpired:
            pass
        try:
            workers = workers_of(psutil.Process(crawl.pid))
            if workers:
                rng.choice(workers).kill()
                killed += 1
        except psutil.NoSuchProcess:
            continue


def report_kill(folder: Path, pages: int, result: dict[str, Any], killed: int) -> None:
    lines = (folder / "decisions.jsonl").read_text().splitlines()
    decisions = {(d := json.loads(line))["url"]: d for line in lines}
    reasons = Counter(d["reason"] for d in decisions.values())
    items = result["stats"].get("item_scraped_count", 0)
    dropped = result["stats"].get("simhash/dropped", 0)
    print(f"{killed} workers were killed; {len(lines):,} decisions on {len(decisions):,} pages of")
    print(f"{pages:,}; by reason: {dict(reasons)}")
    print(f"lost: {pages - items - dropped} pages ({items:,} items, {dropped:,} dropped)")
    print(f"worst stall of the reactor {result['worst_stall_ms']:.0f} ms")


def report_leak(memory: list[dict[str, float]], without: list[dict[str, float]]) -> None:
    for row, bare in zip(memory, without, strict=True):
        print(
            f"{row['pages']:7,} pages: crawler {row['crawler_mb']:.1f} MB "
            f"(without the plug-in {bare['crawler_mb']:.1f}), workers {row['workers_mb']:.1f} MB"
        )
    early = next(n for n, row in enumerate(memory) if row["pages"] >= EARLY_PAGES)

    def growth(rows: list[dict[str, float]], name: str) -> float:
        return rows[-1][name] - rows[early][name]

    print(f"since page {memory[early]['pages']:,}:")
    for name in ("crawler_mb", "workers_mb"):
        over = growth(memory, name) - growth(without, name)
        print(
            f"{name}: {growth(memory, name):+.1f}, without the plug-in "
            f"{growth(without, name):+.1f}; over that {over / memory[early][name]:+.1%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("mode", choices=["kill", "leak"])
    parser.add_argument("--pages", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.pages = args.pages or {"kill": 2000, "leak": 20_000}[args.mode]
    identical = {"kill": 0.0, "leak": 0.9}[args.mode]
    site = [str(FOLDER / "seeded_site.py"), "--counter", "--pages", str(args.pages)]
    site += ["--identical", str(identical), "--bytes", "20000"]
    with served(site) as base, tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        settings = plugged_in(folder, args.workers)
        if args.mode == "kill":
            crawl = start(folder, base, args, **settings)
            killed = kill_workers(crawl, random.Random(args.seed))
            report_kill(folder, args.pages, end_of(crawl), killed)
        else:
            without = end_of(start(folder, base, args))
            report_leak(end_of(start(folder, base, args, **settings))["memory"], without["memory"])


if __name__ == "__main__":
    main()
