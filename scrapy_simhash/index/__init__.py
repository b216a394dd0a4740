"""What a crawl remembers: an index answers "have I kept a page like this one?" and learns it."""

from scrapy_simhash.index.contract import (
    Decision,
    Index,
    IndexParameters,
    Page,
    Row,
    Verdict,
)
from scrapy_simhash.index.memory import MemoryIndex
from scrapy_simhash.index.sqlite import SQLiteIndex

MEMORY = "memory:"

__all__ = [
    "MEMORY",
    "Decision",
    "Index",
    "IndexParameters",
    "MemoryIndex",
    "Page",
    "Row",
    "SQLiteIndex",
    "Verdict",
    "open_index",
]


def open_index(place: str, parameters: IndexParameters) -> Index:
    """Return the index at *place*: ``memory:``, or the path of a file, made where there is none.

    :raises FingerprintIndexError: see :class:`SQLiteIndex`.
    """
    if place == MEMORY:
        return MemoryIndex(parameters)
    return SQLiteIndex(place, parameters)
