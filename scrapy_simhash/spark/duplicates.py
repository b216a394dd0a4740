"""From the features of an archive to decisions: all stages of a batch on Spark, in their order."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from scrapy_simhash.batch.features import Choices
from scrapy_simhash.batch.local import DECISIONS
from scrapy_simhash.spark import plain, verified
from scrapy_simhash.spark.engine import Engine
from scrapy_simhash.spark.pages import in_order, repeated, seen_pages, unseen_pages

# How a page that others are duplicates of is shown.
_SHOWN = {
    "url": "representative",
    "file": "representative_file",
    "offset": "representative_offset",
}


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
    parameters = choices.pipeline.parameters
    given = engine.stage("features", lambda: features)
    if choices.verifies:
        known = engine.stage("repeated", lambda: repeated(engine, given))
        seen = engine.stage("seen", lambda: seen_pages(engine, given, known))
        pages = engine.stage("ordered", lambda: in_order(seen))
        found, crowded = verified.duplicates(engine, pages, parameters)
    else:
        pages = engine.stage("ordered", lambda: in_order(unseen_pages(given)))
        found = plain.duplicates(engine, pages, parameters.distance)
        crowded = pages.select("rank").limit(0)
    return engine.stage("decisions", lambda: _decisions(pages, found, crowded))


def _decisions(pages: DataFrame, found: DataFrame, crowded: DataFrame) -> DataFrame:
    """Return what each page is: *found* are the duplicates, *crowded* pages with crowded keys."""
    shown = [F.col(name).alias(alias) for name, alias in _SHOWN.items()]
    kept = pages.select(F.col("rank").alias("kept"), *shown)
    copies = found.groupBy(F.col("kept").alias("rank")).agg(F.count("*").alias("copies"))
    whole = (
        pages.select("rank", "url", "date", "file", "offset", F.col("reason").alias("skipped"))
        .join(found, "rank", "left")
        .join(kept, "kept", "left")
        .join(copies, "rank", "left")
        .join(crowded.withColumn("crowded", F.lit(True)), "rank", "left")
    )
    is_kept = F.col("skipped").isNull() & F.col("kept").isNull()
    known = F.when(F.col("skipped").isNotNull(), F.array(F.lit("skipped"), "skipped"))
    for condition, verdict, reason in (
        (is_kept, "unique", "new_text"),
        (F.col("is_exact"), "exact_duplicate", "same_text"),
        (F.col("share").isNull(), "near_duplicate", "within_distance"),
        (F.lit(True), "near_duplicate", "share_in_common"),
    ):
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
