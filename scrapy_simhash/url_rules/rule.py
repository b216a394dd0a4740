"""A rule that takes two addresses for one page, and the rules that two addresses suggest.

What is done with a path costs O(length of the path): no regular expression here can backtrack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Literal, get_args
from urllib.parse import urlsplit, urlunsplit

from scrapy_simhash.decision.rewriting import common_beginning
from scrapy_simhash.urls import MAX_NAME, Address

# Rules that apply together do so from the last to the first: one for the parameters holds for what
# the path is then, and those of another host follow the one that leads there.
Kind = Literal[
    "host",
    "parameter",  # a parameter, or several together, do not matter
    "only",  # no parameter matters but these
    "path",  # a piece of the path is replaced by another: print views, mirrors, index files
    "segment",  # a segment of the path does not matter
    "suffix",  # an addition to the name: lamp.print.html, lamp/amp
    "path_parameter",  # a parameter of a segment: ;jsessionid=1f
    "scheme",
    "trap",  # makes no two addresses one: see dead_ends.py
    "missing",  # the same
]
KINDS: tuple[Kind, ...] = get_args(Kind)

_OF_PARAMETERS: tuple[Kind, ...] = ("parameter", "only")

# Addresses that differ in more parameters, or in more segments of the path, are taken for different
# pages, not aliases.
MAX_DIFFERENCES = 2

# The end of a file's name, as in lamp.html: as much as may stand behind a suffix.
_EXTENSION = re.compile(r"\.[A-Za-z]{1,5}\Z")
# What a print or mobile view may add to a name: lamp.print.html, lamp_print.html, lamp/amp.
_SUFFIX = re.compile(r"[._/-][A-Za-z][A-Za-z_-]{1,14}")
_PATH_PARAMETER = re.compile(r";([A-Za-z][A-Za-z0-9_-]{0,29})=[^/;]*")


def _replaced(path: str, drop: str, keep: str) -> str | None:
    """Return *path* with the first *drop* replaced by *keep*, or None if *path* has no *drop*.

    A *drop* of ``/`` means the start of the path.  If one side is an index page (``/index.html``),
    both mean the end of the path.
    """
    if drop == "/" and keep.endswith("/"):
        return keep + path[1:]
    if drop not in path:  # as of most
        return None
    if not drop.endswith("/") or not keep.endswith("/"):
        return path[: -len(drop)] + keep if path.endswith(drop) else None
    return path.replace(drop, keep, 1)


def _without_suffix(path: str, suffix: str) -> str | None:
    """Return *path* without a suffix of its name, or None if it has none.

    >>> _without_suffix("/a/lamp.print.html", ".print"), _without_suffix("/a/lamp/amp", "/amp")
    ('/a/lamp.html', '/a/lamp')
    """
    stem, extension = _split(path)
    for before, after in ((stem, extension), (path, "")):
        shorter = before[: -len(suffix)]
        if before.endswith(suffix) and shorter and not shorter.endswith("/"):
            return shorter + after
    return None


def _without_parameter(path: str, name: str) -> str | None:
    """Return *path* without a parameter of its segments, or None if it has none.

    >>> _without_parameter("/a/lamp;jsessionid=1f.node7", "jsessionid")
    '/a/lamp'
    """
    return re.sub(f";{re.escape(name)}=[^/;]*", "", path) if f";{name}=" in path else None


def _with_any_segment(path: str, pattern: str) -> str | None:
    """Return *path* with a star for the segment that *pattern* has it for, or None.

    >>> _with_any_segment("/s/4711/lamp", "/s/*/")
    '/s/*/lamp'
    """
    start = pattern[: -len("*/")]
    _, slash, after = path[len(start) :].partition("/")
    return f"{pattern}{after}" if slash and path.startswith(start) else None


def _split(path: str) -> tuple[str, str]:
    """Return a path without its extension, and the extension, which may be empty."""
    found = _EXTENSION.search(path[-6:])
    extension = found[0] if found else ""
    return path[: len(path) - len(extension)], extension


_ADVICE: dict[Kind, str] = {
    "host": "Prefer the host {keep} to {drop}",
    "parameter": "Ignore the parameter{plural} {names} on {host}",
    "only": "Ignore all parameters{but} on {host}",
    "path": "Prefer the path {keep} to {drop} on {host}",
    "segment": "Ignore the folder for which the star in {drop} stands on {host}",
    "suffix": "Prefer names without {drop} on {host}",
    "path_parameter": "Ignore ;{drop}= in paths on {host}",
    "scheme": "Prefer {keep}: to {drop}: on {host}",
    "trap": "Stop at {drop}",
    "missing": "Stop below {drop}, which is not there",
}


@dataclass(frozen=True, slots=True)
class AddressRule:
    """A rule that says: two addresses that differ only in this are one page.

    The rule is for *host*.  *drop* is what the superfluous address has, and *keep* what the other
    one has in its place: pieces of a path, hosts, or schemes.  For parameters, *drop* holds
    their names and *keep* is empty; for ``only``, *keep* holds the names.  For a ``segment``,
    *drop* has a star, as in ``/s/*/``.  For a ``trap``, *drop* is a value pattern (see urls.py);
    for ``missing``, the address above those that the rule is about.
    """

    kind: Kind
    host: str
    drop: str
    keep: str

    def is_about(self, host: str) -> bool:
        """Whether the rule may make an address on a host one with another."""
        return host == self.host or (self.kind == "host" and host == self.keep)

    def in_order(self) -> AddressRule:
        """Return this rule or its reverse, whichever keeps less.

        Both make the same addresses one.  A rule that has no reverse is returned as it is.
        """
        if self.kind not in ("path", "host", "scheme"):
            return self
        drop, keep = sorted((self.drop, self.keep), key=lambda side: (-len(side), side))
        return AddressRule(self.kind, drop if self.kind == "host" else self.host, drop, keep)

    def applied(self, address: Address) -> Address | None:
        """Return the address to prefer to *address*, or None if the rule does not apply to it."""
        scheme, host, path, parameters = address
        if host != self.host:
            return None
        if self.kind in _OF_PARAMETERS:
            names, are_kept = self._named
            kept = tuple([pair for pair in parameters if (pair[0] in names) is are_kept])
            return None if len(kept) == len(parameters) else Address(scheme, host, path, kept)
        place = self._place(scheme, host, path)
        return None if place is None else Address(*place, parameters)

    def rewritten(self, url: str) -> str:
        """Return the URL to prefer to *url*, or *url* if the rule does not apply to it.

        What the rule is not about stays as it is written.

        :raises ValueError: it is no URL.
        """
        scheme, host, path, query, fragment = urlsplit(url)
        if host.lower() != self.host:
            return url
        if self.kind in _OF_PARAMETERS:
            names, are_kept = self._named
            pieces = [
                one for one in query.split("&") if (one.partition("=")[0] in names) is are_kept
            ]
            return urlunsplit((scheme, host, path, "&".join(pieces), fragment))
        place = self._place(scheme, host, path)
        return url if place is None else urlunsplit((*place, query, fragment))

    @property
    def _named(self) -> tuple[frozenset[str], bool]:
        """The parameters that the rule names, and whether these are the ones that matter."""
        if self.kind == "parameter":
            return _names_in(self.drop), False
        return _names_in(self.keep), True

    def _place(self, scheme: str, host: str, path: str) -> tuple[str, str, str] | None:
        """Return the scheme, host and path to prefer; None if the rule does not apply to these."""
        preferred = None
        match self.kind:
            case "host":
                return scheme, self.keep, path
            case "scheme":
                return (self.keep, host, path) if scheme == self.drop else None
            case "path":
                preferred = _replaced(path, self.drop, self.keep)
            case "segment":
                preferred = _with_any_segment(path, self.drop)
            case "suffix":
                preferred = _without_suffix(path, self.drop)
            case "path_parameter":
                preferred = _without_parameter(path, self.drop)
        return None if preferred is None else (scheme, host, preferred)

    def __str__(self) -> str:
        """Return the rule as advice."""
        names = (self.drop or self.keep).replace("&", ", ")
        plural, but = "s" if "&" in self.drop else "", f" but {names}" if self.keep else ""
        return _ADVICE[self.kind].format(**asdict(self), names=names, plural=plural, but=but)


@lru_cache(maxsize=1_000)
def _names_in(text: str) -> frozenset[str]:
    return frozenset(text.split("&"))


def difference(duplicate: Address, kept: Address) -> AddressRule | None:
    """Return the rule that would make two addresses of one text one, or None if there is none.

    >>> one = Address.of("http://a.example/print/lamp")
    >>> str(difference(one, Address.of("http://a.example/article/lamp")))
    'Prefer the path /article/ to /print/ on a.example'
    """
    host = duplicate.host
    pairs = zip(Address._fields, duplicate, kept, strict=True)
    match [name for name, one, other in pairs if one != other and name != "scheme"]:
        case ["host"]:
            return AddressRule("host", host, host, kept.host)
        case ["path"]:
            drop, keep = _replacement(duplicate.path, kept.path)
            return AddressRule("path", host, drop, keep) if drop else None
        case ["parameters"]:
            pieces = {*duplicate.parameters} ^ {*kept.parameters}
            names = sorted({name[:MAX_NAME] for name, _ in pieces})
            is_rule = 0 < len(names) <= MAX_DIFFERENCES
            return AddressRule("parameter", host, "&".join(names), "") if is_rule else None
        case [] if duplicate.scheme != kept.scheme:
            return AddressRule("scheme", host, duplicate.scheme, kept.scheme)
    return None


def differences(duplicate: Address, kept: Address) -> Iterator[AddressRule]:
    """Yield every rule that would make two addresses one: that of :func:`difference`, and others.

    >>> one = Address.of("http://a.example/lamp;jsessionid=12")
    >>> [str(rule) for rule in differences(one, Address.of("http://a.example/lamp"))]
    ['Ignore ;jsessionid= in paths on a.example']
    """
    host, path, kept_path = duplicate.host, duplicate.path, kept.path
    is_one_place = (duplicate.scheme, host) == (kept.scheme, kept.host)
    has_same_query = duplicate.parameters == kept.parameters
    if is_one_place and has_same_query and path != kept_path:
        if name := _parameter_between(path, kept_path):
            yield AddressRule("path_parameter", host, name, "")
            return
        if suffix := _suffix_between(path, kept_path):
            yield AddressRule("suffix", host, suffix, "")
        if pattern := _segment_between(path, kept_path):
            yield AddressRule("segment", host, pattern, "")
    rule = difference(duplicate, kept)
    if rule is not None:
        yield rule
    elif is_one_place and path == kept_path and not has_same_query:
        same = {*duplicate.parameters} & {*kept.parameters}
        names = "&".join(sorted({name[:MAX_NAME] for name, _ in same}))
        yield AddressRule("only", host, "", names)


def _replacement(one: str, other: str) -> tuple[str, str]:
    """Return what differs between two paths with the same end, with the slashes around it.

    For example ``/print/`` and ``/article/``, ``/mirror/`` and ``/``, ``/index.html`` and ``/``;
    two empty strings if the paths differ in other ways than by whole segments.
    """
    both = one.split("/"), other.split("/")
    start = common_beginning(*both)
    end = common_beginning(*(segments[start:][::-1] for segments in both))
    middles = [segments[start : len(segments) - end] for segments in both]
    if start == 0 or max(map(len, middles)) > MAX_DIFFERENCES:
        return "", ""
    if end == 0:
        names = {middle[0] if len(middle) == 1 else None for middle in middles}
        if "" not in names or not any(name and name.startswith("index.") for name in names):
            return "", ""
        return f"/{middles[0][0]}", f"/{middles[1][0]}"
    drop, keep = ("/".join(["", *middle, ""]) for middle in middles)
    return drop, keep


def _suffix_between(one: str, other: str) -> str | None:
    """Return the suffix that only one of two paths has, or None.

    >>> _suffix_between("/a/lamp.html", "/a/lamp.print.html")
    '.print'
    """
    short, long = sorted((one, other), key=len)
    for stem, extension in {_split(short), (short, "")}:
        added = long[len(stem) : len(long) - len(extension)]
        if long == stem + added + extension and _SUFFIX.fullmatch(added) and not stem.endswith("/"):
            return added
    return None


def _parameter_between(one: str, other: str) -> str | None:
    """Return the path parameter that two paths differ in, or None."""
    names: set[str] = {*_PATH_PARAMETER.findall(one), *_PATH_PARAMETER.findall(other)}
    for name in sorted(names):
        if (_without_parameter(one, name) or one) == (_without_parameter(other, name) or other):
            return name
    return None


def _segment_between(one: str, other: str) -> str | None:
    """Return the pattern of the one segment that two paths differ in, or None.

    >>> _segment_between("/s/4711/lamp", "/s/4712/lamp")
    '/s/*/'
    """
    left, right = one.split("/"), other.split("/")
    at = common_beginning(left, right)
    is_one = at < len(left) - 1 and left[at + 1 :] == right[at + 1 :]
    return "/".join([*left[:at], "*", ""]) if is_one else None
