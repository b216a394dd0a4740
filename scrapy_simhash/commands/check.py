"""``scrapy simhash check``: what would become of a page, and why."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.base import Subcommand, add_index, settings_of
from scrapy_simhash.commands.pages import analysed, as_page, load
from scrapy_simhash.crawl.judging import analyser_of, parameters_of
from scrapy_simhash.index import open_index
from scrapy_simhash.index.survey import open_existing

if TYPE_CHECKING:
    import argparse

    from rich.console import Console


class CheckCommand(Subcommand):
    """Judges a page as a crawl with the same settings would, and remembers nothing."""

    name = "check"
    summary = "Say what a crawl would decide of a page, without remembering it"

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        add_index(parser)
        parser.add_argument("page", metavar="URL-or-FILE", help="the page")
        parser.add_argument("--url", help="take a file for the page at this address")
        parser.add_argument("--spider", default="", help="its spider, in an index of that scope")

    @classmethod
    def find(cls, options: argparse.Namespace) -> Any:
        open_existing(options.index).close()  # where there is none, none is made
        settings = settings_of(options)
        analyser = analyser_of(settings)
        response = load(options.page)
        url = options.url or response.url
        with open_index(options.index, parameters_of(settings, analyser)) as index:
            analysis = analysed(analyser, response.replace(url=url), index.templates)
            decision = index.check(as_page(analysis, url, settings.scope, options.spider))
        return {
            "url": url,
            **asdict(decision),
            "fingerprint": f"{analysis.fingerprint:016x}",
            "tokens": analysis.tokens,
        }

    @classmethod
    def show(cls, found: Any, console: Console) -> None:
        console.print(
            f"{found['verdict']} ({found['reason']}): {found['url']}", markup=False, soft_wrap=True
        )
        if found["representative"] is not None and found["verdict"] != "refresh":
            console.print(f"kept page: {found['representative']}", markup=False, soft_wrap=True)
        if found["distance"] is not None:
            console.print(f"distance: {found['distance']} bits")
        if found["share"] is not None:
            console.print(f"share in common: {found['share']:.3f}")
        console.print(f"fingerprint {found['fingerprint']}, {found['tokens']} tokens")
