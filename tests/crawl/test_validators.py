"""On a recrawl, a server says which pages have not changed, and these are not downloaded."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scrapy.http import HtmlResponse

from scrapy_simhash.crawl.validators import MAX_BYTES, validators_of
from scrapy_simhash.settings import ITEMS
from tests.conftest import Crawl, CrawlFixture, Reply, Site, article, path_of, prose

SKIP = {"SIMHASH_SKIP_UNCHANGED": True, "SIMHASH_INDEX": "pages.simhash", "AUDITED": 0}
OLD = "Tue, 03 Nov 2020 10:00:00 GMT"
DATE = "Tue, 03 Nov 2020 11:00:00 GMT"


def known(text: str, tag: str = "", modified: str = "") -> Reply:
    """A page that its server can say the same of."""
    headers = {"ETag": f'"{tag}"' if tag else "", "Last-Modified": modified}
    return Reply(article(prose(text)), headers={n: v for n, v in headers.items() if v})


@pytest.fixture(autouse=True)
def pages(site: Site) -> None:
    site["/"] = Reply(article(prose("start"), ["/tag", "/date", "/none"]), headers={"ETag": '"s"'})
    site["/tag"] = known("tag", "one")
    site["/date"] = Reply(article(prose("date")), headers={"Last-Modified": OLD, "Date": DATE})
    site["/none"] = article(prose("none"))


def change(folder: Path, statement: str) -> None:
    place = folder / "pages.simhash"
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        connection.execute(statement)


def second(result: Crawl, first: Crawl) -> dict[str, tuple[str, str]]:
    later = result.decisions[len(first.decisions) :]
    return {path_of(one["url"]): (one["reason"], one["action"]) for one in later}


DROPPED = ("unchanged", "drop")


def test_pages_that_have_not_changed_are_not_downloaded(site: Site, crawl: CrawlFixture) -> None:
    first = crawl("Revisits", **SKIP)
    assert not any(site.conditional.values())
    result = crawl("Revisits", **SKIP)
    assert site.conditional["/tag"] == {"If-None-Match": '"one"'}
    assert site.conditional["/date"] == {"If-Modified-Since": OLD}
    # A start page passes though it has not changed, and its links are followed.
    assert site.conditional["/"] == {}
    assert site.not_modified == {"/tag": 1, "/date": 1}
    # As if they had been downloaded.
    assert second(result, first) == {
        "/": ("unchanged", "pass"),
        "/tag": DROPPED,
        "/date": DROPPED,
        "/none": DROPPED,
    }
    stats = result.simhash_stats()
    assert stats["not_modified"] == 2
    assert stats["judged"] == stats["passed_again"] == stats["unchanged"] == 4
    assert stats["dropped"] == 3
    errors = {path_of(one["url"]): one.get("error") for one in result.items[len(first.items) :]}
    assert errors.pop("/") is None
    assert set(errors.values()) == {"UnchangedPage"}
    third = crawl("Revisits", **SKIP)
    assert third.simhash_stats()["not_modified"] == 2


def test_a_page_that_has_changed_passes_and_is_asked_for_by_what_it_has_now(
    site: Site, crawl: CrawlFixture
) -> None:
    first = crawl("Revisits", **SKIP)
    site["/tag"] = known("another", "two")
    result = crawl("Revisits", **SKIP)
    assert second(result, first)["/tag"] == ("seen_before", "pass")
    crawl("Revisits", **SKIP)
    assert site.conditional["/tag"] == {"If-None-Match": '"two"'}
    assert site.not_modified["/tag"] == 1


def test_a_copy_of_a_page_that_was_not_downloaded_is_dropped(
    site: Site, crawl: CrawlFixture
) -> None:
    first = crawl("Revisits", **SKIP)
    site["/"] = article(prose("start"), ["/tag", "/copy"])
    site["/copy"] = article(prose("tag"))
    result = crawl("Revisits", **SKIP, CONCURRENT_REQUESTS=1)
    assert second(result, first)["/copy"] == ("same_text", "drop")


def test_a_duplicate_is_downloaded_since_its_kept_page_may_have_changed(
    site: Site, crawl: CrawlFixture
) -> None:
    settings = {**SKIP, "CONCURRENT_REQUESTS": 1}
    site["/"] = article(prose("start"), ["/tag", "/copy"])
    site["/copy"] = known("tag", "copy")
    crawl("Revisits", **settings)
    site["/tag"] = known("another", "two")
    result = crawl("Revisits", **settings)
    assert site.conditional["/copy"] == {}
    assert "/copy" in {path_of(one["url"]) for one in result.items if "error" not in one}


MAY_PASS: dict[str, dict[str, Any]] = {
    "not skipped": {"SIMHASH_SKIP_UNCHANGED": False},
    "flagged": {"SIMHASH_ACTION": "flag"},
    "observed": {"SIMHASH_ACTION": "observe"},
    "a policy of the user's": {"SIMHASH_POLICY": "tests.spiders.KeepsPages"},
    "left out": {"SIMHASH_EXCEPT": ["/tag"]},
    "cached": {"HTTPCACHE_ENABLED": True},
    "not judged": {"ASKS": {"/tag": {"meta": {"simhash": False}}}},
    "wanted": {"ASKS": {"/tag": {"meta": {"simhash": "flag"}}}},
    "rendered": {"ASKS": {"/tag": {"meta": {"playwright": True}}}},
    "for another item": {"ASKS": {"/tag": {"meta": {"item": {"same": 1}}}}},
    "for another callback": {"ASKS": {"/tag": {"callback": "parse_item"}}},
}


@pytest.mark.parametrize("settings", MAY_PASS.values(), ids=MAY_PASS)
def test_all_of_a_page_is_asked_for_if_it_may_pass_though_it_is_the_same(
    site: Site, crawl: CrawlFixture, settings: dict[str, Any]
) -> None:
    crawl("Revisits", **SKIP, SIMHASH_TAKES=ITEMS)
    site.asked.clear()
    crawl("Revisits", **{**SKIP, "SIMHASH_TAKES": ITEMS, **settings})
    assert site.asked["/tag"] == 1
    assert site.conditional["/tag"] == {}


def test_links_that_were_cut_before_are_not_lost(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"), ["/list"])
    site["/list"] = article(prose("list"), ["/edge"])
    site["/edge"] = Reply(article(prose("edge"), ["/item"]), headers={"ETag": '"edge"'})
    site["/item"] = article(prose("item"))
    assert "/item" not in crawl("Revisits", **SKIP, DEPTH_LIMIT=2).seen()
    site["/"] = article(prose("start"), ["/edge"])
    assert "/item" in crawl("Revisits", **SKIP, DEPTH_LIMIT=2).seen()
    assert site.conditional["/edge"] == {}


@pytest.mark.parametrize("policy", ["DummyPolicy", "RFC2616Policy"])
def test_the_cache_of_scrapy_never_holds_an_answer_without_a_body(
    site: Site, crawl: CrawlFixture, policy: str
) -> None:
    settings = {
        **SKIP,
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_POLICY": f"scrapy.extensions.httpcache.{policy}",
    }
    first = crawl("Revisits", **SKIP)
    for _ in range(3):
        result = crawl("Revisits", **settings)
        reasons = {path: reason for path, (reason, _) in second(result, first).items()}
        assert set(reasons.values()) == {"unchanged"}
    if policy == "DummyPolicy":
        assert not site.not_modified
    # RFC2616Policy asks by itself, and then gives the page that it has.
    assert "simhash/not_modified" not in result.stats
    again = crawl("Revisits", **{**settings, "SIMHASH_SKIP_UNCHANGED": False})
    assert len(again.items) - len(result.items) == 4


def test_a_spider_that_asks_by_itself_gets_the_answer(site: Site, crawl: CrawlFixture) -> None:
    crawl("Revisits", **SKIP)
    how = {"headers": {"If-None-Match": '"one"'}, "meta": {"handle_httpstatus_list": [304]}}
    result = crawl("Revisits", **SKIP, ASKS={"/tag": how})
    assert site.not_modified["/tag"] == 1
    last = next(one for one in result.items[::-1] if path_of(one["url"]) == "/tag")
    assert "error" not in last
    assert result.simhash_stats()["skipped/status"] == 1


def test_a_redirect_does_not_ask_for_one_page_by_the_date_of_another(
    site: Site, crawl: CrawlFixture
) -> None:
    first = crawl("Revisits", **SKIP)
    site["/date"] = Reply(status=302, headers={"Location": "/new"})
    site["/new"] = Reply(article(prose("new")), headers={"Last-Modified": OLD, "Date": DATE})
    result = crawl("Revisits", **SKIP)
    assert site.conditional["/new"] == {}
    assert second(result, first)["/new"] == ("new_text", "pass")


def test_pages_of_a_crawl_that_was_not_finished_are_downloaded(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    crawl("Revisits", **SKIP)
    change(tmp_path, "UPDATE crawls SET finished_at = NULL")
    crawl("Revisits", **SKIP)
    assert site.conditional["/tag"] == {}


@pytest.mark.parametrize("index", ["pages.simhash", "redis"])
def test_validators_that_are_wrong_are_found_and_not_used_any_more(
    site: Site, crawl: CrawlFixture, redis_url: str, index: str
) -> None:
    settings = {**SKIP, "SIMHASH_INDEX": redis_url if index == "redis" else index}
    links = [f"/page{number}" for number in range(8)]
    site["/"] = article(prose("start"), links)
    for link in links:
        site[link] = known(link, link[1:])
    first = crawl("Revisits", **settings)
    for link in links:
        site[link] = known(f"{link} anew", link[1:])
    result = crawl("Revisits", **{**settings, "AUDITED": 1, "CONCURRENT_REQUESTS": 1})
    found = second(result, first)
    assert {found[link] for link in links} == {("seen_before", "pass")}
    assert result.stats["simhash/validators/wrong"] == 1
    assert result.stats["simhash/validators/audited"] == 1
    assert "has changed, but its server said that it had not" in result.log
    # And not in the next crawl either.
    site.not_modified.clear()
    result = crawl("Revisits", **settings)
    assert not site.not_modified
    assert result.simhash_stats()["unchanged"] == 9


def test_a_host_whose_validators_were_wrong_is_trusted_again_after_a_month(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    crawl("Revisits", **SKIP)
    site["/tag"] = known("another", "one")
    result = crawl("Revisits", **{**SKIP, "AUDITED": 1})
    assert result.stats["simhash/validators/wrong"] == 1
    site.not_modified.clear()
    for days, answers in (29, {}), (31, {"/tag": 1, "/date": 1}):
        found = int(time.time()) - days * 86_400
        change(tmp_path, f"UPDATE templates SET state = '{found}' WHERE site LIKE '% validators'")
        crawl("Revisits", **SKIP)
        assert site.not_modified == answers


def test_audits_of_right_validators_find_nothing(site: Site, crawl: CrawlFixture) -> None:
    first = crawl("Revisits", **SKIP)
    result = crawl("Revisits", **{**SKIP, "AUDITED": 1})
    stats = result.simhash_stats()
    assert stats["validators/audited"] == 2
    assert "validators/wrong" not in stats
    assert second(result, first)["/tag"] == DROPPED
    # The links of an audited page are requests like any other.
    assert crawl("Revisits", **SKIP).simhash_stats()["not_modified"] == 2


def change_meanwhile(site: Site, folder: Path, statement: str) -> None:
    """Let somebody else change the index after the second request for a page was sent."""
    page = site.pages["/tag"].body
    assert isinstance(page, str)

    def changed(visit: int) -> str:
        if visit == 2:
            change(folder, statement)
        return page

    site["/tag"] = Reply(changed, headers={"ETag": '"one"'})


def test_a_page_that_is_forgotten_meanwhile_is_downloaded(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    first = crawl("Revisits", **SKIP)
    change_meanwhile(site, tmp_path, "DELETE FROM pages WHERE url LIKE '%/tag'")
    result = crawl("Revisits", **SKIP)
    assert site.not_modified["/tag"] == 1
    assert site.asked["/tag"] == 3
    assert second(result, first)["/tag"] == ("new_text", "pass")


def test_a_page_that_another_crawl_has_seen_change_meanwhile_is_downloaded(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    crawl("Revisits", **SKIP)
    change_meanwhile(site, tmp_path, "UPDATE pages SET validators = x'0000000000000000220A'")
    crawl("Revisits", **SKIP)
    assert site.not_modified["/tag"] == 1
    assert site.asked["/tag"] == 3


def test_a_page_that_is_only_seen_in_another_way_is_no_lie(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    """What is learned of a site changes what is stored of its pages."""
    first = crawl("Revisits", **SKIP)
    change(tmp_path, "UPDATE pages SET digest = zeroblob(16)")
    result = crawl("Revisits", **{**SKIP, "AUDITED": 1})
    assert second(result, first)["/tag"] == ("seen_before", "pass")
    assert result.stats["simhash/validators/audited"] == 2
    assert "simhash/validators/wrong" not in result.stats


def test_with_values_a_page_is_the_same_too(site: Site, crawl: CrawlFixture) -> None:
    first = crawl("Revisits", **SKIP, SIMHASH_TAKES=ITEMS)
    result = crawl("Revisits", **SKIP, SIMHASH_TAKES=ITEMS)
    assert site.not_modified == {"/tag": 1, "/date": 1}
    assert second(result, first)["/tag"] == DROPPED


def stored(**headers: str) -> bytes | None:
    return validators_of(HtmlResponse("http://a.example/", body=b"page", headers=headers))


def test_what_is_stored_of_an_answer_is_bounded() -> None:
    tag = f'"{"x" * (MAX_BYTES - 2)}"'
    both = stored(**{"ETag": tag, "Last-Modified": OLD})
    assert both is not None
    assert both[8:] == f"{tag}\n{OLD}".encode()
    assert len(both) < 250
    assert stored(ETag=f"{tag}x") is None
    assert stored(**{"ETag": '"a"', "Last-Modified": OLD * 5}) == stored(ETag='"a"')
    assert stored() is None


@pytest.mark.parametrize("date", ["", OLD])
def test_a_page_that_changed_in_the_second_in_which_it_was_sent_has_no_date(date: str) -> None:
    """It may have changed again in the same second (RFC 9110, section 8.8.2.2)."""
    assert stored(**{"Last-Modified": OLD, "Date": date}) is None
    assert stored(**{"Last-Modified": OLD, "Date": DATE}) is not None


def test_a_request_that_is_sent_again_asks_for_the_page(site: Site, crawl: CrawlFixture) -> None:
    """To a middleware that only knows 200, the answer is a mistake: it tries without an end."""
    crawl("Revisits", **SKIP)
    middlewares = {"tests.spiders.WantsAnswers": 545}
    result = crawl("Revisits", **SKIP, DOWNLOADER_MIDDLEWARES=middlewares)
    assert site.not_modified == {"/tag": 1, "/date": 1}
    assert result.stats["downloader/response_count"] == 6
    assert "simhash/not_modified" not in result.stats
