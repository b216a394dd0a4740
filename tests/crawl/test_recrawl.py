"""Crawling again with the same index: what changed, what is skipped, what is forgotten."""

from __future__ import annotations

import time
from typing import Any

import pytest

from scrapy_simhash.crawl.judging import MOST_LED_FROM
from scrapy_simhash.settings import ITEMS, TEXT
from tests.conftest import Crawl, CrawlFixture, Reply, Site, article, path_of, prose
from tests.decision.test_items import shop_page


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
    crawl("Errback", SIMHASH_SKIP_UNCHANGED=True)
    site["/changes"] = article(prose("after"))
    result = crawl("Errback", SIMHASH_SKIP_UNCHANGED=True)
    second = result.items[3:]
    assert [path_of(item["url"]) for item in second] == ["/", "/same", "/changes"]
    assert second[1]["error"].endswith("has the text that it had before")
    assert result.simhash_stats() == {
        "judged": 3,
        "passed_again": 3,
        "unchanged": 2,
        "dropped": 1,
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"CLOSESPIDER_PAGECOUNT": 2}, {}),
        ({"DEPTH_LIMIT": 1}, {}),
        ({"DEPTH_LIMIT": 1}, {"DEPTH_LIMIT": 2}),
    ],
    ids=["closed", "no limit", "another limit"],
)
def test_what_a_crawl_did_not_reach_is_reached_later_behind_a_page_that_has_not_changed(
    site: Site, crawl: CrawlFixture, before: dict[str, int], after: dict[str, int]
) -> None:
    site["/"] = article(prose("start"), ["/list"])
    site["/list"] = article(prose("list"), ["/item"])
    site["/item"] = article(prose("item"))
    settings = {"SIMHASH_SKIP_UNCHANGED": True, "CONCURRENT_REQUESTS": 1}
    assert crawl(**settings, **before).seen() == {"/", "/list"}
    assert crawl(**settings, **after).seen() == {"/", "/list", "/item"}
    again = crawl(**settings, **after).decisions[-3:]
    reasons = [(path_of(one["url"]), one["reason"]) for one in again]
    assert ("/list", "unchanged") in reasons, "now all was reached"


def late(_visit: int) -> str:
    time.sleep(2)
    return ""


@pytest.mark.parametrize(
    ("answer", "is_asked_again"),
    [(503, True), (429, True), (404, False), (410, False), (None, True)],
    ids=["busy", "too many", "missing", "gone", "no answer"],
)
def test_what_had_no_answer_is_asked_for_in_the_next_crawl(
    site: Site, crawl: CrawlFixture, answer: int | None, is_asked_again: bool
) -> None:
    """The page that led to it has not changed."""
    site["/"] = article(prose("start"), ["/list"])
    site["/list"] = article(prose("list"), ["/item"])
    site["/item"] = Reply(status=answer) if answer else Reply(late)
    settings = {"SIMHASH_SKIP_UNCHANGED": True, "RETRY_ENABLED": False}
    assert "/item" not in crawl(**settings, DOWNLOAD_TIMEOUT=1).seen()
    site["/item"] = article(prose("item"))
    assert ("/item" in crawl(**settings).seen()) == is_asked_again
    again = crawl(**settings).decisions[-3:]
    assert ("/list", "unchanged") in [(path_of(one["url"]), one["reason"]) for one in again]


@pytest.mark.parametrize("below", ["page", "data"])
def test_what_had_no_answer_deep_below_is_reached_in_the_next_crawl(
    site: Site, crawl: CrawlFixture, below: str
) -> None:
    """All pages that lead there have not changed, but the start page is asked for."""
    site["/"] = article(prose("start"), ["/shop"])
    site["/shop"] = article(prose("shop"), ["/list"])
    site["/list"] = article(prose("list"), ["/item"])
    if below == "data":
        site["/list"] = Reply('<a href="/item">Item</a>', content_type="application/xml")
    site["/item"] = Reply(status=503)
    settings = {"SIMHASH_SKIP_UNCHANGED": True, "RETRY_ENABLED": False}
    assert "/item" not in crawl(**settings).seen()
    site["/item"] = article(prose("item"))
    assert "/item" in crawl(**settings).seen()
    assert [one["reason"] for one in crawl(**settings).decisions[-2:]] == ["unchanged"] * 2


