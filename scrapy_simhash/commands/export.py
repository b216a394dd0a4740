"""``scrapy simhash export``: the pages of an index, one JSON object a line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from scrapy_simhash.commands.base import Subcommand, add_index
from scrapy_simhash.commands.export_lines import header_of, record_of
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index.survey import open_existing
from scrapy_simhash.progress import progress

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from scrapy_simhash.index.copying import LastingIndex


class ExportCommand(Subcommand):
    """Writes what an index was built for on the first line, and a page on each other line."""

    name = "export"
    summary = "Write the pages of an index as JSON lines"

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        add_index(parser)
        parser.add_argument("output", metavar="OUTPUT", help="a file to make, or - for the screen")

    @classmethod
    def find(cls, options: argparse.Namespace) -> Any:
        with open_existing(options.index) as index:
            if options.output == "-":
                _write(index, sys.stdout)
                return None
            try:
                with Path(options.output).open("x", encoding="utf-8") as file:
                    written = _write(index, file)
            except OSError as exc:
                raise SimhashError(f"{options.output} cannot be made: {exc}") from exc
        return {"pages": written, "output": options.output}

    @classmethod
    def show(cls, found: Any, console: Console) -> None:
        console.print(
            f"{found['pages']:,} pages written to {found['output']}", markup=False, soft_wrap=True
        )


def _write(index: LastingIndex, file: TextIO) -> int:
    lines: Iterable[dict[str, Any]] = map(record_of, index.rows())
    file.write(json.dumps(header_of(index.parameters)) + "\n")
    written = 0
    for line in progress(lines, "Writing pages", index.count()):
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
        written += 1
    return written
