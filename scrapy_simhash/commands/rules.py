"""Rules for addresses: ``scrapy simhash rules``, and ``parked`` for the requests they parked."""

from __future__ import annotations

import argparse
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from scrapy_simhash.commands.base import Subcommand, add_index_or_spider, print_line
from scrapy_simhash.crawl.parked import read_parked
from scrapy_simhash.crawl.parking import PARKED_FILE
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.files import replacing
from scrapy_simhash.index.opening import open_lasting
from scrapy_simhash.index.survey import rules_in
from scrapy_simhash.report.counting import counted, listed
from scrapy_simhash.report.document import iso_time
from scrapy_simhash.report.savings import row_of
from scrapy_simhash.url_rules.evidence import Hypothesis
from scrapy_simhash.urls import site_of_host


@dataclass(frozen=True)
class FoundRules:
    """Rules by their sites and numbers, or how many were forgotten."""

    rules: list[Hypothesis]
    forgotten: int | None = None


class RulesCommand(Subcommand["FoundRules | Parked"]):
    """Lists or forgets rules, or counts and writes out the requests that rules have parked."""

    name = "rules"
    summary = "List or forget rules; list what they have parked"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)
        parser.add_argument("--site", help="only those of this registered domain, or host")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--forget",
            type=int,
            nargs="*",
            metavar="N",
            help="forget these, or all of a --site",
        )
        what.add_argument(
            "--parked",
            action="store_true",
            help="count the requests that are parked; INDEX may also be a JOBDIR",
        )
        parser.add_argument(
            "--write",
            type=Path,
            metavar="FILE",
            help="with --parked, write their addresses and rules, as JSON lines",
        )

    async def find(self, options: argparse.Namespace) -> FoundRules | Parked:
        if options.parked:
            return _parked(Path(options.index), options.write)
        numbers = options.forget
        if numbers == [] and options.site is None:
            raise SettingsError("say of which site: --site HOST, or which rules: --forget N")
        site = None if options.site is None else site_of_host(options.site.lower())
        async with open_lasting(options.index) as index:
            rules_of = await rules_in(index, site)
            if numbers and len(rules_of) > 1:
                raise SettingsError(f"say of which site: --site {', '.join(sorted(rules_of))}")
            known = (one for rules in rules_of.values() for one in rules.hypotheses.values())
            found = sorted(known, key=lambda one: (_site(one), one.number))
            if numbers is None:
                return FoundRules(found)
            named = [one for one in found if not numbers or one.number in numbers]
            for one in named:
                await index.learned.forget_rule(_site(one), one.rule)
        return FoundRules([], forgotten=len(named))

    def as_json(self, found: FoundRules | Parked) -> object:
        if isinstance(found, Parked):
            return asdict(found)
        return {**vars(found), "rules": [_as_json(one) for one in found.rules]}

    def show(self, found: FoundRules | Parked, console: Console) -> None:
        if isinstance(found, Parked):
            _show_parked(found, console)
        elif found.forgotten is not None:
            console.print(counted(found.forgotten, "rule(s) forgotten"))
        elif not found.rules:
            console.print("No rule")
        else:
            for line in _listed(found.rules):
                print_line(console, line)


def _site(one: Hypothesis) -> str:
    return site_of_host(one.rule.host)


def _as_json(one: Hypothesis) -> dict[str, Any]:
    """Return all that is known of a rule.

    It *holds* for these kinds of addresses.  *stage* is how sure it is in a folder, if it may act
    there.
    """
    return {
        "site": _site(one),
        **row_of(one),
        "folders": [
            {"name": of, "keys": own.right, "failures": own.wrong, "stage": one.stage(of)}
            for of, own in one.trials.items()
        ],
        "holds": one.acts(),
    }


def _listed(rules: list[Hypothesis]) -> Iterator[str]:
    """Yield each rule, what is known of it, and whether it acts or what it waits for."""
    for site, of_site in groupby(rules, key=_site):
        yield site
        for one in of_site:
            counts = (
                (one.keys, "pair(s) of addresses with one page"),
                (one.failures, "with two"),
            )
            yield f"{one.number:3}. {one.rule}"
            yield f"     {listed(counts) or 'not tried'}"
            yield f"     {_state(one)}"


def _state(one: Hypothesis) -> str:
    if holds := one.acts():
        learned = iso_time(one.learned or one.seen)[:10]
        return f"learned {learned}: acts in {', '.join(holds)}"
    if wait := one.waits_for():
        return f"waits: {wait}"
    return "acts nowhere: it was wrong at least once in each folder" if one.failures else "on trial"


@dataclass(frozen=True)
class ParkedCount:
    """How many requests one rule has parked, in one file."""

    file: str
    rule: str
    requests: int


@dataclass(frozen=True)
class Parked:
    """The parked requests by rule, and how many of them were written out."""

    rules: list[ParkedCount]
    written: int | None = None


def _parked(place: Path, output: Path | None) -> Parked:
    """Count the requests parked in a JOBDIR or beside an index; write them out as JSON lines."""
    if not (files := _files(place)):
        raise SettingsError(f"there are no parked requests in {place}, or beside it")
    if output is None:
        return Parked(_counted(files))
    if output.exists():
        raise SettingsError(f"{output} is there already: name another file")
    with replacing(output) as unfinished, unfinished.open("w") as lines:
        counts = _counted(files, lines)
    return Parked(counts, written=sum(one.requests for one in counts))


def _show_parked(found: Parked, console: Console) -> None:
    for one in found.rules:
        print_line(console, f"{one.requests:,} parked in {one.file}: {one.rule}")
    if found.written is not None:
        console.print(counted(found.written, "request(s) written"))


def _files(place: Path) -> list[Path]:
    if place.is_dir():
        return sorted([*place.glob(PARKED_FILE), *place.glob("*-*-*T*.sqlite")])
    beside = Path(f"{place}.parked")
    if beside.is_dir():
        return sorted(beside.glob("*.sqlite"))
    return [place] if place.suffix == ".sqlite" and place.is_file() else []


def _counted(files: list[Path], lines: TextIO | None = None) -> list[ParkedCount]:
    """Count the requests in files by their rules, and write them as *lines*.

    :raises SettingsError: a file cannot be read.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for file in files:
        try:
            for row in read_parked(file):
                counts[str(file), str(row.rule)] += 1
                if lines is not None:
                    line = {"url": row.url, "rule": str(row.rule), "template": row.pattern}
                    lines.write(json.dumps(line) + "\n")
        except sqlite3.Error as exc:
            raise SettingsError(f"{file} cannot be read: {exc}") from exc
    return [ParkedCount(file, rule, count) for (file, rule), count in counts.most_common()]
