"""Exact search for every stored fingerprint within k bits of another one."""

from scrapy_simhash.tables.design import Table, block_tables, split_tables
from scrapy_simhash.tables.reference import Match, PermutedTables

__all__ = ["Match", "PermutedTables", "Table", "block_tables", "split_tables"]
