"""What do batches on one machine take beside the analysis of pages: memory, time, known pages?

    python benchmarks/bench_batch_local.py [--pages 10e6] [--known 50e6] [--queries 1e6]

First made-up pages as the verified rule sees them, from their files to decisions in Parquet: each
has eight keys and a sketch of 120 shingles, and one in five is like an earlier page, with which it
shares half of its keys.  Memory is printed as the peak of what the process holds itself, and of
that with the pages of mapped files in it, which the system takes back when it needs them.

Then the paper's F and Q: fingerprints of an archive (--known), in batches as they are read, past
the tables of those of a batch (--queries), on one core; one in a thousand is within 3 bits.

Leaves out: the analysis of pages, what sites repeat, and reading the archive from disk.
It needs the extra scrapy-simhash[batch] and numpy.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from scrapy_simhash.batch.features import Choices
from scrapy_simhash.batch.local import SEEN, Ordered, decide, find_plain, write_decisions
from scrapy_simhash.batch.rule import Repeated
from scrapy_simhash.decision.sketch import sketch_of
from scrapy_simhash.settings import SimhashSettings

ROWS_AT_ONCE = 50_000
SITES = 10_000
SKETCHES = 5_000
SHINGLES = 120
KEYS = 8
# Makes keys of numbers that follow one another.
SPREAD = 0x9E3779B97F4A7C15


class Memory(threading.Thread):
    """Notes the peaks of memory of this process in MB: its own, and with mapped files."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.own = self.whole = 0

    def run(self) -> None:
        while True:
            text = Path("/proc/self/status").read_text()
            sizes = dict(line.split(":", 1) for line in text.splitlines())
            self.own = max(self.own, int(sizes["RssAnon"].split()[0]) >> 10)
            self.whole = max(self.whole, int(sizes["VmRSS"].split()[0]) >> 10)
            time.sleep(0.2)


def write_pages(path: Path, count: int) -> None:
    """Write made-up pages as the verified rule sees them."""
    draw = np.random.default_rng(1)
    shingles = draw.integers(1, 1 << 63, (SKETCHES, SHINGLES), np.int64).tolist()
    sketches = np.array([sketch_of(dict.fromkeys(one, 1)) for one in shingles], object)
    with pa.ipc.new_file(str(path), SEEN) as writer:
        for start in range(0, count, ROWS_AT_ONCE):
            numbers = np.arange(start, min(count, start + ROWS_AT_ONCE))
            is_copy = (numbers % 5 == 4) & (numbers > SKETCHES)
            # Of each copy the page before it is the original.
            pages = numbers - is_copy
            own = np.arange(KEYS) + np.where(is_copy, KEYS // 2, 0)[:, None]
            keys = (pages[:, None] * 2 * KEYS + own).astype(np.uint64) * np.uint64(SPREAD)
            names = [b"%016d" % number for number in numbers.tolist()]
            columns = {
                "number": numbers,
                "url": [f"http://www.site{n % SITES}.example/a/{n:09}.html" for n in numbers],
                "file": ["pages.warc.gz"] * len(numbers),
                "offset": numbers * 9_000,
                "payload": names,
                "fingerprint": draw.integers(-(1 << 62), 1 << 62, len(numbers)),
                "content_fingerprint": draw.integers(-(1 << 62), 1 << 62, len(numbers)),
                "digest": names,
                "tokens": np.full(len(numbers), 400, np.int32),
                "sketch": sketches[pages % SKETCHES],
                "class": names,
                "text": names,
                "keys": pa.ListArray.from_arrays(
                    np.arange(len(numbers) + 1, dtype=np.int32) * KEYS,
                    pa.array(keys.view(np.int64).ravel()),
                ),
            }
            nothing = {one.name: pa.nulls(len(numbers), one.type) for one in SEEN}
            arrays = {name: pa.array(columns.get(name, nothing[name])) for name in SEEN.names}
            writer.write_table(pa.table(arrays).cast(SEEN))


def decide_pages(count: int, memory: Memory) -> None:
    choices = Choices("verified", "input", SimhashSettings())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "seen.arrow")
        write_pages(path, count)
        print(f"{count:,} pages, {path.stat().st_size / count:.0f} bytes each on disk", flush=True)
        memory.own = memory.whole = 0
        start = time.perf_counter()
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        pages = Ordered(SEEN.empty_table(), table, Repeated())
        shown("order", start, memory)
        decisions, _ = decide(pages, choices, pa.array([], pa.int64()))
        shown("decisions", start, memory)
        write_decisions(pages, decisions, Path(folder, "decisions.parquet"))
        shown("written", start, memory)
        print(f"    kept {decisions.kept.count(-1):,}")


def shown(what: str, start: float, memory: Memory) -> None:
    seconds = time.perf_counter() - start
    print(f"    {what:10} {seconds:7.1f} s  {memory.own:,} MB, with mapped files {memory.whole:,}")


def scan(known: int, asked: int) -> None:
    draw = np.random.default_rng(2)
    queries = np.unique(draw.integers(-(1 << 63), (1 << 63) - 1, asked))
    start = time.perf_counter()
    find = find_plain(pa.array(queries), pa.array([], pa.binary()), 3)
    print(f"{asked:,} fingerprints of a batch: tables in {time.perf_counter() - start:.1f} s")
    seconds, found = 0.0, 0
    for _ in range(0, known, ROWS_AT_ONCE):
        fingerprints = draw.integers(-(1 << 63), (1 << 63) - 1, ROWS_AT_ONCE)
        fingerprints[::1000] = draw.choice(queries, len(fingerprints[::1000])) ^ 0b10010001
        batch = pa.record_batch(
            {
                "fingerprint": fingerprints,
                "digest": pa.nulls(ROWS_AT_ONCE, pa.binary()),
                "tokens": np.full(ROWS_AT_ONCE, 100, np.int32),
            }
        )
        start = time.perf_counter()
        found += find(batch).true_count
        seconds += time.perf_counter() - start
    print(
        f"{known:,} past them in {seconds:.1f} s: {known / seconds / 1e6:.2f} M/s, found {found:,}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=float, default=10e6)
    parser.add_argument("--known", type=float, default=50e6)
    parser.add_argument("--queries", type=float, default=1e6)
    asked = parser.parse_args()
    memory = Memory()
    memory.start()
    if asked.known:
        scan(int(asked.known), int(asked.queries))
    if asked.pages:
        decide_pages(int(asked.pages), memory)


if __name__ == "__main__":
    main()
