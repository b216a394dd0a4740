"""A decision with all that the account of a crawl needs to know of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal

from scrapy_simhash.analysis.page import PageAnalysis
from scrapy_simhash.index import Decision

Action = Literal["pass", "drop", "flag"]


@dataclass(frozen=True)
class Judgement:
    """A decision and what became of the page.

    *analysis* is None for a page that was skipped, *index_seconds* is what the index took,
    *error* says more where the plug-in failed, *redirects* are the addresses that led to *url*,
    the first one first, *judged_at* is in seconds since the epoch.
    """

    url: str
    decision: Decision
    body_bytes: int
    action: Action = "pass"
    is_start_request: bool = False
    analysis: PageAnalysis | None = None
    index_seconds: float = 0.0
    error: str | None = None
    redirects: tuple[str, ...] = ()
    judged_at: float = field(default_factory=time.time)

    def as_record(self) -> dict[str, Any]:
        """Return the fields of the page's line in the decisions feed, ready for JSON."""
        analysis, near_miss = self.analysis, self.decision.closest
        judged_at = datetime.fromtimestamp(self.judged_at, timezone.utc)
        return {
            "url": self.url,
            **({"redirects": self.redirects} if self.redirects else {}),
            "verdict": self.decision.verdict,
            "representative": self.decision.representative,
            "distance": self.decision.distance,
            "share": None if self.decision.share is None else round(self.decision.share, 3),
            "closest": None
            if near_miss is None
            else {**near_miss._asdict(), "share": round(near_miss.share, 3)},
            "reason": self.decision.reason,
            "changed": self.decision.changed,
            "action": self.action,
            "fingerprint": None if analysis is None else f"{analysis.fingerprint:016x}",
            "tokens": None if analysis is None else analysis.tokens,
            "body_bytes": self.body_bytes,
            "analysis_seconds": None if analysis is None else round(analysis.seconds, 6),
            "index_seconds": None if analysis is None else round(self.index_seconds, 6),
            "start_request": self.is_start_request,
            "error": self.error,
            "time": judged_at.isoformat(timespec="milliseconds"),
        }
