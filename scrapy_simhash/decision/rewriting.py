"""What an address on a copy of a page would be on the kept page.

The addresses of the two pages differ in the scheme, the host, a folder, the end of a name, a name
at the end, or a parameter.  An address on the copy that has what is the copy's own would have what
is the kept page's.  That says that two links are alike, not that they lead to one page: the crawl
asks for itself whether the spider has been handed an address.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple
from urllib.parse import quote, urlsplit

# More parameters that differ, or folders, make no session and no mirror.
MOST_PARAMETERS = 3
MOST_FOLDERS = 3
# A session is in this share of the links of a page, at least, and in so many.
MOST_CARRY = 0.9
LEAST_CARRIERS = 3
# The last segment of a path, from this length on, tells values that may name the page from others.
MIN_NEEDLE = 4
# So does the beginning of an address in base64: the same with "+/" and with "-_".
ENCODED = 20
# The ampersand of an address that was written for HTML (the second by WordPress), and for JSON.
ESCAPED_AND = ("&amp;", "&#038;", r"\u0026")
# Where an address goes on, it is that of another page; also with a parameter, if it has some.
_NO_MORE = r"(?![\w/?=.%-]|[;,:~+!@$*]\w)"
_NO_PARAMETER = r"(?!&(?!quot;|apos;|[lg]t;|\#0?3[49];)|\\u0026)"


class Rewriting:
    """Says what addresses on a copy at *url* are on its kept page, as values are written."""

    def __init__(self, url: str, kept_url: str) -> None:
        self._own, self._kept = own_address(url), own_address(kept_url)
        own, kept = _pieces_of(url), _pieces_of(kept_url)
        origins = own.origin, kept.origin
        self._origins = origins if origins[0] != origins[1] else None
        self._swaps = _folders(own.folders, kept.folders)
        self._end = self._kept_end = ""
        if ends := _ends(own.path, kept.path):
            self._swaps, (self._end, self._kept_end) = [], ends
        elif own.name == kept.name:  # of two names, each may be the number of a page
            self._end, self._kept_end = own.end, kept.end
        self._session = Session(url, kept_url)

    def may_rename(self, address: str) -> bool:
        """Whether a link may have another name on the kept page: quick, where most have none."""
        if self._origins is not None and address.startswith(self._origins[0]):
            return True
        if self._end != self._kept_end and address.partition("?")[0].endswith(self._end):
            return True
        is_in_folder = any(own in address for own, _ in self._swaps)
        return is_in_folder or self._session.may_rename(address)

    def own(self, address: str) -> Iterator[str]:
        """Yield an address, and that of the page as the kept one's."""
        if self._own.is_it(address):
            yield self._kept.without(address)
            yield "\0self"
        else:
            yield self._kept.without(self._own.unnamed(address))

    def others(self, address: str) -> Iterator[str]:
        """Yield what else an address may be on the kept page."""
        if not self.may_rename(address):
            return
        first, *others = self._moved(address)
        yield from self._by_session(first)
        for moved in others:
            yield from self.own(moved)
            yield from self._by_session(moved)

    def on_host(self, address: str) -> Iterator[str]:
        """Yield the address on the host of the kept page, if that is another one."""
        origin, path = _split(address)
        if self._origins is not None and origin == self._origins[0]:
            yield self._origins[1] + path

    def likeliest(self, address: str) -> str:
        """Return the last of what an address may be on the kept page: all is as it is there."""
        if self.may_rename(address):
            *_, address = self._moved(address)
            if by_session := [*self._by_session(address)]:
                return by_session[-1]
        *_, name = self.own(address)
        return name

    def _by_session(self, address: str) -> Iterator[str]:
        if "?" in address or self._session.names:
            yield from map(self._kept.without, self._session.named(address))
            yield from map(self._kept.without, self._session.given(address))

    def _moved(self, address: str) -> Iterator[str]:
        """Yield an address, and those on the other host, in other folders, with the other end."""
        if not self._own.is_it(address):
            address = self._own.unnamed(address)
        origin, path = _split(address)
        origins = [origin]
        if self._origins is not None and origin == self._origins[0]:
            origins.append(self._origins[1])
        paths = [path]
        for own, kept in self._swaps:
            if own in path:
                paths += [one.replace(own, kept, 1) for one in paths]
        for moved in paths:
            forms = [moved]
            start, mark, query = moved.partition("?")
            if self._end != self._kept_end and start.endswith(self._end):
                forms.append(start.removesuffix(self._end) + self._kept_end + mark + query)
            for form in forms:
                for origin in origins:
                    yield origin + form


class _Pieces(NamedTuple):
    """An address in pieces; its last segment is a *name* with an *end*, as of a file."""

    origin: str
    host: str
    path: str
    folders: list[str]
    name: str
    end: str
    parameters: dict[str, str]


