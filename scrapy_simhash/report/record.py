"""The record of a page: its decision, and what the account and the report need beside it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from typing import Any, Literal, TypeVar, cast, get_args

from scrapy_simhash.analysis.analyser import PageAnalysis
from scrapy_simhash.decision.holdings import Told
from scrapy_simhash.decision.page import DUPLICATES, Decision, NearMiss, Reason, Verdict
from scrapy_simhash.urls import Address

Action = Literal["pass", "drop", "flag"]
VERDICTS = frozenset(get_args(Verdict))

# What became of a page: the few words in which a report tells a whole crawl.
Outcome = Literal["kept", "variant", "passed", "flagged", "dropped", "not_judged"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
# Why a page had its outcome: the reason of its decision, or one of the first two for a duplicate
# that passed although it is no wall.
WHYS: frozenset[str] = frozenset(("start_request", "observed", *get_args(Reason), "other"))

FINGERPRINT_BITS = 64
SHARE_DIGITS = 3
SECONDS_DIGITS = 6

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Record:
    """One page of a crawl: what was decided, what became of it, and what it took.

    *fingerprint*, *tokens*, *analysis_seconds* and *index_seconds* are None for a page that was
    skipped.  *is_recalled* says that the body was known, so that it was not analysed again; the
    feed does not say it.  *error* says what went wrong where the plug-in failed.  *redirects* are
    the addresses that led to *url*, the first one first.  *judged_at* is in seconds since the
    epoch.

    The other attributes follow from these: *kept_url* is the URL of the kept page whose text this
    one has (its own, or its representative's), *address* the parts of *url*, with their *pattern*
    and *slug*.

    :meth:`of` makes one in a crawl, and :meth:`from_json` reads one from the decisions feed.  All
    numbers are rounded as the feed writes them: a report is the same whichever it was made from.
    """

    url: str
    decision: Decision
    body_bytes: int
    action: Action
    judged_at: float
    is_start_request: bool = False
    fingerprint: int | None = None
    tokens: int | None = None
    analysis_seconds: float | None = None
    index_seconds: float | None = None
    is_recalled: bool = False
    error: str | None = None
    redirects: tuple[str, ...] = ()
    is_duplicate: bool = field(init=False, repr=False, compare=False)
    kept_url: str = field(init=False, repr=False, compare=False)
    address: Address = field(init=False, repr=False, compare=False)
    pattern: str = field(init=False, repr=False, compare=False)
    slug: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # The report needs all of these of each page: as cached properties they took 3 us a page
        # more, on Python 3.11, of 28 (benchmarks/bench_report.py).
        put = partial(object.__setattr__, self)
        address = Address.of(self.url)
        put("is_duplicate", self.decision.is_duplicate)
        put("kept_url", self.decision.kept_url(self.url))
        put("address", address)
        put("pattern", address.pattern)
        put("slug", address.slug)

    @classmethod
    def of(
        cls,
        decision: Decision,
        *,
        url: str,
        body_bytes: int,
        action: Action = "pass",
        is_start_request: bool = False,
        redirects: tuple[str, ...] = (),
        analysis: PageAnalysis | None = None,
        index_seconds: float = 0.0,
        error: str | None = None,
    ) -> Record:
        """Return the record of a page that was judged now, its numbers rounded.

        *analysis* is None for a page that was skipped; *index_seconds* then counts for nothing.
        """
        return cls(
            url=url,
            decision=_rounded(decision),
            body_bytes=body_bytes,
            action=action,
            judged_at=int(time.time() * 1000) / 1000,  # the feed writes milliseconds
            is_start_request=is_start_request,
            fingerprint=None if analysis is None else analysis.fingerprint,
            tokens=None if analysis is None else analysis.tokens,
            analysis_seconds=None if analysis is None else round(analysis.seconds, SECONDS_DIGITS),
            index_seconds=None if analysis is None else round(index_seconds, SECONDS_DIGITS),
            is_recalled=analysis is not None and analysis.recalled,
            error=error,
            redirects=redirects,
        )

    @classmethod
    def from_json(cls, mapping: Mapping[str, Any]) -> Record:
        """Return the record that a line of the decisions feed holds.

        A reason or an action of a later version is taken as it is.

        :raises KeyError, TypeError, ValueError, OverflowError: it is no record.
        """
        return cls(
            url=_url(mapping["url"]),
            decision=_decision_in(mapping),
            body_bytes=int(mapping["body_bytes"]),
            action=cast("Action", str(mapping["action"])),
            judged_at=datetime.fromisoformat(mapping["time"]).timestamp(),
            is_start_request=bool(mapping["start_request"]),
            fingerprint=_optional(partial(int, base=16), mapping["fingerprint"]),
            tokens=_optional(int, mapping["tokens"]),
            analysis_seconds=_optional(float, mapping["analysis_seconds"]),
            index_seconds=_optional(float, mapping["index_seconds"]),
            error=_optional(str, mapping["error"]),
            redirects=tuple(map(_url, mapping.get("redirects", ()))),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the page's line in the decisions feed, in values that JSON has."""
        judged_at = datetime.fromtimestamp(self.judged_at, timezone.utc)
        return {
            "url": self.url,
            **({"redirects": self.redirects} if self.redirects else {}),
            **decision_as_json(self.decision),
            "action": self.action,
            "fingerprint": None if self.fingerprint is None else f"{self.fingerprint:016x}",
            "tokens": self.tokens,
            "body_bytes": self.body_bytes,
            "analysis_seconds": self.analysis_seconds,
            "index_seconds": self.index_seconds,
            "start_request": self.is_start_request,
            "error": self.error,
            "time": judged_at.isoformat(timespec="milliseconds"),
        }

    @property
    def asked_url(self) -> str | None:
        """The address that was asked for, if a redirect led from there; None without one."""
        return self.redirects[0] if self.redirects else None

    @property
    def outcome(self) -> Outcome:
        """What became of the page."""
        verdict = self.decision.verdict
        if verdict == "skipped":
            return "not_judged"
        if self.action == "drop":
            return "dropped"
        if self.action == "flag":
            return "flagged"
        if verdict == "unique":
            return "kept"
        return "variant" if verdict == "variant" else "passed"

    @property
    def why(self) -> str:
        """Why the page had its outcome: one of :data:`WHYS`, whatever a feed has."""
        reason = self.decision.reason
        if self.is_duplicate and self.action == "pass" and reason != "wall":
            return "start_request" if self.is_start_request else "observed"
        return reason if reason in WHYS else "other"


def decision_as_json(decision: Decision) -> dict[str, Any]:
    """Return what the decisions feed has of a decision, in values that JSON has."""
    closest = decision.closest
    return {
        "verdict": decision.verdict,
        "representative": decision.representative,
        "distance": decision.distance,
        "share": decision.share,
        "closest": None if closest is None else closest._asdict(),
        "reason": decision.reason,
        **({"new": [one._asdict() for one in decision.new]} if decision.new else {}),
        **({"better": decision.better} if decision.better else {}),
        "changed": decision.changed,
    }


def _rounded(decision: Decision) -> Decision:
    """Return *decision* with its shares rounded."""
    rounded: dict[str, Any] = {}
    if decision.share is not None:
        rounded["share"] = round(decision.share, SHARE_DIGITS)
    if (closest := decision.closest) is not None:
        rounded["closest"] = closest._replace(share=round(closest.share, SHARE_DIGITS))
    return replace(decision, **rounded) if rounded else decision


def _decision_in(mapping: Mapping[str, Any]) -> Decision:
    verdict, closest = mapping["verdict"], mapping["closest"]
    if verdict not in VERDICTS:
        raise ValueError(f"unknown verdict: {verdict!r}")
    kept, distance = mapping["representative"], mapping["distance"]
    if verdict in DUPLICATES and (kept is None or distance is None):
        raise ValueError("a duplicate must have a representative and a distance")
    return Decision(
        verdict,
        cast("Reason", str(mapping["reason"])),  # a later version may have others
        _optional(_url, kept),
        _optional(_bits, distance),
        _optional(_share, mapping["share"]),
        _optional(bool, mapping["changed"]),
        _optional(_near_miss, closest),
        new=tuple(
            Told(*(str(one[name]) for name in Told._fields)) for one in mapping.get("new", ())
        ),
        better=tuple(map(str, mapping.get("better", ()))),
    )


def _optional(read: Callable[[Any], T], value: Any) -> T | None:
    return None if value is None else read(value)


def _near_miss(found: Mapping[str, Any]) -> NearMiss:
    return NearMiss(_share(found["share"]), _bits(found["distance"]), _url(found["url"]))


def _url(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"an address must be a string: got {value!r}")
    return value


def _share(value: Any) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"must be from 0 to 1: got {value!r}")
    return float(value)


def _bits(value: Any) -> int:
    if not 0 <= value <= FINGERPRINT_BITS:
        raise ValueError(f"must be from 0 to {FINGERPRINT_BITS}: got {value!r}")
    return int(value)
