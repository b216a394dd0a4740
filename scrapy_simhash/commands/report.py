"""``scrapy simhash report``: the report of crawls, made from their decisions feeds."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scrapy_simhash.commands.base import Subcommand, progress
from scrapy_simhash.errors import SourceError
from scrapy_simhash.files import replacing
from scrapy_simhash.report.collector import Collector
from scrapy_simhash.report.document import CrawlInfo, comparison_of, report_of
from scrapy_simhash.report.html import html_of, short_tables, shown
from scrapy_simhash.report.savings import FeedRules

# Between two steps of the progress bar: a step for each line takes as long as the line does.
CHUNK_BYTES = 1 << 20

# The JSON of a report, as docs/report.md describes it, or of a comparison of two.
Document = dict[str, Any]


class ReportCommand(Subcommand[Document]):
    """Reads decisions feeds, of one crawl or of several, and shows what is in them."""

    name = "report"
    summary = "Make the report of crawls from their decisions feeds"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "feeds", nargs="*", type=Path, metavar="DECISIONS", help="decisions feeds, taken as one"
        )
        parser.add_argument("--output", type=Path, metavar="FILE", help="write the HTML page there")
        parser.add_argument("--open", action="store_true", help="open the page in a browser, too")
        parser.add_argument(
            "--compare", nargs=2, type=Path, metavar=("A", "B"), help="two feeds, side by side"
        )

    async def find(self, options: argparse.Namespace) -> Document:
        if bool(options.feeds) == bool(options.compare):
            raise SourceError("name one or more decisions feeds, or two to --compare")
        if options.compare:
            if options.output or options.open:
                raise SourceError("a comparison is not written as HTML; take --json")
            one, other = (_report([feed]) for feed in options.compare)
            return comparison_of(one, other)
        if options.open and not options.output:
            raise SourceError("say where to write the page that --open shows: --output FILE")
        report = _report(options.feeds)
        if options.output:
            write_page(html_of(report), options.output)
        if options.open:
            _open(options.output)
        return report

    def show(self, found: Document, console: Console) -> None:
        if "totals" not in found:
            console.print(_comparison(found))
            return
        totals = found["totals"]
        console.print(
            f"{totals['judged']:,} pages judged, {totals['duplicates']:,} duplicates "
            f"({totals['duplicate_share']:.1%}), {totals['dropped']:,} dropped, "
            f"{totals['skipped']:,} not judged, {totals['unreadable_lines']:,} unreadable lines",
            highlight=False,
        )
        for table in short_tables(found):
            console.print(table)

    def as_json(self, found: Document) -> object:
        return found


def _report(feeds: list[Path]) -> Document:
    """Read *feeds* into one report.

    :raises SourceError: one cannot be read, or no feed has a decision.
    """
    collector, rules = Collector(), FeedRules()
    for feed in feeds:
        try:
            _read(feed, collector, rules)
        except OSError as exc:
            raise SourceError(f"{feed} cannot be read: {exc.strerror}") from exc
    if not collector.pages:
        names = ", ".join(map(str, feeds))
        raise SourceError(
            f"{names} must hold decisions, one JSON object a line: found none, and "
            f"{collector.unreadable_lines:,} other lines. Name a file that a crawl wrote to "
            "SIMHASH_DECISIONS_FILE."
        )
    name = ", ".join(feed.name for feed in feeds)
    return report_of(collector, CrawlInfo(name=name, rules=rules.rows()))


def _read(feed: Path, collector: Collector, rules: FeedRules) -> None:
    with feed.open("rb") as file, progress(shown(feed.name), feed.stat().st_size) as advance:
        while lines := file.readlines(CHUNK_BYTES):
            for record in collector.add_lines(lines):
                rules.add(record)
            advance(sum(map(len, lines)))


def write_page(html: str, path: Path) -> None:
    """Write the page of a report, in one step.

    :raises SourceError: it cannot be written.
    """
    try:
        with replacing(path) as unfinished:
            unfinished.write_bytes(html.encode())
    except OSError as exc:
        raise SourceError(f"{path} cannot be written: {exc.strerror}") from exc


def _open(path: Path) -> None:
    """Open the page at *path* in the browser that :mod:`webbrowser` chooses.

    :raises SourceError: there is none.
    """
    if not webbrowser.open(path.resolve().as_uri()):
        raise SourceError(
            f"{path} is written, but no browser was found to open it in. Open it yourself, or name "
            "a browser in the environment variable BROWSER."
        )


def _comparison(found: Document) -> Table:
    table = Table(box=SIMPLE)
    table.add_column("")
    for name in found["names"]:
        table.add_column(Text(shown(name)), justify="right")
    section = "totals"
    for row in found["rows"]:
        if row["section"] != section:
            section = row["section"]
            table.add_section()
        numbers = (
            f"{row[key]:.1%}" if isinstance(row[key], float) else f"{row[key]:,}"
            for key in ("one", "other")
        )
        table.add_row(Text(shown(row["name"])), *numbers)
    return table
