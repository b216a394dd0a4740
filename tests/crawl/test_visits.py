"""Second visits tell what changes by itself, and cost little."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl import visits as module
from scrapy_simhash.crawl.visits import CALM, KeptPages
from scrapy_simhash.decision.cuts import WHOLE
from scrapy_simhash.decision.noise import AGREEING, STAYING
from scrapy_simhash.decision.page import Page
from scrapy_simhash.errors import AnalysisError
from scrapy_simhash.pipeline import Fetched
from scrapy_simhash.settings import ITEMS
from scrapy_simhash.settings import TEXT as TEXT_ALONE
from tests.conftest import Crawl, CrawlFixture, Reply, Site, article, path_of, prose
from tests.decision.test_noise import changed
from tests.indexes import open_index
from tests.pages import PARAMETERS, exact, page_with_content

TEXT = prose("the same text", 300)


def random_word(number: int, visit: int) -> str:
    """A word of this visit to a page, with nothing in it that stays."""
    return blake2b(f"{number} {visit}".encode(), digest_size=8).hexdigest()


def live(number: int) -> Callable[[int], str]:
    """A page with a text of its own that changes at each visit."""

    def page(visit: int) -> str:
        token = random_word(number, visit)
        noise = (
            f'<input type="hidden" name="csrf" value="{token}">'
            f'<script>var request = {{"id": "{token}"}};</script>'
            f'<aside class="ad"><a href="/ads/click/{token}"><img src="/ads/{token}.gif">'
            f'</a></aside><a href="/start?s={token}">x</a><a href="/help?s={token}">y</a>'
        )
        body = f'<p data-product="{number // 3}">{TEXT}</p>{noise}'
        return f"<html><head><title>Page</title></head><body><main>{body}</main></body></html>"

    return page


def served(site: Site, pages: int) -> None:
    names = [f"/page/{i}" for i in range(pages)]
    site["/"] = article(prose("start"), names)
    for i, name in enumerate(names):
        site[name] = live(i)


def asked_for_pages(site: Site) -> int:
    return sum(times for path, times in site.asked.items() if path.startswith("/page/"))


def one_by_one(crawl: CrawlFixture, **settings: Any) -> Crawl:
    return crawl(CONCURRENT_REQUESTS=1, SIMHASH_WORKERS=1, **{"SIMHASH_TAKES": ITEMS, **settings})


def test_what_changes_by_itself_makes_no_page_new(site: Site, crawl: CrawlFixture) -> None:
    served(site, 30)
    result = one_by_one(crawl)
    products = {int(path.rpartition("/")[2]) // 3 for path in result.seen() if "page" in path}
    assert products == set(range(10))
    # After the pages that agree, there are variants for the products alone: seldom is one visited.
    visits = result.stats["simhash/second_visits"]
    assert AGREEING <= visits <= AGREEING + 2 + 5  # to dropped pages
    assert result.stats["simhash/second_visits_compared"] == visits
    # Of 20 copies, those pass that are met before noise is known.
    assert len(result.seen()) <= 1 + 10 + AGREEING + 1
    assert asked_for_pages(site) == 30 + visits
    assert sum("/page/" in d["url"] for d in result.decisions) == 30


def topic(path: str) -> Callable[[int], str]:
    """A short page, of which a fifth says something else at each visit."""
    number = int(path.rpartition("/")[2])
    first = 1_000 * number + 100 * path.count("/")

    def page(visit: int) -> str:
        words = [random_word(first + i, visit) for i in range(18)]
        online = "".join(f"<li>{' '.join(words[i : i + 3])}</li>" for i in range(0, 18, 3))
        body = f"<h1>Topic {number}</h1><p>{prose(f'topic {number}', 80)}</p><ul>{online}</ul>"
        return f"<html><head><title>Topic</title></head><body><main>{body}</main></body></html>"

    return page


def test_short_pages_that_change_much_are_visited_though_they_are_like_no_other(
    site: Site, crawl: CrawlFixture
) -> None:
    copies = [f"{copy}/topic/{number}" for copy in ("", "/old") for number in range(40)]
    site["/"] = article(prose("start"), copies)
    for path in copies:
        site[path] = topic(path)
    result = one_by_one(crawl)
    topics = [path for path in result.seen() if "topic" in path]
    assert {path.rpartition("/")[2] for path in topics} == {str(number) for number in range(40)}
    assert result.stats["simhash/second_visits_compared"] >= AGREEING
    assert len(topics) <= 75


def with_offers(visit: int, number: int, copy: int, words: int = 100) -> str:
    """A short page, a third or more of which is offers that are others at each visit."""
    first = 10_000 * number + 1_000 * copy
    offers = (" ".join(random_word(first + 10 * i + j, visit) for j in range(8)) for i in range(3))
    cards = "".join(f'<div class="card"><b>{offer}</b></div>' for offer in offers)
    body = f"<h1>Thing {number}</h1><p>{prose(f'thing{number}x', words)}</p>{cards}"
    return f"<html><head><title>Thing</title></head><body><main>{body}</main></body></html>"


def test_a_page_with_the_path_of_another_is_visited_though_they_share_little(
    site: Site, crawl: CrawlFixture
) -> None:
    things = [f"/thing/{number}?from={copy}" for copy in range(3) for number in range(15)]
    site["/"] = article(prose("start"), things)
    for number in range(15):
        for copy in range(3):
            page = partial(with_offers, number=number, copy=copy)
            site[f"/thing/{number}?from={copy}"] = page
    result = one_by_one(crawl)
    assert result.stats["simhash/second_visits_compared"] >= AGREEING
    assert result.stats.get("simhash/dropped", 0) >= 10
    seen = {path.partition("?")[0] for path in result.seen()}
    assert seen == {"/", *(f"/thing/{number}" for number in range(15))}


def test_a_copy_finds_its_kept_page_though_most_of_both_is_noise(
    site: Site, crawl: CrawlFixture
) -> None:
    """By their names, what was kept before the noise was known; then by the rare values."""
    things = [f"/thing/{number}?from={copy}" for copy in range(2) for number in range(20)]
    site["/"] = article(prose("start"), things)
    for at, path in enumerate(things):
        site[path] = partial(with_offers, number=at % 20, copy=at // 20, words=50)
    result = one_by_one(crawl)
    assert result.stats.get("simhash/dropped", 0) >= 14
    seen = {path.partition("?")[0] for path in result.seen()}
    assert seen == {"/", *(f"/thing/{number}" for number in range(20))}


@pytest.mark.parametrize("heading", ["own", "of the site", "a wall's", "short"])
def test_under_a_heading_of_its_own_a_fifth_shows_that_it_is_the_page(
    site: Site, crawl: CrawlFixture, heading: str
) -> None:
    """Offers are longer than the page; a second visit shows a wall, or the beginning alone."""

    def thing(visit: int, number: int, copy: int) -> str:
        of = "Things" if heading == "of the site" else f"Thing {number}"
        page = with_offers(visit, number, copy, 80).replace(f"Thing {number}", of)
        is_short = heading == "short" and visit > 1
        rest = prose(random_word(number + 100 * copy, visit), 1 if is_short else 120)
        if heading == "a wall's" and visit > 1:
            return re.sub("<p>.*", f"<p>{prose('log in', 200)}</p></main></body></html>", page)
        return page.replace("</main>", f'<div class="card"><p>{rest}</p></div></main>')

    paths = [f"/thing/{number}?from={copy}" for copy in range(2) for number in range(10)]
    site["/"] = article(prose("start"), paths)
    for at, path in enumerate(paths):
        site[path] = partial(thing, number=at % 10, copy=at // 10)
    result = one_by_one(crawl)
    assert result.stats["simhash/second_visits"] >= AGREEING
    compared = result.stats.get("simhash/second_visits_compared", 0)
    assert compared >= AGREEING if heading == "own" else not compared


def test_a_calm_site_is_seldom_visited(site: Site, crawl: CrawlFixture) -> None:
    """Each section would be visited at its first pages that are like others."""
    paths = [f"/{section}{copy}/a" for section in "abcdefghij" for copy in range(3)]
    site["/"] = article(prose("start"), paths)
    for path in paths:
        site[path] = article(prose(path[1] * 9, 300) + f" The copy in {path}.")
    result = one_by_one(crawl)
    visits = result.stats["simhash/second_visits"]
    assert result.stats["simhash/second_visits_compared"] == visits
    assert 0 < visits <= CALM + 1


def test_of_the_links_of_a_text_a_session_does_not_count(site: Site, crawl: CrawlFixture) -> None:
    """Its address is known to be that of each visit, so links in it are those that were handed."""

    def page(number: int) -> Callable[[int], str]:
        def answer(visit: int) -> str:
            session = random_word(number, visit)
            links = (f'<a href="/a/{path}?s={session}">{path}</a>' for path in "xyz")
            text = prose(f"text {number % 3}", 300)  # one text on all would be a wall
            return f"<html><body><main><p>{text}</p>{''.join(links)}</main></body></html>"

        return answer

    names = [f"/page/{i}" for i in range(12)]
    site["/"] = article(prose("start"), names)
    for i, name in enumerate(names):
        site[name] = page(i)
    result = one_by_one(crawl, SIMHASH_TAKES=TEXT_ALONE)
    assert len(result.seen()) <= 1 + 3 + AGREEING


def test_a_link_that_is_another_one_at_each_visit_is_followed(
    site: Site, crawl: CrawlFixture
) -> None:
    """It is noise of the page that it is on, and the only way to the page that it leads to."""
    stories = [f"/story?id={number}" for number in range(40)]
    places = [f"/branch?n={number}" for number in range(40)]
    site["/"] = article(prose("start"), places)
    for number, (place, story) in enumerate(zip(places, stories, strict=True)):
        site[story] = article(prose(f"story{number}x"))
        site[place] = partial(with_story, number=number)
    result = one_by_one(crawl)
    assert {*stories} <= result.seen()
    assert result.stats["simhash/second_visits_compared"] >= AGREEING


def with_story(visit: int, number: int) -> str:
    story = number if visit == 1 else f"{number}{visit}"  # another one at each visit
    return informed(TEXT, f'<div class="today"><a href="/story?id={story}">Read this</a></div>')


def test_an_advertisement_longer_than_the_page_makes_no_page_new(
    site: Site, crawl: CrawlFixture
) -> None:
    def short(number: int) -> Callable[[int], str]:
        return lambda visit: (
            f"<html><body><main><p>{prose(f'product {number // 3}', 40)}</p>"
            f"<div class=ad><p>{prose(random_word(number, visit), 80)}</p></div>"
            "</main></body></html>"
        )

    names = [f"/page/{i}" for i in range(30)]
    site["/"] = article(prose("start"), names)
    for i, name in enumerate(names):
        site[name] = short(i)
    result = one_by_one(crawl)
    products = {int(path.rpartition("/")[2]) // 3 for path in result.seen() if "page" in path}
    assert products == set(range(10))
    # Of 20 copies, those pass that are met before the last second visit is compared.
    assert len(result.seen()) <= 1 + 10 + AGREEING + 1


def test_without_second_visits_everything_that_differs_is_new(
    site: Site, crawl: CrawlFixture
) -> None:
    served(site, 12)
    result = one_by_one(crawl, SIMHASH_PROBES=0)
    assert len(result.seen()) == 13
    assert "simhash/second_visits" not in result.stats


def test_big_pages_are_not_visited_again(site: Site, crawl: CrawlFixture) -> None:
    def big(number: int) -> Callable[[int], str]:
        return lambda visit: live(number)(visit) + " " * 1_000_000

    served(site, 6)
    for number in range(6):
        site[f"/page/{number}"] = big(number)
    result = one_by_one(crawl)
    assert len(result.seen()) == 1 + 6
    assert "simhash/second_visits" not in result.stats


def test_what_stays_is_not_learned_as_noise(site: Site, crawl: CrawlFixture) -> None:
    names = [f"/{i}" for i in range(12)]
    site["/"] = article(prose("start"), names)
    for name in names:
        site[name] = article(TEXT).replace("<p>", f'<p data-product="p{name}">')
    result = one_by_one(crawl)
    assert result.seen() == {"/", *names}
    # Nothing has been learned from the first, second, fourth and eighth of the variants.
    assert result.stats["simhash/second_visits_compared"] == 4


def test_what_does_not_change_at_each_visit_is_learned_from_more(
    site: Site, crawl: CrawlFixture
) -> None:
    def page(number: int) -> Callable[[int], str]:
        def answer(visit: int) -> str:
            cart = random_word(number, visit if number % 5 < 4 else 1)
            return article(TEXT).replace("<p>", f'<p data-of="{number // 4}" data-cart="{cart}">')

        return answer

    names = [f"/page/{i}" for i in range(40)]
    site["/"] = article(prose("start"), names)
    for i, name in enumerate(names):
        site[name] = page(i)
    result = one_by_one(crawl)
    products = {int(path.rpartition("/")[2]) // 4 for path in result.seen() if "page" in path}
    assert products == set(range(10))
    assert result.stats["simhash/dropped"] > 15
    assert result.stats["simhash/second_visits"] < 12


def test_what_was_learned_is_known_to_the_next_crawl(site: Site, crawl: CrawlFixture) -> None:
    served(site, 12)
    others = [f"/other/{i}" for i in range(30)]  # so that the text is not the site's template
    site["/"] = article(prose("start"), [*others, *(f"/page/{i}" for i in range(9))])
    for name in others:
        site[name] = article(prose(name))
    one_by_one(crawl, SIMHASH_INDEX="shared.simhash")
    site["/"] = article(prose("start"), [f"/page/{i}" for i in (9, 10, 11)])
    result = one_by_one(crawl, SIMHASH_INDEX="shared.simhash")
    now = {f"/page/{i}" for i in (9, 10, 11)}
    verdicts = [d["verdict"] for d in result.decisions if path_of(d["url"]) in now]
    assert verdicts[0] == "variant"
    assert set(verdicts[1:]) <= {"exact_duplicate", "near_duplicate"}


@pytest.mark.parametrize("second", ["other", "wall", "gone"])
def test_a_second_visit_that_shows_something_else_teaches_nothing(
    site: Site, crawl: CrawlFixture, second: str
) -> None:
    served(site, 4)
    site["/moved"] = article(prose("moved"))
    answers = {
        "other": Reply(article(prose("another text", 300))),
        "wall": Reply(status=302, headers={"Location": "/moved"}),
        "gone": Reply("gone", 404),
    }
    pages = [site.pages[f"/page/{i}"] for i in range(4)]

    def answer(number: int) -> Callable[[int], str]:
        def body(visit: int) -> str:
            site.pages[f"/page/{number}"] = answers[second]
            return live(number)(visit)

        return body

    for number in range(len(pages)):
        site[f"/page/{number}"] = answer(number)
    result = one_by_one(crawl, RETRY_ENABLED=False)
    assert result.seen() == {"/", *(f"/page/{i}" for i in range(4))}
    assert result.stats["simhash/second_visits"] == 3
    assert "simhash/second_visits_compared" not in result.stats
    assert "ERROR" not in result.log


def test_a_second_visit_obeys_robots_and_leaves_no_trace_in_the_feed(
    site: Site, crawl: CrawlFixture
) -> None:
    served(site, 6)
    result = one_by_one(crawl, HTTPCACHE_ENABLED=True)
    assert [path_of(d["url"]) for d in result.decisions].count("/page/1") == 1
    assert result.stats["simhash/second_visits"] == AGREEING + 1  # to one that is dropped
    assert max(site.asked.values()) == 2


def test_a_scheduler_on_disk_takes_second_visits(site: Site, crawl: CrawlFixture) -> None:
    served(site, 12)
    result = one_by_one(crawl, JOBDIR="job")
    assert result.stats["simhash/second_visits_compared"] >= 1
    assert "scheduler/unserializable" not in result.stats


def test_a_scheduler_that_refuses_second_visits_costs_no_page(
    site: Site, crawl: CrawlFixture
) -> None:
    served(site, 12)
    result = one_by_one(crawl, SCHEDULER="tests.spiders.RefusingScheduler")
    assert len(result.seen()) == 13
    assert "simhash/second_visits" not in result.stats
    assert "simhash/skipped/internal_error" not in result.stats


def with_token(number: int, text: str) -> Callable[[int], str]:
    """A page that says something else in one place at each visit."""

    def page(visit: int) -> str:
        token = f"<p>Your number is {random_word(number, visit)}, and no other.</p>"
        return f"<html><body><main><p>{text}</p>{token}</main></body></html>"

    return page


def test_copies_of_pages_that_were_kept_before_noise_was_known_are_dropped(
    site: Site, crawl: CrawlFixture
) -> None:
    """The kept page is read again without what changes by itself."""
    contents = 8
    first = [f"/page/{i}" for i in range(contents)]
    later = [f"/page/{i}?again" for i in range(contents)]
    copies = [f"/page/{i}?copy" for i in range(AGREEING)]
    site["/"] = article(prose("start"), [*first, *copies, *later])
    for i, name in enumerate((*first, *later)):
        site[name] = with_token(i, prose(f"content {i % contents}", 200))
    for i, name in enumerate(copies):
        site[name] = with_token(100 + i, prose(f"content {i}", 200))
    result = one_by_one(crawl)
    assert {*first} <= result.seen() <= {"/", *first, *copies}


def test_a_section_of_a_host_with_noise_is_visited_early(site: Site, crawl: CrawlFixture) -> None:
    """What is noise in one section is noise in another as soon as it changes there."""
    pages = [f"/old/{i}" for i in range(4 * AGREEING)]
    new = [f"/new/{i}" for i in range(8)]
    again = [f"{name}?again" for name in new]
    site["/"] = article(prose("start"), [*pages, *new, *again])
    for i, name in enumerate(pages):
        site[name] = with_token(i, prose(f"old {i // 2}", 200))
    for i, name in enumerate((*new, *again)):
        site[name] = with_token(200 + i, prose(f"new {i % len(new)}", 200))
    result = one_by_one(crawl)
    assert {*new} <= result.seen()
    assert not {*again} & result.seen()
    # A second visit to one that was kept, and to the first, second, fourth and eighth dropped.
    assert sum(times for path, times in site.asked.items() if path.startswith("/new")) == 16 + 5


def informed(text: str, info: str) -> str:
    main = f"<main><h1>{text[:30]}</h1><div class=info><b>{info}</b></div><p>{text}</p></main>"
    return f"<html><body>{main}</body></html>"


def counter(number: int, text: str) -> Callable[[int], str]:
    return lambda visit: informed(text, str(int(random_word(number, visit)[:5], 16)))


def test_dropped_pages_of_a_kind_are_visited_anew_once_something_else_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    number = 0
    monkeypatch.setattr(module, "ask_for_us", lambda *_: asked.append(number))
    crawler = get_crawler(Spider)
    index = open_index("memory:", PARAMETERS).index
    noises, visits = index.learned.noises, module.SecondVisits(crawler, index, probes=3)
    response = Response("http://site.example/w/1", body=b"1")
    for number in range(1, 100):
        if number in (1, 60):
            for _ in range(AGREEING):
                noises.learn("site.example", changed(number, WHOLE))
        page = replace(page_with_content(f"w/{number}", range(100)), section="site.example")
        visits.consider(Request(page.url), response, page, exact("w/0"))
    assert asked == [1, 2, 4, 8, 16, 32, *(59 + n for n in (1, 2, 4, 8, 16, 32))]


@pytest.mark.parametrize("between", ["?day=", "-"])
def test_noise_of_some_pages_may_be_a_field_of_others(
    site: Site, crawl: CrawlFixture, between: str
) -> None:
    """A counter of visitors, and a price in the same place.

    What was dropped for it is asked for again, but what is no more than a copy without it, too.
    """
    counters = [f"/w/{i}" for i in range(24)]
    copies = [f"/w/copy{i}" for i in range(12)]
    rooms = [f"/w/room{i}{between}{day}" for i in range(5) for day in range(8)]
    site["/"] = article(prose("start"), [*counters, *copies, *rooms])
    for i, name in enumerate(copies):
        site[name] = article(prose(f"copy {i // 4}", 100))
    for i, name in enumerate(counters):
        site[name] = counter(i, prose(f"page {i // 2}", 100))
    for i, name in enumerate(rooms):
        site[name] = informed(prose(f"room {i // 8}", 100), f"{30 + i} EUR")
    result = one_by_one(crawl)
    assert {*rooms} <= result.seen()
    # The first, second, fourth and eighth room that was dropped were visited again.
    assert STAYING <= result.stats["simhash/asked_again"] <= 4 * STAYING
    dropped = {name for name in copies if result.verdicts()[name] == "exact_duplicate"}
    assert len(dropped) == 9
    # The first, second, fourth and eighth were visited again.
    assert sum(site.asked[name] for name in dropped) == 9 + 4
    assert result.stats["simhash/dropped"] > 5


def test_a_session_parameter_is_left_out_where_several_links_carry_it(
    site: Site, crawl: CrawlFixture
) -> None:
    """Elsewhere, a parameter of that name may be what a page is about."""

    def page(number: int) -> Callable[[int], str]:
        def answer(visit: int) -> str:
            token = random_word(number, visit)
            links = f'<a href="/x/help?v={token}">help</a> <a href="/x/terms?v={token}">terms</a>'
            return informed(prose(f"page {number // 2}", 100), links)

        return answer

    pages = [f"/w/{i}" for i in range(20)]
    films = [f"/w/film{i}?from={part}" for i in range(5) for part in range(4)]
    site["/"] = article(prose("start"), [*pages, *films])
    for i, name in enumerate(pages):
        site[name] = page(i)
    for i, name in enumerate(films):
        site[name] = informed(prose(f"film {i // 4}", 100), f'<a href="/get?v={i}">Download</a>')
    result = one_by_one(crawl)
    assert {*films} <= result.seen()
    assert result.stats["simhash/dropped"] > 3


def test_kept_pages_are_bounded_and_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if one is forgotten, or others ask for it, while it is read."""
    monkeypatch.setattr(module, "MAX_KEPT", 4)
    read: list[str] = []

    async def store(fetched: Fetched, leads_on: bool) -> None:
        await asyncio.sleep(0)
        read.append(fetched.url)
        note(f"after {fetched.url}")
        if fetched.url == "4":
            raise AnalysisError("timed_out", "it takes too long")

    def note(name: str) -> None:
        page = page_with_content(name, range(100), main_text=7)
        fetched = Fetched(name, b"body", None, page.request_fingerprint)
        kept.note(fetched, page, leads_on=True)

    kept = KeptPages(store)
    for number in range(6):
        note(f"{number}")
    new = page_with_content("new", range(100), main_text=7)

    async def come(page: Page = new) -> None:
        await asyncio.gather(*(kept.read_again(page) for _ in range(3)))

    kept.note_noise({"elsewhere.example"})
    asyncio.run(come())
    assert read == []
    kept.note_noise({new.section})
    asyncio.run(come(replace(new, fingerprint=7 ^ 0xFF00)))
    assert read == []
    asyncio.run(come())
    assert read == ["2", "3", "4", "5"]


