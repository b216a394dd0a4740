"""``scrapy simhash design``: the trade-off between tables, memory and time made visible."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from rich import box
from rich.filesize import decimal
from rich.table import Table as Grid

from scrapy_simhash.commands.base import Subcommand, add_distance
from scrapy_simhash.index.redis.buckets import bytes_per_page, plan
from scrapy_simhash.tables.design import design, designs

if TYPE_CHECKING:
    from rich.console import Console


class DesignCommand(Subcommand):
    """Lists the designs of permuted tables for a number of pages and a distance.

    As the table in section 3.1.2 of Manku, Jain and Das Sarma, with estimates for the
    compiled engine; the one that would be chosen is marked.
    """

    name = "design"
    summary = "Show which permuted tables find all fingerprints within k bits, and their cost"

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--pages", type=count, default=1_000_000, help="pages to plan for (default: 1000000)"
        )
        add_distance(parser)
        parser.add_argument(
            "--memory", type=count, metavar="BYTES", help="the most that all tables may take"
        )
        parser.add_argument(
            "--shards", type=count, default=1, help="shards of a Redis Cluster (default: 1)"
        )

    @classmethod
    def find(cls, options: argparse.Namespace) -> Any:
        chosen = design(options.pages, options.distance, options.memory)
        in_redis = plan(options.distance, options.pages)
        page_bytes = bytes_per_page(in_redis, options.pages)
        return {
            "pages": options.pages,
            "distance": options.distance,
            "memory": options.memory,
            "designs": [
                {
                    "name": found.name,
                    "tables": len(found.tables),
                    "key_bits": min(table.key_bits for table in found.tables),
                    "radius": max(table.radius for table in found.tables),
                    "probes": found.probes,
                    "candidates": found.candidates(options.pages),
                    "bytes_per_fingerprint": found.bytes_per_fingerprint,
                    "bytes": found.bytes_per_fingerprint * options.pages,
                    "microseconds_per_check": found.seconds_per_check(options.pages) * 1e6,
                    "chosen": found == chosen,
                }
                for found in designs(options.distance)
            ],
            "redis": {
                "tables": in_redis.name,
                "bytes_per_page": page_bytes,
                "bytes": page_bytes * options.pages,
                "shards": options.shards,
                "bytes_per_shard": page_bytes * options.pages / options.shards,
            },
        }

    @classmethod
    def show(cls, found: Any, console: Console) -> None:
        grid = Grid(
            box=box.SIMPLE,
            padding=0,
            title=f"{found['pages']:,} fingerprints, within {found['distance']} bits",
            caption="r1: keys one bit away are read, too; blocks: as in the paper",
        )
        grid.add_column("design", no_wrap=True)
        for heading in ("tables", "bits", "probes", "candidates", "B/page", "in all", "us"):
            grid.add_column(heading, justify="right", no_wrap=True)
        for row in found["designs"]:
            grid.add_row(
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
        console.print(grid)
        chosen = next(row["name"] for row in found["designs"] if row["chosen"])
        console.print(f"Chosen: {chosen}")
        redis = found["redis"]
        console.print(
            f"In Redis: {redis['tables']}, {redis['bytes_per_page']:.0f} bytes a page beside URL "
            f"and sketch, {decimal(int(redis['bytes']))} in all"
        )
        if redis["shards"] > 1:
            console.print(
                f"On each of {redis['shards']} shards: {decimal(int(redis['bytes_per_shard']))} "
                f"where scopes spread (SIMHASH_SCOPE 'site' or 'host'); one scope is all on one"
            )


def count(text: str) -> int:
    """Return a number above 0, written as an int or like ``1e8``."""
    number = float(text)
    if number < 1 or number != int(number):
        raise argparse.ArgumentTypeError(f"must be a whole number above 0: got {text}")
    return int(number)
