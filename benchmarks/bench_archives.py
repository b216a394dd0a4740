"""How good is a batch on the five sites as one archive, beside what others use for that?

    python benchmarks/bench_archives.py SITE... [--datatrove PYTHON] [--text-dedup PYTHON]

SITE is a folder with ``site.tar.xz`` and ``gold.jsonl.gz``.  Runs ``scrapy simhash batch`` on their
HTML (``verified``) and on the gold texts (``plain``), and, by a Python that has it, datatrove's
MinHash and text-dedup's simhash on the gold texts, each with its defaults.  All get the pages in
one order, drawn with a seed.  Prints what bench_quality.py prints, with the processor time.  Gold
shingles of five words are the truth: two pages are near-duplicates from a likeness of 0.95 on, a
page is lost if no kept page is as like as 0.8, and plainly wrong if none is as like as 0.5.

Leaves out: the analysis of HTML by the others, which get the text that people have marked.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[1]))

import bench_quality as quality
from bench_batch_peers import TOOLS

PEERS = Path(__file__).with_name("bench_batch_peers.py")
ROWS_AT_ONCE = 500


def pages_of(sites: list[Path]) -> list[dict[str, Any]]:
    """Return url, HTML and gold text of each page that has one."""
    rows = []
    for site in sites:
        with tempfile.TemporaryDirectory() as folder, tarfile.open(site / "site.tar.xz") as packed:
            packed.extractall(folder, filter="data")
            rows += [
                {
                    "url": f"http://{site.name}.example{path}",
                    "html": (Path(folder) / path.lstrip("/")).resolve().read_bytes(),
                    "text": text,
                }
                for path, text in quality.read_gold(site).items()
            ]
    return rows


def ours(file: Path, rule: str, out: Path) -> dict[str, str]:
    command = [sys.executable, "-m", "scrapy", "simhash", "batch", str(file), "--rule", rule]
    command += ["--order", "input", "--out", str(out / f"{rule}.parquet")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=out)
    rows = pq.read_table(out / f"{rule}.parquet", columns=["url", "representative"]).to_pylist()
    return {row["url"]: row["representative"] for row in rows if row["representative"]}


def theirs(tool: str, python: Path, file: Path, out: Path) -> dict[str, str]:
    found = out / f"{tool}.json"
    command = [str(python), str(PEERS), tool, str(file), str(found)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    answer: dict[str, str] = json.loads(found.read_text())
    return answer


def path_of(url: str) -> str:
    """Return the path by which the scorer knows a page: that of one site has those of all."""
    return url.removeprefix("http:/").replace(".example/", "/", 1)


def rows_of(urls: list[str], dropped: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield decisions as the scorer reads them."""
    for url in urls:
        representative = dropped.get(url)
        yield {
            "url": quality.HOST + path_of(url),
            "verdict": "unique" if representative is None else "near_duplicate",
            "representative": representative and quality.HOST + path_of(representative),
            "distance": None,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sites", nargs="+", type=Path)
    parser.add_argument("--scorer", type=Path, required=True, help="score_crawl.py")
    parser.add_argument("--seed", type=int, default=1)
    for tool in TOOLS:
        parser.add_argument(f"--{tool}", type=Path, metavar="PYTHON", help=f"that has {tool}")
    asked = parser.parse_args()
    pages = pages_of(asked.sites)
    random.Random(asked.seed).shuffle(pages)
    urls = [page["url"] for page in pages]
    gold = {path_of(page["url"]): page["text"] for page in pages}
    scorer = quality.load(asked.scorer)
    truth, texts = scorer.Pages(gold), scorer.Texts(gold.values())
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        for name in ("html", "text"):
            table = pa.Table.from_pylist([{"url": page["url"], name: page[name]} for page in pages])
            pq.write_table(table, out / f"{name}.parquet", row_group_size=ROWS_AT_ONCE)
        tools: dict[str, Callable[[], dict[str, str]]] = {
            "verified": partial(ours, out / "html.parquet", "verified", out),
            "plain": partial(ours, out / "text.parquet", "plain", out),
        }
        for tool in TOOLS:
            if python := getattr(asked, tool.replace("-", "_")):
                tools[tool] = partial(theirs, tool, python, out / "text.parquet", out)
        for name, find in tools.items():
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            decisions = list(rows_of(urls, find()))
            seconds = time.perf_counter() - start
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            scores = scorer.score(decisions, truth, 0, texts)["classes"]["all"]
            found = [f"{key} {value:.1f}" for key, value in quality.figures(scores).items()]
            spent = f"{worked:.0f} s of the processor", f"{seconds:.0f} s"
            print(f"{name}: {', '.join((*found, *spent))}", flush=True)


if __name__ == "__main__":
    main()
