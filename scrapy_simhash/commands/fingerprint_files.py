"""Files of fingerprints: snapshots, and text with 16 hexadecimal digits a line."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from scrapy_simhash.commands.progress import progress
from scrapy_simhash.errors import SourceError
from scrapy_simhash.tables.batch.snapshot import BLOCK, MAGIC, Snapshot

# Fingerprints, and the item of each.
Block = tuple["array[int]", "array[int]"]

_FINGERPRINT = re.compile(r"[0-9A-Fa-f]{16}")


def read_blocks(path: str, doing: str) -> Iterator[Block]:
    """Yield what is in a file, a block at a time, under a progress bar that says *doing*.

    :raises SourceError: the file cannot be read, or a line is no fingerprint.
    :raises IndexFormatError: the file is a damaged snapshot.
    """
    try:
        with Path(path).open("rb") as file:
            is_snapshot = file.read(len(MAGIC)) == MAGIC
        if is_snapshot:
            with Snapshot(path) as snapshot:
                yield from _counted(snapshot.blocks(), doing, -(-len(snapshot) // BLOCK))
        else:
            yield from _counted(_text_blocks(path), doing, None)
    except (OSError, UnicodeDecodeError) as exc:
        raise SourceError(f"{path} cannot be read: {exc}") from exc


def _counted(blocks: Iterator[Block], doing: str, total: int | None) -> Iterator[Block]:
    with progress(doing, total) as advance:
        for block in blocks:
            yield block
            advance(1)


def _text_blocks(path: str) -> Iterator[Block]:
    """Yield the fingerprints of a text file; their items are the numbers of their lines, from 1."""
    with Path(path).open(encoding="ascii") as file:
        lines = enumerate(file, start=1)
        while block := list(islice(lines, BLOCK)):
            fingerprints = array("Q")
            for number, line in block:
                if not _FINGERPRINT.fullmatch(line.strip()):
                    raise SourceError(
                        f"{path}, line {number}: a fingerprint is 16 hexadecimal digits: "
                        f"got {line.strip()[:40]!r}"
                    )
                fingerprints.append(int(line, 16))
            yield fingerprints, array("I", [number for number, _ in block])
