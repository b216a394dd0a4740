"""When a rule has been right often enough: a bound that holds however often it is looked at.

A rule is looked at after every page, and acts as soon as it may: a bound for one look would be
wrong far more often than it says.  So the evidence is an e-process, which stays under 1 / level
for all time with probability 1 - level if the rule is wrong (Ville's inequality, 1939).

It is the mixture of the likelihood ratios of all rates above the one that is asked for, with equal
weights: Robbins' mixture ("Statistical methods related to the law of the iterated logarithm",
Annals of Mathematical Statistics 41, 1970), here of Bernoulli trials with a beta prior, as in
Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence
sequences", Annals of Statistics 49, 2021.  It needs no independence: it is enough that each trial,
after all that came before, succeeds with at most that rate.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import count
from math import ceil, e, exp, inf, lgamma, log, log1p, sqrt

# Terms of a tail that are smaller than this, as a share of the sum, are left out.
_NEGLIGIBLE = 1e-12
# Halvings of an interval of rates: to 1e-9.
_HALVINGS = 30

# The share of its error that the first of several hypotheses gets; the others share the rest.
# Most sites have one way to give a page many addresses, so its first rule should not wait.
FIRST_SHARE = 0.9


def log_e_value(right: int, wrong: int, rate: float) -> float:
    """Return the logarithm of the evidence that a rule is right more often than *rate*.

    Below that rate, it ever exceeds log(1 / level) with a probability of at most *level*.  Cost:
    O(*wrong*), or of the terms of a binomial tail.

    >>> log_e_value(0, 0, 0.9)
    0.0
    """
    if not right + wrong:
        return 0.0
    trials = right + wrong
    log_beta = lgamma(right + 1) + lgamma(wrong + 1) - lgamma(trials + 2)
    tail = _log_tail(trials + 1, wrong, 1 - rate)
    return log_beta + tail - (right * log(rate)) - (wrong + 1) * log1p(-rate)


def lower_rate(right: int, wrong: int, level: float) -> float:
    """Return the rate that a rule is right with at least, at all times, but with chance *level*.

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

    If s of n are looked at by chance, and d differ, none of these is found with a chance of about
    (1 - s / n)**d; then d are lost.  For the worst d, that is n / (e s) on average.  What s costs,
    and what it may lose, are together the least at the square root of n * worth / e.

    >>> [sample_size(n, 150) for n in (0, 50, 100, 1_000, 10_000, 100_000)]
    [0, 50, 75, 235, 743, 2350]
    """
    return min(requests, ceil(sqrt(requests * worth / e)))


def sample_share(requests: int, of: int, worth: int) -> int:
    """Return how many of some requests to look at, if they are a part of those looked at together.

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
