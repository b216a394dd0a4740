"""A batch on one machine, in stages: each leaves files in a folder, and is skipped when it is done.

========================  ====================================================================
``run.json``              what the batch was asked for: another one is refused
``features/N.parquet``    the rows of the N-th input (:mod:`scrapy_simhash.batch.features`)
``repeated.parquet``      the blocks that each place repeats
``seen/N.arrow``          the pages of the N-th input as the rule compares them
``ordered.arrow``         all pages in the order of the batch
========================  ====================================================================

Pages of several gigabytes are mapped into memory, never read into it.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from scrapy_simhash.batch.decisions import (
    NONE,
    Decisions,
    Groups,
    decide_plain,
    decide_verified,
    memory_of,
)
from scrapy_simhash.batch.features import ORDER, Choices, FeatureReader
from scrapy_simhash.batch.records import Input
from scrapy_simhash.batch.rule import (
    Repeated,
    Row,
    Sampled,
    Samples,
    Seen,
    learned,
    places_of,
    seen,
    signed,
    unsigned,
)
from scrapy_simhash.files import replacing
from scrapy_simhash.hashes import hash_of

VERSION = 1

REPEATED = pa.schema({"place": pa.string(), "blocks": pa.list_(pa.int64())})
# What a page is compared by, beside its place in the order.
SEEN = pa.schema(
    {
        "number": pa.int64(),
        "words": pa.string(),
        "url": pa.string(),
        "payload": pa.binary(),
        "file": pa.string(),
        "offset": pa.int64(),
        "date": pa.timestamp("us", "UTC"),
        "reason": pa.string(),
        "fingerprint": pa.int64(),
        "digest": pa.binary(),
        "tokens": pa.int32(),
        "canonical": pa.string(),
        "content_fingerprint": pa.int64(),
        "heading": pa.int64(),
        "sketch": pa.binary(),
        "class": pa.binary(),
        "text": pa.binary(),
        "keys": pa.list_(pa.int64()),
    }
)

COMPARED = (
    "url",
    "fingerprint",
    "digest",
    "tokens",
    "canonical",
    "content_fingerprint",
    "heading",
    "sketch",
)

# Sampled pages are read for so many pages of an archive at once: 60 blocks of 8 bytes each.
PAGES_AT_ONCE = 1_000_000
ROWS_AT_ONCE = 1_000
# Pages that were compared last are kept unpacked: each takes about 2 KB.
UNPACKED_KEPT = 50_000


def learn(features: Sequence[Path], path: Path) -> None:
    """Learn from the pages of an archive what each place repeats, and write it."""
    pages = sum(pq.read_metadata(one).num_rows for one in features)
    parts = -(-pages // PAGES_AT_ONCE)
    with replacing(path) as unfinished, pq.ParquetWriter(unfinished, REPEATED) as writer:
        for part in range(parts):
            for place, sample in _samples(features, part, parts):
                if blocks := learned(sample):
                    row = {"place": place, "blocks": sorted(map(signed, blocks))}
                    writer.write_batch(pa.RecordBatch.from_pylist([row], REPEATED))


def _samples(
    features: Sequence[Path], part: int, parts: int
) -> Iterator[tuple[str, list[Sampled]]]:
    """Yield the places of a part of an archive, with the pages of their samples in order."""
    samples = Samples()
    columns = ["url", "sample", "blocks", "fingerprint", "tokens"]
    for path in features:
        for batch in pq.ParquetFile(path).iter_batches(ROWS_AT_ONCE, columns=columns):
            for row in batch.to_pylist():
                if row["sample"] is None:
                    continue
                for place in places_of(row["url"]):
                    if hash_of(place) % parts == part:
                        samples.draw(place, row)
    for place in sorted(samples):
        yield place, [page for _, page in samples.numbered(place)]


@lru_cache(maxsize=1)
def _repeated(path: str) -> Repeated:
    """Return what the places of an archive repeat."""
    found = Repeated()
    for batch in pq.ParquetFile(path).iter_batches(ROWS_AT_ONCE):
        for row in batch.to_pylist():
            found[row["place"]] = frozenset(map(unsigned, row["blocks"]))
    return found


def see(features: Path, repeated: Path, path: Path) -> None:
    """Write the pages of one file of features as the rule compares them."""
    known = _repeated(str(repeated))
    with replacing(path) as unfinished, pa.ipc.new_file(str(unfinished), SEEN) as writer:
        for batch in pq.ParquetFile(features).iter_batches(ROWS_AT_ONCE):
            rows = [seen(row, known.beside(row["url"])) for row in batch.to_pylist()]
            writer.write_batch(pa.RecordBatch.from_pylist(rows, SEEN))


def put_in_order(parts: Sequence[Path], path: Path) -> None:
    """Write all pages of *parts* in the order of the batch."""
    table = pa.concat_tables([_mapped(part) for part in parts])
    order = pc.sort_indices(table, [(name, "ascending") for name in ORDER], null_placement="at_end")
    with replacing(path) as unfinished, pa.ipc.new_file(str(unfinished), SEEN) as writer:
        for start in range(0, len(order), ROWS_AT_ONCE):
            writer.write_table(table.take(order.slice(start, ROWS_AT_ONCE)).combine_chunks())


def _mapped(path: Path) -> pa.Table:
    """Return a table whose file is mapped into memory."""
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()


class Ordered:
    """The pages of a batch in their order, each by its rank."""

    def __init__(self, table: pa.Table, repeated: Repeated) -> None:
        self.table = table
        self._batches = table.to_batches()
        self._repeated = repeated
        self.page = lru_cache(UNPACKED_KEPT)(self._page)

    def numbers(self, column: str) -> Sequence[int]:
        """Return a number for each different value of a column, by its first page; -1 for None."""
        codes = self.table.column(column).combine_chunks().dictionary_encode().indices
        return memory_of(codes.fill_null(-1))

    def groups(self, classes: Sequence[int]) -> Groups:
        """Return the groups of the classes that share a key."""
        met = -1
        firsts = array("q")
        for rank, number in enumerate(classes):
            if number > met:
                met = number
                firsts.append(rank)
        return Groups(self.table.column("keys").take(pa.array(firsts)).combine_chunks())

    def fields(self, rank: int, columns: Iterable[str]) -> Row:
        """Return some fields of a page."""
        batch = self._batches[rank // ROWS_AT_ONCE]
        at = rank % ROWS_AT_ONCE
        return {name: batch.column(name)[at].as_py() for name in columns}

    def digest(self, rank: int) -> bytes:
        """Return the digest of a page's text."""
        found: bytes = self.fields(rank, ["digest"])["digest"]
        return found

    def _page(self, rank: int) -> Seen:
        row = self.fields(rank, COMPARED)
        return Seen.of(row, self._repeated.beside(row["url"]))


