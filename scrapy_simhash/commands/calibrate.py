"""``scrapy simhash calibrate``: what a crawl of stored pages would drop, before anything is."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.commands.base import Subcommand, pipeline_of, print_line, progress
from scrapy_simhash.commands.sources import source_at
from scrapy_simhash.crawl.reach import Reach, decide
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.decision.page import VARIANT_REASONS, Decision, Page
from scrapy_simhash.index.memory import MemoryIndex
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.settings import TEXT
from scrapy_simhash.tables.design import MAX_DISTANCE

# Shares from which on a page is dropped, the strictest first.
SHARES = (1.0, 0.97, 0.95, 0.9, 0.85, 0.8)


@dataclass(frozen=True)
class SamplePair:
    """A page that would be dropped, or is kept as a variant, and the kept page that it is near."""

    url: str
    representative: str | None
    distance: int | None
    share: float | None


@dataclass(frozen=True)
class OtherValue:
    """How many pages another value of a setting would drop; some that a stricter one would not."""

    value: float
    dropped: int
    samples: list[SamplePair]


@dataclass(frozen=True)
class Calibration:
    """What a crawl with the present settings would keep and drop of a number of pages.

    *variant* are the kept pages, by their reason, that are near another one, with *examples*.
    *unread* is what the source has beside pages.  *others* are other values of *setting*, the
    strictest first; there are none where no setting decides how much may differ.
    """

    pages: int
    unread: Unread
    kept: int
    dropped: int
    variant: dict[str, int]
    samples: list[SamplePair]
    examples: dict[str, list[SamplePair]]
    setting: str | None
    others: list[OtherValue]


class CalibrateCommand(Subcommand[Calibration]):
    """Judges the pages of a source as a crawl would, and again for other shares or distances."""

    name = "calibrate"
    summary = "Show what a crawl would drop of stored pages, with pairs to look at"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("source", type=Path, metavar="SOURCE", help="where the pages are")
        parser.add_argument(
            "--samples", type=int, default=3, help="pairs to show of each kind (default: 3)"
        )

    async def find(self, options: argparse.Namespace) -> Calibration:
        pipeline = pipeline_of(options)
        learning, reach = MemoryIndex(pipeline.parameters), Reach()
        judged: list[tuple[Page, Decision]] = []
        source = source_at(options.source)
        async with source.analysed(pipeline, learning, spider="") as analysed:
            async for _, page in analysed:
                if page is not None:
                    judged.append((page, await _judged(page, learning, reach)))
        pages = [page for page, _ in judged]
        dropped = [_pair(page, one) for page, one in judged if one.is_duplicate]
        variants: dict[str, list[SamplePair]] = {reason: [] for reason in VARIANT_REASONS}
        for page, one in judged:
            if one.verdict == "variant":
                variants[one.reason].append(_pair(page, one))
        setting, values = _choices(pipeline)
        others: list[OtherValue] = []
        known: set[str] = set()
        with progress("Judging pages", len(values)) as advance:
            for value, parameters in values.items():
                found = await _dropped(pages, parameters)
                new = [pair for pair in found if pair.url not in known]
                known.update(pair.url for pair in found)
                others.append(OtherValue(value, len(found), new[: options.samples]))
                advance(1)
        return Calibration(
            pages=len(pages),
            unread=source.unread,
            kept=len(pages) - len(dropped),
            dropped=len(dropped),
            variant={reason: len(pairs) for reason, pairs in variants.items()},
            samples=dropped[: options.samples],
            examples={reason: pairs[: options.samples] for reason, pairs in variants.items()},
            setting=setting,
            others=others,
        )

    def as_json(self, found: Calibration) -> object:
        return {**asdict(found), "unread": found.unread.as_json()}

    def show(self, found: Calibration, console: Console) -> None:
        share = found.dropped / max(found.pages, 1)
        console.print(
            f"{found.pages:,} pages: {found.dropped:,} would be dropped ({share:.1%}), "
            f"{found.kept:,} kept"
        )
        for line in found.unread.lines():
            print_line(console, line)
        for pair in found.samples:
            _print_pair(console, pair)
        for reason, number in found.variant.items():
            if number:
                console.print(f"kept as variants ({reason}): {number:,}")
            for pair in found.examples[reason]:
                _print_pair(console, pair)
        if found.setting is None:
            console.print("A page is dropped only if nothing on it is new: no share decides that.")
            return
        table = Table(found.setting, box=box.SIMPLE, title="With another value")
        for heading in ("dropped", "of all"):
            table.add_column(heading, justify="right")
        for row in found.others:
            of_all = f"{row.dropped / max(found.pages, 1):.1%}"
            table.add_row(f"{row.value:g}", f"{row.dropped:,}", of_all)
        console.print(table)
        for row in found.others:
            for pair in row.samples:
                _print_pair(console, pair, f"{row.value:g}: ")


def _print_pair(console: Console, pair: SamplePair, start: str = "  ") -> None:
    share = "" if pair.share is None else f", share {pair.share:.3f}"
    distance = "" if pair.distance is None else f" (distance {pair.distance}{share})"
    print_line(console, f"{start}{pair.url} beside {pair.representative}{distance}")


def _choices(pipeline: Pipeline) -> tuple[str | None, dict[float, Parameters]]:
    """Return the setting that says how much may differ, and the parameters for some values."""
    parameters = pipeline.parameters
    if not pipeline.settings.verifies:
        distances = range(MAX_DISTANCE + 1)
        return "SIMHASH_DISTANCE", {one: replace(parameters, distance=one) for one in distances}
    if pipeline.settings.takes != TEXT:
        return None, {}
    shares = sorted({*SHARES, pipeline.settings.share}, reverse=True)
    return "SIMHASH_SHARE", {share: replace(parameters, share=share) for share in shares}


async def _judged(page: Page, index: MemoryIndex, reach: Reach) -> Decision:
    """Return the decision on a page, as in a crawl whose spider follows all links."""
    decision, by_values = await decide(index, reach, page)
    if not decision.is_duplicate:
        reach.hand([page.url, *page.holds.addresses.texts])
    await index.learn(page, by_values)
    return decision


async def _dropped(pages: list[Page], parameters: Parameters) -> list[SamplePair]:
    """Return the pages that would be dropped by other parameters."""
    index, reach = MemoryIndex(parameters), Reach()
    judged = [(page, await _judged(page, index, reach)) for page in pages]
    return [_pair(page, one) for page, one in judged if one.is_duplicate]


def _pair(page: Page, decision: Decision) -> SamplePair:
    return SamplePair(page.url, decision.representative, decision.distance, decision.share)
