"""The paper's rule on Spark: pages of one fingerprint collapse, and near ones meet in a bucket.

Fingerprints meet in the places of :mod:`~scrapy_simhash.spark.places`, which go to buckets by a
hash.  In a bucket, permuted tables find all fingerprints that are near one, of whatever place: a
pair that is found twice does no harm, since only the best for each fingerprint counts.

So no pairs are written: a million pages within a few bits of each other have 10**11.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from scrapy_simhash.batch.rule import MIN_TOKENS
from scrapy_simhash.spark.engine import Batches, Engine
from scrapy_simhash.spark.places import Division
from scrapy_simhash.spark.rounds import Graph, decided
from scrapy_simhash.tables import PermutedTables, Table, design

ROWS_OF_BUCKET = 200_000
# The mean number of buckets of a task: they go to tasks by a hash.
BUCKETS_OF_TASK = 8
# The driver learns from this many fingerprints where they crowd.
SAMPLED = 1_000_000
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
    graph = Near.of(engine, whole, distance)
    found = decided(engine, graph)
    closest = engine.stage("closest", lambda: graph.oldest(found))
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


@dataclass(frozen=True)
class Near(Graph):
    """The graph of *whole*, different fingerprints: those within a distance are neighbours."""

    engine: Engine
    whole: DataFrame
    distance: int
    division: Division
    buckets: int

    @classmethod
    def of(cls, engine: Engine, whole: DataFrame, distance: int) -> Near:
        """Return the graph, for which the driver looks at some of the fingerprints."""
        count = max(1, whole.count())
        share = min(1.0, SAMPLED / count)
        sample = whole.select("fingerprint").sample(share, seed=1).limit(2 * SAMPLED).toArrow()
        division = Division.of(_unsigned(sample, "fingerprint"), share, distance)
        rows = count * (distance + 1)
        buckets = max(BUCKETS_OF_TASK * engine.partitions, rows // ROWS_OF_BUCKET)
        return cls(engine, whole, distance, division, buckets)

    @cached_property
    def nodes(self) -> DataFrame:
        return self.engine.stage("near", lambda: self.beside(self.whole).select(*NODES.names))

    def waiting(self, left: DataFrame) -> DataFrame:
        return self.beside(left).where("is_later").select("rank")

    def dropped(self, waiting: DataFrame, kept: DataFrame) -> DataFrame:
        return self.closest(waiting, kept).where("kept < rank").select("rank")

    def rows(self, left: DataFrame) -> DataFrame:
        return left

    def kept(self, rows: pa.Table) -> Iterator[tuple[int, bool]]:
        some = _Some.of(rows)
        tables = some.empty_tables(self.distance)
        for item, fingerprint in enumerate(some.fingerprints.tolist()):
            yield int(some.ranks[item]), tables.check_and_add(fingerprint, item) is None

    def beside(self, some: DataFrame) -> DataFrame:
        """Return those of *some* that are near others, and whether one of these is earlier."""
        found = self._in_buckets(some.select(*NODES.names), partial(_beside, self.distance), BESIDE)
        return found.groupBy(*NODES.names).agg(F.max("is_later").alias("is_later"))

    def closest(self, some: DataFrame, kept: DataFrame) -> DataFrame:
        """Return the oldest of *kept* at each *distance* from each of *some*."""
        both = [
            one.select(*NODES.names, F.lit(is_kept).alias("is_kept"))
            for one, is_kept in ((some, False), (kept, True))
        ]
        found = self._in_buckets(both[0].union(both[1]), partial(_nearest, self.distance), CLOSEST)
        return found.groupBy("rank", "distance").agg(F.min("kept").alias("kept"))

    def oldest(self, decided: DataFrame) -> DataFrame:
        """Return for each dropped fingerprint the oldest kept one at each distance."""
        dropped, kept = (
            self.nodes.join(decided.where(one), "rank", "semi")
            for one in ("not is_kept", "is_kept")
        )
        return (
            self.closest(dropped, kept)
            .groupBy(F.col("rank").alias("first"))
            .agg(F.collect_list(F.struct("distance", "kept")).alias("near"))
        )

    def _in_buckets(
        self, some: DataFrame, function: Callable[[pa.Table], pa.Table], schema: pa.Schema
    ) -> DataFrame:
        place = partial(_place, self.division, self.buckets)
        placed = self.engine.map(some, place, some.withColumn("bucket", F.lit(0)).schema)
        return self.engine.map_groups(placed, "bucket", function, schema)


def _place(division: Division, buckets: int, batches: Batches) -> Batches:
    for batch in batches:
        for numbers, places in division.places(_unsigned(batch, "fingerprint")):
            placed = batch.take(pa.array(numbers))
            bucket = pa.array((places % np.uint64(buckets)).astype(np.int32))
            yield placed.append_column("bucket", bucket)


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

    def empty_tables(self, distance: int) -> PermutedTables:
        """Return tables for as many."""
        return PermutedTables(distance, _design(distance, len(self.ranks).bit_length()))

    def tables(self, distance: int) -> PermutedTables:
        """Return tables with them, by their places in the order."""
        tables, items = self.empty_tables(distance), array("I", range(len(self.ranks)))
        tables.build(array("Q", self.fingerprints.tobytes()), items)
        return tables


@lru_cache(maxsize=100)
def _design(distance: int, bits: int) -> tuple[Table, ...]:
    return design(1 << bits, distance, TABLE_BYTES << bits).tables


def _beside(distance: int, bucket: pa.Table) -> pa.Table:
    some = _Some.of(bucket)
    tables, values = some.tables(distance), some.fingerprints.tolist()
    # Each probe may find the fingerprint itself, also one of a key beside its own.
    most = sum(len(table.flips) for table in tables.tables) + 1
    near = [item for item, one in enumerate(values) if len(tables.matches(one, most)) > 1]
    earlier = some.empty_tables(distance)
    is_later: list[bool] = []
    for item in near:
        is_later.append(earlier.nearest(values[item]) is not None)
        earlier.add(values[item], item)
    found: np.ndarray = some.fingerprints[near].view(np.int64)
    columns = {"rank": some.ranks[near], "fingerprint": found, "is_later": is_later}
    return pa.table(columns, BESIDE)


def _nearest(distance: int, bucket: pa.Table) -> pa.Table:
    is_kept = bucket.column("is_kept")
    kept, some = (_Some.of(bucket.filter(one)) for one in (is_kept, pc.invert(is_kept)))
    tables = kept.tables(distance)
    items, _ = tables.check_many(array("Q", some.fingerprints.tobytes()))
    rows: list[tuple[int, int, int]] = []
    for at in np.flatnonzero(np.array(items) >= 0).tolist():
        oldest: dict[int, int] = {}
        for near in tables.matches(int(some.fingerprints[at])):
            oldest.setdefault(near.distance, near.item)
        rows += [(at, distance, item) for distance, item in oldest.items()]
    found: np.ndarray = np.array(rows, np.int64).reshape(-1, 3).T
    columns = {"rank": some.ranks[found[0]], "distance": found[1], "kept": kept.ranks[found[2]]}
    return pa.table(columns, CLOSEST)
