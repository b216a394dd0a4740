"""Looking into an index and mending it: ``scrapy simhash stats``, ``forget`` and ``repair``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict

from rich import box
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from scrapy_simhash.commands.base import (
    INDEX_HELP,
    Result,
    Subcommand,
    add_index_or_spider,
    progress,
)
from scrapy_simhash.decision.page import Page
from scrapy_simhash.index.base import Index
from scrapy_simhash.index.opening import file_of, open_lasting
from scrapy_simhash.index.sqlite.repair import Problem, repair
from scrapy_simhash.index.survey import Survey, survey
from scrapy_simhash.report.counting import counted
from scrapy_simhash.report.document import iso_time
from scrapy_simhash.report.html import printable
from scrapy_simhash.urls import host_of, scope_key

BAD = 1
SECONDS_A_DAY = 86_400


class StatsCommand(Subcommand):
    """Says how many pages an index holds, of which crawls, and its largest groups."""

    name = "stats"
    summary = "Show what is in an index: pages, crawls, and the largest groups of duplicates"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)

    async def find(self, options: argparse.Namespace) -> Result:
        found = await survey(options.index)
        return Result(asdict(found), _tables(found))


def _tables(found: Survey) -> Iterator[Table]:
    facts = Table(box=None, show_header=False)
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
    yield facts
    crawls = Table("spider", "began", "ended", box=box.SIMPLE, title="Crawls")
    crawls.add_column("pages judged last", justify="right")
    for crawl in found.crawls:
        crawls.add_row(
            crawl.spider, _date(crawl.started), _date(crawl.finished), f"{crawl.pages:,}"
        )
    groups = Table("kept page", box=box.SIMPLE, title="Largest groups")
    groups.add_column("duplicates", justify="right")
    for group in found.largest_groups:
        groups.add_row(Text(printable(group.url)), f"{group.duplicates:,}")
    yield from (table for table in (crawls, groups) if table.row_count)


def _date(seconds: int | None) -> str:
    return "-" if seconds is None else iso_time(seconds)[:16].replace("T", " ")


class ForgetCommand(Subcommand):
    """Forgets a page, a site, old pages, or those that a spider's crawls judged last.

    The place of a kept page is taken by the oldest of its group that stays.
    """

    name = "forget"
    summary = "Take pages out of an index: one, those of a site or of a spider, or old ones"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("index", metavar="INDEX", help=INDEX_HELP)
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--url", help="the page at this address")
        which.add_argument("--site", help="the pages of this host, or of this registered domain")
        which.add_argument("--spider", help="the pages that crawls of this spider judged last")
        which.add_argument(
            "--days", type=float, help="the pages that no crawl has met for so many days"
        )

    async def find(self, options: argparse.Namespace) -> Result:
        async with open_lasting(options.index) as index:
            is_meant = await _meant(options, index)
            ids = [row.id async for row in index.rows() if is_meant(row.page)]
            forgotten = await index.forget(ids)
            pages, kept = await index.counts()
        line = f"{counted(forgotten, 'page(s) forgotten')}; {pages:,} left, {kept:,} of them kept"
        is_missing = options.url is not None and not forgotten
        if is_missing:
            line = "The index has no page at this address"
        document = {
            "forgotten": forgotten,
            "pages": pages,
            "kept": kept,
            "is_missing": is_missing,
        }
        return Result(document, [line], BAD if is_missing else 0)


async def _meant(options: argparse.Namespace, index: Index) -> Callable[[Page], bool]:
    """Return whether a page is meant, as a function."""
    if options.url is not None:
        return lambda page: page.url == options.url
    if options.days is not None:
        before = time.time() - options.days * SECONDS_A_DAY
        return lambda page: page.judged_at < before
    if options.site is not None:
        site = options.site.lower()
        return lambda page: site in (host_of(page.url), scope_key("site", page.url, ""))
    crawls = {crawl.id for crawl in await index.crawls() if crawl.spider == options.spider}
    return lambda page: page.crawl in crawls


class RepairCommand(Subcommand):
    """Checks the file and every rule of its rows, and mends what it can without loss."""

    name = "repair"
    summary = "Check that an index is whole, and mend what can be mended without loss"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)

    async def find(self, options: argparse.Namespace) -> Result:
        with progress("Checking", None):
            problems = repair(file_of(options.index, "repair"))
        document = {"clean": not problems, "problems": [*map(asdict, problems)]}
        return Result(document, _lines(problems), BAD if problems else 0)


def _lines(problems: list[Problem]) -> Iterator[str]:
    if not problems:
        yield "The index is whole."
    for problem in problems:
        ids = f" (ids {', '.join(map(str, problem.ids))} ...)" if problem.ids else ""
        state = "mended" if problem.repaired else "NOT mended"
        rule, *places = problem.rule.splitlines()
        yield f"{state}: {problem.count:,} against the rule that {rule}{ids}"
        yield from (f"  {place}" for place in places)
