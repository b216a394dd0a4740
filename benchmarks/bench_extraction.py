"""How much of the main text do the extractors find, and what does it cost?

Scores each extractor by gold texts: mean word F1 (the F-measure of the multisets of ``\\w+`` in
lower case) of all pages and of each type of page.  Prints the CPU milliseconds a page (with the
parse and the blocks that an extractor needs), what each step takes, and the time of the whole
analysis of pages of 50 to 70 KB.  With --disagree, it shows the pages on which ``auto`` and
trafilatura differ most, and which is nearer to the gold text.

Leaves out: decisions on duplicates (bench_quality.py), crawls (bench_crawl.py).

    python benchmarks/bench_extraction.py FOLDER [--every N] [--extractors auto trafilatura ...]
                                          [--disagree 20] [--sites SITE_FOLDER ...]

FOLDER holds pages.tar.xz (ID.html) and gold.jsonl.gz ({"id", "type", "text"}).  A SITE_FOLDER holds
site.tar.xz and gold.jsonl.gz ({"path", "text"}); it is one more type of page, 200 pages of it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import statistics
import tarfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from scrapy_simhash.analysis import extraction
from scrapy_simhash.analysis.analyser import Analyser
from scrapy_simhash.analysis.content import content_of
from scrapy_simhash.analysis.extraction import trafilatura_text
from scrapy_simhash.analysis.main_blocks import main_blocks
from scrapy_simhash.analysis.tree import decode, parse, walk
from scrapy_simhash.analysis.values import read_values
from scrapy_simhash.errors import AnalysisError

URL = "http://site.example/"
WORD = re.compile(r"\w+")
WHOLE_ANALYSIS_BYTES = range(50_000, 70_000)
SITE_PAGES = 200


class Scored(NamedTuple):
    """A page, its type and gold text."""

    name: str
    kind: str
    body: bytes
    gold: str


def word_f1(found: str, gold: str) -> float:
    """1.0 where both are empty."""
    one, two = (Counter(WORD.findall(text.lower())) for text in (found, gold))
    if not one or not two:
        return float(one == two)
    return 2 * (one & two).total() / (one.total() + two.total())


def read_pages(folder: Path, every: int) -> Iterator[Scored]:
    gold = read_gold(folder)
    with tarfile.open(folder / "pages.tar.xz") as tar:
        for number, member in enumerate(tar):
            file = tar.extractfile(member)
            if file is not None and number % every == 0:
                row = gold[member.name.removesuffix(".html")]
                yield Scored(row["id"], row["type"], file.read(), row["text"])


def read_site(folder: Path) -> Iterator[Scored]:
    gold = {unquote(path).strip("/"): row["text"] for path, row in read_gold(folder).items()}
    with tarfile.open(folder / "site.tar.xz") as tar:
        members = [m for m in tar if m.isfile() and m.name.removeprefix("./") in gold]
        for member in random.Random(1).sample(members, min(SITE_PAGES, len(members))):
            file = tar.extractfile(member)
            assert file is not None
            name = member.name.removeprefix("./")
            yield Scored(name, folder.name, file.read(), gold[name])


def read_gold(folder: Path) -> dict[str, dict[str, str]]:
    with gzip.open(folder / "gold.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {row.get("id") or row["path"]: row for row in map(json.loads, lines)}


def milliseconds(action: Callable[[], object]) -> tuple[Any, float]:
    started = time.process_time()
    result = action()
    return result, 1000 * (time.process_time() - started)


def text_of(analyser: Analyser, body: bytes) -> str:
    """The main text of a page; empty if it is refused."""
    try:
        return analyser.main_text(body, None, URL)
    except AnalysisError:
        return ""


def spread(taken: list[float]) -> str:
    taken = sorted(taken)
    last = taken[int(len(taken) * 0.99)]
    return f"{statistics.median(taken):.1f} / {statistics.mean(taken):.1f} / {last:.0f}"


def by_kind(pages: list[Scored], values: list[float]) -> dict[str, float]:
    """The mean of all pages (but those of sites), and of each type."""
    kinds = defaultdict(list)
    for page, value in zip(pages, values, strict=True):
        kinds[page.kind].append(value)
    return {kind: statistics.mean(of) for kind, of in sorted(kinds.items())}


def show(name: str, values: dict[str, float], digits: int) -> None:
    print(f"| {name} | " + " | ".join(f"{value:.{digits}f}" for value in values.values()) + " |")


def steps(body: bytes) -> dict[str, float]:
    """What each step of the analysis of a page takes."""
    taken = {}
    html, taken["decode"] = milliseconds(lambda: decode(body, None))
    tree, taken["lxml's parse"] = milliseconds(lambda: parse(html))
    if tree is not None:
        (blocks, events, outline), taken["the walk"] = milliseconds(lambda: walk(tree))
        taken["content"] = milliseconds(lambda: content_of(blocks))[1]
        taken["values"] = milliseconds(lambda: read_values(events, URL, URL).values(()))[1]
        taken["main text"] = milliseconds(lambda: main_blocks(blocks, outline))[1]
        taken["trafilatura, beside the parse"] = milliseconds(lambda: trafilatura_text(tree))[1]
    return taken


def disagreements(pages: list[Scored], texts: dict[str, list[str]], count: int) -> None:
    """Show the pages on which auto and trafilatura have least in common, and the ends of both."""
    pairs = list(zip(texts["auto"], texts["trafilatura"], strict=True))
    order = sorted(range(len(pages)), key=lambda i: word_f1(*pairs[i]))
    for i in order[:count]:
        auto, trafilatura = pairs[i]
        page = pages[i]
        scores = [f"{word_f1(text, page.gold):.2f}" for text in (auto, trafilatura)]
        print(f"\n{page.name} {page.kind}: auto {scores[0]}, trafilatura {scores[1]}")
        for name, text in (("gold", page.gold), ("auto", auto), ("trafilatura", trafilatura)):
            line = " ".join(text.split())
            print(f"  {name} ({len(WORD.findall(text))} words): {line[:150]} ... {line[-80:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--extractors", nargs="+", default=list(extraction.NAMED))
    parser.add_argument("--sites", nargs="+", type=Path, default=[])
    parser.add_argument("--disagree", type=int, default=0)
    args = parser.parse_args()
    scored = list(read_pages(args.folder, args.every))
    pages = scored + [page for site in args.sites for page in read_site(site)]
    texts: dict[str, list[str]] = {}
    costs = {}
    for name in args.extractors:
        analyser = Analyser.create(extractor=name, verify=False)
        analyser.load()
        texts[name], taken = [], []
        for page in pages:
            text, ms = milliseconds(partial(text_of, analyser, page.body))
            texts[name].append(text)
            taken.append(ms)
        costs[name] = spread(taken[: len(scored)])
    kinds = by_kind(pages, [0.0] * len(pages))
    print(f"| word F1 | all {len(scored)} | " + " | ".join(kinds) + " |")
    for name, found in texts.items():
        f1 = [word_f1(text, page.gold) for text, page in zip(found, pages, strict=True)]
        show(name, {"all": statistics.mean(f1[: len(scored)]), **by_kind(pages, f1)}, 3)
    print("\nCPU ms a page, median / mean / 99th percentile")
    for name, cost in costs.items():
        print(f"| {name} | {cost} |")
    print("\nthe same of each step")
    taken_by = [steps(page.body) for page in scored]
    for name in taken_by[0]:
        print(f"| {name} | {spread([one[name] for one in taken_by if name in one])} |")
    middle = [page for page in scored if len(page.body) in WHOLE_ANALYSIS_BYTES]
    print(f"\nwhole analysis of {len(middle)} pages of 50 to 70 KB, both views")
    for name in args.extractors:
        analyser = Analyser.create(extractor=name)
        taken = [milliseconds(lambda: analyser.analyse(p.body, None, URL))[1] for p in middle]  # noqa: B023
        print(f"| {name} | {spread(taken)} |")
    if args.disagree:
        disagreements(scored, texts, args.disagree)


if __name__ == "__main__":
    main()
