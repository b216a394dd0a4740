"""What a crawl learns of addresses: rules, and the downloads that they would have made needless."""

from __future__ import annotations

import logging
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from scrapy_simhash.addresses.address import MAX_URL, Address
from scrapy_simhash.addresses.learner import Judged, Learner, Lesson
from scrapy_simhash.addresses.matches import Match
from scrapy_simhash.addresses.missing import MissingPages
from scrapy_simhash.addresses.traps import Traps
from scrapy_simhash.crawl import signals
from scrapy_simhash.crawl.parking import MAX_COUNTED, Parking, Watch, is_exempt
from scrapy_simhash.crawl.redirects import redirects_in
from scrapy_simhash.crawl.requests import RequestFacts
from scrapy_simhash.crawl.soft404 import CrawlMissing, Said
from scrapy_simhash.crawl.state import JobState
from scrapy_simhash.crawl.traps import CrawlTraps, sight_of
from scrapy_simhash.report.document import iso_time
from scrapy_simhash.rule.page import NEW_ADDRESSES

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Request

    from scrapy_simhash.addresses.evidence import Hypothesis
    from scrapy_simhash.addresses.rule import AddressRule, Kind
    from scrapy_simhash.analysis.page import PageAnalysis
    from scrapy_simhash.crawl.known import Reach
    from scrapy_simhash.index.base import Index
    from scrapy_simhash.report.alarms import Alarm
    from scrapy_simhash.rule.page import Decision, Page
    from scrapy_simhash.settings import SimhashSettings

logger = logging.getLogger(__name__)

# Rules in the report, and templates that are named for each.
ROWS = 20
NAMED_TEMPLATES = 5


@dataclass(slots=True)
class Savings:
    """Of pages of which a rule said that they are kept elsewhere: how many were *known*, or not.

    *lost* had content of their own.
    """

    known: int = 0
    known_bytes: int = 0
    lost: int = 0


class Watched(NamedTuple):
    """What a crawl knows of traps and of missing pages."""

    traps: Traps
    missing: MissingPages[Said]


class AddressRules:
    """Learns rules from the verdicts of a crawl, and counts what they would have saved.

    With a *place* for them, requests are parked by the rules (parking.py).  Pages that cannot
    tell are left out: walls, pages without content of their own, and those after a redirect.
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
        self._state = JobState(crawler, "traps", Watched)
        known = self._state.load()
        # A run that is killed leaves none: what it knew last is not known.
        self._state.remove()
        traps, missing = self._watched = known or Watched(Traps(), MissingPages())
        self._parking = None
        if place is not None:
            watches: dict[Kind, Watch] = {"trap": traps, "missing": missing}
            self._parking = Parking(crawler, self._learner, watches, settings, facts, place)
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
        """Learn from the verdict on a page; whatever fails, nothing but a lesson is lost."""
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
        """Learn where a judged page leads, before what is in it counts as met.

        Whatever fails, nothing but a lesson is lost.
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

        If it was parked, and its page is kept now, the rule was wrong, whatever the keys say: those
        of an earlier run are not known.  Not so if the page that it was parked for is kept no more,
        or if the page is kept only for links that the rule makes known.  Where it is kept for other
        links or media, the rule is wrong in its template: those of a copy may have been known.
        """
        asked = None if self._parking is None else self._parking.answered(request)
        if asked is None or self._parking is None or decision is None:
            return
        if asked.tests_rule and decision.stands_for_others and not decision.is_alias:
            leads_on = decision.reason in NEW_ADDRESSES
            self._learner.fail(asked.rule, asked.template, leads_on)
            self._crawler.stats.inc_value("simhash/rules/recovered")
            self._parking.release(asked.rule, asked.template if leads_on else None)

    def clear_doubtful(self, url: str) -> None:
        """Forget failures that were due to what is known now to change by itself."""
        self._learner.clear_doubtful(url)

    def forget(self, url: str, party: str) -> None:
        """Forget that a page was kept, since it was taken back or is a wall."""
        content = self._learner.forget(url, party)
        if self._parking is not None:
            self._parking.release_content(content)

    def alarm_raised(self, alarm: Alarm, spider: Spider) -> None:
        """Take a page for none that is kept if it is a wall, also where those are dropped."""
        if alarm.name == "one_text":
            self._walls.add(alarm.subject)
            for party in self._learner.parties_of(alarm.subject):
                self.forget(alarm.subject, party)

    def close(self, is_done: bool) -> None:
        """Keep what is parked; and what is known of traps, unless the crawl *is_done*."""
        if self._parking is not None:
            self._parking.close()
        if not is_done:
            self._state.save(self._watched)

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
        is_doubtful = decision.may_be_noise
        leads_on = decision.reason in NEW_ADDRESSES
        content_url = decision.content_url(page.url)
        return self._learner.learn(Judged(page.url, content_url, party, is_doubtful, leads_on))

    def _count(self, match: Match, decision: Decision, body_bytes: int) -> None:
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
        for one, template in lesson.suspended:
            if self._parking is not None:
                self._parking.release(one.rule, template)
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
            "templates": acts[:NAMED_TEMPLATES],
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
