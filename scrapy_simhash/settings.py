"""The settings ``SIMHASH_*``, read and checked once at start.

Beside them stands what their values name: the place of an index, and a package that only an
extra installs.
"""

from __future__ import annotations

import difflib
import fnmatch
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from math import inf, isfinite
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from loky import cpu_count

from scrapy_simhash.errors import SettingsError

PREFIX = "SIMHASH_"
ACTIONS = ("drop", "flag", "observe")
# What the spider takes from pages: fields, links and files, or texts alone.
ITEMS, TEXT = "items", "text"
SHARE = 0.9
# Which copy of a page is kept: the first that is met, or the one that it names.
PREFERENCES = FIRST, CANONICAL = "first", "canonical"
# By these headers of a request, a site knows who asks.
IDENTITY_HEADERS = ("authorization", "cookie", "x-api-key", "x-auth-token", "x-access-token")
SCOPES = ("global", "site", "host", "spider")
# What a crawl may raise an alarm on (report/alarms.py).
AlarmName = Literal["one_text", "trap", "no_text", "duplicates"]
ALARMS: tuple[AlarmName, ...] = get_args(AlarmName)

# The crawl's own process needs a core.  It takes 6 ms for a page of 210 KB, a worker takes 48 ms:
# more workers than this would wait for it.
MOST_USEFUL_WORKERS = 8

MEMORY = "memory:"
_REDIS = ("redis:", "rediss:", "redis+", "rediss+")
# A password may contain an @, as in urllib, and by mistake anything else: all up to the last @ of a
# line counts as one.  redis-py also reads a password from the query.
_LOGIN = re.compile(r"(?<=://)([^:/?#@\s]*):.*@")
_QUERY = re.compile(r"(?<=password=)[^&'\"\n]*")


class Requirement(NamedTuple):
    """The rule for a value in words, and the function that reads it or raises ValueError."""

    words: str
    read: Callable[[Any], Any]


def _choice(*choices: str) -> Requirement:
    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    return Requirement(" or ".join(map(repr, choices)), read)


def _number(kind: type[int] | type[float], low: float, high: float = inf) -> Requirement:
    def read(value: Any) -> float:
        if isinstance(value, bool) or (kind is int and isinstance(value, float)):
            raise ValueError
        number = kind(value)
        if not low <= number <= high or number == inf:
            raise ValueError
        return number

    span = f"from {low} to {high}" if high < inf else f"of at least {low}"
    return Requirement(f"a {'whole ' if kind is int else ''}number {span}", read)


def _read_share(value: Any) -> float:
    share: float = _number(float, 0, 1).read(value)
    if 0 < share < 0.5:
        raise ValueError
    return share


def _read_skip_unchanged(value: Any) -> Any:
    return value if value == "moved" else _BOOLEAN.read(value)


def _read_text(value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)) or not str(value).strip():
        raise ValueError
    return str(value)


def _read_index(value: Any) -> str:
    place = _read_text(value)
    if place == MEMORY or is_in_redis(place):
        return place
    if place == "memory" or "://" in place or place.endswith(":"):
        raise ValueError
    return str(Path(_read_path(place)).absolute())  # a spider may change the working directory


def _read_path(value: Any) -> str:
    return str(Path(_read_text(value)).expanduser())


def _read_html_path(value: Any) -> str:
    path = _read_path(value)
    if not path.endswith((".html", ".htm")):
        raise ValueError
    return path


def _read_workers(value: Any) -> int:
    if value == "auto":
        return max(1, min(MOST_USEFUL_WORKERS, cast("int", cpu_count()) - 1))
    return int(_number(int, 0, 256).read(value))


def _read_words(value: Any) -> tuple[str, ...]:
    if isinstance(value, (str, os.PathLike)):
        value = Path(_read_path(value)).read_text(encoding="utf-8").split()
    if not all(isinstance(word, str) for word in value):
        raise ValueError
    return tuple(sorted(value))


def _read_names(value: Any) -> tuple[str, ...]:
    names = value.split(",") if isinstance(value, str) else value
    return tuple(_read_text(name).strip() for name in names)


def _read_alarms(value: Any) -> tuple[str, ...]:
    names = _read_names(value)
    if not set(names) <= {*ALARMS}:
        raise ValueError
    return names


