"""The report for people: one HTML page, and short tables for a log or a terminal.

The page needs nothing else: no network, no other file.  Its script only sorts tables, and its
policy lets no other script run; without it the page is whole.

The page begins with a picture: what became of the pages, in all, over time and by section of the
site.  It is made of bars, which ``templates/picture.html`` writes as SVG.  Widths are percentages
of the picture, heights are pixels: its text has one size on a telephone and on a wide screen.  No
library draws it: pygal 3.1, which draws SVG without numpy, installs an import hook that makes each
later import warn on Python 3.10 and 3.11.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from io import StringIO
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from rich.box import SIMPLE
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from scrapy_simhash.report.counting import counted
from scrapy_simhash.report.record import OUTCOMES, Outcome

# Longer URLs are cut.  The page holds at most 800 of them: even if each character takes 5 bytes in
# HTML, the page stays below 500 KB.
SHOWN = 120
# In the font of fixed width of the picture, 303 px: a telephone has room for them.
BRIEF_CELLS = 42
# As many bars and reasons as can be taken in at a glance; the tables of the report have more.
SECTIONS_DRAWN = 8
WHYS_SHOWN = 3
COLUMN_PIXELS = 120
# In percent: beside the bar of a section stands the number of its pages.
BAR = 62

# How the report names each outcome.
LABELS: dict[Outcome, str] = {
    "kept": "kept",
    "variant": "variant",
    "passed": "passed anyway",
    "flagged": "flagged",
    "dropped": "dropped",
    "not_judged": "not judged",
}
# The outcomes that a reader asks the reasons for.
EXPLAINED: frozenset[Outcome] = frozenset({"variant", "passed", "not_judged"})
# The width of the tables, and the rows of each.
LOG_WIDTH = 120
TOP = 5


def html_of(report: dict[str, Any]) -> str:
    """Return the page for the report that :func:`~.document.report_of` made."""
    script = files("scrapy_simhash.report").joinpath("templates", "sort.js").read_text("utf-8")
    return (
        _environment()
        .get_template("report.html")
        .render(
            report,
            picture=picture_of(report),
            script=Markup(script),  # noqa: S704 - it is ours
            script_hash=f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("scrapy_simhash.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        shown=shown,
        brief=brief,
        counted=counted,
        words=lambda name: name.replace("_", " "),
        seconds=lambda number: f"{number:,.2f} s" if number < 10 else f"{number:,.0f} s",
        moment=lambda iso: iso.replace("T", " ").replace("+00:00", " UTC"),
        count=lambda number: f"{number:,.0f}",
        percent=lambda share: f"{share:.1%}",
        size=lambda number: decimal(int(number)),
    )
    environment.globals.update(
        COLUMN_PIXELS=COLUMN_PIXELS, LABELS=LABELS, EXPLAINED=EXPLAINED, WHYS_SHOWN=WHYS_SHOWN
    )
    environment.tests["linkable"] = linkable
    return environment


def printable(text: object) -> str:
    r"""Return *text* with invisible characters escaped: NULs, changes of direction.

    >>> print(printable("a\x00b \u202etxt"))
    a\x00b \u202etxt
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in str(text)
    )


def shown(text: object) -> str:
    """Return *text* as it is shown: printable, and at most :data:`SHOWN` characters."""
    visible = printable(text)
    return visible if len(visible) <= SHOWN else visible[: SHOWN - 1] + "\N{HORIZONTAL ELLIPSIS}"


def brief(text: object) -> str:
    """Return *text* as a line of the picture shows it."""
    visible = printable(text)
    if cell_len(visible) <= BRIEF_CELLS:
        return visible
    return set_cell_size(visible, BRIEF_CELLS - 1) + "\N{HORIZONTAL ELLIPSIS}"


def linkable(url: object) -> bool:
    """Whether *url* may be a link: it leads to a web server, and is shown unchanged and uncut."""
    text = str(url)
    return text.startswith(("http://", "https://")) and shown(text) == text


class Part(NamedTuple):
    """The pages of one outcome in a bar: where the part begins, and how long it is."""

    outcome: Outcome
    pages: int
    start: float
    length: float


