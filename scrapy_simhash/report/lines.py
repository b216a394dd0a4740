"""A line of the decisions feed, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, get_args

from scrapy_simhash.index.contract import DUPLICATES, Verdict
from scrapy_simhash.report.addresses import Address

FINGERPRINT_BITS = 64
VERDICTS = frozenset(get_args(Verdict))


class Line(NamedTuple):
    """What the report needs of one decision.

    *text* is the URL of the kept page whose text this one has: its own, or that of its
    representative.  *closest* is the share, distance and URL of the kept page that a unique one
    shares most with.  *redirected_from* is the address that was asked for, if a redirect led from
    there.  *judged_at* is in seconds since the epoch.
    """

    url: str
    address: Address
    pattern: str
    slug: str
    verdict: str
    duplicate: bool
    reason: str
    action: str
    text: str
    closest: tuple[float, int, str] | None
    distance: int | None
    share: float | None
    body_bytes: int
    judged_at: float
    analysis_seconds: float
    index_seconds: float
    error: str | None
    redirected_from: str | None

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Line:
        """Read a record of the decisions feed.

        :raises KeyError, TypeError, ValueError, OverflowError: it is none.
        """
        url, verdict = record["url"], record["verdict"]
        if verdict not in VERDICTS:
            raise ValueError(f"unknown verdict: {verdict!r}")
        duplicate = verdict in DUPLICATES
        text = record["representative"] if duplicate else url
        if not isinstance(url, str) or not isinstance(text, str):
            raise TypeError("url and representative must be strings")
        address = Address.of(url)
        share, closest = record["share"], record["closest"]
        if closest is not None:
            closest = (
                float(_within(closest["share"], 1)),
                int(_within(closest["distance"], FINGERPRINT_BITS)),
                str(closest["url"]),
            )
        return cls(
            url,
            address,
            address.pattern,
            address.slug,
            verdict,
            duplicate,
            str(record["reason"]),
            str(record["action"]),
            text,
            closest,
            int(_within(record["distance"], FINGERPRINT_BITS)) if duplicate else None,
            None if share is None else float(_within(share, 1)),
            int(record["body_bytes"]),
            datetime.fromisoformat(record["time"]).timestamp(),
            float(record["analysis_seconds"] or 0),
            float(record["index_seconds"] or 0),
            None if record["error"] is None else str(record["error"]),
            str(record["redirects"][0]) if record.get("redirects") else None,
        )


def _within(number: float, high: int) -> float:
    if not 0 <= number <= high:
        raise ValueError(f"must be from 0 to {high}: got {number!r}")
    return number
