"""``scrapy simhash rebuild``: a new index by other settings, from the pages themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.commands.base import Subcommand, add_index, pipeline_of, print_line
from scrapy_simhash.commands.progress import progress
from scrapy_simhash.commands.sources import analysed_pages, source_at
from scrapy_simhash.errors import FingerprintIndexError
from scrapy_simhash.index.opening import exists, open_existing, open_index
from scrapy_simhash.places import masked

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from scrapy_simhash.index.base import Index
    from scrapy_simhash.pipeline import Fetched, Pipeline

# JSON has all; a person reads on no further.
SHOWN = 20


@dataclass(frozen=True)
class Rebuilt:
    """How many pages were judged anew, how many are kept, and the URLs that no source has."""

    pages: int
    kept: int
    without_source: list[str]


class RebuildCommand(Subcommand[Rebuilt]):
    """Makes a new index of those pages of another one that a source still holds.

    The old index stays as it is.  Pages that no source holds are listed; only the old index has
    them.
    """

    name = "rebuild"
    summary = "Make an index anew by other settings, from sources that hold its pages"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index(parser)
        parser.add_argument("new", metavar="NEW", help="the index to make: a file, or a URL")
        parser.add_argument(
            "sources", type=Path, metavar="SOURCE", nargs="+", help="where the pages are"
        )
        parser.add_argument("--spider", default="", help="their spider, for an index of that scope")

    async def find(self, options: argparse.Namespace) -> Rebuilt:
        if await exists(options.new):
            raise FingerprintIndexError(
                f"{masked(options.new)} is there already; name one that is not"
            )
        pipeline = pipeline_of(options)
        async with open_existing(options.index) as old:
            requests = {
                row.page.url: row.page.request_fingerprint async for row in old.brief_rows()
            }
        total = len(requests)
        expected = pipeline.settings.expected_pages
        async with open_index(options.new, pipeline.parameters, expected) as index:
            for place in options.sources:
                await _judge_anew(place, requests, index, pipeline, options.spider)
            kept = (await index.counts()).kept
        return Rebuilt(total - len(requests), kept, sorted(requests))

    def show(self, found: Rebuilt, console: Console) -> None:
        console.print(f"{found.pages:,} pages judged anew, {found.kept:,} of them kept ones")
        if missing := found.without_source:
            console.print(f"{len(missing):,} pages have no source, and are in the old index only:")
            for url in missing[:SHOWN]:
                print_line(console, url)


async def _judge_anew(
    place: Path, requests: dict[str, bytes], index: Index, pipeline: Pipeline, spider: str
) -> None:
    """Judge those pages of a source that *requests* has, and take them out of it."""
    source = source_at(place)
    with progress(f"Analysing {place.name}", source.count) as advance:
        wanted = _wanted(source.read(), requests, advance)
        async with aclosing(analysed_pages(wanted, pipeline, index, spider)) as pages:
            async for url, found in pages:
                if found is not None and url in requests:
                    await index.check_and_add(found.page)
                    del requests[url]


def _wanted(
    pages: Iterable[Fetched], requests: dict[str, bytes], advance: Callable[[int], None]
) -> Iterator[Fetched]:
    """Yield the pages that are wanted, as answers to the requests that the old index has."""
    for page in pages:
        advance(1)
        if (request := requests.get(page.url)) is not None:
            yield page._replace(request_fingerprint=request)
