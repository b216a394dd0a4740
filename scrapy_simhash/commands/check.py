"""``scrapy simhash check``: what a crawl would decide of a page, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrapy_simhash.commands.base import (
    Subcommand,
    add_index_or_spider,
    decision_as_json,
    pipeline_of,
    print_line,
)
from scrapy_simhash.commands.pages import analysed_page, load
from scrapy_simhash.index.memory import MemoryIndex
from scrapy_simhash.index.opening import open_existing, open_index
from scrapy_simhash.rule.page import Decision

if TYPE_CHECKING:
    import argparse

    from rich.console import Console


# Nothing is learned of a site of this name: a host has no space.
UNKNOWN_SITE = "unknown site"


@dataclass(frozen=True)
class Checked:
    """A page, and what a crawl would decide of it.

    *at_first* is the decision of a crawl that does not know yet what the site repeats, if the page
    is unique only because this is known.
    """

    url: str
    decision: Decision
    at_first: Decision | None
    fingerprint: int
    tokens: int


class CheckCommand(Subcommand[Checked]):
    """Judges a page as a crawl with the same settings would, and remembers nothing."""

    name = "check"
    summary = "Say what a crawl would decide of a page, without remembering it"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)
        parser.add_argument("page", metavar="URL-or-FILE", help="the page")
        parser.add_argument("--url", help="take a file for the page at this address")

    async def find(self, options: argparse.Namespace) -> Checked:
        await open_existing(options.index).close()  # open_index would make one where there is none
        pipeline = pipeline_of(options)
        fetched = load(options.page, options.url)
        async with open_index(options.index, pipeline.parameters) as index:
            page, _ = await analysed_page(fetched, pipeline, index, options.spider)
            decision = await index.check(page)
            at_first = None
            if decision.is_kept:
                nothing = MemoryIndex(pipeline.parameters)
                plain, _ = await analysed_page(fetched, pipeline, nothing, options.spider)
                found = await index.check(replace(plain, site=UNKNOWN_SITE, section=""))
                at_first = found if found.is_duplicate else None
        return Checked(page.url, decision, at_first, page.fingerprint, page.tokens)

    def show(self, found: Checked, console: Console) -> None:
        decision = found.decision
        print_line(console, f"{decision.verdict} ({decision.reason}): {found.url}")
        if decision.representative is not None and decision.verdict != "refresh":
            print_line(console, f"kept page: {decision.representative}")
        if (closest := decision.closest) is not None:
            print_line(console, f"closest page: {closest.url}, share in common {closest.share:.3f}")
        if (at_first := found.at_first) is not None:
            print_line(
                console,
                f"before the crawl knew what the site repeats: {at_first.verdict} of "
                f"{at_first.representative}",
            )
        if decision.distance is not None:
            console.print(f"distance: {decision.distance} bits")
        if decision.share is not None:
            console.print(f"share in common: {decision.share:.3f}")
        console.print(f"fingerprint {found.fingerprint:016x}, {found.tokens} tokens")

    def as_json(self, found: Checked) -> object:
        return {
            "url": found.url,
            **decision_as_json(found.decision),
            "at_first": None if found.at_first is None else decision_as_json(found.at_first),
            "fingerprint": f"{found.fingerprint:016x}",
            "tokens": found.tokens,
        }
