"""From the features of an archive to decisions: all stages of a batch on Spark, in their order."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from scrapy_simhash.batch.decisions import KINDS
from scrapy_simhash.batch.features import Choices
from scrapy_simhash.batch.local import ANOTHER_BATCH, DECISIONS, OF_FEATURES, asked_of, id_of
from scrapy_simhash.batch.records import Input
from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.spark import plain, verified
from scrapy_simhash.spark.archive import KnownBatches
from scrapy_simhash.spark.engine import Engine
from scrapy_simhash.spark.pages import (
    in_order,
    pages_of,
    read,
    repeated,
    resolved,
    seen_pages,
    unread_of,
)

_AS_THEY_ARE = ("url", "date", "file", "offset", "content_file", "content_offset")
# What is shown of the representative of others, with the end of its name.
_SHOWN = {"url": "", "file": "_file", "offset": "_offset"}


def near_duplicates(
    features: DataFrame, choices: Choices, work: str | None = None, allow_slow: bool = False
) -> DataFrame:
    """Return the decisions on the pages of *features*: rows of :data:`DECISIONS`, in order.

    The stages leave their rows in the folder *work*, of any file system that Spark knows: called
    again with it, the batch goes on at the stage where it was.  Each batch needs a folder of its
    own.  Without one, the executors keep the rows of stages, and if one is lost the batch fails.
    *allow_slow* lets executors work that have no compiled modules.
    """
    engine = Engine(features.sparkSession, work, allow_slow)
    read = engine.stage("features", lambda: features).withColumn(
        "unread", F.lit(None).cast("string")
    )
    given = pages_of(resolved(engine, read))
    return _decided(engine, given, choices, KnownBatches(engine, None, "", choices))


def run(
    engine: Engine, sources: Sequence[Input], choices: Choices, out: str, known: str | None = None
) -> tuple[DataFrame, Unread]:
    """Run a batch, and write the decisions into the folder *out*: Parquet files, in order.

    Return them, and what of its files was not read.

    :raises SimhashError: the engine's folder holds another batch, or *known* an archive of another
        rule.
    """
    asked = asked_of(sources, choices, known)
    if engine.noted(f"{engine.work}/run", asked) != asked:
        raise SimhashError(ANOTHER_BATCH.format(engine.work))
    archive = KnownBatches(engine, known, id_of(asked), choices)
    rows = resolved(engine, engine.stage("features", lambda: read(engine, sources, choices)))
    decisions = _decided(engine, pages_of(rows), choices, archive)
    decisions.write.mode("overwrite").parquet(out)
    return engine.spark.read.parquet(out), unread_of(rows)


def engine_at(work: str, allow_slow: bool = False) -> Engine:
    """Return the engine of a batch whose stages leave their rows in the folder *work*.

    Its session is as ``spark-submit`` or ``spark-defaults.conf`` configure it.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.appName("scrapy simhash batch").getOrCreate()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    # As pyarrow writes them: Spark's own form has no time zone.
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    return Engine(session, work, allow_slow)


def _decided(
    engine: Engine, given: DataFrame, choices: Choices, archive: KnownBatches
) -> DataFrame:
    parameters = choices.pipeline.parameters
    if choices.verifies:
        new = engine.stage("repeated", lambda: repeated(engine, given, archive.repeated))
        whole = new.unionByName(archive.repeated)
        seen = engine.stage("seen", lambda: seen_pages(engine, given, whole))
        pages = engine.stage("ordered", lambda: in_order(seen))
        beside = archive.beside(pages, whole)
        found, crowded, keys = verified.duplicates(engine, beside, parameters, archive.crowded)
        archive.add(pages, found, repeated=new, crowded=keys)
    else:
        pages = engine.stage("ordered", lambda: in_order(given.select(*OF_FEATURES)))
        beside = archive.beside(pages)
        found = plain.duplicates(engine, beside, parameters.distance)
        crowded = pages.select("rank").limit(0)
        archive.add(pages, found)
    return _decisions(beside, found, crowded)


def _decisions(pages: DataFrame, found: DataFrame, crowded: DataFrame) -> DataFrame:
    """Return what each page is: *found* are the duplicates, *crowded* pages with crowded keys.

    Known pages, whose ranks are negative, are in none of the rows but as representatives.
    """
    shown = [F.col(name).alias(f"representative{end}") for name, end in _SHOWN.items()]
    kept = pages.select(F.col("rank").alias("kept"), *shown)
    copies = found.groupBy(F.col("kept").alias("rank")).agg(F.count("*").alias("copies"))
    whole = (
        pages.where("rank >= 0")
        .select("rank", *_AS_THEY_ARE, F.col("reason").alias("skipped"))
        .join(found, "rank", "left")
        .join(kept, "kept", "left")
        .join(copies, "rank", "left")
        .join(crowded.withColumn("crowded", F.lit(True)), "rank", "left")
    )
    is_kept = F.col("skipped").isNull() & F.col("kept").isNull()
    known = F.when(F.col("skipped").isNotNull(), F.array(F.lit("skipped"), "skipped"))
    conditions = is_kept, F.col("is_exact"), F.col("share").isNull(), F.lit(True)
    for condition, (verdict, reason) in zip(conditions, KINDS, strict=True):
        known = known.when(condition, F.array(F.lit(verdict), F.lit(reason)))
    return (
        whole.withColumn("verdict", known[0])
        .withColumn("reason", known[1])
        .withColumn("copies", F.when(is_kept, F.coalesce("copies", F.lit(0))))
        .withColumn("crowded", F.when(is_kept, F.coalesce("crowded", F.lit(False))))
        .withColumn("distance", F.col("distance").cast("byte"))
        .withColumn("share", F.col("share").cast("float"))
        .orderBy("rank")
        .select(*DECISIONS.names)
    )
