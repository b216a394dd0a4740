"""How often are the decisions on real sites right, compared with other recipes and libraries?

Every page of a site is analysed once and judged in a seeded random order, or in the order of a
breadth-first crawl.  A scorer compares the decisions with gold texts.  Ours goes through the same
analysis, template and index as in a crawl.  The others get the main text that one extractor finds
(the same for all) and the plain rule "a duplicate of a kept page within the limit".

Leaves out: the network, the workers, and the effect of following links (crawl_quality.py has it).

    python benchmarks/bench_quality.py SITE_FOLDER ... --scorer score_crawl.py \
        [--order random|crawl] [--seeds 1 2 3] [--only ours ...] [--extractor NAME] [--json] \
        [--variants SEED --server serve_site.py]

SITE_FOLDER holds site.tar.xz, gold.jsonl.gz and site.json (with "start").  The scorer is a module
with Pages, Texts and score(), the server one with Site, which changes pages as live sites do.  The
last figure counts the pages of which no version is kept: two versions of a page have the same path
without its first folder.  Peers that are not installed are left out, with a message:
pip install datasketch simhash "numpy<2"
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import importlib.util
import json
import random
import statistics
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))

from scrapy_simhash import FeatureScheme, fingerprint_text
from scrapy_simhash.analysis.blocks import Block
from scrapy_simhash.analysis.content import content_of
from scrapy_simhash.analysis.extraction import (
    DEFAULT_EXTRACTOR,
    NAMED,
    ParsedPage,
    main_text,
)
from scrapy_simhash.analysis.tree import decode, parse, title_of, walk
from scrapy_simhash.decision.holdings import NO_VALUES
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.decision.page import Page, View
from scrapy_simhash.index.base import Index
from scrapy_simhash.index.redis.index import RedisIndex
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from scrapy_simhash.pipeline import VERIFIED_DISTANCE
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.urls import folder_of, host_of, section_of
from tests.redis_servers import RedisServer

HOST = "http://site.example"
# Servers and loops, until the benchmark ends.
OPEN = ExitStack()
DROPPED = ("near_duplicate", "exact_duplicate")
# The figures that are counts of pages, not shares.
COUNTS = ("dropped", "lost", "wrong", "no version kept")


@dataclass
class Source:
    """The input of every recipe: the main text and the blocks of one page."""

    text: str
    blocks: list[Block]
    title: str
    links: list[str]


def read_source(body: bytes, url: str, extractor: str) -> Source:
    html = decode(body, None)
    tree = parse(html)
    if tree is None:
        return Source("", [], "", [])
    links = [urldefrag(urljoin(url, a.get("href", "")))[0] for a in tree.iter("a")]
    page = ParsedPage(body, None, url, html, tree, *walk(tree))
    title = title_of(tree)
    return Source(main_text(extractor, page), page.blocks, title, links)


def read_gold(folder: Path) -> dict[str, str]:
    """Path -> gold text of every page that has one."""
    with gzip.open(folder / "gold.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {unquote(row["path"]): row["text"] for row in map(json.loads, lines)}


def read_site(
    folder: Path, gold: dict[str, str], change: Change | None, extractor: str
) -> dict[str, Source]:
    """Path -> source of every page in the gold file, changed by *change* as a server would.

    A file behind several paths is read once, unless its pages change.
    """
    with tempfile.TemporaryDirectory() as unpacked, tarfile.open(folder / "site.tar.xz") as tar:
        tar.extractall(unpacked, filter="data")
        files = {path: (Path(unpacked) / path.lstrip("/")).resolve() for path in gold}
        if change is None:
            bodies = {path: file.read_bytes() for path, file in files.items()}
        else:
            render = change(Path(unpacked))
            bodies = {path: render(file.read_bytes(), path) for path, file in files.items()}
        first = {body: path for path, body in reversed(bodies.items())}
        with Pool() as pool:
            jobs = [(body, HOST + path, extractor) for body, path in first.items()]
            sources = dict(zip(first, pool.starmap(read_source, jobs, chunksize=20), strict=True))
    return {path: sources[body] for path, body in bodies.items()}


# Given the folder of a site, returns what changes the body of the page at a path.
Change = Callable[[Path], Callable[[bytes, str], bytes]]


def changes(server: ModuleType, seed: str) -> Change:
    """What a server script with a class Site adds to each page of a site that changes."""

    def of_site(root: Path) -> Callable[[bytes, str], bytes]:
        site = server.Site(root, variants=seed)

        def render(body: bytes, path: str) -> bytes:
            rendered: bytes = site.render(body, path, path, printed=False)
            return rendered

        return render

    return of_site


def order_of(sources: dict[str, Source], kind: str, start: list[str], seed: int) -> list[str]:
    """The pages in the order in which they are judged."""
    paths = sorted(sources)
    if kind == "random":
        random.Random(seed).shuffle(paths)
        return paths
    queue = [path for path in start if path in sources]
    seen = set(queue)
    for path in queue:  # grows while it is read
        for link in sources[path].links:
            split = urlsplit(link)
            found = unquote(split.path)
            if HOST.endswith(split.netloc) and found in sources and found not in seen:
                seen.add(found)
                queue.append(found)
    return queue + [path for path in paths if path not in seen]


def view_of(source: Source, template: Collection[int]) -> View | None:
    """The second view of a page under a template."""
    content = content_of(source.blocks, template, source.title)
    return None if content is None else View(content.fingerprint, content.sketch, None, NO_VALUES)


Judge = Callable[[str, Source], "tuple[str, str | None, int | None]"]


def in_redis(parameters: Parameters) -> RedisIndex:
    """An index in a server of its own, which ends with the benchmark."""
    folder = OPEN.enter_context(tempfile.TemporaryDirectory())
    server = OPEN.enter_context(RedisServer(Path(folder)))
    return RedisIndex(f"{server.url}?pages={100_000}", parameters)


def in_memory(parameters: Parameters) -> SQLiteIndex:
    return SQLiteIndex("memory:", parameters)


def ours(kind: Callable[[Parameters], Index] = in_memory, **parameters: Any) -> Judge:
    """The whole plug-in without Scrapy, with SIMHASH_TAKES = "text" and all links known."""
    defaults = SimhashSettings()
    settings = {"distance": VERIFIED_DISTANCE, "share": defaults.share, **parameters}
    index = kind(Parameters("bench", **settings))
    loop = asyncio.new_event_loop()
    OPEN.callback(loop.close)
    scheme = FeatureScheme.from_name(*defaults.features)

    def judge(path: str, source: Source) -> tuple[str, str | None, int | None]:
        section, folder = section_of(HOST + path), folder_of(HOST + path)
        content = content_of(source.blocks, index.learned.template(folder), source.title)
        text = fingerprint_text(source.text, scheme)
        if not text.tokens and content is None:
            return "skipped", None, None
        page = Page(
            url=HOST + path,
            request_fingerprint=path.encode(),
            scope="",
            fingerprint=text.fingerprint,
            digest=text.digest,
            tokens=text.tokens,
            judged_at=0.0,
            content_fingerprint=None if content is None else content.fingerprint,
            heading=None if content is None else content.heading,
            sketch=None if content is None else content.sketch,
            site=host_of(HOST),
            section=section,
            blocks=() if content is None else content.blocks,
            view_under=None if index.learned.template(folder) else partial(view_of, source),
        )
        decision = loop.run_until_complete(index.check_and_add(page))
        return decision.verdict, decision.representative, decision.distance

    return judge


def plain(features: str, distance: int) -> Judge:
    """A textbook recipe: one simhash of the main text, without verification."""
    index = in_memory(Parameters("bench", distance=distance, min_tokens=1))
    scheme = FeatureScheme.from_name(features)

    def judge(path: str, source: Source) -> tuple[str, str | None, int | None]:
        text = fingerprint_text(source.text, scheme)
        if not text.tokens:
            return "skipped", None, None
        page = Page(HOST + path, path.encode(), "", text.fingerprint, text.digest, text.tokens, 0.0)
        decision = asyncio.run(index.check_and_add(page))
        return decision.verdict, decision.representative, decision.distance

    return judge


def minhash_lsh(threshold: float) -> Judge:
    """datasketch's MinHashLSH over 3-shingles, each candidate checked by its estimate."""
    from datasketch import MinHash, MinHashLSH

    lsh = MinHashLSH(threshold=threshold, num_perm=128)
    kept: dict[str, Any] = {}
    scheme = FeatureScheme.from_name("words-3")

    def judge(path: str, source: Source) -> tuple[str, str | None, int | None]:
        features = scheme.features(source.text)
        if not features:
            return "skipped", None, None
        sketch = MinHash(num_perm=128)
        sketch.update_batch([feature.encode() for feature in features])
        found = [(sketch.jaccard(kept[key]), key) for key in lsh.query(sketch)]
        share, key = max(found, default=(0.0, ""))
        if share >= threshold:
            return "near_duplicate", HOST + key, None
        lsh.insert(path, sketch)
        kept[path] = sketch
        return "unique", None, None

    return judge


