"""Crawling again with the same index: what changed, what is skipped, what is forgotten."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import CrawlFixture, Reply, Site, article, path_of, prose


@pytest.fixture(autouse=True)
def _pages(site: Site) -> None:
    site["/"] = article(prose("start"), ["/same", "/changes"])
    site["/same"] = article(prose("same"))
    site["/changes"] = article(prose("before"))


def test_second_crawl_says_what_changed(site: Site, crawl: CrawlFixture) -> None:
    crawl()
    site["/changes"] = article(prose("after"))
    again = crawl().decisions[3:]
    assert {path_of(d["url"]): (d["verdict"], d["reason"], d["changed"]) for d in again} == {
        "/": ("refresh", "unchanged", False),
        "/same": ("refresh", "unchanged", False),
        "/changes": ("refresh", "seen_before", True),
    }
    assert {d["action"] for d in again} == {"pass"}


def test_unchanged_pages_are_skipped_on_demand_but_no_start_page(
    site: Site, crawl: CrawlFixture
) -> None:
    crawl(SIMHASH_SKIP_UNCHANGED=True)
    site["/changes"] = article(prose("after"))
    result = crawl("Errback", SIMHASH_SKIP_UNCHANGED=True, SIMHASH_INDEX=index_of("links"))
    second = result.items[3:]
    assert [path_of(item["url"]) for item in second] == ["/", "/same", "/changes"]
    assert second[1]["error"].endswith("has the text that it had before")
    assert result.simhash_stats() == {
        "judged": 3,
        "refresh": 3,
        "unchanged": 2,
        "dropped": 1,
    }


@pytest.mark.parametrize("action", ["flag", "observe"])
def test_where_nothing_is_dropped_unchanged_pages_pass(crawl: CrawlFixture, action: str) -> None:
    crawl()
    result = crawl(SIMHASH_SKIP_UNCHANGED=True, SIMHASH_ACTION=action)
    assert [d["action"] for d in result.decisions] == ["pass"] * 6


def index_of(spider: str) -> str:
    return f".scrapy/simhash/{spider}.simhash"


def test_page_that_a_callback_failed_on_stands_for_no_copy(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"), ["/fails", "/copy", "/third"])
    for path in ("/fails", "/copy", "/third"):
        site[path] = article(prose("the same text"))
    result = crawl("FailsOnce")
    assert result.verdicts() == {
        "/": "unique",
        "/fails": "unique",
        "/copy": "unique",
        "/third": "exact_duplicate",
    }
    assert result.simhash_stats()["withdrawn"] == 1


def test_page_that_a_callback_failed_on_is_not_skipped_as_unchanged(
    site: Site, crawl: CrawlFixture
) -> None:
    site["/"] = article(prose("start"), ["/fails"])
    site["/fails"] = article(prose("text"))
    crawl("Links", SIMHASH_INDEX="pages.simhash")
    crawl("FailsOnce", SIMHASH_INDEX="pages.simhash")
    result = crawl("Links", SIMHASH_INDEX="pages.simhash", SIMHASH_SKIP_UNCHANGED=True)
    last = result.decisions[-1]
    assert (path_of(last["url"]), last["reason"], last["action"]) == (
        "/fails",
        "seen_before",
        "pass",
    )


def test_old_pages_are_forgotten_when_a_crawl_starts(crawl: CrawlFixture, tmp_path: Path) -> None:
    crawl()
    with closing(sqlite3.connect(tmp_path / index_of("links"))) as connection:
        connection.execute("UPDATE pages SET judged_at = judged_at - 86400 * 3")
        connection.commit()
    result = crawl(SIMHASH_EXPIRE_DAYS=4)
    assert {d["verdict"] for d in result.decisions[3:]} == {"refresh"}
    with closing(sqlite3.connect(tmp_path / index_of("links"))) as connection:
        connection.execute("UPDATE pages SET judged_at = judged_at - 86400 * 3")
        connection.commit()
    result = crawl(SIMHASH_EXPIRE_DAYS=2)
    assert "3 old pages forgotten" in result.log
    assert {d["verdict"] for d in result.decisions[6:]} == {"unique"}


def test_page_behind_a_redirect_is_judged_at_its_last_address(
    site: Site, crawl: CrawlFixture
) -> None:
    site["/"] = article(prose("start"), ["/moved"])
    site["/moved"] = Reply(status=302, headers={"Location": "/target"})
    site["/target"] = article(prose("target"))
    assert crawl().verdicts() == {"/": "unique", "/target": "unique"}
    site["/"] = article(prose("start"), ["/target"])
    assert crawl().decisions[-1]["reason"] == "unchanged"