def _read_header_names(value: Any) -> tuple[str, ...]:
    return tuple(name.lower() for name in _read_names(value))


class PageRule(NamedTuple):
    """A rule of ``SIMHASH_ONLY`` or ``SIMHASH_EXCEPT``: a pattern for URLs, or a callback."""

    url: re.Pattern[str] | None
    callback: str = ""

    def matches(self, url: str, callback: str) -> bool:
        """Whether a page at *url* for a *callback* is meant."""
        return callback == self.callback if self.url is None else bool(self.url.search(url))


def _read_page_rules(value: Any) -> tuple[PageRule, ...]:
    rules = [value] if isinstance(value, str) else value
    return tuple(_page_rule(_read_text(rule)) for rule in rules)


def _page_rule(rule: str) -> PageRule:
    if rule.startswith("callback:"):
        return PageRule(None, _read_text(rule.removeprefix("callback:")))
    if rule.startswith("glob:"):
        pattern = _read_text(rule.removeprefix("glob:"))
        return PageRule(re.compile(r"\A" + fnmatch.translate(pattern)))
    return PageRule(re.compile(rule))


def _read_policy(value: Any) -> Any:
    return value if isinstance(value, type) else _read_text(value)


def _read_idf(value: Any) -> dict[str, float]:
    if isinstance(value, (str, os.PathLike)):
        value = json.loads(Path(_read_path(value)).read_text(encoding="utf-8"))
    if not isinstance(value, Mapping):
        raise ValueError
    weights = {str(word): float(weight) for word, weight in value.items()}
    if not all(isfinite(w) and w >= 0 for w in weights.values()) or not any(weights.values()):
        raise ValueError
    return weights


class FeatureChoice(NamedTuple):
    """A feature scheme by name, words that are left out, and weights of words."""

    scheme: str
    stop_words: tuple[str, ...] = ()
    idf: dict[str, float] | None = None


def _read_features(value: Any) -> FeatureChoice:
    if isinstance(value, FeatureChoice):
        return value
    if isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)
    if not isinstance(value, Mapping):
        return FeatureChoice(_read_text(value))
    if unknown := value.keys() - set(FeatureChoice._fields):
        raise ValueError(unknown)
    words, idf = value.get("stop_words", ()), value.get("idf")
    weights = None if idf is None else _read_idf(idf)
    return FeatureChoice(_read_text(value.get("scheme")), _read_words(words), weights)


def _setting(default: Any, rule: Requirement) -> Any:
    return field(default=default, metadata={"rule": rule})


_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_BOOLEAN = Requirement("True or False", lambda value: _BOOLEANS[str(value).lower()])
_PAGE_RULES = Requirement(
    "a list of regular expressions for URLs, 'glob:PATTERN' and 'callback:NAME'", _read_page_rules
)


