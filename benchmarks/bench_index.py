"""How fast, how large and how exact are the permuted tables, beside other libraries?

One run adds N fingerprints one by one, each checked first and added only where nothing is within
K bits (as a crawl does), then asks single queries and one batch.  Half of the single queries are
planted within K bits of a stored fingerprint, as a linear scan would find it; recall is the share
of those that are found.

    python benchmarks/bench_index.py [--n 1e6] [--distance 3] [--designs "split 2" ...]
        [--peers faiss ...] [--skew] [--pages-of SITE_FOLDER ...] [--json]

--skew takes fingerprints as a site has them: pages made of paragraphs that follow Zipf's law, on a
template that they share; with --pages-of, paragraphs and template are those of a real site (folders
with site.tar.xz, as bench_quality.py reads them).  All speeds, that of the batch (check_many)
too, are of one thread through Python.  Bytes are what the structure says of itself, or the growth
of resident memory.  Slow peers get fewer fingerprints, and say so.

Leaves out: the SQLite file around the tables, and what happens when memory is full.

Peers that are not installed are left out, and said so:
pip install faiss-cpu gaoya simhash datasketch "numpy<2"
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import sys
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from scrapy_simhash.tables import PermutedTables, ReferenceTables, design, designs

SINGLE_QUERIES = 20_000
BATCH_QUERIES = 1_000_000


class Peer(Protocol):
    """One structure; its answers are true where something was near."""

    def check_and_add(self, fingerprint: int, item: int, /) -> object: ...
    def check(self, fingerprint: int, /) -> object: ...


@dataclass
class Result:
    name: str
    n: int
    kept: int
    check_add_per_s: float
    worst_add_ms: float
    check_p50_us: float
    check_p99_us: float
    batch_per_s: float | None
    bytes_per_fp: float
    recall: float


class Ours:
    """Our tables, called with nothing in between."""

    def __init__(self, distance: int, tables: Sequence[Any], engine: Any = PermutedTables) -> None:
        self.tables = engine(distance, tables)
        self.check_and_add = self.tables.check_and_add
        self.check = self.tables.nearest


class DictOfBlocks:
    """25 lines of Python that anyone would write: two halves, and all keys one bit away."""

    def __init__(self, distance: int) -> None:
        if distance > 3:
            raise ImportError("two halves serve up to 3 bits")
        self.distance = distance
        self.halves: tuple[dict[int, list[int]], dict[int, list[int]]] = ({}, {})
        self.flips = [0, *(1 << bit for bit in range(32))]

    def check(self, fingerprint: int) -> bool:
        for half, shift in zip(self.halves, (0, 32), strict=True):
            key = fingerprint >> shift & 0xFFFFFFFF
            for flip in self.flips:
                for other in half.get(key ^ flip, ()):
                    if (other ^ fingerprint).bit_count() <= self.distance:
                        return True
        return False

    def check_and_add(self, fingerprint: int, item: int) -> bool:
        if self.check(fingerprint):
            return True
        for half, shift in zip(self.halves, (0, 32), strict=True):
            half.setdefault(fingerprint >> shift & 0xFFFFFFFF, []).append(fingerprint)
        return False


class LinearScan:
    """All fingerprints in one numpy array."""

    def __init__(self, distance: int) -> None:
        import numpy

        self.numpy, self.distance, self.count = numpy, distance, 0
        self.stored: Any = numpy.zeros(1024, dtype=numpy.uint64)

    def check(self, fingerprint: int) -> bool:
        differing = self.stored[: self.count] ^ self.numpy.uint64(fingerprint)
        as_bytes = self.numpy.unpackbits(differing.view(self.numpy.uint8).reshape(-1, 8), axis=1)
        return bool((as_bytes.sum(axis=1) <= self.distance).any())

    def check_and_add(self, fingerprint: int, item: int) -> bool:
        if self.check(fingerprint):
            return True
        if self.count == len(self.stored):
            self.stored = self.numpy.resize(self.stored, 2 * self.count)
        self.stored[self.count] = fingerprint
        self.count += 1
        return False


class Faiss:
    """faiss's hash index over two halves, with all keys one bit away."""

    def __init__(self, distance: int) -> None:
        import faiss
        import numpy

        faiss.omp_set_num_threads(1)
        if distance > 3:
            raise ImportError("two halves serve up to 3 bits")
        self.numpy, self.distance = numpy, distance
        self.index = faiss.IndexBinaryMultiHash(64, 2, 32)
        self.index.nflip = 1

    def _row(self, fingerprint: int) -> Any:
        return self.numpy.frombuffer(fingerprint.to_bytes(8, "little"), self.numpy.uint8)[None]

    def check(self, fingerprint: int) -> bool:
        limits, _, _ = self.index.range_search(self._row(fingerprint), self.distance + 1)
        return bool(limits[1])

    def check_and_add(self, fingerprint: int, item: int) -> bool:
        if self.check(fingerprint):
            return True
        self.index.add(self._row(fingerprint))
        return False


