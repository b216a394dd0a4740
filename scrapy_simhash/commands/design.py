"""``scrapy simhash design``: the trade-off between tables, memory and time."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich import box
from rich.filesize import decimal
from rich.table import Table as Grid

from scrapy_simhash.commands.base import Subcommand, add_distance
from scrapy_simhash.index.redis.near import (
    BYTES_PER_PAGE_WITH_KEYS,
    NearKeys,
    bytes_per_page,
    plan,
)
from scrapy_simhash.tables.design import Design, design, designs

if TYPE_CHECKING:
    from rich.console import Console
    from typing_extensions import Self


@dataclass(frozen=True)
class DesignCost:
    """A design of permuted tables, and what it costs for a number of pages."""

    name: str
    tables: int
    key_bits: int
    radius: int
    probes: int
    candidates: float
    bytes_per_fingerprint: float
    bytes: float
    microseconds_per_check: float
    chosen: bool

    @classmethod
    def of(cls, found: Design, pages: int, chosen: bool) -> DesignCost:
        """Return what a design costs for *pages*."""
        return cls(
            name=found.name,
            tables=len(found.tables),
            key_bits=min(table.key_bits for table in found.tables),
            radius=max(table.radius for table in found.tables),
            probes=found.probes,
            candidates=found.candidates(pages),
            bytes_per_fingerprint=found.bytes_per_fingerprint,
            bytes=found.bytes_per_fingerprint * pages,
            microseconds_per_check=found.seconds_per_check(pages) * 1e6,
            chosen=chosen,
        )


@dataclass(frozen=True)
class RedisCost:
    """What an index in Redis takes: what finds a page there, and bytes beside URL and sketch."""

    found_by: str
    bytes_per_page: float
    bytes: float
    shards: int
    bytes_per_shard: float

    @classmethod
    def of(cls, found_by: str, bytes_per_page: float, pages: int, shards: int) -> Self:
        whole = bytes_per_page * pages
        return cls(found_by, bytes_per_page, whole, shards, whole / shards)


@dataclass(frozen=True)
class Designs:
    """The designs for a number of pages and a distance, one of them chosen."""

    pages: int
    distance: int
    memory: int | None
    designs: list[DesignCost]
    redis: RedisCost
    redis_unverified: RedisCost


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
        add_distance(parser)
        parser.add_argument(
            "--memory", type=count, metavar="BYTES", help="the most that all tables may take"
        )
        parser.add_argument(
            "--shards", type=count, default=1, help="shards of a Redis Cluster (default: 1)"
        )

    async def find(self, options: argparse.Namespace) -> Designs:
        pages, distance = options.pages, options.distance
        chosen = design(pages, distance, options.memory)
        in_redis = plan(distance, pages)
        return Designs(
            pages=pages,
            distance=distance,
            memory=options.memory,
            designs=[DesignCost.of(one, pages, one == chosen) for one in designs(distance)],
            redis=RedisCost.of(NearKeys.name, BYTES_PER_PAGE_WITH_KEYS, pages, options.shards),
            redis_unverified=RedisCost.of(
                in_redis.name, bytes_per_page(in_redis, pages), pages, options.shards
            ),
        )

    def show(self, found: Designs, console: Console) -> None:
        grid = Grid(
            box=box.SIMPLE,
            padding=0,
            title=f"{found.pages:,} fingerprints, within {found.distance} bits",
            caption="r1: keys one bit away are read, too; blocks: as in the paper",
        )
        grid.add_column("design", no_wrap=True)
        for heading in ("tables", "bits", "probes", "candidates", "B/page", "in all", "us"):
            grid.add_column(heading, justify="right", no_wrap=True)
        for row in found.designs:
            grid.add_row(
                row.name,
                str(row.tables),
                str(row.key_bits),
                str(row.probes),
                f"{row.candidates:,.{0 if row.candidates >= 100 else 2}f}",
                f"{row.bytes_per_fingerprint:.0f}",
                decimal(int(row.bytes)),
                f"{row.microseconds_per_check:,.2f}",
                style="bold" if row.chosen else None,
            )
        console.print(grid)
        chosen = next(row.name for row in found.designs if row.chosen)
        console.print(f"Chosen: {chosen}")
        for redis, when in (
            (found.redis, "beside URL and sketch"),
            (found.redis_unverified, "beside the URL with SIMHASH_VERIFY = False"),
        ):
            console.print(
                f"In Redis: {redis.found_by}, {redis.bytes_per_page:.0f} bytes a page {when}, "
                f"{decimal(int(redis.bytes))} in all"
            )
            if redis.shards > 1:
                console.print(
                    f"  on each of {redis.shards} shards: {decimal(int(redis.bytes_per_shard))} "
                    f"where scopes spread (SIMHASH_SCOPE 'site' or 'host'); one scope is all on one"
                )


def count(text: str) -> int:
    """Return a whole number above 0, written as an int or like ``1e8``."""
    number = float(text)
    if number < 1 or number != int(number):
        raise argparse.ArgumentTypeError(f"must be a whole number above 0: got {text}")
    return int(number)
