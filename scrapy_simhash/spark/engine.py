"""What all stages of a batch on Spark share: where they leave their rows, and our code in tasks."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from itertools import islice
from typing import Any, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from scrapy_simhash.batch.rule import Row
from scrapy_simhash.errors import SimhashError

Batches = Iterator[pa.RecordBatch]
# What a function of ours is given of a task, and what it makes of that.
T = TypeVar("T")

# The modules of setup.py, but for those of crawls alone.
COMPILED = (
    *("analysis.blocks", "analysis.compiled", "analysis.compiled_walk", "analysis.events"),
    *("analysis.frames", "analysis.literals", "analysis.main_blocks", "analysis.own_values"),
    *("analysis.page_addresses", "analysis.values", "decision.comparison", "decision.cuts"),
    *("decision.template", "hashes", "tables.compiled"),
)

ROWS_AT_ONCE = 1_000


@contextmanager
def in_short() -> Iterator[None]:
    """Say in one line what stops Spark.

    :raises SimhashError: Spark stops.
    """
    try:
        yield
    except PythonException as exc:  # the last line is that of our own error
        *_, said = str(exc).strip().splitlines()
        raise SimhashError(f"Spark: {said}") from exc
    except (PySparkException, Py4JError) as exc:
        said, *_ = str(getattr(exc, "java_exception", exc)).splitlines()
        raise SimhashError(f"Spark: {said}") from exc


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
        if not self.is_done(path):
            make().write.mode("overwrite").parquet(path)
        return self.spark.read.parquet(path)

    def noted(self, path: str, note: object) -> object:
        """Return the note at a path; write this one if there is none."""
        if not self.is_done(path):
            text = json.dumps(note)
            self.spark.createDataFrame([(text,)], "note string").write.mode("overwrite").json(path)
        return json.loads(self.spark.read.json(path).collect()[0]["note"])

    def is_done(self, path: str) -> bool:
        """Whether the rows at a path are all there."""
        return self.exists(f"{path}/_SUCCESS")  # which Spark writes last

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        system, place = self._located(path)
        return bool(system.exists(place))

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder, sorted."""
        system, place = self._located(folder)
        return sorted(one.getPath().getName() for one in system.listStatus(place))

    def remove(self, folder: str) -> None:
        """Delete a folder with all that is in it."""
        system, place = self._located(folder)
        system.delete(place, True)

    def _located(self, path: str) -> tuple[Any, Any]:
        """Return a path as Hadoop knows it, and its file system."""
        place = self.spark._jvm.org.apache.hadoop.fs.Path(path)
        return place.getFileSystem(self.spark.sparkContext._jsc.hadoopConfiguration()), place

    def map(
        self,
        frame: DataFrame,
        function: Callable[[Batches], Batches],
        schema: pa.Schema | StructType,
    ) -> DataFrame:
        """Return what a function of ours makes of the rows of each task."""
        found = from_arrow_schema(schema) if isinstance(schema, pa.Schema) else schema
        return frame.mapInArrow(partial(_checked, function, self.allow_slow), found)

    def map_rows(
        self,
        frame: DataFrame,
        function: Callable[[Iterator[Row]], Iterable[Row]],
        schema: pa.Schema,
    ) -> DataFrame:
        """Return the same of a function that takes and makes single rows."""
        return self.map(frame, partial(_by_rows, function, schema), schema)

    def map_groups(
        self,
        frame: DataFrame,
        column: str,
        function: Callable[[pa.Table], pa.Table],
        schema: pa.Schema,
    ) -> DataFrame:
        """Return what a function of ours makes of all rows with the same value in a column."""
        allow_slow = self.allow_slow
        return frame.groupBy(column).applyInArrow(
            lambda rows: _checked(function, allow_slow, rows), from_arrow_schema(schema)
        )


def _checked(function: Callable[[T], T], allow_slow: bool, rows: T) -> T:
    if not allow_slow and (missing := not_compiled()):
        raise SimhashError(
            f"the executor on {platform.node()} has no compiled {', '.join(missing)}: install "
            "scrapy-simhash there from a wheel, or give --allow-slow"
        )
    return function(rows)


@cache
def not_compiled() -> list[str]:
    """Return the names of the modules that should be compiled here, and are not."""
    specs = {name: find_spec(f"scrapy_simhash.{name}") for name in COMPILED}
    origins = {name: "" if spec is None else spec.origin or "" for name, spec in specs.items()}
    return [name for name in COMPILED if not origins[name].endswith(tuple(EXTENSION_SUFFIXES))]


def rows_of(batches: Batches) -> Iterator[Row]:
    """Yield the rows of a task."""
    for batch in batches:
        for start in range(0, len(batch), ROWS_AT_ONCE):
            yield from batch.slice(start, ROWS_AT_ONCE).to_pylist()


def _by_rows(
    function: Callable[[Iterator[Row]], Iterable[Row]], schema: pa.Schema, batches: Batches
) -> Batches:
    rows = iter(function(rows_of(batches)))
    while some := list(islice(rows, ROWS_AT_ONCE)):
        yield pa.RecordBatch.from_pylist(some, schema)
