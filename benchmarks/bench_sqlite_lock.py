"""How many transactions a second do processes share in one SQLite file, without the package?

Each transaction writes rows of 700 bytes, each with two indexes by hashes, as a page does; there is
no look-up and no rule.  What bench_store.py takes beside it is the package's own part.

    python benchmarks/bench_sqlite_lock.py PROCESSES TRANSACTIONS ROWS_IN_EACH
"""

import multiprocessing
import os
import sqlite3
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path


def write(path: Path, transactions: int, rows: int) -> list[tuple[float, float]]:
    """Return the seconds that each transaction took, and those of the processor."""
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    connection.executescript("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384;")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    taken = []
    for _ in range(transactions):
        began, worked = time.perf_counter(), time.thread_time()
        while not connection.in_transaction:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                time.sleep(0.0001)
        for _ in range(rows):
            row = os.urandom(4), os.urandom(4), bytes(700)
            connection.execute("INSERT INTO pages (a, b, c) VALUES (?, ?, ?)", row)
        connection.execute("COMMIT")
        taken.append((time.perf_counter() - began, time.thread_time() - worked))
    return taken


if __name__ == "__main__":
    processes, transactions, rows = map(int, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder, multiprocessing.Pool(processes) as pool:
        path = Path(folder) / "pages.sqlite"
        sqlite3.connect(path).executescript(
            "PRAGMA journal_mode = WAL; CREATE TABLE pages (id INTEGER PRIMARY KEY, a, b, c);"
            "CREATE INDEX pages_by_a ON pages (a); CREATE INDEX pages_by_b ON pages (b);"
        )
        began = time.perf_counter()
        every = pool.starmap(write, [(path, transactions, rows)] * processes)
        seconds = time.perf_counter() - began
        taken, worked = map(sorted, zip(*chain.from_iterable(every), strict=True))
        print(f"{len(taken) * rows / seconds:,.0f} rows a second,", end=" ")
        print(f"{len(taken) * rows / sum(worked):,.0f} a second of the processor;", end=" ")
        print(f"99 of 100 transactions within {1000 * taken[int(0.99 * len(taken))]:.2f} ms")
