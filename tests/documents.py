"""The documentation as the tests read it: pages, their blocks, and the documented settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parents[1]
DOCS = FOLDER / "docs"
PAGES = sorted(
    path.relative_to(FOLDER).as_posix()
    for pattern in ("*.md", "docs/*.md", ".github/**/*.md")
    for path in FOLDER.glob(pattern)
)

_BLOCK = re.compile(r"^```(.*)\n((?:.*\n)*?)```$", re.MULTILINE)
_SETTING = re.compile(r"^### `(\w+)`\n\nDefault `(.+?)`\. (.+)\n((?:(?!##).*\n)*)", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block of a page, such as ``docs/redis.md``; *line* is that of its first fence."""

    page: str
    line: int
    language: str
    text: str


class Setting(NamedTuple):
    """A setting of docs/settings.md: its name, its default, one line, and what is folded."""

    name: str
    default: str
    line: str
    folded: str


def read(page: str) -> str:
    return (FOLDER / page).read_text("utf-8")


def blocks(page: str) -> list[Block]:
    """All fenced blocks of a page.  They begin in the first column."""
    text = read(page)
    found = [
        Block(page, text.count("\n", 0, match.start()) + 1, match[1], match[2])
        for match in _BLOCK.finditer(text)
    ]
    assert text.count("```") == 2 * len(found), f"{page}: a fence that is not in the first column"
    return found


def printed(page: str, start: str) -> str:
    """The line of output that a page shows, which may be broken there; it begins with *start*."""
    (shown,) = [block.text for block in blocks(page) if block.text.startswith(start)]
    return " ".join(shown.split())


def documented_settings() -> list[Setting]:
    return [Setting(*match.groups()) for match in _SETTING.finditer(read("docs/settings.md"))]
