"""The permuted tables in use: the compiled ones, or the reference where they are not built."""

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
    """Say once, in the log, that the reference serves, and what to do about it."""
    if PermutedTables is ReferenceTables:
        logger.warning(
            "The compiled permuted tables are missing: the ones in plain Python serve, which "
            "find the same, but are ten to twenty times slower. With a C compiler at hand, "
            "install scrapy-simhash again."
        )
