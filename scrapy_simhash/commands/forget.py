"""``scrapy simhash forget``: take pages out of an index."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.base import Subcommand, add_index
from scrapy_simhash.index.survey import ids_where, open_existing
from scrapy_simhash.rule.scope import host_of, scope_key

if TYPE_CHECKING:
    import argparse

    from rich.console import Console


class ForgetCommand(Subcommand):
    """Forgets a page, a site, or what a spider's crawls judged last.

    Where a kept page goes, the oldest of its group that stays takes its place.
    """

    name = "forget"
    summary = "Take pages out of an index: one, those of a site, or those of a spider"

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        add_index(parser)
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--url", help="the page at this address")
        which.add_argument("--site", help="the pages of this host, or of this registered domain")
        which.add_argument("--spider", help="the pages that crawls of this spider judged last")

    @classmethod
    def find(cls, options: argparse.Namespace) -> Any:
        with open_existing(options.index) as index:
            ids = ids_where(index, options.spider, _meant(options))
            return {"forgotten": index.forget(ids), "pages": index.count(), "kept": len(index)}

    @classmethod
    def show(cls, found: Any, console: Console) -> None:
        console.print(
            f"{found['forgotten']:,} pages forgotten; {found['pages']:,} left, "
            f"{found['kept']:,} of them kept ones"
        )


def _meant(options: argparse.Namespace) -> Callable[[str], bool] | None:
    if options.url is not None:
        return lambda url: url == options.url
    if options.site is not None:
        site = options.site.lower()
        return lambda url: site in (host_of(url), scope_key("site", url, ""))
    return None
