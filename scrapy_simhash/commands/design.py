"""Tables and files of fingerprints: ``scrapy simhash tables design``, ``match`` and ``pack``.

A file of fingerprints is a snapshot, or text with 16 hexadecimal digits a line.
"""

from __future__ import annotations

import argparse
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.filesize import decimal
from rich.table import Table

from scrapy_simhash.commands.base import Subcommand, progress
from scrapy_simhash.errors import SimhashError, SourceError
from scrapy_simhash.tables import PermutedTables
from scrapy_simhash.tables.design import MAX_DISTANCE, Design, design, designs

if TYPE_CHECKING:
    from rich.console import Console

    from scrapy_simhash.tables.snapshot import MatchedPair

# The paper's batch has a million queries: the tables of the queries are planned for that.
PLANNED_QUERIES = 1_000_000

# A row of what is found, in values that JSON has.
Cost = dict[str, Any]
# Fingerprints, and the item of each.
Block = tuple["array[int]", "array[int]"]

_FINGERPRINT = re.compile(r"[0-9A-Fa-f]{16}")


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

    name = "tables design"
    summary = "Show which permuted tables find all fingerprints within k bits, and their cost"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--pages", type=count, default=1_000_000, help="pages to plan for (default: 1000000)"
        )
        add_distance(parser)
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


def add_distance(parser: argparse.ArgumentParser) -> None:
    """Declare ``--distance``."""
    parser.add_argument(
        "--distance",
        type=int,
        choices=range(MAX_DISTANCE + 1),
        default=3,
        metavar="K",
        help="bits that near-duplicates may differ in, 0 to 7 (default: 3)",
    )


class MatchCommand(Subcommand["list[MatchedPair]"]):
    """Finds all pairs within k bits; the second file may be larger than memory."""

    name = "tables match"
    summary = "Find all pairs of fingerprints within k bits between two files"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("queries", help="snapshot, or text: 16 hexadecimal digits a line")
        parser.add_argument("stored", help="the same; read once, in order, of any size")
        add_distance(parser)

    async def find(self, options: argparse.Namespace) -> list[MatchedPair]:
        from scrapy_simhash.tables.snapshot import stream_matches

        chosen = design(PLANNED_QUERIES, options.distance)
        tables = PermutedTables(options.distance, chosen.tables)
        for fingerprints, items in read_blocks(options.queries, "reading queries"):
            tables.add_many(fingerprints, items)
        stored = read_blocks(options.stored, "matching")
        return [pair for pairs in stream_matches(tables, stored) for pair in pairs]

    def show(self, found: list[MatchedPair], console: Console) -> None:
        for pair in found:
            console.print(
                f"query {pair.query}  stored {pair.stored}  distance {pair.distance}",
                highlight=False,
            )
        console.print(f"{len(found):,} pairs", highlight=False)

    def as_json(self, found: list[MatchedPair]) -> object:
        return [pair._asdict() for pair in found]


@dataclass(frozen=True)
class Packed:
    """How many fingerprints a snapshot has, and the size of its file."""

    fingerprints: int
    bytes: int


class PackCommand(Subcommand[Packed]):
    """Sorts and compresses fingerprints into a snapshot."""

    name = "tables pack"
    summary = "Pack a text file of fingerprints into a snapshot: sorted, compressed, checked"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("text", help="16 hexadecimal digits a line; its items are line numbers")
        parser.add_argument("snapshot", help="the file to write")

    async def find(self, options: argparse.Namespace) -> Packed:
        from scrapy_simhash.tables.snapshot import save_snapshot

        tables = PermutedTables(0)
        for fingerprints, items in read_blocks(options.text, "reading"):
            tables.add_many(fingerprints, items)
        fingerprints, items = tables.entries()
        try:
            save_snapshot(options.snapshot, fingerprints, items)
            return Packed(len(items), Path(options.snapshot).stat().st_size)
        except OSError as exc:
            raise SimhashError(f"{options.snapshot} cannot be written: {exc}") from exc

    def show(self, found: Packed, console: Console) -> None:
        console.print(f"{found.fingerprints:,} fingerprints in {found.bytes:,} bytes")


def read_blocks(path: str, doing: str) -> Iterator[Block]:
    """Yield what is in a file, a block at a time, under a progress bar that says *doing*.

    :raises SourceError: the file cannot be read, or a line is no fingerprint.
    :raises IndexFormatError: the file is a damaged snapshot.
    """
    from scrapy_simhash.tables.snapshot import BLOCK, MAGIC, Snapshot

    try:
        with Path(path).open("rb") as file:
            is_snapshot = file.read(len(MAGIC)) == MAGIC
        if is_snapshot:
            with Snapshot(path) as snapshot:
                yield from _counted(snapshot.blocks(), doing, -(-len(snapshot) // BLOCK))
        else:
            yield from _counted(_text_blocks(path, BLOCK), doing, None)
    except (OSError, UnicodeDecodeError) as exc:
        raise SourceError(f"{path} cannot be read: {exc}") from exc


def _counted(blocks: Iterator[Block], doing: str, total: int | None) -> Iterator[Block]:
    with progress(doing, total) as advance:
        for block in blocks:
            yield block
            advance(1)


def _text_blocks(path: str, size: int) -> Iterator[Block]:
    """Yield the fingerprints of a text file; their items are the numbers of their lines, from 1."""
    with Path(path).open(encoding="ascii") as file:
        lines = enumerate(file, start=1)
        while block := list(islice(lines, size)):
            fingerprints = array("Q")
            for number, line in block:
                if not _FINGERPRINT.fullmatch(line.strip()):
                    raise SourceError(
                        f"{path}, line {number}: a fingerprint is 16 hexadecimal digits: "
                        f"got {line.strip()[:40]!r}"
                    )
                fingerprints.append(int(line, 16))
            yield fingerprints, array("I", [number for number, _ in block])
