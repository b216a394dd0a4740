"""Learns rules from the verdicts of a crawl, and says which addresses they make known ones.

A rule is tried once for each key: the address that it makes of all the addresses of one page.  The
key has its trial when there are two addresses under it, and a page that was kept at one of them.
The rule is right if the other one had the content of that page, and wrong if it was kept as well.
A duplicate of something else is no trial: it shows nothing, and nothing of it can be lost.  So each
trial has a kept page of its own.
"""

from __future__ import annotations

import time
from collections import deque
from typing import NamedTuple

import mmh3

from scrapy_simhash.addresses.address import MAX_QUERY, Address
from scrapy_simhash.addresses.book import RuleBook
from scrapy_simhash.addresses.evidence import Hypothesis, Stage, template_of
from scrapy_simhash.addresses.rule import AddressRule
from scrapy_simhash.addresses.sightings import Sighting, Sightings

# A new rule finds so many pages that were kept before it.
MAX_RECENT = 2_000


class Judged(NamedTuple):
    """A judged page, as rules learn from it.

    *kept_url* is where its content was kept: at its own address if it is a kept page.  *jar* is the
    name of its cookie jar.  *is_doubtful*: it was kept for what may have changed by itself.
    """

    url: str
    kept_url: str
    jar: str = ""
    is_doubtful: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether the page itself was kept."""
        return self.url == self.kept_url


class Match(NamedTuple):
    """A rule that makes an address one at which a page is kept, and how sure it is of that.

    *key* is that of the page under the rule.
    """

    hypothesis: Hypothesis
    template: str
    stage: Stage
    key: int


class Lesson(NamedTuple):
    """What a page taught: rules that it was a trial of, those that it refuted, those now acting.

    *match*, if any, says which rule would have made its download unnecessary.
    """

    tried: tuple[Hypothesis, ...] = ()
    refuted: tuple[Hypothesis, ...] = ()
    learned: tuple[Hypothesis, ...] = ()
    match: Match | None = None


class Learner:
    """Learns from the pages of one crawl; the evidence goes into *book*, which may be shared.

    Cost of a page or an address: O(rules on trial on its host), at most 32; 5 us for each.
    """

    def __init__(self, book: RuleBook, sightings: Sightings | None = None) -> None:
        self._book = book
        # Of the last pages that were kept, the address and the cookie jar.
        self._recent: deque[tuple[str, str]] = deque(maxlen=MAX_RECENT)
        self._sightings = Sightings() if sightings is None else sightings

    def match(self, url: str, jar: str = "") -> Match | None:
        """Return a rule by which the page at *url* is kept already, at another address."""
        if not _is_plain(url):
            return None
        address = Address.of(url)
        site = self._book.of(address.host)
        if site is None:
            return None
        own = _key_of(address, jar)
        for hypothesis in site.about(address.host):
            if hypothesis.learned is None:
                continue
            canonical = hypothesis.rule.applied(address)
            before = self._before(hypothesis, canonical, own, jar)
            if before is None or not before.is_kept or before.is_at(own):
                continue
            template = template_of(canonical or address)
            if (stage := hypothesis.stage(template)) is not None:
                key = own if canonical is None else _key_of(canonical, jar)
                return Match(hypothesis, template, stage, key ^ hypothesis.salt)
        return None

    def learn(self, page: Judged) -> Lesson:
        """Learn from a page that has content of its own, and is no wall."""
        if not _is_plain(page.url):
            return Lesson()
        match, now = self.match(page.url, page.jar), time.time()
        address = Address.of(page.url)
        own = _key_of(address, page.jar)
        seen = Sighting.of(_hash(page.kept_url), own, page.is_kept)
        kept = None if page.is_kept or not _is_plain(page.kept_url) else Address.of(page.kept_url)
        tried, refuted, learned = [], [], []
        site = self._book.of(address.host)
        for hypothesis in site.about(address.host) if site is not None else ():
            is_right = self._trial(hypothesis, address, kept, own, seen, page.jar)
            if is_right is None:
                continue
            was_learned = hypothesis.learned is not None
            template = template_of(hypothesis.rule.applied(address) or address)
            hypothesis.count(template, is_right, now, page.is_doubtful)
            tried.append(hypothesis)
            if not is_right:
                refuted.append(hypothesis)
            elif hypothesis.learned is not None and not was_learned:
                learned.append(hypothesis)
        if tried:
            self._book.note_trials(address.host, len(tried), bool(refuted or learned))
        self._sightings.put(own, seen)
        if kept is not None:
            for begun in self._book.site(address.host).suggest(address, kept, now):
                self._look_back(begun)
        if page.is_kept:
            self._recent.append((page.url, page.jar))
        return Lesson(tuple(tried), tuple(refuted), tuple(learned), match)

    def holds(self, rule: AddressRule) -> bool:
        """Whether a rule may act anywhere."""
        site = self._book.of(rule.host)
        hypothesis = None if site is None else site.hypotheses.get(rule)
        return hypothesis is not None and bool(hypothesis.acts())

    def fail(self, rule: AddressRule, template: str) -> None:
        """Count a failure that no trial has shown."""
        site = self._book.of(rule.host)
        hypothesis = None if site is None else site.hypotheses.get(rule)
        if hypothesis is not None:
            hypothesis.count(template, False, time.time())
            self._book.note_trials(rule.host, 1, are_urgent=True)

    def clear_doubtful(self, url: str) -> None:
        """Forget doubtful failures on a site: it is known now what changes by itself there."""
        site = self._book.of(Address.of(url).host)
        for hypothesis in site.hypotheses.values() if site is not None else ():
            hypothesis.clear_doubtful()

    def forget(self, url: str, jar: str = "") -> list[int]:
        """Forget that a page was kept: it was taken back, or is a wall.  Return its keys."""
        if not _is_plain(url):
            return []
        address = Address.of(url)
        own = _key_of(address, jar)
        self._sightings.remove(own)
        keys: list[int] = []
        site = self._book.of(address.host)
        for hypothesis in site.about(address.host) if site is not None else ():
            canonical = hypothesis.rule.applied(address)
            key = own if canonical is None else _key_of(canonical, jar)
            keys.append(key ^ hypothesis.salt)
            self._sightings.remove(key ^ hypothesis.salt)
        return keys

    def _look_back(self, hypothesis: Hypothesis) -> None:
        """Note under which keys of a new rule pages are kept; 5 us for each recent one."""
        for url, jar in self._recent:
            address = Address.of(url)
            canonical = hypothesis.rule.applied(address)
            seen = None if canonical is None else self._sightings.get(_key_of(address, jar))
            if canonical is not None and seen is not None:
                key = _key_of(canonical, jar) ^ hypothesis.salt
                if self._sightings.get(key) is None:
                    self._sightings.put(key, seen)

    def _before(
        self, hypothesis: Hypothesis, canonical: Address | None, own: int, jar: str
    ) -> Sighting | None:
        """Return what was seen under the key of an address: at another one, or at the key itself.

        *canonical* is None if the rule leaves the address as it is.
        """
        if canonical is None:
            return self._sightings.get(own ^ hypothesis.salt)
        key = _key_of(canonical, jar)
        return self._sightings.get(key ^ hypothesis.salt) or self._sightings.get(key)

    def _trial(
        self,
        hypothesis: Hypothesis,
        address: Address,
        kept: Address | None,
        own: int,
        seen: Sighting,
        jar: str,
    ) -> bool | None:
        """Return whether a rule is right of a page; None if this is no trial.  Take note of it."""
        rule = hypothesis.rule
        canonical = rule.applied(address)
        key = own if canonical is None else _key_of(canonical, jar)
        before = self._before(hypothesis, canonical, own, jar)
        if before is None and kept is not None:  # another process may have met the kept page
            kept_key = _key_of(rule.applied(kept) or kept, jar)
            if kept_key == key:
                before = Sighting.of(seen.content, _key_of(kept, jar), True)
        if before is None:
            if canonical is not None:
                self._sightings.put(key ^ hypothesis.salt, seen)
            return None
        if before.is_at(own):
            return None
        is_right = None
        if before.content != seen.content:
            if before.is_kept and seen.is_kept:
                is_right = False
        elif (before.is_kept or seen.is_kept) and not before.is_tried:
            is_right = True
        now = before if before.is_kept else seen
        is_tried = before.is_tried or is_right is not None
        self._sightings.put(key ^ hypothesis.salt, now._replace(is_tried=is_tried))
        return is_right


def _is_plain(url: str) -> bool:
    """Whether all of an address counts for its key: it is not cut, and names no user."""
    start = url.find("//") + 2
    end = url.find("/", start)
    return len(url) <= MAX_QUERY and "@" not in url[start : end if end >= 0 else len(url)]


def _key_of(address: Address, jar: str) -> int:
    """Return 64 bits of an address; the order of its parameters does not count."""
    scheme, host, path, parameters = address
    query = repr(sorted(parameters)) if parameters else ""
    return _hash(f"{jar}\0{scheme}\0{host}\0{path}\0{query}")


def _hash(text: str) -> int:
    return mmh3.hash64(text.encode("utf-8", "surrogatepass"), signed=False)[0]
