"""The picture of a crawl: what became of its pages, in all, over time and by section of the site.

It is made of bars, which ``templates/picture.html`` writes as SVG.  Widths are percentages of the
picture, heights are pixels: its text has one size on a telephone and on a wide screen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scrapy_simhash.report.outcome import OUTCOMES, Outcome

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
    "passed": "passed again",
    "flagged": "flagged",
    "dropped": "dropped",
    "not_judged": "not judged",
}
# The outcomes that a reader asks the reasons for.
EXPLAINED: frozenset[Outcome] = frozenset({"variant", "passed", "not_judged"})


@dataclass(frozen=True)
class Part:
    """The pages of one outcome in a bar: where the part begins, and how long it is."""

    outcome: Outcome
    pages: int
    start: float
    length: float


@dataclass(frozen=True)
class Bar:
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
        return f"{counted(self.pages, 'page')}: {parts}" if parts else "no pages"


@dataclass(frozen=True)
class Entry:
    """An outcome in the legend, and the most frequent reasons for it."""

    outcome: Outcome
    pages: int
    share: float
    whys: tuple[tuple[str, int], ...]

    @property
    def label(self) -> str:
        return LABELS[self.outcome]


@dataclass(frozen=True)
class Picture:
    """All bars of the picture: those of *columns* stand, and are *highest* pages at the most."""

    legend: tuple[Entry, ...]
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
        legend=tuple(_entry(outcome, report["outcomes"]) for outcome in OUTCOMES if whole[outcome]),
        whole=Bar.of("The crawl", whole, 100),
        columns=tuple(
            Bar.of(row["from"], row, COLUMN_PIXELS * row["pages"] / highest) for row in bins
        ),
        highest=highest,
        sections=tuple(_sections(report["sections"], whole)),
    )


def counted(number: int, noun: str) -> str:
    """Return a number with what it counts.

    >>> counted(1, "page"), counted(1234567, "page")
    ('1 page', '1,234,567 pages')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _entry(outcome: Outcome, rows: list[Mapping[str, Any]]) -> Entry:
    whys = [(row["why"], row["pages"]) for row in rows if row["outcome"] == outcome]
    pages = sum(number for _, number in whys)
    everything = sum(row["pages"] for row in rows)
    shown = tuple(whys[:WHYS_SHOWN]) if outcome in EXPLAINED else ()
    return Entry(outcome, pages, pages / everything, shown)


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
