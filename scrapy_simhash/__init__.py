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

__all__ = [
    "FeatureScheme",
    "__version__",
    "bit_sums",
    "hamming_distance",
    "hash_feature",
    "signature",
    "simhash",
]
