"""Kinds of URLs, and the parts of a URL that tell pages apart.

Each kind of URL has one name here.  Of ``http://docs.a.example/2031/07/lamp.html?sid=12``::

    host              docs.a.example
    site              a.example                    the registered domain
    owner             a.example                    as site, but each customer of a host owns a name
    folder            docs.a.example/2031/07
    section           docs.a.example/2031          the first folder
    general folder    /N/N/                        with N for numbers, as what follows
    general section   docs.a.example/N/
    folder pattern    /N/N/*                       all pages in the general folder
    page pattern      /N/N/lamp.html?sid           those of one name, and with the same parameters
    pattern           docs.a.example/N/N/*?sid
    value pattern     docs.a.example/N/N/*?sid=N
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, urldefrag, urljoin, urlsplit

from tldextract import TLDExtract
from w3lib.url import safe_url_string

# Longer URLs are cut before they are shown, kept as examples or compared.  Some browsers and
# servers take no more than about 2,000 characters (RFC 9110 asks for 8,000).
MAX_URL = 500
MAX_QUERY = 2000
# A host name has up to 253 characters (RFC 1035), a port up to 5 digits.
MAX_HOST = 260
# A longer name of a folder or parameter is data.
MAX_NAME = 100
# A general folder has at most 3 names: those of deeper folders differ from page to page in a trap.
GENERAL_FOLDERS = 3
# A longer value of a parameter is no name of a view.
MAX_WORD = 20

# RFC 3986, appendix B: it matches every string, takes half as long as urlsplit, and never raises.
_PARTS = re.compile(
    r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL
).fullmatch
_DIGITS = re.compile(r"\d+")
_BETWEEN_DIGITS = re.compile(r"[-_.:/ ]+")
# Names and values of a query; what is between two & is no pair if it is empty.
_PAIRS = re.compile(r"(?=[^&])([^&=]*)=?([^&]*)").findall

# The list of public suffixes that comes with the package: no network access, no cache.
_domains = TLDExtract(suffix_list_urls=(), cache_dir=None)


class Address(NamedTuple):
    """The parts of a URL that tell pages apart: all but the fragment.

    *host* has the port, if the URL has one.
    """

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
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, in order, each once."""
        if not self.parameters:
            return ()
        if len(self.parameters) == 1:
            return (self.parameters[0][0][:MAX_NAME],)
        return tuple(sorted({name[:MAX_NAME] for name, _ in self.parameters}))

    @property
    def general_section(self) -> str:
        """The host and the first folder, with N for numbers.

        >>> Address.of("http://a.example/calendar/2031/05/12").general_section
        'a.example/calendar/'
        """
        folder, slash, _ = self.path[1:].partition("/")
        return f"{self.host}/{_DIGITS.sub('N', folder[:MAX_NAME])}/" if slash else f"{self.host}/"

    @property
    def pattern(self) -> str:
        """The host, the general folder and the names of the parameters.

        >>> Address.of("http://a.example/article/lamp?sid=12").pattern
        'a.example/article/*?sid'
        """
        query = f"?{'&'.join(self.names)}" if self.parameters else ""
        return f"{self.host}{general_folder(self.path)}*{query}"[:MAX_URL]

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


def _parameters(query: str) -> tuple[tuple[str, str], ...]:
    """Return names and values as parse_qsl() does, three times as fast if none is encoded."""
    if "%" in query or "+" in query:
        return tuple(parse_qsl(query, keep_blank_values=True))
    return tuple(_PAIRS(query))


def general_folder(path: str) -> str:
    """Return a path up to its last slash: at most 3 folders, with N for numbers.

    >>> general_folder("/calendar/2031/05/12"), general_folder("/loop/a/b/a/b/a/b/")
    ('/calendar/N/N/', '/loop/a/b/**/')
    """
    return _generalised(path.rpartition("/")[0][:MAX_QUERY])


# Most addresses of a crawl are in a few folders.
@lru_cache(maxsize=500)
def _generalised(folder: str) -> str:
    names = folder.split("/")[1:]
    if len(names) > GENERAL_FOLDERS:
        names[GENERAL_FOLDERS:] = ["**"]
    return _DIGITS.sub("N", "/".join(["", *names, ""]))


def folder_pattern(address: Address) -> str:
    """Return the general folder of an address, with a star for its name.

    A name may end with a slash.

    >>> folder_pattern(Address.of("http://a.example/calendar/2031/05/12?view=day"))
    '/calendar/N/N/*'
    >>> folder_pattern(Address.of("http://a.example/posts/lamp/"))
    '/posts/*'
    """
    return f"{general_folder(address.path.rstrip('/'))[: MAX_URL - 1]}*"


