"""An extractor whose import shortens how long a worker outlives a crawl that was killed."""

from __future__ import annotations

from scrapy_simhash.workers import child
from tests.extractors import rude_text as text

__all__ = ["text"]

child.GRACE_SECONDS = 0.5
