"""Decisions feeds, read for the report of a crawl that has ended or is still running."""

from __future__ import annotations

import json
from collections.abc import Iterable

from scrapy_simhash.report.collector import Collector
from scrapy_simhash.report.record import Record

# json.loads() also looks for spaces around the value, which takes a quarter of its time.
_read = json.JSONDecoder().raw_decode


def add_lines(collector: Collector, lines: Iterable[bytes]) -> None:
    """Count the records in the lines of a decisions feed; other lines count as unreadable.

    A full disk or a kill may have cut a line short.  Takes about 15 us a line.
    """
    for line in lines:
        stripped = line.strip()
        if not stripped:
            continue
        try:
            text = stripped.decode()
            mapping, end = _read(text)
            if end != len(text):
                raise ValueError("there is more on the line than one record")
            record = Record.from_json(mapping)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            collector.unreadable_lines += 1
        else:
            collector.add(record)
