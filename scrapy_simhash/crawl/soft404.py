"""Pages that are not there, but answer 200: one request tells what a site says for them."""

from __future__ import annotations

import logging
from collections import OrderedDict
from functools import partial
from itertools import chain
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from scrapy_simhash.addresses.missing import MissingPages, Tree
from scrapy_simhash.addresses.rule import AddressRule
from scrapy_simhash.analysis.gist import Gist, gist_of, numbers_in
from scrapy_simhash.crawl.asking import ask_for_us
from scrapy_simhash.report.collector import shortened
from scrapy_simhash.rule.rule import has_same_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler
    from scrapy.http import Request

    from scrapy_simhash.analysis.page import PageAnalysis
    from scrapy_simhash.crawl.parking import Parking
    from scrapy_simhash.index.base import Index
    from scrapy_simhash.rule.page import Decision, Page

logger = logging.getLogger(__name__)

QUESTION_META_KEY = "simhash_question"
MAX_UNDER_WAY = 100
# Trees in the report.
ROWS = 20
RANDOM_BYTES = 8


class Said(NamedTuple):
    """What a page says; *gist* is None if it has more text."""

    page: Page
    gist: Gist | None

    def is_like(self, other: Said) -> bool:
        """Whether two pages differ in what is in their addresses alone.  Cost: 0.1 ms."""
        if self.gist is None or other.gist is None or not self.gist.words:
            return False
        words = self.gist.words ^ other.gist.words
        numbers = {*self.gist.numbers} ^ {*other.gist.numbers}
        urls = self.page.url, other.page.url
        return words <= _words_in(urls) and numbers <= set(chain(*map(numbers_in, urls)))


class CrawlMissing:
    """Watches for trees of pages that are not there, and asks the site, if there is a *parking*.

    The question is a GET request for an address with a random name, which goes through the crawl's
    scheduler, delays and middlewares as any other; the answer reaches neither spider nor index.
    """

    def __init__(
        self,
        crawler: Crawler,
        index: Index,
        missing: MissingPages[Said],
        parking: Parking | None,
    ) -> None:
        self._crawler = crawler
        self._index = index
        self._missing = missing
        self._parking = parking
        self._under_way: OrderedDict[str, Tree[Said]] = OrderedDict()

    def learn(
        self,
        request: Request,
        page: Page,
        decision: Decision,
        gist: Gist | None,
        links: list[str],
        unmet: list[str],
    ) -> None:
        """Learn from a judged page with these *links*, of which the spider has not met some.

        Cost: 0.5 us for each link.
        """
        said = Said(page, gist)
        tree = self._missing.tree_of(page.url)
        if tree is not None and not self._is_alike(said, decision, tree):
            self._end(tree)
            tree = None
        elif tree is None:
            trees = self._missing.found_on(page.site)
            tree = next((one for one in trees if self._is_alike(said, decision, one)), None)
        if tree is None:
            for linked, key in self._missing.linked(links):
                if self._parking is not None:
                    self._parking.release_key(_rule_of(linked), key)
            self._missing.begin(page.site, page.url, unmet, said)
        elif self._missing.grow(tree, page.url, unmet):
            self._ask(request, tree)

    def holds(self, url: str) -> bool:
        """Whether the page at *url* may not be there; 2 us."""
        return self._missing.held(url) is not None

    def consider(self, request: Request) -> None:
        """Park a request if its page is not there, or while it is asked whether it is; 2 us.

        :raises RuledOut: it is parked.
        """
        held = self._missing.held(request.url)
        if held is None or self._parking is None or self._parking.is_exempt(request):
            return
        tree, key = held
        self._parking.park(request, _rule_of(tree), tree.url, key)

    def answered(self, number: str, page: Page | None, analysis: PageAnalysis | None) -> None:
        """Take the answer to a question; there is no *page* if the site says that it has none."""
        tree = self._under_way.pop(number, None)
        if tree is None:
            return
        if page is None or analysis is None:
            is_missing = False
        else:
            is_missing = self._are_alike(Said(page, analysis.gist), tree.first)
        if not is_missing:
            self._end(tree)
            return
        self._missing.confirm(tree, partial(self._are_alike, tree.first))
        self._crawler.stats.inc_value("simhash/missing/found")
        logger.warning(
            "Pages below %(url)s are not there, though the site answers 200. Further requests are "
            'parked: see "scrapy simhash parked"',
            {"url": tree.url},
            extra={"spider": self._crawler.spider},
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return the trees as the report shows them, beside the traps."""
        return [
            {
                "pattern": f"{shortened(tree.url)}**",
                "host": tree.host,
                "found_after": tree.asked_after,
                "pages": len(tree.pages) - tree.asked_after,
                "parked": self._parking.life(_rule_of(tree))["parked"] if self._parking else 0,
            }
            for tree in self._missing.missing()[:ROWS]
        ]

    def _are_alike(self, one: Said, other: Said) -> bool:
        """Whether two pages say the same, as far as two pages alone can show it."""
        template = self._index.repeated_blocks(one.page.section or one.page.site)
        return one.is_like(other) or has_same_text(
            one.page, other.page, self._index.parameters, template
        )

    def _is_alike(self, said: Said, decision: Decision, tree: Tree[Said]) -> bool:
        """Whether a page says what the pages of a tree say."""
        if said.is_like(tree.first):
            return True
        if decision.is_duplicate:
            return decision.representative is not None and tree.has(decision.representative)
        closest = decision.closest
        return decision.reason == "new_links" and closest is not None and tree.has(closest.url)

    def _ask(self, request: Request, tree: Tree[Said]) -> None:
        stats = self._crawler.stats
        stats.inc_value("simhash/missing/suspected")
        if self._parking is None:
            logger.info(
                "Pages below %(url)s may not be there, though the site answers 200. Set "
                'SIMHASH_RULES to "use" to ask it',
                {"url": tree.url},
                extra={"spider": self._crawler.spider},
            )
            return
        folder = tree.url.partition("?")[0].rpartition("/")[0]
        nowhere = f"{folder}/{token_hex(RANDOM_BYTES)}/"
        number = ask_for_us(self._crawler, request, nowhere, QUESTION_META_KEY)
        if number is None:
            return
        stats.inc_value("simhash/missing/asked")
        tree.state = "asked"
        self._under_way[number] = tree
        if len(self._under_way) > MAX_UNDER_WAY:
            self._end(self._under_way.popitem(last=False)[1])

    def _end(self, tree: Tree[Said]) -> None:
        self._missing.end(tree)
        if self._parking is not None and tree.state != "watched":
            self._parking.release(_rule_of(tree))


def _words_in(urls: Iterable[str]) -> frozenset[int]:
    gists = [gist_of((unquote(url),)) for url in urls]
    return frozenset().union(*(gist.words for gist in gists if gist is not None))


def _rule_of(tree: Tree[Said]) -> AddressRule:
    return AddressRule("missing", tree.host, tree.url, "")
