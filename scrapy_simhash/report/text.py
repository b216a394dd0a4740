"""The report as a short table, for a log or a terminal."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from scrapy_simhash.report.html import shown

LOG_WIDTH = 120
TOP = 5


def short_tables(report: dict[str, Any]) -> list[Table]:
    """Return the tables of what stands out, without empty ones."""
    groups = _table("Kept pages with most duplicates", "duplicates", "kept page")
    for row in report["groups"][:TOP]:
        groups.add_row(f"{row['pages']:,}", Text(shown(row["representative"])))
    rules = _table("What would have avoided downloads", "duplicates", "of pages", "rule", "but")
    for row in report["suggestions"][:TOP]:
        lost = row["sampled_different"]
        looked_at = lost + row["sampled_same"]
        rules.add_row(
            f"{row['duplicates']:,}",
            f"{row['of_pages']:,}",
            Text(shown(row["advice"])),
            f"{lost:,} of {looked_at:,} have another text" if lost else "",
        )
    learned = _table("What was learned of addresses", "duplicates", "keys", "failures", "rule")
    for row in report["rules"][:TOP]:
        counts = (f"{row[name]:,}" for name in ("known", "keys", "failures"))
        learned.add_row(*counts, Text(shown(row["advice"])))
    alarms = _table("Alarms", "at page", "alarm", "where")
    for row in report["alarms"][:TOP]:
        alarms.add_row(f"{row['page']:,}", row["name"], Text(shown(row["subject"])))
    return [table for table in (groups, rules, learned, alarms) if table.row_count]


def text_of(report: dict[str, Any]) -> str:
    """Return the tables as plain text, which is empty if there are none."""
    text = StringIO()
    console = Console(file=text, width=LOG_WIDTH, color_system=None)
    for table in short_tables(report):
        console.print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines() if line.strip())


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE, padding=(0, 1))
    for heading in headings:
        counts = heading in ("duplicates", "of pages", "at page", "keys", "failures")
        table.add_column(
            heading, justify="right" if counts else "left", overflow="fold", no_wrap=counts
        )
    return table
