"""What does the plug-in cost a real crawl, beside the same crawl without it?

A separate process serves a site.  It is crawled without the plug-in and with each of the given
modes, extractors and numbers of workers, several times, in alternating order, each time in a fresh
process.  Prints medians: pages a second; CPU a page of the crawler process and of the workers; the
delay of a 10 ms tick of the reactor (the worst, and the 99th percentile of the ticks; the same
without the time of Python's garbage collector); resident memory.  For pages and CPU, it also prints
the median ratio (for CPU also the difference) to the crawl without the plug-in in the same round.
Every crawl gets the same pages in the same order: the links that a dropped page would have cost
are not counted.

The mode "beside" is a crawl without the plug-in beside a process that parses pages half of the
time, as a worker does: what the cores leave to a crawl, whatever the plug-in does in it.

Leaves out: the start (the first pages, given by --warm-up, count only for the stalls), the network,
and whether the decisions are right (crawl_quality.py).  Pages a second mean little if there are
fewer cores than the crawler, the server and the workers need.  If the crawler never pauses, a tick
waits for all pages that came at once: ``-s DOWNLOAD_DELAY=0.02`` gives it pauses.

    python benchmarks/bench_crawl.py [--pages 1000] [--identical 0.5] [--extractor auto ...]
        [--modes none beside drop flag] [--workers 1 ...] [--repeats 3] [--json FILE]
        [--site SITE_FOLDER --server SERVE.py] [-s NAME=VALUE ...]

Without --site, the site is that of seeded_site.py.  With --site, ``SERVE.py
SITE_FOLDER/site.tar.xz`` prints its URL and serves the site.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

FOLDER = Path(__file__).parent
SHOWN = {
    "pages_per_second": "pages/s",
    "crawler_cpu_ms": "crawler ms",
    "worker_cpu_ms": "workers ms",
    "first_page_seconds": "1st page s",
    "worst_stall_ms": "worst stall",
    "p99_stall_ms": "p99 stall",
    "worst_stall_without_gc_ms": "worst no gc",
    "p99_stall_without_gc_ms": "p99 no gc",
    "crawler_mb": "crawler MB",
    "workers_mb": "workers MB",
}


WITHOUT_PLUGIN = ("none", "beside")
# Parses, then sleeps as long.
BUSY_HALF_OF_THE_TIME = """
from time import perf_counter, sleep
from lxml.html import fromstring
page = "<p class=text>some words <a href=/page>and a link</a></p>" * 800
while True:
    began = perf_counter()
    for element in fromstring(page).iter():
        element.text
    sleep(perf_counter() - began)
