"""The collector: takes the records one by one and keeps what the report needs of them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from scrapy_simhash.report.alarms import DUPLICATE_SHARE, Alarm, AlarmWatch
from scrapy_simhash.report.counting import Heaviest, Timeline
from scrapy_simhash.report.record import Outcome, Record
from scrapy_simhash.urls import MAX_URL

# With these limits a collector of 10 million pages takes less than 30 MB
# (benchmarks/bench_report.py).
GROUPS = 2000
SITES = 2000
PATTERNS = 2000
SECTIONS = 2000
NOVELTIES = 500
REASONS = 50

GROUP_URLS = 5
EXAMPLES = 3
NEAR_MISSES = 10
# Shares are counted in steps of 5 %.
SHARE_STEPS = 20


@dataclass(slots=True)
class Spent:
    """Pages with one outcome, or one reason for it, and what they took."""

    pages: int = 0
    body_bytes: int = 0
    analysis_seconds: float = 0.0

    def add(self, record: Record) -> None:
        self.pages += 1
        self.body_bytes += record.body_bytes
        self.analysis_seconds += record.analysis_seconds or 0.0


@dataclass(slots=True)
class Group:
    """Duplicates of one kept page."""

    pages: int = 0
    exact: int = 0
    body_bytes: int = 0
    urls: list[str] = field(default_factory=list)
    # Why one of them may be the better copy.
    better: tuple[str, ...] = ()

    def add(self, record: Record) -> None:
        self.pages += 1
        self.exact += record.decision.verdict == "exact_duplicate"
        self.body_bytes += record.body_bytes
        self.better = tuple({*self.better, *record.decision.better})
        if len(self.urls) < GROUP_URLS:
            self.urls.append(shortened(record.url))


@dataclass(slots=True)
class Novelty:
    """Variants that have something new of one kind in one place, and the last of them."""

    pages: int = 0
    example: dict[str, str] = field(default_factory=dict)

    def add(self, record: Record, text: str) -> None:
        self.pages += 1
        self.example = {
            "url": shortened(record.url),
            "representative": shortened(record.decision.representative or ""),
            "text": shortened(text),
        }


@dataclass(slots=True)
class SourceCount:
    """Judged pages of a site or of a pattern; *body_bytes* of the duplicates."""

    pages: int = 0
    duplicates: int = 0
    body_bytes: int = 0
    skipped: int = 0

    def add(self, record: Record) -> None:
        self.pages += 1
        if record.is_duplicate:
            self.duplicates += 1
            self.body_bytes += record.body_bytes


@dataclass(slots=True)
class Skipped:
    """Pages that were not judged, for one reason."""

    pages: int = 0
    examples: list[dict[str, str | None]] = field(default_factory=list)


class Collector:
    """What is kept of all records: less than 30 MB at any number of pages.

    It can be pickled, so that a crawl that is resumed goes on counting.
    """

    def __init__(self) -> None:
        self.watch = AlarmWatch(DUPLICATE_SHARE)
        # By name and subject: the first of each.
        self.alarms: dict[tuple[str, str], Alarm] = {}
        self.pages = 0
        self.unreadable_lines = 0
        self.body_bytes = 0
        self.verdicts: Counter[str] = Counter()
        self.variants: Counter[str] = Counter()
        self.outcomes: Counter[tuple[Outcome, str]] = Counter()
        # By outcome, and by the reason for it: no reason has the name of an outcome.
        self.spent: defaultdict[str, Spent] = defaultdict(Spent)
        self.analyses_avoided = 0
        self.analysis_seconds = 0.0
        self.index_seconds = 0.0
        self.timeline = Timeline()
        self.shares: Counter[int] = Counter()
        self.missed_shares: Counter[int] = Counter()
        # The kept pages that share most, as a heap: share, page, closest, distance.
        self.near_misses: list[tuple[float, str, str, int]] = []
        self.groups: Heaviest[str, Group] = Heaviest(GROUPS, Group)
        self.sites: Heaviest[str, SourceCount] = Heaviest(SITES, SourceCount)
        self.patterns: Heaviest[str, SourceCount] = Heaviest(PATTERNS, SourceCount)
        # By kind and place: what holds variants apart from their kept pages.
        self.novelties: Heaviest[tuple[str, str], Novelty] = Heaviest(NOVELTIES, Novelty)
        self.sections: Heaviest[str, Counter[str]] = Heaviest(SECTIONS, Counter, Counter.total)
        # A crawl knows this number; no record says it.
        self.links_not_followed: int | None = None
        self.skipped: Heaviest[str, Skipped] = Heaviest(REASONS, Skipped)

    def add(self, record: Record) -> list[Alarm]:
        """Count a record, and return the alarms that it raises; O(1), amortised."""
        self.pages += 1
        self.body_bytes += record.body_bytes
        self.verdicts[record.decision.verdict] += 1
        outcome, why = record.outcome, record.why
        self.outcomes[outcome, why] += 1
        for name in (outcome, why):
            self.spent[name].add(record)
        self.sections[record.address.general_section][outcome] += 1
        self.timeline.add(record.judged_at, outcome, record.is_duplicate)
        if record.decision.verdict == "skipped":
            self._add_skipped(record)
        else:
            self._add_judged(record)
        raised = list(self.watch.look(record))
        for alarm in raised:
            self.alarms.setdefault((alarm.name, alarm.subject), alarm)
        return raised

    def add_lines(self, lines: Iterable[bytes]) -> list[Record]:
        """Count and return the records in the lines of a feed; other lines count as unreadable.

        A full disk or a kill may have cut a line short.  Takes about 15 us a line.
        """
        records = []
        for line in lines:
            if not line.strip():
                continue
            try:
                record = Record.from_json(json.loads(line.decode()))
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
                self.unreadable_lines += 1
            else:
                self.add(record)
                records.append(record)
        return records

    def members(self, record: Record) -> int:
        """Return how many duplicates of the same kept page were counted."""
        return self.groups[shortened(record.kept_url)].pages if record.is_duplicate else 0

    def _add_skipped(self, record: Record) -> None:
        skipped = self.skipped[shortened(record.decision.reason)]
        skipped.pages += 1
        if len(skipped.examples) < EXAMPLES:
            error = record.error and shortened(record.error)
            skipped.examples.append({"url": shortened(record.url), "error": error})
        self.sites[record.address.host].skipped += 1

    def _add_judged(self, record: Record) -> None:
        if record.decision.verdict == "variant":
            self.variants[record.why] += 1
            first_of = {
                (told.kind, shortened(told.place)): told for told in record.decision.new[::-1]
            }
            for key, told in first_of.items():
                self.novelties[key].add(record, told.text)
        # A body that is known is not analysed again, and takes no time (workers/recall.py).
        self.analyses_avoided += record.analysis_seconds == 0
        self.analysis_seconds += record.analysis_seconds or 0.0
        self.index_seconds += record.index_seconds or 0.0
        self.sites[record.address.host].add(record)
        self.patterns[record.pattern].add(record)
        if group := self.groups.get(shortened(record.decision.replaces or "")):
            group.better = ()
        if record.is_duplicate:
            if record.decision.share is not None:
                self.shares[int(record.decision.share * SHARE_STEPS)] += 1
            self.groups[shortened(record.kept_url)].add(record)
        elif record.decision.closest is not None:
            share, distance, url = record.decision.closest
            self.missed_shares[int(share * SHARE_STEPS)] += 1
            near = share, shortened(record.url), shortened(url), distance
            heappush(self.near_misses, near)
            if len(self.near_misses) > NEAR_MISSES:
                heappop(self.near_misses)


def shortened(text: str) -> str:
    """Return *text*, cut after :data:`MAX_URL` characters."""
    return text if len(text) <= MAX_URL else text[:MAX_URL] + "\N{HORIZONTAL ELLIPSIS}"
