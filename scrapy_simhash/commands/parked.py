"""``scrapy simhash parked``: the requests that rules for addresses made needless."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table as Grid
from rich.text import Text

from scrapy_simhash.commands.base import Subcommand
from scrapy_simhash.crawl.parked import ParkedRequest, ParkedRequests
from scrapy_simhash.crawl.setup import PARKED_FILE
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.files import replacing
from scrapy_simhash.report.html import printable

if TYPE_CHECKING:
    import argparse

    from rich.console import Console


@dataclass(frozen=True)
class ParkedCount:
    """How many requests one rule has parked, in one file."""

    file: str
    rule: str
    requests: int


@dataclass(frozen=True)
class Parked:
    """The parked requests by rule, and how many of them were written out."""

    rules: list[ParkedCount]
    written: int | None = None


class ParkedCommand(Subcommand[Parked]):
    """Counts parked requests, and writes them out as JSON lines."""

    name = "parked"
    summary = "Count the requests that rules for addresses have parked, or write them out"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "place",
            type=Path,
            metavar="PLACE",
            help="the JOBDIR of a crawl, the path of its index, or a file of parked requests",
        )
        parser.add_argument(
            "--write",
            type=Path,
            metavar="FILE",
            help="write their addresses and rules, as JSON lines",
        )

    async def find(self, options: argparse.Namespace) -> Parked:
        files = _files(options.place)
        if not files:
            raise SettingsError(f"there are no parked requests in {options.place}, or beside it")
        counts: Counter[tuple[str, str]] = Counter()
        if options.write is None:
            for file, row in _requests(files):
                counts[str(file), str(row.rule)] += 1
            return Parked(_counted(counts))
        if options.write.exists():
            raise SettingsError(f"{options.write} is there already: name another file")
        with replacing(options.write) as unfinished, unfinished.open("w") as lines:
            for file, row in _requests(files):
                counts[str(file), str(row.rule)] += 1
                line = {"url": row.url, "rule": str(row.rule), "template": row.pattern}
                lines.write(json.dumps(line) + "\n")
        return Parked(_counted(counts), written=counts.total())

    def show(self, found: Parked, console: Console) -> None:
        grid = Grid(box=box.SIMPLE)
        grid.add_column("parked", justify="right")
        grid.add_column("rule", overflow="fold")
        grid.add_column("file", overflow="fold")
        for one in found.rules:
            grid.add_row(f"{one.requests:,}", Text(printable(one.rule)), Text(one.file))
        console.print(grid)
        if found.written is not None:
            console.print(f"{found.written:,} requests written")


def _files(place: Path) -> list[Path]:
    if place.is_dir():
        return sorted([*place.glob(PARKED_FILE), *place.glob("*-*-*T*.sqlite")])
    beside = Path(f"{place}.parked")
    if beside.is_dir():
        return sorted(beside.glob("*.sqlite"))
    return [place] if place.suffix == ".sqlite" and place.is_file() else []


def _requests(files: list[Path]) -> Iterator[tuple[Path, ParkedRequest]]:
    for file in files:
        try:
            with closing(ParkedRequests(file, is_read_only=True)) as store:
                for row in store.all():
                    yield file, row
        except sqlite3.Error as exc:
            raise SettingsError(f"{file} cannot be read: {exc}") from exc


def _counted(counts: Counter[tuple[str, str]]) -> list[ParkedCount]:
    return [ParkedCount(file, rule, count) for (file, rule), count in counts.most_common()]
