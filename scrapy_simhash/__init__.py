"""Near-duplicate detection for Scrapy, while the crawl runs.

In a Scrapy project: ``ADDONS = {"scrapy_simhash.Addon": 500}``.  Without Scrapy::

    >>> from scrapy_simhash import FeatureScheme, hamming_distance, simhash
    >>> scheme = FeatureScheme.from_name("words-2")
    >>> a = simhash(scheme.features("The quick brown fox jumps over the lazy dog"))
    >>> b = simhash(scheme.features("The quick brown fox leaps over the lazy dog"))
    >>> c = simhash(scheme.features("Simhash votes bit by bit for a fingerprint"))
    >>> hamming_distance(a, b) < hamming_distance(a, c)
    True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from scrapy_simhash._version import __version__
from scrapy_simhash.analysis.features import FeatureScheme
from scrapy_simhash.analysis.fingerprint import (
    bit_sums,
    hamming_distance,
    hash_feature,
    signature,
    simhash,
)
from scrapy_simhash.analysis.text import TextFingerprint, fingerprint_text
from scrapy_simhash.tables import Match, PermutedTables

if TYPE_CHECKING:
    from scrapy_simhash.addon import Addon
    from scrapy_simhash.crawl import signals
    from scrapy_simhash.crawl.dropped import NearDuplicate, SitePaused, UnchangedPage
    from scrapy_simhash.crawl.policy import Policy

__all__ = [
    "Addon",
    "FeatureScheme",
    "Match",
    "NearDuplicate",
    "PermutedTables",
    "Policy",
    "SitePaused",
    "TextFingerprint",
    "UnchangedPage",
    "__version__",
    "bit_sums",
    "fingerprint_text",
    "hamming_distance",
    "hash_feature",
    "signals",
    "signature",
    "simhash",
]

# Loaded on demand: workers import this package, and do not need Scrapy.
_FOR_SCRAPY = {
    "Addon": "scrapy_simhash.addon",
    "NearDuplicate": "scrapy_simhash.crawl.dropped",
    "Policy": "scrapy_simhash.crawl.policy",
    "SitePaused": "scrapy_simhash.crawl.dropped",
    "UnchangedPage": "scrapy_simhash.crawl.dropped",
    "signals": "scrapy_simhash.crawl.signals",
}


def __getattr__(name: str) -> Any:
    if name not in _FOR_SCRAPY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_FOR_SCRAPY[name])
    return module if name == "signals" else getattr(module, name)
