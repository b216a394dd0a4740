"""A drop takes nothing with it that no other page has: links, and things with own names."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from scrapy_simhash.settings import ITEMS, TEXT
from tests.conftest import CrawlFixture, Reply, Site, article, path_of, prose

INTRODUCTION = prose("introduction", 300)


def listing(links: list[str]) -> str:
    """A page whose own text is that of all others; what it lists is wholly inside links."""
    cards = "".join(f'<div><a href="{link}"><h3>Tool</h3></a></div>' for link in links)
    return f"<html><body><main><p>{INTRODUCTION}</p>{cards}</main></body></html>"


@pytest.mark.parametrize("action", ["drop", "flag"])
def test_listing_with_links_of_its_own_is_kept(
    site: Site, crawl: CrawlFixture, action: str
) -> None:
    site["/"] = article(prose("start"), ["/list/1", "/list/2", "/copy"])
    site["/list/1"] = listing(["/a", "/b"])
    site["/list/2"] = listing(["/c"])
    site["/copy"] = listing(["/a", "/c"])
    for name in "abc":
        site[f"/{name}"] = article(prose(name))
    result = crawl(SIMHASH_ACTION=action)
    assert {"/a", "/b", "/c", "/list/2"} <= result.seen()
    decisions = {d["url"].removeprefix(site.url): d for d in result.decisions}
    assert (decisions["/list/2"]["verdict"], decisions["/list/2"]["reason"]) == (
        "variant",
        "new_links",
    )
    assert decisions["/list/2"]["closest"]["url"] == f"{site.url}/list/1"
    assert decisions["/copy"]["verdict"] == "exact_duplicate"


@pytest.mark.parametrize("folder", ["item", "review"])
def test_copies_with_another_style_sheet_are_dropped_once_it_was_handed(
    site: Site, crawl: CrawlFixture, folder: str
) -> None:
    """It has another version from some time on.  Links of an item are followed, not of a review."""
    names = [f"/{folder}/{n}" for n in range(12)]
    copies = [f"{name}?ref=top" for name in names]
    site["/"] = article(prose("start"), ["/list"])
    site["/list"] = article(prose("list"), [*names, *copies])
    for version, paths in enumerate((names, copies)):
        style = f'<link rel="stylesheet" href="/app.css?v={version}"></head>'
        for name, path in zip(names, paths, strict=True):
            site[path] = article(prose(name)).replace("</head>", style)
    result = crawl("ByRules", SIMHASH_TAKES=ITEMS, CONCURRENT_REQUESTS=1)
    decided = Counter((one["verdict"], one["reason"]) for one in result.decisions)
    assert decided["variant", "new_media"] == 1
    assert decided["exact_duplicate", "same_text"] == 11


@pytest.mark.parametrize("takes", [ITEMS, TEXT])
@pytest.mark.parametrize(
    ("header", "new"),
    [
        ('</style.css>; rel=preload; as=style, <c?page=2>; title="a, <b>"; rel="last next"', "/c"),
        ("<//a.example/c>; REL=Next", "http://a.example/c"),
        ("</a#part>; rel=next", None),  # a link of the first page
        ("</?rest_route=/>; rel=https://api.w.org/, </?p=2>; rel=shortlink", None),
        ("</style.css>; rel=stylesheet, <//cdn.example>; rel=preconnect; next", None),
        ("<mailto:a@a.example>; rel=next", None),
        ("</other>; rel=canonical, next", None),
    ],
)
def test_links_in_headers_are_links_of_the_page(
    site: Site, crawl: CrawlFixture, header: str, new: str | None, takes: str
) -> None:
    site["/"] = article(prose("start"), ["/1", "/2"])
    text = article(prose("lamp"), ["/a"])
    site["/1"], site["/2"] = text, Reply(text, headers={"Link": header})
    result = crawl(SIMHASH_TAKES=takes)
    (second,) = [one for one in result.decisions if one["url"] == f"{site.url}/2"]
    assert second["reason"] == ("new_links" if new else "same_text"), second
    if new:
        assert new in second["new"][0]["text"]


@pytest.mark.parametrize(
    ("header", "is_new"),
    [
        ("5; url=/b", True),
        ("0, URL = '/b'", True),
        ("0;/b", True),
        ("5; url=/a", False),  # a link of the first page
        ("5", False),  # the page itself
        ("5; url=", False),
    ],
)
def test_refresh_in_a_header_is_a_link_of_the_page(
    site: Site, crawl: CrawlFixture, header: str, is_new: bool
) -> None:
    site["/"] = article(prose("start"), ["/1", "/2"])
    text = article(prose("lamp"), ["/a"])
    site["/1"], site["/2"] = text, Reply(text, headers={"Refresh": header})
    (second,) = [one for one in crawl().decisions if one["url"] == f"{site.url}/2"]
    assert second["reason"] == ("new_links" if is_new else "same_text"), second


def test_copy_of_what_another_process_kept_is_dropped(site: Site, crawl: CrawlFixture) -> None:
    site["/first"] = listing(["/a", "/b"])
    settings = {"SIMHASH_INDEX": "shared.simhash", "SIMHASH_CRAWL": "one"}
    assert crawl(start="/first", **settings).seen() == {"/first"}
    site["/"] = article(prose("start"), ["/copy", "/more"])
    site["/copy"] = listing(["/a"])
    site["/more"] = listing(["/a", "/c"])
    result = crawl(**settings)
    assert result.verdicts()["/copy"] in ("exact_duplicate", "near_duplicate")
    assert result.verdicts()["/more"] == "variant"


def product(sku: str) -> str:
    data = json.dumps({"@type": "Product", "sku": sku})
    page = article(prose("the same text", 300))
    return page.replace("</head>", f'<script type="application/ld+json">{data}</script></head>')


def test_things_with_names_of_their_own_are_kept(site: Site, crawl: CrawlFixture) -> None:
    names = [f"/{i}" for i in range(4)]
    site["/"] = article(prose("start"), [*names, "/copy", "/unnamed"])
    for name in names:
        site[name] = product(f"A{name}")
    site["/copy"] = product("A/2")
    site["/unnamed"] = article(prose("the same text", 300))
    result = crawl(SIMHASH_TAKES=ITEMS)
    assert result.seen() == {"/", *names}
    reasons = {d["url"].removeprefix(site.url): d["reason"] for d in result.decisions}
    assert [reasons[name] for name in names] == ["new_text", *["new_data"] * 3]
    kept = {d["url"]: d["representative"] for d in result.decisions}
    assert kept[f"{site.url}/copy"] == f"{site.url}/2"


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ('<img src="/picture/{}.jpg">', "new_media"),
        ('<iframe src="https://maps.example/{}"></iframe>', "new_media"),
        ('<script>window.__STATE__ = {{"id": {}}}</script>', "new_data"),
        ('<input type="hidden" name="item" value="{}">', "new_text"),
        ('<button data-href="/order/{}">Order</button>', "new_data"),
        ('<aside class="sidebar"><a href="/part/{}">Part</a></aside>', "new_links"),
    ],
)
@pytest.mark.parametrize("place", ["memory:", "file", "redis"], indirect=True)
def test_pages_that_hold_something_else_are_kept(
    site: Site, crawl: CrawlFixture, place: str, html: str, reason: str
) -> None:
    names = [f"/{i}" for i in range(3)]
    site["/"] = article(prose("start"), [*names, "/copy"])
    text = article(prose("the same text", 300))
    for i, name in enumerate(names):
        site[name] = text.replace("</main>", f"{html.format(i)}</main>")
    site["/copy"] = text.replace("</main>", f"{html.format(1)}</main>")
    result = crawl(SIMHASH_INDEX=place, SIMHASH_PROBES=0, SIMHASH_TAKES=ITEMS)
    assert result.seen() == {"/", *names}
    (copy,) = [d for d in result.decisions if path_of(d["url"]) == "/copy"]
    assert (copy["verdict"], copy["representative"]) == ("exact_duplicate", f"{site.url}/1")
    reasons = {path_of(d["url"]): d["reason"] for d in result.decisions}
    assert [reasons[name] for name in names] == ["new_text", reason, reason]


@pytest.mark.parametrize("takes", [ITEMS, TEXT])
@pytest.mark.parametrize("spider", ["Next", "NextBehind", "NextInRow", "NextInList"])
def test_a_spider_that_follows_next_alone_gets_to_the_end(
    site: Site, crawl: CrawlFixture, takes: str, spider: str
) -> None:
    """Each page has links to all others, too, and some pages say the same."""
    names = [f"/week/{number}" for number in range(12)]
    links = [f'<a href="{name}">{number}</a>' for number, name in enumerate(names)]
    site["/"] = article(prose("start")).replace(
        "</nav>", f'<a class="next" href="{names[0]}">></a></nav>'
    )
    for number, name in enumerate(names):
        is_free = number in (0, 1, 4, 5, 6)
        others = [*links[:number], f"<b>{number}</b>", *links[number + 1 :]]
        listed = "".join(f"<li{' class=on' * (link[1] == 'b')}>{link}</li>" for link in others)
        has_next = number < 11 and spider in ("Next", "NextBehind")
        next_one = f'<a class="next" href="/week/{number + 1}">next</a>' if has_next else ""
        pages = f"{' '.join(others)} <ul>{listed}</ul> {next_one}</nav>"
        site[name] = article(prose("free" if is_free else name)).replace("</nav>", pages)
    assert crawl(spider, SIMHASH_TAKES=takes, SIMHASH_PROBES=0).seen() == {"/", *names}


def card(dishes: str) -> str:
    """A page of a restaurant: nearly all that it says stands in what sites name their menus."""
    return (
        "<html><head><title>Our menu</title></head><body><main><h1>Our menu</h1>"
        f"<p>{prose('welcome', 30)}</p><div class='menu'><p>{prose(dishes, 80)}</p></div>"
        "</main></body></html>"
    )


def test_pages_that_differ_in_what_only_looks_like_a_sidebar_are_kept(
    site: Site, crawl: CrawlFixture
) -> None:
    cards = [f"/card/{i}" for i in range(4)]
    site["/"] = article(prose("start"), [*cards, "/copy"])
    for name in cards:
        site[name] = card(name)
    site["/copy"] = card(cards[2])
    result = crawl(SIMHASH_TAKES=ITEMS)
    assert result.seen() == {"/", *cards}
    kept = {d["url"]: d["representative"] for d in result.decisions}
    assert kept[f"{site.url}/copy"] == f"{site.url}/card/2"


def test_the_plain_rule_judges_by_the_text_alone(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"), ["/1", "/2", "/3"])
    site["/1"], site["/2"] = product("A1"), product("A2")
    site["/3"] = product("A3").replace("</main>", '<a href="/new">x</a></main>')
    assert crawl(SIMHASH_SHARE=0).seen() == {"/", "/1"}


def test_links_that_are_no_addresses_lead_nowhere(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"), ["/page?sid=1", "/page?sid=2"])
    text = prose("the same text", 300)
    site["/page?sid=1"] = article(text)
    broken = '<a href="http://[bad/">x</a></main>'
    site["/page?sid=2"] = article(text).replace("</main>", broken)
    result = crawl()
    assert result.seen() == {"/", "/page?sid=1"}
    assert result.stats.get("simhash/skipped/internal_error") is None


def test_second_visits_do_not_hide_where_links_led(site: Site, crawl: CrawlFixture) -> None:
    """Of pages with one text, the links lead to another one, but each eighth to one of its own."""
    stubs = [f"/p?id={number}" for number in range(160)]
    site["/"] = article(prose("start"), stubs)
    for number, stub in enumerate(stubs):
        site[stub] = article(prose("gone"), [f"/reviews?id={number}"])
        reviews = prose(f"reviews {number}") if number % 8 == 3 else prose("none")
        site[f"/reviews?id={number}"] = article(reviews)
    lifo = {"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.LifoMemoryQueue"}
    result = crawl(SIMHASH_TAKES=ITEMS, CONCURRENT_REQUESTS=1, **lifo)
    assert result.stats["simhash/second_visits"] > 1
    assert {f"/reviews?id={number}" for number in range(3, 160, 8)} <= result.seen()


@pytest.mark.parametrize("to", ["file", "redirect", "aside"])
def test_links_are_not_trusted_by_what_leads_elsewhere_from_there(
    site: Site, crawl: CrawlFixture, to: str
) -> None:
    """Of pages with one text, the links lead to a file or redirect of their own, or on from there.

    One of three leads to a text that all of them share.
    """
    stubs = [f"/p?id={number}" for number in range(120)]
    site["/"] = article(prose("start"), stubs)
    ends = set()
    for number, stub in enumerate(stubs):
        site[stub] = article(prose("gone"), [f"/document?id={number}"])
        end = f"/document?id={number}" if to == "file" else f"/scans/{number}"
        none = article(prose("none"))
        if to == "aside":
            aside = f'<aside><a href="{end}">Scan</a></aside></body>'
            site[f"/document?id={number}"] = none.replace("</body>", aside)
        elif number % 3 == 0:
            site[f"/document?id={number}"] = none
            continue
        elif to == "redirect":
            site[f"/document?id={number}"] = Reply(status=302, headers={"Location": end})
        if to == "file":
            site[end] = Reply(f"Scan {number}", headers={"Content-Type": "text/plain"})
        else:
            site[end] = article(prose(f"scan {number}"))
        ends.add(end)
    # What a link leads to comes before the next page.
    asked = crawl(SIMHASH_TAKES=ITEMS, CONCURRENT_REQUESTS=1, DEPTH_PRIORITY=-1)
    assert asked.stats["finish_reason"] == "finished"
    assert {end for end in ends if not site.asked[end]} == set()


# What one callback or asker was handed, another one was not ---------------------------------------


def with_sidebar(text: str, links: list[str], name: str = "") -> str:
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    page = article(f'<b class="{name}">{prose(text)}</b>')
    return page.replace("</body>", f"<aside><ul>{anchors}</ul></aside></body>")


@pytest.mark.parametrize("spider", ["FollowsLists", "FollowsListsByCallback"])
def test_what_is_followed_on_some_pages_alone_is_new_on_their_copies(
    site: Site, crawl: CrawlFixture, spider: str
) -> None:
    lists = [f"/list/{number}" for number in range(4)]
    site["/"] = article(prose("start"), [*(f"/a/{number}" for number in range(4)), lists[0]])
    for number, name in enumerate(lists):
        text = with_sidebar(f"article {number}", [lists[0], name])
        site[f"/a/{number}"] = text.replace("</main>", f'<a href="/more/{number}">More</a></main>')
        site[f"/more/{number}"] = article(prose(f"more {number}"))
        after = lists[number + 1 : number + 2]
        site[name] = with_sidebar(f"list {number}", [lists[0], f"{name}?sort=new"], "list")
        site[f"{name}?sort=new"] = with_sidebar(f"list {number}", [lists[0], *after], "list")
    result = crawl(spider, SIMHASH_TAKES=ITEMS)
    assert {*lists} < result.seen()
    assert result.verdicts()["/list/3?sort=new"] == "exact_duplicate"


BREADTH_FIRST = {
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}


@pytest.mark.parametrize("is_there", [False, True])
def test_copies_lead_nowhere_by_links_to_a_folder_where_nothing_is(
    site: Site, crawl: CrawlFixture, is_there: bool
) -> None:
    numbers = range(25)
    site["/"] = article(prose("start"), [*(f"/new/{number}" for number in numbers), "/more"])
    site["/more"] = article(prose("more"), ["/last"])
    site["/last"] = article(prose("last"), ["/old/0", "/old/1"])
    for number in numbers:
        site[f"/new/{number}"] = with_sidebar(f"page {number}", [f"/src/{number}.txt"])
        if is_there and number > 5:
            site[f"/src/{number}.txt"] = Reply("text", content_type="text/plain")
    for number in (0, 1):
        site[f"/old/{number}"] = with_sidebar(f"page {number}", [f"/src/{number}-old.txt"])
    result = crawl(SIMHASH_TAKES=ITEMS, CONCURRENT_REQUESTS=1, **BREADTH_FIRST)
    verdicts = {result.verdicts()[f"/old/{number}"] for number in (0, 1)}
    assert verdicts == ({"variant"} if is_there else {"exact_duplicate"})


def test_a_link_to_a_page_that_nothing_filters_is_followed(site: Site, crawl: CrawlFixture) -> None:
    for number in range(4):
        author = article(prose(f"author {number}"))
        link = f'<a href="/work/{number}">Work</a></main>'
        site[f"/author/{number}"] = author.replace("</main>", link)
        site[f"/work/{number}"] = with_sidebar(f"work {number // 2}", [f"/author/{number}"])
    seen = crawl("StartsEverywhere", SIMHASH_TAKES=ITEMS).seen()
    assert seen == {f"/author/{number}" for number in range(4)}


def test_an_address_that_was_posted_to_is_a_new_link(site: Site, crawl: CrawlFixture) -> None:
    names = [f"/{number}{query}" for number in range(3) for query in ("", "?of=mail")]
    site["/"] = article(prose("start"), names)
    for name in names:
        number = name[1]
        links = [f"/offers/{number}"] if "?" in name else []
        form = f'<form method="post" action="/offers/{number}"><input name="q"></form></main>'
        site[name] = with_sidebar(f"lamp {number}", links).replace("</main>", form)
        site[f"/offers/{number}"] = article(prose(f"offers {number}"))
    seen = crawl("PostsFirst", SIMHASH_TAKES=ITEMS, CONCURRENT_REQUESTS=1).seen()
    assert seen == {f"/offers/{number}" for number in range(3)}


@pytest.mark.parametrize("spider", ["TakesLanguages", "TakesJars"])
def test_what_one_asker_asked_for_is_new_for_another_one(
    site: Site, crawl: CrawlFixture, spider: str
) -> None:
    months = ["/", *(f"/{month}" for month in range(2, 8))]
    for number, month in enumerate(months):
        text = "nothing on" if number in (1, 3) else f"month {number}"
        site[month] = article(prose(text), months[number + 1 : number + 2])
    seen = crawl(spider, SIMHASH_TAKES=ITEMS).seen()
    assert seen == {f"{month} {language}" for month in months for language in ("en", "de")}
