"""The decisions feed outlives what cuts it short."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.account import DecisionsFeed, SimhashAccount, summary
from scrapy_simhash.report.html import LABELS
from scrapy_simhash.report.record import VERDICTS, Record
from tests.conftest import CrawlFixture, Site, article, prose
from tests.documents import read
from tests.reports import record
from tests.sample_reports import SITE, collected

# The words of the log and the report, and the fields of the feed that say the same.
WORDS = {
    word: re.findall(r'"(\w+)": "(\w+)"', names)
    for word, names in re.findall(
        r"^\| ([a-z ]+) \| (`\"(?:verdict|action).*) \|$", read("docs/decisions.md"), re.MULTILINE
    )
}


def page_with(field: str, value: str) -> Record:
    """A page whose line in the feed has a field with this value."""
    fields: dict[str, Any] = {field: value}
    if field == "action" or value in ("near_duplicate", "exact_duplicate"):
        return record(f"{SITE}/copy", f"{SITE}/kept", **fields)
    return record(f"{SITE}/page", **fields)


def test_the_feed_names_what_the_log_and_the_report_count() -> None:
    assert {value for pairs in WORDS.values() for field, value in pairs if field == "verdict"} == (
        VERDICTS
    )
    for word, pairs in WORDS.items():
        for field, value in pairs:
            page, crawler = page_with(field, value), get_crawler()
            assert page.as_json()[field] == value
            SimhashAccount(crawler, None).page_judged(page)
            one = re.compile(rf"\b1 {word.removesuffix('s')}\b|\b{word}: 1\b")
            assert one.search(summary(crawler.stats, None)), word
            happened = collected(page)["summary"]["happened"]
            assert one.search(happened) or word in LABELS.values(), word


def test_feed_is_continued(tmp_path: Path) -> None:
    for number in (1, 2):
        feed = DecisionsFeed(tmp_path / "feed.jsonl")
        feed.write({"url": f"http://a.example/ü{number}"})
        feed.close()
    lines = (tmp_path / "feed.jsonl").read_text(encoding="utf-8").splitlines()
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
