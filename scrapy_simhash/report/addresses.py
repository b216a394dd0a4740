"""How the addresses of two equal pages differ, and rules that would make them one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit, urlunsplit

Kind = Literal["parameter", "path", "host", "scheme"]

# Longer addresses are cut before they are shown, kept as examples or compared.  Some
# browsers and servers take no more than about 2,000 characters (RFC 9110 asks for 8,000).
MAX_URL = 500
MAX_QUERY = 2000
# A host name has up to 253 characters (RFC 1035), a port up to 5 digits.
MAX_HOST = 260
MAX_NAME = 100

# A pattern names at most 3 folders: deeper ones differ from page to page in a trap.
PATTERN_FOLDERS = 3
# Addresses that differ in more segments or parameters are taken for different pages, not aliases.
MAX_DIFFERENCES = 2

# RFC 3986, appendix B: it matches every string, takes half as long as urlsplit, and never raises.
_PARTS = re.compile(
    r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL
).fullmatch
_DIGITS = re.compile(r"\d+")


class Address(NamedTuple):
    """The parts of a URL that tell pages apart: all but the fragment."""

    scheme: str
    host: str
    path: str
    parameters: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, url: str) -> Address:
        """Return the parts of *url*; any string has them."""
        scheme, authority, path, query = _PARTS(url).groups("")  # type: ignore[union-attr]
        return cls(
            scheme,
            authority.rpartition("@")[2][:MAX_HOST].lower(),
            path,
            _parameters(query[:MAX_QUERY]) if query else (),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, in order, each once."""
        if not self.parameters:
            return ()
        if len(self.parameters) == 1:
            return (self.parameters[0][0][:MAX_NAME],)
        return tuple(sorted({name[:MAX_NAME] for name, _ in self.parameters}))

    @property
    def folder(self) -> str:
        """The path up to its last slash: at most 3 folders, with N for numbers.

        >>> Address.of("http://a.example/calendar/2031/05/12?view=day").folder
        '/calendar/N/N/'
        >>> Address.of("http://a.example/loop/a/b/a/b/a/b/").folder
        '/loop/a/b/**/'
        """
        folders = self.path.split("/")[1:-1]
        if len(folders) > PATTERN_FOLDERS:
            folders[PATTERN_FOLDERS:] = ["**"]
        return _DIGITS.sub("N", "/".join(["", *folders, ""]))

    @property
    def pattern(self) -> str:
        """The host, the folder and the names of the parameters.

        >>> Address.of("http://a.example/article/lamp?sid=12").pattern
        'a.example/article/*?sid'
        """
        query = f"?{'&'.join(self.names)}" if self.parameters else ""
        return f"{self.host}{self.folder}*{query}"[:MAX_URL]

    @property
    def slug(self) -> str:
        """The last segment of the path that is not empty or an index page: most aliases share it.

        >>> Address.of("http://a.example/print/lamp/index.html?sid=12").slug
        'lamp'
        """
        for segment in reversed(self.path.split("/")):
            if segment and not segment.startswith("index."):
                return segment
        return ""


@dataclass(frozen=True, slots=True)
class AddressRule:
    """A rule that says: two addresses that differ only in this are one page.

    The rule is for *host*.  *drop* is what the superfluous address has, and *keep* what the other
    one has in its place: segments of a path, hosts, or schemes.  For parameters, *drop* holds
    their names and *keep* is empty.
    """

    kind: Kind
    host: str
    drop: str
    keep: str

    def reversed(self) -> AddressRule:
        """Return the rule that would keep the other address."""
        host = self.keep if self.kind == "host" else self.host
        return AddressRule(self.kind, host, self.keep, self.drop)

    def applied(self, address: Address) -> Address | None:
        """Return the address to prefer to *address*, or None if the rule does not apply to it."""
        if address.host != self.host:
            return None
        if self.kind == "parameter":
            ignored = self.drop.split("&")
            kept = tuple(pair for pair in address.parameters if pair[0] not in ignored)
            if len(kept) == len(address.parameters):
                return None
            return Address(address.scheme, address.host, address.path, kept)
        place = self._place(address.scheme, address.host, address.path)
        return None if place is None else Address(*place, address.parameters)

    def rewritten(self, url: str) -> str:
        """Return the URL to prefer to *url*, or *url* if the rule does not apply to it.

        What the rule is not about stays as it is written.

        :raises ValueError: it is no URL.
        """
        scheme, host, path, query, fragment = urlsplit(url)
        if host.lower() != self.host:
            return url
        if self.kind == "parameter":
            ignored = self.drop.split("&")
            pieces = [one for one in query.split("&") if one.partition("=")[0] not in ignored]
            return urlunsplit((scheme, host, path, "&".join(pieces), fragment))
        place = self._place(scheme, host, path)
        return url if place is None else urlunsplit((*place, query, fragment))

    def _place(self, scheme: str, host: str, path: str) -> tuple[str, str, str] | None:
        """Return the scheme, host and path to prefer; None if the rule does not apply to these."""
        if self.kind == "host":
            return scheme, self.keep, path
        if self.kind == "scheme":
            return (self.keep, host, path) if scheme == self.drop else None
        preferred = _replaced(path, self.drop, self.keep)
        return None if preferred is None else (scheme, host, preferred)

    def __str__(self) -> str:
        """Return the rule as advice."""
        if self.kind == "parameter":
            plural = "s" if "&" in self.drop else ""
            return f"Ignore the parameter{plural} {self.drop.replace('&', ', ')} on {self.host}"
        if self.kind == "host":
            return f"Prefer the host {self.keep} to {self.drop}"
        if self.kind == "scheme":
            return f"Prefer {self.keep}: to {self.drop}: on {self.host}"
        return f"Prefer the path {self.keep} to {self.drop} on {self.host}"