def simhash_1e0ng() -> Judge:
    """The package simhash, with its own features (runs of 4 characters) and index, k = 3."""
    from simhash import Simhash, SimhashIndex

    index = SimhashIndex([], k=3)

    def judge(path: str, source: Source) -> tuple[str, str | None, int | None]:
        if not source.text:
            return "skipped", None, None
        value = Simhash(source.text)
        if found := index.get_near_dups(value):
            return "near_duplicate", HOST + found[0], None
        index.add(path, value)
        return "unique", None, None

    return judge


def trafilatura_similarity(threshold: float) -> Judge:
    """trafilatura.deduplication's own Simhash and its similarity."""
    from trafilatura.deduplication import Simhash

    kept: list[tuple[str, Any]] = []

    def judge(path: str, source: Source) -> tuple[str, str | None, int | None]:
        if not source.text:
            return "skipped", None, None
        value = Simhash(source.text)
        limit = 64 - threshold * 64
        for other, known in kept:
            if (value.hash ^ known.hash).bit_count() <= limit:
                return "near_duplicate", HOST + other, None
        kept.append((path, value))
        return "unique", None, None

    return judge


RECIPES: dict[str, Callable[[], Judge]] = {
    "ours": ours,
    "ours, in Redis": partial(ours, in_redis),
    "ours, share 0.85": partial(ours, share=0.85),
    "ours, k = 6": partial(ours, distance=6),
    "words tf, k = 3": partial(plain, "words-1-tf", 3),
    "3-shingles, k = 3": partial(plain, "words-3", 3),
    "2-shingles, k = 6": partial(plain, "words-2", 6),
    "MinHashLSH 0.8": partial(minhash_lsh, 0.8),
    "MinHashLSH 0.9": partial(minhash_lsh, 0.9),
    "simhash 1e0ng, k = 3": simhash_1e0ng,
    "trafilatura 0.95": partial(trafilatura_similarity, 0.95),
}