# Each page may be compared with the same hundred.
@lru_cache(300)
def _pieces_of(url: str) -> _Pieces:
    parts = urlsplit(url)
    path = parts.path or "/"
    *folders, last = path.split("/")[1:]
    name = re.split("[.;]", last)[0]
    origin = f"{parts.scheme}://{parts.netloc}"
    query = parameters_of(parts.query)
    return _Pieces(origin, parts.netloc, path, folders, name, last[len(name) :], query)


class Session:
    """Says what the links of a copy at *url* would be on the kept page, by their queries.

    Where a link names the copy in its query ("log in and come back"), it would name the kept page.
    Where it has a parameter with the value that the copy's own address has, it would have that of
    the kept page.  Parameters only if the two addresses differ in few.
    """

    def __init__(self, url: str, kept_url: str) -> None:
        own, kept = _pieces_of(url), _pieces_of(kept_url)
        self._host = own.host
        self._own, self._kept = own.parameters, kept.parameters
        differing = {name for name, _ in self._own.items() ^ self._kept.items()}
        # The parameters that the two addresses differ in, if they are few.
        self.names = differing if len(differing) <= MOST_PARAMETERS else set()
        self._urls = url, kept_url

    @cached_property
    def _named(self) -> list[tuple[str, str]]:  # few links have a query that may name a page
        own, kept = map(_names_of, self._urls)
        return [(one, other) for one, other in zip(own, kept, strict=True) if len(one) > 1]

    def may_rename(self, address: str) -> bool:
        """Whether a link may have another query on the kept page."""
        query = address.partition("?")[2]
        if query and any(own in query for own, _ in self._named):
            return True
        return bool(self.names) and (bool(query) or not self._kept.keys() <= self._own.keys())

    def carried(self, links: Iterable[str]) -> set[str]:
        """Return the parameters that differ and that nearly all links of the copy have as it has.

        A session is in all or in none, the number of what a page is about in some.
        """
        if not self.names:
            return set()
        pairs = [link.partition("?")[::2] for link in links]
        queries = [parameters_of(query) for start, query in pairs if self._host in start]
        least = max(LEAST_CARRIERS, MOST_CARRY * len(queries))
        return {
            name
            for name in self.names
            if sum(one.get(name) == self._own.get(name) for one in queries) >= least
        }

    def differing(self, one: str, other: str) -> set[str]:
        """Return in which of these parameters two links differ."""
        mine, its = (parameters_of(link.partition("?")[2]) for link in (one, other))
        return {name for name in self.names if mine.get(name) != its.get(name)}

    def named(self, address: str) -> Iterator[str]:
        """Yield what a link that names the copy would be on the kept page."""
        start, mark, query = address.partition("?")
        for own, kept in self._named if query else ():
            if own in query:
                yield start + mark + query.replace(own, kept, 1)
                return

    def given(self, address: str) -> Iterator[str]:
        """Yield what a link with the parameters of the copy may be on the kept page.

        Whether that one has a parameter of its own in its links is not known: both are tried.
        """
        start, _, query = address.partition("?")
        if not self.names or self._host not in start:
            return
        found = parameters_of(query)
        if any(found.get(name, self._own.get(name)) != self._own.get(name) for name in self.names):
            return  # the next page of a list, say
        own_ones = {name: value for name, value in found.items() if name not in self.names}
        # A link without a parameter that the copy has is in no session.
        names = (name for name in self._kept if name in found or name not in self._own)
        given = [{name: self._kept[name]} for name in names if name in self.names]
        for more in ({}, *given, {n: v for one in given for n, v in one.items()}):
            # In the place where the link had it, if it had it.
            changed = {name: {**own_ones, **more}.get(name) for name in (*found, *own_ones, *more)}
            pieces = [f"{name}={value}" for name, value in changed.items() if value is not None]
            yield f"{start}?{'&'.join(pieces)}" if pieces else start


def _split(address: str) -> tuple[str, str]:
    """Return the scheme and host of an address, and the rest."""
    host_at = address.find("://") + 3
    path_at = (address.find("/", host_at) + 1 or len(address) + 1) - 1
    return address[:path_at], address[path_at:]


def _ends(own: str, kept: str) -> tuple[str, str] | None:
    """Return what two paths end with, of which one is the other and a name more; None if none is.

    A number may be that of a page.
    """
    start = min(own, kept, key=len)
    ends = own[len(start) :], kept[len(start) :]
    name = ends[0] or ends[1]
    is_end = own.startswith(start) and kept.startswith(start) and len(start) > 1
    is_name = bool(name.strip("/")) and "/" not in name.strip("/") and not re.search(r"\d", name)
    return ends if is_end and is_name and "/" in (start[-1], name[0]) else None


def _folders(own: list[str], kept: list[str]) -> list[tuple[str, str]]:
    """Return what two lists of folders differ in: pieces of a path, from slash to slash."""
    if len(own) == len(kept):
        pairs = [(one, other) for one, other in zip(own, kept, strict=True) if one != other]
        return [(f"/{one}/", f"/{other}/") for one, other in pairs][:MOST_FOLDERS]
    first = common_beginning(own, kept)
    most = min(len(own), len(kept)) - first
    last = min(common_beginning(own[::-1], kept[::-1]), most)
    mine, its = own[first : len(own) - last], kept[first : len(kept) - last]
    before = "/".join(("", *own[:first], ""))
    if mine and its:
        before = "/"
    return [("/".join((before[:-1], *mine, "")), "/".join((before[:-1], *its, "")))]


