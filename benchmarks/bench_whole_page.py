"""Of pages with the text of an earlier page, how many are dropped, and what keeps the others apart?

Judges all pages of real sites as a crawl does, with the default settings: analysis, what sections
repeat, index.  A page counts if its gold text (made by hand) is that of a page which the spider got
before.  Prints how many of those are dropped, and for the others the commonest kinds and places of
what was new, with examples.  Links count as handed: what is left out is the effect of following
them, and what changes at each visit (bench_reach.py, bench_quality.py).

    python benchmarks/bench_whole_page.py SITE_FOLDER ... [--order random|crawl] [--seed 1]
        [--takes items|text] [--pages N] [--examples 10] [--json]

SITE_FOLDER holds site.tar.xz, gold.jsonl.gz and site.json, as for bench_quality.py.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tarfile
import tempfile
from collections import Counter, defaultdict
from hashlib import sha1
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench_quality import HOST, order_of, read_gold, read_site

from scrapy_simhash.errors import AnalysisError
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from scrapy_simhash.pipeline import Fetched, Pipeline
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.workers.pool import InProcess


def bodies_of(folder: Path, paths: list[str]) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as unpacked, tarfile.open(folder / "site.tar.xz") as tar:
        tar.extractall(unpacked, filter="data")
        root = Path(unpacked)
        return {path: (root / path.lstrip("/")).read_bytes() for path in paths}


def order(folder: Path, gold: dict[str, str], kind: str, seed: int) -> list[str]:
    start = json.loads((folder / "site.json").read_text())["start"]
    sources = read_site(folder, gold, None, "text") if kind == "crawl" else dict.fromkeys(gold)
    return order_of(sources, kind, start, seed)  # type: ignore[arg-type]


async def judged(
    bodies: dict[str, bytes], gold: dict[str, str], takes: str, examples: int
) -> dict[str, Any]:
    pipeline = Pipeline.of(SimhashSettings(takes=takes))
    index, workers = SQLiteIndex("memory:", pipeline.parameters), InProcess(pipeline.analyser)
    got: set[str] = set()
    verdicts: Counter[str] = Counter()
    passed: Counter[tuple[str, str]] = Counter()
    shown: defaultdict[tuple[str, str], list[tuple[str, str, str]]] = defaultdict(list)
    pages = dropped = stored = kept = lost = 0
    for path, body in bodies.items():
        text = " ".join(gold[path].casefold().split())
        try:
            fetched = Fetched(HOST + path, body, None, sha1(path.encode()).digest())
            page, _ = await pipeline.page(fetched, workers, index.learned, "bench")
        except AnalysisError:
            got.add(text)
            continue
        decision = await index.check_and_add(page)
        verdicts[decision.verdict] += 1
        is_known = bool(text) and text in got
        pages += is_known
        if decision.is_duplicate:
            dropped += is_known
            lost += not is_known
            continue
        got.add(text)
        kept += 1
        stored += len(page.own_values or b"")
        if is_known:
            new = decision.new[0] if decision.new else None
            key = (decision.reason, new.place if new else "")
            passed[key] += 1
            if len(shown[key]) < examples:
                shown[key].append((path, decision.representative or "", new.text if new else ""))
    return {
        "pages": len(bodies),
        "known text": pages,
        "dropped": dropped,
        "share": round(100 * dropped / pages, 1) if pages else None,
        "dropped, other gold text": lost,
        "verdicts": dict(verdicts),
        "stored bytes a kept page": round(stored / max(1, kept)),
        "passed": [(*key, count, shown[key]) for key, count in passed.most_common(12)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sites", type=Path, nargs="+")
    parser.add_argument("--order", choices=("random", "crawl"), default="random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--takes", choices=("items", "text"), default="items")
    parser.add_argument("--pages", type=int, help="the first pages of that order alone")
    parser.add_argument("--examples", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for folder in options.sites:
        gold = read_gold(folder)
        paths = order(folder, gold, options.order, options.seed)[: options.pages]
        found = asyncio.run(judged(bodies_of(folder, paths), gold, options.takes, options.examples))
        passed = found.pop("passed")
        if options.json:
            print(json.dumps({"site": folder.name, **found, "passed": passed}))
            continue
        print(folder.name, ", ".join(f"{name} {value}" for name, value in found.items()))
        for reason, place, count, examples in passed:
            print(f"  {count:5} {reason} at {place or '-'}")
            for path, kept_path, text in examples:
                print(f"          {path} beside {kept_path.removeprefix(HOST)}: {text[:80]}")


if __name__ == "__main__":
    main()
