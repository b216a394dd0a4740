"""The pages that earlier batches on Spark have kept, in a folder, and what they knew of sites.

Each batch that added its pages has a folder in it::

    rule                      the rule of all batches
    000002-4f1c.../repeated   the blocks that each place repeats which this batch was first to meet
    000002-4f1c.../crowded    the keys that too many pages have
    000002-4f1c.../pages      the kept pages, with their ranks: written last

Known pages come before those of a batch: their ranks are negative.  Only those that may be like one
of the batch take part.  For the plain rule, the fingerprints of the batch go to each executor, and
the known ones stream past them (Manku, Jain and Das Sarma, section 3.3): these are never shuffled,
however many they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial, reduce

import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from scrapy_simhash.batch.features import Choices
from scrapy_simhash.batch.local import find_plain, queries, rule_of
from scrapy_simhash.batch.rule import Repeated
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.spark.engine import Batches, Engine
from scrapy_simhash.spark.pages import marked

Queries = tuple[pa.Array, pa.Array]

CROWDED = pa.schema({"key": pa.int64()})
# The tables of this many fingerprints take 1.4 GB in each worker.  If a batch has more, all known
# pages take part in it.
MOST_QUERIES = 50_000_000
_LOWEST_RANK = -(1 << 62)


class KnownBatches:
    """What a batch with this *name* knows: all but what it has added itself, so twice is as once.

    Without a *folder*, nothing is known, and nothing is kept.

    :raises SimhashError: the folder was made with another rule.
    """

    def __init__(self, engine: Engine, folder: str | None, name: str, choices: Choices) -> None:
        self._engine = engine
        self._folder = folder
        self._name = name
        self._distance = choices.pipeline.parameters.distance
        self._parts: list[str] = []
        if folder is None:
            return
        rule = rule_of(choices)
        if (has := engine.noted(f"{folder}/rule", rule)) != rule:
            raise SimhashError(f"{folder} was made with {has}; this batch has {rule}")
        self._parts = [
            part
            for part in engine.names(folder)
            if not part.endswith(f"-{name}") and engine.is_done(f"{folder}/{part}/pages")
        ]

    @property
    def repeated(self) -> DataFrame:
        """The blocks that places are known to repeat."""
        return self._read("repeated", from_arrow_schema(Repeated.SCHEMA)).drop("batch")

    @property
    def crowded(self) -> DataFrame:
        """The keys that too many pages have."""
        return self._read("crowded", from_arrow_schema(CROWDED)).select("key").distinct()

    def beside(self, pages: DataFrame, repeated: DataFrame | None = None) -> DataFrame:
        """Return the pages of a batch, and before them those that one may be a duplicate of.

        *repeated* are the blocks that places repeat; without it, fingerprints alone count.
        """
        if not self._parts:
            return pages
        known = self._engine.stage("known", lambda: self._relevant(pages, repeated))
        return known.unionByName(pages)

    def _relevant(self, pages: DataFrame, repeated: DataFrame | None) -> DataFrame:
        known = self._read("pages", pages.schema)
        if repeated is None:
            found = self._near(known, pages)
        else:
            found = marked(self._engine, self._alike(known, pages), repeated)
        rank = F.monotonically_increasing_id() + F.lit(_LOWEST_RANK)
        return found.orderBy("batch", "rank").withColumn("rank", rank).drop("batch")

    def add(self, pages: DataFrame, found: DataFrame, **learned: DataFrame) -> None:
        """Add those of *pages* that are kept, and what the batch has *learned*, by its name.

        *found* are the duplicates.
        """
        if self._folder is None:
            return
        folder = f"{self._folder}/{len(self._parts) + 1:06}-{self._name}"
        kept = pages.where("reason is null").join(found, "rank", "anti")
        for kind, rows in {**learned, "pages": kept}.items():
            rows.write.mode("overwrite").parquet(f"{folder}/{kind}")

    def _read(self, kind: str, schema: StructType) -> DataFrame:
        """Return the rows of a kind that batches have added, with the number of each *batch*."""
        spark = self._engine.spark
        frames = [spark.createDataFrame([], schema).withColumn("batch", F.lit(0))]
        for number, part in enumerate(self._parts):
            rows = spark.read.schema(schema).parquet(f"{self._folder}/{part}/{kind}")
            frames.append(rows.withColumn("batch", F.lit(number)))
        return reduce(DataFrame.unionByName, frames)

    def _alike(self, known: DataFrame, pages: DataFrame) -> DataFrame:
        """Return the known pages that have a text or a key in common with one of *pages*."""
        keys = pages.select(F.explode("keys").alias("key")).join(self.crowded, "key", "anti")
        by_key = known.select("batch", "rank", F.explode("keys").alias("key")).join(
            keys, "key", "semi"
        )
        by_text = known.join(pages.where("text is not null"), "text", "semi")
        both = by_key.select("batch", "rank").union(by_text.select("batch", "rank"))
        return known.join(both, ["batch", "rank"], "semi")

    def _near(self, known: DataFrame, pages: DataFrame) -> DataFrame:
        """Return the known pages whose fingerprints, or short texts, are near those of *pages*."""
        asked = pages.where("tokens is not null").select("fingerprint", "digest", "tokens")
        asked = asked.distinct()
        if asked.count() > MOST_QUERIES:
            return known
        sent = self._engine.spark.sparkContext.broadcast(queries(asked.toArrow()))
        return self._engine.map(known, partial(_scanned, sent, self._distance), known.schema)


def _scanned(sent: Broadcast[Queries], distance: int, batches: Batches) -> Batches:
    find = _finder(sent, distance)
    for batch in batches:
        yield batch.filter(find(batch))


@lru_cache(maxsize=1)
def _finder(sent: Broadcast[Queries], distance: int) -> Callable[[pa.RecordBatch], pa.Array]:
    """Return what finds known pages; a worker of Python makes its tables once."""
    fingerprints, short = sent.value
    return find_plain(fingerprints, short, distance)
