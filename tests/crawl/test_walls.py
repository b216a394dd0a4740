"""Texts that stand in for pages, and pages that cannot be compared with others."""

from __future__ import annotations

import asyncio
import pickle
import random
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl import judging, walls
from scrapy_simhash.crawl.judging import SimhashDownloaderMiddleware
from scrapy_simhash.crawl.requests import mark_posted, restored, stored
from scrapy_simhash.crawl.walls import (
    FEW_TELLING_PAGES,
    MAX_DROPPED_BODY,
    REPEATED_SHARE,
    TELLING_PAGES,
    DroppedPage,
    DroppedRequests,
    TellingPlaces,
)
from scrapy_simhash.decision.noise import Noises
from scrapy_simhash.decision.page import Decision
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.pipeline import Fetched
from scrapy_simhash.settings import ITEMS, TEXT
from scrapy_simhash.urls import section_of
from tests.conftest import CrawlFixture, Reply, Site, article, path_of, prose
from tests.crawl.test_requests import reasons_on
from tests.spiders import Links

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
    # The tenth name raises the alarm; then those that were dropped are asked for again.
    assert result.seen() == {"/", *NAMES}
    assert reasons[NAMES[-1]] == "wall"
    assert result.stats["simhash/asked_again"] == sum(site.asked[name] == 2 for name in NAMES) > 0
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


