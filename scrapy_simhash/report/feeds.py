"""Decisions feeds read back: the report of a crawl that has ended, or is still running."""

from __future__ import annotations

import json
from collections.abc import Iterable

from scrapy_simhash.report.collector import Collector
from scrapy_simhash.report.lines import Line

# json.loads() looks for spaces around each value once more, which takes a quarter of its time.
_read = json.JSONDecoder().raw_decode


def add_lines(collector: Collector, lines: Iterable[bytes]) -> None:
    """Take in the lines of a decisions feed; those that are none are counted as unreadable.

    A full disk or a kill may have cut one short.  About 15 us a line.
    """
    for line in lines:
        stripped = line.strip()
        if not stripped:
            continue
        try:
            text = stripped.decode()
            record, end = _read(text)
            if end != len(text):
                raise ValueError("there is more on the line than one record")
            decision = Line.of(record)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            collector.unreadable_lines += 1
        else:
            collector.add(decision)
