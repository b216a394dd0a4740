"""The evidence for one rule, folder by folder, and where it is enough for the rule to act.

A trial belongs to a template of addresses (``/shop/*``: the pages of a folder) and to all folders
above.  The evidence of a folder may stand for a template in it only if at least three templates
in the folder agree, and none disagrees; for a template of which little was seen, only if eight
agree.  What a template has shown by itself stays shown until it fails: an e-process is a test at
any time, and while a folder has one template, it tests both.

A rule that the user has frozen acts where it is frozen, whatever the evidence was.  But a failure
that this process sees suspends it there: so nothing that it parks is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

from scrapy_simhash.rule.hashes import long_hash_of
from scrapy_simhash.url_rules.bound import keys_needed, lower_rate, share_of
from scrapy_simhash.url_rules.rule import KINDS, AddressRule
from scrapy_simhash.urls import MAX_URL

# The chance that any rule of a site acts that is right less often than YOUNG_RATE.
ERROR = 0.05
# A rule may act when it is shown to be right more often than the first; it counts as young, and
# is checked more often, until it is shown to be right more often than the second.
YOUNG_RATE = 0.90
PROVEN_RATE = 0.98
# With fewer trials of its own, a template does not agree.  Each trial has another kept page, so one
# wall teaches nothing.
LEAST_KEYS = 5
# A rule that is not less in doubt is right too seldom, and says nothing of why pages are copies.
MOST_DOUBT = 0.1
# So many templates in a folder must agree before it stands for all of them.
LEAST_TEMPLATES = 3
# If so many agree, it also stands for templates without trials of their own.  The next one
# disagrees with a chance of 1 in 10 then, by Laplace's rule of succession.  If any share of its n
# pages may differ, and three are looked at (LOOKS in parking.py), n / 200 are lost on the mean.
WIDE_TEMPLATES = 8
# Of a rule; those without room are templates without trials.  A scope takes 180 bytes.
MAX_SCOPES = 128
# Of so many templates, it is known what was found: the pages of a crawl come from few at a time.
MAX_STAGES = 64

Stage = Literal["young", "proven"]
_STAGES: tuple[Stage, ...] = get_args(Stage)


@dataclass(slots=True)
class Scope:
    """Trials of a rule in a folder or a template, and its number among the scopes of the rule.

    *own_right* and *own_wrong* are the trials that this process has seen, *most_right* and
    *most_wrong* the most that any other process or earlier crawl has.  These do not add up, since
    they may have tried the same keys.  *own_doubtful* of the own failures may be none.  *passed* is
    what a template has shown by itself.
    """

    number: int
    most_right: int = 0
    most_wrong: int = 0
    passed: Stage | None = None
    own_right: int = 0
    own_wrong: int = 0
    own_doubtful: int = 0

    @property
    def right(self) -> int:
        """How many trials of different keys were right."""
        return max(self.own_right, self.most_right)

    @property
    def wrong(self) -> int:
        """How many trials were wrong."""
        return max(self.own_wrong, self.most_wrong)

    @property
    def surely_wrong(self) -> int:
        """How many trials were wrong beyond doubt."""
        return max(self.own_wrong - self.own_doubtful, self.most_wrong)

    def merge(self, other: Scope) -> None:
        """Take over what *other* has seen more of."""
        self.most_right = max(self.most_right, other.right)
        self.most_wrong = max(self.most_wrong, other.wrong)
        self.passed = _surer(self.passed, other.passed)


class Hypothesis:
    """A rule, its *number* among those of its site, and its trials; times are in seconds.

    It *began* when its first trial could come, was *seen* at its last trial, and *learned* when it
    first could act (None: not yet).  It is *frozen* in templates, and in folders with all in them.
    """

    def __init__(self, rule: AddressRule, number: int, began: float) -> None:
        self.rule = rule
        self.applied = rule.applier()
        self.number = number
        self.began = self.seen = began
        self.learned: float | None = None
        self.frozen: frozenset[str] = frozenset()
        self.scopes: dict[str, Scope] = {}
        # What was found of a template, and how many agree in a folder.
        self._stages: dict[str, Stage | None] = {}
        self._agreeing: dict[str, int] = {}

    @cached_property
    def salt(self) -> int:
        """64 bits by which the keys of this rule differ from those of others."""
        rule = self.rule
        text = "\0".join((rule.kind, rule.host, rule.drop, rule.keep))
        return long_hash_of(text)

    @property
    def keys(self) -> int:
        """How many trials were right, anywhere."""
        return self.scopes["/"].right if self.scopes else 0

    @property
    def failures(self) -> int:
        """How many trials were wrong, anywhere."""
        return self.scopes["/"].wrong if self.scopes else 0

    @property
    def rate(self) -> float:
        """The share of keys of which the rule is right, at least; wrong with a chance of 5 %."""
        return lower_rate(self.keys, self.failures, ERROR)

    @property
    def doubt(self) -> float:
        """The chance that the next trial is wrong, by Laplace's rule of succession."""
        return (self.failures + 1) / (self.keys + self.failures + 2)

    def count(
        self,
        template: str,
        is_right: bool,
        now: float,
        is_doubtful: bool = False,
        is_apart: bool = False,
    ) -> bool:
        """Count a trial.  Cost: O(folders), of which there are at most 5.

        Return whether it is the first failure that this process sees in the template or in a folder
        above: only then may the rule stop acting anywhere.

        A failure that *is_doubtful* counts until :meth:`clear_doubtful`; one that *is_apart*, in
        its template only, if there is room for that.

        Without room for its template, one that was right counts nowhere, so that all that counts
        for a folder is also known of a template in it.
        """
        names = list(_folders_of(template))
        has_room = len(self.scopes.keys() | names) <= MAX_SCOPES
        is_first_failure, may_change = False, not is_right
        for name in names:
            if has_room and name not in self.scopes:
                self.scopes[name] = Scope(len(self.scopes) + 1)
                may_change = True
            if (scope := self.scopes.get(name)) is not None:
                is_wrong = not is_right and not (is_apart and has_room and name != template)
                is_first_failure |= is_wrong and not scope.own_wrong
                scope.own_right += is_right and has_room
                scope.own_wrong += is_wrong
                scope.own_doubtful += is_doubtful and is_wrong
                may_change |= scope.right in (LEAST_KEYS, *_needed(self.number, scope.number))
        self.seen = now
        if may_change:
            self._find_anew()
        if self.stage(template) is not None and self.learned is None:
            self.learned = now
        return is_first_failure

    def clear_doubtful(self) -> None:
        """Forget the failures that were doubtful: they had a cause that is known now."""
        for scope in self.scopes.values():
            scope.own_wrong -= scope.own_doubtful
            scope.own_doubtful = 0
        self._find_anew()

    def freeze(self, where: Iterable[str], now: float) -> None:
        """Have the rule act in templates and folders; in none, only by its evidence again.

        :raises ValueError: they are too many, or no such names.
        """
        names = frozenset(where)
        if len(names) > MAX_SCOPES or not all(map(_is_scope, names)):
            raise ValueError(f"no folders: {sorted(names)!r}")
        self.frozen = names
        if names and self.learned is None:
            self.learned = now
        self._stages.clear()

    def acts(self) -> list[str]:
        """Return the templates in which the rule may act, and the folders."""
        names = [name for name in self.scopes if name.endswith("*") or name in self.frozen]
        names += sorted(self.frozen - self.scopes.keys())
        return [name for name in names if self.stage(name)]

    def stage(self, template: str) -> Stage | None:
        """Return how sure the rule is of a template; None if it may not act there."""
        if template not in self._stages:
            if len(self._stages) >= MAX_STAGES:
                self._stages.clear()
            self._stages[template] = self._stage(template)
        return self._stages[template]

    def _stage(self, template: str) -> Stage | None:
        own = self.scopes.get(template)
        if self._is_frozen(template):  # of a template that is not known, any failure counts
            seen = own or self.scopes.get("/")
            return None if seen is not None and seen.own_wrong else "proven"
        if own is None or own.right < LEAST_KEYS:
            is_like_others = (own is None or not own.wrong) and any(
                self._by_folder(name, WIDE_TEMPLATES) for name in _folders_of(template)
            )
            return "young" if is_like_others else None
        if own.wrong:
            return None
        found: Stage | None = None
        for name in _folders_of(template):
            if self._templates_in(name) == [template]:  # all trials in the folder were in this one
                own.passed = _surer(own.passed, self._shown(self.scopes[name]))
            else:
                found = _surer(found, self._by_folder(name, LEAST_TEMPLATES))
        return _surer(found, own.passed)

    def _by_folder(self, name: str, least: int) -> Stage | None:
        """Return what a folder shows of a template in it, if at least so many others agree."""
        scope = self.scopes.get(name)
        if scope is None or scope.wrong:
            return None
        if name not in self._agreeing:
            known = (self.scopes[one] for one in self._templates_in(name))
            agreeing = sum(one.right >= LEAST_KEYS and not one.wrong for one in known)
            self._agreeing[name] = agreeing
        return self._shown(scope) if self._agreeing[name] >= least else None

    def _find_anew(self) -> None:
        self._stages.clear()
        self._agreeing.clear()

    def _is_frozen(self, template: str) -> bool:
        return any(
            template.startswith(name) if name.endswith("/") else template == name
            for name in self.frozen
        )

    def _shown(self, scope: Scope) -> Stage | None:
        """Return what the trials in a scope show; all scopes of a site share its error."""
        young, proven = _needed(self.number, scope.number)
        if scope.right >= proven:
            return "proven"
        return "young" if scope.right >= young else None

    def _templates_in(self, folder: str) -> list[str]:
        return [name for name in self.scopes if name.endswith("*") and name.startswith(folder)]

    def merge(self, other: Hypothesis) -> None:
        """Take over what another process, or an earlier crawl, has seen more of.

        Its numbers count, so that two processes spend no error twice, and where it is frozen.
        """
        self.number = other.number
        own, self.scopes = self.scopes, {}
        for name, theirs in other.scopes.items():
            scope = self.scopes[name] = own.pop(name, Scope(0))
            scope.number = theirs.number
            scope.merge(theirs)
        for name, scope in own.items():
            if len(self.scopes) < MAX_SCOPES:
                scope.number = len(self.scopes) + 1
                self.scopes[name] = scope
        self.began, self.seen = min(self.began, other.began), max(self.seen, other.seen)
        times = [time for time in (self.learned, other.learned) if time is not None]
        self.learned = min(times, default=None)
        self.frozen = other.frozen
        self._find_anew()

    def as_json(self) -> dict[str, Any]:
        """Return the state to store, in values that JSON has."""
        rule = self.rule
        return {
            "rule": [rule.kind, rule.host, rule.drop, rule.keep],
            "number": self.number,
            "began": int(self.began),
            "seen": int(self.seen),
            "learned": None if self.learned is None else int(self.learned),
            "frozen": sorted(self.frozen),
            "scopes": [
                [name, scope.number, scope.right, scope.surely_wrong, scope.passed]
                for name, scope in self.scopes.items()
            ],
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Hypothesis:
        """Return what :meth:`as_json` stored.

        :raises KeyError, TypeError, ValueError: it is no such state.
        """
        kind, host, drop, keep = stored["rule"]
        if kind not in KINDS or not all(isinstance(text, str) for text in (host, drop, keep)):
            raise ValueError(f"no rule: {stored['rule']!r}")
        rule = AddressRule(kind, host, drop, keep)
        hypothesis = cls(rule, _at_least(stored["number"], 1), float(stored["began"]))
        hypothesis.seen = float(stored["seen"])
        learned = stored["learned"]
        hypothesis.learned = None if learned is None else float(learned)
        hypothesis.freeze(stored.get("frozen", ()), hypothesis.seen)
        for name, *values in stored["scopes"][:MAX_SCOPES]:
            if not _is_scope(name):
                raise ValueError(f"no folder: {name!r}")
            number, right, wrong, passed = values
            if passed not in (None, *_STAGES):
                raise ValueError(f"no stage: {passed!r}")
            hypothesis.scopes[name] = Scope(
                _at_least(number, 1), _at_least(right, 0), _at_least(wrong, 0), passed
            )
        for name in hypothesis.scopes:
            if any(folder not in hypothesis.scopes for folder in _folders_of(name)):
                raise ValueError(f"{name!r} is in no folder")
        return hypothesis


@lru_cache(maxsize=10_000)
def _needed(hypothesis: int, scope: int) -> tuple[int, int]:
    """Return how many keys show that a rule is young, and proven, in a scope with a number."""
    level = ERROR * share_of(hypothesis) * share_of(scope)
    return keys_needed(YOUNG_RATE, level), keys_needed(PROVEN_RATE, level)


def _folders_of(template: str) -> Iterator[str]:
    """Yield the folders that a template is in, from ``/`` on, and the template itself."""
    end = template.find("/")
    while end >= 0:
        yield template[: end + 1]
        end = template.find("/", end + 1)
    if not template.endswith("/"):
        yield template


def _is_scope(name: object) -> bool:
    """Whether this may be the name of a folder or template."""
    return isinstance(name, str) and len(name) <= MAX_URL


def _surer(one: Stage | None, other: Stage | None) -> Stage | None:
    return "proven" if "proven" in (one, other) else one or other


def _at_least(number: Any, least: int) -> int:
    if not isinstance(number, int) or number < least:
        raise ValueError(f"must be a number from {least} on: got {number!r}")
    return number
