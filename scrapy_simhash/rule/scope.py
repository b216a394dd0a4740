"""URLs: the part of an index that a page belongs to, and the URL that it gives as its own."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urldefrag, urljoin, urlsplit

from tldextract import TLDExtract
from w3lib.url import safe_url_string

# A longer name is not that of a section, but data.
MAX_FOLDER = 100

# The list of public suffixes that comes with the package: no network access, no cache.
_domains = TLDExtract(suffix_list_urls=(), cache_dir=None)


def scope_key(scope: str, url: str, spider: str, asker: str = "") -> str:
    """Return the part of the index in which the page at *url* is compared.

    A host without a registered domain (an IP address, ``localhost``) is a site of its own.  Pages
    of one *asker* are compared with each other only: what they show depends on who asks.

    >>> scope_key("site", "https://news.example.co.uk/a", "news")
    'example.co.uk'
    >>> scope_key("host", "https://news.example.co.uk/a", "news", "7")
    'news.example.co.uk for 7'
    """
    key = _scope_key(scope, url, spider)
    return f"{key} for {asker}" if asker else key


def _scope_key(scope: str, url: str, spider: str) -> str:
    if scope == "global":
        return ""
    if scope == "spider":
        return spider
    host = host_of(url)
    return host if scope == "host" else site_of_host(host)


@lru_cache(maxsize=100)  # of one page, it is asked several times
def host_of(url: str) -> str:
    """Return the host of a URL in lower case, without a port; empty if it has none."""
    return urlsplit(url).hostname or ""


def owner_of(url: str) -> str:
    """Return what of a URL's host one owner has: its registered domain.

    Customers of a hosting service are owners of their own, unlike in the scope ``site``.

    >>> owner_of("https://docs.example.co.uk/a"), owner_of("https://one.github.io/a")
    ('example.co.uk', 'one.github.io')
    """
    return _owner(host_of(url))


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
    return f"{host}/{first}" if 0 < len(first) <= MAX_FOLDER else host


def folder_of(url: str) -> str:
    """Return the host of a URL with all its folders.

    >>> folder_of("http://docs.example/de/mod/core.html?x=1")
    'docs.example/de/mod'
    """
    path = urlsplit(url).path[: MAX_FOLDER * 10]
    return f"{host_of(url)}{path.rpartition('/')[0]}"


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


@lru_cache(maxsize=10_000)
def _owner(host: str) -> str:
    # With the suffixes under which hosting services give names to their customers.
    found = _domains(host, include_psl_private_domains=True)
    return found.top_domain_under_public_suffix or host


@lru_cache(maxsize=10_000)
def site_of_host(host: str) -> str:
    """Return the registered domain of a host; a host without one is a site of its own."""
    return _domains(host).top_domain_under_public_suffix or host
