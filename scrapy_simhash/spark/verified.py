"""The verified rule on Spark: pages of one class collapse, and those that share a key are compared.

::

    pages       rank, class, text, keys, ...     as the rule sees them
    classes     rank of the first page of each class, and of the last
    keyed       rank, its keys that 2 to 100 classes have, whether it has one of more
    edges       page, kept, how they match       each pair once, at the lowest key in common
    found       rank, kept, ...                  of each page that is dropped

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
from scrapy_simhash.batch.rule import MOST_OF_KEY, Likeness, Row, Seen, match, ranked
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.spark.engine import Engine, rows_of
from scrapy_simhash.spark.pages import marks_of
from scrapy_simhash.spark.rounds import Graph, decided

# How the pages of a class, given by its first one, are like the first one of another.
EDGES = pa.schema(
    {
        "page": pa.int64(),
        "kept": pa.int64(),
        "share": pa.float64(),
        "distance": pa.int32(),
        "is_exact": pa.bool_(),
    }
)
RANKED = pa.schema(
    {
        "rank": pa.int64(),
        "is_canonical": pa.bool_(),
        "share": pa.float64(),
        "segments": pa.int32(),
        "kept": pa.int64(),
        "distance": pa.int32(),
        "is_exact": pa.bool_(),
    }
)


def duplicates(
    engine: Engine, pages: DataFrame, parameters: Parameters, crowded: DataFrame
) -> tuple[DataFrame, DataFrame, DataFrame]:
    """Return what pages are duplicates of, those with a crowded key, and all *crowded* keys.

    Pages with negative ranks are kept already.
    """
    classes = engine.stage("classes", lambda: _classes(pages))
    sizes = engine.stage("keys", lambda: _sizes(classes, crowded))
    keyed = engine.stage("keyed", lambda: _keyed(classes, sizes))
    edges = engine.stage("edges", lambda: _edges(engine, pages, keyed, parameters))
    graph = Alike(edges.where("kept < page and page >= 0"), _shared_texts(classes))
    is_kept = decided(engine, graph)
    kept = classes.join(is_kept.where("not is_kept"), "rank", "anti").select("rank", "text")
    found = engine.stage("found", lambda: _found(engine, pages, classes, kept, edges))
    return found, keyed.where("is_crowded").select("rank"), sizes.where("is_crowded").select("key")


def _classes(pages: DataFrame) -> DataFrame:
    ranks = F.min("rank").alias("rank"), F.max("rank").alias("last")
    same = [F.min_by(name, "rank").alias(name) for name in ("text", "keys")]
    return pages.where("class is not null").groupBy("class").agg(*ranks, *same)


def _sizes(classes: DataFrame, crowded: DataFrame) -> DataFrame:
    """Return the keys that several classes have, or that are *crowded*, with whether they are."""
    keys = classes.select(F.explode("keys").alias("key"))
    sizes = keys.groupBy("key").agg(F.count("*").alias("size"))
    known = crowded.withColumn("known", F.lit(True))
    is_crowded = (F.col("size") > MOST_OF_KEY) | F.coalesce("known", F.lit(False))
    found = sizes.join(known, "key", "left").withColumn("is_crowded", is_crowded)
    return found.where("size > 1 or is_crowded").select("key", "is_crowded")


def _keyed(classes: DataFrame, sizes: DataFrame) -> DataFrame:
    """Return the keys of classes that others have: those to compare them by."""
    exploded = classes.select("rank", "last", F.explode("keys").alias("key"))
    useful = F.collect_list(F.when(~F.col("is_crowded"), F.col("key")))
    both = F.sort_array(useful).alias("keys"), F.max("is_crowded").alias("is_crowded")
    return exploded.join(sizes, "key").groupBy("rank", "last").agg(*both)


def _shared_texts(classes: DataFrame) -> DataFrame:
    """Return the classes whose text others have."""
    texts = classes.groupBy("text").agg(F.count("*").alias("size")).where("size > 1")
    return classes.select("rank", "text").join(texts.select("text"), "text")


def _edges(engine: Engine, pages: DataFrame, keyed: DataFrame, parameters: Parameters) -> DataFrame:
    """Return which classes with a key in common are like each other."""
    useful = keyed.where("size(keys) > 0").select("rank", "last", "keys")
    compared = pages.select("rank", *COMPARED, "marks", "text").join(useful, "rank")
    exploded = compared.withColumn("key", F.explode("keys"))
    by_key = exploded.repartition("key").sortWithinPartitions("key", "rank")
    return engine.map_rows(by_key, partial(_matches, parameters), EDGES)


def _matches(parameters: Parameters, rows: Iterable[Row]) -> Iterator[Row]:
    for key, group in groupby(rows, itemgetter("key")):
        earlier: list[tuple[Row, Seen]] = []
        for row in group:
            page = Seen.of(row, marks_of(row))
            for other, its in earlier:
                # Pairs with one text are told apart by it alone.
                if row["text"] == other["text"] or min({*row["keys"]} & {*other["keys"]}) != key:
                    continue
                if found := match(page, its, parameters):
                    yield _edge(row, other, found)
                if other["last"] > row["rank"] and (found := match(its, page, parameters)):
                    yield _edge(other, row, found)
            earlier.append((row, page))


def _edge(page: Row, kept: Row, found: Likeness) -> Row:
    return {"page": page["rank"], "kept": kept["rank"], **found._asdict()}


@dataclass(frozen=True)
class Alike(Graph):
    """The graph of the classes: *edges* between them, and the *texts* that several have."""

    edges: DataFrame
    texts: DataFrame

    @cached_property
    def nodes(self) -> DataFrame:
        """The classes with others that are like them: *rank*, and *text* if others have it."""
        ends = [self.edges.select(F.col(end).alias("rank")) for end in ("page", "kept")]
        ranks = ends[0].union(ends[1]).union(self.texts.select("rank")).distinct()
        return ranks.join(self.texts, "rank", "left")

    def _links(self, later: DataFrame, earlier: DataFrame) -> DataFrame:
        found = self.edges.select(F.col("page").alias("rank"), "kept")
        for end, some in ("rank", later), ("kept", earlier):
            found = found.join(some.select(F.col("rank").alias(end)), end, "semi")
        return found

    def waiting(self, left: DataFrame) -> DataFrame:
        firsts = left.groupBy("text").agg(F.min("rank").alias("first"))
        by_text = left.join(firsts, "text").where("rank > first").select("rank")
        return self._links(left, left).select("rank").union(by_text)

    def dropped(self, waiting: DataFrame, kept: DataFrame) -> DataFrame:
        firsts = kept.select("text", F.col("rank").alias("first"))
        by_text = waiting.join(firsts, "text").where("rank > first").select("rank")
        return self._links(waiting, kept).select("rank").union(by_text)

    def rows(self, left: DataFrame) -> DataFrame:
        """Return the edges between the classes *left*, and each of these with its text."""
        own = left.select("rank", F.lit(None).cast("long").alias("kept"), "text")
        return own.unionByName(self._links(left, left), allowMissingColumns=True)

    def kept(self, rows: pa.Table) -> Iterator[tuple[int, bool]]:
        texts: dict[int, bytes | None] = {}
        edges: dict[int, list[int]] = defaultdict(list)
        for row in rows_of(iter(rows.to_batches())):
            if row["kept"] is None:
                texts[row["rank"]] = row["text"]
            else:
                edges[row["rank"]].append(row["kept"])
        kept: set[int] = set()
        kept_texts: set[bytes | None] = set()
        for rank, text in sorted(texts.items()):
            is_kept = text not in kept_texts and kept.isdisjoint(edges.get(rank, ()))
            if is_kept:
                kept.add(rank)
                kept_texts |= {text} - {None}
            yield rank, is_kept


def _found(
    engine: Engine, pages: DataFrame, classes: DataFrame, kept: DataFrame, edges: DataFrame
) -> DataFrame:
    """Return the kept page that each other one is most like: of those that its class is like.

    *kept* are the ranks of the kept pages, with their texts.
    """
    members = pages.where("class is not null").select("rank", "class", "url", "canonical")
    copies = members.join(kept, "rank", "anti").join(
        classes.select("class", "text", F.col("rank").alias("page")), "class"
    )
    by_key = copies.join(
        edges.join(kept.select(F.col("rank").alias("kept")), "kept", "semi"), "page"
    )
    same = kept.select(
        "text",
        F.col("rank").alias("kept"),
        F.lit(1.0).alias("share"),
        F.lit(0).alias("distance"),
        F.lit(True).alias("is_exact"),
    )
    alike = by_key.unionByName(copies.join(same, "text")).where("kept < rank")
    urls = pages.select(F.col("rank").alias("kept"), F.col("url").alias("kept_url"))
    beside = engine.map_rows(alike.join(urls, "kept"), partial(map, _ranked), RANKED)
    # The greatest struct: of equal ones, that with the oldest page.
    age = (-F.col("kept")).alias("age")
    fields = "is_canonical", "share", "segments", age, "distance", "is_exact"
    best = beside.groupBy("rank").agg(F.max(F.struct(*fields)).alias("best"))
    kept_page = (-F.col("best.age")).alias("kept")
    return best.select("rank", kept_page, "best.distance", "best.share", "best.is_exact")


def _ranked(row: Row) -> Row:
    found = ranked(row["url"], row["canonical"], row["kept_url"], row["share"])
    return row | {"is_canonical": found[0], "segments": found[2]}
