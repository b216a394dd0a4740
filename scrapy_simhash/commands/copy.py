"""``scrapy simhash copy``: the pages of an index into another one, as they are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.base import Subcommand, add_index, settings_of
from scrapy_simhash.crawl.judging import analyser_of, parameters_of
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index import open_index
from scrapy_simhash.index.copying import LastingIndex, copy
from scrapy_simhash.index.survey import open_existing
from scrapy_simhash.progress import progress

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from scrapy_simhash.index.contract import Index


class CopyCommand(Subcommand):
    """Moves an index between a file and Redis, either way; broken off, it goes on when repeated.

    Nothing is judged anew: kept pages stay kept, and duplicates point to the same page.  What is
    in the target already stays as it is there.
    """

    name = "copy"
    summary = "Copy all pages of an index into another one: from a file to Redis, or back"

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        add_index(parser, "source")
        parser.add_argument("target", metavar="TARGET", help="the same; made where there is none")

    @classmethod
    def find(cls, options: argparse.Namespace) -> Any:
        settings = settings_of(options)
        analyser = analyser_of(settings)
        wanted = parameters_of(settings, analyser)
        with open_existing(options.source) as source:
            made_for = replace(
                wanted, scheme=source.parameters.scheme, scope=source.parameters.scope
            )
            target = open_index(options.target, made_for, settings.expected_pages)
            with lasting(target) as lasting_target:
                rows = copy(source, lasting_target)
                copied = sum(1 for _ in progress(rows, "Copying pages", source.count()))
                return {"pages": copied, "kept": len(lasting_target), "target": str(target)}

    @classmethod
    def show(cls, found: Any, console: Console) -> None:
        console.print(
            f"{found['pages']:,} pages are in {found['target']}; {found['kept']:,} are "
            f"kept ones there",
            markup=False,
            soft_wrap=True,
        )


def lasting(index: Index) -> LastingIndex:
    """Return an index that outlives this process.

    :raises SimhashError: it does not.
    """
    if not isinstance(index, LastingIndex):
        raise SimhashError(f"A target must be a file or in Redis: got {index}")
    return index
