"""What an index decides on a page, and what the page has that the spider was never handed."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.addresses.address import Address
from scrapy_simhash.addresses.evidence import MOST_DOUBT
from scrapy_simhash.rule.page import Decision, NearMiss, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simhash.addresses.rule import AddressRule
    from scrapy_simhash.analysis.holdings import Holdings
    from scrapy_simhash.crawl.known import Reach
    from scrapy_simhash.index.contract import Index
    from scrapy_simhash.rule.noise import Noise
    from scrapy_simhash.rule.page import Page

# As many of a page's new addresses are shown.
SHOWN_ADDRESSES = 3


class Decisions(NamedTuple):
    """The *final* decision on a page, and the one by its *text*, which the index learns from."""

    final: Decision
    text: Decision


async def decide(index: Index, reach: Reach, page: Page, holdings: Holdings) -> Decisions:
    """Store a page, and decide on it: a duplicate by its text is kept for addresses that are new.

    Where candidates are not verified, the index alone decides.  A copy may be judged as soon as the
    caller waits for anything: before, it must say what the spider is handed, or the copy seems to
    lead on.
    """
    decision = await index.add(page)
    if decision.reason == "new_text" or decision.verdict == "refresh":
        reach.note_unique(page.url)
    elif decision.is_duplicate and index.parameters.share is not None:
        known = index.address_rules.about(Address.of(page.url).host)
        rules = (one.rule for one in known if one.doubt <= MOST_DOUBT)
        noise = index.noise(page.site)
        kept = _kept_apart(reach, page.url, holdings, decision, noise, rules)
        if kept is not None:
            await index.keep(page)
            return Decisions(kept, decision)
    return Decisions(decision, decision)


def _kept_apart(
    reach: Reach,
    url: str,
    holdings: Holdings,
    decision: Decision,
    noise: Noise,
    rules: Iterable[AddressRule],
) -> Decision | None:
    """Return the decision to keep a duplicate with addresses that the spider was never handed.

    None if it has none: then it stays a duplicate.
    """
    if decision.representative is None:
        return None
    share = 1.0 if decision.share is None else decision.share
    closest = NearMiss(share, decision.distance or 0, decision.representative)
    kept = partial(Decision, "unique", closest=closest)
    if not holdings.is_whole:
        return kept("new_links")
    kinds: dict[Reason, list[str]] = {
        "new_links": noise.without(holdings.links),
        "new_media": noise.without(holdings.media),
        "new_data": noise.without(holdings.mentioned),
    }
    new = reach.new_among(
        chain.from_iterable(kinds.values()),
        url,
        decision.representative,
        decision.kept_addresses,
        noise,
        rules,
    )
    for reason, addresses in kinds.items():
        if own := [address for address in addresses if address in new.addresses]:
            shown = tuple(own[:SHOWN_ADDRESSES])
            return kept(reason, new=shown, is_alias=new.are_aliases)
    return None
