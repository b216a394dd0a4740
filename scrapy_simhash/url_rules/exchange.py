"""Rules in the format of duplicate-url-discarder, whose fingerprinter takes addresses for one.

Its rules are a JSON list; each has a processor with its arguments, and the patterns of url-matcher
for the addresses that it is for (github.com/zytedata/duplicate-url-discarder).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from scrapy_simhash.url_rules.book import MAX_RULE
from scrapy_simhash.url_rules.evidence import MAX_FOLDERS, Hypothesis
from scrapy_simhash.url_rules.rule import AddressRule
from scrapy_simhash.urls import MAX_NAME, general_folder

# Its own rules have orders from 1 on; rules that do not touch each other may have any order.
_ORDER = 100
# A pattern of url-matcher for a host and all that is in a folder; the host may be left out.
_PATTERN = re.compile(r"(?:https?://)?(?P<host>[^/?#|*]*)(?P<path>(?:/[^/?#|]*)*)")


def exported(hypotheses: Iterable[Hypothesis]) -> list[dict[str, Any]]:
    """Return the rules that hold somewhere and that the format can express.

    Each is for the pages of one folder where a rule of ours holds, without the folders in it; or
    with them, if the rule is approved there.  Folders with numbers in their names are left out,
    since the format has no pattern for numbers alone.  Its patterns for a host are for the hosts
    below, too.
    """
    rules = []
    for one in hypotheses:
        found = _processor(one.rule)
        if found is None:
            continue
        processor, arguments = found
        for name in one.acts():
            if not _is_literal(name, one.rule):
                continue
            start = f"{one.rule.host}{name.removesuffix('*')}"
            excluded = [f"{start}*/"] if name.endswith("*") else []
            rules.append(
                {
                    "args": arguments,
                    "order": _ORDER,
                    "processor": processor,
                    "urlPattern": {"include": [start], "exclude": excluded},
                }
            )
    return rules


@dataclass
class ImportedRules:
    """Rules, each with the folders and folder patterns that it is for; and why others are left out.

    A rule whose place our folders cannot express has None: it can be tried, not approved.  *host*
    is the one that rules for it, for all hosts below a domain, or for all sites are taken for;
    without it, each rule is for the host that it names.
    """

    host: str | None = None
    rules: dict[AddressRule, frozenset[str] | None] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)

    def host_of(self, named: str) -> str | None:
        """Return the host to take a rule for; None to skip the rule.

        The rule is for the *named* host and those below it, or for all hosts if this is empty.
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


def imported(rules: list[Any], host: str | None) -> ImportedRules:
    """Return the rules of a file; *host* as in :class:`ImportedRules`.

    A pattern for a domain is taken for that host alone if *host* is None.

    :raises ValueError: one is no rule of the format.
    """
    found = ImportedRules(host)
    for number, rule in enumerate(rules, start=1):
        try:
            processor, patterns = rule["processor"], rule["urlPattern"]
            include, exclude = patterns["include"], patterns.get("exclude") or []
            texts = [processor, *include, *exclude]
            arguments = rule.get("args") or []
        except (AttributeError, KeyError, TypeError) as exc:
            raise ValueError(f"rule {number} is none of duplicate-url-discarder: {exc!r}") from exc
        are_lists = all(isinstance(one, list) for one in (include, exclude, arguments))
        if not are_lists or not all(isinstance(text, str) for text in texts):
            raise ValueError(f"rule {number} is none of duplicate-url-discarder: {rule!r:.200}")
        for pattern in include or [""]:
            matched = _PATTERN.fullmatch(pattern)
            if matched is None:
                found.skipped["a pattern with more than a host and folders"] += 1
                continue
            of, path = found.host_of(matched["host"].lower()), matched["path"] or "/"
            if of is None:
                continue
            ours = _rule(of, path, processor, arguments)
            if ours is None:
                found.skipped[f"the processor {processor} with these arguments"[:100]] += 1
                continue
            name = f"{path}*" if f"{pattern}*/" in exclude else path
            can_be_said = _is_literal(name, ours) and {*exclude} <= {f"{one}*/" for one in include}
            found.add(ours, frozenset([name]) if can_be_said else None)
    return found


def _processor(rule: AddressRule) -> tuple[str, list[Any]] | None:
    """Return the processor that does what a rule says, and its arguments."""
    if rule.kind == "parameter":
        return "queryRemoval", rule.drop.split("&")
    if rule.kind == "only":
        return "queryRemovalExcept", rule.keep.split("&") if rule.keep else []
    if rule.kind == "segment":
        return "subpathRemoval", [rule.drop.count("/") - 2]
    return None


def _rule(host: str, path: str, processor: str, arguments: list[Any]) -> AddressRule | None:
    """Return the rule that says what a processor does in a folder, if there is one."""
    if processor == "subpathRemoval":
        return _segment_rule(host, path, arguments)
    if not all(isinstance(one, str) and "&" not in one for one in arguments):
        return None
    if any(len(name) > MAX_NAME for name in arguments):
        return None
    if processor == "queryRemoval" and arguments:
        return AddressRule("parameter", host, "&".join(arguments), "")
    if processor == "queryRemovalExcept":
        return AddressRule("only", host, "", "&".join(arguments))
    return None


def _segment_rule(host: str, path: str, arguments: list[Any]) -> AddressRule | None:
    """Return the rule that the segment with a number, counted from 0, does not matter.

    The pattern must name the segments before it, and may not name the segment itself.
    """
    folders = path.split("/")[1:-1]
    if len(arguments) != 1 or type(at := arguments[0]) is not int or not 0 <= at <= len(folders):
        return None
    if folders[at : at + 1] not in ([], ["*"]) or "*" in folders[:at]:
        return None
    return AddressRule("segment", host, "/".join(["", *folders[:at], "*", ""]), "")


def _is_literal(name: str, rule: AddressRule) -> bool:
    """Whether a folder or folder pattern names its folders as they are, with no N for a number.

    A star may stand for the segment that the rule takes away.
    """
    start = rule.drop if rule.kind == "segment" else "/"
    folder = name.removesuffix("*")
    is_own_general = folder.endswith("/") and "N" not in folder and general_folder(folder) == folder
    return folder.startswith(start) and is_own_general and "*" not in folder[len(start) :]
