"""Write the tables of options in docs/commands.md, as ``--help`` has them.

    python docs/options.py

Each section ``## NAME`` of the page ends with one.  INDEX is left out: the page begins with it.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_simhash.commands import subcommands

if TYPE_CHECKING:
    from scrapy_simhash.commands.base import Subcommand

PAGE = Path(__file__).with_name("commands.md")
HEAD = "| option | meaning |\n| --- | --- |\n"
TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)*")


def options_of(subcommand: Subcommand) -> list[tuple[str, str]]:
    """Return the arguments and options of a subcommand as ``--help`` names and explains them."""
    parser = argparse.ArgumentParser(add_help=False)
    subcommand.add_arguments(parser)
    formatter = parser._get_formatter()
    rows = []
    for action in (one for one in parser._actions if one.dest != "index"):
        values = formatter._format_args(action, action.dest.upper())
        name = " ".join(filter(None, (", ".join(action.option_strings), values)))
        rows.append((name, formatter._expand_help(action)))
    return rows


def with_options(page: str) -> str:
    """Return the text of the page with the tables that its commands have now."""
    for subcommand in subcommands():
        before, heading, rest = page.partition(f"\n## {subcommand.name}\n")
        section, next_heading, after = rest.partition("\n## ")
        rows = [f"| `{name}` | {words} |\n" for name, words in options_of(subcommand)]
        section = f"{TABLE.sub('', section).rstrip()}\n\n{HEAD}{''.join(rows)}"
        page = before + heading + section + next_heading + after
    return page


if __name__ == "__main__":
    PAGE.write_text(with_options(PAGE.read_text("utf-8")), "utf-8")
