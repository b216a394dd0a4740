"""What does verification cost, beside the extraction that every page needs?

Reads the HTML files of a given size from a site archive, and prints medians over several of them:
the time of trafilatura alone (with its own parse), of the whole analysis of a page, of each step
after the extraction, and of one comparison of two sketches; and the sizes of sketches.  Then it
makes many pages of one site from the contents of its real pages.  It counts how many of them are
candidates for a new page by their content, and measures the time to find and to verify these.

Leaves out: sending a page to a worker and back, and the index.  Each of the many pages has 20 to
150 shingles, and is found only by its content.

    python benchmarks/bench_analysis.py SITE_FOLDER [--bytes 80000 150000] [--pages 30]
                                        [--resampled 1000000]
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

from scrapy_simhash.analysis.analyser import Analyser
from scrapy_simhash.analysis.content import content_of, text_shingles
from scrapy_simhash.analysis.extraction import trafilatura_text
from scrapy_simhash.analysis.features import DEFAULT_SCHEME, FeatureScheme, normalise
from scrapy_simhash.analysis.fingerprint import fingerprint_text, hash_features, majority
from scrapy_simhash.analysis.tree import decode, parse, visible_blocks
from scrapy_simhash.decision.comparison import Comparison, overlap
from scrapy_simhash.decision.judge import MAX_COMPARED
from scrapy_simhash.decision.sketch import sketch_of
from scrapy_simhash.decision.template import Template
from scrapy_simhash.pipeline import VERIFIED_DISTANCE
from scrapy_simhash.tables import PermutedTables

URL = "http://site.example/"
REPEATS = 5
QUERIES = 2000
LEAST_SHINGLES, MOST_SHINGLES = 20, 150


def milliseconds(action: Callable[[], object]) -> float:
    """The median of several runs."""
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
    tree = parse(decode(body, "utf-8"))
    assert tree is not None
    content_of(visible_blocks(tree))


def main_text_fingerprint(text: str) -> int:
    return fingerprint_text(text, FeatureScheme.from_name(DEFAULT_SCHEME)).fingerprint


def main_text_of(body: bytes) -> str:
    tree = parse(decode(body, "utf-8"))
    return "" if tree is None else trafilatura_text(tree)


def read(archive: Path, low: int, high: int, count: int | None) -> list[bytes]:
    with tarfile.open(archive) as tar:
        members = [m for m in tar if m.isfile() and low <= m.size <= high]
        if count is not None:
            members = random.Random(1).sample(members, min(count, len(members)))
        files = [tar.extractfile(member) for member in members]
        return [file.read() for file in files if file is not None]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--bytes", type=int, nargs=2, default=[80_000, 150_000])
    parser.add_argument("--pages", type=int, default=30)
    parser.add_argument("--resampled", type=int, default=1_000_000)
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

    trees = [tree for tree in (parse(decode(body, "utf-8")) for body in bodies) if tree is not None]
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
        overlap(one, two, {1, 2, 3})
    print(f"one verification: {1e6 * (time.process_time() - started) / count:.0f} us")

    resample(args.site / "site.tar.xz", args.resampled)


def resample(archive: Path, pages: int) -> None:
    """Count the candidates for a new page, among pages that vary the contents of real ones."""
    contents = contents_of(read(archive, 0, 150_000, None))
    everything = [value for content in contents for value in content]
    marks = {value: block for content in contents for value, block in content.items()}
    samples = [list(content)[:MOST_SHINGLES] for content in contents]
    samples = [sample for sample in samples if len(sample) >= LEAST_SHINGLES]

    def shingles(number: int) -> list[int]:
        """A page that begins like a real page, and continues with shingles of any pages.

        Two such pages have at most 0.9 of each in common, 0.82 of both together: each is rightly
        kept.
        """
        rng = random.Random(number)
        real = rng.choice(samples)
        same = int(0.9 * rng.random() * len(real))
        return list(dict.fromkeys(real[:same] + rng.choices(everything, k=len(real) - same)))

    def sketch(number: int) -> bytes:
        return sketch_of({value: marks[value] for value in shingles(number)})

    tables = PermutedTables(VERIFIED_DISTANCE)
    for number in range(pages):
        tables.add(majority(shingles(number)), number)
    found, taken = [], []
    for number in range(pages, pages + QUERIES):
        fingerprint, new = majority(shingles(number)), sketch(number)
        started = time.process_time()
        matches = tables.matches(fingerprint)
        searching = time.process_time() - started
        kept = [sketch(match.item) for match in matches[:MAX_COMPARED]]
        started = time.process_time()
        comparison = Comparison(new)
        for stored in kept:
            comparison.overlap(stored)
        found.append(len(matches))
        taken.append(searching + time.process_time() - started)
    verified = [min(count, MAX_COMPARED) for count in found]
    print(
        f"{pages:,} pages that vary {len(samples):,} real ones: "
        f"{statistics.mean(found):.1f} candidates a page (median {statistics.median(found):.0f}, "
        f"most {max(found):,}), {statistics.mean(verified):.1f} verified; search and "
        f"verification {1000 * statistics.mean(taken):.2f} ms a page "
        f"(median {1000 * statistics.median(taken):.2f}, longest {1000 * max(taken):.1f})"
    )


def contents_of(bodies: list[bytes]) -> list[dict[int, int]]:
    """The shingles of the content of each page, with their blocks, without the site's template."""
    trees = (parse(decode(body, "utf-8")) for body in bodies)
    pages = [visible_blocks(tree) for tree in trees if tree is not None]
    template = Template()
    for blocks in pages:
        template.learn([block.id for block in blocks])
    contents = [
        {
            value: block.id
            for block in blocks
            if block.id not in template.blocks and not block.is_beside and not block.is_links
            for value in hash_features(text_shingles(normalise(block.text)))
        }
        for blocks in pages
    ]
    return [content for content in contents if content]


if __name__ == "__main__":
    main()
