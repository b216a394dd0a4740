"""Looking into an index and mending it: ``scrapy simhash stats``, ``forget`` and ``repair``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from scrapy_simhash.commands.base import (
    INDEX_HELP,
    Subcommand,
    add_index_or_spider,
    print_line,
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


class StatsCommand(Subcommand[Survey]):
    """Says how many pages an index holds, of which crawls, and its largest groups."""

    name = "stats"
    summary = "Show what is in an index: pages, crawls, and the largest groups of duplicates"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)

    async def find(self, options: argparse.Namespace) -> Survey:
        return await survey(options.index)

    def show(self, found: Survey, console: Console) -> None:
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
        console.print(facts)
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
        for table in (crawls, groups):
            if table.row_count:
                console.print(table)


def _date(seconds: int | None) -> str:
    return "-" if seconds is None else iso_time(seconds)[:16].replace("T", " ")


@dataclass(frozen=True)
class Forgotten:
    """How many pages were forgotten, and how many pages and kept ones are left.

    *is_missing*: the index had none at the address that was given.
    """

    forgotten: int
    pages: int
    kept: int
    is_missing: bool


class ForgetCommand(Subcommand[Forgotten]):
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

    async def find(self, options: argparse.Namespace) -> Forgotten:
        async with open_lasting(options.index) as index:
            is_meant = await _meant(options, index)
            ids = [row.id async for row in index.rows() if is_meant(row.page)]
            forgotten = await index.forget(ids)
            pages, kept = await index.counts()
        return Forgotten(forgotten, pages, kept, options.url is not None and not forgotten)

    def show(self, found: Forgotten, console: Console) -> None:
        if found.is_missing:
            console.print("The index has no page at this address")
            return
        console.print(
            f"{counted(found.forgotten, 'page(s) forgotten')}; {found.pages:,} left, "
            f"{found.kept:,} of them kept"
        )

    def exit_code(self, found: Forgotten) -> int:
        return BAD if found.is_missing else 0


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


@dataclass(frozen=True)
class Repaired:
    """Whether an index was whole, and what was wrong with it."""

    clean: bool
    problems: list[Problem]


class RepairCommand(Subcommand[Repaired]):
    """Checks the file and every rule of its rows, and mends what it can without loss."""

    name = "repair"
    summary = "Check that an index is whole, and mend what can be mended without loss"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)

    async def find(self, options: argparse.Namespace) -> Repaired:
        with progress("Checking", None):
            problems = repair(file_of(options.index, "repair"))
        return Repaired(clean=not problems, problems=problems)

    def show(self, found: Repaired, console: Console) -> None:
        if found.clean:
            console.print("The index is whole.")
        for problem in found.problems:
            ids = f" (ids {', '.join(map(str, problem.ids))} ...)" if problem.ids else ""
            state = "mended" if problem.repaired else "NOT mended"
            rule, *places = problem.rule.splitlines()
            print_line(console, f"{state}: {problem.count:,} against the rule that {rule}{ids}")
            for place in places:
                print_line(console, f"  {place}")

    def exit_code(self, found: Repaired) -> int:
        return 0 if found.clean else BAD
