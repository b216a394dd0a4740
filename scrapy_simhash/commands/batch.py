"""Near-duplicates of whole archives: ``scrapy simhash batch``."""

from __future__ import annotations

import asyncio
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.commands.base import Subcommand, print_line, progress
from scrapy_simhash.commands.report import write_page
from scrapy_simhash.errors import SourceError
from scrapy_simhash.report.html import html_of
from scrapy_simhash.settings import SimhashSettings

if TYPE_CHECKING:
    import argparse

    from rich.console import Console


# From so many pages on, their analysis takes days.
MANY_PAGES = 50_000_000


@dataclass(frozen=True)
class BatchResult:
    """How many pages of an archive got which verdict, and where each decision is.

    *not_judged* are the pages of a verdict ``skipped``, by their reasons, *not_read* the records
    that are no pages or could not be read, by their kinds.
    """

    pages: int
    kept: int
    near_duplicates: int
    exact_duplicates: int
    crowded: int
    not_judged: Mapping[str, int]
    not_read: Mapping[str, Any]
    output: str


class BatchCommand(Subcommand[BatchResult]):
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
            "--out", required=True, metavar="FILE", help="the decisions, a Parquet file to make"
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

    async def find(self, options: argparse.Namespace) -> BatchResult:
        try:
            from scrapy_simhash.batch import local
            from scrapy_simhash.batch.features import BY_DATE, BY_INPUT, Choices
            from scrapy_simhash.batch.output import check_sources, write_kept
            from scrapy_simhash.batch.records import Columns, inputs
            from scrapy_simhash.batch.report import batch_report
        except ImportError as exc:
            raise SourceError("Batches need pyarrow: pip install scrapy-simhash[batch]") from exc

        out = Path(options.out)
        work = Path(options.work) if options.work else out.with_name(f"{out.name}.work")
        if out.exists() and not work.exists():
            raise SourceError(f"{out} is there already; name a file that is not")
        known = None if options.known is None else Path(options.known)
        settings = SimhashSettings.read(options.scrapy_settings)
        choices = Choices(options.rule, options.order, replace(settings, max_waiting=None))
        column = None if options.order in (BY_DATE, BY_INPUT) else options.order
        sources = inputs(options.inputs, Columns.of(options.column, column))
        if options.kept:
            check_sources(source.place for source in sources)
        # Its readers have event loops of their own.
        shown = partial(progress, total=None)
        unread = await asyncio.to_thread(local.run, sources, choices, work, out, known, shown)
        if options.kept:
            write_kept(out, Path(options.kept))
        if options.report:
            write_page(html_of(batch_report(out, out.name)), Path(options.report))
        if not options.work:
            shutil.rmtree(work)
        return _found(out, unread)

    def show(self, found: BatchResult, console: Console) -> None:
        dropped = found.near_duplicates + found.exact_duplicates
        console.print(
            f"{found.pages:,} pages: {found.kept:,} kept, {dropped:,} duplicates "
            f"({found.exact_duplicates:,} exact), {sum(found.not_judged.values()):,} not judged"
        )
        for reason, number in found.not_judged.items():
            console.print(f"not judged ({reason}): {number:,}")
        for line in Unread.from_json(found.not_read).lines():
            print_line(console, line)
        if found.crowded:
            console.print(
                f"{found.crowded:,} kept pages were not compared with all that are like them: "
                f"there are too many"
            )
        if found.pages > MANY_PAGES:
            console.print("One machine takes days for so many pages: see docs/archives.md")
        print_line(console, f"Each decision is in {found.output}")


def _found(out: Path, unread: Unread) -> BatchResult:
    """Count the decisions in a file."""
    import pyarrow.parquet as pq

    counts: Counter[tuple[str, str]] = Counter()
    crowded = 0
    for batch in pq.ParquetFile(out).iter_batches(columns=["verdict", "reason", "crowded"]):
        columns = batch.to_pydict()
        counts.update(zip(columns["verdict"], columns["reason"], strict=True))
        crowded += sum(map(bool, columns["crowded"]))
    verdicts: Counter[str] = Counter()
    for (verdict, _), number in counts.items():
        verdicts[verdict] += number
    skipped = {
        reason: number for (verdict, reason), number in counts.items() if verdict == "skipped"
    }
    return BatchResult(
        pages=counts.total(),
        kept=verdicts["unique"],
        near_duplicates=verdicts["near_duplicate"],
        exact_duplicates=verdicts["exact_duplicate"],
        crowded=crowded,
        not_judged=skipped,
        not_read=unread.as_json(),
        output=str(out),
    )
