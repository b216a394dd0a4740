"""The rules of other tools for ``scrapy simhash rules --import``."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scrapy_simhash.errors import SettingsError
from scrapy_simhash.index.opening import open_existing
from scrapy_simhash.url_rules import exchange
from scrapy_simhash.url_rules.book import MAX_RULES, SiteRules
from scrapy_simhash.url_rules.evidence import MAX_FOLDERS
from scrapy_simhash.url_rules.rule import AddressRule
from scrapy_simhash.urls import site_of_host


@dataclass(frozen=True)
class Done:
    """How many rules are in the index now, and why others are not, with their number."""

    rules: int
    skipped: dict[str, int]


async def import_rules(place: str, file: Path, host: str | None, are_frozen: bool) -> Done:
    """Put the rules of a file on trial, or have them act at once: those for *host*, if given.

    :raises SettingsError: it cannot be read, or holds no rules of duplicate-url-discarder.
    """
    found = _read(file, host)
    skipped = found.skipped
    by_site: dict[str, dict[AddressRule, frozenset[str]]] = defaultdict(dict)
    for rule, where in found.rules.items():
        if are_frozen and where is None:
            skipped["for places that cannot be said here: it can be tried, but not frozen"] += 1
        else:
            by_site[site_of_host(rule.host)][rule] = where or frozenset()
    imported = 0
    async with open_existing(place) as index:
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

            await index.change_rules(site, change)
            imported += len(rules) - len(refused)
            if refused:
                skipped[f"no room: at most {MAX_RULES} rules of a site are tried"] += len(refused)
    return Done(imported, dict(skipped))


def _read(file: Path, host: str | None) -> exchange.ImportedRules:
    try:
        rules = json.loads(file.read_bytes())
        if not isinstance(rules, list):
            raise ValueError("it holds no list of rules of duplicate-url-discarder")
        return exchange.imported(rules, host)
    except (OSError, ValueError, RecursionError) as exc:
        raise SettingsError(f"{file} cannot be imported: {exc}") from exc