def test_behind_more_pages_than_are_remembered_all_pass_in_the_next_crawl(
    site: Site, crawl: CrawlFixture
) -> None:
    last = MOST_LED_FROM + 5
    for number in range(last):
        link = f"/{number + 1}" if number + 1 < last else "/item"
        site[f"/{number or ''}"] = article(prose(f"page {number}"), [link])
    site["/item"] = Reply(status=503)
    settings = {"SIMHASH_SKIP_UNCHANGED": True, "RETRY_ENABLED": False}
    assert len(crawl(**settings).seen()) == last
    site["/item"] = article(prose("item"))
    assert len(crawl(**settings).seen()) == last + 1


def test_a_page_that_a_callback_failed_on_is_asked_for_in_the_next_crawl(
    site: Site, crawl: CrawlFixture
) -> None:
    site["/"] = article(prose("start"), ["/list"])
    site["/list"] = article(prose("list"), ["/fails"])
    site["/fails"] = article(prose("the item"))
    settings = {"SIMHASH_SKIP_UNCHANGED": True}
    for _ in range(2):
        crawl("FailsOnce", **settings)
    assert site.asked["/fails"] == 2


@pytest.mark.parametrize("takes", [ITEMS, TEXT])
def test_what_another_spider_got_is_not_skipped(
    site: Site, crawl: CrawlFixture, takes: str
) -> None:
    settings = {"SIMHASH_SKIP_UNCHANGED": True, "SIMHASH_TAKES": takes}
    crawl(**settings)
    result = crawl("OtherLinks", SIMHASH_INDEX=index_of("links"), **settings)
    assert [one["reason"] for one in result.decisions[-3:]] == ["seen_before"] * 3


@pytest.mark.parametrize("action", ["flag", "observe"])
def test_where_nothing_is_dropped_unchanged_pages_pass(crawl: CrawlFixture, action: str) -> None:
    crawl()
    result = crawl(SIMHASH_SKIP_UNCHANGED=True, SIMHASH_ACTION=action)
    assert [d["action"] for d in result.decisions] == ["pass"] * 6


def test_crawling_again_saves_as_much_as_before(site: Site, crawl: CrawlFixture) -> None:
    """Of a copy that was kept for its links, it is known again that it is a copy."""
    articles, sessions = 20, 6
    for session in ("", *(f"?sid={one}" for one in range(sessions))):
        for number in range(articles):
            near = [f"/read/{(number + step) % articles}{session}" for step in (1, 7)]
            prints = f"/print/{number}{session}"
            own = [*near, prints, f"/read/{number}?sid={number % sessions}"]
            site[f"/read/{number}{session}"] = article(prose(f"{number}"), own)
            site[prints] = article(prose(f"{number}"))
    site["/"] = article(prose("start"), ["/read/0"])

    first = len(crawl(SIMHASH_TAKES=ITEMS).decisions)
    again = len(crawl(SIMHASH_TAKES=ITEMS).decisions) - first
    assert again < 1.3 * first
    assert first < 0.6 * 2 * articles * (sessions + 1)


def index_of(spider: str) -> str:
    return f".scrapy/simhash/{spider}.simhash"


@pytest.mark.parametrize("middlewares", [{}, {"tests.spiders.Answers": 900}])
def test_page_that_a_callback_failed_on_stands_for_no_copy(
    site: Site, crawl: CrawlFixture, middlewares: dict[str, int]
) -> None:
    site["/"] = article(prose("start"), ["/fails", "/copy", "/third"])
    for path in ("/fails", "/copy", "/third"):
        site[path] = article(prose("the same text"))
    result = crawl("FailsOnce", SPIDER_MIDDLEWARES=middlewares)
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


