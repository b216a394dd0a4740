"""What an index decides on a page, and what the page has that the spider was never handed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from scrapy_simhash.addresses.address import Address
from scrapy_simhash.addresses.evidence import MOST_DOUBT
from scrapy_simhash.rule.holdings import LEADING, Told
from scrapy_simhash.rule.page import Decision, NearMiss, Reason
from scrapy_simhash.rule.rule import SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy_simhash.addresses.rule import AddressRule
    from scrapy_simhash.crawl.known import Reach
    from scrapy_simhash.index.base import Index
    from scrapy_simhash.rule.noise import Cuts
    from scrapy_simhash.rule.page import Page


class Decisions(NamedTuple):
    """The *final* decision on a page, and the one by its *text*, which the index learns from."""

    final: Decision
    text: Decision


async def decide(index: Index, reach: Reach, page: Page) -> Decisions:
    """Store a page, and decide on it: a duplicate by its values is kept for links that are new.

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
        variant = _leading_on(reach, page, decision, index.noise(page.section).cuts, rules)
        if variant is not None:
            await index.keep(page)
            return Decisions(variant, decision)
    return Decisions(decision, decision)


def _leading_on(
    reach: Reach, page: Page, decision: Decision, cuts: Cuts, rules: Iterable[AddressRule]
) -> Decision | None:
    """Return the decision to keep a duplicate with addresses that the spider was never handed.

    None if it has none: then it stays a duplicate.
    """
    if decision.representative is None:
        return None
    share = 1.0 if decision.share is None else decision.share
    closest = NearMiss(share, decision.distance or 0, decision.representative)
    kept = partial(Decision, "variant", representative=closest.url, distance=closest.distance)
    kept = partial(kept, share=share, closest=closest)
    if not page.holds.is_whole:
        return kept("new_links")
    addresses = [one for one in page.holds.addresses if one.kind in LEADING]
    new = reach.new_among(
        dict.fromkeys(one.address for one in addresses),
        page.url,
        closest.url,
        decision.kept_addresses,
        cuts,
        rules,
    )
    reasons: tuple[tuple[str, Reason], ...] = (("link", "new_links"), ("media", "new_media"))
    for kind, reason in reasons:
        own = [one for one in addresses if one.kind == kind and one.address in new.addresses]
        if own:
            shown = dict.fromkeys(Told(kind, "", one.address) for one in own)
            return kept(reason, new=tuple(shown)[:SHOWN], is_alias=new.are_aliases)
    return None
