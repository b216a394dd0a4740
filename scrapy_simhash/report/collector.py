"""The collector: takes the decisions one by one and keeps what the report tells of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from scrapy_simhash.report.addresses import MAX_URL, Address, AddressRule, difference
from scrapy_simhash.report.alarms import Alarm, Watch
from scrapy_simhash.report.counting import Distinct, Heaviest, Largest, Timeline
from scrapy_simhash.report.lines import Line
from scrapy_simhash.report.sample import PageSample

# So a collector of 10 million pages takes less than 30 MB (benchmarks/bench_report.py).
GROUPS = 2000
SITES = 2000
PATTERNS = 2000
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

    def add(self, line: Line) -> None:
        self.pages += 1
        self.exact += line.verdict == "exact_duplicate"
        self.body_bytes += line.body_bytes
        if len(self.urls) < GROUP_URLS:
            self.urls.append(shortened(line.url))


@dataclass(slots=True)
class Source:
    """Judged pages of a site, of a pattern, or with a parameter, and bytes of the duplicates."""

    pages: int = 0
    duplicates: int = 0
    body_bytes: int = 0
    skipped: int = 0

    def add(self, line: Line) -> None:
        self.pages += 1
        if line.duplicate:
            self.duplicates += 1
            self.body_bytes += line.body_bytes


@dataclass(slots=True)
class RuleCount:
    """Duplicates whose address differs from that of the kept page by one rule only."""

    duplicates: int = 0
    body_bytes: int = 0
    kept: Distinct = field(default_factory=Distinct)
    examples: list[tuple[str, str]] = field(default_factory=list)

    def add(self, line: Line) -> None:
        self.duplicates += 1
        self.body_bytes += line.body_bytes
        self.kept.add(line.text)
        if len(self.examples) < EXAMPLES:
            self.examples.append((shortened(line.url), shortened(line.text)))


@dataclass(slots=True)
class RedirectCount:
    """Judged pages that a redirect from one pattern to another led to."""

    pages: int = 0
    duplicates: int = 0
    body_bytes: int = 0
    examples: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, asked: str, line: Line) -> None:
        self.pages += 1
        if not line.duplicate:
            return
        self.duplicates += 1
        self.body_bytes += line.body_bytes
        if len(self.examples) < EXAMPLES:
            self.examples.append((shortened(asked), shortened(line.url), shortened(line.text)))


@dataclass(slots=True)
class Skipped:
    """Pages that were not judged, for one reason."""

    pages: int = 0
    examples: list[tuple[str, str | None]] = field(default_factory=list)


def _sources(limit: int) -> Heaviest[str, Source]:
    return Heaviest(limit, Source, attrgetter("pages"))


class Collector:
    """What is kept of all decisions: less than 30 MB, whatever the crawl's size.

    It can be pickled, so that a crawl that is resumed goes on counting.  *duplicate_share* is
    the share of recent duplicates above which there is an alarm, *pauses* are the seconds after
    which alarms may be raised again.
    """

    def __init__(self, duplicate_share: float, pauses: Mapping[str, float] | None = None) -> None:
        self.watch = Watch(duplicate_share, pauses)
        # By name and subject, as each was raised first.
        self.alarms: dict[tuple[str, str], Alarm] = {}
        self.pages = 0
        self.unreadable_lines = 0
        self.body_bytes = 0
        self.verdicts: Counter[str] = Counter()
        self.dropped = 0
        self.dropped_bytes = 0
        self.flagged = 0
        self.unchanged = 0
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
        # Known to a crawl, and to no decision.
        self.links_not_followed: int | None = None
        self.skipped: Heaviest[str, Skipped] = Heaviest(REASONS, Skipped, attrgetter("pages"))
        self.slowest: Largest[str] = Largest(SLOWEST)

    def add(self, line: Line) -> list[Alarm]:
        """Take in a decision, and return the alarms that it raises; O(1), amortised."""
        self.pages += 1
        self.body_bytes += line.body_bytes
        self.verdicts[line.verdict] += 1
        self.timeline.add(line.judged_at, line.duplicate)
        if line.verdict == "skipped":
            self._add_skipped(line)
        else:
            self._add_judged(line)
        raised = list(self.watch.look(line))
        for alarm in raised:
            self.alarms.setdefault((alarm.name, alarm.subject), alarm)
        return raised

    def members(self, line: Line) -> int:
        """Return how many duplicates of the same kept page there were."""
        return self.groups[shortened(line.text)].pages if line.duplicate else 0

    def _add_skipped(self, line: Line) -> None:
        skipped = self.skipped[shortened(line.reason)]
        skipped.pages += 1
        if len(skipped.examples) < EXAMPLES:
            error = None if line.error is None else shortened(line.error)
            skipped.examples.append((shortened(line.url), error))
        self.sites[line.address.host].skipped += 1

    def _add_judged(self, line: Line) -> None:
        if line.action == "drop":
            self.dropped += 1
            self.dropped_bytes += line.body_bytes
        self.flagged += line.action == "flag"
        self.unchanged += line.reason == "unchanged"
        self.analysis_seconds += line.analysis_seconds
        self.index_seconds += line.index_seconds
        if line.analysis_seconds > self.slowest.least:
            self.slowest.add(line.analysis_seconds, shortened(line.url))
        address = line.address
        self.sample.add(line.slug, line.url, line.text)
        self.sites[address.host].add(line)
        self.patterns[line.pattern].add(line)
        for name in address.names:
            self.parameters[address.host, name].add(line)
        if line.redirected_from is not None:
            self.redirected += 1
            pattern = Address.of(line.redirected_from).pattern
            self.redirects[pattern, line.pattern].add(line.redirected_from, line)
        if line.duplicate:
            self._add_duplicate(line)
        elif line.closest is not None:
            share, distance, url = line.closest
            self.missed_shares[int(share * SHARE_STEPS)] += 1
            self.near_misses.add(share, (shortened(line.url), shortened(url), distance))

    def _add_duplicate(self, line: Line) -> None:
        self.distances[line.distance or 0] += 1
        if line.share is not None:
            self.shares[int(line.share * SHARE_STEPS)] += 1
        self.groups[shortened(line.text)].add(line)
        rule = difference(line.address, Address.of(line.text))
        if rule is not None:
            self.rules[rule].add(line)


def shortened(text: str) -> str:
    """Return *text*, cut where nobody would read on."""
    return text if len(text) <= MAX_URL else text[:MAX_URL] + "\N{HORIZONTAL ELLIPSIS}"
