"""The collector: takes the records one by one and keeps what the report needs of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from scrapy_simhash.report.alarms import Alarm, Watch
from scrapy_simhash.report.counting import Distinct, Heaviest, Largest, Timeline
from scrapy_simhash.report.outcome import Outcome, outcome_of, why_of
from scrapy_simhash.report.record import Record
from scrapy_simhash.report.sample import PageSample
from scrapy_simhash.url_rules.rule import AddressRule, difference
from scrapy_simhash.urls import MAX_URL, Address

# With these limits a collector of 10 million pages takes less than 30 MB
# (benchmarks/bench_report.py).
GROUPS = 2000
SITES = 2000
PATTERNS = 2000
SECTIONS = 2000
PARAMETERS = 1000
RULES = 500
REDIRECTS = 500
REASONS = 50

GROUP_URLS = 5
EXAMPLES = 3
SLOWEST = 10
NEAR_MISSES = 10
# Shares are counted in steps of 5 %.
SHARE_STEPS = 20


@dataclass(slots=True)
class Group:
    """Duplicates of one kept page."""

    pages: int = 0
    exact: int = 0
    body_bytes: int = 0
    urls: list[str] = field(default_factory=list)

    def add(self, record: Record) -> None:
        self.pages += 1
        self.exact += record.decision.verdict == "exact_duplicate"
        self.body_bytes += record.body_bytes
        if len(self.urls) < GROUP_URLS:
            self.urls.append(shortened(record.url))


@dataclass(slots=True)
class Source:
    """Judged pages of a site, of a pattern, or with a parameter; *body_bytes* of the duplicates."""

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
class RuleCount:
    """Duplicates whose address differs from that of the kept page by one rule."""

    duplicates: int = 0
    body_bytes: int = 0
    analysis_seconds: float = 0.0
    kept: Distinct = field(default_factory=Distinct)
    examples: list[tuple[str, str]] = field(default_factory=list)

    def add(self, record: Record) -> None:
        self.duplicates += 1
        self.body_bytes += record.body_bytes
        self.analysis_seconds += record.analysis_seconds or 0.0
        self.kept.add(record.kept_url)
        if len(self.examples) < EXAMPLES:
            self.examples.append((shortened(record.url), shortened(record.kept_url)))


@dataclass(slots=True)
class RedirectCount:
    """Judged pages that were reached by a redirect from one pattern to another."""

    pages: int = 0
    duplicates: int = 0
    body_bytes: int = 0
    examples: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, asked: str, record: Record) -> None:
        self.pages += 1
        if not record.is_duplicate:
            return
        self.duplicates += 1
        self.body_bytes += record.body_bytes
        if len(self.examples) < EXAMPLES:
            self.examples.append(
                (shortened(asked), shortened(record.url), shortened(record.kept_url))
            )


@dataclass(slots=True)
class Skipped:
    """Pages that were not judged, for one reason."""

    pages: int = 0
    examples: list[tuple[str, str | None]] = field(default_factory=list)


def _sources(limit: int) -> Heaviest[str, Source]:
    return Heaviest(limit, Source, attrgetter("pages"))


class Collector:
    """What is kept of all records: less than 30 MB at any number of pages.

    It can be pickled, so that a crawl that is resumed goes on counting.  *duplicate_share* and
    *pauses* are those of :class:`~scrapy_simhash.report.alarms.Watch`.
    """

    def __init__(self, duplicate_share: float, pauses: Mapping[str, float] | None = None) -> None:
        self.watch = Watch(duplicate_share, pauses)
        # By name and subject: the first of each.
        self.alarms: dict[tuple[str, str], Alarm] = {}
        self.pages = 0
        self.unreadable_lines = 0
        self.body_bytes = 0
        self.verdicts: Counter[str] = Counter()
        self.dropped = 0
        self.dropped_bytes = 0
        self.dropped_seconds = 0.0
        self.observed = 0
        self.observed_bytes = 0
        self.observed_seconds = 0.0
        self.flagged = 0
        self.unchanged = self.moved = 0
        self.variants: Counter[str] = Counter()
        self.outcomes: Counter[tuple[Outcome, str]] = Counter()
        self.analyses_avoided = 0
        self.analysis_seconds = 0.0
        self.index_seconds = 0.0
        self.timeline = Timeline()
        self.distances: Counter[int] = Counter()
        self.shares: Counter[int] = Counter()
        self.missed_shares: Counter[int] = Counter()
        self.near_misses: Largest[tuple[str, str, int]] = Largest(NEAR_MISSES)
        self.groups: Heaviest[str, Group] = Heaviest(GROUPS, Group, attrgetter("pages"))
        self.sites = _sources(SITES)
        self.patterns = _sources(PATTERNS)
        self.sections: Heaviest[str, Counter[str]] = Heaviest(SECTIONS, Counter, Counter.total)
        self.parameters: Heaviest[tuple[str, str], Source] = Heaviest(
            PARAMETERS, Source, attrgetter("pages")
        )
        self.rules: Heaviest[AddressRule, RuleCount] = Heaviest(
            RULES, RuleCount, attrgetter("duplicates")
        )
        self.redirected = 0
        self.redirects: Heaviest[tuple[str, str], RedirectCount] = Heaviest(
            REDIRECTS, RedirectCount, attrgetter("pages")
        )
        self.sample = PageSample()
        # A crawl knows this number; no record says it.
        self.links_not_followed: int | None = None
        self.skipped: Heaviest[str, Skipped] = Heaviest(REASONS, Skipped, attrgetter("pages"))
        self.slowest: Largest[str] = Largest(SLOWEST)

    def add(self, record: Record) -> list[Alarm]:
        """Count a record, and return the alarms that it raises; O(1), amortised."""
        self.pages += 1
        self.body_bytes += record.body_bytes
        self.verdicts[record.decision.verdict] += 1
        outcome, why = outcome_of(record), why_of(record)
        self.outcomes[outcome, why] += 1
        if why == "observed":
            self.observed += 1
            self.observed_bytes += record.body_bytes
            self.observed_seconds += record.analysis_seconds or 0.0
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

    def members(self, record: Record) -> int:
        """Return how many duplicates of the same kept page were counted."""
        return self.groups[shortened(record.kept_url)].pages if record.is_duplicate else 0

    def _add_skipped(self, record: Record) -> None:
        skipped = self.skipped[shortened(record.decision.reason)]
        skipped.pages += 1
        if len(skipped.examples) < EXAMPLES:
            error = None if record.error is None else shortened(record.error)
            skipped.examples.append((shortened(record.url), error))
        self.sites[record.address.host].skipped += 1

    def _add_judged(self, record: Record) -> None:
        analysis_seconds = record.analysis_seconds or 0.0
        if record.action == "drop":
            self.dropped += 1
            self.dropped_bytes += record.body_bytes
            self.dropped_seconds += analysis_seconds
        self.flagged += record.action == "flag"
        self.unchanged += record.decision.reason == "unchanged"
        self.moved += record.decision.reason == "moved"
        if record.decision.verdict == "variant":
            self.variants[record.decision.reason] += 1
        # A body that is known is not analysed again, and takes no time (workers/recall.py).
        self.analyses_avoided += not analysis_seconds
        self.analysis_seconds += analysis_seconds
        self.index_seconds += record.index_seconds or 0.0
        if analysis_seconds > self.slowest.least:
            self.slowest.add(analysis_seconds, shortened(record.url))
        address = record.address
        self.sample.add(record.slug, record.url, record.kept_url)
        self.sites[address.host].add(record)
        self.patterns[record.pattern].add(record)
        for name in address.names:
            self.parameters[address.host, name].add(record)
        if record.asked_url is not None:
            self.redirected += 1
            pattern = Address.of(record.asked_url).pattern
            self.redirects[pattern, record.pattern].add(record.asked_url, record)
        if record.is_duplicate:
            self._add_duplicate(record)
        elif record.decision.closest is not None:
            share, distance, url = record.decision.closest
            self.missed_shares[int(share * SHARE_STEPS)] += 1
            self.near_misses.add(share, (shortened(record.url), shortened(url), distance))

    def _add_duplicate(self, record: Record) -> None:
        self.distances[record.decision.distance or 0] += 1
        if record.decision.share is not None:
            self.shares[int(record.decision.share * SHARE_STEPS)] += 1
        self.groups[shortened(record.kept_url)].add(record)
        rule = difference(record.address, Address.of(record.kept_url))
        if rule is not None:
            self.rules[rule].add(record)


def shortened(text: str) -> str:
    """Return *text*, cut after :data:`MAX_URL` characters."""
    return text if len(text) <= MAX_URL else text[:MAX_URL] + "\N{HORIZONTAL ELLIPSIS}"