def without_kept_version(decisions: list[dict[str, Any]], gold: dict[str, str]) -> list[str]:
    """The pages of which no version is kept, nor a page with the same gold text.

    The versions of a page (releases, languages) have the same path without its first folder.
    """
    kept = {row["path"] for row in decisions if row["verdict"] not in DROPPED}
    texts = {gold[path] for path in kept}
    pages: dict[str, bool] = {}
    for row in decisions:
        page = "/".join(row["path"].split("/")[2:])
        has_one = row["path"] in kept or gold[row["path"]] in texts
        pages[page] = pages.get(page, False) or has_one
    return [page for page, has_one in pages.items() if not has_one]


def figures(report: dict[str, Any]) -> dict[str, float]:
    """The figures of one class of pages; shares are in percent."""

    def percent(value: float | None) -> float:
        return float("nan") if value is None else 100 * value

    return {
        "dropped": report["dropped"],
        "precision": percent(report["precision"]["0.8"]),
        "lost": report["lost"]["pages"],
        "wrong": report["lost"]["wrong"],
        "recall@0.95": percent(report["recall"]["0.95"]["recall"]),
        "recall@1.0": percent(report["recall"]["1.0"]["recall"]),
    }


def summed_up(runs: list[dict[str, float]]) -> Iterator[str]:
    """The median of the runs, and the worst in brackets if it differs."""
    for name in runs[0]:
        values = [run[name] for run in runs]
        worst = max(values) if name in ("lost", "wrong", "no version kept") else min(values)
        digits = 0 if name in COUNTS else 1
        middle = statistics.median(values)
        both = middle == worst or middle != middle or name == "dropped"
        yield f"{middle:.{digits}f}" if both else f"{middle:.{digits}f} ({worst:.{digits}f})"


def load(script: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[script.stem] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sites", nargs="+", type=Path)
    parser.add_argument("--scorer", type=Path, required=True)
    parser.add_argument("--order", choices=("random", "crawl"), default="random")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--only", nargs="+", choices=RECIPES, default=list(RECIPES))
    parser.add_argument("--extractor", choices=NAMED, default=DEFAULT_EXTRACTOR)
    parser.add_argument("--variants", metavar="SEED", help="judge pages that change by this seed")
    parser.add_argument("--server", type=Path, help="the script that makes them change")
    parser.add_argument("--first", type=int, help="judge only this many pages of each site")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.variants and not args.server:
        parser.error("--variants needs --server")
    scorer: Any = load(args.scorer)
    change = changes(load(args.server), args.variants) if args.variants else None
    seeds = args.seeds if args.order == "random" else [0]
    results: list[dict[str, Any]] = []
    for site in args.sites:
        gold = read_gold(site)
        sources = read_site(site, gold, change, args.extractor)
        start = json.loads((site / "site.json").read_text())["start"]
        pages = scorer.Pages(gold)
        texts = scorer.Texts(gold.values())
        for name in args.only:
            runs: dict[str, list[dict[str, float]]] = {"all": [], "short": [], "cjk": []}
            started = time.perf_counter()
            for seed in seeds:
                try:
                    judge = RECIPES[name]()
                except ImportError as exc:
                    print(f"{name} left out: {exc}", file=sys.stderr)
                    break
                order = order_of(sources, args.order, start, seed)[: args.first]
                decisions = []
                for path in order:
                    verdict, representative, distance = judge(path, sources[path])
                    decisions.append(
                        {
                            "url": HOST + path,
                            "path": path,
                            "verdict": verdict,
                            "representative": representative,
                            "distance": distance,
                        }
                    )
                scored = scorer.score(decisions, pages, 0, texts)["classes"]
                for kind in runs:
                    runs[kind].append(figures(scored[kind]))
                runs["all"][-1]["no version kept"] = len(without_kept_version(decisions, gold))
            for kind, found in runs.items():
                if not found or not found[0]["dropped"]:
                    continue
                results.append({"site": site.name, "recipe": name, "pages": kind, "runs": found})
                if not args.json:
                    row = " | ".join([site.name, name, kind, *summed_up(found)])
                    print(f"| {row} |", flush=True)
            print(f"{site.name}, {name}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    if args.json:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    with OPEN:
        main()
