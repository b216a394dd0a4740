"""Rules in the format of ClearURLs, a browser add-on that takes tracking parameters out of links.

A JSON object of providers: each has a regular expression for addresses, and some for the names of
parameters (docs.clearurls.xyz, github.com/ClearURLs/Rules).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from scrapy_simhash.addresses.address import MAX_NAME
from scrapy_simhash.addresses.evidence import Hypothesis
from scrapy_simhash.addresses.imported import Imported
from scrapy_simhash.addresses.rule import AddressRule

# As the format has them: a provider for a host and all hosts below it, and what follows.  A dot in
# a name is escaped; a slash may be.
_PROVIDER = re.compile(
    r"\^https\?:(?:\\?/){2}(?P<below>\(\?:\[a-z0-9-\]\+\\\.\)\*\??)?"
    r"(?P<host>[a-z0-9-]+(?:\\\.[a-z0-9-]+)*(?::\d+)?)(?P<rest>(?:(?:\(\?:)?\\?/.*)?)",
    re.DOTALL,
)
# A name as it is; many have what may stand before it if a question mark was encoded.
_NAME = re.compile(r"(?:\(\?:%3F\)\?)?(?P<name>(?:[\w-]|\\\.)+)", re.ASCII)


def exported(hypotheses: Iterable[Hypothesis]) -> dict[str, Any]:
    """Return the rules for parameters that hold somewhere.

    Each is for the pages of the folders where it holds.  Those of a host that hold in the same
    places are one provider.
    """
    names: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for one in hypotheses:
        where = tuple(sorted(name for name in one.acts() if "**" not in name))
        if one.rule.kind == "parameter" and where:
            names[one.rule.host, where] += one.rule.drop.split("&")
    return {
        "providers": {
            f"{host} {number}": {
                "urlPattern": f"^https?:\\/\\/{_escaped(host)}{_paths(where)}",
                "completeProvider": False,
                "rules": [_escaped(name) for name in dict.fromkeys(found)],
                "referralMarketing": [],
                "rawRules": [],
                "exceptions": [],
                "redirections": [],
                "forceRedirection": False,
            }
            for number, ((host, where), found) in enumerate(names.items(), start=1)
        }
    }


def imported(providers: dict[str, Any], host: str | None) -> Imported:
    """Return the rules of a file; *host* as in :class:`~.imported.Imported`.

    Only plain names of parameters can be taken over.

    :raises ValueError: one is no provider of the format.
    """
    found = Imported(host)
    for name, provider in providers.items():
        try:
            pattern, patterns = provider["urlPattern"], provider.get("rules") or []
            others = [*(provider.get("rawRules") or []), *(provider.get("redirections") or [])]
            exceptions = provider.get("exceptions") or []
        except (AttributeError, KeyError, TypeError) as exc:
            raise ValueError(f"{name[:100]!r} is no provider of ClearURLs: {exc!r}") from exc
        if not isinstance(patterns, list) or not all(
            isinstance(one, str) for one in (pattern, *patterns)
        ):
            raise ValueError(f"{name[:100]!r} is no provider of ClearURLs: {provider!r:.200}")
        if others:
            found.skipped["no rule for parameters"] += len(others)
        is_for_all = pattern == ".*"
        matched = None if is_for_all else _PROVIDER.fullmatch(pattern)
        if matched is None and not is_for_all:
            found.skipped["a pattern with more than a host"] += len(patterns)
            continue
        named = "" if matched is None else matched["host"].replace("\\", "")
        of = found.host_of(named, matched is None or bool(matched["below"]))
        if of is None:
            continue
        # What follows the host, and what is excepted, may leave some addresses out.
        is_whole = not exceptions and (matched is None or not matched["rest"].strip("\\/"))
        for one in patterns:
            plain = _NAME.fullmatch(one)
            if plain is None or len(one) > MAX_NAME:
                found.skipped["a pattern for names, not a name"] += 1
                continue
            rule = AddressRule("parameter", of, plain["name"].replace("\\", ""), "")
            found.add(rule, frozenset("/") if is_whole else None)
    return found


def _escaped(text: str) -> str:
    return re.escape(text).replace("\\-", "-")


def _paths(names: tuple[str, ...]) -> str:
    paths = "|".join(map(_path, names))
    return paths if len(names) == 1 else f"(?:{paths})"


def _path(name: str) -> str:
    """Return the pattern for the paths in a template or folder, where N stands for numbers."""
    folder = _escaped(name.removesuffix("*")).replace("/", "\\/").replace("N", "(?:N|\\d+)")
    return f"{folder}[^\\/?#]*\\/?(?:[?#]|$)" if name.endswith("*") else folder
