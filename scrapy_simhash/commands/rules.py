"""Rules for addresses: ``scrapy simhash rules``, and ``parked`` for the requests they parked."""

from __future__ import annotations

import argparse
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

from scrapy_simhash.commands.base import Result, Subcommand, add_index_or_spider
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


class RulesCommand(Subcommand):
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

    async def find(self, options: argparse.Namespace) -> Result:
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
                rules = [_as_json(one) for one in found]
                return Result({"rules": rules, "forgotten": None}, _listed(found))
            named = [one for one in found if not numbers or one.number in numbers]
            for one in named:
                await index.learned.forget_rule(_site(one), one.rule)
        forgotten = {"rules": [], "forgotten": len(named)}
        return Result(forgotten, [counted(len(named), "rule(s) forgotten")])


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
    if not rules:
        yield "No rule"
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


def _parked(where: Path, output: Path | None) -> Result:
    """Count the requests parked in a JOBDIR or beside an index; write them out as JSON lines."""
    if not (files := _files(where)):
        raise SettingsError(f"there are no parked requests in {where}, or beside it")
    if output is None:
        counts = _counted(files)
    elif output.exists():
        raise SettingsError(f"{output} is there already: name another file")
    else:
        with replacing(output) as unfinished, unfinished.open("w") as file:
            counts = _counted(files, file)
    rows, lines = [], []
    for (place, rule), requests in counts.most_common():
        rows.append({"file": place, "rule": rule, "requests": requests})
        lines.append(f"{requests:,} parked in {place}: {rule}")
    written = None if output is None else counts.total()
    if written is not None:
        lines.append(counted(written, "request(s) written"))
    return Result({"rules": rows, "written": written}, lines)


def _files(place: Path) -> list[Path]:
    if place.is_dir():
        return sorted([*place.glob(PARKED_FILE), *place.glob("*-*-*T*.sqlite")])
    beside = Path(f"{place}.parked")
    if beside.is_dir():
        return sorted(beside.glob("*.sqlite"))
    return [place] if place.suffix == ".sqlite" and place.is_file() else []


def _counted(files: list[Path], lines: TextIO | None = None) -> Counter[tuple[str, str]]:
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
    return counts
