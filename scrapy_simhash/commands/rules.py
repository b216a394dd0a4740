"""``scrapy simhash rules``: the rules for addresses that crawls have learned."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table as Grid
from rich.text import Text

from scrapy_simhash.addresses.address import Address
from scrapy_simhash.addresses.discarder import exported
from scrapy_simhash.addresses.evidence import Hypothesis, template_of
from scrapy_simhash.commands.base import Subcommand, add_index_or_spider, print_line
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.files import replacing
from scrapy_simhash.index.opening import open_existing
from scrapy_simhash.index.survey import rules_in
from scrapy_simhash.report.html import printable
from scrapy_simhash.rule.scope import site_of_host

if TYPE_CHECKING:
    import argparse

    from rich.console import Console


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

    *canonical* and *template* are what it makes of the address that was asked about.
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
    canonical: str | None = None
    template: str | None = None


@dataclass(frozen=True)
class FoundRules:
    """Rules, and what was done with them."""

    rules: list[FoundRule]
    forgotten: int = 0
    exported: int | None = None


class RulesCommand(Subcommand[FoundRules]):
    """Lists rules, explains what they make of an address, forgets and exports them."""

    name = "rules"
    summary = "List, explain, forget or export the rules for addresses that crawls have learned"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)
        parser.add_argument("--site", help="only those of this registered domain, or host")
        parser.add_argument("--rule", type=int, help="only that with this number; needs --site")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--explain", metavar="URL", help="what the rules make of an address")
        what.add_argument("--forget", action="store_true", help="forget them; needs --site")
        what.add_argument(
            "--export", type=Path, metavar="FILE", help="write them for duplicate-url-discarder"
        )

    async def find(self, options: argparse.Namespace) -> FoundRules:
        site = None if options.site is None else site_of_host(options.site.lower())
        address = None
        if options.explain is not None:
            address = Address.of(options.explain)
            site = site_of_host(address.host)
        if site is None and (options.forget or options.rule is not None):
            raise SettingsError("say of which site: --site HOST")
        if options.export is not None and options.export.exists():
            raise SettingsError(f"{options.export} is there already: name another file")
        async with open_existing(options.index) as index:
            known = {
                of: [
                    one
                    for one in rules.hypotheses.values()
                    if options.rule in (None, one.number)
                    and (address is None or address.host in (one.rule.host, one.rule.keep))
                ]
                for of, rules in (await rules_in(index, site)).items()
            }
            if options.forget:
                for of, meant in known.items():
                    await index.forget_rules(of, [one.rule for one in meant])
                return FoundRules([], forgotten=sum(map(len, known.values())))
        if options.export is not None:
            written = exported(one for meant in known.values() for one in meant)
            with replacing(options.export) as unfinished:
                unfinished.write_text(json.dumps(written, indent=2, ensure_ascii=False))
            return FoundRules([], exported=len(written))
        found = [_found(of, one, address) for of, meant in known.items() for one in meant]
        return FoundRules(sorted(found, key=lambda rule: (rule.site, rule.number)))

    def show(self, found: FoundRules, console: Console) -> None:
        if found.forgotten:
            console.print(f"{found.forgotten:,} rules forgotten")
        elif found.exported is not None:
            console.print(f"{found.exported:,} rules written")
        elif not found.rules:
            console.print("No rule")
        elif found.rules[0].template is not None:
            for rule in found.rules:
                for line in _explained(rule):
                    print_line(console, line)
        else:
            console.print(_table(found.rules))


def _found(site: str, one: Hypothesis, address: Address | None) -> FoundRule:
    rule = one.rule
    canonical = None if address is None else rule.applied(address)
    return FoundRule(
        number=one.number,
        site=site,
        advice=str(rule),
        kind=rule.kind,
        host=rule.host,
        drop=rule.drop,
        keep=rule.keep,
        began=int(one.began),
        learned=None if one.learned is None else int(one.learned),
        seen=int(one.seen),
        keys=one.keys,
        failures=one.failures,
        rate=round(one.rate, 3),
        folders=[
            Folder(name, scope.right, scope.wrong, one.stage(name))
            for name, scope in one.scopes.items()
        ],
        canonical=None if canonical is None else canonical.url,
        template=None if address is None else template_of(canonical or address),
    )


def _table(rules: list[FoundRule]) -> Grid:
    grid = Grid(box=box.SIMPLE)
    for heading in ("site", "number", "rule", "keys", "failures", "at least", "learned", "holds"):
        grid.add_column(heading, overflow="fold")
    for rule in rules:
        acting = [folder.name for folder in rule.folders if _acts(folder)]
        grid.add_row(
            Text(printable(rule.site)),
            str(rule.number),
            Text(printable(rule.advice)),
            f"{rule.keys:,}",
            f"{rule.failures:,}",
            f"{rule.rate:.1%}",
            "not yet" if rule.learned is None else _day(rule.learned),
            Text(printable(", ".join(acting) or "nowhere")),
        )
    return grid


def _explained(rule: FoundRule) -> Iterator[str]:
    """Yield what a rule makes of the address, and why it may act there or may not."""
    yield f"{rule.number}. {rule.advice}"
    yield f"   takes it for {rule.canonical or 'what it is'}"
    by_name = {folder.name: folder for folder in rule.folders}
    own = by_name.get(rule.template or "")
    if own is None:
        yield f"   nothing is known of {rule.template}"
        return
    yield f"   {rule.template}: {own.keys:,} keys, {own.failures:,} failures"
    yield f"   everywhere: {rule.keys:,} keys, {rule.failures:,} failures"
    yield f"   it {'may act: ' + own.stage if own.stage else 'may not act'}"


def _acts(folder: Folder) -> bool:
    return folder.name.endswith("*") and folder.stage is not None


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).date().isoformat()
