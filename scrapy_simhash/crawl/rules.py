"""What a crawl learns of addresses: rules, and the downloads that they would have made needless."""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from scrapy_simhash.crawl import signals
from scrapy_simhash.crawl.dead_ends import CrawlMissing, CrawlTraps, PageText, sight_of
from scrapy_simhash.crawl.parking import MAX_COUNTED, Parking, RuleOwner, is_exempt
from scrapy_simhash.crawl.requests import RequestFacts, redirects_in
from scrapy_simhash.crawl.run import JobState
from scrapy_simhash.decision.page import NEW_ADDRESSES
from scrapy_simhash.report.document import iso_time
from scrapy_simhash.url_rules.dead_ends import MissingPages, Traps
from scrapy_simhash.url_rules.learner import Learner, Lesson, PageForRules, RuleMatch
from scrapy_simhash.urls import MAX_URL, Address

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Request

    from scrapy_simhash.analysis.analyser import PageAnalysis
    from scrapy_simhash.crawl.reach import Reach
    from scrapy_simhash.decision.page import Decision, Page
    from scrapy_simhash.index.base import Index
    from scrapy_simhash.report.alarms import Alarm
    from scrapy_simhash.settings import SimhashSettings
    from scrapy_simhash.url_rules.evidence import Hypothesis
    from scrapy_simhash.url_rules.rule import AddressRule, Kind

logger = logging.getLogger(__name__)

# Rules in the report, and folder patterns that are named for each.
ROWS = 20
NAMED_PATTERNS = 5


@dataclass(slots=True)
class Savings:
    """Downloaded pages that were kept elsewhere according to a rule: how many were *known* indeed.

    The *lost* ones had content of their own: the rule would have lost them.
    """

    known: int = 0
    known_bytes: int = 0
    lost: int = 0


class DeadEnds(NamedTuple):
    """What a crawl knows of traps and of missing pages."""

    traps: Traps
    missing: MissingPages[PageText]


