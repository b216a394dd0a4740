"""Pages that are kept before the template of their site is settled are found under it, too."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from dataclasses import replace

import pytest

from scrapy_simhash.analysis.analyser import Analyser, Background
from scrapy_simhash.analysis.content import content_of, pack_source, unpack_source
from scrapy_simhash.analysis.tree import parse, visible_blocks
from scrapy_simhash.decision.page import Decision, Page, View, met_by
from scrapy_simhash.decision.sketch import sketch_of
from scrapy_simhash.decision.template import LASTING_PAGES
from scrapy_simhash.index.site_knowledge import EARLY_PAGES, EARLY_SECTIONS, Learned
from tests.indexes import Blocking, open_index, stored_nowhere
from tests.pages import UNIQUE, VERIFIED, page_with_content, with_values

FRAME = 1  # the block that all pages of the site have


@pytest.fixture
def index(place: str) -> Iterator[Blocking]:
    with open_index(place, VERIFIED) as opened:
        yield opened


def early_page(name: str = "early") -> Page:
    """A page that has another second view once the template is known: that of *later*."""
    first = page_with_content(name, range(1, 101), main_text=0xF0F0F0, content_fingerprint=0xFFFF)

    def view_under(template: Collection[int]) -> View | None:
        assert FRAME in template
        return View(later.content_fingerprint or 0, later.sketch or b"", None, later.holds)

    later = later_page(name)
    return replace(first, view_under=view_under)


def later_page(name: str) -> Page:
    """The page as it is analysed under the template."""
    return page_with_content(name, range(201, 261), main_text=0xABCDEF, content_fingerprint=0)


def settle(index: Blocking) -> None:
    """Judge as many pages as it takes until the template is settled."""
    for i in range(1, LASTING_PAGES + 5):
        fingerprint = i * 0x9E3779B97F4A7C15 % (1 << 64)
        other = page_with_content(
            f"p{i}",
            range(1000 * i, 1000 * i + 50),
            main_text=fingerprint,
            content_fingerprint=fingerprint,
        )
        assert index.check_and_add(other) == UNIQUE


def test_early_page_is_found_by_what_it_is_under_the_template(index: Blocking) -> None:
    index.check_and_add(early_page())
    copy = replace(later_page("copy"), blocks=(7,))
    assert index.check(copy) == UNIQUE
    settle(index)
    assert index.learned.template("site.example") == {FRAME}
    assert index.check(copy).representative == "http://site.example/early"


def test_early_page_is_seen_under_the_template_of_its_section() -> None:
    seen: list[Collection[int]] = []
    news = replace(early_page(), section="site.example/news", view_under=None)
    docs = replace(early_page("docs/early"), section="site.example/docs", view_under=seen.append)
    learned = Learned(0.9, stored_nowhere)

    async def learn(page: Page, count: int, *blocks: int) -> None:
        for i in range(count):
            one = replace(page, blocks=(*blocks, 1_000 * count + i))
            await learned.learn(one, Decision("unique", "new_text"))

    asyncio.run(learn(news, 6 * LASTING_PAGES, FRAME))
    asyncio.run(learn(docs, 2 * LASTING_PAGES - 1, FRAME, FRAME + 1))
    assert learned.repeated_blocks("site.example") == {FRAME}
    assert not list(learned.take_settled(docs))
    assert set(map(frozenset, seen)) == {frozenset({FRAME, FRAME + 1})}


def test_page_that_was_taken_back_stays_away(index: Blocking) -> None:
    early = early_page()
    decision = index.check_and_add(early)
    index.withdraw("", early.request_fingerprint, decision)
    settle(index)
    assert index.check(later_page("copy")) == UNIQUE


def test_page_that_was_forgotten_takes_no_place_of_another(index: Blocking) -> None:
    """The other has its content, and no crawl that goes on has met it."""
    early = replace(early_page(), met_by=met_by(1))
    index.check_and_add(early)
    index.forget([row.id for row in index.rows()])
    index.check_and_add(replace(later_page("other"), met_by=met_by(2)))
    settle(index)
    urls = {row.page.url.rpartition("/")[2] for row in index.rows()}
    assert "other" in urls
    assert "early" not in urls


def test_only_pages_without_a_template_bring_their_source() -> None:
    analyser = Analyser.create()
    page = b"<html><body><h1>Title</h1><p>Some words of a page.</p></body></html>"
    assert analyser.analyse(page, "utf-8", "").source is not None
    assert analyser.analyse(page, "utf-8", "", Background(frozenset({FRAME}))).source is None


def test_content_from_the_source_is_that_of_the_page() -> None:
    body = "<title>T</title><nav>menu</nav><h1>Title</h1><ul><li><a href=x>A link</a></ul><p>\u7f51"
    tree = parse(f"<html><body>{body}")
    assert tree is not None
    blocks = visible_blocks(tree)
    for template in ((), {blocks[1].id}, {block.id for block in blocks}):
        again, title, state = unpack_source(pack_source(blocks, "T", (1, b"2")))
        assert (title, state) == ("T", (1, b"2"))
        assert content_of(again, template, title) == content_of(blocks, template, "T")


def test_all_values_of_early_pages_are_known(index: Blocking) -> None:
    """Also if a page has more than are stored, and another has few of them."""
    shop = with_values(early_page("shop"), *range(1_500))
    few = with_values(replace(early_page("few"), view_under=None), *range(300))
    index.check_and_add(shop)
    assert index.check(few).is_duplicate
    assert index.check(with_values(few, *range(300), 1_500)).verdict == "variant"
    index.check_and_add(with_values(early_page("shop"), *range(1, 1_501)))
    assert index.check(few).verdict == "variant"


def test_early_pages_are_bounded() -> None:
    learned = Learned(0.9, stored_nowhere)
    for section in range(EARLY_SECTIONS + 3):
        for i in range(EARLY_PAGES + 3):
            learned.remember(replace(early_page(str(i)), section=f"site.example/{section}"))
    assert len(learned._early) == EARLY_SECTIONS
    assert {len(pages) for pages in learned._early.values()} == {EARLY_PAGES}


def framed(name: str, own: int, fingerprint: int) -> Page:
    """A page of which nearly all is the frame of its site."""
    shingles = {i * 0x9E3779B97F4A7C15 % (1 << 64): FRAME for i in range(1, 97)}
    shingles |= {i * 0x9E3779B97F4A7C15 % (1 << 64): own for i in range(1000 * own, 1000 * own + 4)}
    page = page_with_content(name, range(1), fingerprint, content_fingerprint=fingerprint)
    return replace(page, sketch=sketch_of(shingles), blocks=(FRAME, own))


def test_what_may_become_template_does_not_count_in_a_comparison(index: Blocking) -> None:
    assert index.check(framed("b", 3, 1)) == UNIQUE
    index.check_and_add(with_values(framed("a", 2, 0), 1))
    assert index.check(framed("b", 3, 1)).is_duplicate  # nothing is known of one page
    other = with_values(framed("other", 4, 0xFFFFFFFF), 2)
    assert index.check_and_add(other).is_kept
    assert index.learned.template("site.example") == frozenset()
    assert index.check(framed("b", 3, 1)) == UNIQUE


def test_pages_that_are_like_one_another_do_not_make_their_text_a_template(index: Blocking) -> None:
    settle(index)
    for i in range(3 * LASTING_PAGES):
        alike = replace(page_with_content(f"m{i}", range(500, 700), 1, 1), heading=i)
        alike = with_values(replace(alike, blocks=(FRAME, 9)), i)
        assert index.check_and_add(alike).verdict == ("variant" if i else "unique")
    assert index.learned.template("site.example") == {FRAME}
