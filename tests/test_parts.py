"""Small parts: the feed, the scope, rare warnings, the extension's own failures."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from scrapy_simhash.crawl import log
from scrapy_simhash.crawl.feed import DecisionsFeed
from scrapy_simhash.crawl.log import RareWarning
from scrapy_simhash.rule.scope import scope_key
from tests.conftest import CrawlFixture, Site, article, prose


def test_feed_is_continued(tmp_path: Path) -> None:
    for number in (1, 2):
        feed = DecisionsFeed(tmp_path / "new folder" / "feed.jsonl")
        feed.write({"url": f"http://a.example/ü{number}"})
        feed.close()
    lines = (tmp_path / "new folder" / "feed.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["url"] for line in lines] == [
        "http://a.example/ü1",
        "http://a.example/ü2",
    ]


def test_line_that_was_cut_short_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "feed.jsonl"
    path.write_text('{"url": "whole"}\n{"url": "cut sh')
    feed = DecisionsFeed(path)
    feed.write({"url": "next"})
    feed.close()
    assert path.read_text() == '{"url": "whole"}\n{"url": "cut sh\n{"url": "next"}\n'


def test_lone_surrogates_can_be_written(tmp_path: Path) -> None:
    feed = DecisionsFeed(tmp_path / "feed.jsonl")
    feed.write({"error": "bad \ud800 text"})
    feed.close()
    assert json.loads((tmp_path / "feed.jsonl").read_text())["error"] == "bad \ud800 text"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_full_disk_costs_lines_and_no_page(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"), ["/a"])
    site["/a"] = article(prose("other"))
    result = crawl(SIMHASH_DECISIONS_FILE="/dev/full")
    assert result.returncode == 0
    assert result.seen() == {"/", "/a"}
    assert result.stats["simhash/feed_errors"] == 2
    assert result.log.count("missing from the decisions feed") == 1


@pytest.mark.parametrize(
    ("scope", "url", "key"),
    [
        ("global", "https://a.example.com/", ""),
        ("spider", "https://a.example.com/", "news"),
        ("host", "https://A.example.com:8080/", "a.example.com"),
        ("site", "https://a.b.example.com/", "example.com"),
        ("site", "https://a.example.co.uk/", "example.co.uk"),
        ("site", "http://127.0.0.1:8000/", "127.0.0.1"),
        ("site", "http://localhost/", "localhost"),
        ("site", "http://[::1]:8000/", "::1"),
        ("host", "data:,x", ""),
    ],
)
def test_scope(scope: str, url: str, key: str) -> None:
    assert scope_key(scope, url, "news") == key


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
