"""Is the answer of Spark that of one machine, on whole sites, however the work is cut?

    python benchmarks/bench_batch_engines.py SITE... [--partitions 1 2 7 64] [--master local[2]]

SITE is a folder with ``site.tar.xz`` and ``gold.jsonl.gz``.  Their pages, in a seeded order, are
cut into seven Parquet files: HTML for the verified rule, the texts that people have marked for the
plain one.  Each has a date and a rank, drawn with a seed; others have the same, and some none.
One machine decides once for each rule and order, Spark once for each number of partitions, from
features that it has read once.  Spark gets the files shuffled; with ``--order input`` both do.

Prints for each whether the decisions, sorted by their places, are the same bytes.  Leaves out: more
than one executor, and what is stopped (``bench_batch.py --kill``).  It needs scrapy-simhash[spark].
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from hashlib import blake2b
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from bench_archives import ROWS_AT_ONCE, pages_of
from bench_batch import session

from scrapy_simhash.batch import local
from scrapy_simhash.batch.features import Choices
from scrapy_simhash.batch.records import Columns, inputs
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.spark import features, near_duplicates

FILES = 7
CONTENTS = {"verified": "html", "plain": "text"}
ORDERS = ("date", "input", "rank")


def write_files(folder: Path, sites: list[Path], draw: random.Random) -> None:
    """Write the pages of some sites for both rules."""
    pages = pages_of(sites)
    draw.shuffle(pages)
    for page in pages:
        page["date"] = draw.choice([None, *range(5_000)])
        page["rank"] = draw.choice([None, *(number / 4 for number in range(-2_000, 2_000))])
    for rule, content in CONTENTS.items():
        (folder / rule).mkdir()
        for number in range(FILES):
            names = "url", content, "date", "rank"
            rows = [{name: page[name] for name in names} for page in pages[number::FILES]]
            table = pa.Table.from_pylist(rows)
            pq.write_table(table, folder / rule / f"{number}.parquet", row_group_size=ROWS_AT_ONCE)


def digest_of(decisions: pa.Table) -> str:
    """Return a digest of all bytes of decisions, sorted by their places."""
    rows = decisions.cast(local.DECISIONS).sort_by([("file", "ascending"), ("offset", "ascending")])
    packed = pa.BufferOutputStream()
    with pa.ipc.new_stream(packed, local.DECISIONS) as writer:
        writer.write_table(rows.combine_chunks())
    return blake2b(packed.getvalue(), digest_size=8).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sites", nargs="+", type=Path)
    parser.add_argument("--partitions", nargs="+", type=int, default=[1, 2, 7, 64])
    parser.add_argument("--master", default="local[2]")
    asked = parser.parse_args()
    draw = random.Random(1)
    with tempfile.TemporaryDirectory() as name, session(asked.master, 1) as spark:
        folder = Path(name)
        # Spark would join small partitions, and these are small.
        spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", False)
        write_files(folder, asked.sites, draw)
        for rule, order in product(CONTENTS, ORDERS):
            columns = Columns(order="rank" if order == "rank" else None)
            files = sorted(map(str, (folder / rule).iterdir()))
            shuffled = draw.sample(files, FILES)
            choices = Choices(rule, order, SimhashSettings(workers=2))
            out, work = folder / "decisions", folder / f"{rule} {order}"
            start = time.perf_counter()
            sources = inputs(shuffled if order == "input" else files, columns)
            local.run(sources, choices, work, out)
            expected = pq.read_table(out)
            dropped = expected.num_rows - expected["copies"].drop_null().length()
            print(
                f"{rule} {order}: {expected.num_rows:,} pages, {dropped:,} dropped, "
                f"{digest_of(expected)}, {time.perf_counter() - start:.0f} s",
                flush=True,
            )
            read = features(spark, inputs(shuffled, columns), choices)
            read.write.parquet(f"{work}/on spark")
            for partitions in asked.partitions:
                start = time.perf_counter()
                spark.conf.set("spark.sql.shuffle.partitions", partitions)
                found = near_duplicates(spark.read.parquet(f"{work}/on spark"), choices)
                digest = digest_of(found.toArrow())
                said = "identical" if digest == digest_of(expected) else f"ANOTHER: {digest}"
                seconds = time.perf_counter() - start
                print(f"    {partitions:3} partitions {seconds:7.1f} s  {said}", flush=True)


if __name__ == "__main__":
    main()
