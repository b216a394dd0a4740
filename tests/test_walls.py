"""Texts that stand in for pages, and pages that cannot be compared with others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import CrawlFixture, Site, article, path_of, prose

NAMES = [f"/page/{i}" for i in range(12)]


def behind(site: Site, wall: str, is_open: Callable[[int], bool]) -> None:
    """Pages of which each shows a wall until it is open, at a visit."""
    site["/"] = article(prose("start"), NAMES)
    for name in NAMES:
        page = article(prose(name))
        site[name] = lambda visit, page=page: page if is_open(visit) else article(wall)  # type: ignore[misc]
    site["/login"] = article("Welcome back. " + prose("welcome"))


@pytest.mark.parametrize("action", ["drop", "flag"])
@pytest.mark.parametrize("concurrent", [1, 16])
def test_pages_behind_a_captcha_arrive_when_the_spider_tries_again(
    site: Site, crawl: CrawlFixture, action: str, concurrent: int
) -> None:
    behind(site, "captcha " + prose("captcha", 200), lambda visit: visit > 1)
    result = crawl("Retries", SIMHASH_ACTION=action, CONCURRENT_REQUESTS=concurrent)
    assert result.seen() == {"/", *NAMES}
    assert max(site.asked.values()) <= 3


@pytest.mark.parametrize("action", ["drop", "flag"])
@pytest.mark.parametrize("concurrent", [1, 16])
def test_pages_behind_a_login_arrive_when_the_spider_has_logged_in(
    site: Site, crawl: CrawlFixture, action: str, concurrent: int
) -> None:
    wall = "Please log in. " + prose("members", 200)
    behind(site, wall, lambda visit: site.asked["/login"] > 0)
    result = crawl("LogsIn", SIMHASH_ACTION=action, CONCURRENT_REQUESTS=concurrent)
    assert result.seen() == {"/", *NAMES}


def test_copies_of_a_known_wall_reach_the_spider_with_the_flag(
    site: Site, crawl: CrawlFixture
) -> None:
    behind(site, prose("banned", 200), lambda visit: False)
    result = crawl()
    reasons = {path_of(d["url"]): d["reason"] for d in result.decisions}
    assert result.stats["simhash/alarms/one_text"] == 1
    # The tenth name raises the alarm.
    assert result.seen() == {"/", NAMES[0], NAMES[-1]}
    assert reasons[NAMES[-1]] == "wall"
    assert max(site.asked.values()) == 1
    flags = {path_of(item["url"]): item["flags"] for item in result.items}
    assert flags[NAMES[0]] == []
    assert flags[NAMES[-1]] == ["near-duplicate"]


def test_walls_are_dropped_if_the_settings_say_so(site: Site, crawl: CrawlFixture) -> None:
    behind(site, prose("banned", 200), lambda visit: False)
    result = crawl(SIMHASH_WALLS="drop")
    assert result.seen() == {"/", NAMES[0]}
    assert max(site.asked.values()) == 1


def test_page_that_is_no_wall_any_more_stands_for_its_copies(
    site: Site, crawl: CrawlFixture
) -> None:
    page = article(prose("page", 200), ["/copy"])
    site["/"] = article(prose("start"), ["/page"])
    site["/page"] = lambda visit: article("captcha " + prose("captcha")) if visit == 1 else page
    site["/copy"] = lambda visit: page
    result = crawl("Retries")
    assert result.verdicts()["/copy"] == "exact_duplicate"
    assert result.seen() == {"/", "/page"}


def test_answers_to_other_methods_pass_unless_the_request_wants_them_judged(
    site: Site, crawl: CrawlFixture
) -> None:
    site["/"] = article(prose("start"), ["/a", "/b", "/1judged", "/2judged"])
    for name in ("/a", "/b", "/1judged", "/2judged"):
        site[name] = article(prose("same"))
    result = crawl("Posts")
    assert result.seen() == {"/", "/a", "/b", "/1judged"}
    assert result.stats["simhash/skipped/method"] == 2


def test_pages_of_one_cookie_jar_are_compared_with_each_other(
    site: Site, crawl: CrawlFixture
) -> None:
    names = ["/one/a", "/one/b", "/two/a", "/a", "/b"]
    site["/"] = article(prose("start"), names)
    for name in names:
        site[name] = article(prose("same"))
    result = crawl("Jars", SIMHASH_INDEX="jars.simhash")
    assert result.seen() == {"/", "/one/a", "/two/a", "/a"}


def test_a_spider_that_filters_nothing_has_no_walls(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"), ["/a", "/b", "/list"])
    site["/list"] = article(prose("list"), ["/a", "/b", "/c"])
    site["/a"] = site["/b"] = site["/c"] = article(prose("same"))
    result = crawl("Unfiltered")
    assert "wall" not in {d["reason"] for d in result.decisions}
    assert "simhash/asked_again" not in result.stats
    assert result.verdicts()["/c"] == "exact_duplicate"