def page_pattern(address: Address) -> str:
    """Return the general folder of an address, its name with N for numbers, and its parameters.

    >>> page_pattern(Address.of("http://a.example/posts/lamp12?view=day&id=7"))
    '/posts/lampN?id&view'
    """
    path = address.path.rstrip("/")
    name = _DIGITS.sub("N", path.rpartition("/")[2][:MAX_NAME])
    return f"{general_folder(path)}{name}?{'&'.join(address.names)}"[:MAX_URL]


def value_pattern(address: Address) -> str:
    """Return the host, the general folder, and what kind the name and the values are.

    Which number it is does not count, nor which name; of the values of parameters, words do.

    >>> value_pattern(Address.of("http://a.example/calendar/2031/05/?day=2031-05-12&view=week"))
    'a.example/calendar/N/N?day=N&view=week'
    """
    path = address.path.rstrip("/")
    kinds = _kind_of(path.rpartition("/")[2])
    if address.parameters:
        values = {
            name: value if value.isalpha() and len(value) <= MAX_WORD else _kind_of(value)
            for name, value in address.parameters
        }
        kinds += "?" + "&".join(f"{name}={values[name]}" for name in sorted(values))
    return f"{address.host}{general_folder(path)}{kinds}"[:MAX_URL]


def _kind_of(text: str) -> str:
    return "N" if _BETWEEN_DIGITS.sub("", text).isdigit() else "*"


@lru_cache(maxsize=100)  # of one page, it is asked several times
def host_of(url: str) -> str:
    """Return the host of a URL in lower case, without a port; empty if it has none."""
    return urlsplit(url).hostname or ""


@lru_cache(maxsize=10_000)
def site_of_host(host: str) -> str:
    """Return the registered domain of a host; a host without one is a site of its own."""
    return _domains(host).top_domain_under_public_suffix or host


def owner_of(url: str) -> str:
    """Return what of a URL's host one owner has: its registered domain.

    Customers of a hosting service are owners of their own, unlike in the scope ``site``.

    >>> owner_of("https://docs.example.co.uk/a"), owner_of("https://one.github.io/a")
    ('example.co.uk', 'one.github.io')
    """
    return _owner(host_of(url))


@lru_cache(maxsize=10_000)
def _owner(host: str) -> str:
    # With the suffixes under which hosting services give names to their customers.
    found = _domains(host, include_psl_private_domains=True)
    return found.top_domain_under_public_suffix or host


@lru_cache(maxsize=1_000)  # as many as a page has links, or is compared with pages
def folder_of(url: str) -> str:
    """Return the host of a URL with all its folders.

    >>> folder_of("http://docs.example/de/mod/core.html?x=1")
    'docs.example/de/mod'
    """
    path = urlsplit(url).path[: MAX_NAME * 10]
    return f"{host_of(url)}{path.rpartition('/')[0]}"


@lru_cache(maxsize=1_000)  # as many as a page has links, or is compared with pages
def section_of(url: str) -> str:
    """Return the section of its site that a URL is in: the host with the first folder, if any.

    >>> section_of("http://docs.example/de/mod/core.html"), section_of("http://docs.example/a.html")
    ('docs.example/de', 'docs.example')
    """
    return section_of_folder(folder_of(url))


def section_of_folder(folder: str) -> str:
    """Return the section that a folder is in, given as :func:`folder_of` returns it."""
    host, _, path = folder.partition("/")
    first = path.partition("/")[0]
    return f"{host}/{first}" if 0 < len(first) <= MAX_NAME else host


def scope_key(scope: str, url: str, spider: str, asker: str = "") -> str:
    """Return the part of the index in which the page at *url* is compared.

    A host without a registered domain (an IP address, ``localhost``) is a site of its own.  Pages
    of one *asker* are compared with each other only: what they show depends on who asks.

    >>> scope_key("site", "https://news.example.co.uk/a", "news")
    'example.co.uk'
    >>> scope_key("host", "https://news.example.co.uk/a", "news", "7")
    'news.example.co.uk for 7'
    """
    key = {"global": "", "spider": spider}.get(scope)
    if key is None:
        key = host_of(url) if scope == "host" else site_of_host(host_of(url))
    return f"{key} for {asker}" if asker else key


def canonical_url(url: str, address: str | None) -> str | None:
    """Return the URL that the page at *url* gives as its own; None if it is *url* itself.

    >>> canonical_url("http://a.example/print/page?x=1", "/page#top")
    'http://a.example/page'
    """
    if address is None:
        return None
    try:
        whole = safe_url_string(urldefrag(urljoin(url, address)).url)
    except ValueError:  # not a URL
        return None
    return whole if whole.startswith(("http://", "https://")) and whole != url else None
