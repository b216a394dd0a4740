"""Warnings that would fill the log are rare."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl import setup
from scrapy_simhash.crawl.account import SimhashAccount, summary
from scrapy_simhash.crawl.setup import RareWarning
from tests.reports import record


def test_warnings_are_rare(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(setup, "monotonic", lambda: now)
    warning = RareWarning(logging.getLogger("scrapy_simhash.test"), get_crawler())
    for _ in range(5):
        warning.log("disk full")
    now += setup.WARNING_SECONDS
    warning.log("disk full")
    assert [record.getMessage() for record in caplog.records] == [
        "disk full",
        "disk full (and 4 more warnings like this since the last one)",
    ]


def test_pages_that_too_many_are_like_are_counted() -> None:
    crawler = get_crawler()
    account = SimhashAccount(crawler, None)
    for number in range(3):
        found = record(f"http://site.example/{number}")
        crowded = replace(found.decision, is_crowded=True)
        account.page_judged(replace(found, decision=crowded))
    account.page_judged(record("http://site.example/alone"))
    assert crawler.stats.get_value("simhash/crowded") == 3


def test_summary_names_no_cause_that_may_not_be_the_one() -> None:
    stats = get_crawler().stats
    assert stats is not None
    for name, value in (("judged", 4), ("asked_again", 1), ("index_seconds", 0.2)):
        stats.set_value(f"simhash/{name}", value)
    _, *lines = summary(stats, None).splitlines()
    assert lines == [
        "  1 dropped page asked for again, since more is known now",
        "  0.0 ms a page in workers, 50.00 ms waiting for the index",
    ]


@pytest.mark.parametrize(
    ("visits", "end"),
    [(0, ""), (3, "; what changes by itself on variants is known only now: observe again")],
)
def test_a_crawl_that_has_just_learned_what_changes_is_to_be_repeated(
    visits: int, end: str
) -> None:
    stats = get_crawler().stats
    assert stats is not None
    for name, value in (("judged", 5), ("variant", 3), ("second_visits", visits)):
        stats.set_value(f"simhash/{name}", value)
    assert summary(stats, "report.html").splitlines()[1] == f"  would drop none of 5 pages{end}"