"""


@dataclass(frozen=True)
class Mode:
    """One way to crawl: an action, or "none" or "beside" for no plug-in."""

    action: str
    extractor: str = ""
    workers: int = 0

    def __str__(self) -> str:
        named = asdict(self).values() if self.has_plugin else [self.action]
        return " ".join(map(str, named))

    @property
    def has_plugin(self) -> bool:
        return self.action not in WITHOUT_PLUGIN

    def settings(self, folder: Path) -> dict[str, Any]:
        if not self.has_plugin:
            return {}
        return {
            "ADDONS": {"scrapy_simhash.Addon": 500},
            "SIMHASH_ACTION": self.action,
            "SIMHASH_EXTRACTOR": self.extractor,
            "SIMHASH_WORKERS": self.workers,
            "SIMHASH_INDEX": str(folder / "bench.simhash"),
        }


@contextmanager
def served(command: list[str]) -> Iterator[str]:
    """The URL of a site while a separate process serves it."""
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().strip()
            if not url:
                sys.exit(f"The server of the site has ended before it served: {command}")
            yield url
        finally:
            server.terminate()


@contextmanager
def beside(mode: Mode) -> Iterator[None]:
    """Run beside a crawl what its mode asks for."""
    if mode.action != "beside":
        yield
        return
    with subprocess.Popen([sys.executable, "-c", BUSY_HALF_OF_THE_TIME]) as busy:
        try:
            yield
        finally:
            busy.terminate()


def paths_of(archive: Path) -> list[str]:
    with tarfile.open(archive) as tar:
        names = [m.name.removeprefix("./") for m in tar if m.isfile() or m.issym()]
    return [quote(name) for name in sorted(names) if name.endswith((".html", ".htm"))]


def crawl(
    urls: list[str], settings: dict[str, Any], folder: Path, *, warm_up: int, tick: bool = False
) -> dict[str, Any]:
    """Crawl in a fresh process, and return its measurements."""
    job = folder / "job.json"
    job.write_text(
        json.dumps({"urls": urls, "settings": settings, "warm_up": warm_up, "tick": tick})
    )
    command = [sys.executable, str(FOLDER / "measured_crawl.py"), str(job)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=folder)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def rounds(
    urls: list[str], modes: list[Mode], args: argparse.Namespace
) -> list[dict[str, dict[str, Any]]]:
    """Crawl in every mode, *repeats* times, alternately forwards and backwards.

    Each crawl is done twice, with and without the tick: it shows stalls, but adds to the CPU.
    """
    given = dict(option.split("=", 1) for option in args.settings)

    def once(mode: Mode, tick: bool) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="bench-crawl-") as name, beside(mode):
            folder = Path(name)
            settings = {**mode.settings(folder), **given}
            return crawl(urls, settings, folder, warm_up=args.warm_up, tick=tick)

    done = []
    for number in range(args.repeats):
        results = {}
        for mode in modes if number % 2 == 0 else reversed(modes):
            ticked = once(mode, tick=True)
            stalls = {name: value for name, value in ticked.items() if "stall" in name}
            results[str(mode)] = {**once(mode, tick=False), **stalls}
            print(f"round {number + 1}, {mode}: done", file=sys.stderr)
        done.append(results)
    return done


def report(done: list[dict[str, dict[str, Any]]], modes: list[Mode]) -> list[dict[str, Any]]:
    """Return the medians of each mode and its ratios to mode none."""
    rows = []
    for mode in map(str, modes):
        row: dict[str, Any] = {"mode": mode}
        row |= {name: statistics.median(r[mode][name] for r in done) for name in SHOWN}
        if "none" in done[0]:
            for name in ("pages_per_second", "crawler_cpu_ms"):
                row[f"{name}_ratio"] = statistics.median(
                    r[mode][name] / r["none"][name] for r in done
                )
            for name in (name for name in SHOWN if "stall" in name or name == "crawler_cpu_ms"):
                row[f"{name}_over_none"] = statistics.median(
                    r[mode][name] - r["none"][name] for r in done
                )
        row["simhash"] = {
            name: value
            for name, value in done[-1][mode]["stats"].items()
            if name.startswith("simhash/") and name.count("/") < 3 and "distance" not in name
        }
        rows.append(row)
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    print(f"{'mode':28}" + "".join(f"{title:>13}" for title in SHOWN.values()), end="")
    print(f"{'pages/s :none':>15}{'ms over none':>14}")
    for row in rows:
        print(f"{row['mode']:28}" + "".join(f"{row[name]:13.2f}" for name in SHOWN), end="")
        ratio = row.get("pages_per_second_ratio", float("nan"))
        print(f"{ratio:15.2f}{row.get('crawler_cpu_ms_over_none', float('nan')):14.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--site", type=Path)
    parser.add_argument("--server", type=Path)
    parser.add_argument("--variants", help="serve changing pages, as live sites do, by this seed")
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--bytes", type=int, default=60_000)
    parser.add_argument("--identical", type=float, default=0.0)
    parser.add_argument("--modes", nargs="+", default=["none", "drop", "flag"])
    parser.add_argument("--extractor", nargs="+", default=["auto"])
    parser.add_argument("--workers", nargs="+", type=int, default=[1])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--warm-up", type=int, default=50)
    parser.add_argument("--json", type=Path)
    parser.add_argument("-s", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    args = parser.parse_args()

    if args.site:
        archive = args.site / "site.tar.xz"
        command = [str(args.server), str(archive)]
        command += ["--variants", args.variants] if args.variants else []
        paths = paths_of(archive)
    else:
        command = [str(FOLDER / "seeded_site.py"), "--pages", str(args.pages)]
        command += ["--bytes", str(args.bytes), "--identical", str(args.identical)]
        paths = list(map(str, range(args.pages)))
    random.Random(1).shuffle(paths)
    del paths[args.pages :]
    if len(paths) <= args.warm_up:
        parser.error(f"pages must be more than --warm-up: got {len(paths)}, {args.warm_up}")
    modes = [Mode(action) for action in WITHOUT_PLUGIN if action in args.modes]
    for action in (mode for mode in args.modes if mode not in WITHOUT_PLUGIN):
        modes += [Mode(action, extractor, w) for extractor in args.extractor for w in args.workers]
    with served(command) as base:
        done = rounds([base + path for path in paths], modes, args)
    rows = report(done, modes)
    print(f"{len(paths):,} pages, {args.repeats} rounds, {os.cpu_count()} cores")
    show(rows)
    if args.json:
        args.json.write_text(json.dumps({"summary": rows, "rounds": done}, indent=1))


if __name__ == "__main__":
    main()
