"""What does a batch on Spark cost, in time and memory, also where pages are made to crowd?

    python benchmarks/bench_batch.py [--pages 1000000] [--kinds uniform equal block]
        [--master local[2]] [--partitions 16] [--kill STAGE] [--check]

It needs the extra scrapy-simhash[spark] and Java.  The kinds of the plain rule:

- ``uniform``: random fingerprints, one in five within 3 bits of another
- ``equal``: one fingerprint
- ``block``: random ones with 16 bits in common
- ``near``: all within a few bits of each other: 20 bits differ (crafted)

and of the verified rule, from the pages as it sees them on:

- ``pairs``: every two pages share a key, and one in five is like the other
- ``key``: the same, and all share one key
- ``text``: one text on as many sites

The columns: seconds, the ratio to the first kind of its rule, the peak of memory of the largest
Python worker and of the largest JVM in MB, pages kept, a digest of the answer.  ``--kill`` kills
one executor of a ``local-cluster[2,1,1024]`` in a stage: the digest stays the same.  ``--check``
compares with the answer of one machine (plain rule).

Leaves out: the analysis of pages, what sites repeat, the network.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

sys.path.insert(0, str(Path(__file__).parents[1]))

from scrapy_simhash.batch.decisions import decide_plain
from scrapy_simhash.batch.features import FEATURES, Choices
from scrapy_simhash.decision.sketch import sketch_of
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.spark import near_duplicates
from scrapy_simhash.spark.engine import Engine
from scrapy_simhash.spark.pages import MARKED

PLAIN = ("uniform", "equal", "block", "near")
VERIFIED = ("pairs", "key", "text")
ROWS_AT_ONCE = 200_000
DISTANCE = 3
# As many different pages are made, and as many sketches.
SKETCHES = 2_000
SHINGLES = 120


def fingerprints_of(kind: str, count: int) -> np.ndarray:
    draw = np.random.default_rng(1)
    found: np.ndarray = draw.integers(0, 1 << 64, count, np.uint64)
    if kind == "equal":
        found[:] = found[0]
    elif kind == "block":
        found = found & np.uint64((1 << 48) - 1) | np.uint64(0xABCD << 48)
    elif kind == "near":
        found = found & np.uint64(0xFFFFF)
    else:
        copies = draw.choice(count, count // 5, replace=False)
        found[copies] = found[draw.integers(0, count, len(copies))]
        for _ in range(DISTANCE):
            found[copies] ^= np.uint64(1) << draw.integers(0, 64, len(copies), np.uint64)
    return found


def write_plain(folder: Path, fingerprints: np.ndarray) -> None:
    """Write rows of features."""
    folder.mkdir(parents=True)
    for start in range(0, len(fingerprints), ROWS_AT_ONCE):
        part = fingerprints[start : start + ROWS_AT_ONCE]
        numbers = np.arange(start, start + len(part))
        columns = {
            "number": numbers,
            "url": [f"http://a.example/{number}" for number in numbers.tolist()],
            "file": pa.array(["a"] * len(part)),
            "offset": numbers,
            "fingerprint": part.view(np.int64),
            "digest": pa.array([b""] * len(part), pa.binary()),
            "tokens": np.full(len(part), 100, np.int32),
        }
        write_part(folder, start, columns, FEATURES)


def write_verified(folder: Path, kind: str, count: int) -> None:
    """Write pages as the rule sees them, in their order."""
    folder.mkdir(parents=True)
    sketches = [
        sketch_of({hash_of(page, one): 1 for one in range(SHINGLES)}) for page in range(SKETCHES)
    ]
    for start in range(0, count, ROWS_AT_ONCE):
        numbers = range(start, min(count, start + ROWS_AT_ONCE))
        text = 0 if kind == "text" else 1
        pairs = [number // 2 for number in numbers]
        own = [
            pair if number % 10 < 2 else number + count
            for number, pair in zip(numbers, pairs, strict=True)
        ]
        columns: dict[str, Any] = {
            "number": list(numbers),
            "rank": list(numbers),
            "url": [f"http://site{number}.example/a" for number in numbers],
            "file": ["a"] * len(numbers),
            "offset": list(numbers),
            "fingerprint": [0] * len(numbers),
            "digest": [b"%016d" % (number * text) for number in numbers],
            "tokens": [200] * len(numbers),
            "content_fingerprint": [0] * len(numbers),
            "sketch": [sketches[one * text % SKETCHES] for one in own],
            "class": [b"%016d" % number for number in numbers],
            "text": [b"%016d" % (number * text) for number in numbers],
            "keys": [[pair * text, *([1 << 60] if kind != "pairs" else [])] for pair in pairs],
            "marks": [b""] * len(numbers),
        }
        write_part(folder, start, columns, MARKED.append(pa.field("rank", pa.int64())))
    (folder / "_SUCCESS").touch()


def hash_of(page: int, shingle: int) -> int:
    digest = hashlib.blake2b(b"%d %d" % (page, shingle), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def write_part(folder: Path, start: int, columns: dict[str, Any], schema: pa.Schema) -> None:
    rows = len(columns["number"])
    arrays = [
        pa.array(columns[field.name], field.type)
        if field.name in columns
        else pa.nulls(rows, field.type)
        for field in schema
    ]
    pq.write_table(
        pa.Table.from_arrays(arrays, schema=schema), folder / f"part-{start:010}.parquet"
    )


class Watch(threading.Thread):
    """Notes the peak of memory of the processes under this one; kills an executor in a stage."""

    def __init__(self, kill: str | None, work: Path) -> None:
        super().__init__(daemon=True)
        self.peaks = {"python": 0, "java": 0}
        self.killed = 0
        self._kill, self._work = kill, work
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.2):
            for process in psutil.Process().children(recursive=True):
                try:
                    command, size = process.cmdline(), process.memory_info().rss
                    # One that was forked and runs nothing yet is named as its parent, too.
                    kind = "java" if command[0].endswith("java") else "python"
                    self.peaks[kind] = max(self.peaks[kind], size >> 20)
                    if self._is_due() and any("CoarseGrainedExecutor" in one for one in command):
                        process.kill()
                        self.killed += 1
                except (psutil.Error, IndexError):
                    continue

    def _is_due(self) -> bool:
        begun = self._kill and not self.killed and (self._work / self._kill).exists()
        return bool(begun) and not (self._work / str(self._kill) / "_SUCCESS").exists()

    def stop(self) -> None:
        self._over.set()
        self.join()


@contextmanager
def session(master: str, partitions: int) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    builder = SparkSession.builder.master(master)
    for name, value in {
        "spark.sql.shuffle.partitions": partitions,
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.executor.memory": "1g",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    yield spark
    spark.stop()


def timed(stage: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    def made(engine: Engine, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        start = time.perf_counter()
        found = stage(engine, name, make)
        print(f"    {name:12} {time.perf_counter() - start:7.1f} s", flush=True)
        return found

    return made


def measure(spark: SparkSession, kind: str, asked: argparse.Namespace, folder: Path) -> float:
    work = folder / "work"
    rule = "plain" if kind in PLAIN else "verified"
    choices = Choices(rule, "input", SimhashSettings(distance=DISTANCE if rule == "plain" else 7))
    watch = Watch(asked.kill, work)
    if rule == "plain":
        fingerprints = fingerprints_of(kind, asked.pages)
        write_plain(folder / "features", fingerprints)
        rows = spark.read.parquet(str(folder / "features"))
    else:
        write_verified(work / "ordered", kind, asked.pages)
        rows = spark.createDataFrame(pa.Table.from_pylist([], FEATURES))
    watch.start()
    start = time.perf_counter()
    near_duplicates(rows, choices, str(work)).write.parquet(str(folder / "decisions"))
    seconds = time.perf_counter() - start
    watch.stop()
    found = pq.read_table(folder / "decisions", columns=["offset", "verdict", "representative"])
    found = found.sort_by("offset")
    digest = hashlib.blake2b(digest_size=6)
    for name in found.column_names:
        for chunk in found.column(name).combine_chunks().to_pylist():
            digest.update(repr(chunk).encode())
    kept = found.column("verdict").to_pylist().count("unique")
    print(
        f"{kind:8} {seconds:7.1f} s  worker {watch.peaks['python']}, JVM {watch.peaks['java']} MB"
        f"  kept {kept}  answer {digest.hexdigest()}  killed {watch.killed}",
        flush=True,
    )
    if asked.check and rule == "plain":
        tokens = array("i", [100]) * len(fingerprints)
        numbers = array("Q", fingerprints.tobytes())
        start = time.perf_counter()
        expected = decide_plain(numbers, lambda rank: b"", tokens, DISTANCE)
        spent = time.perf_counter() - start
        urls = [None if one < 0 else f"http://a.example/{one}" for one in expected.kept]
        is_equal = urls == found.column("representative").to_pylist()
        print(f"    one machine {spent:.1f} s: {'identical' if is_equal else 'ANOTHER ANSWER'}")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--kinds", nargs="+", choices=PLAIN + VERIFIED, default=PLAIN + VERIFIED)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--kill", help="the stage in which an executor is killed")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    Engine.stage = timed(Engine.stage)  # type: ignore[method-assign]
    base: dict[bool, float] = {}
    with session(asked.master, asked.partitions) as spark:
        for kind in asked.kinds:
            folder = Path(tempfile.mkdtemp(prefix="bench_batch_"))
            try:
                seconds = measure(spark, kind, asked, folder)
            finally:
                shutil.rmtree(folder)
            print(f"    {seconds / base.setdefault(kind in PLAIN, seconds):.2f} of the first kind")


if __name__ == "__main__":
    main()
