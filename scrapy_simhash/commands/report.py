"""``scrapy simhash report``: the report of crawls, made from their decisions feeds."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from scrapy_simhash.commands.base import Result, Subcommand, progress
from scrapy_simhash.errors import SourceError
from scrapy_simhash.files import replacing
from scrapy_simhash.report.collector import Collector
from scrapy_simhash.report.counting import counted
from scrapy_simhash.report.document import CrawlInfo, report_of
from scrapy_simhash.report.html import html_of, short_tables, shown
from scrapy_simhash.report.savings import FeedRules

# Between two steps of the progress bar: a step for each line takes as long as the line does.
CHUNK_BYTES = 1 << 20


class ReportCommand(Subcommand):
    """Reads decisions feeds, of one crawl or of several, and shows what is in them."""

    name = "report"
    summary = "Make the report of crawls from their decisions feeds"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "feeds", nargs="+", type=Path, metavar="DECISIONS", help="decisions feeds, taken as one"
        )
        parser.add_argument("--output", type=Path, metavar="FILE", help="write the HTML page there")

    async def find(self, options: argparse.Namespace) -> Result:
        report = _report(options.feeds)
        if options.output:
            write_page(html_of(report), options.output)
        totals = report["totals"]
        line = (
            f"{counted(totals['judged'], 'page(s) judged')}, "
            f"{counted(totals['duplicates'], 'duplicate(s)')} "
            f"({totals['duplicate_share']:.1%}), {totals['dropped']:,} dropped, "
            f"{totals['skipped']:,} not judged, "
            f"{counted(totals['unreadable_lines'], 'unreadable line(s)')}"
        )
        return Result(report, [line, *short_tables(report)])


def _report(feeds: list[Path]) -> dict[str, Any]:
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
