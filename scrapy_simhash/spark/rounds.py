"""Which pages are kept: the lexicographically first maximal independent set of a graph, in rounds.

A page is dropped if an earlier kept page is its neighbour, otherwise it is kept.  One after the
other, that is a loop.  In a round, all pages are decided at once for which this can be said yet:

- a page that comes after no undecided neighbour is kept;
- a page that comes after one of these is dropped.

Pages that are decided take no part in the next round.  A random order takes O(log^2 n) rounds
(Blelloch, Fineman and Shun, SPAA 2012), a chain of n pages n / 2.  So a loop on the driver decides
what is left when it is little, or after :data:`MOST_ROUNDS`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial, reduce
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from scrapy_simhash.spark.engine import Engine

MOST_ROUNDS = 30
# The driver takes about 100 bytes and 3 us for each.
ROWS_AT_DRIVER = 1_000_000

DECIDED = pa.schema({"rank": pa.int64(), "is_kept": pa.bool_()})


class Graph(Protocol):
    """Pages, by their ranks, and which of them are alike."""

    @property
    def nodes(self) -> DataFrame:
        """The pages that are like others, each with its *rank* and what the graph needs."""

    def waiting(self, left: DataFrame) -> DataFrame:
        """Return the ranks of the pages that come after a neighbour, both among those *left*."""

    def dropped(self, waiting: DataFrame, kept: DataFrame) -> DataFrame:
        """Return the ranks of the pages of *waiting* that come after a neighbour in *kept*."""

    def rows(self, left: DataFrame) -> DataFrame:
        """Return all that must be known to decide on the pages *left*."""

    def kept(self, rows: pa.Table) -> Iterable[tuple[int, bool]]:
        """Yield the ranks of these pages, and whether they are kept."""


def decided(engine: Engine, graph: Graph) -> DataFrame:
    """Return the *rank* of each page of a graph, and whether it *is_kept*."""
    left, found = graph.nodes, []
    for number in range(MOST_ROUNDS):
        if graph.rows(left).limit(ROWS_AT_DRIVER + 1).count() <= ROWS_AT_DRIVER:
            break
        after = engine.stage(f"waiting-{number:02}", partial(_waiting, graph, left))
        this = engine.stage(f"round-{number:02}", partial(_round, graph, after))
        found.append(this.where("is_kept is not null").select(*DECIDED.names))
        left = this.where("is_kept is null").drop("is_kept")
    found.append(engine.stage("rest", partial(_rest, engine, graph, left)))
    return reduce(DataFrame.unionByName, found)


def _waiting(graph: Graph, left: DataFrame) -> DataFrame:
    """Return the pages *left* with whether they come after another."""
    waits = graph.waiting(left).distinct().withColumn("waits", F.lit(True))
    return left.join(waits, "rank", "left").na.fill(False, ["waits"])


def _round(graph: Graph, after: DataFrame) -> DataFrame:
    """Return pages with whether they are kept; None of those that are not decided yet."""
    waiting, kept = (after.where(one).drop("waits") for one in ("waits", "not waits"))
    drops = graph.dropped(waiting, kept).distinct().withColumn("drops", F.lit(True))
    is_kept = F.when(~F.col("waits"), True).when(F.col("drops"), False)
    return after.join(drops, "rank", "left").withColumn("is_kept", is_kept).drop("waits", "drops")


def _rest(engine: Engine, graph: Graph, left: DataFrame) -> DataFrame:
    found = list(graph.kept(graph.rows(left).toArrow()))
    ranks, kept = ([one[at] for one in found] for at in (0, 1))
    table = pa.table([pa.array(ranks, pa.int64()), pa.array(kept, pa.bool_())], DECIDED)
    return engine.spark.createDataFrame(table)
