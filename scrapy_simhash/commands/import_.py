"""``scrapy simhash import``: put pages into an index that were fetched before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.commands.base import Subcommand, add_index_or_spider, pipeline_of
from scrapy_simhash.commands.export_lines import Line, check_header, page_from, read_lines
from scrapy_simhash.commands.progress import progress
from scrapy_simhash.commands.sources import analysed_pages, source_at
from scrapy_simhash.errors import SourceError
from scrapy_simhash.index.opening import exists, open_index

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from scrapy_simhash.pipeline import Pipeline
    from scrapy_simhash.rule.rule import Parameters


@dataclass(frozen=True)
class Imported:
    """How many pages were imported, and how many of them got which verdict."""

    pages: int
    verdicts: Mapping[str, int]


class ImportCommand(Subcommand[Imported]):
    """Judges pages from elsewhere as a crawl would, and remembers them.

    The index is made where there is none: by the first line of an export, and by the settings of
    the project for any other source.
    """

    name = "import"
    summary = "Judge and remember pages of an export, an HTTP cache, a WARC file or a folder"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)
        parser.add_argument("source", type=Path, metavar="SOURCE", help="where the pages are")

    async def find(self, options: argparse.Namespace) -> Imported:
        pipeline = pipeline_of(options)
        if options.source.suffix == ".jsonl":
            verdicts = await _import_export(options.index, options.source, pipeline.parameters)
        else:
            verdicts = await _import_source(options.index, options.source, pipeline, options.spider)
        return Imported(verdicts.total(), verdicts)

    def show(self, found: Imported, console: Console) -> None:
        console.print(f"pages: {found.pages:,}")
        for verdict, number in found.verdicts.items():
            console.print(f"{verdict}: {number:,}")

    def as_json(self, found: Imported) -> object:
        return {"pages": found.pages, **found.verdicts}


async def _import_source(
    index_place: str, source_place: Path, pipeline: Pipeline, spider: str
) -> Counter[str]:
    """Analyse and judge the pages of a source; those that have no text are ``skipped``."""
    verdicts: Counter[str] = Counter()
    source = source_at(source_place)
    expected = pipeline.settings.expected_pages
    with progress("Analysing pages", source.count) as advance:
        async with (
            open_index(index_place, pipeline.parameters, expected) as index,
            aclosing(analysed_pages(source.read(), pipeline, index, spider)) as pages,
        ):
            async for _, found in pages:
                advance(1)
                if found is None:
                    verdicts["skipped"] += 1
                else:
                    verdicts[(await index.check_and_add(found.page)).verdict] += 1
    return verdicts


async def _import_export(index_place: str, export: Path, parameters: Parameters) -> Counter[str]:
    """Judge the pages of an export, which are analysed already."""
    verdicts: Counter[str] = Counter()
    lines = read_lines(export)
    _, header = next(lines, Line("", {}))
    if "simhash_index" not in header:
        raise SourceError(
            f"{export} is no export of an index: its first line does not say what its "
            f"pages depend on. A decisions feed does not hold what pages are compared by; "
            f"import the HTTP cache, WARC file or folder that the pages are in."
        )
    if not await exists(index_place):
        scheme, scope = str(header.get("scheme")), str(header.get("scope"))
        parameters = replace(parameters, scheme=scheme, scope=scope)
    check_header(header, parameters)
    with progress("Reading pages", None) as advance:
        async with open_index(index_place, parameters) as index:
            for line in lines:
                verdicts[(await index.check_and_add(page_from(line))).verdict] += 1
                advance(1)
    return verdicts
