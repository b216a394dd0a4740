"""The report as one JSON document, from which its pages and tables are made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from itertools import islice
from typing import Any, get_args

from scrapy_simhash.decision.page import VARIANT_REASONS, Verdict
from scrapy_simhash.report.collector import SHARE_STEPS, Collector, SourceCount
from scrapy_simhash.report.counting import Heaviest, counted, listed
from scrapy_simhash.report.record import OUTCOMES, Outcome

# Grows by 1 when a field changes its meaning or is removed, but not when one is added.
SCHEMA = 3

# At most this many rows of a table are shown: nobody reads more.
ROWS = 20
ALARMS_SHOWN = 50
# The rows of a collector that may be too low, under the names that the report has for them, too.
BOUNDED = ("novelties", "groups", "sections", "sites", "patterns")
# Rules are the next step if they make at least this share of the downloads needless.
LEAST_NEEDLESS = 0.05


@dataclass(frozen=True)
class CrawlInfo:
    """What the records of a crawl do not say; a report from feeds knows the *rules* at most.

    *side_by_side* shows what differs between two pages of some groups, *rules* are the rules for
    addresses that were learned (savings.py), *traps* the addresses that lead to ever more of their
    kind.
    """

    name: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    side_by_side: Sequence[Mapping[str, Any]] = ()
    rules: Sequence[Mapping[str, Any]] = ()
    traps: Sequence[Mapping[str, Any]] = ()


def report_of(collector: Collector, about: CrawlInfo) -> dict[str, Any]:
    """Return the report, in values that JSON has; docs/report.md explains them."""
    totals = _totals(collector, about)
    return {
        "schema": SCHEMA,
        "scrapy_simhash": version("scrapy-simhash"),
        "name": about.name,
        "made": iso_time(datetime.now(timezone.utc).timestamp()),
        "summary": _summary(totals, len(collector.alarms), about),
        "totals": totals,
        "alarms": [asdict(alarm) for alarm in islice(collector.alarms.values(), ALARMS_SHOWN)],
        "alarms_raised": len(collector.alarms),
        "rules": list(about.rules),
        "traps": list(about.traps),
        "outcomes": [
            {"outcome": outcome, "why": why, "pages": pages}
            for (outcome, why), pages in sorted(collector.outcomes.items(), key=_by_size)
        ],
        "sections": [
            {"section": section, **_by_outcome(pages)}
            for section, pages in islice(collector.sections.top(), ROWS)
        ],
        "timeline": {
            "seconds_per_bin": collector.timeline.seconds,
            "bins": [
                {"from": iso_time(start), **_by_outcome(pages), "duplicates": duplicates}
                for start, pages, duplicates in collector.timeline.rows()
            ],
        },
        "shares": _shares(collector),
        "near_misses": [
            {"url": url, "closest": closest, "share": share, "distance": distance}
            for share, url, closest, distance in sorted(collector.near_misses, reverse=True)
        ],
        "novelties": [
            {"kind": kind, "place": place, **asdict(novelty)}
            for (kind, place), novelty in islice(collector.novelties.top(), ROWS)
        ],
        "groups": [
            {"representative": text, **asdict(group)}
            for text, group in islice(collector.groups.top(), ROWS)
        ],
        "side_by_side": list(about.side_by_side),
        "sites": _sources(collector.sites, "site"),
        "patterns": _sources(collector.patterns, "pattern"),
        "skipped": [
            {"reason": reason, **asdict(skipped)}
            for reason, skipped in islice(collector.skipped.top(), ROWS)
        ],
        "settings": dict(about.settings),
        "versions": dict(about.versions),
        "missing": {name: getattr(collector, name).missing for name in BOUNDED},
    }


def _summary(totals: Mapping[str, Any], alarms: int, about: CrawlInfo) -> dict[str, str]:
    """Return two sentences: what happened, and what was saved or could be; and the next step.

    The *setting* is the line that makes the step; it is empty if there is none.
    """
    judged = counted(totals["judged"], "page(s) judged")
    counts = (
        (totals["unique"], "kept"),
        (totals["variant"], "variant(s)"),
        (totals["duplicates"], "duplicate(s)"),
        (totals["refresh"], "passed again"),
    )
    # A batch has no bodies, and follows no links.
    links = ", and their links not followed" if totals["body_bytes"] else ""
    done = (
        (totals["observed"], f"would be dropped{links}"),
        (totals["dropped"], f"were dropped{links}"),
        (totals["flagged"], f"were flagged{links}"),
        (totals["parked"], "request(s) parked by rules, and not sent"),
    )
    saved = [counted(pages, what) for pages, what in done if pages]
    is_used = _has(about, "SIMHASH_RULES", "use")
    more = 0 if is_used else sum(row["needless"] for row in about.rules)
    if more:
        saved.append(f"rules for addresses would make about {more:,} requests needless")
    step, setting = _next_step(totals, alarms, more, about)
    return {
        "happened": f"{judged}: {listed(counts) or 'none kept'}.",
        "saved": f"{'; '.join(saved) or 'Nothing was saved'}.",
        "next": step,
        "setting": setting,
    }


def _next_step(
    totals: Mapping[str, Any], alarms: int, needless: int, about: CrawlInfo
) -> tuple[str, str]:
    if alarms:
        return "Look at the alarms first.", ""
    if totals["observed"]:
        return "If the pairs below are one page to you:", 'SIMHASH_ACTION = "drop"'
    if needless >= LEAST_NEEDLESS * totals["judged"] > 0:
        return "To let proven rules save these downloads:", 'SIMHASH_RULES = "use"'
    if totals["variant"] > totals["duplicates"] and not _has(about, "SIMHASH_TAKES", "text"):
        return "If your spider takes texts alone:", 'SIMHASH_TAKES = "text"'
    return "There is nothing to change.", ""


def _has(about: CrawlInfo, setting: str, value: str) -> bool:
    return repr(value) in about.settings.get(setting, "")


def _totals(collector: Collector, about: CrawlInfo) -> dict[str, Any]:
    verdicts, spent, timeline = collector.verdicts, collector.spent, collector.timeline
    judged = collector.pages - verdicts["skipped"]
    duplicates = verdicts["near_duplicate"] + verdicts["exact_duplicate"]
    return {
        "pages": collector.pages,
        "body_bytes": collector.body_bytes,
        "judged": judged,
        **{verdict: verdicts[verdict] for verdict in get_args(Verdict)},
        "unchanged": spent["unchanged"].pages,
        "moved": spent["moved"].pages,
        "replaced": spent["canonical"].pages,
        "not_canonical": sum("canonical" in group.better for group in collector.groups.values()),
        "shorter": sum("longer" in group.better for group in collector.groups.values()),
        **{reason: collector.variants[reason] for reason in VARIANT_REASONS},
        "duplicates": duplicates,
        "duplicate_share": duplicates / judged if judged else 0.0,
        "dropped": spent["dropped"].pages,
        "dropped_bytes": spent["dropped"].body_bytes,
        "dropped_seconds": spent["dropped"].analysis_seconds,
        "observed": spent["observed"].pages,
        "observed_bytes": spent["observed"].body_bytes,
        "observed_seconds": spent["observed"].analysis_seconds,
        "flagged": spent["flagged"].pages,
        "links_not_followed": collector.links_not_followed,
        "parked": sum(map(_not_sent, about.rules)),
        "analyses_avoided": collector.analyses_avoided,
        "analysis_seconds": collector.analysis_seconds,
        "index_seconds": collector.index_seconds,
        "unreadable_lines": collector.unreadable_lines,
        "first": iso_time(timeline.first) if collector.pages else None,
        "last": iso_time(timeline.last) if collector.pages else None,
    }


def _not_sent(rule: Mapping[str, Any]) -> int:
    """Return how many requests a rule has parked and not sent; one that is not used has none."""
    parked, *sent = (int(rule.get(name, 0)) for name in ("parked", "released", "audited"))
    return parked - sum(sent)


def _by_size(row: tuple[tuple[Outcome, str], int]) -> tuple[int, int]:
    """Sort by outcome, and then the most pages first."""
    (outcome, _), pages = row
    return OUTCOMES.index(outcome), -pages


def _by_outcome(pages: Counter[str]) -> dict[str, int]:
    return {"pages": pages.total(), **{outcome: pages[outcome] for outcome in OUTCOMES}}


def _shares(collector: Collector) -> list[dict[str, Any]]:
    """Return steps of 5 %, from the lowest share seen to the last, for pages that share all."""
    lowest = min((*collector.shares, *collector.missed_shares), default=SHARE_STEPS + 1)
    return [
        {
            "from": step / SHARE_STEPS,
            "duplicates": collector.shares[step],
            "kept": collector.missed_shares[step],
        }
        for step in range(lowest, SHARE_STEPS + 1)
    ]


def _sources(sources: Heaviest[str, SourceCount], name: str) -> list[dict[str, Any]]:
    most = sorted(sources.top(), key=lambda item: -item[1].duplicates)[:ROWS]
    return [{name: key, **asdict(source)} for key, source in most]


def iso_time(seconds: float) -> str:
    """Return a time in seconds since the epoch as reports have it, in UTC."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
