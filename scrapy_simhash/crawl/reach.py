"""What the spider has been handed, and the decision on a page that leads beyond that.

An index decides on a page by its text and values.  A duplicate is kept all the same if it has
addresses that the spider was never handed: :func:`decide` asks the :class:`Reach` for them.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from scrapy_simhash.analysis.fingerprint import hash_feature, hash_features
from scrapy_simhash.decision.holdings import LEADING, Told, unpack_addresses
from scrapy_simhash.decision.judge import SHOWN
from scrapy_simhash.decision.noise import NO_CUTS, Cuts, stripped
from scrapy_simhash.decision.page import Decision, NearMiss, Reason
from scrapy_simhash.decision.rewriting import Session
from scrapy_simhash.report.counting import Heaviest
from scrapy_simhash.urls import Address

if TYPE_CHECKING:
    from scrapy_simhash.decision.holdings import Addresses
    from scrapy_simhash.decision.page import Page
    from scrapy_simhash.index.base import Index
    from scrapy_simhash.url_rules.rule import AddressRule

# Slots of 8 bytes: 32 MB at most, of which the system gives only what is used.  An address is
# forgotten when another one takes its slot: of 1 million addresses, 0.01 % are, of 4 million 12 %.
SLOTS = 1 << 22
KEPT_SLOTS = ASKED_SLOTS = 1 << 20
# An address may take any slot of a line of this many, as in the caches of processors.  With one
# slot for each, 11 % of 1 million would be forgotten, and every copy with 100 links would lead on.
WAYS = 8

# Rules that are tried.
RULES = 32
# A copy with more new links than this leads on, without a look at rules that are trusted, and one
# with more than the second without a look at its own rule.
MOST_NEW = 64
MOST_ALIASES = 250
# Trusted rules that apply to such a page, of those that are then applied to its links.
MOST_OF_PAGE = 2
# The times that a rule must have been right before it counts.
TRUSTED_AFTER = 5
# Some copies of a mirror are kept, for example since they are too short.  Of two releases of a
# documentation, far more pages differ.
MOST_WRONG = 0.02
# Parameters of a kept address that are looked at one by one.
MARKED_PARAMETERS = 5


class Decisions(NamedTuple):
    """The *final* decision on a page, and that by its *text*, from which the index learns."""

    final: Decision
    text: Decision


async def decide(index: Index, reach: Reach, page: Page) -> Decisions:
    """Store a page, and decide on it: a duplicate by its values is kept for links that are new.

    Where candidates are not verified, the index alone decides.  Another page may be judged as soon
    as the caller waits for anything.  So the caller must first say what the spider is handed, or a
    copy of this page seems to lead on.
    """
    decision = await index.add(page)
    if decision.reason == "new_text" or decision.verdict == "refresh":
        if decision.replaces is None:
            reach.note_unique(page.url)
    elif decision.is_duplicate and index.parameters.share is not None:
        rules = _rules_of_copies(index, Address.of(page.url).host)
        variant = _leading_on(reach, page, decision, index.learned.noise(page.section).cuts, rules)
        if variant is not None:
            await index.keep(page)
            return Decisions(variant, decision)
    return Decisions(decision, decision)


def _rules_of_copies(index: Index, host: str) -> Iterator[AddressRule]:
    """Yield the rules in the index by which pages of a host have been copies."""
    # Not before the first duplicate: no rules may be learned in this crawl.
    from scrapy_simhash.url_rules.evidence import MOST_DOUBT

    known = index.learned.rules.about(host)
    return (one.rule for one in known if one.doubt <= MOST_DOUBT)


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
    addresses = page.holds.addresses
    new = reach.new_among(
        addresses.of(*LEADING),
        page.url,
        closest.url,
        decision.kept_addresses,
        cuts,
        rules,
    )
    reasons: tuple[tuple[str, Reason], ...] = (("link", "new_links"), ("media", "new_media"))
    for kind, reason in reasons:
        own = [Told(kind, "", one) for one in addresses.of(kind) if one in new.addresses]
        if own:
            return kept(reason, new=tuple(own[:SHOWN]), is_alias=new.are_aliases)
    return None


class KnownAddresses:
    """A set of addresses in bounded memory that may forget some, but never invents one.

    Each address is a 64-bit hash in a slot of the line that the hash names: 8 bytes an address.
    A forgotten address counts as new, so that a page passes which leads nowhere new.  Two addresses
    with one hash (a chance of 2**-42 for each page that looks among 2**22) would hide a new one.
    The hash 0, which an empty slot has, is never known.
    """

    def __init__(self, slots: int = SLOTS) -> None:
        self._lines = slots // WAYS
        self._slots = memoryview(mmap.mmap(-1, 8 * slots)).cast("Q")

    def add(self, addresses: Iterable[str]) -> None:
        """Take note of addresses; 0.3 us each."""
        self.add_hashes(hash_features(addresses))

    def add_hashes(self, hashes: Iterable[int]) -> None:
        """Take note of addresses by what :func:`hash_feature` returns of each."""
        slots = self._slots
        for value in hashes:
            start = value % self._lines * WAYS
            if slots[start] == value:
                continue
            line = slots[start : start + WAYS].tolist()
            if value not in line:
                place = line.index(0) if 0 in line else (value >> 32) % WAYS
                slots[start + place] = value

    def remove(self, address: str) -> None:
        """Forget an address, if it is known."""
        value, slots = hash_feature(address), self._slots
        start = value % self._lines * WAYS
        line = [one for one in slots[start : start + WAYS].tolist() if one != value]
        for place, one in enumerate((*line, *[0] * (WAYS - len(line)))):
            slots[start + place] = one

    def missing(self, addresses: Iterable[str]) -> list[str]:
        """Return those addresses that are not in the set, in order; 0.3 us each."""
        listed = list(addresses)
        hashes = zip(listed, hash_features(listed), strict=True)
        return [address for address, value in hashes if not self._has(value)]

    def __contains__(self, address: str) -> bool:
        return self._has(hash_feature(address))

    def _has(self, value: int) -> bool:
        start = value % self._lines * WAYS
        first = self._slots[start]
        if not first or not value:  # a line is filled from its start, and most are empty
            return False
        return first == value or value in self._slots[start + 1 : start + WAYS].tolist()


@dataclass(slots=True)
class _AliasTrials:
    """Pairs of addresses that a rule makes one: how many led to the *same*, or to something else.

    Of *texts* pairs, both pages were kept for their texts.
    """

    same: int = 0
    different: int = 0
    texts: int = 0

    @property
    def pages(self) -> int:
        return self.same + self.different + self.texts

    @property
    def is_trusted(self) -> bool:
        if self.same < TRUSTED_AFTER or self.texts > MOST_WRONG * self.same:
            return False
        return self.different <= MOST_WRONG * self.same


@dataclass(slots=True)
class NewAddresses:
    """The *addresses* in a copy that are new.

    *are_aliases*: all are known under the rule that turns the address of the copy into that of the
    kept page, or under a trusted rule that applies to the copy.
    """

    addresses: set[str]
    are_aliases: bool = False


class Reach:
    """What the spider has been handed, and what a copy of a page has beside that.

    An address in a copy also counts as handed if another address was that is one with it:

    - by a session: the addresses of the copy and of the kept page differ in a parameter that the
      address has with the same value as the copy;
    - by a rule that was right at least :data:`TRUSTED_AFTER` times, and hardly ever wrong.  It is
      right if a copy has no new addresses after it has rewritten them.  It is wrong if the copy
      leads on, or if two pages are both kept for their texts whose addresses it makes one.

    *cuts_links* says that some of the links which the spider gets may not be followed.
    """

    def __init__(self, cuts_links: bool = False) -> None:
        self._handed = KnownAddresses()
        self._asked = KnownAddresses(ASKED_SLOTS) if cuts_links else None
        self._kept = KnownAddresses(KEPT_SLOTS)
        self._trials: Heaviest[AddressRule, _AliasTrials] = Heaviest(RULES, _AliasTrials)

    def hand(self, addresses: Iterable[str], cuts: Cuts = NO_CUTS) -> None:
        """Note that the spider gets these addresses, in a page or as that of a request."""
        names = cuts.parameters
        self._handed.add((stripped(one, names) for one in addresses) if names else addresses)

    def hand_all(self, addresses: Addresses) -> None:
        """Note that the spider gets what is on a page, without what changes by itself."""
        self._handed.add_hashes(addresses.hashes)

    def note_asked(self, address: str) -> None:
        """Note that a request is sent for an address."""
        if self._asked is not None:
            self._asked.add([address])

    def take_back(self, address: str) -> None:
        """Note that no request is sent for an address that was on a page; but one may have been."""
        if self._asked is None or address not in self._asked:
            self._handed.remove(address)

    def unmet(self, addresses: Iterable[str]) -> list[str]:
        """Return the addresses that the spider has not got yet; 0.3 us each."""
        return self._handed.missing(addresses)

    def note_unique(self, url: str) -> None:
        """Note that a page is like none before: rules that make it one of them are wrong.

        Cost: 0.2 us for each rule, of which there are at most :data:`RULES`, and 5 us for each that
        may be about the page.
        """
        for rule, trial in self._trials.items():
            if not _may_be_about(rule, url):
                continue
            short = rule.rewritten(url)
            # The second stands for an address with any value of the parameter that is dropped.
            if short != url and (short in self._kept or f"{short} {rule.drop}" in self._kept):
                trial.texts += 1
        self._kept.add([url, *_marks(url)])

    def start_trials_over(self) -> None:
        """Forget what spoke against rules, except for texts: it may have changed by itself."""
        for _, trial in self._trials.items():
            trial.different = 0

    def new_among(
        self,
        addresses: Iterable[str],
        url: str,
        kept_url: str,
        kept: bytes | None = None,
        cuts: Cuts = NO_CUTS,
        rules: Iterable[AddressRule] = (),
    ) -> NewAddresses:
        """Return those addresses in a copy at *url* of the page at *kept_url* that are new.

        They come without what *cuts* leave out.  *kept* are the packed addresses of the kept page,
        which another process may have handed its spider.  *rules* are those that pages have been
        copies by: new addresses that are known under one that is about the copy are aliases.

        Cost: 0.5 us for each address, for each of at most :data:`MOST_NEW` new ones up to 5 us for
        each trusted rule, three times if rules are about the copy, and for each of at most
        :data:`MOST_ALIASES` 20 us.
        """
        own = {stripped(one, cuts.parameters) for one in (url, kept_url)}
        kept_hashes = unpack_addresses(kept)

        def is_theirs(address: str) -> bool:
            return address in own or (
                bool(kept_hashes) and hash_feature(address) >> 32 in kept_hashes
            )

        def is_known(address: str) -> bool:
            return address in self._handed or is_theirs(address)

        def is_known_by(rules: Iterable[AddressRule], link: str) -> bool:
            about = (rule for rule in rules if _may_be_about(rule, link))
            return any(is_known(rule.rewritten(link)) for rule in about)

        new = {address for address in self.unmet(addresses) if not is_theirs(address)}
        rule = _rule_of(Address.of(url), Address.of(kept_url))
        if len(new) > MOST_ALIASES:
            return NewAddresses(new)
        trials = self._trials.items()
        trusted = [one for one, trial in trials if trial.is_trusted]
        of_page = [*islice(_about(url, chain(rules, trusted)), MOST_OF_PAGE)] if new else []
        if len(new) > MOST_NEW:
            by = [*of_page, *([rule] if rule else [])]
            return NewAddresses(new, all(is_known_by(by, address) for address in new))
        session = Session(url, kept_url)

        # Each with what it may be on the kept page; what is in neither form known is new.
        forms = {address: (address, *session(address)) for address in new}
        new = {
            address
            for address, others in forms.items()
            if not any(is_known(other) or is_known_by(trusted, other) for other in others)
        }
        is_right = rule is not None and all(
            any(is_known_by([rule], other) for other in forms[address]) for address in new
        )
        if rule is not None:
            trial = self._trials[rule]
            trial.same += is_right
            trial.different += not is_right
            if is_right and trial.is_trusted:
                return NewAddresses(set(), are_aliases=True)
        # By these, the page at its other address may have been dropped.
        tried = [one for one, trial in trials if trial.same >= TRUSTED_AFTER]

        def is_known_elsewhere(address: str) -> bool:
            others = (one.rewritten(address) for one in of_page if _may_be_about(one, address))
            return any(is_known(other) or is_known_by(tried, other) for other in others)

        return NewAddresses(new, is_right or all(map(is_known_elsewhere, new)))


def _rule_of(address: Address, kept: Address) -> AddressRule | None:
    """Return the rule that would make two addresses one; parameters are a matter of the session.

    Where nothing else differs, the rule is about the parameters.
    """
    from scrapy_simhash.url_rules.rule import difference

    if address[:3] == kept[:3]:
        return difference(address, kept)
    return difference(address._replace(parameters=()), kept._replace(parameters=()))


def _about(url: str, rules: Iterable[AddressRule]) -> Iterator[AddressRule]:
    """Yield the rules that make another address of one, each once; 5 us each."""
    for rule in dict.fromkeys(rules):
        if _may_be_about(rule, url) and rule.rewritten(url) != url:
            yield rule


def _may_be_about(rule: AddressRule, url: str) -> bool:
    """Whether a rule may change an address: a look of 0.2 us, where changing it takes 5."""
    return rule.host in url and rule.drop.partition("&")[0] in url


def _marks(url: str) -> Iterable[str]:
    """Yield what stands for an address with any value of one of its parameters."""
    parts = urlsplit(url)
    pieces = parts.query.split("&") if parts.query else []
    for place, piece in enumerate(pieces[:MARKED_PARAMETERS]):
        others = [*pieces[:place], *pieces[place + 1 :]]
        short = parts._replace(query="&".join(others)).geturl()
        yield f"{short} {piece.partition('=')[0]}"
