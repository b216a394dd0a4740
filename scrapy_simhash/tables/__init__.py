"""Exact search for every stored fingerprint within k bits of another one.

Fingerprints come in with an item, the number of a row: one at a time by ``add``, or many by
``build``.  design.py says which tables find all of them within the distance, and ``design`` chooses
the quickest tables for a number of pages.  The tables are those of compiled.pyx,
in which _scan.h compares fingerprints with a query and _memory.h keeps them in huge pages, or those
of reference.py in plain Python if compiled.pyx is not built.
Out come ``Match`` values, the closest first, then the oldest.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

from scrapy_simhash.tables.design import Design, Table, block_design, design, designs, split_design
from scrapy_simhash.tables.reference import Match, ReferenceTables

__all__ = [
    "Design",
    "Match",
    "PermutedTables",
    "ReferenceTables",
    "Table",
    "block_design",
    "design",
    "designs",
    "say_if_not_compiled",
    "split_design",
]

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
