"""The evidence for one rule, folder by folder, and where it is enough for the rule to act.

A trial belongs to a folder pattern (``/shop/*``: the pages of a folder) and to all folders above.
The trials in a folder may stand for a pattern in it only if at least three patterns in the folder
agree and none disagrees; for a pattern with few trials of its own, only if eight agree.  What a
pattern has shown by its own trials stays shown until it fails.

A rule is looked at after every page, and acts as soon as it may: a bound for one look would be
wrong far more often than it says.  So the evidence is an e-process, which stays under 1 / level
for all time with probability 1 - level if the rule is wrong (Ville's inequality, 1939).  It is the
mixture of the likelihood ratios of all rates above the one that is asked for, with equal weights:
Robbins' mixture ("Statistical methods related to the law of the iterated logarithm", Annals of
Mathematical Statistics 41, 1970), here of Bernoulli trials with a beta prior, as in Howard, Ramdas,
McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of
Statistics 49, 2021.  It needs no independence: it is enough that each trial, after all that came
before, succeeds with at most that rate.

A rule that the user has approved acts where it is approved, whatever the evidence is.  But a
failure that this process sees suspends it there: so nothing that it parks is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from functools import cached_property, lru_cache
from itertools import count
from math import ceil, e, exp, inf, lgamma, log, log1p, sqrt
from typing import Any, Literal, NamedTuple, get_args

from scrapy_simhash.hashes import long_hash_of
from scrapy_simhash.url_rules.rule import KINDS, AddressRule
from scrapy_simhash.urls import MAX_URL

# The chance that any rule of a site acts that is right less often than YOUNG_RATE.
ERROR = 0.05
# A rule may act when it is shown to be right more often than the first; it counts as young, and
# is checked more often, until it is shown to be right more often than the second.
YOUNG_RATE = 0.90
PROVEN_RATE = 0.98
# The share of its error that the first of several hypotheses gets; the others share the rest.  Most
# sites have one way to give a page many addresses, so its first rule should not wait.
FIRST_SHARE = 0.9
# Terms of a tail that are smaller than this, as a share of the sum, are left out.
_NEGLIGIBLE = 1e-12
# Halvings of an interval of rates: to 1e-9.
_HALVINGS = 30
# With fewer trials of its own, a pattern does not agree.  Each trial has another kept page, so one
# wall teaches nothing.
LEAST_KEYS = 5
# A rule that is not less in doubt is right too seldom, and says nothing of why pages are copies.
MOST_DOUBT = 0.1
# The number of patterns in a folder that must agree before its trials stand for all of them.
LEAST_PATTERNS = 3
# The number that must agree before the trials also stand for patterns without trials of their own.
# The next one disagrees with a chance of 1 in 10 then, by Laplace's rule of succession.  If any
# share of its n pages may differ, and three are looked at (LOOKS in parking.py), n / 200 are lost
# on average.
WIDE_PATTERNS = 8
# Folders and patterns for which a rule counts its trials, in 180 bytes each; a pattern beyond them
# counts as one without trials.
MAX_FOLDERS = 128
# Patterns whose stage is remembered: the pages of a crawl come from few at a time.
MAX_STAGES = 64

Stage = Literal["young", "proven"]
_STAGES: tuple[Stage, ...] = get_args(Stage)


@dataclass(slots=True)
class Trials:
    """The trials of a rule in one folder or pattern, which has a *number* among those of the rule.

    *own_right* and *own_wrong* are the trials that this process has seen, *most_right* and
    *most_wrong* the most that any other process or earlier crawl has seen.  They do not add up,
    since both may have tried the same keys.  *own_doubtful* of the own failures may have another
    cause.  *own_leading* and *most_leading* of the failures were kept for new links or media alone.
    *passed* is the stage that a pattern has reached by its own trials.
    """

    number: int
    most_right: int = 0
    most_wrong: int = 0
    passed: Stage | None = None
    own_right: int = 0
    own_wrong: int = 0
    own_doubtful: int = 0
    own_leading: int = 0
    most_leading: int = 0

    @property
    def right(self) -> int:
        """How many trials of different keys were right."""
        return max(self.own_right, self.most_right)

    @property
    def wrong(self) -> int:
        """How many trials were wrong."""
        return max(self.own_wrong, self.most_wrong)

    @property
    def leading(self) -> int:
        """How many pages the rule was wrong about had only new links or media."""
        return min(max(self.own_leading, self.most_leading), self.wrong)

    @property
    def other_texts(self) -> int:
        """How many pages the rule was wrong about had another text."""
        return self.wrong - self.leading

    @property
    def surely_wrong(self) -> int:
        """How many trials were wrong, without the doubtful ones."""
        return max(self.own_wrong - self.own_doubtful, self.most_wrong)

    def merge(self, other: Trials) -> None:
        """Take over what *other* has seen more of."""
        self.most_right = max(self.most_right, other.right)
        self.most_wrong = max(self.most_wrong, other.wrong)
        self.most_leading = max(self.most_leading, other.leading)
        self.passed = _surer(self.passed, other.passed)


class RuleWait(NamedTuple):
    """A rule acts in a *pattern* when it was right for as many keys as are *needed*."""

    right: int
    needed: int
    pattern: str

    def __str__(self) -> str:
        return f"{self.right} of {self.needed} pairs of addresses in {self.pattern}"


class Hypothesis:
    """A rule, its *number* among those of its site, and its trials; times are in seconds.

    It *began* when its first trial could come, was *seen* at its last trial, and *learned* when it
    first could act (None: not yet).  It is *approved* in these patterns and folders, and in all
    that is in these folders.
    """

    def __init__(self, rule: AddressRule, number: int, began: float) -> None:
        self.rule = rule
        self.applied = rule.applier()
        self.number = number
        self.began = self.seen = began
        self.learned: float | None = None
        self.approved: frozenset[str] = frozenset()
        self.trials: dict[str, Trials] = {}
        # The stage of a pattern, and how many patterns agree in a folder.
        self._stages: dict[str, Stage | None] = {}
        self._agreeing: dict[str, int] = {}

    @cached_property
    def salt(self) -> int:
        """64 bits by which the keys of this rule differ from those of others."""
        return long_hash_of("\0".join(astuple(self.rule)))

    @property
    def keys(self) -> int:
        """How many trials were right, anywhere."""
        return self.trials["/"].right if self.trials else 0

    @property
    def failures(self) -> int:
        """How many trials were wrong, anywhere."""
        return self.trials["/"].wrong if self.trials else 0

    @property
    def other_texts(self) -> int:
        """How many of these failures were pages with another text, so that the rule loses it."""
        return self.trials["/"].other_texts if self.trials else 0

    @property
    def leading(self) -> int:
        """How many failures were pages with only new links or media."""
        return sum(one.leading for name, one in self.trials.items() if name.endswith("*"))

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
        pattern: str,
        is_right: bool,
        now: float,
        is_doubtful: bool = False,
        is_apart: bool = False,
        is_leading: bool = False,
    ) -> bool:
        """Count a trial.  Cost: O(folders), of which there are at most 5.

        Return whether it is the first failure that this process sees in the pattern or in a folder
        above: only then may the rule stop acting anywhere.

        A failure that *is_doubtful* counts until :meth:`clear_doubtful`.  One that *is_leading* is
        a page that was kept for links or media.  One that *is_apart* counts in its pattern only,
        if there is room for this.  If there is no room for the
        pattern, a trial that was right counts nowhere, so that all trials that count for a folder
        are also those of a pattern in it.
        """
        names = list(_folders_of(pattern))
        has_room = len(self.trials.keys() | names) <= MAX_FOLDERS
        is_first_failure, may_change = False, not is_right
        for name in names:
            if has_room and name not in self.trials:
                self.trials[name] = Trials(len(self.trials) + 1)
                may_change = True
            if (trials := self.trials.get(name)) is not None:
                is_wrong = not is_right and not (is_apart and has_room and name != pattern)
                is_first_failure |= is_wrong and not trials.own_wrong
                trials.own_right += is_right and has_room
                trials.own_wrong += is_wrong
                trials.own_doubtful += is_doubtful and is_wrong
                trials.own_leading += is_leading and is_wrong
                may_change |= trials.right in (LEAST_KEYS, *_needed(self.number, trials.number))
        self.seen = now
        if may_change:
            self._find_anew()
        if self.stage(pattern) is not None and self.learned is None:
            self.learned = now
        return is_first_failure

    def clear_doubtful(self) -> None:
        """Forget the doubtful failures: their cause is known now, and is not the rule."""
        for trials in self.trials.values():
            trials.own_wrong -= trials.own_doubtful
            trials.own_doubtful = 0
        self._find_anew()

    def approve(self, where: Iterable[str], now: float) -> None:
        """Let the rule act in patterns and folders; if there are none, by its evidence alone.

        :raises ValueError: there are too many, or one is no such name.
        """
        names = frozenset(where)
        if len(names) > MAX_FOLDERS or not all(map(_is_name, names)):
            raise ValueError(f"no folders: {sorted(names)!r}")
        self.approved = names
        if names and self.learned is None:
            self.learned = now
        self._stages.clear()

    def approvable(self) -> list[str]:
        """Return where a user may approve the rule: everywhere, but not where it loses a text.

        If it does so anywhere, only the patterns count in which it was right, and lost none.
        """
        if not self.other_texts:
            return ["/"]
        return [
            name
            for name, one in self.trials.items()
            if name.endswith("*") and one.right and not one.other_texts
        ]

    def waits_for(self) -> RuleWait | None:
        """Return what a rule that acts nowhere waits for, in the pattern that is nearest to it.

        None if it acts, or was wrong in each pattern.
        """
        if self.acts():
            return None
        waits = (
            RuleWait(
                self.trials[folder].right, _needed(self.number, self.trials[folder].number)[0], one
            )
            for one, trials in self.trials.items()
            if one.endswith("*") and not trials.wrong
            for folder in _folders_of(one)
            if self._patterns_in(folder) == [one]
        )
        return min(waits, key=lambda wait: wait.needed - wait.right, default=None)

    def acts(self) -> list[str]:
        """Return the patterns in which the rule may act, and the folders."""
        names = [name for name in self.trials if name.endswith("*") or name in self.approved]
        names += sorted(self.approved - self.trials.keys())
        return [name for name in names if self.stage(name)]

    def stage(self, pattern: str) -> Stage | None:
        """Return how sure the rule is in a pattern; None if it may not act there."""
        if pattern not in self._stages:
            if len(self._stages) >= MAX_STAGES:
                self._stages.clear()
            self._stages[pattern] = self._stage(pattern)
        return self._stages[pattern]

    def _stage(self, pattern: str) -> Stage | None:
        own = self.trials.get(pattern)
        if self._is_approved(pattern):  # of a pattern that is not known, any failure counts
            seen = own or self.trials.get("/")
            return None if seen is not None and seen.own_wrong else "proven"
        if own is None or own.right < LEAST_KEYS:
            is_like_others = (own is None or not own.wrong) and any(
                self._by_folder(name, WIDE_PATTERNS) for name in _folders_of(pattern)
            )
            return "young" if is_like_others else None
        if own.wrong:
            return None
        found: Stage | None = None
        for name in _folders_of(pattern):
            if self._patterns_in(name) == [pattern]:  # all trials in the folder were in this one
                own.passed = _surer(own.passed, self._shown(self.trials[name]))
            else:
                found = _surer(found, self._by_folder(name, LEAST_PATTERNS))
        return _surer(found, own.passed)

    def _by_folder(self, name: str, least: int) -> Stage | None:
        """Return what a folder shows of a pattern in it, if at least *least* patterns agree."""
        trials = self.trials.get(name)
        if trials is None or trials.wrong:
            return None
        if name not in self._agreeing:
            known = (self.trials[one] for one in self._patterns_in(name))
            agreeing = sum(one.right >= LEAST_KEYS and not one.wrong for one in known)
            self._agreeing[name] = agreeing
        return self._shown(trials) if self._agreeing[name] >= least else None

    def _find_anew(self) -> None:
        self._stages.clear()
        self._agreeing.clear()

    def _is_approved(self, pattern: str) -> bool:
        return any(
            pattern.startswith(name) if name.endswith("/") else pattern == name
            for name in self.approved
        )

    def _shown(self, trials: Trials) -> Stage | None:
        """Return what trials show; all folders and patterns of a site share its error."""
        young, proven = _needed(self.number, trials.number)
        if trials.right >= proven:
            return "proven"
        return "young" if trials.right >= young else None

    def _patterns_in(self, folder: str) -> list[str]:
        return [name for name in self.trials if name.endswith("*") and name.startswith(folder)]

    def merge(self, other: Hypothesis) -> None:
        """Take over what another process, or an earlier crawl, has seen more of.

        Its numbers count, so that two processes spend no error twice, and so does its freezing.
        """
        self.number = other.number
        own, self.trials = self.trials, {}
        for name, theirs in other.trials.items():
            trials = self.trials[name] = own.pop(name, Trials(0))
            trials.number = theirs.number
            trials.merge(theirs)
        for name, trials in own.items():
            if len(self.trials) < MAX_FOLDERS:
                trials.number = len(self.trials) + 1
                self.trials[name] = trials
        self.began, self.seen = min(self.began, other.began), max(self.seen, other.seen)
        times = [time for time in (self.learned, other.learned) if time is not None]
        self.learned = min(times, default=None)
        self.approved = other.approved
        self._find_anew()

    def as_json(self) -> dict[str, Any]:
        """Return the state to store, in values that JSON has."""
        return {
            "rule": astuple(self.rule),
            "number": self.number,
            "began": int(self.began),
            "seen": int(self.seen),
            "learned": None if self.learned is None else int(self.learned),
            "approved": sorted(self.approved),
            "scopes": [
                [
                    *(name, trials.number, trials.right, trials.surely_wrong, trials.passed),
                    trials.leading,
                ]
                for name, trials in self.trials.items()
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
        hypothesis.approve(stored.get("approved", ()), hypothesis.seen)
        for name, *values in stored["scopes"][:MAX_FOLDERS]:
            if not _is_name(name):
                raise ValueError(f"no folder: {name!r}")
            number, right, wrong, passed, leading = values
            if passed not in (None, *_STAGES):
                raise ValueError(f"no stage: {passed!r}")
            trials = Trials(_at_least(number, 1), _at_least(right, 0), _at_least(wrong, 0), passed)
            trials.most_leading = _at_least(leading, 0)
            hypothesis.trials[name] = trials
        for name in hypothesis.trials:
            if any(folder not in hypothesis.trials for folder in _folders_of(name)):
                raise ValueError(f"{name!r} is in no folder")
        return hypothesis


@lru_cache(maxsize=10_000)
def _needed(hypothesis: int, trials: int) -> tuple[int, int]:
    """Return how many keys make a rule young, and proven; from the numbers of rule and trials."""
    level = ERROR * share_of(hypothesis) * share_of(trials)
    return keys_needed(YOUNG_RATE, level), keys_needed(PROVEN_RATE, level)


def _folders_of(pattern: str) -> Iterator[str]:
    """Yield the folders that a pattern is in, from ``/`` on, and the pattern itself."""
    end = pattern.find("/")
    while end >= 0:
        yield pattern[: end + 1]
        end = pattern.find("/", end + 1)
    if not pattern.endswith("/"):
        yield pattern


def _is_name(name: object) -> bool:
    """Whether this may be the name of a folder or pattern."""
    return isinstance(name, str) and len(name) <= MAX_URL


def _surer(one: Stage | None, other: Stage | None) -> Stage | None:
    return "proven" if "proven" in (one, other) else one or other


def _at_least(number: Any, least: int) -> int:
    if not isinstance(number, int) or number < least:
        raise ValueError(f"must be a number from {least} on: got {number!r}")
    return number


def log_e_value(right: int, wrong: int, rate: float) -> float:
    """Return the logarithm of the evidence that a rule is right more often than *rate*.

    Below that rate, it ever exceeds log(1 / level) with a probability of at most *level*.  Cost:
    O(*wrong*), or of the terms of a binomial tail.

    >>> log_e_value(0, 0, 0.9)
    0.0
    """
    trials = right + wrong
    if not trials:
        return 0.0
    log_beta = lgamma(right + 1) + lgamma(wrong + 1) - lgamma(trials + 2)
    tail = _log_tail(trials + 1, wrong, 1 - rate)
    return log_beta + tail - (right * log(rate)) - (wrong + 1) * log1p(-rate)


def lower_rate(right: int, wrong: int, level: float) -> float:
    """Return the rate at which a rule is right at least; wrong at any time with chance *level*.

    >>> round(lower_rate(43, 0, 0.05), 2)
    0.9
    """
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        rate = (low + high) / 2
        if log_e_value(right, wrong, rate) >= -log(level):
            low = rate
        else:
            high = rate
    return low


@lru_cache(maxsize=10_000)
def keys_needed(rate: float, level: float) -> int:
    """Return how many trials without a failure show a rate above *rate*.

    >>> [keys_needed(rate, 0.05) for rate in (0.90, 0.95, 0.98)]
    [43, 88, 224]
    """
    return next(n for n in count(1) if log_e_value(n, 0, rate) >= -log(level))


def share_of(number: int) -> float:
    """Return the share of an error that the hypothesis with a number, from 1 on, may spend.

    All shares sum up to 1.  A number must be given before the first trial of its hypothesis.
    """
    if number == 1:
        return FIRST_SHARE
    return (1 - FIRST_SHARE) / (number * (number - 1))


def sample_size(requests: int, worth: int) -> int:
    """Return how many of some requests to look at, if a lost page is as bad as *worth* downloads.

    If s of n are chosen at random, and d of the n differ, none of these d is found with a chance of
    about (1 - s / n)**d, and then d pages are lost: for the worst d, n / (e s) on average.  The sum
    of the downloads s and of this loss is least at the square root of n * worth / e.

    >>> [sample_size(n, 150) for n in (0, 50, 100, 1_000, 10_000, 100_000)]
    [0, 50, 75, 235, 743, 2350]
    """
    return min(requests, ceil(sqrt(requests * worth / e)))


def sample_share(requests: int, of: int, worth: int) -> int:
    """Return how many of some requests to look at, if they are a part of *of* requests.

    >>> [sample_share(n, 1_000, 150) for n in (10, 500, 1_000)]
    [3, 118, 235]
    """
    return ceil(sample_size(of, worth) * requests / of)


def _log_tail(trials: int, most: int, rate: float) -> float:
    """Return the logarithm of the chance that over *most* of *trials* happen, each with *rate*."""
    if most + 1 > trials * rate:  # the terms shrink from the first one on
        return _log_sum(trials, most + 1, trials + 1, 1, rate)
    below = exp(_log_sum(trials, most, -1, -1, rate))
    return log1p(-below) if below < 1 else -inf


def _log_sum(trials: int, start: int, stop: int, step: int, rate: float) -> float:
    """Return the logarithm of a sum of binomial probabilities, the greatest of which comes first.

    The sum ends before *stop*, or where its terms do not matter any more.
    """
    first = (
        lgamma(trials + 1)
        - lgamma(start + 1)
        - lgamma(trials - start + 1)
        + start * log(rate)
        + (trials - start) * log1p(-rate)
    )
    total = term = 1.0
    odds = rate / (1 - rate)
    for happen in range(start, stop - step, step):
        if step > 0:
            term *= (trials - happen) / (happen + 1) * odds
        else:
            term *= happen / (trials - happen + 1) / odds
        total += term
        if term < _NEGLIGIBLE * total:
            break
    return first + log(total)
