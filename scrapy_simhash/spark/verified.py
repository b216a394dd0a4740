"""The verified rule on Spark: pages of one class collapse, and those that share a key are compared.

::

    pages       rank, class, text, keys, ...     as the rule sees them
    classes     rank of the first page of each class
    keyed       rank, its keys that 2 to 100 classes have, whether it has one of more
    edges       later, earlier, how they match   each pair once, at the lowest key in common
    best        rank, kept, ...                  of each class that is dropped

Pages of one text are alike, whatever keys they share, and a million sites may have one page.  So
they are no pairs: what counts of a text is the first page that is kept or undecided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from scrapy_simhash.batch.local import COMPARED
from scrapy_simhash.batch.rule import MOST_OF_KEY, Match, Row, Seen, match, match_of_text
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.spark.engine import Batches, Engine, batches_of, rows_of
from scrapy_simhash.spark.pages import marks_of
from scrapy_simhash.spark.rounds import decided

EDGES = pa.schema(
    {
        "later": pa.int64(),
        "earlier": pa.int64(),
        "is_canonical": pa.bool_(),
        "share": pa.float64(),
        "segments": pa.int32(),
        "distance": pa.int32(),
        "is_exact": pa.bool_(),
    }
)


def duplicates(
    engine: Engine, pages: DataFrame, parameters: Parameters
) -> tuple[DataFrame, DataFrame]:
    """Return what pages are duplicates of, and the ranks of those that have a crowded key."""
    classes = engine.stage("classes", lambda: _classes(pages))
    keyed = engine.stage("keyed", lambda: _keyed(classes))
    edges = engine.stage("edges", lambda: _edges(engine, pages, keyed, parameters))
    graph = Alike(edges, _shared_texts(classes))
    found = decided(engine, graph)
    best = engine.stage("best", lambda: _best(engine, pages, graph, found))
    members = pages.where("class is not null").select("rank", "class")
    firsts = classes.select("class", F.col("rank").alias("first"))
    whole = (
        members.join(firsts, "class")
        .join(best, "first", "left")
        .select(
            "rank",
            F.coalesce("kept", "first").alias("kept"),
            F.coalesce("distance", F.lit(0)).alias("distance"),
            F.coalesce("share", F.lit(1.0)).alias("share"),
            F.coalesce("is_exact", F.lit(True)).alias("is_exact"),
        )
    )
    return whole.where("rank != kept"), keyed.where("is_crowded").select("rank")


def _classes(pages: DataFrame) -> DataFrame:
    first = F.min("rank").alias("rank")
    same = [F.min_by(name, "rank").alias(name) for name in ("text", "keys")]
    return pages.where("class is not null").groupBy("class").agg(first, *same)


def _keyed(classes: DataFrame) -> DataFrame:
    """Return the keys of classes that others have: those to compare them by."""
    exploded = classes.select("rank", F.explode("keys").alias("key"))
    sizes = exploded.groupBy("key").agg(F.count("*").alias("size")).where("size > 1")
    is_crowded = F.col("size") > MOST_OF_KEY
    useful = F.collect_list(F.when(~is_crowded, F.col("key")))
    both = F.sort_array(useful).alias("keys"), F.max(is_crowded).alias("is_crowded")
    return exploded.join(sizes, "key").groupBy("rank").agg(*both)


def _shared_texts(classes: DataFrame) -> DataFrame:
    """Return the classes whose text others have."""
    texts = classes.groupBy("text").agg(F.count("*").alias("size")).where("size > 1")
    return classes.select("rank", "text").join(texts.select("text"), "text")


def _edges(engine: Engine, pages: DataFrame, keyed: DataFrame, parameters: Parameters) -> DataFrame:
    """Return the pairs of classes with a key in common of which the later is like the earlier."""
    useful = keyed.where("size(keys) > 0").select("rank", "keys")
    compared = pages.select("rank", *COMPARED, "marks", "text").join(useful, "rank")
    exploded = compared.withColumn("key", F.explode("keys"))
    by_key = exploded.repartition(engine.partitions, "key").sortWithinPartitions("key", "rank")
    return engine.map(by_key, partial(_match, parameters), EDGES)


def _match(parameters: Parameters, batches: Batches) -> Batches:
    return batches_of(_matches(parameters, rows_of(batches)), EDGES)


def _matches(parameters: Parameters, rows: Iterable[Row]) -> Iterator[Row]:
    for key, group in groupby(rows, itemgetter("key")):
        earlier: list[tuple[Row, Seen]] = []
        for row in group:
            page = Seen.of(row, marks_of(row))
            for other, kept in earlier:
                # Pairs with one text are told apart by it alone.
                if row["text"] == other["text"] or _lowest(row["keys"], other["keys"]) != key:
                    continue
                found = match(page, kept, parameters)
                if found is not None:
                    yield _edge(row["rank"], other["rank"], found)
            earlier.append((row, page))


def _lowest(keys: list[int], others: list[int]) -> int:
    """Return the lowest of the keys that two pages have in common."""
    return min({*keys}.intersection(others))


def _edge(later: int, earlier: int, found: Match) -> Row:
    return {"later": later, "earlier": earlier, **found._asdict()}


@dataclass(frozen=True)
class Alike:
    """The graph of the classes: *edges* between them, and the *texts* that several have."""

    edges: DataFrame
    texts: DataFrame

    @cached_property
    def nodes(self) -> DataFrame:
        """The classes with others that are like them: *rank*, and *text* if others have it."""
        ends = [self.edges.select(F.col(end).alias("rank")) for end in ("later", "earlier")]
        ranks = ends[0].union(ends[1]).union(self.texts.select("rank")).distinct()
        return ranks.join(self.texts, "rank", "left")

    def _links(self, later: DataFrame, earlier: DataFrame) -> DataFrame:
        """Return the edges from some classes to others."""
        found = self.edges.select("later", "earlier")
        for end, some in ("later", later), ("earlier", earlier):
            found = found.join(some.select(F.col("rank").alias(end)), end, "semi")
        return found

    def waiting(self, left: DataFrame) -> DataFrame:
        """Return the ranks of the classes that come after a neighbour, both among those *left*."""
        firsts = left.groupBy("text").agg(F.min("rank").alias("first"))
        by_text = left.join(firsts, "text").where("rank > first").select("rank")
        return self._links(left, left).select(F.col("later").alias("rank")).union(by_text)

    def dropped(self, waiting: DataFrame, kept: DataFrame) -> DataFrame:
        """Return the ranks of the classes of *waiting* that come after a neighbour in *kept*."""
        firsts = kept.select("text", F.col("rank").alias("first"))
        by_text = waiting.join(firsts, "text").where("rank > first").select("rank")
        return self._links(waiting, kept).select(F.col("later").alias("rank")).union(by_text)

    def rows(self, left: DataFrame) -> DataFrame:
        """Return the edges between the classes *left*, and each of these with its text."""
        links = self._links(left, left).select(F.col("later").alias("rank"), "earlier")
        own = left.select("rank", F.lit(None).cast("long").alias("earlier"), "text")
        return own.unionByName(links, allowMissingColumns=True)

    def kept(self, rows: pa.Table) -> Iterator[tuple[int, bool]]:
        """Yield the ranks of these classes, and whether they are kept."""
        texts: dict[int, bytes | None] = {}
        edges: dict[int, list[int]] = defaultdict(list)
        for row in rows_of(iter(rows.to_batches())):
            if row["earlier"] is None:
                texts[row["rank"]] = row["text"]
            else:
                edges[row["rank"]].append(row["earlier"])
        kept: set[int] = set()
        kept_texts: set[bytes | None] = set()
        for rank, text in sorted(texts.items()):
            is_kept = text not in kept_texts and kept.isdisjoint(edges.get(rank, ()))
            if is_kept:
                kept.add(rank)
                kept_texts |= {text} - {None}
            yield rank, is_kept


def _best(engine: Engine, pages: DataFrame, graph: Alike, decided: DataFrame) -> DataFrame:
    """Return the kept page that each dropped class is most like, as ``best_of`` chooses it."""
    later = decided.where("not is_kept").select(F.col("rank").alias("later"))
    earlier = decided.where("is_kept").select(F.col("rank").alias("earlier"))
    by_key = graph.edges.join(later, "later", "semi").join(earlier, "earlier", "semi")
    texts = graph.texts.join(pages.select("rank", "url", "canonical"), "rank")
    mine = texts.withColumnRenamed("rank", "later").join(later, "later", "semi")
    its = texts.select(F.col("rank").alias("earlier"), "text", F.col("url").alias("kept_url"))
    its = its.join(earlier, "earlier", "semi")
    by_text = engine.map(mine.join(its, "text").where("later > earlier"), _same_texts, EDGES)
    # The greatest struct: of equal ones, that with the oldest page.
    age = (-F.col("earlier")).alias("age")
    fields = "is_canonical", "share", "segments", age, "distance", "is_exact"
    best = F.max(F.struct(*fields)).alias("best")
    found = by_key.unionByName(by_text).groupBy(F.col("later").alias("first")).agg(best)
    return found.select(
        "first", (-F.col("best.age")).alias("kept"), "best.distance", "best.share", "best.is_exact"
    )


def _same_texts(batches: Batches) -> Batches:
    return batches_of(
        (
            _edge(
                row["later"],
                row["earlier"],
                match_of_text(row["url"], row["canonical"], row["kept_url"]),
            )
            for row in rows_of(batches)
        ),
        EDGES,
    )
