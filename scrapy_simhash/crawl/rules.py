"""The downloader middleware for addresses: it learns rules, and parks what they make needless."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Spider
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Request

from scrapy_simhash.crawl import signals
from scrapy_simhash.crawl.choices import is_inline
from scrapy_simhash.crawl.dead_ends import DeadEnds
from scrapy_simhash.crawl.parking import Parking, is_exempt, parking_place
from scrapy_simhash.crawl.requests import redirects_in
from scrapy_simhash.crawl.setup import PARTS, Parts, active_settings, parts_of
from scrapy_simhash.decision.page import NEW_ADDRESSES, Decision, Page
from scrapy_simhash.report.alarms import Alarm
from scrapy_simhash.report.savings import Savings
from scrapy_simhash.url_rules.learner import Learner, Lesson
from scrapy_simhash.urls import MAX_URL, section_of

if TYPE_CHECKING:
    from typing_extensions import Self

logger = logging.getLogger(__name__)


class SimhashRulesMiddleware:
    """Learn rules for addresses from the verdicts of a crawl, and count what they would have saved.

    If there is a *place* for them, requests are parked by the rules (parking.py).  The errback of a
    parked request gets a :class:`~scrapy_simhash.crawl.exceptions.RuledOut`.  Nothing is learned
    from walls, pages without content of their own, and pages after a redirect.

    It hears of the verdicts from judging.py, as *parts* lead to it.  Whatever fails then, only a
    lesson is lost.
    """

    def __init__(self, crawler: Crawler, parts: Parts, place: Path | None) -> None:
        self._crawler = crawler
        self._parts = parts
        self._index = parts.index
        self._facts = parts.facts
        self._learner = Learner(self._index.learned.rules)
        self._parking = Parking(crawler, parts, self._learner, place)
        self.dead_ends = DeadEnds(crawler, parts, self._parking)
        # The URLs of kept pages, cut as those of alarms are; the alarms on one text are few.
        self._walls: set[str] = set()
        self._savings = Savings(self._index.learned.rules)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = active_settings(crawler)
        if settings.rules == "off":
            raise NotConfigured  # without a message: it was asked for
        if settings.rules == "use" and settings.action != "drop":
            logger.warning(
                "SIMHASH_RULES 'use' parks no request with SIMHASH_ACTION %(action)r: what would "
                "not be dropped is downloaded",
                {"action": settings.action},
            )
        parts = parts_of(crawler, settings)
        middleware = parts.rules = cls(crawler, parts, parking_place(crawler, settings))
        crawler.signals.connect(middleware.alarm_raised, signals.alarm_raised)
        crawler.signals.connect(middleware.report_due, signals.report_due)
        crawler.signals.connect(middleware.spider_closed, scrapy_signals.spider_closed)
        return middleware

    def process_request(self, request: Request) -> None:
        """Park a request if a rule says that its page is kept already, or if it leads into a trap.

        :raises RuledOut: it is parked.
        """
        if is_inline(request) or not self._parking.takes(request):  # who waits inline gets the page
            return
        self.dead_ends.consider(request)
        self._parking.consider(request)

    def page_decided(
        self, request: Request, page: Page, decision: Decision, body_bytes: int
    ) -> None:
        """Learn from the verdict on a page."""
        lesson = self._lesson(request, page, decision)
        if not is_exempt(request):
            saved = self._savings.note(lesson, page.url, decision, body_bytes)
            for name, count in saved.items():
                self._crawler.stats.inc_value(name, count)
        self._tell(lesson)

    def request_ended(self, request: Request, decision: Decision | None) -> None:
        """Note the verdict on the page of a request; *decision* is None if there is no answer.

        If it was parked, and its page is kept now or is a file, the rule was wrong; its keys cannot
        show this, since those of an earlier run are not known.  The rule was not wrong if the page
        for which the request was parked is not kept any more, or if this page is kept only for
        links that the rule makes known.  If it is kept for other links or media, the rule is wrong
        in this pattern only: the links of a copy may have been known.
        """
        asked = self._parking.answered(request)
        if decision is None:
            return
        # A trap hears of pages alone, and of those by the address that they are at.
        redirects = redirects_in(request.meta)
        if decision.reason == "not_html" or (redirects and decision.is_kept):
            self.dead_ends.led_to_more(redirects[0] if redirects else request.url)
        is_new = decision.stands_for_others and not (decision.is_alias or decision.replaces)
        # Files are not judged, and each may be another one.
        is_new |= decision.reason == "not_html"
        if asked is not None and asked.tests_rule and is_new:
            leads_on = decision.reason in NEW_ADDRESSES
            page = self._learner.fail(asked.rule, asked.pattern, leads_on, request.url)
            self._crawler.stats.inc_value("simhash/rules/recovered")
            self._parking.refute(asked.rule, asked.pattern, page)

    def page_taken_back(self, request: Request, url: str) -> None:
        """Forget that a page was kept."""
        self._forget(url, self._facts.of(request).party)

    def noise_learned(self, url: str) -> None:
        """Forget the failures whose cause is known now: something that changes by itself."""
        cuts = self._index.learned.noises.of(section_of(url)).cuts
        self._learner.note_noise(url, cuts.parameters)

    def alarm_raised(self, alarm: Alarm, spider: Spider) -> None:
        """Forget that a page was kept if it is a wall, even if walls are dropped."""
        if alarm.name == "one_text":
            self._walls.add(alarm.subject)
            for party in self._learner.parties_of(alarm.subject):
                self._forget(alarm.subject, party)

    async def spider_closed(self, reason: str) -> None:
        """Keep what is parked, and if the crawl is not done, what is known of dead ends."""
        try:
            self._parking.close()
            if reason != "finished":
                self.dead_ends.save()
        finally:
            await PARTS.give_back(self._parts)

    def report_due(self) -> dict[str, list[dict[str, Any]]]:
        """Return what the report shows of the rules, and of the traps and missing pages."""
        return {"rules": self._savings.rows(self._parking.life), "traps": self.dead_ends.rows()}

    def _forget(self, url: str, party: str) -> None:
        """Forget that a page was kept, and ask for what was parked for it."""
        self._parking.release(content=self._learner.forget(url, party))

    def _lesson(self, request: Request, page: Page, decision: Decision) -> Lesson:
        party = self._facts.of(request).party
        kept_url = decision.kept_url(page.url)
        if decision.reason == "wall" or kept_url[:MAX_URL] in self._walls:
            self._forget(kept_url, party)
            return Lesson()
        # What the spider asks for again may have been a copy before, and parked others.
        is_again = decision.verdict == "refresh" and request.dont_filter
        if is_again or redirects_in(request.meta) or not self._index.parameters.views(page):
            return Lesson()
        return self._learner.learn(
            page.url,
            decision.content_url(page.url),
            party,
            is_doubtful=decision.may_be_noise,
            leads_on=decision.reason in NEW_ADDRESSES,
        )

    def _tell(self, lesson: Lesson) -> None:
        stats, extra = self._crawler.stats, {"spider": self._crawler.spider}
        if lesson.tried:
            stats.inc_value("simhash/rules/keys", len(lesson.tried))
        for one in lesson.learned:
            stats.inc_value("simhash/rules/learned")
            logger.info(
                "Learned after %(keys)d pairs of addresses: %(rule)s",
                {"keys": one.keys, "rule": one.rule},
                extra=extra,
            )
        if lesson.refuted:
            stats.inc_value("simhash/rules/failures", len(lesson.refuted))
        for one, pattern, page in lesson.suspended:
            self._parking.refute(one.rule, pattern, page)
            if one.learned is not None:
                logger.info("Not always true: %(rule)s", {"rule": one.rule}, extra=extra)