class AddressRules:
    """Learns rules from the verdicts of a crawl, and counts what they would have saved.

    If there is a *place* for them, requests are parked by the rules (parking.py).  Nothing is
    learned from walls, pages without content of their own, and pages after a redirect.
    """

    def __init__(
        self,
        crawler: Crawler,
        index: Index,
        settings: SimhashSettings,
        facts: RequestFacts,
        place: Path | None,
    ) -> None:
        self._crawler = crawler
        self._facts = facts
        self._index = index
        self._learner = Learner(index.address_rules)
        self._state = JobState(crawler, "traps", DeadEnds)
        known = self._state.load()
        # So a run that is killed leaves no state, since that of its start is out of date.
        self._state.remove()
        traps, missing = self._dead_ends = known or DeadEnds(Traps(), MissingPages())
        self._parking = None
        if place is not None:
            owners: dict[Kind, RuleOwner] = {"trap": traps, "missing": missing}
            self._parking = Parking(crawler, self._learner, owners, settings, facts, place)
        self.traps = CrawlTraps(crawler, traps, self._parking)
        self.missing = CrawlMissing(crawler, index, missing, self._parking)
        if known is None:
            self.traps.restore()
        else:
            traps.resume()
            missing.resume()
        # The URLs of kept pages, cut as those of alarms are; the alarms on one text are few.
        self._walls: set[str] = set()
        crawler.signals.connect(self.alarm_raised, signals.alarm_raised)
        self._savings: dict[AddressRule, Savings] = defaultdict(Savings)
        self._warned: set[AddressRule] = set()

    async def learn(
        self, request: Request, page: Page, decision: Decision, body_bytes: int
    ) -> None:
        """Learn from the verdict on a page; if anything fails, only a lesson is lost."""
        try:
            lesson = self._lesson(request, page, decision)
            if lesson.match is not None and not is_exempt(request):
                self._count(lesson.match, decision, body_bytes)
            self._tell(lesson)
            site = self._index.address_rules.take_due(Address.of(page.url).host)
            if site is not None:
                await self._index.store_rules(site)
        except Exception:
            logger.debug("A page taught no rule", exc_info=True)

    def note_links(
        self, request: Request, page: Page, decision: Decision, analysis: PageAnalysis, reach: Reach
    ) -> None:
        """Learn where a judged page leads, before the spider counts as handed what is on it.

        If anything fails, only a lesson is lost.
        """
        try:
            links = [one.address for one in page.holds.addresses if one.kind == "link"]
            unmet = reach.unmet(links)
            if not decision.is_duplicate:
                sight = sight_of(page, decision, analysis.gist, reach, links, unmet)
                self.traps.learn(page.url, sight)
            self.missing.learn(request, page, decision, analysis.gist, links, unmet)
        except Exception:
            logger.debug("A page taught nothing of traps", exc_info=True)

    def consider(self, request: Request) -> None:
        """Park a request if a rule says that its page is kept already, or if it leads into a trap.

        :raises RuledOut: it is parked.
        """
        self.missing.consider(request)
        self.traps.consider(request)
        if self._parking is not None:
            self._parking.consider(request)

    def answered(self, request: Request, decision: Decision | None) -> None:
        """Note the answer to a request; *decision* is None if there was none.

        If it was parked, and its page is kept now, the rule was wrong; its keys cannot show this,
        since those of an earlier run are not known.  The rule was not wrong if the page for which
        the request was parked is not kept any more, or if this page is kept only for links that the
        rule makes known.  If it is kept for other links or media, the rule is wrong in this pattern
        only: the links of a copy may have been known.
        """
        asked = None if self._parking is None else self._parking.answered(request)
        if asked is None or self._parking is None or decision is None:
            return
        if asked.tests_rule and decision.stands_for_others and not decision.is_alias:
            leads_on = decision.reason in NEW_ADDRESSES
            self._learner.fail(asked.rule, asked.pattern, leads_on)
            self._crawler.stats.inc_value("simhash/rules/recovered")
            self._parking.release(asked.rule, asked.pattern if leads_on else None)

    def clear_doubtful(self, url: str) -> None:
        """Forget the failures whose cause is known now: something that changes by itself."""
        self._learner.clear_doubtful(url)

    def forget(self, url: str, party: str) -> None:
        """Forget that a page was kept, since it was taken back or is a wall."""
        content = self._learner.forget(url, party)
        if self._parking is not None:
            self._parking.release_content(content)

    def alarm_raised(self, alarm: Alarm, spider: Spider) -> None:
        """Forget that a page was kept if it is a wall, even if walls are dropped."""
        if alarm.name == "one_text":
            self._walls.add(alarm.subject)
            for party in self._learner.parties_of(alarm.subject):
                self.forget(alarm.subject, party)

    def close(self, is_done: bool) -> None:
        """Keep what is parked; and what is known of dead ends, unless the crawl *is_done*."""
        if self._parking is not None:
            self._parking.close()
        if not is_done:
            self._state.save(self._dead_ends)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rules that could act at some time, as the report shows them."""
        known = [one for one in self._index.address_rules.all() if one.learned is not None]
        known.sort(key=lambda one: (-self._saved(one).known, -one.keys))
        return [self._row(one) for one in known[:ROWS]]

    def _lesson(self, request: Request, page: Page, decision: Decision) -> Lesson:
        party = self._facts.of(request).party
        kept_url = decision.kept_url(page.url)
        if decision.reason == "wall" or kept_url[:MAX_URL] in self._walls:
            self.forget(kept_url, party)
            return Lesson()
        # What the spider asks for again may have been a copy before, and parked others.
        is_again = decision.verdict == "refresh" and request.dont_filter
        if is_again or redirects_in(request.meta) or not self._index.parameters.views(page):
            return Lesson()
        return self._learner.learn(
            PageForRules(
                page.url,
                decision.content_url(page.url),
                party,
                is_doubtful=decision.may_be_noise,
                leads_on=decision.reason in NEW_ADDRESSES,
            )
        )

    def _count(self, match: RuleMatch, decision: Decision, body_bytes: int) -> None:
        stats, rule = self._crawler.stats, match.hypothesis.rule
        if len(self._savings) >= MAX_COUNTED and rule not in self._savings:
            return
        savings = self._savings[rule]
        if decision.is_duplicate or decision.is_alias:
            savings.known += 1
            savings.known_bytes += body_bytes
            stats.inc_value("simhash/rules/known")
            stats.inc_value("simhash/rules/known_bytes", body_bytes)
        else:
            savings.lost += 1
            stats.inc_value("simhash/rules/lost")

    def _tell(self, lesson: Lesson) -> None:
        stats, extra = self._crawler.stats, {"spider": self._crawler.spider}
        if lesson.tried:
            stats.inc_value("simhash/rules/keys", len(lesson.tried))
        for one in lesson.learned:
            stats.inc_value("simhash/rules/learned")
            logger.info(
                "Learned after %(keys)d keys: %(rule)s",
                {"keys": one.keys, "rule": one.rule},
                extra=extra,
            )
        if lesson.refuted:
            stats.inc_value("simhash/rules/failures", len(lesson.refuted))
        for one, pattern in lesson.suspended:
            if self._parking is not None:
                self._parking.release(one.rule, pattern)
            if one.frozen:
                self._warn_of(one)
            elif one.learned is not None:
                logger.info("Not always true: %(rule)s", {"rule": one.rule}, extra=extra)

    def _warn_of(self, frozen: Hypothesis) -> None:
        """Warn of a frozen rule that fails, once."""
        if frozen.rule not in self._warned:
            self._warned.add(frozen.rule)
            logger.warning(
                "Frozen, but not true; not used in this crawl where it failed: %(rule)s",
                {"rule": frozen.rule},
                extra={"spider": self._crawler.spider},
            )

    def _saved(self, one: Hypothesis) -> Savings:
        return self._savings.get(one.rule) or Savings()

    def _row(self, one: Hypothesis) -> dict[str, Any]:
        rule, savings, acts = one.rule, self._saved(one), one.acts()
        return {
            **rule.as_row(),
            "began": iso_time(one.began),
            "learned": iso_time(one.learned or one.seen),
            "seen": iso_time(one.seen),
            "keys": one.keys,
            "failures": one.failures,
            "rate": round(one.rate, 3),
            "frozen": bool(one.frozen),
            "templates": acts[:NAMED_PATTERNS],
            "templates_in_all": len(acts),
            "known": savings.known,
            "known_bytes": savings.known_bytes,
            "lost": savings.lost,
            **({} if self._parking is None else self._parking.life(rule)),
        }


# The report shows what the middleware of the same crawl has learned.
_of_crawls: WeakKeyDictionary[Crawler, AddressRules] = WeakKeyDictionary()


def start_learning(
    crawler: Crawler,
    index: Index,
    settings: SimhashSettings,
    facts: RequestFacts,
    place: Path | None,
) -> AddressRules:
    """Return what learns rules in a crawl; it parks requests at *place*, if there is one."""
    rules = _of_crawls[crawler] = AddressRules(crawler, index, settings, facts, place)
    return rules


def traps_in(crawler: Crawler) -> list[dict[str, Any]]:
    """Return the rows of the report on the traps that a crawl has found, and on missing pages."""
    rules = _of_crawls.get(crawler)
    return [] if rules is None else [*rules.traps.rows(), *rules.missing.rows()]


def learned_in(crawler: Crawler) -> list[dict[str, Any]]:
    """Return the rows of the report on the rules of a crawl; none if it learns none."""
    rules = _of_crawls.get(crawler)
    return [] if rules is None else rules.rows()
