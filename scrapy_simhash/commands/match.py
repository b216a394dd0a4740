"""``scrapy simhash match`` and ``pack``: many fingerprints against many, from file to file."""

from __future__ import annotations

import re
from array import array
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_simhash.commands.base import Subcommand, add_distance
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.progress import progress
from scrapy_simhash.tables.batch.match import stream_matches
from scrapy_simhash.tables.batch.snapshot import BLOCK, MAGIC, Snapshot, save_snapshot
from scrapy_simhash.tables.design import design
from scrapy_simhash.tables.engine import PermutedTables

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from rich.console import Console

    Blocks = Iterator[tuple[array[int], array[int]]]


# The paper's batch has a million queries; the tables for them are planned for that.
PLANNED_QUERIES = 1_000_000

_FINGERPRINT = re.compile(r"[0-9A-Fa-f]{16}")


class UnreadableFileError(SimhashError):
    """A file of fingerprints cannot be read."""


class MatchCommand(Subcommand):
    """Finds all pairs within k bits; the second file may be larger than memory."""

    name = "match"
    summary = "Find all pairs of fingerprints within k bits between two files"

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("queries", help="snapshot, or text: 16 hexadecimal digits a line")
        parser.add_argument("stored", help="the same; read once, in order, of any size")
        add_distance(parser)

    @classmethod
    def find(cls, options: argparse.Namespace) -> Any:
        chosen = design(PLANNED_QUERIES, options.distance)
        tables = PermutedTables(options.distance, chosen.tables)
        for fingerprints, items in read_blocks(options.queries, "reading queries"):
            tables.add_many(fingerprints, items)
        stored = read_blocks(options.stored, "matching")
        return [pair._asdict() for pairs in stream_matches(tables, stored) for pair in pairs]

    @classmethod
    def show(cls, found: Any, console: Console) -> None:
        for pair in found:
            console.print(
                f"query {pair['query']}  stored {pair['stored']}  distance {pair['distance']}",
                highlight=False,
            )
        console.print(f"{len(found):,} pairs", highlight=False)


class PackCommand(Subcommand):
    """Sorts and compresses fingerprints into a snapshot."""

    name = "pack"
    summary = "Pack a text file of fingerprints into a snapshot: sorted, compressed, checked"

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("text", help="16 hexadecimal digits a line; its items are line numbers")
        parser.add_argument("snapshot", help="the file to write")

    @classmethod
    def find(cls, options: argparse.Namespace) -> Any:
        tables = PermutedTables(0)
        for fingerprints, items in read_blocks(options.text, "reading"):
            tables.add_many(fingerprints, items)
        fingerprints, items = tables.entries()
        try:
            save_snapshot(options.snapshot, fingerprints, items, distance=0)
        except OSError as exc:
            raise UnreadableFileError(f"{options.snapshot} cannot be written: {exc}") from exc
        return {"fingerprints": len(items), "bytes": Path(options.snapshot).stat().st_size}

    @classmethod
    def show(cls, found: Any, console: Console) -> None:
        console.print(f"{found['fingerprints']:,} fingerprints in {found['bytes']:,} bytes")


def read_blocks(path: str, doing: str) -> Blocks:
    """Yield (fingerprints, items) of a file, a block at a time, under a progress bar.

    :raises SimhashError: it cannot be read, or holds something else.
    """
    try:
        with Path(path).open("rb") as file:
            is_snapshot = file.read(len(MAGIC)) == MAGIC
        if is_snapshot:
            with Snapshot(path) as snapshot:
                yield from progress(snapshot.blocks(), doing, -(-len(snapshot) // BLOCK))
        else:
            yield from progress(_text_blocks(path), doing, None)
    except (OSError, UnicodeDecodeError) as exc:
        raise UnreadableFileError(f"{path} cannot be read: {exc}") from exc


def _text_blocks(path: str) -> Blocks:
    """Yield the fingerprints of a text file; their items are the numbers of their lines, from 1."""
    with Path(path).open(encoding="ascii") as file:
        lines = enumerate(file, start=1)
        while block := list(islice(lines, BLOCK)):
            fingerprints = array("Q")
            for number, line in block:
                if not _FINGERPRINT.fullmatch(line.strip()):
                    raise UnreadableFileError(
                        f"{path}, line {number}: a fingerprint is 16 hexadecimal digits: "
                        f"got {line.strip()[:40]!r}"
                    )
                fingerprints.append(int(line, 16))
            yield fingerprints, array("I", [number for number, _ in block])
