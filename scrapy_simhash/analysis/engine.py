"""The compiled part of the analysis, where it is built; else its twins in Python serve."""

from __future__ import annotations

from types import ModuleType

compiled: ModuleType | None
try:
    from scrapy_simhash.analysis import compiled
except ImportError:
    compiled = None

__all__ = ["compiled"]
