"""Which pages are compared with which: the part of an index that a page belongs to."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

from tldextract import TLDExtract

# The list of public suffixes that comes with the package: no look-up in the net, no cache.
_domains = TLDExtract(suffix_list_urls=(), cache_dir=None)


def scope_key(scope: str, url: str, spider: str) -> str:
    """Return the part of the index in which the page at *url* is compared.

    A host without a registered domain (an IP address, ``localhost``) is a site of its own.

    >>> scope_key("site", "https://news.example.co.uk/a", "news")
    'example.co.uk'
    >>> scope_key("host", "https://news.example.co.uk/a", "news")
    'news.example.co.uk'
    """
    if scope == "global":
        return ""
    if scope == "spider":
        return spider
    host = host_of(url)
    return host if scope == "host" else _site(host)


def host_of(url: str) -> str:
    """Return the host of a URL in lower case, without a port; empty where it has none."""
    return urlsplit(url).hostname or ""


@lru_cache(maxsize=10_000)
def _site(host: str) -> str:
    return _domains(host).top_domain_under_public_suffix or host
