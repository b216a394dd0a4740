"""Exact search for every stored fingerprint within k bits of another one."""

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
