"""``scrapy simhash stats``: what is in an index."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from rich import box
from rich.filesize import decimal
from rich.table import Table as Grid
from rich.text import Text

from scrapy_simhash.commands.base import Subcommand, add_index_or_spider
from scrapy_simhash.index.survey import Survey, survey
from scrapy_simhash.report.html import printable

if TYPE_CHECKING:
    import argparse

    from rich.console import Console


class StatsCommand(Subcommand[Survey]):
    """Says how many pages an index holds, of which crawls, and its largest groups."""

    name = "stats"
    summary = "Show what is in an index: pages, crawls, and the largest groups of duplicates"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)

    async def find(self, options: argparse.Namespace) -> Survey:
        return await survey(options.index)

    def show(self, found: Survey, console: Console) -> None:
        facts = Grid(box=None, show_header=False)
        for heading, value in (
            ("pages", f"{found.pages:,}"),
            ("kept", f"{found.kept:,}"),
            ("duplicates of them", f"{found.duplicates:,}"),
            ("judged", f"{_date(found.first_judged)} to {_date(found.last_judged)}"),
            ("file", "-" if found.file_bytes is None else decimal(found.file_bytes)),
            ("sites learned", f"{found.sites_learned:,}"),
            ("scope", found.scope),
            ("scheme", found.scheme),
        ):
            facts.add_row(heading, value)
        console.print(facts)
        crawls = Grid("spider", "began", "ended", box=box.SIMPLE, title="Crawls")
        crawls.add_column("pages judged last", justify="right")
        for crawl in found.crawls:
            crawls.add_row(
                crawl.spider, _date(crawl.started), _date(crawl.finished), f"{crawl.pages:,}"
            )
        groups = Grid("kept page", box=box.SIMPLE, title="Largest groups")
        groups.add_column("duplicates", justify="right")
        for group in found.largest_groups:
            groups.add_row(Text(printable(group.url)), f"{group.duplicates:,}")
        for grid in (crawls, groups):
            if grid.row_count:
                console.print(grid)


def _date(seconds: int | None) -> str:
    if seconds is None:
        return "-"
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(" ", "minutes")[:16]
