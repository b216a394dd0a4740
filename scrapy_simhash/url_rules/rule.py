"""A rule that takes two addresses for one page, and the rules that two addresses suggest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from typing import Literal, get_args
from urllib.parse import urlsplit, urlunsplit

from scrapy_simhash.url_rules import paths
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
    "repeated",  # folders that follow themselves
    "scheme",
    "trap",  # makes no two addresses one: see traps.py
    "missing",  # the same: see missing.py
]
KINDS: tuple[Kind, ...] = get_args(Kind)

_OF_PARAMETERS: tuple[Kind, ...] = ("parameter", "only")

# Addresses that differ in more parameters are taken for different pages, not aliases.
MAX_DIFFERENCES = 2

# An address from its parts in a tuple: it takes half as long as from four arguments.
_address = partial(tuple.__new__, Address)
Applier = Callable[[Address], Address | None]
PathChange = Callable[[str, str, str], str | None]

# What a rule does to a path: its drop and keep follow.
_OF_PATHS: dict[str, PathChange] = {
    "path": paths.replaced,
    "segment": lambda path, drop, keep: paths.with_any_segment(path, drop),
    "suffix": lambda path, drop, keep: paths.without_suffix(path, drop),
    "path_parameter": lambda path, drop, keep: paths.without_parameter(path, drop),
    "repeated": lambda path, drop, keep: paths.without_repeats(path),
    "trap": lambda path, drop, keep: None,
    "missing": lambda path, drop, keep: None,
}


@dataclass(frozen=True, slots=True)
class AddressRule:
    """A rule that says: two addresses that differ only in this are one page.

    The rule is for *host*.  *drop* is what the superfluous address has, and *keep* what the other
    one has in its place: pieces of a path, hosts, or schemes.  For parameters, *drop* holds
    their names and *keep* is empty; of ``only``, *keep* holds the names.  A ``segment`` has a star
    in *drop*, ``/s/*/``; a ``trap``, a pattern of addresses; ``missing``, the address that is
    above those that it is about.
    """

    kind: Kind
    host: str
    drop: str
    keep: str

    def as_row(self) -> dict[str, str]:
        """Return the rule as reports have it: the advice that it is, and its parts."""
        return {"advice": str(self), **asdict(self)}

    def reversed(self) -> AddressRule:
        """Return the rule that would keep the other address."""
        host = self.keep if self.kind == "host" else self.host
        return AddressRule(self.kind, host, self.keep, self.drop)

    def in_order(self) -> AddressRule:
        """Return this rule or the reversed one, the same for both: that which keeps less.

        Both make the same addresses one.  A rule whose sides have no order is its own.
        """
        if self.kind not in ("path", "host", "scheme"):
            return self
        drop, keep = sorted((self.drop, self.keep), key=lambda side: (-len(side), side))
        return self if (drop, keep) == (self.drop, self.keep) else self.reversed()

    def applied(self, address: Address) -> Address | None:
        """Return the address to prefer to *address*, or None if the rule does not apply to it."""
        return self.applier()(address)

    def applier(self) -> Applier:
        """Return :meth:`applied` as a function made for this rule, which takes half as long."""
        if self.kind in _OF_PARAMETERS:
            names, are_kept = self._named
            return partial(_with_fewer, self.host, names, are_kept)
        if self.kind in _OF_PATHS:
            return partial(_with_path, self.host, _OF_PATHS[self.kind], self.drop, self.keep)
        return self._with_place

    def _with_place(self, address: Address) -> Address | None:
        if address.host != self.host:
            return None
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
        if self.kind == "host":
            return scheme, self.keep, path
        if self.kind == "scheme":
            return (self.keep, host, path) if scheme == self.drop else None
        preferred = _OF_PATHS[self.kind](path, self.drop, self.keep)
        return None if preferred is None else (scheme, host, preferred)

    def __str__(self) -> str:
        """Return the rule as advice."""
        if self.kind == "parameter":
            plural = "s" if "&" in self.drop else ""
            return f"Ignore the parameter{plural} {self.drop.replace('&', ', ')} on {self.host}"
        if self.kind == "only":
            but = f" but {self.keep.replace('&', ', ')}" if self.keep else ""
            return f"Ignore all parameters{but} on {self.host}"
        if self.kind == "segment":
            return f"Ignore the folder for which the star in {self.drop} stands on {self.host}"
        if self.kind == "suffix":
            return f"Prefer names without {self.drop} on {self.host}"
        if self.kind == "path_parameter":
            return f"Ignore ;{self.drop}= in paths on {self.host}"
        if self.kind == "repeated":
            return f"Take folders that follow themselves once on {self.host}"
        if self.kind == "host":
            return f"Prefer the host {self.keep} to {self.drop}"
        if self.kind == "scheme":
            return f"Prefer {self.keep}: to {self.drop}: on {self.host}"
        if self.kind == "trap":
            return f"Stop at {self.drop}"
        if self.kind == "missing":
            return f"Stop below {self.drop}, which is not there"
        return f"Prefer the path {self.keep} to {self.drop} on {self.host}"


def _with_fewer(
    host: str, names: frozenset[str], are_kept: bool, address: Address
) -> Address | None:
    """Return an address on a host with only the parameters that have a name, or that have none."""
    scheme, own_host, path, parameters = address
    if own_host != host:
        return None
    kept = tuple([pair for pair in parameters if (pair[0] in names) is are_kept])
    return None if len(kept) == len(parameters) else _address((scheme, host, path, kept))


def _with_path(
    host: str, change: PathChange, drop: str, keep: str, address: Address
) -> Address | None:
    """Return an address on a host with its path changed, if it is."""
    scheme, own_host, path, parameters = address
    if own_host != host or (changed := change(path, drop, keep)) is None:
        return None
    return _address((scheme, host, changed, parameters))


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
    if host != kept.host:
        if (duplicate.path, duplicate.parameters) != (kept.path, kept.parameters):
            return None
        return AddressRule("host", host, host, kept.host)
    if duplicate.path != kept.path:
        if duplicate.parameters != kept.parameters:
            return None
        drop, keep = paths.replacement(duplicate.path, kept.path)
        return AddressRule("path", host, drop, keep) if drop else None
    if duplicate.parameters != kept.parameters:
        differing = {name[:MAX_NAME] for name, _ in {*duplicate.parameters} ^ {*kept.parameters}}
        if not 0 < len(differing) <= MAX_DIFFERENCES:
            return None
        return AddressRule("parameter", host, "&".join(sorted(differing)), "")
    if duplicate.scheme != kept.scheme:
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
        if name := paths.parameter_between(path, kept_path):
            yield AddressRule("path_parameter", host, name, "")
            return
        if suffix := paths.suffix_between(path, kept_path):
            yield AddressRule("suffix", host, suffix, "")
        if pattern := paths.segment_between(path, kept_path):
            yield AddressRule("segment", host, pattern, "")
        if (paths.without_repeats(path) or path) == (paths.without_repeats(kept_path) or kept_path):
            yield AddressRule("repeated", host, "", "")
    rule = difference(duplicate, kept)
    if rule is not None:
        yield rule
    elif is_one_place and path == kept_path and not has_same_query:
        same = {*duplicate.parameters} & {*kept.parameters}
        names = "&".join(sorted({name[:MAX_NAME] for name, _ in same}))
        yield AddressRule("only", host, "", names)
