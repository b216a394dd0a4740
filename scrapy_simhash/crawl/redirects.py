"""The redirects that led to a page, as Scrapy keeps them in the meta of its request."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

# Scrapy's RedirectMiddleware and MetaRefreshMiddleware: the addresses before the last one.
REDIRECT_URLS = "redirect_urls"
COPIED_META_KEY = "simhash_copied_redirects"


def redirects_in(meta: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the addresses that were redirected, one to the next, the first one first."""
    urls = meta.get(REDIRECT_URLS)
    if not isinstance(urls, list):
        return ()
    return tuple(map(str, urls[meta.get(COPIED_META_KEY, 0) :]))


def mark_copied(meta: MutableMapping[str, Any]) -> None:
    """Note that what redirects are in *meta*, of a request not yet sent, are another page's.

    Spiders copy the meta of a response into its links, and Scrapy adds to what is there.
    """
    if urls := meta.get(REDIRECT_URLS):
        meta[COPIED_META_KEY] = len(urls)
    else:
        meta.pop(COPIED_META_KEY, None)
