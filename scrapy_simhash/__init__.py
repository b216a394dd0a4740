"""Near-duplicate detection for Scrapy, while the crawl runs."""

from scrapy_simhash._version import __version__
from scrapy_simhash.analysis.features import FeatureScheme
from scrapy_simhash.analysis.fingerprint import (
    bit_sums,
    hamming_distance,
    hash_feature,
    signature,
    simhash,
)
from scrapy_simhash.tables import Match, PermutedTables

__all__ = [
    "FeatureScheme",
    "Match",
    "PermutedTables",
    "__version__",
    "bit_sums",
    "hamming_distance",
    "hash_feature",
    "signature",
    "simhash",
]
