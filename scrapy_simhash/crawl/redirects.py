"""The redirects that led to a page, which Scrapy keeps in the meta of its request."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

# Scrapy's RedirectMiddleware and MetaRefreshMiddleware: the addresses before the last one.
REDIRECT_URLS = "redirect_urls"
COPIED_META_KEY = "simhash_copied_redirects"


def redirects_in(meta: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the addresses that were redirected, in order; each one led to the next."""
    urls = meta.get(REDIRECT_URLS)
    if not isinstance(urls, list):
        return ()
    return tuple(map(str, urls[meta.get(COPIED_META_KEY, 0) :]))


def mark_copied(meta: MutableMapping[str, Any]) -> None:
    """Note that the redirects in *meta*, of a request not yet sent, belong to another page.

    Spiders copy the meta of a response into its links, and Scrapy adds new redirects to the copy.
    """
    if urls := meta.get(REDIRECT_URLS):
        meta[COPIED_META_KEY] = len(urls)
    else:
        meta.pop(COPIED_META_KEY, None)
