"""Train the model that chooses the main text, and say how good it is on domains it has not seen.

Reads pages with gold texts in the form of WCXB, the Web Content Extraction Benchmark (CC-BY-4.0,
Murrough Foley, 2026): FOLDER/html/ID.html.gz and FOLDER/ground-truth/ID.json.  Each block of a
page is labelled with the share of its words that are in the longest common subsequence of the words
of the page and of the gold text.  From the labels come the weights of names (log odds that a block
below an element with that word in its names is main text, against its page, as a mean over
domains), those of words of texts, and boosted trees.  Prints the mean word F1 of all pages and of
each type, each page judged by a model that has seen no page of its domain.  With --write, trains on
all pages and writes the table.

Leaves out: time (bench_extraction.py), decisions (bench_quality.py).  Needs numpy, lightgbm and
rapidfuzz, which the package does not.

    python benchmarks/train_main_text.py FOLDER [--write scrapy_simhash/analysis/model.txt]
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import re
import statistics
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import lightgbm
import numpy as np
from rapidfuzz.distance import LCSseq

from scrapy_simhash.analysis import main_blocks
from scrapy_simhash.analysis.blocks import Block, Outline
from scrapy_simhash.analysis.events import MARK
from scrapy_simhash.analysis.main_blocks import (
    FEATURES,
    Chooser,
    read_names,
    weights_by_slot,
    words_of,
)
from scrapy_simhash.analysis.tree import decode, parse, walk

FOLDS = 5
TREES = 100
LEAVES = 8
LEARNING_RATE = 0.2
SAMPLED = 0.4  # of the blocks of a page, in training
# A word of names counts if it occurs on this many domains and its log odds are at least these; the
# odds of few domains count for less.
LEAST_DOMAINS = 30
LEAST_ODDS = 0.6
FEW_DOMAINS = 6
# Of the words of texts, those without these: years, and what a page hides.
NO_WORD = re.compile(rf"[\d={MARK}]")
WORD = re.compile(r"\w+")

ORIGIN = """The table of the model that chooses the main text: see main_blocks.py.
Made by benchmarks/train_main_text.py from the {pages:,} development pages of WCXB, the Web Content
Extraction Benchmark (Murrough Foley, 2026, CC-BY-4.0).  Nothing of these pages is in it but words
that occur in texts or in the names of elements on {domains} of their domains or more.  Licence: the
package's.
First, the log odds that a block is main text, below an element with this word in its tag, class or
id; and the log odds, in tenths, that a block with this word in its text is not.  Then trees,
between semicolons.  The nodes of each in order: a feature with its bound, the tree for values up to
it, the tree for greater ones; or a value.

{names}

{words}

