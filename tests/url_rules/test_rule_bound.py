"""The bound holds at whatever time one looks."""

from __future__ import annotations

import random

import pytest

from scrapy_simhash.url_rules.evidence import keys_needed, sample_size, share_of

LEVEL = 0.05


@pytest.mark.parametrize(("rate", "keys"), [(0.90, 43), (0.95, 88), (0.98, 224), (0.99, 449)])
def test_so_many_keys_without_a_failure_show_a_rate(rate: float, keys: int) -> None:
    assert keys_needed(rate, LEVEL) == keys


@pytest.mark.parametrize("rate", [0.8, 0.90, 0.98])
@pytest.mark.parametrize("level", [0.05, 0.045 * 0.005, 1e-9, 1e-200])
def test_the_mean_of_the_likelihood_ratios_reaches_the_level(rate: float, level: float) -> None:
    """The mean over all rates above the one in question, in 100,000 steps."""
    steps = 100_000

    def evidence(keys: int) -> float:
        above = (rate + (1 - rate) * (at + 0.5) / steps for at in range(steps))
        return sum((one / rate) ** keys for one in above) / steps

    keys = keys_needed(rate, level)
    assert evidence(keys - 1) < 1 / level <= evidence(keys) * 1.001


def test_a_level_of_nothing_takes_many_keys_but_ends() -> None:
    assert keys_needed(0.98, 0.0) > 10_000


def test_a_wrong_rule_passes_at_any_time_as_rarely_as_promised() -> None:
    """Rules that are right in 90 %: no failure until there are as many keys as are needed."""
    rng = random.Random(1)
    needed = keys_needed(0.9, LEVEL)
    passed = sum(all(rng.random() < 0.9 for _ in range(needed)) for _ in range(4000))
    assert 0.005 < passed / 4000 < LEVEL


def test_all_hypotheses_together_spend_the_error_once() -> None:
    assert sum(map(share_of, range(1, 100_000))) == pytest.approx(1, abs=1e-5)
    assert keys_needed(0.9, LEVEL * share_of(1) ** 2) == 45


@pytest.mark.parametrize(("requests", "worth"), [(600, 150), (2400, 150), (600, 20)])
def test_a_sample_costs_the_least_with_what_it_may_lose(requests: int, worth: int) -> None:
    def cost(size: int) -> float:
        """Downloads, and what the worst number of differing pages may lose, if one tells of all."""
        missed, most = 1.0, 0.0
        for differing in range(1, requests - size + 1):
            missed *= 1 - size / (requests - differing + 1)
            most = max(most, differing * missed)
        return size + worth * most

    least = min(cost(size) for size in range(1, requests, 5))
    assert cost(sample_size(requests, worth)) < 1.02 * least
