"""Rules in the format of duplicate-url-discarder, whose fingerprinter takes addresses for one.

Its rules are a JSON list; each has a processor with its arguments, and the patterns of url-matcher
for the addresses that it is for (github.com/zytedata/duplicate-url-discarder).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scrapy_simhash.addresses.evidence import Hypothesis
from scrapy_simhash.addresses.rule import AddressRule

# Its own rules have orders from 1 on; that of rules that do not touch each other is no matter.
_ORDER = 100


def exported(hypotheses: Iterable[Hypothesis]) -> list[dict[str, Any]]:
    """Return the rules that hold somewhere and that the format has.

    Each is for the pages of the folders where it holds, without the folders in them.  Folders with
    numbers in their names are left out, since the format has no pattern for numbers alone.  Its
    patterns for a host are for the hosts below, too.
    """
    rules = []
    for one in hypotheses:
        found = _processor(one.rule)
        folders = [name[:-1] for name in one.acts() if _is_literal(name)]
        if found is None or not folders:
            continue
        processor, arguments = found
        start = one.rule.host
        rules.append(
            {
                "args": arguments,
                "order": _ORDER,
                "processor": processor,
                "urlPattern": {
                    "include": [f"{start}{folder}" for folder in folders],
                    "exclude": [f"{start}{folder}*/" for folder in folders],
                },
            }
        )
    return rules


def _processor(rule: AddressRule) -> tuple[str, list[Any]] | None:
    if rule.kind == "parameter":
        return "queryRemoval", rule.drop.split("&")
    if rule.kind == "only":
        return "queryRemovalExcept", rule.keep.split("&") if rule.keep else []
    if rule.kind == "segment":
        return "subpathRemoval", [rule.drop.count("/") - 2]
    return None


def _is_literal(template: str) -> bool:
    """Whether a template names its folders as they are; N stands for a number in it."""
    return "N" not in template and "*" not in template[:-1]
