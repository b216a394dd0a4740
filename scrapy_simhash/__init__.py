"""Near-duplicate detection for Scrapy, while the crawl runs.

In a Scrapy project: ``ADDONS = {"scrapy_simhash.Addon": 500}``.  Without Scrapy::

    >>> from scrapy_simhash import FeatureScheme, hamming_distance, simhash
    >>> scheme = FeatureScheme.from_name("words-2")
    >>> a = simhash(scheme.features("The quick brown fox jumps over the lazy dog"))
    >>> b = simhash(scheme.features("The quick brown fox leaps over the lazy dog"))
    >>> c = simhash(scheme.features("Simhash votes bit by bit for a fingerprint"))
    >>> hamming_distance(a, b) < hamming_distance(a, c)
    True
    >>> from scrapy_simhash import PermutedTables
    >>> tables = PermutedTables(distance=3)
    >>> tables.add(a, item=1)
    >>> tables.nearest(a ^ 0b101).distance
    2
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from scrapy_simhash.addon import Addon
    from scrapy_simhash.analysis.features import FeatureScheme
    from scrapy_simhash.analysis.fingerprint import (
        TextFingerprint,
        bit_sums,
        fingerprint_text,
        hamming_distance,
        hash_feature,
        signature,
        simhash,
    )
    from scrapy_simhash.crawl import signals
    from scrapy_simhash.crawl.choices import Policy
    from scrapy_simhash.crawl.exceptions import NearDuplicate, RuledOut, UnchangedPage
    from scrapy_simhash.index.survey import groups
    from scrapy_simhash.tables import Match, PermutedTables

__all__ = [
    "Addon",
    "FeatureScheme",
    "Match",
    "NearDuplicate",
    "PermutedTables",
    "Policy",
    "RuledOut",
    "TextFingerprint",
    "UnchangedPage",
    "__version__",
    "bit_sums",
    "fingerprint_text",
    "groups",
    "hamming_distance",
    "hash_feature",
    "signals",
    "signature",
    "simhash",
]

# Loaded on demand: workers import this package and do not need Scrapy; pytest imports it for
# scrapy_simhash.testing and needs nothing of it.
_MODULES = {
    "Addon": "addon",
    "FeatureScheme": "analysis.features",
    "Match": "tables",
    "NearDuplicate": "crawl.exceptions",
    "PermutedTables": "tables",
    "Policy": "crawl.choices",
    "RuledOut": "crawl.exceptions",
    "TextFingerprint": "analysis.fingerprint",
    "UnchangedPage": "crawl.exceptions",
    "bit_sums": "analysis.fingerprint",
    "fingerprint_text": "analysis.fingerprint",
    "groups": "index.survey",
    "hamming_distance": "analysis.fingerprint",
    "hash_feature": "analysis.fingerprint",
    "signals": "crawl.signals",
    "signature": "analysis.fingerprint",
    "simhash": "analysis.fingerprint",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        found: Any = import_module("importlib.metadata").version("scrapy-simhash")
    elif name in _MODULES:
        module = import_module(f"{__name__}.{_MODULES[name]}")
        found = module if name == "signals" else getattr(module, name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found  # so that this function is not asked again
    return found
