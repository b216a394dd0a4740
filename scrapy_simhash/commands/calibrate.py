"""``scrapy simhash calibrate``: what each distance would drop, before anything is dropped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table as Grid

from scrapy_simhash.commands.base import Subcommand, settings_of
from scrapy_simhash.commands.sources import analysed_pages, source_at
from scrapy_simhash.crawl.judging import analyser_of, parameters_of
from scrapy_simhash.index import MemoryIndex, Page, Parameters
from scrapy_simhash.progress import progress
from scrapy_simhash.tables.design import MAX_DISTANCE

if TYPE_CHECKING:
    import argparse

    from rich.console import Console


class CalibrateCommand(Subcommand):
    """Judges the pages of a source once for each distance, with the settings of the project."""

    name = "calibrate"
    summary = "Show what each distance k would drop of stored pages, with pairs to look at"

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("source", type=Path, metavar="SOURCE", help="where the pages are")
        parser.add_argument(
            "--samples", type=int, default=3, help="pairs to show for each k (default: 3)"
        )

    @classmethod
    def find(cls, options: argparse.Namespace) -> Any:
        settings = settings_of(options)
        analyser = analyser_of(settings)
        parameters = parameters_of(settings, analyser)
        source = source_at(options.source)
        learning = MemoryIndex(parameters)  # knows what the sites repeat while pages are analysed
        stored = progress(source.read(), "Analysing pages", source.count)
        pages = []
        for _, page in analysed_pages(stored, settings, analyser, learning.templates, ""):
            if page is not None:
                learning.check_and_add(page)
                pages.append(page)
        distances: list[dict[str, Any]] = []
        known: set[str] = set()
        for distance in progress(range(MAX_DISTANCE + 1), "Judging pages", MAX_DISTANCE + 1):
            found = _duplicates(pages, replace(parameters, distance=distance))
            new = [pair for pair in found if pair["url"] not in known]
            known.update(pair["url"] for pair in found)
            distances.append(
                {
                    "distance": distance,
                    "exact": sum(pair["verdict"] == "exact_duplicate" for pair in found),
                    "near": sum(pair["verdict"] == "near_duplicate" for pair in found),
                    "new": len(new),
                    "samples": new[: options.samples],
                }
            )
        return {
            "pages": len(pages),
            "verified": parameters.share is not None,
            "chosen": parameters.distance,
            "distances": distances,
        }

    @classmethod
    def show(cls, found: Any, console: Console) -> None:
        judged = "compared by their content" if found["verified"] else "not verified"
        grid = Grid("k", box=box.SIMPLE, title=f"{found['pages']:,} pages, candidates {judged}")
        for heading in ("exact", "near", "dropped", "of all", "not with k - 1"):
            grid.add_column(heading, justify="right")
        for row in found["distances"]:
            dropped = row["exact"] + row["near"]
            grid.add_row(
                str(row["distance"]),
                f"{row['exact']:,}",
                f"{row['near']:,}",
                f"{dropped:,}",
                f"{dropped / max(found['pages'], 1):.1%}",
                f"{row['new']:,}",
                style="bold" if row["distance"] == found["chosen"] else None,
            )
        console.print(grid)
        for row in found["distances"]:
            for pair in row["samples"]:
                share = "" if pair["share"] is None else f", share {pair['share']:.3f}"
                console.print(
                    f"k = {row['distance']}: {pair['url']} for {pair['representative']} "
                    f"(distance {pair['distance']}{share})",
                    markup=False,
                    soft_wrap=True,
                )


def _duplicates(pages: list[Page], parameters: Parameters) -> list[dict[str, Any]]:
    """Return the pages that would be dropped, each with the page that is kept for it."""
    index = MemoryIndex(parameters)
    found = []
    for page in pages:
        decision = index.check_and_add(page)
        if decision.is_duplicate:
            found.append(
                {
                    "url": page.url,
                    "representative": decision.representative,
                    "verdict": decision.verdict,
                    "distance": decision.distance,
                    "share": decision.share,
                }
            )
    return found
