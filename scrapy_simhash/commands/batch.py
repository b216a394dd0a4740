"""Near-duplicates of whole archives: ``scrapy simhash batch``."""

from __future__ import annotations

import argparse
import asyncio
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.commands.base import Result, Subcommand, progress
from scrapy_simhash.commands.report import write_page
from scrapy_simhash.errors import SourceError
from scrapy_simhash.report.counting import counted
from scrapy_simhash.report.html import html_of
from scrapy_simhash.settings import SimhashSettings

if TYPE_CHECKING:
    from scrapy_simhash.batch.features import Choices
    from scrapy_simhash.batch.records import Input


# Pages by verdict, reason and whether they are crowded.
Counts: TypeAlias = "Counter[tuple[str, str, bool]]"


class BatchCommand(Subcommand):
    """Judges all pages of an archive in one order, by the rule of ``SIMHASH_TAKES = "text"``.

    A page is a duplicate of an earlier kept page, never of a dropped one.  The answer depends on
    the pages and their order alone.  A batch that was stopped goes on where it was.
    """

    name = "batch"
    summary = "Find the near-duplicates of whole archives: WARC, WACZ, JSON Lines, Parquet"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "inputs", metavar="INPUT", nargs="+", help="a file, or a folder of files"
        )
        parser.add_argument(
            "--out",
            required=True,
            metavar="FILE",
            help="the decisions, a Parquet file to make; of Spark, a folder of such files",
        )
        parser.add_argument(
            "--known",
            metavar="FOLDER",
            help="pages that earlier batches kept; what this one keeps is added",
        )
        parser.add_argument(
            "--order",
            default="date",
            metavar="ORDER",
            help="which of two pages is the first: by date (the default), input, or a column",
        )
        parser.add_argument(
            "--rule",
            choices=("verified", "plain"),
            default="verified",
            help="verified: most of the text is the same; plain: the fingerprints are near",
        )
        parser.add_argument(
            "--engine",
            choices=("local", "spark"),
            default="local",
            help="what does the work: this machine (local, the default), or Apache Spark",
        )
        parser.add_argument(
            "--allow-slow",
            action="store_true",
            help="let executors of Spark work that have no compiled modules",
        )
        parser.add_argument(
            "--work", metavar="FOLDER", help="for what is done (default: FILE.work, which goes)"
        )
        parser.add_argument(
            "--column",
            action="append",
            default=[],
            metavar="html=NAME",
            help="what a column is called: url, date, html, text, fingerprint, encoding",
        )
        parser.add_argument(
            "--kept", metavar="FILE", help="write the kept pages there, as a .warc.gz file"
        )
        parser.add_argument("--report", metavar="FILE", help="write the report there, as HTML")

    async def find(self, options: argparse.Namespace) -> Result:
        try:
            from scrapy_simhash.batch.features import BY_DATE, BY_INPUT, Choices
            from scrapy_simhash.batch.output import check_sources, write_kept
            from scrapy_simhash.batch.records import Columns, inputs
            from scrapy_simhash.batch.report import batch_report
        except ImportError as exc:
            raise SourceError("Batches need pyarrow: pip install scrapy-simhash[batch]") from exc

        settings = SimhashSettings.read(options.scrapy_settings)
        choices = Choices(options.rule, options.order, replace(settings, max_waiting=None))
        column = None if options.order in (BY_DATE, BY_INPUT) else options.order
        sources = inputs(options.inputs, Columns.of(options.column, column))
        if options.kept:
            check_sources(source.place for source in sources)
        run = _on_spark if options.engine == "spark" else _on_this_machine
        # Its readers have event loops of their own.
        counts, unread, clean = await asyncio.to_thread(run, options, sources, choices)
        if options.kept:
            write_kept(Path(options.out), Path(options.kept))
        if options.report:
            out = Path(options.out)
            write_page(html_of(batch_report(out, out.name)), Path(options.report))
        if not options.work:
            clean()
        return _result(counts, unread, options.out)


def _result(counts: Counts, unread: Unread, output: str) -> Result:
    verdicts: Counter[str] = Counter()
    skipped: Counter[str] = Counter()
    crowded = 0
    for (verdict, reason, is_crowded), pages in counts.items():
        verdicts[verdict] += pages
        crowded += pages * is_crowded
        if verdict == "skipped":
            skipped[reason] += pages
    near, exact = verdicts["near_duplicate"], verdicts["exact_duplicate"]
    document = {
        "pages": counts.total(),
        "kept": verdicts["unique"],
        "near_duplicates": near,
        "exact_duplicates": exact,
        "crowded": crowded,
        "not_judged": skipped,
        "not_read": unread.as_json(),
        "output": output,
    }
    too_many = "kept pages were not compared with all that are like them: there are too many"
    lines = [
        f"{counted(counts.total(), 'page(s)')}: {verdicts['unique']:,} kept, "
        f"{counted(near + exact, 'duplicate(s)')} ({exact:,} exact), "
        f"{skipped.total():,} not judged",
        *(f"not judged ({reason}): {number:,}" for reason, number in skipped.items()),
        *unread.lines(),
        *([f"{crowded:,} {too_many}"] if crowded else []),
        f"Each decision is in {output}",
    ]
    return Result(document, lines)


def _on_this_machine(
    options: argparse.Namespace, sources: Sequence[Input], choices: Choices
) -> tuple[Counts, Unread, Callable[[], None]]:
    """Return the pages, what was not read, and what removes that which the stages have left."""
    import pyarrow.parquet as pq

    from scrapy_simhash.batch import local

    out = Path(options.out)
    work = Path(options.work or f"{out}.work")
    if out.exists() and not work.exists():
        raise SourceError(f"{out} is there already; name a file that is not")
    known = None if options.known is None else Path(options.known)
    unread = local.run(sources, choices, work, out, known, partial(progress, total=None))
    counts: Counts = Counter()
    for batch in pq.ParquetFile(out).iter_batches(columns=["verdict", "reason", "crowded"]):
        verdicts, reasons, crowded = batch.to_pydict().values()
        counts.update(zip(verdicts, reasons, map(bool, crowded), strict=True))
    return counts, unread, partial(shutil.rmtree, work)


def _on_spark(
    options: argparse.Namespace, sources: Sequence[Input], choices: Choices
) -> tuple[Counts, Unread, Callable[[], None]]:
    """Return the same."""
    try:
        from scrapy_simhash.spark import duplicates
        from scrapy_simhash.spark.engine import in_short
    except ImportError as exc:
        raise SourceError(
            "Batches on Spark need PySpark, and Java 17 or later: pip install scrapy-simhash[spark]"
        ) from exc

    if "://" in options.out and (options.kept or options.report):
        raise SourceError("--kept and --report read the decisions: --out must be a folder here")
    work = options.work or f"{options.out}.work"
    with in_short():
        engine = duplicates.engine_at(work, options.allow_slow)
        if engine.exists(options.out) and not engine.exists(work):
            raise SourceError(f"{options.out} is there already; name a folder that is not")
        decisions, unread = duplicates.run(engine, sources, choices, options.out, options.known)
        groups = decisions.groupBy("verdict", "reason", "crowded").count().collect()
    counts = Counter({(row[0], row[1], bool(row[2])): row[3] for row in groups})
    return counts, unread, partial(engine.remove, work)
