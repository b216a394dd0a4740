"""``scrapy simhash export``: the pages of an index, one JSON object a line."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from scrapy_simhash.commands.base import Subcommand, add_index_or_spider
from scrapy_simhash.commands.export_lines import header_of, record_of
from scrapy_simhash.commands.progress import progress
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index.opening import open_existing

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from scrapy_simhash.index.base import LastingIndex


@dataclass(frozen=True)
class Exported:
    """How many pages were written, and where."""

    pages: int
    output: str


class ExportCommand(Subcommand[Exported]):
    """Writes what an index was built for on the first line, and a page on each other line."""

    name = "export"
    summary = "Write the pages of an index as JSON lines"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)
        parser.add_argument("output", metavar="OUTPUT", help="a file to make, or - for the screen")

    async def find(self, options: argparse.Namespace) -> Exported | None:
        async with open_existing(options.index) as index:
            if options.output == "-":
                await _write(index, sys.stdout)
                return None
            try:
                with Path(options.output).open("x", encoding="utf-8") as file:
                    written = await _write(index, file)
            except OSError as exc:
                raise SimhashError(f"{options.output} cannot be made: {exc}") from exc
        return Exported(written, options.output)

    def show(self, found: Exported, console: Console) -> None:
        console.print(
            f"{found.pages:,} pages written to {found.output}", markup=False, soft_wrap=True
        )


async def _write(index: LastingIndex, file: TextIO) -> int:
    file.write(json.dumps(header_of(index.parameters)) + "\n")
    written = 0
    with progress("Writing pages", (await index.counts()).pages) as advance:
        async for row in index.rows():
            file.write(json.dumps(record_of(row), ensure_ascii=False) + "\n")
            written += 1
            advance(1)
    return written
