"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: Path, only_new: bool = False) -> Iterator[Path]:
    """Give the path of a file to write, which then takes the place of the one at *path*.

    Killing the process leaves the old file or the new one.  With *only_new* a file that another
    process has made meanwhile stays, and the new one goes.

    :raises OSError: it cannot be put there; what was at *path* is there still.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        unfinished.unlink(missing_ok=True)
        yield unfinished
        if only_new:
            with suppress(FileExistsError):
                os.link(unfinished, path)
        else:
            unfinished.replace(path)
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
