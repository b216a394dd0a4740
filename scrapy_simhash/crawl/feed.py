"""The decisions feed: one JSON object a line and a page, in the order of the decisions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class DecisionsFeed:
    """A file that lines are added to; one that is there already is continued.

    Each line is one write to the operating system: killing the process leaves whole lines,
    and several processes can write to one file.

    :raises OSError: it cannot be opened for writing.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("a+b", buffering=0)
        self._whole = self._ends_with_newline()

    def write(self, record: dict[str, Any]) -> None:
        """Add a line.

        :raises OSError: it could not be written, or only a part of it.
        """
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"
        if not self._whole:
            line = b"\n" + line
        self._whole = False
        written = self._file.write(line)
        if written != len(line):
            raise OSError(f"{self.path}: {written} of {len(line)} bytes were written")
        self._whole = True

    def close(self) -> None:
        """Close the file; closing twice is no error."""
        self._file.close()

    def _ends_with_newline(self) -> bool:
        """Whether the last line is whole: a full disk may have cut it short."""
        if self._file.seek(0, os.SEEK_END) == 0:
            return True
        self._file.seek(-1, os.SEEK_END)
        return self._file.read(1) == b"\n"
