"""The decisions feed outlives what cuts it short."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scrapy_simhash.crawl.account import DecisionsFeed
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
