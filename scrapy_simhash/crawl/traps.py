"""Traps in a crawl: what its pages say of them, and the requests that are not needed."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from scrapy_simhash.analysis.gist import numbers_in
from scrapy_simhash.rule.hashes import long_hash_of
from scrapy_simhash.url_rules.dead_ends import Sight, Trap, Traps
from scrapy_simhash.url_rules.rule import AddressRule
from scrapy_simhash.urls import Address, value_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler
    from scrapy.http import Request

    from scrapy_simhash.analysis.gist import Gist
    from scrapy_simhash.crawl.parking import Parking
    from scrapy_simhash.crawl.reach import Reach
    from scrapy_simhash.rule.page import Decision, Page

logger = logging.getLogger(__name__)

# A page with more links is none of a trap.
MAX_LINKS = 500
# The request of this number that a trap would park is sent all the same, then that of twice this
# number, and so on: an endless trap must not cost a share of all its requests.
EXPLORED_FROM = 16
# Traps in the report.
ROWS = 20

_TO_FIRST_NUMBER = re.compile(r"[^/]*//[^/]*/\D*")


class CrawlTraps:
    """Finds traps by the verdicts of a crawl, and parks what they lead to, if there is a *parking*.

    A found trap is logged once, and counted as ``simhash/traps/found``.
    """

    def __init__(self, crawler: Crawler, traps: Traps, parking: Parking | None) -> None:
        self._crawler = crawler
        self._traps = traps
        self._parking = parking

    def restore(self) -> None:
        """Take for traps what has parked requests: the run that found them was killed."""
        for rule in () if self._parking is None else self._parking.rules():
            if rule.kind == "trap":
                self._traps.restore(rule.host, rule.drop)
                self._traps.resume()

    def learn(self, url: str, sight: Sight) -> None:
        """Learn from a judged page that is no duplicate: these lead nowhere."""
        stats, extra = self._crawler.stats, {"spider": self._crawler.spider}
        address = Address.of(url)
        pattern = value_pattern(address)
        if (known := self._traps.of(url)) is not None:
            known[0].met[pattern] += 1
            stats.inc_value("simhash/traps/pages")
        found, ended = self._traps.take(address.host, pattern, sight)
        if found is not None:
            self._tell(found)
        for trap in ended:
            stats.inc_value("simhash/traps/ended")
            logger.info("No trap: %(url)s says something new", {"url": url}, extra=extra)
            if self._parking is not None:
                for one in trap.closed:
                    self._parking.release(_rule_of(trap, one))

    def consider(self, request: Request) -> None:
        """Park a request if it leads into a trap, from there.  Cost: 20 us, and 50 to park it.

        Other pages lead to a few of its pages, and may know why.

        :raises RuledOut: it is parked.
        """
        found = self._traps.of(request.url)
        if found is None or self._parking is None or self._parking.is_exempt(request):
            return
        if self._is_from_elsewhere(request):
            return
        trap, pattern = found
        trap.asked[pattern] += 1
        rule, number = _rule_of(trap, pattern), trap.asked[pattern]
        if number >= EXPLORED_FROM and number & (number - 1) == 0:
            self._parking.explore(rule)
        else:
            self._parking.park(request, rule, pattern, long_hash_of(request.url))

    def _is_from_elsewhere(self, request: Request) -> bool:
        """Whether a page that belongs to no trap leads to a request.

        A site or a setting (``REFERRER_POLICY``) may tell no more than the host of that page: then
        it may be any, unless it is one from which the crawl starts.
        """
        referer = (request.headers.get("Referer") or b"").decode("latin-1")
        is_start = request.meta.get("depth") == 1
        is_told = is_start or Address.of(referer).path not in ("", "/")
        return bool(referer) and is_told and not self._traps.has(referer)

    def rows(self) -> list[dict[str, Any]]:
        """Return the traps as the report shows them, those first that would cost most."""
        rows = [self._row(trap, pattern) for trap in self._traps.all() for pattern in trap.closed]
        return sorted(rows, key=lambda row: (-row["parked"], -row["pages"], row["pattern"]))[:ROWS]

    def _row(self, trap: Trap, pattern: str) -> dict[str, Any]:
        lives = {} if self._parking is None else self._parking.life(_rule_of(trap, pattern))
        return {
            "pattern": pattern,
            "host": trap.host,
            "found_after": trap.pages,
            "pages": trap.met[pattern],
            "parked": lives.get("parked", 0),
        }

    def _tell(self, trap: Trap) -> None:
        self._crawler.stats.inc_value("simhash/traps/found")
        what_next = (
            'Set SIMHASH_RULES to "use" to stop there'
            if self._parking is None
            else 'Further requests are parked: see "scrapy simhash parked"'
        )
        logger.warning(
            "A trap after %(pages)d pages that say nothing new, and lead to ever more of their "
            "kind: %(patterns)s. %(what_next)s",
            {
                "pages": trap.pages,
                "patterns": ", ".join(sorted(trap.closed)),
                "what_next": what_next,
            },
            extra={"spider": self._crawler.spider},
        )


def _rule_of(trap: Trap, pattern: str) -> AddressRule:
    return AddressRule("trap", trap.host, pattern, "")


def sight_of(
    page: Page,
    decision: Decision,
    gist: Gist | None,
    reach: Reach,
    links: list[str],
    unmet: list[str],
) -> Sight:
    """Return what a page says about its pattern.

    It has these *links*, of which the spider has not met some.
    """
    known_text = decision.reason == "new_links"
    held = page.holds
    if not held.is_whole or decision.reason == "new_media" or (gist is None and not known_text):
        return Sight(has_more=True)
    media = [one.address for one in held.addresses if one.kind == "media"]
    if len(links) > MAX_LINKS or reach.unmet(media):
        return Sight(has_more=True)
    mentioned = [one.address for one in held.addresses if one.kind == "data"]
    new = dict.fromkeys([*unmet, *reach.unmet(mentioned)])
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
