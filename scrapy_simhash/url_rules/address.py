"""The parts of an address that tell pages apart."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

# Longer addresses are cut before they are shown, kept as examples or compared.  Some
# browsers and servers take no more than about 2,000 characters (RFC 9110 asks for 8,000).
MAX_URL = 500
MAX_QUERY = 2000
# A host name has up to 253 characters (RFC 1035), a port up to 5 digits.
MAX_HOST = 260
MAX_NAME = 100

# A pattern names at most 3 folders: deeper ones differ from page to page in a trap.
PATTERN_FOLDERS = 3

# RFC 3986, appendix B: it matches every string, takes half as long as urlsplit, and never raises.
_PARTS = re.compile(
    r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL
).fullmatch
_DIGITS = re.compile(r"\d+")
# Names and values of a query; what is between two & is no pair if it is empty.
_PAIRS = re.compile(r"(?=[^&])([^&=]*)=?([^&]*)").findall


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
        host = authority.rpartition("@")[2][:MAX_HOST].lower()
        return cls(scheme, host, path, _parameters(query[:MAX_QUERY]) if query else ())

    @property
    def url(self) -> str:
        """The address in one piece, with its parameters quoted anew."""
        query = f"?{urlencode(self.parameters, errors='replace')}" if self.parameters else ""
        return f"{self.scheme}://{self.host}{self.path}{query}"

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
        """The kind of its folder; see :func:`folder_of`."""
        return folder_of(self.path)

    @property
    def section(self) -> str:
        """The host and the first folder, with N for numbers.

        >>> Address.of("http://a.example/calendar/2031/05/12").section
        'a.example/calendar/'
        """
        folder, slash, _ = self.path[1:].partition("/")
        return f"{self.host}/{_DIGITS.sub('N', folder[:MAX_NAME])}/" if slash else f"{self.host}/"

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


def folder_of(path: str) -> str:
    """Return a path up to its last slash: at most 3 folders, with N for numbers.

    >>> folder_of("/calendar/2031/05/12"), folder_of("/loop/a/b/a/b/a/b/")
    ('/calendar/N/N/', '/loop/a/b/**/')
    """
    return _kind_of_folder(path.rpartition("/")[0][:MAX_QUERY])


# Most addresses of a crawl are in a few folders.
@lru_cache(maxsize=500)
def _kind_of_folder(before: str) -> str:
    names = before.split("/")[1:]
    if len(names) > PATTERN_FOLDERS:
        names[PATTERN_FOLDERS:] = ["**"]
    return _DIGITS.sub("N", "/".join(["", *names, ""]))


def _parameters(query: str) -> tuple[tuple[str, str], ...]:
    """Return names and values as parse_qsl() does, three times as fast if none is encoded."""
    if "%" in query or "+" in query:
        return tuple(parse_qsl(query, keep_blank_values=True))
    return tuple(_PAIRS(query))
