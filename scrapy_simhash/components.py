"""What all components ask before they start: whether there is something to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from scrapy_simhash.settings import SimhashSettings

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def active_settings(crawler: Crawler) -> SimhashSettings:
    """Return the settings of a crawl that is to recognise near-duplicates.

    :raises NotConfigured: the plug-in is switched off, or this is ``scrapy shell``: a page
        that somebody looks at must be shown, and is not one that a crawl has kept.
    :raises SettingsError: a setting breaks its rule.
    """
    settings = SimhashSettings.read(crawler.settings)
    if not settings.enabled:
        raise NotConfigured("Set SIMHASH_ENABLED to recognise near-duplicates")
    if not crawler.crawling:
        raise NotConfigured("No crawl is going on, so no page is judged")
    return settings