def test_a_kept_page_of_the_same_name_is_read_again_whatever_its_text() -> None:
    read: list[str] = []

    async def store(fetched: Fetched, leads_on: bool) -> None:
        read.append(fetched.url)

    kept = KeptPages(store)
    for name in ("thing/1", "thing/2", "other/1"):
        page = page_with_content(name, range(100), main_text=0xFF00)
        kept.note(Fetched(name, b"body", None, page.request_fingerprint), page, leads_on=True)
    kept.note_noise({page.section})
    new = page_with_content("new", range(100), main_text=7)
    asyncio.run(kept.read_again(replace(new, url="http://site.example/old/thing/1?ref=top")))
    assert read == ["thing/1"]


def test_kept_pages_are_read_at_once_and_once_more_after_another_lesson() -> None:
    read: list[str] = []
    under_way: list[int] = []

    async def store(fetched: Fetched, leads_on: bool) -> None:
        read.append(fetched.url)
        await asyncio.sleep(0.01)
        under_way.append(len(read))
        if len(read) == 2:
            kept.note_noise({new.section})

    kept = KeptPages(store)
    for name in "ab":
        page = page_with_content(name, range(100), main_text=7)
        kept.note(Fetched(name, b"body", None, page.request_fingerprint), page, leads_on=True)
    new = page_with_content("new", range(100), main_text=7)

    async def come() -> None:
        await asyncio.gather(kept.read_again(new), kept.read_again(new))

    kept.note_noise({new.section})
    asyncio.run(come())
    assert under_way == [2, 2]
    asyncio.run(kept.read_again(new))
    assert sorted(read) == ["a", "a", "b", "b"]
    asyncio.run(kept.read_again(new))
    assert len(read) == 4


def test_a_page_from_scrapys_cache_is_not_visited_again(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    """What differs now may have changed for good since the page was cached."""
    served(site, 8)
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
    one_by_one(crawl, SIMHASH_ENABLED=False, **cache)
    replayed = one_by_one(crawl, **cache)
    assert replayed.stats["httpcache/hit"] == replayed.stats["downloader/response_count"]
    assert "simhash/second_visits" not in replayed.stats
    assert asked_for_pages(site) == 8
