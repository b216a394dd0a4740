"""The rules of all sites: those that are only suggested, those on trial, and those that act."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from cachetools import LRUCache

from scrapy_simhash.url_rules.evidence import MOST_DOUBT, Hypothesis
from scrapy_simhash.url_rules.rule import KINDS, AddressRule, differences
from scrapy_simhash.urls import Address, site_of_host

# Of a site: rules on trial, and rules that one duplicate has suggested.  All sites together take
# under 50 MB, if all are hostile.
MAX_RULES = 32
MAX_SUGGESTED = 100
# The least recently used is forgotten first; its rules stay with the index.
MAX_SITES = 200
# Addresses of duplicates and their kept pages that must suggest a rule before it is put on trial:
# two of two pages each, or four of one page.  They do not count as evidence, since the rule was
# chosen by them.
SUGGESTIONS = 4
# Values of a folder that suggest that it does not matter.
VALUES = 3
# A longer piece of an address is not one that a site gives to all its pages.
MAX_RULE = 200
# Trials of a site that are stored together; one that fails is stored without delay.
TRIALS_AT_ONCE = 20
# A rule that was not tried for so long starts anew: sites change.
FORGET_SECONDS = 90 * 86_400

_FORMAT = 1


class SiteRules:
    """The rules of one site: all hosts of a registered domain."""

    def __init__(self) -> None:
        self.hypotheses: dict[AddressRule, Hypothesis] = {}
        # How many were ever put on trial: each one gets a smaller share of the error.
        self.tried = 0
        self._suggested: LRUCache[AddressRule, set[int]] = LRUCache(MAX_SUGGESTED)
        self._by_host: dict[str, list[Hypothesis]] = {}
        # What this process has stored last: nobody else has learned anything since, if it is there.
        self.stored: bytes | None = None

    def about(self, host: str) -> list[Hypothesis]:
        """Return the rules that may make an address on a host one with another.

        They are in the order in which they apply together.
        """
        if host not in self._by_host:
            found = [one for one in self.hypotheses.values() if one.rule.is_about(host)]
            self._by_host[host] = sorted(found, key=lambda one: -KINDS.index(one.rule.kind))
        return self._by_host[host]

    def suggest(self, duplicate: Address, kept: Address, now: float) -> list[Hypothesis]:
        """Take note that two addresses have one content; return what is put on trial for it."""
        begun = []
        for rule in differences(duplicate, kept):
            known = rule.in_order()
            if known in self.hypotheses or len(known.drop) + len(known.keep) > MAX_RULE:
                continue
            if (known.applied(duplicate) or duplicate) != (known.applied(kept) or kept):
                continue
            seen = self._suggested.setdefault(known, set())
            if rule.kind == "segment":
                at = rule.drop.count("/") - 1
                seen.update(hash(one.path.split("/")[at]) for one in (duplicate, kept))
            else:
                seen.update(map(hash, (duplicate, kept)))
            if len(seen) >= (VALUES if rule.kind == "segment" else SUGGESTIONS):
                del self._suggested[known]
                begun += self._try(known, now)
        return begun

    def put_on_trial(self, rule: AddressRule, now: float) -> Hypothesis | None:
        """Return the trials of a rule, which may begin now; None if there is no room for them.

        It displaces no other rule, unlike one that pages suggest.
        """
        if rule not in self.hypotheses and len(self.hypotheses) < MAX_RULES:
            self._try(rule, now)
        return self.hypotheses.get(rule)

    def _try(self, rule: AddressRule, now: float) -> list[Hypothesis]:
        if len(self.hypotheses) >= MAX_RULES:
            idle = (one for one in self.hypotheses.values() if not one.acts())
            least = min(idle, key=_promise, default=None)
            if least is None:
                return []
            del self.hypotheses[least.rule]
        self.tried += 1
        hypothesis = self.hypotheses[rule] = Hypothesis(rule, self.tried, now)
        self._by_host.clear()
        return [hypothesis]

    def forget(self, rule: AddressRule) -> None:
        """Forget the evidence for a rule, if there is any."""
        self._by_host.clear()
        self.hypotheses.pop(rule, None)

    def merge(self, other: SiteRules) -> None:
        """Take over what *other* has seen more of, and its numbers."""
        own, self.hypotheses = self.hypotheses, {}
        self.tried = max(self.tried, other.tried)
        for rule, theirs in other.hypotheses.items():
            mine = self.hypotheses[rule] = own.pop(rule, theirs)
            if mine is not theirs:
                mine.merge(theirs)
        taken = {one.number for one in self.hypotheses.values()}
        for rule, mine in own.items():
            if len(self.hypotheses) >= MAX_RULES:
                break
            if mine.number <= other.tried or mine.number in taken:
                self.tried += 1
                mine.number = self.tried
            taken.add(mine.number)
            self.hypotheses[rule] = mine
        self._by_host.clear()

    def to_bytes(self) -> bytes:
        """Return the state to store; what one duplicate suggested is not worth it."""
        rules = [one.as_json() for one in self.hypotheses.values()]
        return json.dumps({"format": _FORMAT, "tried": self.tried, "rules": rules}).encode()

    @classmethod
    def from_bytes(cls, stored: bytes, now: float) -> SiteRules:
        """Return the rules that :meth:`to_bytes` stored, without those that are too old.

        :raises ValueError: it is no such state.
        """
        site = cls()
        try:
            state: dict[str, Any] = json.loads(stored)
            if state["format"] != _FORMAT:
                raise ValueError(f"unknown format: {state['format']!r}")
            site.tried = int(state["tried"])
            for one in state["rules"][:MAX_RULES]:
                hypothesis = Hypothesis.from_json(one)
                if now - hypothesis.seen <= FORGET_SECONDS:
                    site.hypotheses[hypothesis.rule] = hypothesis
        except (KeyError, TypeError, RecursionError, OverflowError) as exc:
            raise ValueError(f"no rules for addresses: {exc}") from exc
        return site


def _promise(one: Hypothesis) -> int:
    """Return how much is lost if a rule that acts nowhere is displaced: its keys, if it may act."""
    return 0 if one.failures and one.doubt > MOST_DOUBT else one.keys


class RuleBook:
    """The rules of the sites of a crawl; the least recently used site is forgotten first."""

    def __init__(self) -> None:
        self._sites: LRUCache[str, SiteRules] = LRUCache(MAX_SITES)
        # By site, how many trials are not stored.
        self._changed: Counter[str] = Counter()

    def of(self, host: str) -> SiteRules | None:
        """Return the rules of the site of a host; None if nothing is known of it."""
        return self._sites.get(site_of_host(host))

    def about(self, host: str) -> list[Hypothesis]:
        """Return the rules that may make an address on a host one with another."""
        site = self.of(host)
        return [] if site is None else site.about(host)

    def hypothesis(self, rule: AddressRule) -> Hypothesis | None:
        """Return the trials of a rule; None if it is not on trial."""
        site = self.of(rule.host)
        return None if site is None else site.hypotheses.get(rule)

    def site(self, host: str) -> SiteRules:
        """Return the rules of the site of a host, to be added to."""
        return self._sites.setdefault(site_of_host(host), SiteRules())

    def note_trials(self, host: str, trials: int, are_urgent: bool) -> None:
        """Note trials of rules on a host; they are to be stored soon, urgent ones at once."""
        self._changed[site_of_host(host)] += TRIALS_AT_ONCE if are_urgent else trials

    def take_due(self, host: str) -> str | None:
        """Return the site of a host if its rules should be stored now."""
        site = site_of_host(host)
        if self._changed[site] < TRIALS_AT_ONCE:
            return None
        del self._changed[site]
        return site

    def take_changed(self) -> list[str]:
        """Return the sites of which there were trials that are not stored."""
        changed = [site for site in self._changed if site in self._sites]
        self._changed.clear()
        return changed

    def all(self) -> Iterator[Hypothesis]:
        """Yield all rules on trial."""
        for site in self._sites.values():
            yield from site.hypotheses.values()

    def merged(
        self, site: str, stored: bytes | None, forgotten: AddressRule | None = None
    ) -> bytes:
        """Return the state of *site* to store, with what others have *stored*, less one rule.

        A stored state that is damaged is replaced.
        """
        found = self._sites.setdefault(site, SiteRules())
        if stored is not None and stored != found.stored:
            self.restore(site, stored)
        if forgotten is not None:
            found.forget(forgotten)
        found.stored = found.to_bytes()
        return found.stored

    def restore(self, site: str, stored: bytes) -> None:
        """Take over the stored state of a site, beside what is known; ignore a damaged one."""
        try:
            other = SiteRules.from_bytes(stored, time.time())
        except ValueError:
            return
        self._sites.setdefault(site, SiteRules()).merge(other)