class Bar(NamedTuple):
    """Some pages, in parts by outcome."""

    name: str
    pages: int
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, name: str, row: Mapping[str, Any], length: float) -> Bar:
        """Return the bar of *length* for the pages of *row*, by outcome."""
        parts, start, pages = [], 0.0, sum(row[outcome] for outcome in OUTCOMES)
        for outcome in OUTCOMES:
            if row[outcome]:
                share = row[outcome] / pages * length
                parts.append(Part(outcome, row[outcome], round(start, 2), round(share, 2)))
                start += share
        return cls(name, pages, tuple(parts))

    @property
    def text(self) -> str:
        """The bar in words, without its name."""
        parts = ", ".join(f"{part.pages:,} {LABELS[part.outcome]}" for part in self.parts)
        return f"{counted(self.pages, 'page(s)')}: {parts}" if parts else "no pages"


class Picture(NamedTuple):
    """All bars of the picture: those of *columns* stand, and are *highest* pages at the most."""

    whole: Bar
    columns: tuple[Bar, ...]
    highest: int
    sections: tuple[Bar, ...]


def picture_of(report: Mapping[str, Any]) -> Picture:
    """Return the picture for the report that :func:`~.document.report_of` made."""
    whole: Counter[str] = Counter()
    for row in report["outcomes"]:
        whole[row["outcome"]] += row["pages"]
    bins = report["timeline"]["bins"]
    highest = max((row["pages"] for row in bins), default=0)
    return Picture(
        whole=Bar.of("The crawl", whole, 100),
        columns=tuple(
            Bar.of(row["from"], row, COLUMN_PIXELS * row["pages"] / highest) for row in bins
        ),
        highest=highest,
        sections=tuple(_sections(report["sections"], whole)),
    )


def _sections(rows: list[Mapping[str, Any]], whole: Mapping[str, int]) -> list[Bar]:
    """Return the bars of sections, without the host if there is one only, and one of the rest."""
    hosts = {row["section"].partition("/")[0] for row in rows}
    host = hosts.pop() if len(hosts) == 1 else ""
    drawn = rows[:SECTIONS_DRAWN]
    bars = [Bar.of(row["section"].removeprefix(host), row, BAR) for row in drawn]
    rest: dict[str, int] = {
        outcome: whole[outcome] - sum(row[outcome] for row in drawn) for outcome in OUTCOMES
    }
    if any(rest.values()):
        bars.append(Bar.of("all other sections", rest, BAR))
    return bars


def short_tables(report: dict[str, Any]) -> list[Table]:
    """Return the tables of what stands out, without empty ones."""
    groups = _table("Kept pages with most duplicates", 1, "duplicates", "kept page")
    for row in report["groups"][:TOP]:
        groups.add_row(f"{row['pages']:,}", Text(shown(row["representative"])))
    novelties = _table("What holds variants apart", 1, "variants", "kind", "place", "such as")
    for row in report["novelties"][:TOP]:
        texts = (Text(shown(one)) for one in (row["kind"], row["place"], row["example"]["text"]))
        novelties.add_row(f"{row['pages']:,}", *texts)
    rules = _table(
        "What was learned of addresses", 3, "duplicates", "right", "wrong", "rule", "waits for"
    )
    for row in report["rules"][:TOP]:
        counts = (f"{row[name]:,}" for name in ("duplicates", "keys", "failures"))
        rules.add_row(*counts, Text(shown(row["advice"])), Text(shown(row["waits_for"] or "")))
    alarms = _table("Alarms", 1, "at page", "alarm", "where")
    for row in report["alarms"][:TOP]:
        alarms.add_row(f"{row['page']:,}", row["name"], Text(shown(row["subject"])))
    return [table for table in (groups, novelties, rules, alarms) if table.row_count]


def text_of(report: dict[str, Any]) -> str:
    """Return the tables as plain text, which is empty if there are none."""
    text = StringIO()
    console = Console(file=text, width=LOG_WIDTH, color_system=None)
    for table in short_tables(report):
        console.print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines() if line.strip())


def _table(title: str, counts: int, *headings: str) -> Table:
    """Return an empty table, of which the first columns are *counts*."""
    table = Table(title=title, title_justify="left", box=SIMPLE, padding=(0, 1))
    for heading in headings[:counts]:
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in headings[counts:]:
        table.add_column(heading, overflow="fold")
    return table