class Simhash:
    """The index of the package simhash (1e0ng)."""

    def __init__(self, distance: int) -> None:
        from simhash import Simhash as Value
        from simhash import SimhashIndex

        self.value = Value
        self.index = SimhashIndex([], k=distance)

    def check(self, fingerprint: int) -> bool:
        return bool(self.index.get_near_dups(self.value(fingerprint)))

    def check_and_add(self, fingerprint: int, item: int) -> bool:
        value = self.value(fingerprint)
        if self.index.get_near_dups(value):
            return True
        self.index.add(str(item), value)
        return False


def uniform(n: int, seed: int) -> array[int]:
    rng, found = random.Random(seed), array("Q")
    for start in range(0, n, 1_000_000):  # more bytes at once are too many for randbytes
        found.frombytes(rng.randbytes(8 * min(1_000_000, n - start)))
    return found


def skewed(n: int, seed: int, folders: Sequence[Path]) -> array[int]:
    """Pages of 20 paragraphs by Zipf's law on a template; by the votes of their features."""
    import numpy

    rng = numpy.random.default_rng(seed)
    places = numpy.uint64(1) << numpy.arange(64, dtype=numpy.uint64)
    sites = [site_votes(folder) for folder in folders] or [
        (rng.normal(0, 30**0.5, (20_000, 64)), rng.normal(0, 300**0.5, 64)) for _ in range(4)
    ]
    found: Any = numpy.empty(n, dtype=numpy.uint64)
    for number, (paragraphs, template) in enumerate(sites):
        ranks = numpy.cumsum(1 / numpy.arange(1, len(paragraphs) + 1) ** 1.1)
        pages = numpy.arange(number, n, len(sites))
        for some in numpy.array_split(pages, max(1, len(pages) // 20_000)):
            drawn: Any = numpy.searchsorted(ranks / ranks[-1], rng.random((len(some), 20)))
            votes = template + sum(
                paragraphs[numpy.minimum(drawn[:, i], len(paragraphs) - 1)] for i in range(20)
            )
            found[some] = ((votes > 0) * places).sum(axis=1, dtype=numpy.uint64)
    return array("Q", found.tobytes())


def site_votes(folder: Path) -> tuple[Any, Any]:
    """Return the votes of a real site's blocks, commonest first, and of its template."""
    import numpy
    from bench_quality import read_gold, read_site

    from scrapy_simhash.analysis.content import text_shingles
    from scrapy_simhash.analysis.features import normalise
    from scrapy_simhash.analysis.fingerprint import bit_sums, hash_feature

    counts: dict[str, int] = {}
    sources = read_site(folder, read_gold(folder), None, "text")
    for source in sources.values():
        for text in {block.text for block in source.blocks}:
            counts[text] = counts.get(text, 0) + 1
    template, own = numpy.zeros(64), []
    for text, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        sums = bit_sums((hash_feature(s), 1.0) for s in set(text_shingles(normalise(text))))
        if count > 0.3 * len(sources):
            template += numpy.array(sums)
        elif len(text) > 40:
            own.append(sums)
    return numpy.array(own), template


def resident_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(
    name: str, make: Callable[[], Peer], data: array[int], distance: int, queries: int
) -> Result:
    gc.collect()
    before = resident_bytes()
    peer = make()
    fingerprints = data.tolist() if len(data) <= 2_000_000 else data
    kept_items, worst = array("I"), 0
    clock = time.perf_counter_ns
    started = time.perf_counter()
    for item, fingerprint in enumerate(fingerprints):
        if not peer.check_and_add(fingerprint, item):
            kept_items.append(item)
    taken = time.perf_counter() - started
    tables = getattr(peer, "tables", None)
    size = tables.nbytes if tables is not None else resident_bytes() - before
    rng = random.Random(9)
    near = [altered(data[item], rng, distance) for item in rng.choices(kept_items, k=queries // 2)]
    recall = sum(map(bool, map(peer.check, near))) / len(near)
    times = []
    for fingerprint in near + list(uniform(queries // 2, seed=8)):
        before_check = clock()
        peer.check(fingerprint)
        times.append(clock() - before_check)
    times.sort()
    batch = None
    if isinstance(tables, PermutedTables) and PermutedTables is not ReferenceTables:
        many = uniform(BATCH_QUERIES, seed=7)
        batch = BATCH_QUERIES / seconds(lambda: tables.check_many(many))
        for i in range(100_000):  # the worst of some more additions, without what others do
            before_add = time.thread_time_ns()
            tables.add(many[i], item=len(data) + i)
            worst = max(worst, time.thread_time_ns() - before_add)
    return Result(
        name=name,
        n=len(data),
        kept=len(kept_items),
        check_add_per_s=len(data) / taken,
        worst_add_ms=worst / 1e6,
        check_p50_us=times[len(times) // 2] / 1e3,
        check_p99_us=times[len(times) * 99 // 100] / 1e3,
        batch_per_s=batch,
        bytes_per_fp=size / max(1, len(kept_items)),
        recall=recall,
    )


def altered(fingerprint: int, rng: random.Random, distance: int) -> int:
    for bit in rng.sample(range(64), rng.randint(0, distance)):
        fingerprint ^= 1 << bit
    return fingerprint


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def in_python(distance: int) -> Peer:
    return Ours(distance, design(200_000, distance).tables, ReferenceTables)


# Peers that would take hours get so many fingerprints at most.
PEERS: dict[str, tuple[Callable[[int], Peer], int]] = {
    "dict 2 x 32": (DictOfBlocks, 10_000_000),
    "faiss 2 x 32": (Faiss, 10_000_000),
    "simhash (1e0ng)": (Simhash, 200_000),
    "linear scan": (LinearScan, 10_000),
    "ours, in Python": (in_python, 200_000),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=float, default=1e6)
    parser.add_argument("--distance", type=int, default=3)
    parser.add_argument("--designs", nargs="*", help="by name (default: the planner's choices)")
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=[])
    parser.add_argument("--skew", action="store_true")
    parser.add_argument("--pages-of", nargs="*", type=Path, default=[])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    n, distance = int(options.n), options.distance

    names = options.designs or [
        design(n, distance).name,
        design(n, distance, max_bytes=40 * n).name,
    ]
    data = skewed(n, 1, options.pages_of) if options.skew else uniform(n, 1)
    results = []
    for found in designs(distance):
        if found.name in names:
            make = partial(Ours, distance, found.tables)
            results.append(show(measure(found.name, make, data, distance, SINGLE_QUERIES)))
    for name in options.peers:
        make_peer, most = PEERS[name]
        try:
            make_peer(distance)
        except ImportError as exc:
            print(f"{name} is left out: {exc}", file=sys.stderr)
            continue
        queries = min(SINGLE_QUERIES, max(200, most // 50))
        results.append(
            show(measure(name, partial(make_peer, distance), data[:most], distance, queries))
        )
    if options.json:
        print(json.dumps([asdict(result) for result in results], indent=2))


def show(result: Result) -> Result:
    batch = ""
    if result.batch_per_s:
        batch = f", batch {result.batch_per_s / 1e6:.2f}M/s, worst add {result.worst_add_ms:.2f} ms"
    print(
        f"{result.name:16} {result.n:>11,} kept {result.kept:>11,}  "
        f"check-and-add {result.check_add_per_s:>11,.0f}/s  "
        f"check p50 {result.check_p50_us:.2f} p99 {result.check_p99_us:.2f} us  "
        f"{result.bytes_per_fp:.1f} B each  recall {result.recall:.4f}{batch}",
        file=sys.stderr,
        flush=True,
    )
    return result


if __name__ == "__main__":
    main()
