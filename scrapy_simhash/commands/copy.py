"""``scrapy simhash copy``: the pages of an index into another one, as they are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrapy_simhash.commands.base import Subcommand, add_index, pipeline_of
from scrapy_simhash.commands.progress import progress
from scrapy_simhash.index.opening import open_existing, open_lasting
from scrapy_simhash.index.survey import copy

if TYPE_CHECKING:
    import argparse

    from rich.console import Console


@dataclass(frozen=True)
class Copied:
    """How many pages were copied, and how many kept pages the target has now."""

    pages: int
    kept: int
    target: str


class CopyCommand(Subcommand[Copied]):
    """Copies an index between a file and Redis, either way.

    Nothing is judged anew: kept pages stay kept, and duplicates point to the same page.  A page
    that is in the target already stays as it is there, so that a copy that was broken off goes on
    when it is made again.
    """

    name = "copy"
    summary = "Copy all pages of an index into another one: from a file to Redis, or back"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index(parser, "source")
        parser.add_argument("target", metavar="TARGET", help="the same; made where there is none")

    async def find(self, options: argparse.Namespace) -> Copied:
        pipeline = pipeline_of(options)
        async with open_existing(options.source) as source:
            built_for = source.parameters
            parameters = replace(
                pipeline.parameters, scheme=built_for.scheme, scope=built_for.scope
            )
            expected = pipeline.settings.expected_pages
            async with open_lasting(options.target, parameters, expected) as target:
                copied = 0
                with progress("Copying pages", (await source.counts()).pages) as advance:
                    async for _ in copy(source, target):
                        copied += 1
                        advance(1)
                return Copied(copied, (await target.counts()).kept, str(target))

    def show(self, found: Copied, console: Console) -> None:
        console.print(
            f"{found.pages:,} pages are in {found.target}; {found.kept:,} are kept ones there",
            markup=False,
            soft_wrap=True,
        )
