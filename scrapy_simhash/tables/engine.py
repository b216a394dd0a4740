"""The permuted tables in use: the compiled ones, or the reference if those are not built."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

from scrapy_simhash.tables.reference import ReferenceTables

if TYPE_CHECKING:
    PermutedTables = ReferenceTables
else:
    try:
        from scrapy_simhash.tables.compiled import CompiledTables as PermutedTables
    except ImportError:
        PermutedTables = ReferenceTables

logger = logging.getLogger(__name__)


@cache
def say_if_not_compiled() -> None:
    """Log once that the slower reference tables are in use, and what to do about it."""
    if PermutedTables is ReferenceTables:
        logger.warning(
            "The compiled permuted tables are missing: the tables in plain Python are used. They "
            "find the same matches, but are ten to twenty times slower. Install a C compiler, "
            "then install scrapy-simhash again."
        )
