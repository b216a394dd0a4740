"""From the files of an archive to its pages as a rule sees them, in the order of the batch."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.functions import arrow_udf

from scrapy_simhash.batch.features import FEATURES, ORDER, Choices, FeatureReader
from scrapy_simhash.batch.local import SEEN
from scrapy_simhash.batch.records import Input
from scrapy_simhash.batch.rule import (
    Repeated,
    Row,
    Samples,
    learned,
    places_of,
    seen,
    signed,
    unsigned,
)
from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.decision.comparison import marks
from scrapy_simhash.spark.engine import Batches, Engine, batches_of, rows_of
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
# With the marks of what the page's site repeats: the comparison of two pages needs them.
MARKED = SEEN.append(pa.field("marks", pa.binary()))
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
    is a row with its reason.  *allow_slow* lets executors work that have no compiled modules.
    """
    tasks = max(1, len(inputs) if partitions is None else partitions)
    numbers = spark.range(0, len(inputs), 1, tasks)
    one_worker = replace(choices, settings=replace(choices.settings, workers=1))
    read = partial(_read, list(inputs), one_worker)
    return Engine(spark, None, allow_slow).map(numbers, read, FEATURES)


def _read(inputs: Sequence[Input], choices: Choices, batches: Batches) -> Batches:
    with FeatureReader(choices) as reader:
        for row in rows_of(batches):
            yield from reader.batches(inputs[row["id"]], Unread())


def repeated(engine: Engine, pages: DataFrame) -> DataFrame:
    """Return the blocks that each place repeats, by the features of all pages.

    Each task hands on what may be of a place's sample: 600 pages of it, or a little more.
    """
    taught = pages.where("sample is not null")
    drawn = engine.map(taught.select("url", *SAMPLES.names[1:]), _draw, SAMPLES)
    by_place = drawn.repartition(engine.partitions, "place").sortWithinPartitions("place")
    return engine.map(by_place, _learn, Repeated.SCHEMA)


def _draw(batches: Batches) -> Batches:
    return batches_of(_drawn(batches), SAMPLES)


def _drawn(batches: Batches) -> Iterator[Row]:
    samples = Samples()
    for row in rows_of(batches):
        for place in places_of(row["url"]):
            samples.draw(place, row)
        if samples.size > HELD_SAMPLES:
            yield from _rows(samples)
            samples = Samples()
    yield from _rows(samples)


def _rows(samples: Samples) -> Iterator[Row]:
    for place in samples:
        for number, page in samples.numbered(place):
            yield {
                "place": place,
                "sample": number,
                "fingerprint": signed(page.fingerprint),
                "tokens": page.tokens,
                "blocks": list(map(signed, page.blocks)),
            }


def _learn(batches: Batches) -> Batches:
    return batches_of(_learned(batches), Repeated.SCHEMA)


def _learned(batches: Batches) -> Iterator[Row]:
    for place, rows in groupby(rows_of(batches), itemgetter("place")):
        samples = Samples()
        for row in rows:
            samples.draw(place, row)
        if blocks := learned(page for _, page in samples.numbered(place)):
            yield {"place": place, "blocks": sorted(map(signed, blocks))}


def seen_pages(engine: Engine, pages: DataFrame, known: DataFrame) -> DataFrame:
    """Return the pages as the rule compares them; *known* are the blocks that places repeat.

    Places of a whole web do not fit into the memory of a task, so each page gets its own by a join
    of sections.
    """
    section = arrow_udf(_sections, "string")
    own = pages.drop("blocks", "sample").withColumn("section", section("url"))
    sections = own.select("section").distinct()
    host = F.substring_index("section", "/", 1)
    places = sections.select("section", F.explode(F.array_distinct(F.array("section", host))))
    beside = (
        places.toDF("section", "place")
        .join(known, "place")
        .groupBy("section")
        .agg(F.array_distinct(F.flatten(F.collect_list("blocks"))).alias("beside"))
    )
    return engine.map(own.join(beside, "section", "left"), _see, MARKED)


def _sections(urls: pa.Array) -> pa.Array:
    return pa.array((section_of(url) for url in urls.to_pylist()), pa.string())


def _see(batches: Batches) -> Batches:
    return batches_of(map(_seen, rows_of(batches)), MARKED)


def _seen(row: Row) -> Row:
    blocks = frozenset(map(unsigned, row["beside"] or ()))
    found = sorted(marks(blocks))
    return seen(row, blocks) | {"marks": struct.pack(f"<{len(found)}H", *found)}


def marks_of(row: Row) -> frozenset[int]:
    """Return the marks of what the site of a page repeats."""
    packed = row["marks"]
    return frozenset(struct.unpack(f"<{len(packed) // 2}H", packed))


def in_order(pages: DataFrame) -> DataFrame:
    """Return pages in the order of the batch, with their *rank*: the first has the lowest."""
    order = [F.col(name).asc_nulls_last() for name in ORDER]
    return pages.orderBy(*order).withColumn("rank", F.monotonically_increasing_id())


def unseen_pages(pages: DataFrame) -> DataFrame:
    """Return pages that are compared by their fingerprints alone."""
    columns = [name for name in SEEN.names if name in FEATURES.names]
    return pages.select(*columns)
