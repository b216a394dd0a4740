"""What became of a page, and why: the few words in which a report tells a whole crawl."""

from __future__ import annotations

from typing import Literal, get_args

from scrapy_simhash.report.record import Record
from scrapy_simhash.rule.page import Reason

Outcome = Literal["kept", "variant", "passed", "flagged", "dropped", "not_judged"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

# Why a page had its outcome: the reason of its decision, or, for a duplicate that passed although
# it is no wall, one of the first two.
Why = Literal["start_request", "observed", Reason, "other"]
WHYS: frozenset[str] = frozenset(get_args(Why))

_BY_ACTION: dict[str, Outcome] = {"drop": "dropped", "flag": "flagged"}


def outcome_of(record: Record) -> Outcome:
    """Return what became of the page."""
    decision = record.decision
    if decision.verdict == "skipped":
        return "not_judged"
    if record.action in _BY_ACTION:
        return _BY_ACTION[record.action]
    if decision.verdict == "unique":
        return "kept"
    if decision.verdict == "variant":
        return "variant"
    return "passed"


def why_of(record: Record) -> str:
    """Return why the page had its outcome: one of :data:`WHYS`, whatever a feed has."""
    reason = record.decision.reason
    if record.is_duplicate and record.action == "pass" and reason != "wall":
        return "start_request" if record.is_start_request else "observed"
    return reason if reason in WHYS else "other"
