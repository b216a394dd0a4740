"""Rules in the format of duplicate-url-discarder, whose fingerprinter takes addresses for one.

Its rules are a JSON list; each has a processor with its arguments, and the patterns of url-matcher
for the addresses that it is for (github.com/zytedata/duplicate-url-discarder).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from scrapy_simhash.url_rules.evidence import Hypothesis
from scrapy_simhash.url_rules.imported import Imported, is_folder, names_in
from scrapy_simhash.url_rules.rule import AddressRule

# Its own rules have orders from 1 on; that of rules that do not touch each other is no matter.
_ORDER = 100
# A pattern of url-matcher for a host and all that is in a folder; the host may be left out.
_PATTERN = re.compile(r"(?:https?://)?(?P<host>[^/?#|*]*)(?P<path>(?:/[^/?#|]*)*)")


def exported(hypotheses: Iterable[Hypothesis]) -> list[dict[str, Any]]:
    """Return the rules that hold somewhere and that the format has.

    Each is for the pages of one folder where a rule of ours holds, without the folders in it; or
    with them, if the rule is frozen there.  Folders with numbers in their names are left out, since
    the format has no pattern for numbers alone.  Its patterns for a host are for the hosts below,
    too.
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


def imported(rules: list[Any], host: str | None) -> Imported:
    """Return the rules of a file; *host* as in :class:`~.imported.Imported`.

    A pattern for a domain is taken for that host alone if *host* is None.

    :raises ValueError: one is no rule of the format.
    """
    found = Imported(host)
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
            is_sayable = _is_literal(name, ours) and {*exclude} <= {f"{one}*/" for one in include}
            found.add(ours, frozenset([name]) if is_sayable else None)
    return found


def _rule(host: str, path: str, processor: str, arguments: list[Any]) -> AddressRule | None:
    if processor == "subpathRemoval":
        return _segment_rule(host, path, arguments)
    names = names_in(arguments)
    if processor == "queryRemoval" and names:
        return AddressRule("parameter", host, "&".join(names), "")
    if processor == "queryRemovalExcept" and names is not None:
        return AddressRule("only", host, "", "&".join(names))
    return None


def _segment_rule(host: str, path: str, arguments: list[Any]) -> AddressRule | None:
    """Return the rule that a segment with a number, from 0 on, does not matter.

    Those before it must be known, and it may be any.
    """
    folders = path.split("/")[1:-1]
    if len(arguments) != 1 or type(at := arguments[0]) is not int or not 0 <= at <= len(folders):
        return None
    if folders[at : at + 1] not in ([], ["*"]) or "*" in folders[:at]:
        return None
    return AddressRule("segment", host, "/".join(["", *folders[:at], "*", ""]), "")


def _processor(rule: AddressRule) -> tuple[str, list[Any]] | None:
    if rule.kind == "parameter":
        return "queryRemoval", rule.drop.split("&")
    if rule.kind == "only":
        return "queryRemovalExcept", rule.keep.split("&") if rule.keep else []
    if rule.kind == "segment":
        return "subpathRemoval", [rule.drop.count("/") - 2]
    return None


def _is_literal(name: str, rule: AddressRule) -> bool:
    """Whether a template or folder names its folders as they are.

    N stands for a number in it.  A star stands for the segment that the rule takes away.
    """
    start = rule.drop if rule.kind == "segment" else "/"
    folder = name.removesuffix("*")
    return folder.startswith(start) and is_folder(folder) and "*" not in folder[len(start) :]