@pytest.mark.parametrize("filters", [True, False])
def test_what_a_spider_polls_by_itself_arrives(
    site: Site, crawl: CrawlFixture, filters: bool
) -> None:
    """Though it sends all requests with dont_filter, or none is filtered."""
    behind(site, "captcha " + prose("captcha", 200), lambda visit: visit > 3)
    site["/"] = article(prose("start"), NAMES[:5])  # too few for an alarm
    unfiltered = {} if filters else {"DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}
    result = crawl("PollsByItself", **unfiltered)
    assert result.seen() == {"/", *NAMES[:5]}
    assert max(site.asked.values()) <= 5


def test_a_spider_that_filters_nothing_has_no_walls(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"), ["/a", "/b", "/list"])
    site["/list"] = article(prose("list"), ["/a", "/b", "/c"])
    site["/a"] = site["/b"] = site["/c"] = article(prose("same"))
    result = crawl("Unfiltered")
    assert "wall" not in {d["reason"] for d in result.decisions}
    assert "simhash/asked_again" not in result.stats
    assert result.verdicts()["/c"] == "exact_duplicate"


KEPT, COPY, LATE_COPY, OTHER = (
    f"http://a.example/{name}" for name in ["kept", "copy", "late", "other"]
)
DUPLICATE = Decision("exact_duplicate", "same_text", KEPT)


def test_what_is_dropped_for_a_page_that_was_taken_back_meanwhile_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(walls, "ask", lambda crawler, request: asked.append(request.url))
    crawler: Any = None
    dropped = DroppedRequests(crawler)
    begun = dropped.taken_back
    dropped.take_back(KEPT)
    dropped.note(Request(COPY), DUPLICATE, begun, None)
    assert asked == [COPY]
    dropped.note(Request(LATE_COPY), DUPLICATE, dropped.taken_back, None)
    assert asked == [COPY], "it was judged by a page that is kept again"
    dropped.take_back(KEPT)
    assert asked == [COPY, LATE_COPY]
    begun = dropped.taken_back
    page = dropped.note(Request(COPY), replace(DUPLICATE, representative=OTHER), begun, None)
    dropped.take_back(KEPT)
    dropped.note_kept(page, DUPLICATE, begun)
    assert asked == [COPY, LATE_COPY, COPY], "it was judged again meanwhile"


@pytest.mark.parametrize(
    ("accepted", "refused", "in_vain"),
    [(0, 10, False), (0, 11, True), (1, 11, True), (2, 11, False)],
)
def test_copies_are_asked_for_again_while_pipelines_take_one_of_ten(
    accepted: int, refused: int, in_vain: bool
) -> None:
    crawler: Any = None
    dropped = DroppedRequests(crawler)
    for number in range(accepted + refused):
        request = Request(COPY, meta={walls.ASKED_AGAIN_META_KEY: 1})
        page = HtmlResponse(COPY, request=request)
        dropped.note_item(page, is_refused=number < refused)
        dropped.note_item(page, is_refused=False)  # another item
        dropped.note_item(HtmlResponse(KEPT, request=Request(KEPT)), is_refused=False)
    assert dropped.is_in_vain is in_vain


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_was_redirected_is_asked_for_again_from_its_beginning(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """It may lead to another ticket, or no more to a login; a form that is lost leads nowhere."""
    asked: list[Request] = []
    monkeypatch.setattr(walls, "ask", lambda crawler, request: asked.append(request))
    crawler: Any = None
    dropped = DroppedRequests(crawler)
    begun = Request("http://a.example/file/1", method=method, meta={"of": 17})
    mark_posted(begun)
    redirects = {"redirect_urls": [begun.url], "redirect_times": 1, "redirect_reasons": [302]}
    ticket = Request("http://a.example/ticket/x", meta={**begun.meta, **redirects})
    mark_posted(ticket)
    dropped.note(ticket, DUPLICATE, 0, None)
    dropped.take_back(KEPT)
    (again,) = asked
    assert again.url == (begun.url if method == "GET" else ticket.url)
    assert ("redirect_times" in again.meta) is (method == "POST")
    assert again.meta["of"] == 17
    assert again.dont_filter


def test_of_a_dropped_page_from_which_noise_was_cut_the_body_is_remembered_if_it_is_small() -> None:
    crawler: Any = None
    dropped = DroppedRequests(crawler)
    letters = random.Random(1).randbytes(MAX_DROPPED_BODY + 1)
    for name, body in ("small", b"a page"), ("large", letters):
        fetched = Fetched(f"http://a.example/doc/{name}", body, None, b"")
        dropped.note(Request(fetched.url), DUPLICATE, 0, fetched)
    dropped.note(Request("http://a.example/doc/uncut"), DUPLICATE, 0, None)
    other = Fetched("http://a.example/other/x", b"", None, b"")
    dropped.note(Request(other.url), DUPLICATE, 0, other)
    small, large = dropped.cut_in("a.example/doc")
    assert small.fetched is not None
    assert large.fetched is not None
    assert zlib.decompress(small.fetched.body) == b"a page"
    assert large.fetched.body == b""


@pytest.mark.parametrize(("refuted_before", "is_judged_again"), [(1, True), (2, False)])
def test_a_page_is_judged_again_if_a_cut_was_refuted_on_its_way_to_the_verdict(
    refuted_before: int, is_judged_again: bool
) -> None:
    """Those that were dropped before are judged again by whoever refuted the cut."""
    crawler: Any = None
    judged: list[DroppedPage] = []

    async def judge_again(pages: list[DroppedPage]) -> None:
        judged.extend(pages)

    middleware: Any = SimpleNamespace(
        _refuted=lambda _url: 2,
        index=SimpleNamespace(learned=SimpleNamespace(noises=Noises())),
        _fetched=lambda _request, response: Fetched(response.url, response.body, None, b""),
        _dropped=DroppedRequests(crawler),
        _key=lambda _request, _response: ("", b""),
        _judge_again=judge_again,
    )
    note = partial(SimhashDownloaderMiddleware._note_dropped, middleware)
    asyncio.run(note(Request(COPY), HtmlResponse(COPY, body=b"x"), DUPLICATE, refuted_before, 0))
    assert [one.request.url for one in judged] == [COPY] * is_judged_again


@pytest.mark.parametrize(
    ("decision", "is_wall", "is_asked_for"),
    [
        (DUPLICATE, False, False),
        (DUPLICATE, True, True),
        (Decision("variant", "new_text", KEPT), False, True),
        (None, False, True),
    ],
    ids=["duplicate", "duplicate of a wall", "variant", "cannot be judged"],
)
def test_what_is_judged_again_is_asked_for_unless_it_would_be_dropped_again(
    decision: Decision | None,
    is_wall: bool,
    is_asked_for: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(walls, "ask", lambda crawler, request: asked.append(request.url))
    monkeypatch.setattr(judging, "with_links", lambda *found: (found[3], False))

    async def check(_page: object) -> Decision:
        if decision is None:
            raise IndexUnavailableError("away")
        return decision

    async def nothing(*_: object, **__: object) -> tuple[None, None]:
        return None, None

    crawler: Any = None
    dropped = DroppedRequests(crawler)
    middleware: Any = SimpleNamespace(
        index=SimpleNamespace(check=check),
        _dropped=dropped,
        _walls=SimpleNamespace(may_have=lambda _: is_wall),
        _withdrawals=SimpleNamespace(wait=nothing),
        _kept=SimpleNamespace(read_again=nothing),
        _reach=None,
        _analysed=nothing,
    )
    middleware._decision_now = partial(SimhashDownloaderMiddleware._decision_now, middleware)
    page = dropped.note(Request(COPY), DUPLICATE, 0, Fetched(COPY, b"a page", None, b""))
    asyncio.run(SimhashDownloaderMiddleware._judge_again(middleware, [page]))
    assert asked == [COPY] * is_asked_for


# Walls that the spider gets past in its own way ---------------------------------------------------


class Members(dict[str, Reply]):
    """The pages of a site that are for members; a session ends after some of them."""

    def __init__(self, pages: dict[str, Reply], most: int) -> None:
        super().__init__(pages)
        self.left, self.most = 0, most

    def get(self, path: str, default: Reply = None) -> Reply:  # type: ignore[assignment, override]
        if path == "/session":
            self.left = self.most
        elif path in NAMES:
            if not self.left:
                return Reply(status=302, headers={"Location": f"/login?next={path}"})
            self.left -= 1
        return super().get(path, default)


@pytest.mark.parametrize("most", [100, 5], ids=["once", "each five pages"])
@pytest.mark.parametrize("concurrent", [1, 16])
@pytest.mark.parametrize("takes", [ITEMS, TEXT])
def test_pages_that_lead_to_a_login_arrive_each_time_the_spider_has_logged_in(
    site: Site, crawl: CrawlFixture, most: int, concurrent: int, takes: str
) -> None:
    behind(site, "", lambda visit: True)
    site["/session"] = article("Welcome back. " + prose("welcome"))
    for name in NAMES:
        site[f"/login?next={name}"] = article("Please log in. " + prose("members", 200))
    site.pages = Members(site.pages, most)
    result = crawl("LogsInByRedirect", CONCURRENT_REQUESTS=concurrent, SIMHASH_TAKES=takes)
    assert result.seen() == {"/", *NAMES}
    assert site.asked["/session"] <= 3 * len(NAMES), "it ends"


@pytest.mark.parametrize("concurrent", [1, 16])
def test_a_spider_that_filters_nothing_gets_past_a_login(
    site: Site, crawl: CrawlFixture, concurrent: int
) -> None:
    wall = "Please log in. " + prose("members", 200)
    behind(site, wall, lambda visit: site.asked["/login"] > 0)
    result = crawl("LogsInUnfiltered", CONCURRENT_REQUESTS=concurrent)
    assert result.seen() == {"/", *NAMES}


# So few raise no alarm.
CACHED = NAMES[:6]


def cached(site: Site, numbers: int = 60) -> None:
    """Pages of which a cache has a captcha; with one more parameter, each shows itself."""
    behind(site, "captcha " + prose("captcha", 200), lambda visit: False)
    site["/"] = article(prose("start"), CACHED)
    for name in CACHED:
        for number in range(1, numbers):
            site[f"{name}?_={16836278000 + number}"] = article(prose(name))


def test_pages_arrive_with_a_parameter_that_no_cache_has_met(
    site: Site, crawl: CrawlFixture
) -> None:
    cached(site)
    result = crawl("BustsCache")
    assert {path.partition("?")[0] for path in result.seen()} == {"/", *CACHED}


def test_without_walls_a_parameter_that_no_cache_has_met_says_nothing(
    site: Site, crawl: CrawlFixture
) -> None:
    cached(site)
    result = crawl("BustsCache", SIMHASH_WALLS="drop")
    assert {path.partition("?")[0] for path in result.seen()} == {"/", CACHED[0]}


LATE = [f"/late/{number}" for number in range(4)]


def test_a_wall_that_comes_back_is_known(site: Site, crawl: CrawlFixture) -> None:
    """The page that showed it first shows itself by then, and leads to those that show it."""
    wall = article("captcha " + prose("captcha", 200))
    first = article(prose("first"), LATE)
    site["/"] = article(prose("start"), ["/first"])
    site["/first"] = lambda visit: wall if visit == 1 else first
    for name in LATE:
        page = article(prose(name))
        site[name] = lambda visit, page=page: wall if visit == 1 else page  # type: ignore[misc]
    result = crawl("Retries")
    assert result.seen() == {"/", "/first", *LATE}
    reasons = reasons_on(result)
    assert reasons["/first"] == ["new_text", "seen_before"]
    assert [reasons[name][0] for name in LATE[1:]] == ["wall"] * len(LATE[1:])
    assert "simhash/asked_again" not in result.stats, "none was dropped"


# Places that tell the pages of a site apart -------------------------------------------------------

SITE = "http://a.example"
ENOUGH = TELLING_PAGES + 1  # the first one differs from none


def places(*urls: str) -> TellingPlaces:
    found = TellingPlaces()
    for url in urls:
        found.note_kept(SITE + url)
    return found


def tells(found: TellingPlaces, url: str, kept_url: str) -> bool:
    return found.tell(SITE + url, SITE + kept_url)


@pytest.mark.parametrize(
    "pattern",
    ["/item?id={}", "/item?lang=en&id={}", "/item/{}", "/item/{}/show", "/{}", "/a/b/c/{}?lang=en"],
)
def test_what_pages_differ_in_alone_tells_them_apart(pattern: str) -> None:
    found = places(*map(pattern.format, range(ENOUGH)))
    assert tells(found, pattern.format(98), pattern.format(99))
    too_few = places(*map(pattern.format, range(ENOUGH - 1)))
    assert not tells(too_few, pattern.format(98), pattern.format(99))


def test_fewer_pages_tell_where_one_text_is_met_as_often() -> None:
    few = places(*(f"/item?id={number}" for number in range(FEW_TELLING_PAGES + 1)))
    told = [tells(few, f"/item?id={20 + number}", "/item?id=9") for number in range(7)]
    assert told == [False] * (FEW_TELLING_PAGES - 1) + [True] * 3
    assert not any(tells(few, "/item?id=40", f"/item?id={41 + number}") for number in range(7))
    before = places()
    assert not any(tells(before, f"/item?id={20 + number}", "/item?id=9") for number in range(7))
    shown = [before.note_kept(f"{SITE}/item?id={number}") for number in range(TELLING_PAGES + 2)]
    assert shown == [number == FEW_TELLING_PAGES for number in range(TELLING_PAGES + 2)]
    too_few = places(*(f"/item?id={number}" for number in range(FEW_TELLING_PAGES)))
    assert not any(tells(too_few, f"/item?id={20 + number}", "/item?id=9") for number in range(7))


@pytest.mark.parametrize(
    ("pattern", "url", "kept_url"),
    [
        ("/item?id={0}&sid={0}", "/item?id=1&sid=98", "/item?id=1&sid=99"),
        ("/item?id={0}&sid=1", "/item?id=1&sid=98", "/item?id=1&sid=99"),
        ("/article/{0}", "/print/1", "/article/1"),
        ("/article/{0}", "/article/1/print", "/article/1"),
        ("/article/{0}", "/article/1?print=1", "/article/1"),
        ("/item?id={0}", "/item?id=98&ref=mail", "/item?id=99"),
        ("/item?id={0}", "/other?id=98", "/item?id=99"),
        ("/item?id={0}&page={0}", "/item?id=98&page=98", "/item?id=99&page=99"),
        ("/item?id={0}", "/shop/item?id=98", "/shop/item?id=99"),
        ("/{0}/show", "/98/show", "/98/show"),
    ],
    ids=[
        "session",
        "session of all",
        "print view",
        "print view below",
        "print parameter",
        "mail",
        "folder",
        "two",
        "elsewhere",
        "itself",
    ],
)
def test_what_else_addresses_differ_in_tells_nothing_apart(
    pattern: str, url: str, kept_url: str
) -> None:
    found = places(*(pattern.format(number) for number in range(5 * ENOUGH)))
    assert not tells(found, url, kept_url)


@pytest.mark.parametrize("pages", [TELLING_PAGES, 49])
def test_a_place_tells_no_pages_apart_where_two_texts_repeat(pages: int) -> None:
    found = places(*(f"/item?id={number}" for number in range(pages + 1)))
    assert tells(found, "/item?id=98", "/item?id=99")
    assert tells(found, "/item?id=97", "/item?id=99"), "one text may be anywhere"
    assert not tells(found, "/item?id=96", "/item?id=95")
    assert not tells(found, "/item?id=98", "/item?id=99"), "from now on"


def test_of_many_pages_some_may_repeat() -> None:
    pages = 10 * round(1 / REPEATED_SHARE)
    found = places(*(f"/item?id={number}" for number in range(pages + 1)))
    told = [tells(found, f"/item?id={number + 1}", f"/item?id={number}") for number in range(12)]
    assert told == [True] * 11 + [False]


ITEMS_THERE = [f"/item?id={number}" for number in range(ENOUGH + 2)]
ITEMS_GONE = [f"/item?id={number}" for number in range(90, 94)]


def stands_in(site: Site, asked: list[str]) -> None:
    """Pages by number, and one text in place of some."""
    site["/"] = article(prose("start"), [*ITEMS_THERE, *asked])
    for name in ITEMS_THERE:
        site[name] = article(prose(f"item{name}x"))
    for name in asked:
        site[name] = article(prose("unavailable"))


@pytest.mark.parametrize("takes", [ITEMS, TEXT])
@pytest.mark.parametrize("walls", ["pass", "drop"])
def test_a_text_in_place_of_several_numbered_pages_is_a_wall(
    site: Site, crawl: CrawlFixture, takes: str, walls: str
) -> None:
    stands_in(site, ITEMS_GONE)
    result = crawl(SIMHASH_TAKES=takes, SIMHASH_WALLS=walls)
    if walls == "drop":
        assert result.seen() == {"/", *ITEMS_THERE, ITEMS_GONE[0]}
        assert "wall" not in {one["reason"] for one in result.decisions}
        return
    assert result.seen() == {"/", *ITEMS_THERE, *ITEMS_GONE}
    assert [reasons_on(result)[name] for name in ITEMS_GONE[1:]] == [["wall"]] * 3
    flags = {path_of(one["url"]): one["flags"] for one in result.items}
    assert flags[ITEMS_GONE[1]] == ["near-duplicate"]


def test_a_text_in_place_of_numbered_pages_is_a_wall_in_the_next_crawl_too(
    site: Site, crawl: CrawlFixture
) -> None:
    stands_in(site, [])
    crawl(SIMHASH_INDEX="index.simhash")
    stands_in(site, ITEMS_GONE)
    result = crawl(SIMHASH_INDEX="index.simhash")
    assert result.seen() == {"/", *ITEMS_THERE, *ITEMS_GONE}


def test_a_counter_tells_where_the_text_stands_in_for_numbered_pages(
    site: Site, crawl: CrawlFixture
) -> None:
    """Pages are busy at first, and twice more when they are asked for again."""
    busy = article("captcha " + prose("captcha"))
    stands_in(site, ITEMS_GONE)
    for name in ITEMS_GONE:
        site[name] = site[f"{name}&try=1"] = site[f"{name}&try=2"] = busy
        site[f"{name}&try=3"] = article(prose(name))
    result = crawl("Counts", CONCURRENT_REQUESTS=1)
    assert {f"{name}&try=3" for name in ITEMS_GONE} < result.seen()


@pytest.mark.parametrize("later", [0, 1])
def test_what_was_dropped_before_numbers_tell_pages_apart_is_asked_for_again(
    site: Site, crawl: CrawlFixture, later: int
) -> None:
    """Also where the text is not met again later."""
    alias, gone = f"{ITEMS_GONE[0]}&sid=8a", ITEMS_GONE[: 3 + later]
    there = [*ITEMS_THERE[:2], *gone[:3], alias, *ITEMS_THERE[2:], *gone[3:]]
    site["/"] = article(prose("start"), there)
    for name in ITEMS_THERE:
        site[name] = article(prose(f"item{name}x"))
    for name in [*gone, alias]:
        site[name] = article(prose("unavailable"))
    result = crawl(CONCURRENT_REQUESTS=1, SIMHASH_PROBES=0)
    assert result.seen() == {"/", *ITEMS_THERE, *gone}
    assert [site.asked[name] for name in [*gone, alias]] == [1, 2, 2, *[1] * later, 1]


@pytest.mark.parametrize("walls", ["pass", "drop"])
def test_numbered_pages_that_lead_to_one_text_elsewhere_meet_a_wall(
    site: Site, crawl: CrawlFixture, walls: str
) -> None:
    stands_in(site, ITEMS_GONE)
    sorry = [f"/sorry?case=8a{number}f" for number in range(len(ITEMS_GONE))]
    for name, target in zip(ITEMS_GONE, sorry, strict=True):
        site[name] = Reply(status=302, headers={"Location": target})
        site[target] = article(prose("unavailable"))
    result = crawl(SIMHASH_WALLS=walls)
    arrived = sorry if walls == "pass" else sorry[:1]
    assert result.seen() == {"/", *ITEMS_THERE, *arrived}


def test_copies_of_numbered_pages_in_another_session_are_dropped(
    site: Site, crawl: CrawlFixture
) -> None:
    copies = [f"{name}&sid=8a" for name in ITEMS_THERE]
    prints = [f"/print/item?id={number}" for number in range(4)]
    site["/"] = article(prose("start"), [*ITEMS_THERE, *copies, *prints])
    for name in ITEMS_THERE:
        site[name] = site[f"{name}&sid=8a"] = article(prose(f"item{name}x"))
    for name in prints:
        site[name] = article(prose(f"item{name.removeprefix('/print')}x"))
    assert crawl().seen() == {"/", *ITEMS_THERE}


@pytest.mark.parametrize("spider", ["Retries", "LogsInUnfiltered"])
def test_walls_that_are_dropped_are_never_asked_for_again(
    site: Site, crawl: CrawlFixture, spider: str
) -> None:
    wall = "captcha, please log in " + prose("captcha", 200)
    behind(site, wall, lambda visit: visit > 1 or site.asked["/login"] > 0)
    result = crawl(spider, SIMHASH_WALLS="drop")
    assert result.seen() == {"/", NAMES[0]}
    assert "simhash/asked_again" not in result.stats


# Walls of a job that is stopped, and resumed ------------------------------------------------------


@pytest.mark.parametrize("first", [[], ["/first"]], ids=["dropped before", "known before"])
def test_walls_of_a_job_are_known_when_it_is_resumed(
    site: Site, crawl: CrawlFixture, tmp_path: Path, first: list[str]
) -> None:
    """It is stopped before the spider sees the wall for what it is, or after that."""
    wall, names = "captcha " + prose("captcha", 200), NAMES[:5]  # too few for an alarm
    behind(site, wall, lambda visit: visit > 1)
    site["/plain"] = article(prose("plain"))
    # The last one is asked for first.
    site["/"] = article(prose("start"), first or [*names[:2], "/plain", *names[2:]])
    for name in first:
        page = article(prose("first"), [*names, "/plain"])
        site[name] = lambda visit, page=page: article(wall) if visit == 1 else page  # type: ignore[misc]
    job, state = {"JOBDIR": "job", "CONCURRENT_REQUESTS": 1}, tmp_path / "job/simhash-walls.state"
    stopped = crawl("Retries", **job, CLOSESPIDER_PAGECOUNT=3)
    verdicts = [one["verdict"] for one in stopped.decisions]
    assert verdicts[2:4] == (["refresh"] if first else ["exact_duplicate"] * 2)
    assert stopped.seen() == {"/", *(first or ["/plain"])}
    assert state.exists()
    result = crawl("Retries", **job)
    assert result.seen() == {"/", *first, "/plain", *names}
    assert ("simhash/asked_again" in result.stats) is not bool(first)
    assert not state.exists(), "the next crawl is another one"


def test_what_tells_pages_apart_in_a_job_is_known_when_it_is_resumed(
    site: Site, crawl: CrawlFixture
) -> None:
    stands_in(site, ITEMS_GONE)
    job = {
        "JOBDIR": "job",
        "CONCURRENT_REQUESTS": 1,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    }
    stopped = crawl(**job, CLOSESPIDER_PAGECOUNT=1 + len(ITEMS_THERE))
    assert not {*ITEMS_GONE[1:]} & stopped.seen()
    assert crawl(**job).seen() == {"/", *ITEMS_THERE, *ITEMS_GONE}


def test_of_a_dropped_page_the_next_run_knows_what_can_be_stored() -> None:
    crawler = get_crawler(Links)
    spider = crawler.spider = Links.from_crawler(crawler, url=SITE)
    dropped = DroppedRequests(crawler)
    dropped.note(Request(OTHER, callback=print), DUPLICATE, 0, None)
    fetched = Fetched(COPY, b"a page", None, b"")
    dropped.note(Request(COPY, callback=spider.parse), DUPLICATE, 0, fetched)
    state = pickle.loads(pickle.dumps(dropped.state()))
    (page,) = DroppedRequests(crawler, state).cut_in(section_of(COPY))
    assert (page.request.url, page.request.callback) == (COPY, spider.parse)
    assert (page.kept_url, page.fetched) == (KEPT, fetched._replace(body=b""))


def test_a_stored_request_whose_callback_is_gone_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    crawler = get_crawler(Links)
    crawler.spider = Links.from_crawler(crawler, url=SITE)
    data = stored(crawler, Request(COPY, callback=crawler.spider.parse))
    assert data is not None
    assert restored(crawler, pickle.dumps({**pickle.loads(data), "callback": "gone"})) is None
    assert f"A stored request cannot be sent: {COPY}" in caplog.text


def test_a_start_page_that_each_run_of_a_job_asks_for_is_no_wall(
    site: Site, crawl: CrawlFixture
) -> None:
    start = article(prose("start"), ["/copy", "/other", "/page"])
    site["/"] = site["/copy"] = site["/other"] = start
    site["/page"] = article(prose("page"))
    job = {"JOBDIR": "job", "CONCURRENT_REQUESTS": 1}
    crawl(**job, CLOSESPIDER_PAGECOUNT=2)
    result = crawl(**job)
    assert result.seen() == {"/", "/page"}
    assert site.asked["/"] == 2
