"""Lines and records of a decisions feed, made up for the tests of the report."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from scrapy_simhash.report.record import Record

START = datetime(2026, 11, 1, 12, tzinfo=timezone.utc).timestamp()


def line(url: str, twin: str | None = None, second: float = 0, **fields: Any) -> dict[str, Any]:
    """The line of a page with a text of its own, or with that of the page at *twin*."""
    return {
        "url": url,
        "verdict": "near_duplicate" if twin else "unique",
        "representative": twin,
        "distance": 2 if twin else None,
        "share": 0.97 if twin else None,
        "closest": None,
        "reason": "share_in_common" if twin else "new_text",
        "changed": None,
        "action": "drop" if twin else "pass",
        "fingerprint": "0123456789abcdef",
        "tokens": 100,
        "body_bytes": 1000,
        "analysis_seconds": 0.02,
        "index_seconds": 0.001,
        "start_request": False,
        "error": None,
        "time": datetime.fromtimestamp(START + second, timezone.utc).isoformat(),
        **fields,
    }


def record(url: str, twin: str | None = None, second: float = 0, **fields: Any) -> Record:
    """The record that such a line holds."""
    return Record.from_json(line(url, twin, second, **fields))


def variant(url: str, near: str, reason: str, second: float = 0, **fields: Any) -> Record:
    """A page that is kept although it is near the page at *near*."""
    closest = {"url": near, "share": 0.97, "distance": 2}
    found = line(url, near, second, action="pass", reason=reason, closest=closest)
    return Record.from_json({**found, "verdict": "variant", **fields})


def skipped(url: str, reason: str, error: str | None = None) -> Record:
    """A page that was not judged."""
    return record(url, verdict="skipped", reason=reason, error=error)