def test_page_behind_a_redirect_is_judged_at_its_last_address(
    site: Site, crawl: CrawlFixture
) -> None:
    site["/"] = article(prose("start"), ["/moved"])
    site["/moved"] = Reply(status=302, headers={"Location": "/target"})
    site["/target"] = article(prose("target"))
    assert crawl().verdicts() == {"/": "unique", "/target": "unique"}
    site["/"] = article(prose("start"), ["/target"])
    assert crawl().decisions[-1]["reason"] == "unchanged"


# What counts as unchanged ------------------------------------------------------------------------

# A spider that follows the links of the first page alone.
FOLLOWS_START = "Hostile"
SKIP = {"SIMHASH_TAKES": ITEMS, "SIMHASH_SKIP_UNCHANGED": True}


def headline(number: int) -> str:
    return shop_page(f'<h2><a href="/news/{number}">The news of today</a></h2>')


def data(price: int) -> str:
    script = f'{{"@type": "Product", "offers": {{"price": "{price}.00"}}}}'
    return shop_page("", head=f'<script type="application/ld+json">{script}</script>')


def many_links(*last: str) -> str:
    links = [f"/other/{number}" for number in range(100)]
    return shop_page("".join(f'<a href="{link}">Another</a> ' for link in (*links, *last)))


def beside(text: str, tag: str) -> str:
    link = f'<{tag}><a href="/news">{text}</a></{tag}>'
    return shop_page("").replace("</main>", f"</main>{link}")


CHANGES = {
    "link's text in a sidebar": (beside("Snow in May", "aside"), beside("Rain in May", "aside")),
    "number in a link": (beside("Chair 39 EUR", "aside"), beside("Chair 35 EUR", "aside")),
    "link's text in a menu": (beside("Rooms in Rome", "nav"), beside("Rooms in Oslo", "nav")),
    "headline's link": (headline(1), headline(2)),
    "price in JSON-LD": (data(39), data(35)),
    "picture": (shop_page('<img src="/1.png">'), shop_page('<img src="/2.png">')),
    "attribute": (
        shop_page('<p data-stock="7">Stock</p>'),
        shop_page('<p data-stock="0">Stock</p>'),
    ),
    "new badge": (shop_page(""), shop_page('<i class="badge" title="Sale"></i>')),
    "lost badge": (shop_page('<i class="badge" title="Sale"></i>'), shop_page("")),
    "lost attribute": (
        shop_page('<p data-stock="7">Stock</p>'),
        shop_page("<p>Stock</p>"),
    ),
    "lost data": (data(39), shop_page("")),
    "lost picture": (shop_page('<img src="/1.png">'), shop_page("")),
    "price": (shop_page("<p>39 EUR</p>"), shop_page("<p>35 EUR</p>")),
    "lost price": (shop_page("<p>39 EUR</p>"), shop_page("")),
    "one link of many": (many_links("/old"), many_links("/new")),
    "one more link of many": (many_links(), many_links("/new")),
    "one link of many less": (many_links("/old"), many_links()),
    "over what is stored": (shop_page(""), many_links()),
}


