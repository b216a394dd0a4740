"""Dead ends in a crawl: what its pages say of them, and the requests that are not needed.

These are traps, and pages that are not there but answer 200; url_rules/dead_ends.py finds them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from functools import partial
from itertools import chain
from secrets import token_hex
from typing import Any, NamedTuple
from urllib.parse import unquote

from scrapy.crawler import Crawler
from scrapy.http import Request

from scrapy_simhash.analysis.content import Gist, gist_of, numbers_in
from scrapy_simhash.crawl.known_addresses import KnownAddresses
from scrapy_simhash.crawl.parked import ParkedBy
from scrapy_simhash.crawl.parking import Parking
from scrapy_simhash.crawl.reach import ASKED_SLOTS
from scrapy_simhash.crawl.requests import ask_for_us
from scrapy_simhash.crawl.run import JobState
from scrapy_simhash.crawl.setup import Parts
from scrapy_simhash.decision.judge import has_same_text
from scrapy_simhash.decision.page import Decision, Page
from scrapy_simhash.hashes import long_hash_of
from scrapy_simhash.report.collector import shortened
from scrapy_simhash.report.document import ROWS
from scrapy_simhash.url_rules.dead_ends import MissingPages, Sight, Trap, Traps, Tree, Unmet
from scrapy_simhash.url_rules.rule import AddressRule
from scrapy_simhash.urls import Address, value_pattern

logger = logging.getLogger(__name__)

# A page with more links is none of a trap.
MAX_LINKS = 500
# The request of this number that a trap would park is sent all the same, then that of twice this
# number, and so on: an endless trap must not cost a share of all its requests.
EXPLORED_FROM = 16

RANDOM_BYTES = 8

_TO_FIRST_NUMBER = re.compile(r"[^/]*//[^/]*/\D*")


class DeadEnds:
    """Finds traps and pages that are not there by the verdicts of a crawl, and parks what is below.

    Each is logged once, and counted.  Whether pages are there, the site is asked, if requests are
    parked: by a GET request for an address with a random name, which goes through the crawl's
    scheduler, delays and middlewares as any other; the answer reaches neither spider nor index.
    """

    def __init__(self, crawler: Crawler, parts: Parts, parking: Parking) -> None:
        self._crawler = crawler
        self._log = logging.LoggerAdapter(logger, {"spider": crawler.spider})
        self._index = parts.index
        self._facts = parts.facts
        self._parking = parking
        # Of judged pages: nobody knows whether pages for something else are needless.
        self._purposes = KnownAddresses(ASKED_SLOTS)
        self._state: JobState[tuple[Traps, MissingPages]] = JobState(crawler, "traps")
        known = self._state.load()
        # So a run that is killed leaves no state, since that of its start is out of date.
        self._state.remove()
        self._traps, self._missing = known or (Traps(), MissingPages())
        parking.owners |= {"trap": self._traps, "missing": self._missing}
        if known is not None:
            self._traps.resume()
            self._missing.resume()
            return
        for rule in parking.rules():  # a run that was killed has found these traps
            if rule.kind == "trap":
                self._traps.restore(rule.drop)
                self._traps.resume()

    def save(self) -> None:
        """Leave what is known to the next run."""
        self._state.save((self._traps, self._missing))

    def learn(
        self,
        request: Request,
        page: Page,
        decision: Decision,
        gist: Gist | None,
        unmet: Unmet,
    ) -> bool:
        """Learn from a judged page; return whether it may have been missing before.

        *unmet* returns those of some addresses that the spider has not met.
        """
        may_be_missing = self._missing.held(page.url) is not None
        if (purpose := self._facts.of(request).purpose) is not None:
            self._purposes.add([purpose.hex()])
        links = page.holds.addresses.of("link")
        if not decision.is_duplicate:  # duplicates lead nowhere
            self._learn_trap(page.url, sight_of(page, decision, gist, links, unmet))
        self._learn_missing(request, PageText(page, gist), decision, links, unmet)
        return may_be_missing

    def _learn_trap(self, url: str, sight: Sight) -> None:
        pattern = value_pattern(Address.of(url))
        if (known := self._traps.of(url)) is not None:
            known[0].met[pattern] += 1
            self._crawler.stats.inc_value("simhash/traps/pages")
        found, ended = self._traps.take(pattern, sight)
        if found is not None:
            self._tell(found)
        self._note_ended(ended, url)

    def led_to_more(self, url: str) -> None:
        """Learn from a file, or from a redirect to a new page."""
        if (known := self._traps.of(url)) is not None:
            self._note_ended(self._traps.end(known[1]), url)

    def _note_ended(self, traps: list[Trap], url: str) -> None:
        for trap in traps:
            self._crawler.stats.inc_value("simhash/traps/ended")
            self._log.info("No trap: %(url)s says something new", {"url": url})
            for one in trap.closed:
                self._parking.release(trap.rule(one))

    def consider(self, request: Request) -> None:
        """Park a request if its page is missing, or while the site is asked for it; 2 us.

        Or if it leads from a trap into it; 20 us, and 50 to park it.  Other pages lead to a few
        pages of the trap only, perhaps for a reason.  A request for what no judged page was asked
        for is sent.

        :raises RuledOut: it is parked.
        """
        purpose = self._facts.of(request).purpose
        if purpose is not None and purpose.hex() not in self._purposes:
            return
        if (tree := self._missing.held(request.url)) is not None:
            self._parking.park(request, ParkedBy(tree.rule, tree.url, long_hash_of(request.url)))
        found = self._traps.of(request.url)
        if found is None or self._is_from_elsewhere(request):
            return
        trap, pattern = found
        trap.asked[pattern] += 1
        number = trap.asked[pattern]
        if number >= EXPLORED_FROM and number & (number - 1) == 0:
            self._parking.explore(trap.rule(pattern))
        else:
            why = ParkedBy(trap.rule(pattern), pattern, long_hash_of(request.url))
            self._parking.park(request, why)

    def _is_from_elsewhere(self, request: Request) -> bool:
        """Whether a request comes from a page that belongs to no trap.

        A site or a setting (``REFERRER_POLICY``) may name no more than the host of that page.  Then
        it may be any page of the host, except if the request comes from a start page.
        """
        referer = (request.headers.get("Referer") or b"").decode("latin-1")
        is_start = request.meta.get("depth") == 1
        is_told = is_start or Address.of(referer).path not in ("", "/")
        return bool(referer) and is_told and not self._traps.has(referer)

    def _learn_missing(
        self,
        request: Request,
        text: PageText,
        decision: Decision,
        links: list[str],
        unmet: Unmet,
    ) -> None:
        page = text.page
        tree = self._missing.tree_of(page.url)
        if tree is not None and not self._is_alike(text, decision, tree):
            self._end(tree)
            tree = None
        elif tree is None:
            trees = self._missing.found_on(page.site)
            tree = next((one for one in trees if self._is_alike(text, decision, one)), None)
        if tree is None:
            for linked, key in self._missing.linked(links):
                self._parking.release(linked.rule, key=key)
            self._missing.begin(page.site, page.url, links, text, unmet)
        elif self._missing.grow(tree, page.url, links, unmet):
            self._ask(request, tree)

    def answered(self, number: str, page: Page | None, gist: Gist | None) -> None:
        """Take the answer to a question; there is no *page* if the site says that it has none."""
        if (tree := self._missing.asked(number)) is None:
            return
        if page is None or not self._are_alike(PageText(page, gist), tree.first):
            self._end(tree)
            return
        self._missing.confirm(tree, partial(self._are_alike, tree.first))
        self._crawler.stats.inc_value("simhash/missing/found")
        self._log.warning(
            "Pages below %(url)s are not there, though the site answers 200. Further requests are "
            'parked: see "scrapy simhash rules --parked"',
            {"url": tree.url},
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return traps and missing pages as the report shows them.

        The traps come first, and of these those that would cost most.
        """
        rows = [
            self._row(trap.rule(pattern), pattern, trap.pages, trap.met[pattern])
            for trap in self._traps.all()
            for pattern in trap.closed
        ]
        rows.sort(key=lambda row: (-row["parked"], -row["pages"], row["pattern"]))
        del rows[ROWS:]
        for tree in self._missing.missing()[:ROWS]:
            after, pattern = tree.asked_after, f"{shortened(tree.url)}**"
            rows.append(self._row(tree.rule, pattern, after, len(tree.pages) - after))
        return rows

    def _row(self, rule: AddressRule, pattern: str, after: int, pages: int) -> dict[str, Any]:
        return {
            "pattern": pattern,
            "host": rule.host,
            "found_after": after,
            "pages": pages,
            "parked": self._parking.life(rule).get("parked", 0),
        }

    def _tell(self, trap: Trap) -> None:
        self._crawler.stats.inc_value("simhash/traps/found")
        what_next = (
            'Further requests are parked: see "scrapy simhash rules --parked"'
            if self._parking.is_on
            else 'Set SIMHASH_RULES to "use" to stop there'
        )
        self._log.warning(
            "A trap after %(pages)d pages that say nothing new, and lead to ever more of their "
            "kind: %(patterns)s. %(what_next)s",
            {
                "pages": trap.pages,
                "patterns": ", ".join(sorted(trap.closed)),
                "what_next": what_next,
            },
        )

    def _are_alike(self, one: PageText, other: PageText) -> bool:
        """Whether two pages say the same, as far as two pages alone can show it."""
        template = self._index.learned.repeated_blocks(one.page.section or one.page.site)
        return one.is_like(other) or has_same_text(
            one.page, other.page, self._index.parameters, template
        )

    def _is_alike(self, text: PageText, decision: Decision, tree: Tree) -> bool:
        """Whether a page says what the pages of a tree say."""
        if text.is_like(tree.first):
            return True
        if decision.is_duplicate:
            return decision.representative is not None and decision.representative in tree
        closest = decision.closest
        return decision.reason == "new_links" and closest is not None and closest.url in tree

    def _ask(self, request: Request, tree: Tree) -> None:
        self._crawler.stats.inc_value("simhash/missing/suspected")
        if not self._parking.is_on:
            self._log.info(
                "Pages below %(url)s may not be there, though the site answers 200. Set "
                'SIMHASH_RULES to "use" to ask it',
                {"url": tree.url},
            )
            return
        folder = tree.url.partition("?")[0].rpartition("/")[0]
        nowhere = f"{folder}/{token_hex(RANDOM_BYTES)}/"
        number = ask_for_us(self._crawler, request, nowhere)
        if number is None:
            return
        self._crawler.stats.inc_value("simhash/missing/asked")
        tree.state, tree.question = "asked", number

    def _end(self, tree: Tree) -> None:
        self._missing.end(tree)
        if tree.state != "watched":
            self._parking.release(tree.rule)


