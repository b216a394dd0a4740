"""How long does an index file take to open, and how much memory do its tables take?

Fills an index with the pages of bench_store.py, row by row without judging them; four in five are
kept.  Then opens it three times: from the rows alone, with the segments that a crawl would have
written, and with the middle segment damaged.  Prints the seconds, the memory by which the process
grew, and the memory that the tables report.

Leaves out: reading the file from a cold disk; templates; several scopes, unless --scopes gives
their number.

    python benchmarks/bench_open.py [--pages 10000000] [--scopes 1] [--file PATH] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import sqlite3
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_store import PARAMETERS, Pages, resident_bytes

from scrapy_simhash.index.sqlite.index import SQLiteIndex
from scrapy_simhash.index.sqlite.rows import Rows


def fill(path: Path, count: int, scopes: int) -> None:
    """Make an index of *count* pages, like the one that judging them makes."""
    asyncio.run(SQLiteIndex(path, PARAMETERS).close())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -1000000")
        stored, pages = Rows(connection), Pages()
        for start in range(0, count, 100_000):
            connection.execute("BEGIN")
            for i in range(start, min(start + 100_000, count)):
                scope = f"site{i * 7919 % scopes}.example" if scopes > 1 else ""
                representative = i if i % 5 == 4 else None
                stored.insert(i + 1, replace(pages[i], scope=scope), representative)
            connection.execute("COMMIT")


def opened(path: Path, results: Any) -> None:
    before, started = resident_bytes(), time.perf_counter()
    index = SQLiteIndex(path, PARAMETERS)
    taken = time.perf_counter() - started
    results.put(
        (taken, resident_bytes() - before, sum(one.nbytes for one in index._tables._views.values()))
    )
    asyncio.run(index.close())


def open_anew(path: Path, count: int) -> dict[str, float]:
    """Open the index in a separate process."""
    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    child = spawn.Process(target=opened, args=(path, results))
    child.start()
    seconds, grown, tables = results.get()
    child.join()
    return {
        "seconds": seconds,
        "memory_bytes_per_page": grown / count,
        "of_it_tables": tables / count,
    }


def write_segments(path: Path) -> tuple[float, int]:
    """Write all segments; return the processor time in seconds, and the bytes."""
    index = SQLiteIndex(path, PARAMETERS)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        started = time.thread_time()
        while index._segments.write(connection):
            pass
        taken = time.thread_time() - started
        (size,) = connection.execute("SELECT sum(length(data)) FROM segments").fetchone()
    asyncio.run(index.close())
    return taken, size or 0


def measure(path: Path, count: int, scopes: int) -> dict[str, Any]:
    if not path.exists():
        fill(path, count, scopes)
    found: dict[str, Any] = {"pages": count, "scopes": scopes, "rows": open_anew(path, count)}
    seconds, size = write_segments(path)
    found["segments"] = {"seconds": seconds, "bytes_per_page": size / count}
    found["with_segments"] = open_anew(path, count)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "UPDATE segments SET data = zeroblob(9) WHERE since <= ? AND until > ?",
            (count // 2, count // 2),
        )
        connection.commit()
    found["with_damaged_segment"] = open_anew(path, count)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=10_000_000)
    parser.add_argument("--scopes", type=int, default=1)
    parser.add_argument("--file", type=Path, help="where the index is made (and left)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        path = args.file or Path(folder) / "pages.simhash"
        found = measure(path, args.pages, args.scopes)
    if args.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        for key, number in value.items() if isinstance(value, dict) else [("", value)]:
            print(f"{name:>22} {key:22} {number:,.3f}".rstrip("0").rstrip("."))


if __name__ == "__main__":
    main()
