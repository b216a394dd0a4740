"""``scrapy simhash calibrate``: what each distance would drop, before anything is dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from scrapy_simhash.commands.base import Subcommand, pipeline_of, print_line, progress
from scrapy_simhash.commands.sources import Source, source_at
from scrapy_simhash.crawl.reach import Reach, decide
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.decision.page import VARIANT_REASONS, Page, Reason, Verdict
from scrapy_simhash.index.memory import MemoryIndex
from scrapy_simhash.tables.design import MAX_DISTANCE

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from scrapy_simhash.pipeline import Pipeline


@dataclass(frozen=True)
class Duplicate:
    """A page that would be dropped, with its representative and what was decided."""

    url: str
    representative: str | None
    verdict: Verdict
    distance: int | None
    share: float | None


@dataclass(frozen=True)
class DistanceCounts:
    """How many pages a distance would drop, and how many of them the next smaller one would not.

    *samples* are some of the latter.
    """

    distance: int
    exact: int
    near: int
    new: int
    samples: list[Duplicate]


@dataclass(frozen=True)
class Calibration:
    """What each distance would drop of a number of pages; *chosen* is the one of the settings.

    *variant* are the pages, by their reason, that a crawl with the chosen distance would keep
    although their text is known, each page with the kept one, as *examples* has them.  The counts
    of the distances know nothing of links and pictures.
    """

    pages: int
    verified: bool
    chosen: int
    distances: list[DistanceCounts]
    variant: dict[str, int]
    examples: dict[str, list[tuple[str, str]]]


class CalibrateCommand(Subcommand[Calibration]):
    """Judges the pages of a source once for each distance, with the settings of the project."""

    name = "calibrate"
    summary = "Show what each distance k would drop of stored pages, with pairs to look at"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("source", type=Path, metavar="SOURCE", help="where the pages are")
        parser.add_argument(
            "--samples", type=int, default=3, help="pairs to show for each k (default: 3)"
        )

    async def find(self, options: argparse.Namespace) -> Calibration:
        pipeline = pipeline_of(options)
        parameters = pipeline.parameters
        pages, apart = await _pages(source_at(options.source), pipeline)
        distances: list[DistanceCounts] = []
        known: set[str] = set()
        with progress("Judging pages", MAX_DISTANCE + 1) as advance:
            for distance in range(MAX_DISTANCE + 1):
                found = await _duplicates(pages, replace(parameters, distance=distance))
                new = [duplicate for duplicate in found if duplicate.url not in known]
                known.update(duplicate.url for duplicate in found)
                exact = sum(duplicate.verdict == "exact_duplicate" for duplicate in found)
                distances.append(
                    DistanceCounts(
                        distance=distance,
                        exact=exact,
                        near=len(found) - exact,
                        new=len(new),
                        samples=new[: options.samples],
                    )
                )
                advance(1)
        return Calibration(
            pages=len(pages),
            verified=parameters.share is not None,
            chosen=parameters.distance,
            distances=distances,
            variant={reason: len(pairs) for reason, pairs in apart.items()},
            examples={reason: pairs[: options.samples] for reason, pairs in apart.items()},
        )

    def show(self, found: Calibration, console: Console) -> None:
        judged = "compared by their content" if found.verified else "not verified"
        table = Table("k", box=box.SIMPLE, title=f"{found.pages:,} pages, candidates {judged}")
        for heading in ("exact", "near", "dropped", "of all", "not with k - 1"):
            table.add_column(heading, justify="right")
        for row in found.distances:
            dropped = row.exact + row.near
            table.add_row(
                str(row.distance),
                f"{row.exact:,}",
                f"{row.near:,}",
                f"{dropped:,}",
                f"{dropped / max(found.pages, 1):.1%}",
                f"{row.new:,}",
                style="bold" if row.distance == found.chosen else None,
            )
        console.print(table)
        for row in found.distances:
            for pair in row.samples:
                share = "" if pair.share is None else f", share {pair.share:.3f}"
                print_line(
                    console,
                    f"k = {row.distance}: {pair.url} for {pair.representative} "
                    f"(distance {pair.distance}{share})",
                )
        for reason, number in found.variant.items():
            console.print(f"kept although their text is known ({reason}): {number:,}")
            for url, kept_url in found.examples[reason]:
                print_line(console, f"  {url} beside {kept_url}")


async def _pages(
    source: Source, pipeline: Pipeline
) -> tuple[list[Page], dict[Reason, list[tuple[str, str]]]]:
    """Return the pages of a source that have text, analysed with what their sites repeat.

    With them, the URLs of those that are variants in a crawl in this order, and of what they are
    near.
    """
    learning, reach = MemoryIndex(pipeline.parameters), Reach()
    pages = []
    variants: dict[Reason, list[tuple[str, str]]] = {reason: [] for reason in VARIANT_REASONS}
    async with source.analysed(pipeline, learning, spider="") as analysed:
        async for _, page in analysed:
            if page is None:
                continue
            pages.append(page)
            decision, by_values = await decide(learning, reach, page)
            if decision.verdict == "variant":
                variants[decision.reason].append((page.url, decision.representative or ""))
            if not decision.is_duplicate:
                reach.hand([page.url, *(one.address for one in page.holds.addresses)])
            await learning.learn(page, by_values)
    return pages, variants


async def _duplicates(pages: list[Page], parameters: Parameters) -> list[Duplicate]:
    """Return the pages that would be dropped, each with the page that is kept for it."""
    index = MemoryIndex(parameters)
    found = []
    for page in pages:
        decision = await index.check_and_add(page)
        if decision.is_duplicate:
            found.append(
                Duplicate(
                    url=page.url,
                    representative=decision.representative,
                    verdict=decision.verdict,
                    distance=decision.distance,
                    share=decision.share,
                )
            )
    return found
