"""``scrapy simhash rules``: the rules for addresses that crawls have learned."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table as Grid
from rich.text import Text

from scrapy_simhash.addresses import clearurls, discarder
from scrapy_simhash.addresses.address import Address
from scrapy_simhash.addresses.book import SiteRules
from scrapy_simhash.addresses.evidence import Hypothesis, template_of
from scrapy_simhash.addresses.rule import AddressRule
from scrapy_simhash.commands.base import Subcommand, add_index_or_spider, print_line
from scrapy_simhash.commands.rules_import import import_rules
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.files import replacing
from scrapy_simhash.index.opening import open_existing
from scrapy_simhash.index.survey import rules_in
from scrapy_simhash.report.html import printable
from scrapy_simhash.rule.scope import site_of_host

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
        what.add_argument("--export", type=Path, metavar="FILE", help="write them in --format")
        what.add_argument(
            "--import",
            dest="import_",
            type=Path,
            metavar="FILE",
            help="put the rules in a file of a --format on trial; with --site, for this host",
        )
        parser.add_argument(
            "--freeze",
            action="store_true",
            help="let them act whatever comes: where they hold, or, with --import, where the file "
            "says; needs --site or --import",
        )
        parser.add_argument(
            "--format",
            choices=("discarder", "clearurls"),
            default="discarder",
            help="of --export: of duplicate-url-discarder (the default) or ClearURLs",
        )

    async def find(self, options: argparse.Namespace) -> FoundRules:
        if options.freeze and (
            options.explain or options.forget or options.unfreeze or options.export
        ):
            raise SettingsError("--freeze goes with --site or --import only")
        if options.import_ is not None:
            host = options.site and options.site.lower()
            done = await import_rules(options.index, options.import_, host, options.freeze)
            return FoundRules([], imported=done.rules, skipped=done.skipped)
        site = None if options.site is None else site_of_host(options.site.lower())
        address = None
        if options.explain is not None:
            address = Address.of(options.explain)
            site = site_of_host(address.host)
        is_change = options.forget or options.freeze or options.unfreeze
        if site is None and (is_change or options.rule is not None):
            raise SettingsError("say of which site: --site HOST")
        if options.export is not None and options.export.exists():
            raise SettingsError(f"{options.export} is there already: name another file")
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
            return _exported([one for meant in known.values() for one in meant], options)
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

        await index.change_rules(site, change)
        changed += len(meant)
    if options.forget:
        return FoundRules([], forgotten=changed)
    return FoundRules([], frozen=changed) if options.freeze else FoundRules([], unfrozen=changed)


def _exported(meant: list[Hypothesis], options: argparse.Namespace) -> FoundRules:
    written: list[Any] | dict[str, Any]
    if options.format == "clearurls":
        written = clearurls.exported(meant)
        count = sum(len(one["rules"]) for one in written["providers"].values())
    else:
        written = discarder.exported(meant)
        count = len(written)
    with replacing(options.export) as unfinished:
        unfinished.write_text(json.dumps(written, indent=2, ensure_ascii=False))
    return FoundRules([], exported=count)


def _found(site: str, one: Hypothesis, address: Address | None) -> FoundRule:
    rule = one.rule
    canonical = None if address is None else rule.applied(address)
    template = None if address is None else template_of(canonical or address)
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
        holds=one.acts(),
        frozen=bool(one.frozen),
        canonical=None if canonical is None else canonical.url,
        template=template,
        stage=None if template is None else one.stage(template),
    )


def _table(rules: list[FoundRule]) -> Grid:
    grid = Grid(box=box.SIMPLE)
    for heading in ("site", "number", "rule", "keys", "failures", "at least", "learned", "holds"):
        grid.add_column(heading, overflow="fold")
    for rule in rules:
        grid.add_row(
            Text(printable(rule.site)),
            str(rule.number),
            Text(printable(rule.advice)),
            f"{rule.keys:,}",
            f"{rule.failures:,}",
            f"{rule.rate:.1%}",
            _since(rule),
            Text(printable(", ".join(rule.holds) or "nowhere")),
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
