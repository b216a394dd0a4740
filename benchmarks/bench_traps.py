"""What does an endless site cost, and is a real one ever stopped?

    python benchmarks/bench_traps.py [SITE ...]                 # endless sites
    python benchmarks/bench_traps.py --archive SITE --tools TOOLS  # a crawl of an archived site

*Endless sites* (reach/endless.py) are calendars of four kinds, and trees of pages that are not
there but answer 200.  Each has 40 articles, which the crawl must get.  They are crawled with
``SIMHASH_RULES = "use"``, in four ways: the last link first, as Scrapy does, or the first one; one
request at a time, or 16 (of which Scrapy sends 8 to one host).  Printed is how many pages of the
endless part were downloaded until the crawl ended, and how many articles it did not reach.

*An archived site* is crawled with ``SIMHASH_RULES = "suggest"``: a trap that is found there would
have stopped something.  Traps are found before anything is parked, so both settings find the same
first one.

It leaves out: what a trap with content in it costs (a calendar with an event every few weeks).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

from everything import crawl_everything
from reach.crawl import Crawl, crawl
from reach.endless import CALENDARS, MISSING
from reach.server import SiteServer
from scrapy import Request

ARTICLES = 40
# Without the plug-in, the crawls never end.
MOST_PAGES = 1_000
QUEUES = {"last first": "LifoMemoryQueue", "first first": "FifoMemoryQueue"}
SITES = CALENDARS | MISSING


def endless(name: str, queue: str, concurrent: int, mode: str) -> tuple[Crawl, int]:
    """Crawl an endless site; return what came of it, and the downloads of the endless part."""
    settings = {
        "CLOSESPIDER_PAGECOUNT": MOST_PAGES,
        "CONCURRENT_REQUESTS": concurrent,
        "SCHEDULER_MEMORY_QUEUE": f"scrapy.squeues.{QUEUES[queue]}",
        "SIMHASH_RULES": "use",
    }
    server = SiteServer(SITES[name](ARTICLES), ())
    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    child = spawn.Process(target=crawl, args=(server.url, mode, settings, results))
    child.start()
    found: Crawl = results.get()
    child.join()
    downloads = server.requests()["trap"]
    server.close()
    return found, downloads


def crawl_archive(base: str, start: list[str], queue: Any) -> None:
    """Crawl a served site by all its links; put the stats that are whole numbers into *queue*."""

    def follow(url: str) -> Request | None:
        return Request(url) if url.startswith(base) else None

    settings = {
        "LOG_LEVEL": "WARNING",
        "ADDONS": {"scrapy_simhash.Addon": 500},
        "SIMHASH_INDEX": "memory:",
    }
    queue.put(crawl_everything(settings, [base + path for path in start], follow))


def archived(site: Path, tools: Path, **served: Any) -> dict[str, int]:
    """Crawl an archived site, and return the stats."""
    sys.path.insert(0, str(tools))
    server_of = import_module("serve_site").SiteServer
    start = json.loads((site / "site.json").read_text())["start"]
    context = multiprocessing.get_context("fork")
    with server_of(str(site / "site.tar.xz"), **served) as server:
        queue = context.Queue()
        job = (server.url.rstrip("/"), start, queue)
        process = context.Process(target=crawl_archive, args=job)
        process.start()
        stats: dict[str, int] = queue.get()
        process.join()
    return stats


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sites", nargs="*", metavar="SITE", help=f"of {', '.join(SITES)}")
    parser.add_argument("--archive", type=Path, help="a folder with an archived site")
    parser.add_argument("--tools", type=Path, help="the folder of serve_site.py")
    parser.add_argument("--aliases", type=float, default=0.0)
    parser.add_argument("--variants", type=int)
    options = parser.parse_args()
    if options.archive:
        served = {"aliases": options.aliases, "variants": options.variants}
        stats = archived(options.archive, options.tools, **served)
        kinds = ("simhash/traps/", "simhash/missing/")
        traps = {name: value for name, value in stats.items() if name.startswith(kinds)}
        downloads = stats["downloader/response_count"]
        print(f"{options.archive.name}: {downloads:,} downloads; {traps or 'no trap'}")
        return
    print("site | queue | requests at a time | downloads in the endless part | articles lost")
    for name, queue, concurrent in product(options.sites or SITES, QUEUES, (1, 16)):
        found, downloads = endless(name, queue, concurrent, "drop")
        end = downloads if found.is_whole else f"over {downloads}"
        print(
            f"{name} | {queue} | {concurrent} | {end} | {ARTICLES - len(found.passed)}", flush=True
        )


if __name__ == "__main__":
    main()