def _parameters(query: str) -> tuple[tuple[str, str], ...]:
    """Return names and values as parse_qsl() does, three times as fast if none is encoded."""
    if "%" in query or "+" in query:
        return tuple(parse_qsl(query, keep_blank_values=True))
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    return tuple((name, value) for name, _, value in pairs)


def difference(duplicate: Address, kept: Address) -> AddressRule | None:
    """Return the rule that would make two addresses of one text one, or None if there is none.

    >>> one = Address.of("http://a.example/print/lamp")
    >>> str(difference(one, Address.of("http://a.example/article/lamp")))
    'Prefer the path /article/ to /print/ on a.example'
    """
    if duplicate.host != kept.host:
        if (duplicate.path, duplicate.parameters) != (kept.path, kept.parameters):
            return None
        return AddressRule("host", duplicate.host, duplicate.host, kept.host)
    if duplicate.path != kept.path:
        if duplicate.parameters != kept.parameters:
            return None
        drop, keep = _path_difference(duplicate.path, kept.path)
        return AddressRule("path", duplicate.host, drop, keep) if drop else None
    if duplicate.parameters != kept.parameters:
        differing = {name[:MAX_NAME] for name, _ in {*duplicate.parameters} ^ {*kept.parameters}}
        if not 0 < len(differing) <= MAX_DIFFERENCES:
            return None
        return AddressRule("parameter", duplicate.host, "&".join(sorted(differing)), "")
    if duplicate.scheme != kept.scheme:
        return AddressRule("scheme", duplicate.host, duplicate.scheme, kept.scheme)
    return None


def _path_difference(one: str, other: str) -> tuple[str, str]:
    """Return what differs between two paths with the same end, with the slashes around it.

    For example ``/print/`` and ``/article/``, ``/mirror/`` and ``/``, ``/index.html`` and ``/``;
    two empty strings if the paths differ in other ways than by whole segments.
    """
    left, right = one.split("/"), other.split("/")
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    middles = left[start : len(left) - end], right[start : len(right) - end]
    if start == 0 or max(map(len, middles)) > MAX_DIFFERENCES:
        return "", ""
    if end == 0:
        names = {middle[0] if len(middle) == 1 else None for middle in middles}
        if "" not in names or not any(name and name.startswith("index.") for name in names):
            return "", ""
        return f"/{middles[0][0]}", f"/{middles[1][0]}"
    return _between_slashes(middles[0]), _between_slashes(middles[1])


def _between_slashes(segments: list[str]) -> str:
    return "/".join(["", *segments, ""])


def _replaced(path: str, drop: str, keep: str) -> str | None:
    """Return *path* with the first *drop* replaced by *keep*, or None if *path* has no *drop*.

    A *drop* of ``/`` means the start of the path.  If one side is an index page (``/index.html``),
    both mean the end of the path.
    """
    if not drop.endswith("/") or not keep.endswith("/"):
        return path[: -len(drop)] + keep if path.endswith(drop) else None
    if drop == "/":
        return keep + path[1:]
    before, found, after = path.partition(drop)
    return before + keep + after if found else None
