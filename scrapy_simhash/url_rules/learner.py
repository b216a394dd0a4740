"""Learns rules from the verdicts of a crawl, and says which addresses they make known ones.

A rule is tried once for each key: the address that it makes of all the addresses of one page.  The
key has its trial when there are two addresses under it, and both had the content of one kept page,
or both are kept pages.  The rule is right if it is one page, and wrong if they are two.  The one
page may be kept elsewhere, at another alias; then it counts for one key only, so that each trial
has a kept page of its own, and a wall teaches nothing.  Duplicates of different pages are no trial:
nothing of them can be lost.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Iterator
from typing import NamedTuple

from scrapy_simhash.rule.hashes import long_hash_of
from scrapy_simhash.url_rules.book import RuleBook
from scrapy_simhash.url_rules.evidence import MOST_DOUBT, Hypothesis
from scrapy_simhash.url_rules.keys import KeyedAddress
from scrapy_simhash.url_rules.matches import Acting, Chain, Match, Said, known_content, match_of
from scrapy_simhash.url_rules.rule import AddressRule
from scrapy_simhash.url_rules.sightings import Sighting, Sightings, content_of
from scrapy_simhash.urls import MAX_QUERY, Address, folder_pattern

# A new rule finds so many pages that were kept before it.
MAX_RECENT = 2_000


class Judged(NamedTuple):
    """A judged page, as rules learn from it.

    *kept_url* is where its content was kept: at its own address if it is a kept page.  *party* says
    which requests one page may serve.  *is_doubtful*: it was kept for what may have changed by
    itself.
    *leads_on*: it was kept for links or media.
    """

    url: str
    kept_url: str
    party: str = ""
    is_doubtful: bool = False
    leads_on: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether the page itself was kept."""
        return self.url == self.kept_url


class Suspended(NamedTuple):
    """A rule that is refuted where it was not before: in one template, or in all."""

    hypothesis: Hypothesis
    template: str | None


class Lesson(NamedTuple):
    """What a page taught: rules that it was a trial of, those that it refuted, those now acting.

    *match*, if any, says which rule would have made its download unnecessary.
    """

    tried: tuple[Hypothesis, ...] = ()
    refuted: tuple[Hypothesis, ...] = ()
    suspended: tuple[Suspended, ...] = ()
    learned: tuple[Hypothesis, ...] = ()
    match: Match | None = None


