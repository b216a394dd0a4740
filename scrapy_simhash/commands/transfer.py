"""Pages from one place into an index, and out of it: ``scrapy simhash export`` and ``import``.

What comes out is a table for other programs: :class:`~scrapy_simhash.index.survey.Member` has its
columns, the end of the file's name says its form.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import Counter
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TextIO

from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.commands.base import (
    Result,
    Subcommand,
    add_index_or_spider,
    pipeline_of,
    progress,
)
from scrapy_simhash.commands.sources import analysed_pages, pages_at
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index.base import Index
from scrapy_simhash.index.opening import is_index, open_index, open_lasting
from scrapy_simhash.index.survey import Member, copy, members
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.report.counting import counted


class ExportCommand(Subcommand):
    """Writes the groups of an index as a table: each kept page, followed by its duplicates."""

    name = "export"
    summary = "Write the pages of an index as a table: each kept page, then its duplicates"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)
        parser.add_argument(
            "output",
            metavar="OUTPUT",
            help="a file to make, .jsonl or .csv, or - for JSON lines on the screen",
        )

    async def find(self, options: argparse.Namespace) -> Result | None:
        async with open_lasting(options.index) as index:
            if options.output == "-":
                await _write(index, sys.stdout)
                return None
            try:
                with Path(options.output).open("x", encoding="utf-8", newline="") as file:
                    written = await _write(index, file, options.output.endswith(".csv"))
            except OSError as exc:
                raise SimhashError(f"{options.output} cannot be made: {exc}") from exc
        line = f"{counted(written, 'page(s) written')} to {options.output}"
        return Result({"pages": written, "output": options.output}, [line])


async def _write(index: Index, file: TextIO, is_csv: bool = False) -> int:
    """Write the pages as JSON lines, or as CSV; return how many there are."""
    table = csv.DictWriter(file, Member._fields)
    if is_csv:
        table.writeheader()
    written = 0
    with progress("Writing pages", (await index.counts()).pages) as advance:
        async for member in members(index):
            judged_at = datetime.fromtimestamp(member.judged_at, timezone.utc)
            row = member._asdict() | {"judged_at": judged_at.isoformat()}
            if is_csv:
                table.writerow(row)
            else:
                file.write(f"{json.dumps(row, ensure_ascii=False)}\n")
            written += 1
            advance(1)
    return written


class ImportCommand(Subcommand):
    """Judges pages from elsewhere as a crawl would, and remembers them.

    The index is made where there is none.  The pages of another index are not judged anew: kept
    pages stay kept, and duplicates point to the same page.  A page that is in the target already
    stays as it is there, so that a copy that was interrupted goes on when it is made again.
    """

    name = "import"
    summary = "Take pages into an index: of an HTTP cache, WARC file, folder, or index"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)
        parser.add_argument("sources", metavar="SOURCE", nargs="+", help="where the pages are")

    async def find(self, options: argparse.Namespace) -> Result:
        pipeline = pipeline_of(options)
        verdicts: Counter[str] = Counter()
        unread = Unread()
        for place in options.sources:
            if is_index(place):
                verdicts["copied"] += await _copied(place, options.index, pipeline.parameters)
            else:
                verdicts += await _judged(Path(place), options, pipeline, unread)
        counts = {"pages": verdicts.total(), **verdicts}
        lines = [f"{name}: {number:,}" for name, number in counts.items()]
        not_read = {"unread": unread.as_json()} if unread.counts else {}
        return Result({**counts, **not_read}, [*lines, *unread.lines()])


async def _copied(source_place: str, target_place: str, parameters: Parameters) -> int:
    """Copy an index between a file and Redis, either way; return how many pages it has."""
    async with open_lasting(source_place) as source:
        built_for = source.parameters
        parameters = replace(parameters, scheme=built_for.scheme, scope=built_for.scope)
        async with open_lasting(target_place, parameters) as target:
            copied = 0
            with progress("Copying pages", (await source.counts()).pages) as advance:
                async for _ in copy(source, target):
                    copied += 1
                    advance(1)
            return copied


async def _judged(
    place: Path, options: argparse.Namespace, pipeline: Pipeline, unread: Unread
) -> Counter[str]:
    """Analyse and judge the pages at a place; those that have no text are ``skipped``."""
    verdicts: Counter[str] = Counter()
    fetched, count = pages_at(place, unread)
    with progress("Analysing pages", count) as advance:
        async with (
            open_index(options.index, pipeline.parameters) as index,
            aclosing(analysed_pages(fetched, pipeline, index, options.spider)) as pages,
        ):
            async for page in pages:
                judged = "skipped" if page is None else (await index.check_and_add(page)).verdict
                verdicts[judged] += 1
                advance(1)
    return verdicts
