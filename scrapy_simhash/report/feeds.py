"""Decisions feeds read back: the report of a crawl that has ended, or is still running."""

from __future__ import annotations

import json
from collections.abc import Iterable

from scrapy_simhash.report.collector import Collector
from scrapy_simhash.report.lines import Line


def add_lines(collector: Collector, lines: Iterable[bytes]) -> None:
    """Take in the lines of a decisions feed; those that are none are counted as unreadable.

    A full disk or a kill may have cut one short.  About 30 us a line.
    """
    for line in lines:
        if not line.strip():
            continue
        try:
            decision = Line.of(json.loads(line.decode()))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            collector.unreadable_lines += 1
        else:
            collector.add(decision)
