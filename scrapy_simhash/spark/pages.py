"""From the files of an archive to its pages as a rule sees them, in the order of the batch."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from scrapy_simhash.batch.features import FEATURES, ORDER, Choices, FeatureReader
from scrapy_simhash.batch.local import SEEN
from scrapy_simhash.batch.records import Input
from scrapy_simhash.batch.revisits import CHOSEN_BY, OWN, unresolved
from scrapy_simhash.batch.rule import Repeated, Row, Samples, places_of, seen, signed, unsigned
from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.decision.comparison import marks
from scrapy_simhash.spark.engine import Batches, Engine, rows_of
from scrapy_simhash.urls import section_of

SAMPLES = pa.schema(
    {
        "place": pa.string(),
        "sample": pa.int64(),
        "fingerprint": pa.int64(),
        "tokens": pa.int32(),
        "blocks": pa.list_(pa.int64()),
    }
)
# What was not read of an input, as JSON, is in a row of its own.
READ = FEATURES.append(pa.field("unread", pa.string()))
# With the marks of what the page's site repeats: the comparison of two pages needs them.
MARKED = SEEN.append(pa.field("marks", pa.binary()))
# A page of an earlier batch, with the number of that and its rank there.
KNOWN = MARKED.append(pa.field("rank", pa.int64())).append(pa.field("batch", pa.int32()))
# Samples that a task holds before it hands them on: 60 blocks of 8 bytes each.
HELD_SAMPLES = 100_000


def features(
    spark: SparkSession,
    inputs: Sequence[Input],
    choices: Choices,
    partitions: int | None = None,
    allow_slow: bool = False,
) -> DataFrame:
    """Return the features of the pages of *inputs*: rows of :data:`FEATURES`.

    Each input is one task, or *partitions* tasks share them.  A page that kills or hangs its worker
    is a row with its reason; a revisit is one that gets the features of its page later.
    *allow_slow* lets executors work that have no compiled modules.
    """
    return pages_of(read(Engine(spark, None, allow_slow), inputs, choices, partitions))


def read(
    engine: Engine, inputs: Sequence[Input], choices: Choices, partitions: int | None = None
) -> DataFrame:
    """Return the features of the pages of *inputs*, and of each input a row with its *unread*."""
    tasks = max(1, len(inputs) if partitions is None else partitions)
    numbers = engine.spark.range(0, len(inputs), 1, tasks)
    one_worker = replace(choices, settings=replace(choices.settings, workers=1))
    return engine.map(numbers, partial(_read, list(inputs), one_worker), READ)


def _read(inputs: Sequence[Input], choices: Choices, batches: Batches) -> Batches:
    with FeatureReader(choices) as reader:
        for row in rows_of(batches):
            unread = Unread()
            for batch in reader.batches(inputs[row["id"]], unread):
                yield batch.append_column("unread", pa.nulls(len(batch), pa.string()))
            yield pa.RecordBatch.from_pylist([{"unread": json.dumps(unread.as_json())}], READ)


def resolved(engine: Engine, rows: DataFrame) -> DataFrame:
    """Return rows of :func:`read` in which revisits have the features of their pages."""
    revisits = engine.stage("revisits", lambda: _revisits(engine, rows))
    return rows.where("refers is null").unionByName(revisits)


def _revisits(engine: Engine, rows: DataFrame) -> DataFrame:
    revisits = rows.where("refers is not null").select(*OWN, "refers")
    if revisits.isEmpty():
        return engine.spark.createDataFrame([], rows.schema)
    page = F.struct(*CHOSEN_BY).alias("page")
    asked = revisits.select("file", "offset", F.posexplode("refers").alias("at", "name"))
    named = rows.select(page, F.explode("names").alias("name")).join(asked, "name", "semi")
    chosen = named.groupBy("name").agg(F.min("page").alias("page"))
    first = F.min(F.struct("at", "page"))["page"]
    origins = (
        asked.join(chosen, "name")
        .groupBy("file", "offset")
        .agg(first["file"].alias("content_file"), first["offset"].alias("content_offset"))
    )
    own = revisits.drop("refers").join(origins, ["file", "offset"], "left")
    kept = [name for name in rows.columns if name not in own.columns]
    place = F.col("file").alias("content_file"), F.col("offset").alias("content_offset")
    found = own.join(rows.select(*place, *kept), ["content_file", "content_offset"])
    left = own.where("content_file is null").select("file", "offset")
    return found.unionByName(engine.map(left, _unresolved, READ))


def _unresolved(batches: Batches) -> Batches:
    yield pa.RecordBatch.from_pylist([{"unread": unresolved(rows_of(batches))}], READ)


def pages_of(rows: DataFrame) -> DataFrame:
    """Return the features of the pages that :func:`read` found."""
    return rows.where("unread is null").drop("unread")


def unread_of(rows: DataFrame) -> Unread:
    """Return what :func:`read` did not read."""
    whole = Unread()
    for row in rows.where("unread is not null").select("unread").collect():
        whole.update(Unread.from_json(json.loads(row["unread"])))
    return whole


def repeated(engine: Engine, pages: DataFrame, known: DataFrame) -> DataFrame:
    """Return the blocks that each place repeats, by the features of all pages; *known* ones not.

    Each task hands on what may be of a place's sample: 600 pages of it, or a little more.
    """
    taught = pages.where("sample is not null")
    drawn = engine.map_rows(taught.select("url", *SAMPLES.names[1:]), _drawn, SAMPLES)
    drawn = drawn.join(known.select("place"), "place", "anti").select(*SAMPLES.names)
    by_place = drawn.repartition("place").sortWithinPartitions("place")
    return engine.map_rows(by_place, _learned, Repeated.SCHEMA)


def _drawn(rows: Iterator[Row]) -> Iterator[Row]:
    samples = Samples()
    for row in rows:
        for place in places_of(row["url"]):
            samples.draw(place, row)
        if samples.size > HELD_SAMPLES:
            yield from _rows_of(samples)
            samples = Samples()
    yield from _rows_of(samples)


def _rows_of(samples: Samples) -> Iterator[Row]:
    for place in samples:
        for number, page in samples.numbered(place):
            yield {
                "place": place,
                "sample": number,
                "fingerprint": signed(page.fingerprint),
                "tokens": page.tokens,
                "blocks": list(map(signed, page.blocks)),
            }


def _learned(rows: Iterator[Row]) -> Iterator[Row]:
    for place, pages in groupby(rows, itemgetter("place")):
        samples = Samples()
        for row in pages:
            samples.draw(place, row)
        if blocks := samples.learned(place):
            yield {"place": place, "blocks": sorted(map(signed, blocks))}


def seen_pages(engine: Engine, pages: DataFrame, known: DataFrame) -> DataFrame:
    """Return the pages as the rule compares them; *known* are the blocks that places repeat."""
    beside = _with_repeated(pages.drop("blocks", "sample"), known)
    return engine.map_rows(beside, partial(map, _seen), MARKED)


def marked(engine: Engine, pages: DataFrame, known: DataFrame) -> DataFrame:
    """Return pages of earlier batches with the marks of what their sites are *known* to repeat."""
    return engine.map_rows(_with_repeated(pages, known), partial(map, _marked), KNOWN)


def _with_repeated(pages: DataFrame, known: DataFrame) -> DataFrame:
    """Return pages with the blocks that stand *beside* their own.

    Places of a whole web do not fit into the memory of a task, so each page gets its own by a join
    of sections.
    """
    section = F.udf(section_of, "string", useArrow=True)
    own = pages.withColumn("section", section("url"))
    sections = own.select("section").distinct()
    host = F.substring_index("section", "/", 1)
    places = sections.select("section", F.explode(F.array_distinct(F.array("section", host))))
    beside = (
        places.toDF("section", "place")
        .join(known, "place")
        .groupBy("section")
        .agg(F.array_distinct(F.flatten(F.collect_list("blocks"))).alias("beside"))
    )
    return own.join(beside, "section", "left").select("beside", *pages.columns)


def _seen(row: Row) -> Row:
    return seen(_marked(row), _beside(row))


def _marked(row: Row) -> Row:
    return row | {"marks": array("H", sorted(marks(_beside(row)))).tobytes()}


def _beside(row: Row) -> frozenset[int]:
    return frozenset(map(unsigned, row["beside"] or ()))


def marks_of(row: Row) -> frozenset[int]:
    """Return the marks of what the site of a page repeats."""
    return frozenset(array("H", row["marks"]))


def in_order(pages: DataFrame) -> DataFrame:
    """Return pages in the order of the batch, with their *rank*: the first has the lowest."""
    order = [F.col(name).asc_nulls_last() for name in ORDER]
    return pages.orderBy(*order).withColumn("rank", F.monotonically_increasing_id())
