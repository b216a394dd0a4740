"""What all stages of a batch on Spark share: where they leave their rows, and our code in tasks."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from scrapy_simhash.batch.rule import Row
from scrapy_simhash.errors import SimhashError

Batches = Iterator[pa.RecordBatch]

COMPILED = (
    "analysis.compiled",
    "analysis.compiled_walk",
    "analysis.values",
    "decision.compiled",
    "hashes",
    "tables.compiled",
)

ROWS_AT_ONCE = 1_000


class ExecutorError(SimhashError):
    """An executor cannot do its part."""


@dataclass(frozen=True)
class Engine:
    """A Spark session, with the folder *work* for what the stages of one batch leave.

    Without a folder, executors keep the rows of stages, and the batch fails if one is lost: rows
    that were made again might be others.  *allow_slow* lets executors work that have no compiled
    modules.
    """

    spark: SparkSession
    work: str | None
    allow_slow: bool

    @property
    def partitions(self) -> int:
        """How many tasks a stage has whose rows are shuffled."""
        return int(self.spark.conf.get("spark.sql.shuffle.partitions") or 200)

    def stage(self, name: str, make: Callable[[], DataFrame]) -> DataFrame:
        """Return the rows of a stage: those that it has left, or those of *make*, once."""
        if self.work is None:
            # Not only cached: the plan of a round would have those of all rounds before it.
            return make().localCheckpoint()
        path = f"{self.work}/{name}"
        if not self._exists(f"{path}/_SUCCESS"):  # which Spark writes last
            make().write.mode("overwrite").parquet(path)
        return self.spark.read.parquet(path)

    def _exists(self, path: str) -> bool:
        jvm, context = self.spark._jvm, self.spark.sparkContext
        place = jvm.org.apache.hadoop.fs.Path(path)
        system = place.getFileSystem(context._jsc.hadoopConfiguration())
        return bool(system.exists(place))

    def map(
        self, frame: DataFrame, function: Callable[[Batches], Batches], schema: pa.Schema | str
    ) -> DataFrame:
        """Return what a function of ours makes of the rows of each task."""
        found = from_arrow_schema(schema) if isinstance(schema, pa.Schema) else schema
        return frame.mapInArrow(partial(_checked, function, self.allow_slow), found)


def _checked(function: Callable[[Batches], Batches], allow_slow: bool, batches: Batches) -> Batches:
    if not allow_slow and (missing := not_compiled()):
        raise ExecutorError(
            f"the executor on {platform.node()} has no compiled {', '.join(missing)}: install "
            "scrapy-simhash there from a wheel, or give --allow-slow"
        )
    return function(batches)


@cache
def not_compiled() -> list[str]:
    """Return the names of the modules that should be compiled here, and are not."""
    found = ((name, find_spec(f"scrapy_simhash.{name}")) for name in COMPILED)
    suffixes = tuple(EXTENSION_SUFFIXES)
    return [
        name
        for name, spec in found
        if spec is None or spec.origin is None or not spec.origin.endswith(suffixes)
    ]


def rows_of(batches: Batches) -> Iterator[Row]:
    """Yield the rows of a task."""
    for batch in batches:
        for start in range(0, len(batch), ROWS_AT_ONCE):
            yield from batch.slice(start, ROWS_AT_ONCE).to_pylist()


def batches_of(rows: Iterable[Row], schema: pa.Schema) -> Batches:
    """Yield rows in batches."""
    some: list[Row] = []
    for row in rows:
        some.append(row)
        if len(some) == ROWS_AT_ONCE:
            yield pa.RecordBatch.from_pylist(some, schema)
            some = []
    yield pa.RecordBatch.from_pylist(some, schema)


def runs(batches: Batches, column: str) -> Iterator[pa.Table]:
    """Yield the neighbouring rows of a task that have the same number in a column."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not len(batch):
            continue
        numbers = batch.column(column).to_numpy()
        edges: list[int] = (np.flatnonzero(np.diff(numbers)) + 1).tolist()
        for start, end in pairwise([0, *edges, len(numbers)]):
            if held and held[0].column(column)[0].as_py() != numbers[start]:
                yield pa.Table.from_batches(held)
                held = []
            held.append(batch.slice(start, end - start))
    if held:
        yield pa.Table.from_batches(held)