{trees}
"""


class Page(NamedTuple):
    kind: str
    domain: str
    blocks: list[Block]
    outline: Outline
    counts: list[Counter[str]]  # the words of each block
    labels: np.ndarray[Any, Any]
    gold: Counter[str]


def words_in(text: str) -> list[str]:
    return WORD.findall(text.lower())


def read_page(folder: Path, path: Path) -> Page:
    known = json.loads(path.read_text())
    kind = known["_internal"]["page_type"]["primary"]
    truth = known["ground_truth"]
    gold = words_in(truth.get("main_content") or "")
    host = urlsplit(known.get("url") or truth.get("url") or "").hostname or path.stem
    tree = parse(decode(gzip.decompress((folder / f"html/{path.stem}.html.gz").read_bytes()), None))
    blocks, _, outline = walk(tree) if tree is not None else ([], [], Outline([], []))
    words = [words_in(block.text) for block in blocks]
    labels = labelled(words, gold)
    kind = "collection" if kind == "category" else kind
    return Page(kind, host, blocks, outline, list(map(Counter, words)), labels, Counter(gold))


def labelled(words: list[list[str]], gold: list[str]) -> np.ndarray[Any, Any]:
    flat = [word for of in words for word in of]
    hit = np.zeros(len(flat) + 1)
    for step in LCSseq.opcodes(flat, gold):
        if step.tag == "equal":
            hit[step.src_start : step.src_end] = 1
    starts = np.cumsum([0, *map(len, words)])
    sums = np.concatenate([[0], np.cumsum(hit)])
    labels: np.ndarray[Any, Any] = np.array(
        [(sums[b] - sums[a]) / max(1, b - a) for a, b in pairwise(starts)]
    )
    return labels


def words_above(page: Page) -> list[set[str]]:
    """The words in the names of all sections around each block."""
    above: list[set[str]] = []
    for outer, names in page.outline.sections:
        words = set[str]().union(*map(words_of, names.split()))
        above.append(words | (above[outer] if outer >= 0 else set()))
    return [above[section] for section, _ in page.outline.places]


def words_within(page: Page) -> list[set[str]]:
    """The words of the text of each block."""
    return [
        {word for word in block.text.lower().split() if not NO_WORD.search(word)}
        for block in page.blocks
    ]


class Weights(NamedTuple):
    names: dict[str, float]
    words: dict[str, int]


def weights_of(pages: list[Page]) -> Weights:
    against = {word: round(-10 * odds) for word, odds in log_odds(pages, words_within).items()}
    return Weights(
        {word: round(odds, 1) for word, odds in log_odds(pages, words_above).items()},
        {word: tenths for word, tenths in against.items() if tenths > 0},
    )


def log_odds(
    pages: list[Page], words_of_blocks: Callable[[Page], list[set[str]]]
) -> dict[str, float]:
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def odds(share: float) -> float:
        return math.log((share + 0.02) / (1.02 - share))

    for page in pages:
        share: dict[str, float] = defaultdict(float)
        total: dict[str, float] = defaultdict(float)
        for words, counts, label in zip(
            words_of_blocks(page), page.counts, page.labels, strict=True
        ):
            weight = math.log1p(counts.total())
            for word in (*words, ""):  # the empty one stands for the page
                share[word] += weight * label
                total[word] += weight
        if not total[""]:
            continue
        mean = share[""] / total[""]
        for word in total:
            its = (share[word] + mean) / (total[word] + 1)
            found[word][page.domain].append(odds(its) - odds(mean))
    weights = {}
    for word, of in found.items():
        means = [statistics.mean(one) for one in of.values()]
        weight = sum(means) / (len(means) + FEW_DOMAINS)
        if word and len(means) >= LEAST_DOMAINS and abs(weight) >= LEAST_ODDS:
            weights[word] = weight
    return weights


def rows(page: Page, weights: Weights) -> np.ndarray[Any, Any]:
    main_blocks.known_names = cache(partial(read_names, weights=weights.names))
    main_blocks.SLOTS = weights_by_slot(weights.words)
    if not page.blocks:
        return np.zeros((0, len(FEATURES)))
    chooser = Chooser(page.blocks, page.outline)
    found = np.zeros((len(page.blocks), len(FEATURES)))
    for at in range(len(page.blocks)):
        chooser.look_at(at)
        found[at] = chooser.row
    return found


def fitted(pages: list[Page], tables: list[np.ndarray[Any, Any]]) -> lightgbm.Booster:
    """Each page weighs the same; in it, a block weighs by its words, long ones by less."""
    rng = np.random.default_rng(1)
    xs, ys, ws = [], [], []
    for page, table in zip(pages, tables, strict=True):
        if not page.labels.any():
            continue
        weight = np.array([counts.total() for counts in page.counts]) ** 0.7 + 0.1
        taken = rng.random(len(table)) < SAMPLED
        xs.append(table[taken])
        ys.append(page.labels[taken])
        ws.append((100 * weight / weight.sum())[taken])
    settings = {
        "objective": "cross_entropy",
        "num_leaves": LEAVES,
        "learning_rate": LEARNING_RATE,
        "min_data_in_leaf": 150,
        "feature_fraction": 0.4,
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
        "lambda_l2": 5,
        "max_bin": 63,
        "verbose": -1,
        "seed": 1,
        "num_threads": 2,
        "deterministic": True,
    }
    data = lightgbm.Dataset(np.vstack(xs), np.concatenate(ys), weight=np.concatenate(ws))
    return lightgbm.train(settings, data, TREES)


def f1_of(page: Page, shares: np.ndarray[Any, Any]) -> float:
    found: Counter[str] = Counter()
    if page.blocks:
        chooser = Chooser(page.blocks, page.outline)
        for spot, share in zip(chooser.spots, shares, strict=True):
            spot.share = share
        least = chooser.threshold()
        for counts, share in zip(page.counts, shares, strict=True):
            if share > least:
                found.update(counts)
    if not found or not page.gold:
        return float(found == page.gold)
    return 2 * (found & page.gold).total() / (found.total() + page.gold.total())


def cross_validate(pages: list[Page]) -> None:
    domains = sorted({page.domain for page in pages})
    np.random.default_rng(1).shuffle(domains)
    fold_of = {domain: number % FOLDS for number, domain in enumerate(domains)}
    scores = defaultdict(list)
    for fold in range(FOLDS):
        seen = [page for page in pages if fold_of[page.domain] != fold]
        weights = weights_of(seen)
        model = fitted(seen, [rows(page, weights) for page in seen])
        for page in pages:
            if fold_of[page.domain] == fold:
                table = rows(page, weights)
                score = f1_of(page, model.predict(table) if len(table) else table)
                scores["all"].append(score)
                scores[page.kind].append(score)
    for kind, of in sorted(scores.items()):
        print(f"| {kind} | {len(of)} | {statistics.mean(of):.4f} |")


def line_of(node: dict[str, Any]) -> str:
    if "leaf_value" in node:
        return f"{node['leaf_value']:.3g}"
    name = FEATURES[node["split_feature"]].replace(" ", "_")
    parts = (line_of(node["left_child"]), line_of(node["right_child"]))
    return f"{name}<{node['threshold']:.4g} {' '.join(parts)}"


def wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 99, subsequent_indent=indent, break_on_hyphens=False)


def table_of(pages: list[Page]) -> str:
    weights = weights_of(pages)
    model = fitted(pages, [rows(page, weights) for page in pages]).dump_model()
    names, words = (
        " ".join(f"{word}={weight:g}" for word, weight in sorted(table.items()))
        for table in weights
    )
    trees = [line_of(tree["tree_structure"]) for tree in model["tree_info"]]
    return ORIGIN.format(
        pages=len(pages),
        domains=LEAST_DOMAINS,
        names=wrapped(names),
        words=wrapped(words),
        trees=";\n".join(wrapped(tree, "    ") for tree in trees),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", type=Path)
    args = parser.parse_args()
    with Pool() as processes:
        paths = sorted((args.folder / "ground-truth").glob("*.json"))
        pages = processes.map(partial(read_page, args.folder), paths, chunksize=20)
    cross_validate(pages)
    if args.write:
        args.write.write_text(table_of(pages))


if __name__ == "__main__":
    main()