class Learner:
    """Learns from the pages of one crawl; the evidence goes into *book*, which may be shared.

    Rules are tried one by one.  If several act on an address, they make it known together as well;
    if its page is kept all the same, the one that counted is wrong there.

    Cost of a page or an address: O(rules on trial on its host), at most 32; 5 us for each.
    """

    def __init__(self, book: RuleBook, sightings: Sightings | None = None) -> None:
        self._book = book
        # Of the last pages that were kept, the address and the party.
        self._recent: deque[tuple[str, str]] = deque(maxlen=MAX_RECENT)
        self._sightings = Sightings() if sightings is None else sightings

    def match(self, url: str, party: str = "") -> Match | None:
        """Return a rule by which the page at *url* is kept already, at another address."""
        return self.say(url, party).known

    def say(self, url: str, party: str = "") -> Said:
        """Return what rules say of an address."""
        if not _is_plain(url):
            return Said()
        address = Address.of(url)
        about = self._book.about(address.host)
        return self._say(about, KeyedAddress(address, party)) if about else Said()

    def _say(self, about: list[Hypothesis], own: KeyedAddress) -> Said:
        address, chain = own.address, Chain(own.address)
        own_template, whole, acts = chain.template, own.key, False
        for hypothesis in about:
            if hypothesis.learned is None:
                continue
            canonical = hypothesis.applied(address)
            changed = canonical if chain.address is address else hypothesis.applied(chain.address)
            stage = None if changed is None else chain.take(hypothesis, changed)
            template = own_template
            if canonical is None:
                key, stage = own.key, hypothesis.stage(template)
            elif canonical is changed:
                key, template = own.key_of(canonical), chain.template
            else:
                key = own.key_of(canonical)
                if canonical.path is not address.path:
                    template = folder_pattern(canonical)
                stage = hypothesis.stage(template)
            if stage is None:
                continue
            acts = True
            if chain.address is canonical:
                whole = key
            if not self._sightings.may_have(key):
                continue
            seen = self._before(key, hypothesis.salt, own.key)
            if seen is not None and (content := known_content(seen, own.key)) is not None:
                known = Match(hypothesis, template, stage, key, hypothesis.salt, content)
                return Said(acts, whole, known)
        if not chain.applied:
            return Said(acts, whole)
        if chain.address.host != address.host:
            self._apply(chain, chain.address.host, {address.host})
        if len(chain.applied) > 1:
            whole = own.key_of(chain.address)
        return Said(True, whole, self._known_together(chain, whole, own.key))

    def _apply(self, chain: Chain, host: str, but: Collection[str] = ()) -> None:
        """Apply the rules of a host, then those of the one that they lead to: each host's once."""
        done = {*but}
        while host not in done:
            done.add(host)
            for one in self._book.about(host):
                changed = None if one.learned is None else one.applied(chain.address)
                if changed is not None:
                    chain.take(one, changed)
            host = chain.address.host

    def _known_together(self, chain: Chain, key: int, own: int) -> Match | None:
        """Return what rules say if all in a chain apply, and a page is known by that.

        It is kept at the address that all make, which has the *key*, or at one from which one more
        rule, or one of these alone, leads there.
        """
        if not self._sightings.may_have(key):
            return None
        found = self._sightings.get
        if len(chain.applied) > 1 and (seen := found(key)) is not None:
            salt = chain.applied[-1].hypothesis.salt
            if (content := known_content(seen, own)) is not None:
                return match_of(chain.applied, key, salt, content)
        for one in self._ways(chain):
            if (seen := found(key, one.salt)) is not None:
                content = known_content(seen, own)
                if content is not None and (rules := chain.joined_by(one)) is not None:
                    return match_of(rules, key, one.salt, content)
        return None

    def shared(self, first: tuple[str, str], second: tuple[str, str]) -> Match | None:
        """Return a rule by which two addresses in their jars are one, and what else must apply.

        They have the same key as a whole.  Cost: 10 us for each rule on their host.
        """
        whole, ways = self._by_all(*first)
        of_first = dict(ways)
        for salt, rules in self._by_all(*second)[1]:
            if salt in of_first:
                return match_of([*of_first[salt], *rules], whole, salt)
        return None

    def _by_all(self, url: str, party: str) -> tuple[int, list[tuple[int, list[Acting]]]]:
        """Return the key that all rules that apply give an address, and the ways to it, by salt."""
        own = KeyedAddress(Address.of(url), party)
        chain = Chain(own.address)
        self._apply(chain, own.address.host)
        ways = ((one.salt, chain.joined_by(one)) for one in self._ways(chain))
        found = [(salt, rules) for salt, rules in ways if rules is not None]
        return own.key_of(chain.address), found

    def _ways(self, chain: Chain) -> Iterator[Hypothesis]:
        """Yield the rules that may have noted a page under their key of the end of a chain."""
        applied = [one.hypothesis for one in chain.applied]
        yield from reversed(applied)
        for one in self._book.about(chain.address.host):
            if one.learned is not None and one not in applied:
                yield one

    def content(self, match: Match) -> int | None:
        """Return the content of a page at any address with the key of a match, if it is known."""
        seen = self._seen(match.whole, match.salt)
        return seen.content if seen is not None and seen.is_known else None

    def learn(self, page: Judged) -> Lesson:
        """Learn from a page that has content of its own, and is no wall."""
        if not _is_plain(page.url):
            return Lesson()
        now, address = time.time(), Address.of(page.url)
        own, about = KeyedAddress(address, page.party), self._book.about(address.host)
        match = self._say(about, own).known
        kept = None
        if not page.is_kept and _is_plain(page.kept_url):
            kept = KeyedAddress(Address.of(page.kept_url), page.party)
        is_copy = kept is not None and self._is_copy(about, address, kept)
        content = long_hash_of(page.kept_url)
        seen = Sighting.of(content, own.key, page.is_kept, is_copy=is_copy)
        known = match and self._seen(match.whole, match.salt)
        tried, refuted, suspended, learned = [], [], [], []

        def count(one: Hypothesis, template: str, is_right: bool, before: Sighting | None) -> None:
            # Links of a copy may have been known by a rule that is trusted no more.
            is_apart = page.leads_on and before is not None and not before.is_kept
            was_learned = one.learned is not None
            is_new = one.count(template, is_right, now, page.is_doubtful, is_apart)
            tried.append(one)
            if not is_right:
                refuted.append(one)
                suspended.extend([Suspended(one, template if is_apart else None)] * is_new)
            elif one.learned is not None and not was_learned:
                learned.append(one)

        for hypothesis in about:
            canonical = hypothesis.applied(address) or address
            template = folder_pattern(canonical)
            # Links of a copy may have been known in a way that those of its page are not.
            copies_count = not page.is_doubtful or hypothesis.stage(template) is not None
            key = own.key_of(canonical)
            before = self._before(key, hypothesis.salt, own.key)
            is_right = self._trial(hypothesis, key, kept, own.key, seen, before, copies_count)
            if is_right is not None:
                count(hypothesis, template, is_right, before)
        if match is not None and match.others and page.is_kept and match.hypothesis not in refuted:
            count(match.hypothesis, match.template, False, known)
        if tried:
            self._book.note_trials(address.host, len(tried), bool(refuted or learned))
        self._sightings.put(own.key, seen)
        if kept is not None:
            for begun in self._book.site(address.host).suggest(address, kept.address, now):
                self._look_back(begun)
        if page.is_kept:
            self._recent.append((page.url, page.party))
        return Lesson(tuple(tried), tuple(refuted), tuple(suspended), tuple(learned), match)

    def holds(self, rule: AddressRule) -> bool:
        """Whether a rule may act anywhere."""
        hypothesis = self._book.hypothesis(rule)
        return hypothesis is not None and bool(hypothesis.acts())

    def tried(self, rule: AddressRule, least: int) -> list[str]:
        """Return the templates in which a rule was right so often at least."""
        hypothesis = self._book.hypothesis(rule)
        trials = {} if hypothesis is None else hypothesis.trials
        return [name for name, one in trials.items() if one.right >= least]

    def fail(self, rule: AddressRule, template: str, is_apart: bool) -> None:
        """Count a failure that no trial has shown; one *is_apart* counts in its template only."""
        hypothesis = self._book.hypothesis(rule)
        if hypothesis is not None:
            hypothesis.count(template, False, time.time(), is_apart=is_apart)
            self._book.note_trials(rule.host, 1, are_urgent=True)

    def parties_of(self, url: str) -> set[str]:
        """Return the parties for which a page was kept of late, the empty one among them."""
        return {"", *(party for kept, party in self._recent if kept == url)}

    def clear_doubtful(self, url: str) -> None:
        """Forget doubtful failures on a site: it is known now what changes by itself there."""
        site = self._book.of(Address.of(url).host)
        for hypothesis in site.hypotheses.values() if site is not None else ():
            hypothesis.clear_doubtful()

    def forget(self, url: str, party: str = "") -> int:
        """Forget that a page was kept: it was taken back, or is a wall.  Return its content."""
        content = content_of(long_hash_of(url))
        self._sightings.retract(content)
        if _is_plain(url):
            own = KeyedAddress(Address.of(url), party)
            self._sightings.remove(own.key)
            for hypothesis in self._book.about(own.address.host):
                key = own.key_of(hypothesis.applied(own.address))
                self._sightings.remove(key, hypothesis.salt)
        return content

    def _is_copy(self, about: list[Hypothesis], address: Address, kept: KeyedAddress) -> bool:
        """Whether a page is a copy of one that this crawl has kept, and a rule says why.

        The rule need not act: it was right for most keys.  A wall, or a page that says nothing, is
        what pages at any addresses are copies of.
        """
        seen = self._sightings.get(kept.key)
        if seen is None or not seen.is_kept:
            return False
        own, other = self._end(address), self._end(kept.address)
        return any(
            one.doubt <= MOST_DOUBT and (one.applied(own) or own) == (one.applied(other) or other)
            for one in about
        )

    def _end(self, address: Address) -> Address:
        """Return what all rules that act make of an address."""
        chain = Chain(address)
        self._apply(chain, address.host)
        return chain.address

    def _look_back(self, hypothesis: Hypothesis) -> None:
        """Note under which keys of a new rule pages are kept; 5 us for each recent one."""
        for url, party in self._recent:
            address = Address.of(url)
            if (canonical := hypothesis.applied(address)) is None:
                continue
            own = KeyedAddress(address, party)
            if (seen := self._sightings.get(own.key)) is not None:
                key = own.key_of(canonical)
                if self._sightings.get(key, hypothesis.salt) is None:
                    self._sightings.put(key, seen, hypothesis.salt)

    def _before(self, key: int, salt: int, own: int) -> Sighting | None:
        """Return what was seen under the key of an address: at another one, or at the key itself.

        It is *own* if the rule leaves the address as it is.
        """
        return self._sightings.get(key, salt) if key == own else self._seen(key, salt)

    def _seen(self, key: int, salt: int) -> Sighting | None:
        """Return what was seen under a key, for a rule or at the address itself."""
        return self._sightings.get(key, salt) or self._sightings.get(key)

    def _trial(
        self,
        hypothesis: Hypothesis,
        key: int,
        kept: KeyedAddress | None,
        own: int,
        seen: Sighting,
        before: Sighting | None,
        copies_count: bool,
    ) -> bool | None:
        """Return whether a rule is right of a page; None if this is no trial.  Take note of it.

        *before*: what was seen under its key.  *copies_count*: a page that is kept after a copy is
        a failure.
        """
        if before is None and kept is not None:  # another process may have met the kept page
            kept_key = kept.key_of(hypothesis.applied(kept.address))
            if kept_key == key:
                before = Sighting.of(seen.content, kept.key, True)
        if before is None:
            if key != own:
                self._sightings.put(key, seen, hypothesis.salt)
            return None
        if before.is_at(own):
            return None
        is_right = None
        if before.content != seen.content:
            if seen.is_kept and (before.is_kept or (before.is_copy and copies_count)):
                is_right = False
        elif not before.is_tried:
            is_here = before.is_kept or seen.is_kept
            if is_here or (kept and self._takes_trial(hypothesis, kept, seen)):
                is_right = True
        now = before if before.is_kept or (before.is_copy and not seen.is_kept) else seen
        is_tried = before.is_tried or is_right is not None
        self._sightings.put(key, now._replace(is_tried=is_tried), hypothesis.salt)
        return is_right

    def _takes_trial(self, hypothesis: Hypothesis, kept: KeyedAddress, seen: Sighting) -> bool:
        """Whether a page that is kept elsewhere had no trial of a rule yet; now it has had it."""
        key = kept.key_of(hypothesis.applied(kept.address))
        before = self._seen(key, hypothesis.salt)
        if before is not None and (before.is_tried or before.content != seen.content):
            return False
        tried = Sighting.of(seen.content, kept.key, True, True)
        self._sightings.put(key, tried, hypothesis.salt)
        return True


def _is_plain(url: str) -> bool:
    """Whether all of an address counts for its key: it is not cut, and names no user."""
    if len(url) > MAX_QUERY:
        return False
    if "@" not in url:
        return True
    start = url.find("//") + 2
    end = url.find("/", start)
    return "@" not in url[start : end if end >= 0 else len(url)]
