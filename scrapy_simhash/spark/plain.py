"""The paper's rule on Spark: pages of one fingerprint collapse, and near ones meet in a bucket.

A fingerprint is placed by each of k + 1 blocks.  Two that differ in at most k bits have one block
in common, so they meet in a place.  A place is a mask and the bits under it; one with too many
fingerprints is divided by k + 1 blocks of the other bits, and stays exact.  Places go to buckets by
a hash.  In a bucket, permuted tables find all fingerprints that are near one, of whatever place: a
pair that is found twice does no harm, since only the best for each fingerprint counts.

So no pairs are written: a million pages within a few bits of each other have 10**11.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from scrapy_simhash.batch.rule import MIN_TOKENS
from scrapy_simhash.spark.engine import Batches, Engine, runs
from scrapy_simhash.spark.rounds import decided
from scrapy_simhash.tables import PermutedTables, Table, design
from scrapy_simhash.tables.design import BITS

# A place with more is divided.
MOST_OF_PLACE = 200_000
ROWS_OF_BUCKET = 200_000
# Buckets go to tasks by a hash: a task has about as many.
BUCKETS_OF_TASK = 8
# The driver learns from as many fingerprints where they crowd.
SAMPLED = 1_000_000
LEAST_CROWD = 100
TABLE_BYTES = 64

NODES = pa.schema({"rank": pa.int64(), "fingerprint": pa.int64()})
BESIDE = NODES.append(pa.field("is_later", pa.bool_()))
CLOSEST = pa.schema({"rank": pa.int64(), "distance": pa.int32(), "kept": pa.int64()})


def duplicates(engine: Engine, pages: DataFrame, distance: int) -> DataFrame:
    """Return what pages are duplicates of, by a distance in bits."""
    judged = pages.where("tokens is not null").select("rank", "fingerprint", "digest", "tokens")
    short = judged.where(F.col("tokens") < MIN_TOKENS)
    long = judged.where(F.col("tokens") >= MIN_TOKENS)
    return _short(short).unionByName(_long(engine, long, distance))


def _short(pages: DataFrame) -> DataFrame:
    firsts = pages.groupBy("digest").agg(F.min("rank").alias("kept"))
    share = F.lit(None).cast("double").alias("share")
    same = F.lit(0).alias("distance"), share, F.lit(True).alias("is_exact")
    return pages.join(firsts, "digest").where("rank > kept").select("rank", "kept", *same)


def _long(engine: Engine, pages: DataFrame, distance: int) -> DataFrame:
    first = F.min("rank").alias("rank"), F.min_by("digest", "rank").alias("digest")
    whole = engine.stage("fingerprints", lambda: pages.groupBy("fingerprint").agg(*first))
    search = Search.of(engine, whole, distance)
    near = engine.stage("near", lambda: search.beside(whole).select(*NODES.names).distinct())
    graph = Near(search, near)
    found = decided(engine, graph)
    closest = engine.stage("closest", lambda: _closest(graph, found))
    firsts = whole.select("fingerprint", F.col("rank").alias("first"), F.col("digest").alias("its"))
    one = F.array_min(F.filter("near", lambda one: one["kept"] < F.col("rank")))
    beside = pages.join(firsts, "fingerprint").join(closest, "first", "left")
    is_same = F.col("near").isNull() & (F.col("digest") == F.col("its")) & (F.length("its") > 0)
    return (
        beside.withColumn("one", one)
        .select(
            "rank",
            F.coalesce("one.kept", "first").alias("kept"),
            F.coalesce("one.distance", F.lit(0)).alias("distance"),
            F.lit(None).cast("double").alias("share"),
            is_same.alias("is_exact"),
        )
        .where("rank != kept")
    )


def _closest(graph: Near, found: DataFrame) -> DataFrame:
    """Return for each dropped fingerprint the oldest kept one at each distance."""
    dropped, kept = (
        graph.nodes.join(found.where(one), "rank", "semi") for one in ("not is_kept", "is_kept")
    )
    oldest = graph.search.closest(dropped, kept)
    return oldest.groupBy(F.col("rank").alias("first")).agg(
        F.collect_list(F.struct("distance", "kept")).alias("near")
    )


@dataclass(frozen=True)
class Near:
    """The graph of the fingerprints that are near others."""

    search: Search
    nodes: DataFrame

    def waiting(self, left: DataFrame) -> DataFrame:
        """Return the ranks of the pages that come after a neighbour, both among those *left*."""
        return self.search.beside(left).where("is_later").select("rank")

    def dropped(self, waiting: DataFrame, kept: DataFrame) -> DataFrame:
        """Return the ranks of the pages of *waiting* that come after a neighbour in *kept*."""
        return self.search.closest(waiting, kept).where("kept < rank").select("rank")

    def rows(self, left: DataFrame) -> DataFrame:
        """Return the fingerprints *left*."""
        return left

    def kept(self, rows: pa.Table) -> Iterator[tuple[int, bool]]:
        """Yield the ranks of these fingerprints, and whether they are kept."""
        some, distance = _Some.of(rows), self.search.places.distance
        tables = PermutedTables(distance, some.design(distance))
        for item, fingerprint in enumerate(some.fingerprints.tolist()):
            yield int(some.ranks[item]), tables.check_and_add(fingerprint, item) is None


@dataclass(frozen=True)
class Search:
    """Finds the fingerprints within a distance of others."""

    engine: Engine
    places: Places

    @classmethod
    def of(cls, engine: Engine, whole: DataFrame, distance: int) -> Search:
        """Return a search among fingerprints or some of them."""
        count = max(1, whole.count())
        share = min(1.0, SAMPLED / count)
        sample = whole.select("fingerprint").sample(share, seed=1).limit(2 * SAMPLED).toArrow()
        fingerprints = sample.column("fingerprint").to_numpy().view(np.uint64)
        most = max(LEAST_CROWD, share * MOST_OF_PLACE)
        crowded: dict[int, set[int]] = {}
        for mask, values in _crowds(fingerprints, 0, distance, most):
            crowded.setdefault(mask, set()).update(values.tolist())
        arrays = {mask: np.array(sorted(some), np.uint64) for mask, some in crowded.items()}
        buckets = max(BUCKETS_OF_TASK * engine.partitions, count * (distance + 1) // ROWS_OF_BUCKET)
        return cls(engine, Places(distance, arrays, buckets))

    def beside(self, some: DataFrame) -> DataFrame:
        """Return those of *some* that are near others, and whether one of these is earlier."""
        found = self._in_buckets(some.select(*NODES.names), partial(_beside, self.places), BESIDE)
        return found.groupBy(*NODES.names).agg(F.max("is_later").alias("is_later"))

    def closest(self, some: DataFrame, kept: DataFrame) -> DataFrame:
        """Return the oldest of *kept* at each *distance* from each of *some*."""
        both = [
            one.select(*NODES.names, F.lit(is_kept).alias("is_kept"))
            for one, is_kept in ((some, False), (kept, True))
        ]
        found = self._in_buckets(both[0].union(both[1]), partial(_nearest, self.places), CLOSEST)
        return found.groupBy("rank", "distance").agg(F.min("kept").alias("kept"))

    def _in_buckets(
        self, some: DataFrame, function: Callable[[Batches], Batches], schema: pa.Schema
    ) -> DataFrame:
        fields = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in some.schema)
        place = partial(_place, self.places)
        placed = self.engine.map(some, place, f"{fields}, bucket int")
        met = placed.repartition(self.engine.partitions, "bucket").sortWithinPartitions("bucket")
        return self.engine.map(met, function, schema)


@dataclass(frozen=True)
class Places:
    """Where fingerprints meet those within a *distance*, in as many *buckets*.

    *crowded* are the places that are divided: the bits under each mask.  They need not be known
    exactly: any will do.
    """

    distance: int
    crowded: Mapping[int, np.ndarray]
    buckets: int

    def of(self, fingerprints: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield numbers of fingerprints with the buckets that they are in, each in several."""
        return self._under(0, fingerprints, np.arange(len(fingerprints)))

    def _under(
        self, mask: int, fingerprints: np.ndarray, some: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for finer in _finer(mask, self.distance):
            bits = fingerprints[some] & np.uint64(finer)
            crowded = np.isin(bits, self.crowded.get(finer, ()))
            yield some[~crowded], _hash(bits[~crowded], finer) % np.uint64(self.buckets)
            if crowded.any():
                yield from self._under(finer, fingerprints, some[crowded])


@lru_cache(maxsize=1000)
def _finer(mask: int, distance: int) -> list[int]:
    """Return the masks with one more block of bits, of distance + 1 that share the others.

    >>> [f"{one:016x}" for one in _finer(0xFFFF << 48, 1)]
    ['ffff000000ffffff', 'ffffffffff000000']
    """
    bits = [bit for bit in range(BITS) if not mask >> bit & 1]
    count = distance + 1
    ends = [len(bits) * at // count for at in range(count + 1)]
    return [mask | sum(1 << bit for bit in bits[start:end]) for start, end in pairwise(ends)]


def _crowds(
    fingerprints: np.ndarray, mask: int, distance: int, most: float
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the places with more than *most* of the fingerprints: a mask, and bits under it."""
    if BITS - mask.bit_count() <= distance:
        return
    for finer in _finer(mask, distance):
        bits = fingerprints & np.uint64(finer)
        found, counts = np.unique(bits, return_counts=True)
        crowded = found[counts > most]
        if crowded.size:
            yield finer, crowded
            for one in crowded:
                yield from _crowds(fingerprints[bits == one], finer, distance, most)


def _hash(bits: np.ndarray, mask: int) -> np.ndarray:
    """Return the finaliser of MurmurHash3, which spreads all bits."""
    mixed: np.ndarray = bits ^ np.uint64(mask * 0x9E3779B97F4A7C15 % (1 << BITS))
    for factor in 0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53:
        mixed = (mixed ^ mixed >> np.uint64(33)) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(33)
    return mixed


def _place(places: Places, batches: Batches) -> Batches:
    for batch in batches:
        for numbers, buckets in places.of(_unsigned(batch, "fingerprint")):
            placed = batch.take(pa.array(numbers))
            yield placed.append_column("bucket", pa.array(buckets.astype(np.int32)))


def _unsigned(rows: pa.RecordBatch | pa.Table, column: str) -> np.ndarray:
    numbers: np.ndarray = rows.column(column).to_numpy()
    return numbers.view(np.uint64)


@dataclass(frozen=True)
class _Some:
    """Different fingerprints in the order of their ranks."""

    ranks: np.ndarray
    fingerprints: np.ndarray

    @classmethod
    def of(cls, rows: pa.Table) -> _Some:
        ranks, at = np.unique(rows.column("rank").to_numpy(), return_index=True)
        return cls(ranks, _unsigned(rows, "fingerprint")[at])

    def design(self, distance: int) -> tuple[Table, ...]:
        """Return which tables to put them in."""
        return _design(distance, len(self.ranks).bit_length())

    def tables(self, distance: int) -> PermutedTables:
        """Return tables with them, by their places in the order."""
        tables = PermutedTables(distance, self.design(distance))
        items = array("I", range(len(self.ranks)))
        tables.build(array("Q", self.fingerprints.tobytes()), items)
        return tables


@lru_cache(maxsize=100)
def _design(distance: int, bits: int) -> tuple[Table, ...]:
    return design(1 << bits, distance, TABLE_BYTES << bits).tables


def _beside(places: Places, batches: Batches) -> Batches:
    for run in runs(batches, "bucket"):
        some = _Some.of(run)
        tables, values = some.tables(places.distance), some.fingerprints.tolist()
        most = len(tables.tables) + 1  # each table may find the fingerprint itself
        near = [item for item, one in enumerate(values) if len(tables.matches(one, most)) > 1]
        earlier = PermutedTables(places.distance, some.design(places.distance))
        is_later: list[bool] = []
        for item in near:
            is_later.append(earlier.nearest(values[item]) is not None)
            earlier.add(values[item], item)
        yield _batch(BESIDE, some.ranks[near], some.fingerprints[near].view(np.int64), is_later)


def _nearest(places: Places, batches: Batches) -> Batches:
    for run in runs(batches, "bucket"):
        is_kept = run.column("is_kept")
        kept, some = (_Some.of(run.filter(one)) for one in (is_kept, pc.invert(is_kept)))
        tables = kept.tables(places.distance)
        items, _ = tables.check_many(array("Q", some.fingerprints.tobytes()))
        rows: list[tuple[int, int, int]] = []
        for at in np.flatnonzero(np.array(items) >= 0).tolist():
            oldest: dict[int, int] = {}
            for near in tables.matches(int(some.fingerprints[at])):
                oldest.setdefault(near.distance, near.item)
            rows += [(at, distance, item) for distance, item in oldest.items()]
        ats, distances, found = np.array(rows, np.int64).reshape(-1, 3).T
        yield _batch(CLOSEST, some.ranks[ats], distances, kept.ranks[found])


def _batch(schema: pa.Schema, *columns: Sequence[int] | np.ndarray) -> pa.RecordBatch:
    arrays = [pa.array(one, field.type) for one, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
