"""``scrapy simhash import``: put pages into an index that were fetched before."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.base import Subcommand, add_index, settings_of
from scrapy_simhash.commands.export_lines import check_header, page_from
from scrapy_simhash.commands.sources import analysed_pages, source_at
from scrapy_simhash.crawl.judging import analyser_of, parameters_of
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index import open_index
from scrapy_simhash.index.survey import exists
from scrapy_simhash.progress import progress

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from scrapy_simhash.index import Parameters


class ImportCommand(Subcommand):
    """Judges pages from elsewhere as a crawl would, and remembers them.

    The index is made where there is none: for an export as that says, for other sources by
    the settings of the project.
    """

    name = "import"
    summary = "Judge and remember pages of an export, an HTTP cache, a WARC file or a folder"

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        add_index(parser)
        parser.add_argument("source", type=Path, metavar="SOURCE", help="where the pages are")
        parser.add_argument("--spider", default="", help="their spider, for an index of that scope")

    @classmethod
    def find(cls, options: argparse.Namespace) -> Any:
        settings = settings_of(options)
        analyser = analyser_of(settings)
        parameters = parameters_of(settings, analyser)
        counts: Counter[str] = Counter()
        if options.source.suffix == ".jsonl":
            _import_export(options.index, options.source, parameters, counts)
        else:
            source = source_at(options.source)
            with open_index(options.index, parameters, settings.expected_pages) as index:
                stored = progress(source.read(), "Analysing pages", source.count)
                pages = analysed_pages(stored, settings, analyser, index.templates, options.spider)
                for _, page in pages:
                    counts["skipped" if page is None else index.check_and_add(page).verdict] += 1
        return {"pages": counts.total(), **counts}

    @classmethod
    def show(cls, found: Any, console: Console) -> None:
        for name, number in found.items():
            console.print(f"{name}: {number:,}")


def _import_export(place: str, export: Path, parameters: Parameters, counts: Counter[str]) -> None:
    try:
        with export.open(encoding="utf-8") as file:
            header = _record(next(file, ""), export, 1)
            if "simhash_index" not in header:
                raise SimhashError(
                    f"{export} is no export of an index: its first line does not say what its "
                    f"pages depend on. A decisions feed does not hold what pages are compared by; "
                    f"import the HTTP cache, WARC file or folder that the pages are in."
                )
            if not exists(place):
                parameters = replace(
                    parameters, scheme=str(header.get("scheme")), scope=str(header.get("scope"))
                )
            check_header(header, parameters)
            with open_index(place, parameters) as index:
                for record in progress(_records(file, export), "Reading pages", None):
                    counts[index.check_and_add(page_from(record)).verdict] += 1
    except (OSError, UnicodeDecodeError) as exc:
        raise SimhashError(f"{export} cannot be read: {exc}") from exc


def _records(lines: Iterator[str], export: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, start=2):
        yield _record(line, export, number)


def _record(line: str, export: Path, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as exc:
        raise SimhashError(f"{export}, line {number}, must be JSON: {exc}") from exc
    if not isinstance(record, dict):
        raise SimhashError(f"{export}, line {number}, must be a JSON object: got {line[:80]!r}")
    return record
