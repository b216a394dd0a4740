"""What does the second look cost, beside the extraction that every page needs?

Reads the HTML files of a site archive, of a given size, and prints the median of several: what
trafilatura takes alone (its own parse included), what the whole analysis of a page and each step
beyond the extraction take, sizes of sketches, and what one comparison of two sketches takes. Then
it resamples shingles of these pages into many pages of one site, and counts how many of them are
candidates for a new one.

Leaves out: sending a page to a worker and back, and the index.

    python benchmarks/bench_analysis.py SITE_FOLDER [--bytes 80000 150000] [--pages 30]
                                        [--resampled 100000]
"""

from __future__ import annotations

import argparse
import random
import statistics
import tarfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from scrapy_simhash.analysis.content import content_of, visible_blocks
from scrapy_simhash.analysis.extraction import decode, parse, trafilatura_text
from scrapy_simhash.analysis.features import DEFAULT_SCHEME, FeatureScheme
from scrapy_simhash.analysis.fingerprint import hash_feature, majority
from scrapy_simhash.analysis.page import Analyser
from scrapy_simhash.analysis.text import fingerprint_text
from scrapy_simhash.middleware import VERIFIED_DISTANCE
from scrapy_simhash.sketch import Sketch, overlap
from scrapy_simhash.tables import PermutedTables

URL = "http://site.example/"
REPEATS = 5


def milliseconds(action: Callable[[], object]) -> float:
    """Median of several runs."""
    taken = []
    for _ in range(REPEATS):
        started = time.process_time()
        action()
        taken.append(time.process_time() - started)
    return 1000 * statistics.median(taken)


def extract_alone(body: bytes) -> None:
    from trafilatura import extract

    extract(decode(body, "utf-8"), url=URL, include_comments=False, with_metadata=False)


def content_alone(body: bytes) -> None:
    tree = parse(body, "utf-8")
    assert tree is not None
    content_of(visible_blocks(tree))


def main_text_fingerprint(text: str) -> int:
    return fingerprint_text(text, FeatureScheme.from_name(DEFAULT_SCHEME)).fingerprint


def main_text_of(body: bytes) -> str:
    tree = parse(body, "utf-8")
    return "" if tree is None else trafilatura_text(tree)


def read(archive: Path, low: int, high: int, count: int) -> list[bytes]:
    with tarfile.open(archive) as tar:
        members = [m for m in tar if m.isfile() and low <= m.size <= high]
        chosen = random.Random(1).sample(members, min(count, len(members)))
        files = [tar.extractfile(member) for member in chosen]
        return [file.read() for file in files if file is not None]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--bytes", type=int, nargs=2, default=[80_000, 150_000])
    parser.add_argument("--pages", type=int, default=30)
    parser.add_argument("--resampled", type=int, default=100_000)
    args = parser.parse_args()

    low, high = args.bytes
    bodies = read(args.site / "site.tar.xz", low, high, args.pages)
    sizes = statistics.median(map(len, bodies))
    print(f"{len(bodies)} pages, median {sizes:,.0f} bytes; CPU ms a page, median of pages")
    verified, plain = Analyser.create(), Analyser.create(verify=False)
    for analyser in (verified, plain):
        analyser.analyse(bodies[0], "utf-8", URL)
    rows: dict[str, Callable[[bytes], object]] = {
        "trafilatura alone": extract_alone,
        "whole analysis": lambda body: verified.analyse(body, "utf-8", URL),
        "without verification": lambda body: plain.analyse(body, "utf-8", URL),
        "content with its own parse": content_alone,
    }
    for name, action in rows.items():
        each = [milliseconds(lambda body=body, do=action: do(body)) for body in bodies]  # type: ignore[misc]
        print(f"  {name:28} {statistics.median(each):7.2f}")

    trees = [tree for tree in (parse(body, "utf-8") for body in bodies) if tree is not None]
    pages = [visible_blocks(tree) for tree in trees]
    texts = [main_text_of(body) for body in bodies]
    words = statistics.median(len(text.split()) for text in texts)
    print(f"beyond extraction and its parse, of main texts of {words:,.0f} words on the median")
    steps: dict[str, list[Callable[[], object]]] = {
        "blocks": [partial(visible_blocks, tree) for tree in trees],
        "content": [partial(content_of, blocks) for blocks in pages],
        "main text's fingerprint": [partial(main_text_fingerprint, text) for text in texts],
    }
    for name, actions in steps.items():
        print(f"  {name:28} {statistics.median(map(milliseconds, actions)):7.2f}")

    contents = [content for content in map(content_of, pages) if content is not None]
    lengths = [len(content.sketch) for content in contents]
    print(f"sketch: median {statistics.median(lengths):.0f} bytes, longest {max(lengths)}")
    one, two = contents[0].sketch, contents[1].sketch
    count = 1000
    started = time.process_time()
    for _ in range(count):
        overlap(Sketch.from_bytes(one), Sketch.from_bytes(two), {1, 2, 3})
    print(f"one verification: {1e6 * (time.process_time() - started) / count:.0f} us")

    resample(bodies, args.resampled)


def resample(bodies: list[bytes], pages: int) -> None:
    """Count candidates among pages whose shingles are drawn from those of real ones."""
    scheme = FeatureScheme.from_name("words-3")
    texts = [list(scheme.features(main_text_of(body))) for body in bodies]
    pools = [[hash_feature(feature) for feature in text] for text in texts if text]
    everything = [value for pool in pools for value in pool]
    rng = random.Random(1)

    def fingerprint() -> int:
        pool = rng.choice(pools)
        # Half of a page is that of a real one, half comes from anywhere on the site.
        shingles = rng.choices(pool, k=50) + rng.choices(everything, k=50)
        return majority(list(set(shingles)))

    tables = PermutedTables(VERIFIED_DISTANCE)
    for item in range(pages):
        tables.add(fingerprint(), item)
    queries = [fingerprint() for _ in range(200)]
    started = time.process_time()
    found = [len(tables.matches(query)) for query in queries]
    seconds = time.process_time() - started
    print(
        f"{pages:,} resampled pages: within {VERIFIED_DISTANCE} bits {statistics.mean(found):.2f} "
        f"candidates a page (most {max(found)}), {1000 * seconds / len(queries):.2f} ms a query"
    )


if __name__ == "__main__":
    main()
