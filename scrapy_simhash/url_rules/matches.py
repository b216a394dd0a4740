"""What rules say of an address: which act on it, and by which its page is known."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from scrapy_simhash.url_rules.evidence import Hypothesis, Stage
from scrapy_simhash.url_rules.rule import AddressRule
from scrapy_simhash.url_rules.sightings import Sighting
from scrapy_simhash.urls import Address, folder_pattern


class Acting(NamedTuple):
    """A rule that acts in a template, and how sure it is there."""

    hypothesis: Hypothesis
    template: str
    stage: Stage


# From a tuple: it takes half as long as from three arguments.
_acting = partial(tuple.__new__, Acting)


class Match(NamedTuple):
    """A rule that acts on an address, and how sure it is there.

    *whole* is the key of the address under the rule, the same for any rule that makes this of it.
    *salt* is that of the rule under which its page may be noted.  *content*: that of a page at
    another address with this key, if it is known.  *others* are rules that had to apply as well.
    """

    hypothesis: Hypothesis
    template: str
    stage: Stage
    whole: int
    salt: int
    content: int | None
    others: tuple[AddressRule, ...] = ()

    @property
    def key(self) -> int:
        """The key of the address under this rule alone."""
        return self.whole ^ self.salt


class Said(NamedTuple):
    """What rules say of an address: whether any acts on it, and the *whole* key that all give it.

    *known* is the rule by which its page is kept already, at another address; then *whole* counts
    for nothing.
    """

    acts: bool = False
    whole: int = 0
    known: Match | None = None


class Chain:
    """What rules make of an address that act on it one after the other."""

    __slots__ = ("address", "applied", "template")

    def __init__(self, address: Address) -> None:
        self.address = address
        self.template = folder_pattern(address)
        self.applied: list[Acting] = []

    def take(self, hypothesis: Hypothesis, changed: Address) -> Stage | None:
        """Take one more rule, which makes *changed* of the address, if it acts there.

        Return how sure it is there.
        """
        template = self.template
        if changed.path is not self.address.path:
            template = folder_pattern(changed)
        stage = hypothesis.stage(template)
        if stage is not None:
            self.applied.append(_acting((hypothesis, template, stage)))
            self.address, self.template = changed, template
        return stage

    def joined_by(self, hypothesis: Hypothesis) -> list[Acting] | None:
        """Return the rules that must be right if one leads to the end, too; None if it does not."""
        if any(one.hypothesis is hypothesis for one in self.applied):
            return self.applied
        stage = hypothesis.stage(self.template)
        return None if stage is None else [Acting(hypothesis, self.template, stage), *self.applied]


def known_content(seen: Sighting, own: int) -> int | None:
    """Return the content that was seen, if it is known, and not at the address itself."""
    return seen.content if seen.is_known and not seen.is_at(own) else None


def match_of(rules: list[Acting], whole: int, salt: int, content: int | None = None) -> Match:
    """Return what rules say that apply together.

    The one most in doubt counts, the last one if none was ever wrong: then most requests are those
    of one rule, and one audit does for them.
    """
    hypothesis, template, _ = max(
        reversed(rules), key=lambda one: one.hypothesis.doubt if one.hypothesis.failures else 0
    )
    stage: Stage = "young" if any(one.stage == "young" for one in rules) else "proven"
    others = {one.hypothesis.rule for one in rules} - {hypothesis.rule}
    return Match(hypothesis, template, stage, whole, salt, content, tuple(others))
