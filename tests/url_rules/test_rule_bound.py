"""The bound holds at whatever time one looks."""

from __future__ import annotations

import random
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.url_rules.evidence import (
    keys_needed,
    log_e_value,
    lower_rate,
    sample_size,
    share_of,
)

LEVEL = 0.05


@pytest.mark.parametrize(("rate", "keys"), [(0.90, 43), (0.95, 88), (0.98, 224)])
def test_so_many_keys_without_a_failure_show_a_rate(rate: float, keys: int) -> None:
    assert keys_needed(rate, LEVEL) == keys
    assert lower_rate(keys, 0, LEVEL) > rate > lower_rate(keys - 1, 0, LEVEL)


@given(st.integers(0, 60), st.integers(0, 60), st.floats(0.01, 0.99))
def test_evidence_is_the_mean_of_the_likelihood_ratios(right: int, wrong: int, rate: float) -> None:
    """The mean over all rates above the one in question, by the rule of Simpson."""
    steps = 2000
    width = (1 - rate) / steps

    def ratio(of: float) -> float:
        def times(count: int, odds: float) -> float:
            return count * log(odds) if count else 0.0

        if (right and of <= 0) or (wrong and of >= 1):
            return 0.0
        return exp(times(right, of / rate) + times(wrong, (1 - of) / (1 - rate)))

    weights = [1, *([4, 2] * (steps // 2))[:-1], 1]
    total = sum(weight * ratio(min(rate + at * width, 1.0)) for at, weight in enumerate(weights))
    expected = total * width / 3 / (1 - rate)
    found = log_e_value(right, wrong, rate)
    if right <= rate * (right + wrong):
        assert found == 0
        assert expected < 1.001
    else:
        assert found == pytest.approx(log(expected), abs=1e-3)


def test_a_wrong_rule_passes_at_any_time_as_rarely_as_promised() -> None:
    """Of 4,000 rules that are right in 90 %, looked at after each of 400 trials."""
    rng = random.Random(1)
    passed = 0
    values: dict[tuple[int, int], float] = {}
    for _ in range(4000):
        right = wrong = 0
        for _ in range(400):
            is_right = rng.random() < 0.9
            right, wrong = right + is_right, wrong + (not is_right)
            if (right, wrong) not in values:
                values[right, wrong] = log_e_value(right, wrong, 0.9)
            if values[right, wrong] >= -log(LEVEL):
                passed += 1
                break
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
