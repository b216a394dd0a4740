"""Walls: texts that stand in for pages, such as a login form, a captcha, or a ban."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_simhash.addresses.address import MAX_URL
from scrapy_simhash.crawl import signals
from scrapy_simhash.crawl.asking import ask

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Request

    from scrapy_simhash.report.alarms import Alarm
    from scrapy_simhash.rule.page import Decision

# Of each, the oldest is forgotten first.
MAX_WALLS = 1_000
MAX_JUDGED = 10_000
MAX_DROPPED = 1_000
# Of the requests of a spider that asks for some pages again, at most this share does.
MOST_UNFILTERED = 0.5


class Walls:
    """The kept pages whose text is known to be a wall, and the requests that were dropped for them.

    It is known when the alarm ``one_text`` was raised on it, or when the spider sends a request
    again that was answered with it: it saw that this was not the page.  Then the copies of the wall
    reach the spider, too.  If it was the spider that told, what was dropped for the wall is asked
    for once more.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        # The URLs of kept pages, cut as those of alarms are.
        self._walls: OrderedDict[str, None] = OrderedDict()
        self._text_of: OrderedDict[bytes, str] = OrderedDict()
        self._dropped: deque[tuple[str, Request]] = deque(maxlen=MAX_DROPPED)
        self._requests = self._unfiltered = 0
        crawler.signals.connect(self.alarm_raised, signals.alarm_raised)

    def alarm_raised(self, alarm: Alarm, spider: Spider) -> None:
        if alarm.name == "one_text":
            self._add(alarm.subject)

    def note_request(self, request: Request) -> None:
        """Look whether a request was answered before, in which case that answer was a wall.

        Only one that Scrapy would not send twice by itself tells: from a callback that tries again.
        If a spider sends most requests with ``dont_filter``, that says nothing.
        """
        self._requests += 1
        self._unfiltered += request.dont_filter
        is_habit = self._unfiltered > MOST_UNFILTERED * self._requests
        if request.meta.get("retry_times") or (request.dont_filter and not is_habit):
            text = self._text_of.get(self._crawler.request_fingerprinter.fingerprint(request))
            if text is not None:
                self._add(text)
                self._ask_again(text)

    def seen(self, request_fingerprint: bytes, url: str, decision: Decision) -> Decision:
        """Return the decision on a page, as it is if its kept page may be a wall."""
        if decision.verdict == "refresh" and decision.changed:
            self._walls.pop(url[:MAX_URL], None)  # now it is something else
        text = decision.kept_url(url)[:MAX_URL]
        self._text_of[request_fingerprint] = text
        if len(self._text_of) > MAX_JUDGED:
            self._text_of.popitem(last=False)
        if decision.is_duplicate and text in self._walls:
            return replace(decision, reason="wall")
        return decision

    def note_dropped(self, request: Request, decision: Decision) -> None:
        """Remember a request whose page is dropped."""
        self._dropped.append(((decision.representative or "")[:MAX_URL], request))

    def _add(self, text: str) -> None:
        self._walls[text] = None
        if len(self._walls) > MAX_WALLS:
            self._walls.popitem(last=False)

    def _ask_again(self, text: str) -> None:
        again = [request for of, request in self._dropped if of == text]
        if not again:
            return
        others = (one for one in self._dropped if one[0] != text)
        self._dropped = deque(others, maxlen=MAX_DROPPED)
        for request in again:
            if ask(self._crawler, request.replace(dont_filter=True)):
                self._crawler.stats.inc_value("simhash/asked_again")
