"""The evidence for one rule, folder by folder, and where it is enough for the rule to act.

A trial belongs to a folder pattern (``/shop/*``: the pages of a folder) and to all folders above.
The trials in a folder may stand for a pattern in it only if at least three patterns in the folder
agree and none disagrees; for a pattern with few trials of its own, only if eight agree.  What a
pattern has shown by its own trials stays shown until it fails.

A failure also belongs to a page pattern (``/shop/select?``: the pages of one name).  If a rule has
failed in a pattern five times, and more often than it was right, it is wrong apart: this pattern
says nothing of the others.  The evidence of a folder is then that of all else in it, and has to pay
for the choice of what was left out.  Any other failure is an exception, and there may be more of
them anywhere: then a rule acts only where it is proven without the folders that have one.

A rule that has been right five times waits where it was never wrong: its further trials come last.

A rule is looked at after every page, where a bound for one look would be wrong far more often than
it says.  So the evidence is an e-process, which stays under 1 / level for all time with probability
1 - level if the rule is wrong (Ville's inequality, 1939): the mixture of the likelihood ratios of
all rates above the one that is asked for, with equal weights (Robbins, "Statistical methods related
to the law of the iterated logarithm", Annals of Mathematical Statistics 41, 1970), here of
Bernoulli trials with a beta prior (Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform,
nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49, 2021).  The trials need
not be independent.  Only its value without a failure is needed: with one, a rule does not act.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, count
from math import ceil, e, prod, sqrt
from typing import Any, Literal, NamedTuple, get_args

from scrapy_simhash.hashes import long_hash_of
from scrapy_simhash.url_rules.rule import KINDS, AddressRule
from scrapy_simhash.urls import MAX_URL, Address, folder_pattern, page_pattern

# The chance that any rule of a site acts that is right less often than YOUNG_RATE.
ERROR = 0.05
# A rule may act when it is shown to be right more often than the first; it counts as young, and
# is checked more often, until it is shown to be right more often than the second.
YOUNG_RATE = 0.90
PROVEN_RATE = 0.98
# The share of its error that the first of several hypotheses gets; the others share the rest.  Most
# sites have one way to give a page many addresses, so its first rule should not wait.
FIRST_SHARE = 0.9
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
# A pattern beside one in which the rule is wrong apart must have been right so often.  If it is
# wrong about a third of the pages there, too, it passes with a chance of 1 in 3,000.
KEYS_BESIDE_FAILURES = 20
# Page patterns in which a rule has failed.
MAX_PAGE_PATTERNS = 16
# The share of the keys that are looked at, at most.  With those that were met before a rule waits,
# a site with one kind of alias takes 1.5 downloads a page.
MOST_LOOKS = 0.48
# Folders and patterns for which a rule counts its trials, in 180 bytes each; a pattern beyond them
# counts as one without trials.
MAX_FOLDERS = 128
# Patterns whose stage is remembered: the pages of a crawl come from few at a time.
MAX_STAGES = 64

Stage = Literal["waiting", "young", "proven"]
_STAGES: tuple[Stage, ...] = get_args(Stage)


@dataclass(slots=True)
class Trials:
    """The trials of a rule in one folder or pattern, which has a *number* among those of the rule.

    *own_right* and *own_wrong* are the trials that this process has seen, *most_right* and
    *most_wrong* the most that any other process or earlier crawl has seen.  They do not add up,
    since both may have tried the same keys.  *own_doubtful* of the own failures may have another
    cause.  *passed* is the stage that a pattern has reached by its own trials.  *earlier* is how
    many trials were right in the folder pattern before the first failure in a page pattern: nobody
    knows how many of these were in the page pattern.
    """

    number: int
    most_right: int = 0
    most_wrong: int = 0
    passed: Stage | None = None
    earlier: int = 0
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
        """How many trials were wrong, without the doubtful ones."""
        return max(self.own_wrong - self.own_doubtful, self.most_wrong)

    def merge(self, other: Trials) -> None:
        """Take over what *other* has seen more of."""
        self.most_right = max(self.most_right, other.right)
        self.most_wrong = max(self.most_wrong, other.wrong)
        self.earlier = max(self.earlier, other.earlier)
        self.passed = _surer(self.passed, other.passed)


class Sample(NamedTuple):
    """Requests to look at: *limit* of these patterns, and at least *each* of every one."""

    patterns: list[str]
    limit: int
    each: int


class Shown(NamedTuple):
    """What a rule has shown in a folder or pattern, at a *level* of error.

    *is_whole*: nothing in it is left out.
    """

    right: int
    wrong: int
    level: float
    is_whole: bool

    def needed(self, rate: float) -> int:
        """Return how many trials without a failure show a rate."""
        return keys_needed(rate, self.level)

    @property
    def least(self) -> int:
        """How many trials of its own a pattern in the folder needs."""
        return LEAST_KEYS if self.is_whole else KEYS_BESIDE_FAILURES

    @property
    def stage(self) -> Stage | None:
        """How sure the rule is."""
        if self.wrong or self.right < self.needed(YOUNG_RATE):
            return None
        return "proven" if self.right >= self.needed(PROVEN_RATE) else "young"

    @property
    def is_refuted(self) -> bool:
        """Whether the rule is wrong there as a rule, not by exception."""
        return self.wrong >= LEAST_KEYS and self.wrong > self.right


class Hypothesis:
    """A rule, its *number* among those of its site, and its trials; times are in seconds.

    It was *seen* at its last trial, or when the first one could come, and *learned* when it first
    could act (None: not yet).  It *changes* if it ignores a parameter that changes at each visit:
    then it acts until it fails, and never waits, since an address may be signed, and expire.
    """

    def __init__(self, rule: AddressRule, number: int, seen: float) -> None:
        self.rule = rule
        self.applied = rule.applied
        self.number = number
        self.seen = seen
        self.learned: float | None = None
        self.changes = False
        self.trials: dict[str, Trials] = {}
        # Whether it may act or wait anywhere; False is sure.
        self.is_used = False
        # Page patterns in which it has failed; patterns of both kinds in which it is wrong apart.
        self._failed: set[str] = set()
        self._apart: list[str] = []
        # The stage of a pattern, and what a folder shows without those in which it is wrong apart.
        self._stages: dict[str, Stage | None] = {}
        self._evidence: dict[str, Shown] = {}
        self._agreeing: dict[str, list[str]] = {}

    @cached_property
    def salt(self) -> int:
        """32 bits by which the keys of this rule differ from those of others."""
        return long_hash_of("\0".join(astuple(self.rule))) % (1 << 32)

    @property
    def keys(self) -> int:
        """How many trials were right, anywhere."""
        return self.trials["/"].right if self.trials else 0

    @property
    def failures(self) -> int:
        """How many trials were wrong, anywhere; for links alone, they count in no folder."""
        known = sum(one.wrong for name, one in self.trials.items() if name.endswith("*"))
        return max(known, self.trials["/"].wrong) if self.trials else 0

    @property
    def is_right_so_far(self) -> bool:
        """Whether it was right, and never wrong: then no key that had its trial needs another."""
        return bool(self.keys) and not self.failures and not self.changes

    @property
    def doubt(self) -> float:
        """The chance that the next trial is wrong, by Laplace's rule of succession.

        Where the rule is wrong apart does not count.
        """
        shown = self._shown("/")
        return (shown.wrong + 1) / (shown.right + shown.wrong + 2)

    def stage_at(self, address: Address) -> tuple[str, Stage | None]:
        """Return the folder pattern of an address, and how sure the rule is there.

        If the rule has failed in the page pattern, this counts.
        """
        pattern = folder_pattern(address)
        if self._failed and (page := page_pattern(address)) in self._failed:
            return pattern, self.stage(page)
        return pattern, self.stage(pattern)

    def count(
        self,
        pattern: str,
        is_right: bool,
        now: float,
        page: str = "",
        is_doubtful: bool = False,
        is_leading: bool = False,
    ) -> bool:
        """Count a trial in a folder pattern.  Cost: O(folders), of which there are at most 5.

        Return whether it is the first failure that this process sees in the pattern or in a folder
        above: only then may the rule stop acting anywhere.

        A failure counts in the *page* pattern, too, if there is room for it.  One that
        *is_doubtful* counts until :meth:`clear_doubtful`.  One that *is_leading* is a page that was
        kept for links or media: they may have been known in another way, so it counts in its
        patterns only, if there is room for this.  If there is no room for the pattern, a trial that
        was right counts nowhere, so that all trials that count for a folder are also those of a
        pattern in it.
        """
        names = list(_folders_of(pattern))
        has_room = len(self.trials.keys() | names) <= MAX_FOLDERS
        place = page if page in self._failed else pattern
        is_first_failure = not is_right and self.stage(place) is not None
        may_change = not is_right or bool(self._apart)
        is_new_page = has_room and not is_right and len(self._failed) < MAX_PAGE_PATTERNS
        if page in self._failed or (page and is_new_page):
            names.append(page)
        for name in names:
            if has_room and name not in self.trials:
                earlier = self.trials[pattern].right if name == page else 0
                self.trials[name] = Trials(len(self.trials) + 1, earlier=earlier)
                may_change = True
            if (trials := self.trials.get(name)) is not None:
                is_wrong = not is_right and not (is_leading and has_room and name.endswith("/"))
                is_first_failure |= is_wrong and not trials.own_wrong and name != page
                trials.own_right += is_right and has_room
                trials.own_wrong += is_wrong
                trials.own_doubtful += is_doubtful and is_wrong
                may_change |= trials.right == LEAST_KEYS
        self.seen = now
        self._stages.clear()
        self._evidence.clear()
        if may_change:
            self._find_anew()
        self.is_used |= self.is_right_so_far or self.is_promising
        if self.learned is None and self.acts_in(pattern):
            self.learned = now
        return is_first_failure

    def clear_doubtful(self) -> None:
        """Forget the doubtful failures: their cause is known now, and is not the rule."""
        for trials in self.trials.values():
            trials.own_wrong -= trials.own_doubtful
            trials.own_doubtful = 0
        self._find_anew()

    def note_changing(self, now: float) -> None:
        """Note that its parameter changes by itself at each visit to a page."""
        self.changes = True
        self.learned = self.learned or now
        self._find_anew()

    def waits_for(self) -> str | None:
        """Say what a rule that acts nowhere waits for, in the pattern that is nearest to it.

        None if it acts, or was wrong in each pattern.
        """
        if self.acts():
            return None
        waits = (
            (self._shown(folder).right, self._shown(folder).needed(YOUNG_RATE), one)
            for one in self._patterns_in("/")
            if self._shown(one).right and not self._shown(one).wrong
            for folder in _folders_of(one)
            if self._patterns_in(folder) == [one]
        )
        least = min(waits, key=lambda wait: wait[1] - wait[0], default=None)
        return None if least is None else "{} of {} pairs of addresses in {}".format(*least)

    def acts(self) -> list[str]:
        """Return the patterns in which the rule may act."""
        return [name for name in self.trials if name.endswith("*") and self.acts_in(name)]

    def acts_in(self, pattern: str) -> bool:
        """Whether the rule may act in a pattern."""
        return self.stage(pattern) in ("young", "proven")

    def stage(self, pattern: str) -> Stage | None:
        """Return how sure the rule is in a pattern; None if it may not even wait there."""
        if pattern not in self._stages:
            if len(self._stages) >= MAX_STAGES:
                self._stages.clear()
            self._stages[pattern] = self._stage(pattern)
        return self._stages[pattern]

    def _stage(self, pattern: str) -> Stage | None:
        own = self.trials.get(pattern)
        if self.changes and not self.failures:
            return "young"
        if not self.is_used or (shown := self._shown(pattern)).wrong:
            return None
        found: Stage | None = "waiting" if self.is_promising else None
        for name in _folders_of(pattern):
            above, agreeing = self._shown(name), self._agreeing_in(name)
            if above.wrong or not agreeing:
                continue
            if own is None or shown.right < above.least:
                if len(agreeing) >= WIDE_PATTERNS and above.is_whole and above.stage:
                    found = _surer(found, "young")
            elif len(agreeing) >= LEAST_PATTERNS:
                found = _surer(found, above.stage)
            elif self._patterns_in(name) == [pattern]:  # all trials in the folder were in this one
                own.passed = _surer(own.passed, above.stage)
                found = _surer(found, own.passed)
        if own is not None and shown.is_whole and own.right >= LEAST_KEYS:
            found = _surer(found, own.passed)
        if found == "young" and self._shown("/").wrong:
            return "waiting" if self.is_promising else None
        return found

    @property
    def is_promising(self) -> bool:
        """Whether what the rule makes needless may wait, where it was never wrong."""
        shown = self._shown("/")
        right = shown.right + sum(self.trials[name].earlier for name in self._apart)
        return not self.changes and right >= LEAST_KEYS * (1 + shown.wrong)

    def next_trials(self, waiting: Mapping[str, int]) -> Sample | None:
        """Return which requests that wait to take as trials; None: all, as no trial can help.

        *waiting* are the keys that wait in each pattern.
        """
        shown = self._shown("/")
        if shown.wrong:
            return None
        patterns = sorted(waiting, key=lambda name: -waiting[name])
        if shown.is_whole:  # as many as stand for the others
            del patterns[WIDE_PATTERNS:]
        lacking = shown.needed(YOUNG_RATE) - shown.right
        return Sample(patterns, max(lacking, shown.least), shown.least)

    def _shown(self, name: str) -> Shown:
        """Return what a folder or pattern shows without those in it where the rule is wrong apart.

        What is left out was chosen by what was seen of it, so it takes its share of the error.
        """
        if name not in self._evidence:
            trials = self.trials.get(name) or Trials(len(self.trials) + 1)
            apart = [self.trials[one] for one in self._apart if one != name and _is_in(one, name)]
            self._evidence[name] = Shown(
                max(0, trials.right - sum(one.right + one.earlier for one in apart)),
                max(0, trials.wrong - sum(one.wrong for one in apart)),
                ERROR
                * share_of(self.number)
                * share_of(trials.number)
                * prod(share_of(one.number + 1) for one in apart),
                not apart,
            )
        return self._evidence[name]

    def _agreeing_in(self, folder: str) -> list[str]:
        """Return the patterns in a folder that were right often enough, and never wrong."""
        if folder not in self._agreeing:
            known = ((one, self._shown(one)) for one in self._patterns_in(folder))
            found = [one for one, shown in known if shown.right >= LEAST_KEYS and not shown.wrong]
            self._agreeing[folder] = found
        return self._agreeing[folder]

    def _patterns_in(self, folder: str) -> list[str]:
        """Return the folder patterns in a folder without those where the rule is wrong apart."""
        return [
            name
            for name in self.trials
            if name.endswith("*") and name.startswith(folder) and name not in self._apart
        ]

    def _find_anew(self) -> None:
        """Find out what the rule shows now: where it is wrong apart, and whether it is of use."""
        self._stages.clear()
        self._evidence.clear()
        self._agreeing.clear()
        self._apart = []
        if self.failures:
            self._failed = {name for name in self.trials if "?" in name}
            self._apart = [name for name in self._failed if self._shown(name).is_refuted]
            self._evidence.clear()
            self._apart += [name for name in self._patterns_in("/") if self._shown(name).is_refuted]
            self._apart = [
                one
                for one in self._apart
                if not any(one != other and _is_in(one, other) for other in self._apart)
            ]
            self._evidence.clear()
        self.is_used = self.learned is not None or self.is_promising or self.is_right_so_far

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
        self.seen = max(self.seen, other.seen)
        times = [time for time in (self.learned, other.learned) if time is not None]
        self.learned = min(times, default=None)
        self._find_anew()

    def as_json(self) -> dict[str, Any]:
        """Return the state to store, in values that JSON has."""
        return {
            "rule": astuple(self.rule),
            "number": self.number,
            "seen": int(self.seen),
            "learned": None if self.learned is None else int(self.learned),
            "scopes": [
                (name, one.number, one.right, one.surely_wrong, one.passed, one.earlier)
                for name, one in self.trials.items()
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
        hypothesis = cls(rule, _at_least(stored["number"], 1), float(stored["seen"]))
        learned = stored["learned"]
        hypothesis.learned = None if learned is None else float(learned)
        for name, number, right, wrong, passed, earlier in stored["scopes"][:MAX_FOLDERS]:
            if not isinstance(name, str) or len(name) > MAX_URL or passed not in (None, *_STAGES):
                raise ValueError(f"no folder with a stage: {name!r}, {passed!r}")
            right, wrong, earlier = (_at_least(one, 0) for one in (right, wrong, earlier))
            hypothesis.trials[name] = Trials(_at_least(number, 1), right, wrong, passed, earlier)
        for name in hypothesis.trials:
            if any(folder not in hypothesis.trials for folder in _folders_of(name)):
                raise ValueError(f"{name!r} is in no folder")
        hypothesis._find_anew()
        return hypothesis


def _folders_of(pattern: str) -> Iterator[str]:
    """Yield the folders that a pattern is in, from ``/`` on, and the pattern itself.

    >>> [*_folders_of("/a/b/*")], [*_folders_of("/a/lamp?id")]
    (['/', '/a/', '/a/b/', '/a/b/*'], ['/', '/a/', '/a/*', '/a/lamp?id'])
    """
    path, is_page, _ = pattern.partition("?")
    *folders, _ = path.split("/")
    yield from accumulate(f"{name}/" for name in folders)
    if is_page:
        yield f"{'/'.join(folders)}/*"
    if is_page or not path.endswith("/"):
        yield pattern


def _is_in(pattern: str, name: str) -> bool:
    """Whether a pattern is one, or in a folder or folder pattern."""
    return pattern.startswith(name) if name.endswith("/") else name in _folders_of(pattern)


def _surer(one: Stage | None, other: Stage | None) -> Stage | None:
    return max(one, other, key=lambda stage: -1 if stage is None else _STAGES.index(stage))


def _at_least(number: Any, least: int) -> int:
    if not isinstance(number, int) or number < least:
        raise ValueError(f"must be a number from {least} on: got {number!r}")
    return number


@lru_cache(maxsize=10_000)
def keys_needed(rate: float, level: float) -> int:
    """Return how many trials without a failure show a rate above *rate*.

    It is the first number for which the mean of the likelihood ratios of all higher rates is at
    least 1 / *level*.

    >>> [keys_needed(rate, 0.05) for rate in (0.90, 0.95, 0.98)]
    [43, 88, 224]
    """
    return next(
        n for n in count(1) if level * (1 - rate ** (n + 1)) >= (n + 1) * (1 - rate) * rate**n
    )


def share_of(number: int) -> float:
    """Return the share of an error that the hypothesis with a number, from 1 on, may spend.

    All shares sum up to 1.  A number must be given before the first trial of its hypothesis.
    """
    if number == 1:
        return FIRST_SHARE
    return (1 - FIRST_SHARE) / (number * (number - 1))


def sample_size(keys: int, worth: int) -> int:
    """Return how many of some keys to look at, if a lost page is as bad as *worth* downloads.

    If s of n are chosen at random, and d of the n differ, none of these d is found with a chance of
    about (1 - s / n)**d, and then d pages are lost: for the worst d, n / (e s) on average.  The sum
    of the downloads s and of this loss is least at the square root of n * worth / e.  Where nearly
    half of all are looked at, d that differ are missed with a chance of 0.52**d: that is enough.

    >>> [sample_size(n, 380) for n in (0, 50, 500, 1_000, 10_000, 100_000)]
    [0, 24, 240, 374, 1183, 3739]
    """
    return min(int(keys * MOST_LOOKS), ceil(sqrt(keys * worth / e)))
