"""The compiled parts of the analysis, each None if it is not built: Python code does the same."""

from __future__ import annotations

from types import ModuleType

compiled: ModuleType | None
compiled_walk: ModuleType | None
try:
    from scrapy_simhash.analysis import compiled
except ImportError:
    compiled = None
try:
    from scrapy_simhash.analysis import compiled_walk
except (ImportError, AttributeError, TypeError, ValueError):  # or lxml has another layout
    compiled_walk = None

__all__ = ["compiled", "compiled_walk"]