@dataclass(frozen=True)
class SimhashSettings:
    """One attribute for each setting ``SIMHASH_<NAME>``; docs/settings.md explains them."""

    enabled: bool = _setting(True, _BOOLEAN)
    action: str = _setting("drop", _choice(*ACTIONS))
    distance: int | None = _setting(None, _number(int, 0, 7))
    takes: str = _setting(ITEMS, _choice(ITEMS, TEXT))
    share: float = _setting(SHARE, Requirement("0, or a number from 0.5 to 1", _read_share))
    index: str | None = _setting(
        None,
        Requirement("'memory:', the path of a file, or the URL of a Redis server", _read_index),
    )
    scope: str = _setting("global", _choice(*SCOPES))
    crawl: str | None = _setting(None, Requirement("the name of a crawl", _read_text))
    ignore_meta: tuple[str, ...] = _setting(
        (), Requirement("a list of names in meta and cb_kwargs", _read_names)
    )
    identity_headers: tuple[str, ...] = _setting(
        IDENTITY_HEADERS, Requirement("a list of names of headers", _read_header_names)
    )
    extractor: str = _setting("auto", Requirement("a name or an import path", _read_text))
    features: FeatureChoice = _setting(
        FeatureChoice("words-3"),
        Requirement(
            "the name of a feature scheme, or a mapping of 'scheme', 'stop_words' and 'idf'",
            _read_features,
        ),
    )
    only: tuple[PageRule, ...] = _setting((), _PAGE_RULES)
    except_: tuple[PageRule, ...] = _setting((), _PAGE_RULES)
    policy: Any = _setting(None, Requirement("a class, or its import path", _read_policy))
    prefer: str = _setting("first", _choice(*PREFERENCES))
    walls: str = _setting("pass", _choice("pass", "drop"))
    rules: str = _setting("suggest", _choice("suggest", "use", "off"))
    rules_audit: int = _setting(380, _number(int, 0, 1_000_000_000))
    probes: int = _setting(3, _number(int, 0, 4))
    skip_unchanged: bool | str = _setting(
        False, Requirement("True, False or 'moved'", _read_skip_unchanged)
    )
    workers: int = _setting(
        "auto", Requirement("'auto' or a whole number from 0 to 256", _read_workers)
    )
    max_waiting: int | None = _setting(None, _number(int, 0))
    page_timeout: float = _setting(10.0, _number(float, 0.1))
    decisions_file: str | None = _setting(None, Requirement("the path of a file", _read_path))
    report_file: str | None = _setting(
        None, Requirement("the path of a file that ends in .html", _read_html_path)
    )
    close_on: tuple[str, ...] = _setting(
        (), Requirement(f"a list of {', '.join(ALARMS)}", _read_alarms)
    )

    @property
    def verifies(self) -> bool:
        """Whether pages are compared beyond their fingerprints."""
        return self.share > 0

    @classmethod
    def is_enabled(cls, source: Mapping[Any, Any]) -> bool:
        """Whether the plug-in is switched on; no other setting is read.

        :raises SettingsError: ``SIMHASH_ENABLED`` breaks its rule.
        """
        value = source.get(f"{PREFIX}ENABLED")
        return value is None or bool(_checked(f"{PREFIX}ENABLED", _BOOLEAN, value))

    @classmethod
    def read(cls, source: Mapping[Any, Any]) -> SimhashSettings:
        """Return the settings in *source*; a setting that is missing or None has its default.

        So has one that is empty if it is None by default: ``-s SIMHASH_REPORT_FILE=``.

        :raises SettingsError: a value breaks its rule, or a name that begins with
            ``SIMHASH_`` is unknown.
        """
        names = {setting_name(one.name): one for one in fields(cls)}
        for name in source:
            if name.startswith(PREFIX) and name not in names:
                close = difflib.get_close_matches(name, names, n=1)
                hint = f"; did you mean {close[0]}?" if close else ""
                raise SettingsError(f"{name} is not a setting of scrapy-simhash{hint}")
        values = {}
        for name, one in names.items():
            value = source.get(name)
            value = one.default if value is None else value
            if value is not None and (value, one.default) != ("", None):
                values[one.name] = _checked(name, one.metadata["rule"], value)
        return cls(**values)


def setting_name(attribute: str) -> str:
    """Return the setting of an attribute of :class:`SimhashSettings`."""
    return PREFIX + attribute.rstrip("_").upper()


def _checked(name: str, rule: Requirement, value: Any) -> Any:
    try:
        return rule.read(value)
    except (ValueError, KeyError, TypeError, OverflowError, OSError, re.error) as exc:
        detail = f" ({exc})" if isinstance(exc, (OSError, re.error, json.JSONDecodeError)) else ""
        shown = masked(repr(value))
        raise SettingsError(f"{name} must be {rule.words}: got {shown}{detail}") from None


def is_in_redis(place: str) -> bool:
    """Whether the place of an index is in Redis; its URL may still be wrong."""
    return place.startswith(_REDIS)


def masked(text: str) -> str:
    """Return a text with the passwords of its URLs masked, for logs that others read.

    >>> masked("redis://crawler:secret@cache.example/0")
    'redis://crawler:***@cache.example/0'
    """
    return _QUERY.sub("***", _LOGIN.sub(r"\1:***@", text))


def extra_version(package: str, needed_by: str) -> str:
    """Return the installed version of a package that the extra of its name installs; load nothing.

    :raises SettingsError: it is not installed.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        raise SettingsError(
            f"{needed_by} needs the package {package}: pip install scrapy-simhash[{package}]"
        ) from None
