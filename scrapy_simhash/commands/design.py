"""The choice of permuted tables: ``scrapy simhash design``."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich import box
from rich.filesize import decimal
from rich.table import Table

from scrapy_simhash.commands.base import Subcommand
from scrapy_simhash.tables.design import MAX_DISTANCE, Design, design, designs

if TYPE_CHECKING:
    from rich.console import Console

# A design with its costs, in values that JSON has.
Cost = dict[str, Any]


@dataclass(frozen=True)
class Designs:
    """The designs for a number of pages and a distance, one of them chosen, with their costs."""

    pages: int
    distance: int
    memory: int | None
    designs: list[Cost]


class DesignCommand(Subcommand[Designs]):
    """Lists the designs of permuted tables for a number of pages and a distance.

    The list is like the table in section 3.1.2 of Manku, Jain and Das Sarma, with estimates for
    the compiled engine; the design that would be chosen is marked.
    """

    name = "design"
    summary = "Show which permuted tables find all fingerprints within k bits, and their cost"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--pages", type=count, default=1_000_000, help="pages to plan for (default: 1000000)"
        )
        parser.add_argument(
            "--distance",
            type=int,
            choices=range(MAX_DISTANCE + 1),
            default=3,
            metavar="K",
            help="bits that near-duplicates may differ in, 0 to 7 (default: 3)",
        )
        parser.add_argument(
            "--memory", type=count, metavar="BYTES", help="the most that all tables may take"
        )

    async def find(self, options: argparse.Namespace) -> Designs:
        pages, distance = options.pages, options.distance
        chosen = design(pages, distance, options.memory)
        return Designs(
            pages=pages,
            distance=distance,
            memory=options.memory,
            designs=[_cost(one, pages, one == chosen) for one in designs(distance)],
        )

    def show(self, found: Designs, console: Console) -> None:
        table = Table(
            box=box.SIMPLE,
            padding=0,
            title=f"{found.pages:,} fingerprints, within {found.distance} bits",
            caption="split: keys one bit away are read, too; blocks: as in the paper",
        )
        table.add_column("design", no_wrap=True)
        for heading in ("tables", "bits", "probes", "candidates", "B/page", "in all", "us"):
            table.add_column(heading, justify="right", no_wrap=True)
        for row in found.designs:
            table.add_row(
                row["name"],
                str(row["tables"]),
                str(row["key_bits"]),
                str(row["probes"]),
                f"{row['candidates']:,.{0 if row['candidates'] >= 100 else 2}f}",
                f"{row['bytes_per_fingerprint']:.0f}",
                decimal(int(row["bytes"])),
                f"{row['microseconds_per_check']:,.2f}",
                style="bold" if row["chosen"] else None,
            )
        console.print(table)
        chosen = next(row["name"] for row in found.designs if row["chosen"])
        console.print(f"Chosen: {chosen}")


def _cost(found: Design, pages: int, is_chosen: bool) -> Cost:
    return {
        "name": found.name,
        "tables": len(found.tables),
        "key_bits": min(table.key_bits for table in found.tables),
        "radius": max(table.radius for table in found.tables),
        "probes": found.probes,
        "candidates": found.candidates(pages),
        "bytes_per_fingerprint": found.bytes_per_fingerprint,
        "bytes": found.bytes_per_fingerprint * pages,
        "microseconds_per_check": found.seconds_per_check(pages) * 1e6,
        "chosen": is_chosen,
    }


def count(text: str) -> int:
    """Return a whole number above 0, written as an int or like ``1e8``."""
    number = float(text)
    if number < 1 or number != int(number):
        raise argparse.ArgumentTypeError(f"must be a whole number above 0: got {text}")
    return int(number)
