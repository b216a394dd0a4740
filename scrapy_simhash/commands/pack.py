"""``scrapy simhash pack``: a text file of fingerprints in fewer bytes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.commands.base import Subcommand
from scrapy_simhash.commands.fingerprint_files import read_blocks
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.tables.batch.snapshot import save_snapshot
from scrapy_simhash.tables.engine import PermutedTables

if TYPE_CHECKING:
    import argparse

    from rich.console import Console


@dataclass(frozen=True)
class Packed:
    """How many fingerprints a snapshot has, and the size of its file."""

    fingerprints: int
    bytes: int


class PackCommand(Subcommand[Packed]):
    """Sorts and compresses fingerprints into a snapshot."""

    name = "pack"
    summary = "Pack a text file of fingerprints into a snapshot: sorted, compressed, checked"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("text", help="16 hexadecimal digits a line; its items are line numbers")
        parser.add_argument("snapshot", help="the file to write")

    async def find(self, options: argparse.Namespace) -> Packed:
        tables = PermutedTables(0)
        for fingerprints, items in read_blocks(options.text, "reading"):
            tables.add_many(fingerprints, items)
        fingerprints, items = tables.entries()
        try:
            save_snapshot(options.snapshot, fingerprints, items, distance=0)
            return Packed(len(items), Path(options.snapshot).stat().st_size)
        except OSError as exc:
            raise SimhashError(f"{options.snapshot} cannot be written: {exc}") from exc

    def show(self, found: Packed, console: Console) -> None:
        console.print(f"{found.fingerprints:,} fingerprints in {found.bytes:,} bytes")
