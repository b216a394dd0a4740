"""Warnings that would fill the log are rare."""

from __future__ import annotations

import logging

import pytest

from scrapy_simhash.crawl import log
from scrapy_simhash.crawl.log import RareWarning


def test_warnings_are_rare(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(log, "monotonic", lambda: now)
    warning = RareWarning(logging.getLogger("scrapy_simhash.test"))
    for _ in range(5):
        warning.log("disk full", extra={})
    now += log.INTERVAL_SECONDS
    warning.log("disk full", extra={})
    assert [record.getMessage() for record in caplog.records] == [
        "disk full",
        "disk full (and 4 more warnings like this since the last one)",
    ]
