"""``scrapy simhash forget``: take pages out of an index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simhash.commands.base import Subcommand, add_index
from scrapy_simhash.index.opening import open_existing
from scrapy_simhash.index.survey import ids_where
from scrapy_simhash.urls import host_of, scope_key

if TYPE_CHECKING:
    import argparse

    from rich.console import Console


@dataclass(frozen=True)
class Forgotten:
    """How many pages were forgotten, and how many pages and kept ones are left."""

    forgotten: int
    pages: int
    kept: int


class ForgetCommand(Subcommand[Forgotten]):
    """Forgets a page, a site, or the pages that a spider's crawls judged last.

    The place of a kept page is taken by the oldest of its group that stays.
    """

    name = "forget"
    summary = "Take pages out of an index: one, those of a site, or those of a spider"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index(parser)
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--url", help="the page at this address")
        which.add_argument("--site", help="the pages of this host, or of this registered domain")
        which.add_argument("--spider", help="the pages that crawls of this spider judged last")

    async def find(self, options: argparse.Namespace) -> Forgotten:
        async with open_existing(options.index) as index:
            ids = await ids_where(index, options.spider, _meant(options))
            forgotten = await index.forget(ids)
            pages, kept = await index.counts()
        return Forgotten(forgotten, pages, kept)

    def show(self, found: Forgotten, console: Console) -> None:
        console.print(
            f"{found.forgotten:,} pages forgotten; {found.pages:,} left, "
            f"{found.kept:,} of them kept ones"
        )


def _meant(options: argparse.Namespace) -> Callable[[str], bool] | None:
    """Return whether the URL of a page is meant, as a function; None if every URL is."""
    if options.url is not None:
        return lambda url: url == options.url
    if options.site is not None:
        site = options.site.lower()
        return lambda url: site in (host_of(url), scope_key("site", url, ""))
    return None