def sight_of(
    page: Page,
    decision: Decision,
    gist: Gist | None,
    links: list[str],
    unmet: Unmet,
) -> Sight:
    """Return what a page with these *links* says about its pattern.

    *unmet* returns those of some addresses that the spider has not met.
    """
    known_text = decision.reason == "new_links"
    held = page.holds
    if not held.is_whole or decision.reason == "new_media" or (gist is None and not known_text):
        return Sight(has_more=True)
    if len(links) > MAX_LINKS or unmet(held.addresses.of("media")):
        return Sight(has_more=True)
    new = dict.fromkeys(unmet([*links, *held.addresses.of("data")]))
    leads = tuple(value_pattern(Address.of(link)) for link in new if link != page.url)
    if known_text or gist is None:
        return Sight(known_text=True, leads=leads)
    return Sight(
        words=gist.words,
        numbers=gist.numbers,
        own_numbers=frozenset(_own_numbers(page.url, links)),
        leads=leads,
    )


def _own_numbers(url: str, links: Iterable[str]) -> Iterable[int]:
    """Yield the numbers in an address, and in those links that begin as it does."""
    start = _TO_FIRST_NUMBER.match(url)
    if start is None or start.end() == len(url):
        return
    yield from numbers_in(url[start.end() :])
    for link in links:
        if link.startswith(start[0]):
            yield from numbers_in(link[start.end() :])


class PageText(NamedTuple):
    """The text of a page; *gist* is None if it is too long for one."""

    page: Page
    gist: Gist | None

    def is_like(self, other: PageText) -> bool:
        """Whether two pages differ only in what is in their addresses.  Cost: 0.1 ms."""
        if self.gist is None or other.gist is None or not self.gist.words:
            return False
        words = self.gist.words ^ other.gist.words
        numbers = {*self.gist.numbers} ^ {*other.gist.numbers}
        urls = self.page.url, other.page.url
        for gist in filter(None, (gist_of([unquote(url)]) for url in urls)):
            words -= gist.words
        return not words and numbers <= set(chain(*map(numbers_in, urls)))
