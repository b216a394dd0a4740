"""What other tools take for duplicates in a Parquet file of urls and texts.

    PYTHON benchmarks/bench_batch_peers.py datatrove|text-dedup FILE OUT

PYTHON has datatrove[processing] or text-dedup: :mod:`bench_archives.py` runs this by another Python
than its own, since their dependencies and ours exclude each other.  OUT gets JSON: for each URL
that is dropped, the one of its cluster that is kept.  Both tools are used with their defaults.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def datatrove(file: Path, folder: Path) -> dict[str, str]:
    from datatrove.data import Document
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.base import PipelineStep
    from datatrove.pipeline.dedup.minhash import (
        MinhashConfig,
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupSignature,
    )

    rows = pq.read_table(file).to_pylist()

    class Rows(PipelineStep):  # type: ignore[misc]
        name = "rows"
        type = "reader"

        def run(self, data: object, rank: int = 0, world_size: int = 1):  # type: ignore[no-untyped-def]
            for row in rows:
                yield Document(text=row["text"], id=row["url"])

    signatures, buckets, found = (str(folder / name) for name in ("s", "b", "c"))
    config = MinhashConfig()
    for step, tasks in (
        ([Rows(), MinhashDedupSignature(signatures, config)], 1),
        ([MinhashDedupBuckets(signatures, buckets, config=config)], config.num_buckets),
        ([MinhashDedupCluster(buckets, found, config, save_cluster_id=True)], 1),
    ):
        logs = str(folder / f"logs-{len(list(folder.iterdir()))}")
        LocalPipelineExecutor(step, tasks=tasks, workers=1, logging_dir=logs).run()
    removed = (Path(found) / "000000.remove").read_bytes()
    dropped = {number for (number,) in struct.iter_unpack("<I", removed)}
    clusters = dict(struct.iter_unpack("<II", (Path(found) / "000000.clusters").read_bytes()))
    kept = {cluster: number for number, cluster in clusters.items() if number not in dropped}
    return {rows[number]["url"]: rows[kept[clusters[number]]]["url"] for number in sorted(dropped)}


def text_dedup(file: Path, folder: Path) -> dict[str, str]:
    import pickle

    # It stops on a shorter text, of which it takes no n-grams.
    rows = [row for row in pq.read_table(file).to_pylist() if len(row["text"]) >= 5]
    given, out = folder / "given.parquet", folder / "out"
    pq.write_table(pa.Table.from_pylist(rows), given)
    subprocess.run(
        [
            *(sys.executable, "-m", "text_dedup.simhash"),
            *("--path", "parquet", "--data_files", str(given), "--split", "train"),
            *("--cache_dir", str(folder / "cache"), "--output", str(out), "--column", "text"),
            *("--num_proc", "1", "--debug"),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    urls = [row["url"] for row in rows]
    with (out / "uf.pkl").open("rb") as dumped:
        parents = pickle.load(dumped)
    parents = getattr(parents, "parent", parents)
    dropped = {}
    for number in parents:
        kept = number
        while parents[kept] != kept:
            kept = parents[kept]
        if kept != number:
            dropped[urls[number]] = urls[kept]
    return dropped


TOOLS = {"datatrove": datatrove, "text-dedup": text_dedup}

if __name__ == "__main__":
    tool, source, target = sys.argv[1:]
    with tempfile.TemporaryDirectory() as temporary:
        Path(target).write_text(json.dumps(TOOLS[tool](Path(source), Path(temporary))))
