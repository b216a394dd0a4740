"""The compiled part of the rule, or None if it is not built: Python code does the same."""

from __future__ import annotations

from types import ModuleType

compiled: ModuleType | None
try:
    from scrapy_simhash.rule import compiled
except ImportError:
    compiled = None

__all__ = ["compiled"]
