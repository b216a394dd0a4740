"""``scrapy simhash rebuild``: an index once more, by other settings, from the pages themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.base import Subcommand, add_index, settings_of
from scrapy_simhash.commands.sources import StoredPage, analysed_pages, source_at
from scrapy_simhash.crawl.judging import analyser_of, parameters_of
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index import open_index
from scrapy_simhash.index.survey import exists, open_existing
from scrapy_simhash.places import masked
from scrapy_simhash.progress import progress

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

# As many as one wants to read.
SHOWN = 20


class RebuildCommand(Subcommand):
    """Makes a new index of the pages of another one that a source still holds.

    The old file stays as it is; pages that no source holds are listed, and are only there.
    """

    name = "rebuild"
    summary = "Make an index anew by other settings, from sources that hold its pages"

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        add_index(parser)
        parser.add_argument("new", metavar="NEW", help="the index to make: a file, or a URL")
        parser.add_argument(
            "sources", type=Path, metavar="SOURCE", nargs="+", help="where the pages are"
        )
        parser.add_argument("--spider", default="", help="their spider, for an index of that scope")

    @classmethod
    def find(cls, options: argparse.Namespace) -> Any:
        if exists(options.new):
            raise SimhashError(f"{masked(options.new)} is there already; name one that is not")
        settings = settings_of(options)
        analyser = analyser_of(settings)
        with open_existing(options.index) as old:
            requests = {row.url: row.request_fingerprint for row in old.rows()}
        total = len(requests)
        parameters = parameters_of(settings, analyser)
        with open_index(options.new, parameters, settings.expected_pages) as index:
            for place in options.sources:
                source = source_at(place)
                stored = progress(source.read(), f"Analysing {place.name}", source.count)
                wanted = _wanted(stored, requests)
                for url, page in analysed_pages(
                    wanted, settings, analyser, index.templates, options.spider
                ):
                    if page is not None and url in requests:
                        index.check_and_add(page)
                        del requests[url]
            kept = len(index)
        return {"pages": total - len(requests), "kept": kept, "without_source": sorted(requests)}

    @classmethod
    def show(cls, found: Any, console: Console) -> None:
        console.print(f"{found['pages']:,} pages judged anew, {found['kept']:,} of them kept ones")
        if missing := found["without_source"]:
            console.print(f"{len(missing):,} pages have no source, and are in the old index only:")
            for url in missing[:SHOWN]:
                console.print(url, markup=False, soft_wrap=True)


def _wanted(pages: Iterable[StoredPage], requests: dict[str, bytes]) -> Iterator[StoredPage]:
    """Yield the pages that are wanted, as answers to the requests that the old index has."""
    for page in pages:
        if (request := requests.get(page.response.url)) is not None:
            yield replace(page, request_fingerprint=request)
