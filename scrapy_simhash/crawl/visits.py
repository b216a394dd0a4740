"""Second visits to a page, which tell what changes by itself from what is the page's own."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.crawl.requests import ask_for_us
from scrapy_simhash.decision.judge import has_same_text

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from scrapy_simhash.analysis.analyser import Analyser
    from scrapy_simhash.decision.page import Page
    from scrapy_simhash.index.base import Index
    from scrapy_simhash.workers.pool import Workers

# So many for the whole crawl, and this share of its pages.
FREE_VISITS = 20
MOST_SHARE = 0.02
# Sections that are watched, and visits that may be under way; the oldest is forgotten first.
MAX_SECTIONS = 1_000
MAX_UNDER_WAY = 100


class FirstVisit(NamedTuple):
    """What a page was when it was met first."""

    page: Page
    body: bytes  # compressed


class SecondVisits:
    """Asks for a page that was just met once more, and compares the two answers.

    The request is a copy of the page's own, so it goes through the crawl's scheduler, delays and
    middlewares as any other; its answer never reaches the spider.  Of the pages of a section that
    are kept although their text is known, those are visited that follow the last one by a
    *probes*-th of all; by as many as there were, after a visit that has taught nothing, or while
    *probes* are under way.
    """

    def __init__(self, crawler: Crawler, index: Index, probes: int) -> None:
        self._crawler = crawler
        self._index = index
        self._probes = probes
        # Of each section: the pages that might be visited, and at which the next one is.
        self._met: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._under_way: OrderedDict[str, FirstVisit] = OrderedDict()
        self._asked = self._judged = 0

    def note_judged(self) -> None:
        """Count one more judged page."""
        self._judged += 1

    def consider(self, request: Request, response: Response, page: Page) -> None:
        """Ask for a page once more that was kept although its text is known, if that may help."""
        section = page.section or page.site
        met, due = self._met.pop(section, (0, 1))
        self._met[section] = met, due = met + 1, due
        if len(self._met) > MAX_SECTIONS:
            self._met.popitem(last=False)
        if not self._probes or met < due or request.method != "GET":
            return
        if self._asked >= FREE_VISITS + MOST_SHARE * self._judged:
            return
        # Another process may get the request from a scheduler that is shared.
        number = ask_for_us(self._crawler, request, request.url)
        if number is None:
            return
        self._asked += 1
        self._crawler.stats.inc_value("simhash/second_visits")
        self._under_way[number] = FirstVisit(page, zlib.compress(response.body, 1))
        if len(self._under_way) > MAX_UNDER_WAY:
            self._under_way.popitem(last=False)
        waiting = sum(one.page.section == page.section for one in self._under_way.values())
        self._wait(section, waiting < self._probes)

    def first(self, number: str) -> FirstVisit | None:
        """Return what the first visit saw, by the number of the second; None if it is none."""
        return self._under_way.pop(number, None)

    async def compare(
        self,
        first: FirstVisit,
        page: Page,
        response: Response,
        analyser: Analyser,
        workers: Workers,
    ) -> bool:
        """Learn from the second visit to a page; return whether it shows the text of the first."""
        template = self._index.learned.repeated_blocks(page.section or page.site)
        if page.url != first.page.url or not has_same_text(
            page, first.page, self._index.parameters, template
        ):
            return False
        self._crawler.stats.inc_value("simhash/second_visits_compared")
        second = zlib.compress(response.body, 1)
        encoding = getattr(response, "encoding", None)
        found = await workers.run(analyser.compare, first.body, second, encoding, page.url)
        section = page.section or page.site
        self._wait(section, await self._index.learned.learn_noise(section, found))
        return True

    def _wait(self, section: str, may_teach: bool) -> None:
        """Decide which page of a section is visited next, if one more visit may teach something."""
        met, _ = self._met.get(section, (0, 1))
        self._met[section] = met, met + (max(1, met // self._probes) if may_teach else met)
