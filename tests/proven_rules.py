"""Rules whose trials are over."""

from __future__ import annotations

from scrapy_simhash.url_rules.book import SiteRules
from scrapy_simhash.url_rules.evidence import Hypothesis
from scrapy_simhash.url_rules.rule import AddressRule

# Enough in each of a few folders, for one of a few rules.
_TRIALS = 1_000


def prove(site: SiteRules, rule: AddressRule, *patterns: str) -> Hypothesis:
    """Put a rule on trial, and let it be right in some folder patterns until it is proven there."""
    hypothesis = site.put_on_trial(rule, 0.0)
    assert hypothesis is not None
    for pattern in patterns:
        for _ in range(_TRIALS):
            hypothesis.count(pattern, True, 0.0)
        assert hypothesis.stage(pattern) == "proven"
    return hypothesis
