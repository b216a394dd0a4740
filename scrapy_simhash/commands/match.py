"""``scrapy simhash match``: many fingerprints against many, from file to file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simhash.commands.base import Subcommand, add_distance
from scrapy_simhash.commands.fingerprint_files import read_blocks
from scrapy_simhash.tables.batch.match import Pair, stream_matches
from scrapy_simhash.tables.design import design
from scrapy_simhash.tables.engine import PermutedTables

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

# The paper's batch has a million queries: the tables of the queries are planned for that.
PLANNED_QUERIES = 1_000_000


@dataclass(frozen=True)
class Matches:
    """All pairs within the distance."""

    pairs: list[Pair]


class MatchCommand(Subcommand[Matches]):
    """Finds all pairs within k bits; the second file may be larger than memory."""

    name = "match"
    summary = "Find all pairs of fingerprints within k bits between two files"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("queries", help="snapshot, or text: 16 hexadecimal digits a line")
        parser.add_argument("stored", help="the same; read once, in order, of any size")
        add_distance(parser)

    async def find(self, options: argparse.Namespace) -> Matches:
        chosen = design(PLANNED_QUERIES, options.distance)
        tables = PermutedTables(options.distance, chosen.tables)
        for fingerprints, items in read_blocks(options.queries, "reading queries"):
            tables.add_many(fingerprints, items)
        stored = read_blocks(options.stored, "matching")
        return Matches([pair for pairs in stream_matches(tables, stored) for pair in pairs])

    def show(self, found: Matches, console: Console) -> None:
        for pair in found.pairs:
            console.print(
                f"query {pair.query}  stored {pair.stored}  distance {pair.distance}",
                highlight=False,
            )
        console.print(f"{len(found.pairs):,} pairs", highlight=False)

    def as_json(self, found: Matches) -> object:
        return [pair._asdict() for pair in found.pairs]
