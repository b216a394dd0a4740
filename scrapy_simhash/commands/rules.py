"""Rules for addresses: ``scrapy simhash rules``, and ``parked`` for the requests they parked."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rich import box
from rich.table import Table

from scrapy_simhash.commands.base import Subcommand, add_index_or_spider, cell, print_line
from scrapy_simhash.crawl.parked import ParkedRequests
from scrapy_simhash.crawl.parking import PARKED_FILE
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.files import replacing
from scrapy_simhash.index.opening import open_existing
from scrapy_simhash.index.survey import rules_in
from scrapy_simhash.url_rules import exchange
from scrapy_simhash.url_rules.book import MAX_RULES, SiteRules
from scrapy_simhash.url_rules.evidence import MAX_FOLDERS, Hypothesis
from scrapy_simhash.url_rules.rule import AddressRule
from scrapy_simhash.urls import Address, folder_pattern, site_of_host

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

    from scrapy_simhash.index.base import LastingIndex


@dataclass(frozen=True)
class Folder:
    """The trials of a rule in a folder, or in a template of addresses; *stage* if it may act."""

    name: str
    keys: int
    failures: int
    stage: str | None


@dataclass(frozen=True)
class FoundRule:
    """A rule for addresses and the evidence for it; times are in seconds.

    It *holds* for these kinds of addresses.  *canonical* and *template* are what it makes of the
    address that was asked about, *stage* how sure it is there, if it may act.
    """

    number: int
    site: str
    advice: str
    kind: str
    host: str
    drop: str
    keep: str
    began: int
    learned: int | None
    seen: int
    keys: int
    failures: int
    rate: float
    folders: list[Folder]
    holds: list[str]
    frozen: bool
    canonical: str | None = None
    template: str | None = None
    stage: str | None = None


@dataclass(frozen=True)
class FoundRules:
    """Rules, and how many were changed or written.

    *skipped*: why others were not imported, with their number.
    """

    rules: list[FoundRule]
    forgotten: int = 0
    frozen: int = 0
    unfrozen: int = 0
    exported: int | None = None
    imported: int | None = None
    skipped: dict[str, int] = field(default_factory=dict)


class RulesCommand(Subcommand[FoundRules]):
    """Lists rules, explains what they make of an address; freezes, forgets, exports, imports."""

    name = "rules"
    summary = "List, explain, freeze, forget, export or import rules for addresses"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)
        parser.add_argument("--site", help="only those of this registered domain, or host")
        parser.add_argument(
            "--rule", type=int, nargs="+", help="only those with these numbers; needs --site"
        )
        parser.add_argument("--frozen", action="store_true", help="only those that are frozen")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--explain", metavar="URL", help="what the rules make of an address")
        what.add_argument("--forget", action="store_true", help="forget them; needs --site")
        what.add_argument("--unfreeze", action="store_true", help="undo --freeze; needs --site")
        what.add_argument(
            "--export", type=Path, metavar="FILE", help="write them for duplicate-url-discarder"
        )
        what.add_argument(
            "--import",
            dest="import_",
            type=Path,
            metavar="FILE",
            help="put the rules in such a file on trial; with --site, for this host",
        )
        parser.add_argument(
            "--freeze",
            action="store_true",
            help="let them act whatever comes: where they hold, or, with --import, where the file "
            "says; needs --site or --import",
        )

    async def find(self, options: argparse.Namespace) -> FoundRules:
        if options.freeze and (
            options.explain or options.forget or options.unfreeze or options.export
        ):
            raise SettingsError("--freeze goes with --site or --import only")
        if options.import_ is not None:
            return await _imported(options)
        site = None if options.site is None else site_of_host(options.site.lower())
        address = None
        if options.explain is not None:
            address = Address.of(options.explain)
            site = site_of_host(address.host)
        is_change = options.forget or options.freeze or options.unfreeze
        if site is None and (is_change or options.rule is not None):
            raise SettingsError("say of which site: --site HOST")
        if options.export is not None:
            _refuse_existing(options.export)
        async with open_existing(options.index) as index:
            known = {
                of: [
                    one
                    for one in rules.hypotheses.values()
                    if (options.rule is None or one.number in options.rule)
                    and (one.frozen or not (options.frozen or options.unfreeze))
                    and (address is None or address.host in (one.rule.host, one.rule.keep))
                ]
                for of, rules in (await rules_in(index, site)).items()
            }
            if is_change:
                return await _changed(index, known, options)
        if options.export is not None:
            written = exchange.exported(one for meant in known.values() for one in meant)
            with replacing(options.export) as unfinished:
                unfinished.write_text(json.dumps(written, indent=2, ensure_ascii=False))
            return FoundRules([], exported=len(written))
        found = [_found(of, one, address) for of, meant in known.items() for one in meant]
        return FoundRules(sorted(found, key=lambda rule: (rule.site, rule.number)))

    def show(self, found: FoundRules, console: Console) -> None:
        if found.forgotten:
            console.print(f"{found.forgotten:,} rules forgotten")
        elif found.frozen:
            console.print(f"{found.frozen:,} rules frozen")
        elif found.unfrozen:
            console.print(f"{found.unfrozen:,} rules are frozen no more")
        elif found.exported is not None:
            console.print(f"{found.exported:,} rules written")
        elif found.imported is not None:
            console.print(f"{found.imported:,} rules imported")
            for why, number in found.skipped.items():
                print_line(console, f"{number:,} left out: {why}")
        elif not found.rules:
            console.print("No rule")
        elif found.rules[0].template is not None:
            for rule in found.rules:
                for line in _explained(rule):
                    print_line(console, line)
        else:
            console.print(_table(found.rules))


async def _changed(
    index: LastingIndex, known: dict[str, list[Hypothesis]], options: argparse.Namespace
) -> FoundRules:
    """Forget, freeze or unfreeze rules.

    :raises SettingsError: a rule that is to be frozen holds nowhere.
    """
    changed = 0
    for site, meant in known.items():
        if options.freeze:
            if options.rule is None:
                meant = [one for one in meant if one.acts()]
            for one in meant:
                if not one.acts():
                    raise SettingsError(f"rule {one.number} holds nowhere: it cannot be frozen")
        where = {one.rule: one.acts() if options.freeze else () for one in meant}

        def change(rules: SiteRules, where: Mapping[AddressRule, Sequence[str]] = where) -> None:
            for rule, names in where.items():
                if options.forget:
                    rules.forget(rule)
                elif rule in rules.hypotheses:
                    rules.hypotheses[rule].freeze(names, time.time())

        await index.learned.change_rules(site, change)
        changed += len(meant)
    if options.forget:
        return FoundRules([], forgotten=changed)
    return FoundRules([], frozen=changed) if options.freeze else FoundRules([], unfrozen=changed)


def _found(site: str, one: Hypothesis, address: Address | None) -> FoundRule:
    rule = one.rule
    canonical = None if address is None else rule.applied(address)
    template = None if address is None else folder_pattern(canonical or address)
    return FoundRule(
        number=one.number,
        site=site,
        **rule.as_row(),
        began=int(one.began),
        learned=None if one.learned is None else int(one.learned),
        seen=int(one.seen),
        keys=one.keys,
        failures=one.failures,
        rate=round(one.rate, 3),
        folders=[
            Folder(name, trials.right, trials.wrong, one.stage(name))
            for name, trials in one.trials.items()
        ],
        holds=one.acts(),
        frozen=bool(one.frozen),
        canonical=None if canonical is None else canonical.url,
        template=template,
        stage=None if template is None else one.stage(template),
    )


def _table(rules: list[FoundRule]) -> Table:
    table = Table(box=box.SIMPLE)
    for heading in ("site", "number", "rule", "keys", "failures", "at least", "learned", "holds"):
        table.add_column(heading, overflow="fold")
    for rule in rules:
        table.add_row(
            cell(rule.site),
            str(rule.number),
            cell(rule.advice),
            f"{rule.keys:,}",
            f"{rule.failures:,}",
            f"{rule.rate:.1%}",
            _since(rule),
            cell(", ".join(rule.holds) or "nowhere"),
        )
    return table


def _explained(rule: FoundRule) -> Iterator[str]:
    """Yield what a rule makes of the address, and why it may act there or may not."""
    yield f"{rule.number}. {rule.advice}"
    yield f"   takes it for {rule.canonical or 'what it is'}"
    by_name = {folder.name: folder for folder in rule.folders}
    own = by_name.get(rule.template or "")
    if own is None:
        yield f"   nothing is known of {rule.template}"
    else:
        yield f"   {rule.template}: {own.keys:,} keys, {own.failures:,} failures"
        yield f"   everywhere: {rule.keys:,} keys, {rule.failures:,} failures"
    stage = "frozen" if rule.frozen else rule.stage
    yield f"   it {f'may act: {stage}' if rule.stage else 'may not act'}"


def _since(rule: FoundRule) -> str:
    """Return the day on which a rule was learned, or what it is in its place."""
    if rule.frozen:
        return "frozen"
    if rule.learned is None:
        return "not yet"
    return datetime.fromtimestamp(rule.learned, timezone.utc).date().isoformat()


async def _imported(options: argparse.Namespace) -> FoundRules:
    """Put the rules of a file on trial, or have them act at once: those for a host, if given.

    :raises SettingsError: it cannot be read, or holds no rules of duplicate-url-discarder.
    """
    found = _read(options.import_, options.site and options.site.lower())
    skipped, are_frozen = found.skipped, options.freeze
    by_site: dict[str, dict[AddressRule, frozenset[str]]] = defaultdict(dict)
    for rule, where in found.rules.items():
        if are_frozen and where is None:
            skipped["for places that cannot be said here: it can be tried, but not frozen"] += 1
        else:
            by_site[site_of_host(rule.host)][rule] = where or frozenset()
    imported = 0
    async with open_existing(options.index) as index:
        for site, rules in by_site.items():
            refused: list[AddressRule] = []

            def change(
                known: SiteRules,
                rules: Mapping[AddressRule, frozenset[str]] = rules,
                refused: list[AddressRule] = refused,
            ) -> None:
                refused.clear()
                now = time.time()
                for rule, where in rules.items():
                    hypothesis = known.put_on_trial(rule, now)
                    if hypothesis is None:
                        refused.append(rule)
                    elif are_frozen:
                        both = hypothesis.frozen | where
                        hypothesis.freeze(both if len(both) <= MAX_FOLDERS else where, now)

            await index.learned.change_rules(site, change)
            imported += len(rules) - len(refused)
            if refused:
                skipped[f"no room: at most {MAX_RULES} rules of a site are tried"] += len(refused)
    return FoundRules([], imported=imported, skipped=dict(skipped))


def _read(file: Path, host: str | None) -> exchange.ImportedRules:
    try:
        rules = json.loads(file.read_bytes())
        if not isinstance(rules, list):
            raise ValueError("it holds no list of rules of duplicate-url-discarder")
        return exchange.imported(rules, host)
    except (OSError, ValueError, RecursionError) as exc:
        raise SettingsError(f"{file} cannot be imported: {exc}") from exc


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


class ParkedCommand(Subcommand[Parked]):
    """Counts parked requests, and writes them out as JSON lines."""

    name = "parked"
    summary = "Count the requests that rules for addresses have parked, or write them out"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "place",
            type=Path,
            metavar="PLACE",
            help="the JOBDIR of a crawl, the path of its index, or a file of parked requests",
        )
        parser.add_argument(
            "--write",
            type=Path,
            metavar="FILE",
            help="write their addresses and rules, as JSON lines",
        )

    async def find(self, options: argparse.Namespace) -> Parked:
        files = _files(options.place)
        if not files:
            raise SettingsError(f"there are no parked requests in {options.place}, or beside it")
        if options.write is None:
            return Parked(_counted(files))
        _refuse_existing(options.write)
        with replacing(options.write) as unfinished, unfinished.open("w") as lines:
            counts = _counted(files, lines)
        return Parked(counts, written=sum(one.requests for one in counts))

    def show(self, found: Parked, console: Console) -> None:
        table = Table(box=box.SIMPLE)
        table.add_column("parked", justify="right")
        table.add_column("rule", overflow="fold")
        table.add_column("file", overflow="fold")
        for one in found.rules:
            table.add_row(f"{one.requests:,}", cell(one.rule), cell(one.file))
        console.print(table)
        if found.written is not None:
            console.print(f"{found.written:,} requests written")


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
            with closing(ParkedRequests(file, is_read_only=True)) as store:
                for row in store.all():
                    counts[str(file), str(row.rule)] += 1
                    if lines is not None:
                        line = {"url": row.url, "rule": str(row.rule), "template": row.pattern}
                        lines.write(json.dumps(line) + "\n")
        except sqlite3.Error as exc:
            raise SettingsError(f"{file} cannot be read: {exc}") from exc
    return [ParkedCount(file, rule, count) for (file, rule), count in counts.most_common()]


def _refuse_existing(file: Path) -> None:
    """Refuse to write a file that is there already.

    :raises SettingsError: it is.
    """
    if file.exists():
        raise SettingsError(f"{file} is there already: name another file")
