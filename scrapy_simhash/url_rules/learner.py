"""Learns rules from the verdicts of a crawl, and says which addresses they make known ones.

A rule is tried once for each key: a hash of the address that it makes of all the addresses of one
page.  The key has its trial when there are two addresses under it, and both had the content of one
kept page, or both are kept pages.  The rule is right if it is one page, and wrong if they are two.
The one page may be kept elsewhere, at another alias; then it counts for one key only, so that each
trial has a kept page of its own, and a wall teaches nothing.  Duplicates of different pages are no
trial: nothing of them can be lost.

If another rule, which acts or waits there, leads from a kept page to the key, this is a trial, too,
after which the key is still looked at: two rules may be wrong in the same way.

What was seen under which key is in the :class:`Sightings`: a map from 64-bit keys to small values.

| key, 64 bits | content, 22 bits | address, 40 bits | is kept | is tried |
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from mmap import mmap
from typing import NamedTuple

from cachetools import LRUCache

from scrapy_simhash.hashes import long_hash_of
from scrapy_simhash.url_rules.book import RuleBook
from scrapy_simhash.url_rules.evidence import Hypothesis, Stage
from scrapy_simhash.url_rules.rule import AddressRule
from scrapy_simhash.urls import MAX_NAME, MAX_QUERY, Address, folder_pattern, page_pattern

# Pages that were kept last: a new rule finds those that were kept before it, in 20 to 50 ms.
MAX_RECENT = 4_000
# A key takes 16 bytes, so all take 16 MB, of which the system gives only what is used.
MAX_SIGHTINGS = 1 << 20
# A key may take any slot of a line of this many, as in the caches of processors.
WAYS = 8

_KEY_MASK = (1 << 64) - 1
_SALT_BITS = 32
# In the slot of a key that was removed: a line is filled from its start.
_REMOVED = 1
_CONTENT_BITS = 22
_ADDRESS_BITS = 40


class KeyedAddress:
    """An address for a party of requests that one page may serve, and its *key*: 64 bits.

    The key is a hash of the party, the scheme, the host, the path and the parameters, whose order
    does not count.  The hash is Python's, which has a secret of its own in each process (PEP 456):
    no site can make two addresses with one key.  Sums of such hashes would be no keys: those of
    ``a=1&b=2`` and ``a=2&b=1`` are the same in every other process.
    """

    __slots__ = ("address", "key", "party")

    def __init__(self, address: Address, party: str) -> None:
        self.address = address
        self.party = party
        self.key = self.key_of(address)

    def key_of(self, changed: Address | None) -> int:
        """Return the key of what rules have made of the address; None: they leave it as it is."""
        if changed is None:
            return self.key
        scheme, host, path, parameters = changed
        return hash((self.party, scheme, host, path, tuple(sorted(parameters)))) & _KEY_MASK


class Sighting(NamedTuple):
    """What was seen under a key: hashes of the kept page whose content it was, and of an address.

    *is_kept*: this kept page is itself under the key.  *is_tried*: the key has had its trial.
    Two contents have the same hash with a chance of 2**-22: then a failure is overlooked.  Two
    addresses have the same hash with a chance of 2**-40: then a trial is overlooked.
    """

    content: int
    address: int
    is_kept: bool
    is_tried: bool

    @classmethod
    def of(cls, content: int, address: int, is_kept: bool, is_tried: bool = False) -> Sighting:
        """Return a sighting from hashes of any length."""
        content, address = content % (1 << _CONTENT_BITS), address % (1 << _ADDRESS_BITS)
        return cls(content, address, is_kept, is_tried)

    def is_at(self, address: int) -> bool:
        """Whether it was seen at an address, which is a hash of any length."""
        return self.address == address % (1 << _ADDRESS_BITS)


class Sightings:
    """Sightings by key, in bounded memory: it may forget some, but never invents one.

    A key is a hash, and names a line of slots by its high bits: the line holds keys, then their
    values.  A key of 0 is an empty slot.  One is forgotten when another one takes its slot.  There
    are *limit* slots, a power of two.
    """

    def __init__(self, limit: int = MAX_SIGHTINGS) -> None:
        self._slots = memoryview(mmap(-1, 16 * limit)).cast("Q")
        self._starts = 2 * (limit - WAYS)

    def line(self, key: int) -> Sequence[int]:
        """Return the known keys with the high 32 bits of a key, and others; 0.2 to 0.5 us."""
        start = key >> _SALT_BITS & self._starts
        return self._slots[start : start + WAYS].tolist() if self._slots[start] else ()

    def get(self, key: int) -> Sighting | None:
        """Return what was seen under a key; 0.3 to 1 us."""
        line = self.line(key)
        if key not in line:
            return None
        above, flags = divmod(self._slots[self._place(key, line) + WAYS], 4)
        content, address = divmod(above, 1 << _ADDRESS_BITS)
        return Sighting(content, address, bool(flags & 2), bool(flags & 1))

    def put(self, key: int, sighting: Sighting) -> None:
        """Note what was seen under a key, in place of what was there; 1 us."""
        content, address, is_kept, is_tried = sighting
        value = (content << _ADDRESS_BITS | address) << 2 | is_kept << 1 | is_tried
        place = self._place(key, self.line(key))
        self._slots[place], self._slots[place + WAYS] = key, value

    def remove(self, key: int) -> None:
        """Forget what was seen under a key, if it is there."""
        line = self.line(key)
        if key in line:
            self._slots[self._place(key, line)] = _REMOVED

    def _place(self, key: int, line: Sequence[int]) -> int:
        """Return the slot of a key, or else one for it."""
        known = next((one for one in (key, 0) if one in line), None)
        full = key % WAYS if line else 0
        return (key >> _SALT_BITS & self._starts) + (full if known is None else line.index(known))


class RuleMatch(NamedTuple):
    """A rule that acts in the folder pattern of an address, and how sure it is there.

    If the address leads to a page that is kept, *key* is that of what rules make of it, under this
    rule alone.  *content* is that of a page at another address with this key, if it is known.
    *others* are rules that had to apply as well, with their patterns.  *is_tried*: the rule had its
    trial for this key.
    """

    hypothesis: Hypothesis
    pattern: str
    stage: Stage
    key: int = 0
    content: int | None = None
    others: tuple[tuple[AddressRule, str], ...] = ()
    is_tried: bool = False


class RuleAnswer(NamedTuple):
    """What rules say of an address: the key that all together give it.

    *known* is the rule by which its page is kept already, at another address; then *whole* means
    nothing.  Without a rule on its host, the key is 0.
    """

    whole: int = 0
    known: RuleMatch | None = None


def _applied(one: Hypothesis, address: Address) -> RuleMatch | None:
    """Return how sure a rule is, which leads to an address; None if it does not act there."""
    pattern, stage = one.stage_at(address)
    return None if stage is None else RuleMatch(one, pattern, stage)


def _known_content(seen: Sighting, own: int) -> int | None:
    """Return the content of a page that is kept at another address with its key."""
    return seen.content if seen.is_kept and not seen.is_at(own) else None


def _match_of(rules: list[RuleMatch], whole: int, content: int | None = None) -> RuleMatch:
    """Return the match of rules that apply together, which lead to the key *whole*.

    It is that of the rule on trial, or else of the rule most in doubt; of the last rule, if none
    was ever wrong.  Then most requests belong to one rule, and one audit is enough for them.
    """
    match = max(
        reversed(rules),
        key=lambda one: (one.stage == "waiting", one.hypothesis.failures and one.hypothesis.doubt),
    )
    own = match.hypothesis
    others = {one.hypothesis.rule: one.pattern for one in rules if one.hypothesis != own}
    return match._replace(key=whole ^ own.salt, content=content, others=tuple(others.items()))


class Lesson(NamedTuple):
    """What a page taught: the rules that it tried, those that it refuted, and those that act now.

    *suspended* are those that are refuted in a folder pattern where they were not before, each with
    this pattern and the page pattern.  *match* says which rule would have made its download
    unnecessary, if there is one; *known* says the same, also of a rule on trial.
    """

    tried: tuple[Hypothesis, ...] = ()
    refuted: tuple[Hypothesis, ...] = ()
    suspended: tuple[tuple[Hypothesis, str, str], ...] = ()
    learned: tuple[Hypothesis, ...] = ()
    match: RuleMatch | None = None
    known: RuleMatch | None = None


class Learner:
    """Learns from the pages of one crawl; the evidence goes into *book*, which may be shared.

    Rules are tried one by one.  If several act on an address, they make it known together as well;
    if its page is kept all the same, the one that counted is wrong there.

    Cost of a page or an address: O(rules on trial on its host), at most 32; 5 us for each.
    """

    def __init__(self, book: RuleBook) -> None:
        self.book = book
        # The last pages that were kept: the URL of each, and its address with the party.
        self._recent: deque[tuple[str, KeyedAddress]] = deque(maxlen=MAX_RECENT)
        # The rules that the last page has refuted, with its URL.
        self._refuted: list[tuple[str, Hypothesis]] = []
        # The same, by the keys that all rules together gave them.
        self._wholes: LRUCache[int, KeyedAddress] = LRUCache(MAX_RECENT)
        self._sightings = Sightings()

    def say(self, url: str, party: str = "") -> RuleAnswer:
        """Return what rules say of an address."""
        if not _is_plain(url):
            return RuleAnswer()
        address = Address.of(url)
        about = self.book.about(address.host)
        return self._say(about, KeyedAddress(address, party)) if about else RuleAnswer()

    def _say(self, about: list[Hypothesis], own: KeyedAddress) -> RuleAnswer:
        waiting: RuleMatch | None = None
        is_about_it = False
        here = self._sightings.line(own.key)
        for one in about:
            canonical = one.applied(own.address) if one.is_used else None
            if canonical is None:
                canonical, key, line = own.address, own.key, here
            else:
                is_about_it = True
                key = own.key_of(canonical)
                line = self._sightings.line(key)
            if key ^ one.salt in line or key in line:
                match = self._known_by(one, canonical, key, own.key)
                if match is not None and match.stage != "waiting":
                    return RuleAnswer(known=match)
                waiting = waiting or match
        if waiting is not None:
            return RuleAnswer(known=waiting)
        address, applied = self._chain(own.address) if is_about_it else (own.address, [])
        whole = own.key_of(address)
        known = self._known_together(address, applied, whole, own.key)
        kept = None if known else self._wholes.get(whole)
        if kept and (content := self._content_under(kept.key, own.key)) is not None:
            known = (match := self._shared(kept, own)) and match._replace(content=content)
        return RuleAnswer(whole, known)

    def _known_by(
        self, one: Hypothesis, canonical: Address, key: int, own: int
    ) -> RuleMatch | None:
        """Return the match of one rule if the page of an address is known by it alone.

        Where the rule does not act, but was never wrong, this is a key that had its trial.
        """
        seen = self._seen(key, one.salt)
        if seen is None or (content := _known_content(seen, own)) is None:
            return None
        pattern, stage = one.stage_at(canonical)
        if stage is None and not (seen.is_tried and one.is_right_so_far):
            return None
        key ^= one.salt
        return RuleMatch(one, pattern, stage or "waiting", key, content, is_tried=seen.is_tried)

    def _chain(self, address: Address) -> tuple[Address, list[RuleMatch]]:
        """Return what all rules that act on an address make of it, and these rules.

        They are those of its host, then those of the host that these lead to: each host's once.
        """
        applied: list[RuleMatch] = []
        done: set[str] = set()
        while (host := address.host) not in done:
            done.add(host)
            for one in self.book.about(host):
                changed = one.applied(address) if one.is_used else None
                if changed is not None and (rule := _applied(one, changed)) is not None:
                    applied.append(rule)
                    address = changed
        return address, applied

    def _known_together(
        self, address: Address, applied: list[RuleMatch], key: int, own: int
    ) -> RuleMatch | None:
        """Return by which rules a page is known if all that were *applied* lead to an *address*.

        It is kept at this address, which has the *key*; or at an address from which one more rule,
        or one of these rules alone, leads there.
        """
        line = self._sightings.line(key)
        if not applied or not any(line):
            return None
        if len(applied) > 1 and (content := self._content_under(key, own)) is not None:
            return _match_of(applied, key, content)
        of_chain = [one.hypothesis for one in applied]
        for one in (*reversed(of_chain), *self.book.about(address.host)):
            if key ^ one.salt not in line:
                continue
            rules = applied
            if one not in of_chain:
                if (more := _applied(one, address)) is None:
                    continue
                rules = [more, *applied]
            if (content := self._content_under(key ^ one.salt, own)) is not None:
                return _match_of(rules, key, content)
        return None

    def _content_under(self, key: int, own: int) -> int | None:
        seen = self._sightings.get(key)
        return None if seen is None else _known_content(seen, own)

    def shared(self, first: str, second: str, party: str = "") -> RuleMatch | None:
        """Return a rule by which two addresses of one party are one; and the other rules.

        All rules together give them the same key.  Cost: 10 us for each rule on their host.
        """
        return self._shared(*(KeyedAddress(Address.of(url), party) for url in (first, second)))

    def _shared(self, *both: KeyedAddress) -> RuleMatch | None:
        chains = [self._chain(one.address) for one in both]
        whole, other = (both[0].key_of(end) for end, _ in chains)
        rules = [*dict.fromkeys(one for _, applied in chains for one in applied)]
        return _match_of(rules, whole) if rules and whole == other else None

    def content_at(self, url: str, party: str) -> int | None:
        """Return the content of the page at an address; None if it is not kept there."""
        seen = self._sightings.get(KeyedAddress(Address.of(url), party).key)
        return seen.content if seen is not None and seen.is_kept else None

    def learn(
        self,
        url: str,
        kept_url: str,
        party: str = "",
        now: float | None = None,
        *,
        is_doubtful: bool = False,
        leads_on: bool = False,
    ) -> Lesson:
        """Learn from a judged page that has content of its own, and is no wall; *now* in seconds.

        *kept_url* is where its content was kept: at its own address if it is a kept page.  *party*
        says which requests one page may serve.  *is_doubtful*: it was kept for what may have
        changed by itself.  *leads_on*: it was kept for links or media.
        """
        if not _is_plain(url):
            return Lesson()
        now, address = time.time() if now is None else now, Address.of(url)
        own, about = KeyedAddress(address, party), self.book.about(address.host)
        is_kept = url == kept_url
        whole, known = self._say(about, own)
        # One that waits would have saved nothing yet.
        match = None if known is None or known.stage == "waiting" else known
        kept = None
        if not is_kept and _is_plain(kept_url):
            kept = KeyedAddress(Address.of(kept_url), party)
        seen = Sighting.of(long_hash_of(kept_url), own.key, is_kept)
        tried, refuted, suspended, learned = [], [], [], []

        def count(one: Hypothesis, pattern: str, page_at: str, is_right: bool) -> None:
            was_learned = one.learned is not None
            is_new = one.count(pattern, is_right, now, page_at, is_doubtful, leads_on)
            tried.append(one)
            if not is_right:
                refuted.append(one)
                suspended.extend([(one, pattern, page_at)] * is_new)
            elif one.learned is not None and not was_learned:
                learned.append(one)

        for hypothesis in about:
            canonical = hypothesis.applied(address) or address
            is_right = self._trial(hypothesis, canonical, own.key_of(canonical), kept, seen)
            if is_right is not None:
                count(hypothesis, folder_pattern(canonical), page_pattern(canonical), is_right)
        if match is not None and match.others and is_kept and match.hypothesis not in refuted:
            count(match.hypothesis, match.pattern, "", False)
        if tried:
            self.book.note_trials(address.host, len(tried), bool(refuted or learned))
        self._refuted = [(url, one) for one in refuted]
        self._sightings.put(own.key, seen)
        if kept is not None:
            site = self.book.site(address.host)
            for other in dict.fromkeys((kept.address, self._chain(kept.address)[0])):
                for begun in site.suggest(address, other, now):
                    self._look_back(begun)
        if is_kept:
            self._recent.append((url, own))
            self._wholes[whole] = own
        return Lesson(tuple(tried), tuple(refuted), tuple(suspended), tuple(learned), match, known)

    def fail(self, rule: AddressRule, pattern: str, leads_on: bool, url: str) -> str:
        """Count a failure that was no trial; for links or media, it counts in its pattern only.

        Return the page pattern that has failed, empty if the rule is not known any more.
        """
        hypothesis = self.book.hypothesis(rule)
        if hypothesis is None:
            return ""
        address = Address.of(url)
        page = page_pattern(hypothesis.applied(address) or address)
        if (url, hypothesis) not in self._refuted:
            hypothesis.count(pattern, False, time.time(), page, is_leading=leads_on)
            self.book.note_trials(rule.host, 1, are_urgent=True)
        return page

    def parties_of(self, url: str) -> set[str]:
        """Return the parties for which a page was kept recently, and the empty one."""
        return {"", *(own.party for kept, own in self._recent if kept == url)}

    def note_noise(self, url: str, names: Iterable[str]) -> None:
        """Forget the doubtful failures on a site, since what changes by itself there is known.

        Parameters with these *names* change at each visit: no page differs by them.
        """
        host, now = Address.of(url).host, time.time()
        site = self.book.site(host)
        for hypothesis in site.hypotheses.values():
            hypothesis.clear_doubtful()
        for name in names:
            one = site.put_on_trial(AddressRule("parameter", host, name[:MAX_NAME], ""), now)
            if one is not None and not one.changes:
                one.note_changing(now)
                self._look_back(one)

    def forget(self, url: str, party: str = "") -> int:
        """Forget that a page was kept: it was taken back, or is a wall.  Return its content."""
        if _is_plain(url):
            own = KeyedAddress(Address.of(url), party)
            self._sightings.remove(own.key)
            for hypothesis in self.book.about(own.address.host):
                key = own.key_of(hypothesis.applied(own.address))
                self._sightings.remove(key ^ hypothesis.salt)
        return long_hash_of(url) % (1 << _CONTENT_BITS)

    def _look_back(self, hypothesis: Hypothesis) -> None:
        """Note the recent pages under their keys of a new rule; 2 us for each on its host."""
        for _, own in self._recent:
            if (canonical := hypothesis.applied(own.address)) is None:
                continue
            if (seen := self._sightings.get(own.key)) is not None:
                key = own.key_of(canonical)
                if self._sightings.get(key ^ hypothesis.salt) is None:
                    self._sightings.put(key ^ hypothesis.salt, seen)

    def _seen(self, key: int, salt: int) -> Sighting | None:
        """Return what was seen under a key, for a rule or at the address itself."""
        return self._sightings.get(key ^ salt) or self._sightings.get(key)

    def _trial(
        self, rule: Hypothesis, end: Address, key: int, kept: KeyedAddress | None, seen: Sighting
    ) -> bool | None:
        """Return whether a rule is right about a page; None if this is no trial.  Note the page.

        The rule leads to an address at the *end*, which has the *key*.
        """
        before = self._seen(key, rule.salt)
        if (
            before is None
            and kept is not None  # another process may have met it
            and kept.key_of(rule.applied(kept.address)) == key
        ):
            before = Sighting.of(seen.content, kept.key, True)
        if before is None:
            if seen.is_at(key):
                return None
            is_right = self._paired(end, key, seen)
            self._sightings.put(key ^ rule.salt, seen._replace(is_tried=bool(is_right)))
            return is_right
        if before.is_at(seen.address):
            return None
        is_right = None
        is_here = before.is_kept or seen.is_kept
        if before.content != seen.content:
            is_right = False if before.is_kept and seen.is_kept else None
        elif not before.is_tried and (
            is_here or (kept and self._takes_trial(rule, kept, seen.content))
        ):
            is_right = True
        now = before if before.is_kept else seen
        is_tried = is_right is not None or (before.is_tried and before.content == now.content)
        self._sightings.put(key ^ rule.salt, now._replace(is_tried=is_tried))
        return is_right

    def _paired(self, end: Address, key: int, seen: Sighting) -> bool | None:
        """Return whether two rules are right that lead from two pages to one address; or None."""
        for other in self.book.about(end.host):
            content = self._content_under(key ^ other.salt, seen.address)
            if content is not None and _applied(other, end):
                return content == seen.content or (False if seen.is_kept else None)
        return None

    def _takes_trial(self, hypothesis: Hypothesis, kept: KeyedAddress, content: int) -> bool:
        """Whether the kept page of a copy had no trial of a rule yet; now it has had one."""
        key = kept.key_of(hypothesis.applied(kept.address))
        before = self._seen(key, hypothesis.salt)
        if before is not None and (before.is_tried or before.content != content):
            return False
        self._sightings.put(key ^ hypothesis.salt, Sighting.of(content, kept.key, True, True))
        return True


def _is_plain(url: str) -> bool:
    """Whether the key of a URL holds all of it: the URL is not cut, and names no user."""
    return len(url) <= MAX_QUERY and "@" not in url.partition("//")[2].partition("/")[0]
