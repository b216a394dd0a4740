"""Exact search for every stored fingerprint within k bits of another one.

Fingerprints come in with an item, the number of a row: one at a time by ``add``, or many by
``build``.  design.py says which tables find all of them within the distance, and ``design`` chooses
the quickest tables for a number of pages.  engine.py gives the implementation of the tables.  It is
compiled.pyx, in which _scan.h compares fingerprints with a query and _memory.h keeps them in huge
pages, or reference.py in plain Python if compiled.pyx is not built.
Out come ``Match`` values, the closest first, then the oldest.  batch/ works on whole files of
fingerprints: snapshots, and many queries at once.
"""

from scrapy_simhash.tables.design import Design, Table, block_design, design, designs, split_design
from scrapy_simhash.tables.engine import PermutedTables, say_if_not_compiled
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
