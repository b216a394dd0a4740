"""Rules that a file of another tool holds, as far as ours can say the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from scrapy_simhash.url_rules.book import MAX_RULE
from scrapy_simhash.url_rules.evidence import MAX_FOLDERS
from scrapy_simhash.url_rules.rule import AddressRule
from scrapy_simhash.urls import MAX_NAME, general_folder


@dataclass
class Imported:
    """Rules, each with the templates and folders that it is for, and why others are left out.

    Where a rule is for is None if our folders cannot say it: such a rule can be tried, not frozen.
    *host* is the one that rules for it, for all below a domain, or for all sites are taken for;
    without it, each rule is for the host that it names.
    """

    host: str | None = None
    rules: dict[AddressRule, frozenset[str] | None] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)

    def host_of(self, named: str) -> str | None:
        """Return the host to take a rule for, None to skip it.

        The rule is for the *named* host and those below it, or for all if this is empty.
        """
        if self.host is None:
            if not named:
                self.skipped["for all sites: say for which host with --site"] += 1
            return named or None
        if named and named != self.host and not self.host.endswith(f".{named}"):
            self.skipped["for another host"] += 1
            return None
        return self.host

    def add(self, rule: AddressRule, where: frozenset[str] | None) -> None:
        """Add a rule; one that is there already is for both places."""
        if len(rule.drop) + len(rule.keep) > MAX_RULE:
            self.skipped[f"longer than {MAX_RULE} characters"] += 1
            return
        before = self.rules.get(rule, frozenset())
        both = None if before is None or where is None else before | where
        self.rules[rule] = None if both is None or len(both) > MAX_FOLDERS else both


def is_folder(path: str) -> bool:
    """Whether a path names the same folder among our templates, where N stands for numbers."""
    return path.endswith("/") and "N" not in path and general_folder(path) == path


def names_in(values: object) -> list[str] | None:
    """Return names of parameters, if these are some that addresses may have."""
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        return None
    return None if any("&" in one or len(one) > MAX_NAME for one in values) else values