def of_second(result: Crawl) -> dict[str, tuple[str, str]]:
    """Path -> reason and action, of the decisions of the second crawl of as many pages."""
    later = result.decisions[len(result.decisions) // 2 :]
    return {path_of(one["url"]): (one["reason"], one["action"]) for one in later}


@pytest.mark.parametrize(("before", "after"), CHANGES.values(), ids=CHANGES)
def test_a_page_on_which_anything_changed_is_not_skipped(
    site: Site, crawl: CrawlFixture, before: str, after: str
) -> None:
    site["/"] = article(prose("start"), ["/same", "/changes"])
    site["/same"] = before.replace("bench", "lamp")
    site["/changes"] = before
    crawl(FOLLOWS_START, **SKIP)
    site["/changes"] = after
    result = crawl(FOLLOWS_START, **SKIP)
    second = of_second(result)
    assert second["/same"] == ("unchanged", "drop")
    assert second["/changes"] == ("seen_before", "pass")
    assert [path_of(one["url"]) for one in result.items].count("/changes") == 2


@pytest.mark.parametrize("takes", [ITEMS, TEXT])
def test_for_texts_what_is_no_text_does_not_count(
    site: Site, crawl: CrawlFixture, takes: str
) -> None:
    settings = {**SKIP, "SIMHASH_TAKES": takes}
    site["/changes"] = data(39)
    crawl(**settings)
    site["/changes"] = data(35)
    expected = ("unchanged", "drop") if takes == TEXT else ("seen_before", "pass")
    assert of_second(crawl(**settings))["/changes"] == expected


@pytest.mark.parametrize("takes", [ITEMS, TEXT])
def test_of_more_links_than_are_stored_a_new_one_counts(
    site: Site, crawl: CrawlFixture, takes: str
) -> None:
    settings = {**SKIP, "SIMHASH_TAKES": takes}
    site["/changes"] = many_links("/old")
    site["/same"] = many_links("/old").replace("bench", "lamp")
    crawl(FOLLOWS_START, **settings)
    site["/changes"] = many_links("/new")
    second = of_second(crawl(FOLLOWS_START, **settings))
    assert second["/same"] == ("unchanged", "drop")
    assert second["/changes"] == ("seen_before", "pass")


@pytest.mark.parametrize("where", ["meta", "cb_kwargs"])
def test_a_page_for_another_item_is_not_skipped(
    site: Site, crawl: CrawlFixture, where: str
) -> None:
    def asks(number: int) -> dict[str, Any]:
        carried = {"same": 1}, {"changes": number}
        return {
            link: {where: {"item": of}}
            for link, of in zip(["/same", "/changes"], carried, strict=True)
        }

    crawl("Asks", **SKIP, ASKS=asks(1))
    second = of_second(crawl("Asks", **SKIP, ASKS=asks(2)))
    assert second["/same"] == ("unchanged", "drop")
    assert second["/changes"] == ("seen_before", "pass")


def test_a_page_for_another_callback_is_not_skipped(site: Site, crawl: CrawlFixture) -> None:
    crawl("Asks", **SKIP)
    result = crawl("Asks", **SKIP, ASKS={"/changes": {"callback": "parse_item"}})
    assert of_second(result)["/same"] == ("unchanged", "drop")
    assert of_second(result)["/changes"] == ("seen_before", "pass")
    assert result.items[-1] == {"url": f"{site.url}/changes", "callback": "parse_item"}


def test_a_page_that_changed_is_skipped_once_it_stays_as_it_is(
    site: Site, crawl: CrawlFixture
) -> None:
    for price in (39, 35, 35):
        site["/changes"] = data(price)
        result = crawl(**SKIP)
    reasons = [one["reason"] for one in result.decisions if path_of(one["url"]) == "/changes"]
    assert reasons == ["new_text", "seen_before", "unchanged"]


def test_an_unchanged_page_nearer_to_the_start_is_not_skipped(
    site: Site, crawl: CrawlFixture
) -> None:
    """Its links were cut before."""
    site["/"] = article(prose("start"), ["/a"])
    site["/a"] = article(prose("a"), ["/edge"])
    site["/edge"] = article(prose("edge"), ["/item"])
    site["/item"] = article(prose("item"))
    assert "/item" not in crawl(**SKIP, DEPTH_LIMIT=2).seen()
    site["/"] = article(prose("start"), ["/edge"])
    assert "/item" in crawl(**SKIP, DEPTH_LIMIT=2).seen()
