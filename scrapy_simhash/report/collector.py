"""The collector: takes the records one by one and keeps what the report needs of them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy_simhash.decision.page import NEW_ADDRESSES
from scrapy_simhash.hashes import hash_of
from scrapy_simhash.report.alarms import DUPLICATE_SHARE, Alarm, AlarmWatch
from scrapy_simhash.report.counting import Distinct, Heaviest, Timeline, keep_largest
from scrapy_simhash.report.record import Outcome, Record
from scrapy_simhash.urls import MAX_URL, Address

if TYPE_CHECKING:
    from scrapy_simhash.url_rules.rule import AddressRule

# With these limits a collector of 10 million pages takes less than 30 MB
# (benchmarks/bench_report.py).
GROUPS = 2000
SITES = 2000
PATTERNS = 2000
SECTIONS = 2000
PARAMETERS = 1000
NOVELTIES = 500
RULES = 500
REDIRECTS = 500
REASONS = 50
# With addresses of 100 bytes the sample takes about 3 MB.
SAMPLED_PAGES = 10_000
# Of one slug in the sample: a site may end all its paths in the same way.
PAGES_OF_A_SLUG = 100

GROUP_URLS = 5
EXAMPLES = 3
SLOWEST = 10
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

    def add(self, record: Record) -> None:
        self.pages += 1
        self.exact += record.decision.verdict == "exact_duplicate"
        self.body_bytes += record.body_bytes
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
class RuleCount(Spent):
    """Duplicates whose address differs from that of the kept page by one rule."""

    kept: Distinct = field(default_factory=Distinct)
    examples: list[dict[str, str]] = field(default_factory=list)

    def add(self, record: Record) -> None:
        Spent.add(self, record)
        self.kept.add(record.kept_url)
        if len(self.examples) < EXAMPLES:
            self.examples.append(
                {"duplicate": shortened(record.url), "kept": shortened(record.kept_url)}
            )


@dataclass(slots=True)
class RedirectCount(SourceCount):
    """Judged pages that were reached by a redirect from one pattern to another."""

    examples: list[dict[str, str]] = field(default_factory=list)

    def add(self, record: Record) -> None:
        SourceCount.add(self, record)
        if record.is_duplicate and len(self.examples) < EXAMPLES:
            urls = {"asked": record.redirects[0], "duplicate": record.url, "kept": record.kept_url}
            self.examples.append({name: shortened(url) for name, url in urls.items()})


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
        self.distances: Counter[int] = Counter()
        self.shares: Counter[int] = Counter()
        self.missed_shares: Counter[int] = Counter()
        # Of each a few, the largest last: a share with a page and its closest, the time of a page.
        self.near_misses: list[tuple[float, str, str, int]] = []
        self.slowest: list[tuple[float, str]] = []
        self.groups: Heaviest[str, Group] = Heaviest(GROUPS, Group)
        # Kept pages of which a duplicate may be the better copy, by why.
        self.better: defaultdict[str, Distinct] = defaultdict(Distinct)
        self.sites: Heaviest[str, SourceCount] = Heaviest(SITES, SourceCount)
        self.patterns: Heaviest[str, SourceCount] = Heaviest(PATTERNS, SourceCount)
        # By kind and place: what holds variants apart from their kept pages.
        self.novelties: Heaviest[tuple[str, str], Novelty] = Heaviest(NOVELTIES, Novelty)
        self.sections: Heaviest[str, Counter[str]] = Heaviest(SECTIONS, Counter, Counter.total)
        self.parameters: Heaviest[tuple[str, str], SourceCount] = Heaviest(PARAMETERS, SourceCount)
        self.rules: Heaviest[AddressRule, RuleCount] = Heaviest(RULES, RuleCount)
        self.redirected = 0
        self.redirects: Heaviest[tuple[str, str], RedirectCount] = Heaviest(
            REDIRECTS, RedirectCount
        )
        self.sample = PageSample()
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

    def add_lines(self, lines: Iterable[bytes]) -> None:
        """Count the records in the lines of a decisions feed; other lines count as unreadable.

        A full disk or a kill may have cut a line short.  Takes about 15 us a line.
        """
        for line in lines:
            if not line.strip():
                continue
            try:
                record = Record.from_json(json.loads(line.decode()))
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
                self.unreadable_lines += 1
            else:
                self.add(record)

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
        analysis_seconds = record.analysis_seconds or 0.0
        if record.decision.verdict == "variant":
            self.variants[record.decision.reason] += 1
            first_of = {
                (told.kind, shortened(told.place)): told for told in record.decision.new[::-1]
            }
            for key, told in first_of.items():
                self.novelties[key].add(record, told.text)
        # A body that is known is not analysed again, and takes no time (workers/recall.py).
        self.analyses_avoided += record.analysis_seconds == 0
        self.analysis_seconds += analysis_seconds
        self.index_seconds += record.index_seconds or 0.0
        keep_largest(self.slowest, (analysis_seconds, shortened(record.url)), SLOWEST)
        address = record.address
        decision = record.decision
        leads_on = decision.verdict == "variant" and decision.reason in NEW_ADDRESSES
        text_of = decision.representative if leads_on else None
        self.sample.add(record.slug, record.url, text_of or record.kept_url, leads_on)
        self.sites[address.host].add(record)
        self.patterns[record.pattern].add(record)
        for name in address.names:
            self.parameters[address.host, name].add(record)
        if record.asked_url is not None:
            self.redirected += 1
            pattern = Address.of(record.asked_url).pattern
            self.redirects[pattern, record.pattern].add(record)
        if (replaced := decision.replaces) is not None:
            for kept in self.better.values():
                kept.hashes.discard(hash_of(replaced))
        if record.is_duplicate:
            self._add_duplicate(record)
        elif record.decision.closest is not None:
            share, distance, url = record.decision.closest
            self.missed_shares[int(share * SHARE_STEPS)] += 1
            near = share, shortened(record.url), shortened(url), distance
            keep_largest(self.near_misses, near, NEAR_MISSES)

    def _add_duplicate(self, record: Record) -> None:
        # Not before it is needed: a crawl may have neither duplicates nor rules.
        from scrapy_simhash.url_rules.rule import difference

        self.distances[record.decision.distance or 0] += 1
        if record.decision.share is not None:
            self.shares[int(record.decision.share * SHARE_STEPS)] += 1
        self.groups[shortened(record.kept_url)].add(record)
        for why in record.decision.better:
            self.better[why].add(record.kept_url)
        rule = difference(record.address, Address.of(record.kept_url))
        if rule is not None:
            self.rules[rule].add(record)


@dataclass
class Evidence:
    """What the sample says about a rule.

    The rule takes some pages for others.  *same* of them had the text of one of those, *leading*
    only new links or media beside it, and *different* had another text, which would have been lost.
    *examples* are pages with another text, each with the page that it is taken for.
    """

    same: int = 0
    leading: int = 0
    different: int = 0
    examples: list[tuple[str, str]] = field(default_factory=list)


class PageSample:
    """Judged pages, each with the text that it was found to have, and whether it leads on.

    The addresses of one page mostly share their slug (the last segment of the path).  Pages are
    sampled by the hash of their slug, so those with one slug are all kept or all left out, and
    what is true of the sample is true of the crawl.  Up to *limit* pages, all are kept.
    """

    def __init__(self, limit: int = SAMPLED_PAGES) -> None:
        self.limit = limit
        self.level = 0
        self.size = 0
        self._texts: dict[str, dict[str, tuple[int, bool]]] = {}

    def add(self, slug: str, url: str, text_of: str, leads_on: bool = False) -> None:
        """Note that the page at *url* has the text of the page at *text_of*; O(1), amortised.

        *leads_on*: it was kept for links or media alone.
        """
        if not self._takes(slug) or len(url) > MAX_URL:
            return
        texts = self._texts.setdefault(slug, {})
        if url not in texts:
            if len(texts) >= PAGES_OF_A_SLUG:
                return
            self.size += 1
        text, _ = texts.get(text_of, (hash_of(text_of), False))
        texts[url] = text, leads_on
        while self.size > self.limit and self.level < 32:
            self._thin()

    @property
    def share(self) -> float:
        """The share of all slugs that the sample holds."""
        return 1 / (1 << self.level)

    def evidence(self, rules: Iterable[AddressRule]) -> dict[AddressRule, Evidence]:
        """Test each rule against the sample; O(rules x pages sampled)."""
        found = {rule: Evidence() for rule in rules}
        by_host: dict[str, list[AddressRule]] = defaultdict(list)
        for rule in found:
            by_host[rule.host].append(rule)
        for texts in self._texts.values():
            pages = [(url, Address.of(url), text) for url, text in texts.items()]
            for host in {page.host for _, page, _ in pages}:
                for rule in by_host.get(host, ()):
                    _test(rule, pages, found[rule])
        return found

    def _takes(self, slug: str) -> bool:
        return not hash_of(slug) & ((1 << self.level) - 1)

    def _thin(self) -> None:
        """Remove about half of the slugs."""
        self.level += 1
        self._texts = {slug: texts for slug, texts in self._texts.items() if self._takes(slug)}
        self.size = sum(map(len, self._texts.values()))


def _test(
    rule: AddressRule, pages: list[tuple[str, Address, tuple[int, bool]]], evidence: Evidence
) -> None:
    """Compare the texts of pages that *rule* makes one, and count them in *evidence*."""
    for (first_url, (first_text, _)), *others in _made_one(rule, pages):
        texts = {first_text}
        for url, (text, leads_on) in others:
            if text in texts:
                evidence.leading += leads_on
                evidence.same += not leads_on
            else:
                texts.add(text)
                evidence.different += 1
                if len(evidence.examples) < EXAMPLES:
                    evidence.examples.append((url, first_url))


def _made_one(
    rule: AddressRule, pages: list[tuple[str, Address, tuple[int, bool]]]
) -> Iterator[list[tuple[str, tuple[int, bool]]]]:
    """Yield the groups of pages that *rule* makes one; the page to prefer comes first."""
    groups: dict[Address, list[tuple[str, tuple[int, bool]]]] = defaultdict(list)
    concerned: set[Address] = set()
    for url, address, text in pages:
        preferred = rule.applied(address)
        if preferred is None:
            groups[address].insert(0, (url, text))
        else:
            concerned.add(preferred)
            groups[preferred].append((url, text))
    for address in concerned:
        if len(groups[address]) > 1:
            yield groups[address]


def shortened(text: str) -> str:
    """Return *text*, cut after :data:`MAX_URL` characters."""
    return text if len(text) <= MAX_URL else text[:MAX_URL] + "\N{HORIZONTAL ELLIPSIS}"