def common_beginning(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how long the common beginning of two sequences is."""
    pairs = zip(one, other, strict=False)
    differing = (at for at, (mine, its) in enumerate(pairs) if mine != its)
    return next(differing, min(len(one), len(other)))


def _names_of(url: str) -> tuple[str, ...]:
    """Return what a query may name a page by: its address or path, quoted or not; longest first."""
    parts = urlsplit(url)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return quote(url, safe=""), url, quote(path, safe=""), path


def parameters_of(query: str) -> dict[str, str]:
    """Return the parameters of a query as they are written; of a repeated one the last."""
    pieces = (piece.partition("=") for piece in query.split("&") if piece)
    return {name: value for name, _, value in pieces}


class OwnAddress:
    """The address of a page as its values may name it: as it is, quoted, escaped, in base64.

    Without its query, or with that which the page gives as its *canonical* one, it is the name of
    all of its copies: one is at that address, the others are not.
    """

    def __init__(self, url: str, canonical: str | None = None) -> None:
        self._rest = url.partition(":")[2]
        self._forms: list[str] = []
        last_ones = set()
        self._addresses = tuple(dict.fromkeys((url, url.partition("?")[0], canonical or url)))
        self._names = frozenset(address.partition(":")[2] for address in self._addresses)
        for address in self._addresses:
            parts = urlsplit(address)
            path = f"{parts.path}?{parts.query}" if parts.query else parts.path
            if len(path) > 1:
                self._forms += [address, address.partition(":")[2], path]
                last_ones.add(path.rstrip("/").rpartition("/")[2].partition("&")[0])
            elif address == url:  # the root is named by its whole address alone
                self._forms.append(url)
                last_ones.add("")
        self._encoded = _in_base64(url)[:ENCODED]
        # Every form has one of these, and few values have.
        needles = {one for last in last_ones for one in (last, quote(last, safe=""))}
        if min(map(len, needles)) < MIN_NEEDLE:
            needles = {*self._written, self._rest}
        shortest: list[str] = []  # what has one of these in it need not be looked for
        for needle in sorted(needles, key=len):
            if not any(one in needle for one in shortest):
                shortest.append(needle)
        self.needles = (*shortest, self._encoded)

    # Few values name their page, and to compile a pattern takes a millisecond.

    @cached_property
    def _written(self) -> list[str]:
        written = {
            form.replace("&", ampersand)
            for one in self._forms
            for form in (one, quote(one, safe=""), quote(one, safe="/"), one.replace("/", "\\/"))
            for ampersand in ("&", *ESCAPED_AND)
        }
        return sorted(written, key=len, reverse=True)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        written = f"(?:{'|'.join(map(re.escape, self._written))}){_NO_MORE}"
        if not any("?" in form for form in self._forms):
            return re.compile(rf"(?<![\w/.%-]){written}")
        # Behind the value of a parameter, the next one is of the address that has it.
        return re.compile(rf"(?<==){written}|(?<![\w/.%=-]){written}{_NO_PARAMETER}")

    @cached_property
    def _in_base64(self) -> re.Pattern[str]:
        standard = [*map(_in_base64, self._addresses)]
        web_safe = [one.replace("+", "-").replace("/", "_") for one in standard]
        longest_first = sorted((*standard, *web_safe), key=len, reverse=True)
        encoded = "|".join(map(re.escape, longest_first))
        return re.compile(rf"(?:{encoded})(?:[=~,]|%3D|%2C)*(?![\w+-])")

    def without(self, address: str) -> str:
        """Return an address without the page's own: all of it, or where its query names it."""
        return "\0self" if self.is_it(address) else self.unnamed(address)

    def is_it(self, address: str) -> bool:
        """Whether an address is the page's own, by http or https."""
        return address.endswith(self._rest) and address.partition(":")[2] == self._rest

    def is_a_name(self, address: str) -> bool:
        """Whether an address is the page's own, or that of its copies."""
        return address.partition(":")[2] in self._names

    def unnamed(self, address: str) -> str:
        """Return an address of another page without the names of this one in it."""
        if self._encoded in address:
            address = self._in_base64.sub("\0self", address)
        if "?" not in address:
            return address
        start, _, query = address.partition("?")
        return f"{start}?{self.out_of(query)}"

    def out_of(self, value: str) -> str:
        """Return a value with the page's own address left out."""
        for needle in self.needles:
            if needle in value:
                if needle == self._encoded:
                    value = self._in_base64.sub("\0self", value)
                return self._pattern.sub("\0self", value)
        return value


def _in_base64(address: str) -> str:
    return base64.b64encode(address.encode("utf-8", "surrogatepass")).decode().rstrip("=")


@lru_cache(300)
def own_address(url: str) -> OwnAddress:
    """Return what a page calls itself."""
    return OwnAddress(url)