DECISIONS = pa.schema(
    {
        "url": pa.string(),
        "date": pa.timestamp("us", "UTC"),
        "file": pa.string(),
        "offset": pa.int64(),
        "verdict": pa.string(),
        "reason": pa.string(),
        "representative": pa.string(),
        "representative_file": pa.string(),
        "representative_offset": pa.int64(),
        "distance": pa.int8(),
        "share": pa.float32(),
        # How many pages this one, which is kept, stands for.
        "copies": pa.int64(),
        # Whether it is kept without having been compared with all that share a key with it.
        "crowded": pa.bool_(),
    }
)
_AS_THEY_ARE = ("url", "date", "file", "offset")


def write_decisions(pages: Ordered, decisions: Decisions, path: Path) -> None:
    """Write the decisions on all pages of a batch, in its order."""
    copies = Counter(kept for kept in decisions.kept if kept != NONE)
    table = pages.table
    with replacing(path) as unfinished, pq.ParquetWriter(unfinished, DECISIONS) as writer:
        for start in range(0, len(table), ROWS_AT_ONCE):
            chunk = table.slice(start, ROWS_AT_ONCE)
            rows = []
            for at, row in enumerate(chunk.select([*_AS_THEY_ARE, "reason"]).to_pylist()):
                rank = start + at
                found = decisions[rank]
                if row["reason"] is not None:
                    row["verdict"] = "skipped"
                elif found is None:
                    row |= {"verdict": "unique", "reason": "new_text", "copies": copies[rank]}
                    row["crowded"] = rank in decisions.crowded
                else:
                    kept = pages.fields(found.kept, _AS_THEY_ARE)
                    row |= {
                        "verdict": found.verdict,
                        "reason": found.reason,
                        "representative": kept["url"],
                        "representative_file": kept["file"],
                        "representative_offset": kept["offset"],
                        "distance": found.distance,
                        "share": found.share,
                    }
                rows.append(row)
            writer.write_batch(pa.RecordBatch.from_pylist(rows, DECISIONS))


def decide(pages: Ordered, choices: Choices) -> Decisions:
    """Decide on the pages of a batch."""
    parameters = choices.pipeline.parameters
    if choices.verifies:
        classes = pages.numbers("class")
        groups = pages.groups(classes)
        return decide_verified(classes, pages.numbers("text"), groups, pages.page, parameters)
    tokens = memory_of(pages.table.column("tokens").combine_chunks().fill_null(-1))
    fingerprints = pages.table.column("fingerprint").combine_chunks().fill_null(0)
    return decide_plain(
        memory_of(fingerprints).cast("B").cast("Q"), pages.digest, tokens, parameters.distance
    )


def run(sources: Sequence[Input], choices: Choices, work: Path, out: Path) -> None:
    """Run a batch: every stage that is not done yet."""
    for name in "features", "seen":
        (work / name).mkdir(parents=True, exist_ok=True)
    features = [work / "features" / f"{source.number:05}.parquet" for source in sources]
    with FeatureReader(choices) as reader:
        for source, path in zip(sources, features, strict=True):
            if not path.exists():
                reader.write(source, path)
    repeated = work / "repeated.parquet"
    if not repeated.exists():
        learn(features, repeated)
    parts = [work / "seen" / f"{path.stem}.arrow" for path in features]
    to_see = [(one, repeated, part) for one, part in zip(features, parts, strict=True)]
    to_see = [job for job in to_see if not job[2].exists()]
    if to_see:
        processes = choices.settings.workers or 1
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            list(pool.map(see, *zip(*to_see, strict=True)))
    ordered = work / "ordered.arrow"
    if not ordered.exists():
        put_in_order(parts, ordered)
    pages = Ordered(_mapped(ordered), _repeated(str(repeated)))
    write_decisions(pages, decide(pages, choices), out)
