"""The extractor "auto": which blocks the model chooses, by numbers that can be told beforehand."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given

from scrapy_simhash.analysis import main_blocks as built
from scrapy_simhash.analysis.blocks import LEAST_SHOWN, Block, Outline, Walked
from scrapy_simhash.analysis.main_blocks import (
    FEATURES,
    NAMES,
    TREES,
    WORDS,
    Chooser,
    main_blocks,
    read_names,
    weight_of_words,
    weights_by_slot,
)
from scrapy_simhash.analysis.tree import parse, walk
from tests.analysis.test_walk import documents
from tests.conftest import article, prose
from tests.pages import in_python


def walked(body: str) -> Walked:
    tree = parse(f"<html><head><title>Page</title></head><body>{body}</body></html>")
    assert tree is not None
    return walk(tree)


def texted(html: str) -> str:
    tree = parse(html)
    assert tree is not None
    blocks, _, outline = walk(tree)
    return "\n".join(block.text for block in main_blocks(blocks, outline))


def row_of(page: Walked, at: int) -> dict[str, float]:
    chooser = Chooser(page.blocks, page.outline)
    for before in range(at + 1):
        chooser.look_at(before)
    return dict(zip(FEATURES, chooser.row, strict=True))


def paragraphs(topic: str, count: int = 30) -> str:
    return "".join(f"<p>{prose(f'{topic}{i}x', 20)}.</p>" for i in range(count))


MENU = "".join(f'<li><a href="/{i}">Entry{i}</a></li>' for i in range(30))
FRAMES = [
    ("", ""),
    (f'<nav><ul class="menu">{MENU}</ul></nav>', "<footer><p>Copyright 2031 Example</p></footer>"),
    (
        '<header><div class="logo"><a href="/">Example</a></div></header>',
        f'<aside class="sidebar"><h3>Related</h3><ul>{MENU}</ul></aside>',
    ),
]


@pytest.mark.parametrize("frame", FRAMES, ids=range(len(FRAMES)))
def test_article_has_the_same_main_text_in_each_frame(frame: tuple[str, str]) -> None:
    content = f"<main><article><h1>A lamp</h1>{paragraphs('lamp')}</article></main>"
    page = f"<html><body>{frame[0]}{content}{frame[1]}</body></html>"
    text = texted(page)
    assert "lamp0x1" in text
    assert "lamp29x1" in text
    assert "Entry1" not in text
    assert "Copyright" not in text


def test_main_text_is_without_menus_and_advertisements() -> None:
    ad = f'<div class="ad">{prose("bargain", 20)}</div>'
    text = texted(article(prose("lamp", 400), ["/menu-entry"]).replace("<p>", f"{ad}<p>"))
    assert "lamp1" in text
    assert "menu-entry" not in text
    assert "bargain1" not in text


def test_page_with_any_text_has_a_main_text() -> None:
    assert texted("<html><body><nav><a href=/x>Home</a></nav></body></html>") == "Home"
    assert texted("<html><body></body></html>") == ""
    assert main_blocks([], Outline([], [])) == []


def test_page_that_shows_nothing_without_scripts_has_what_it_shows_then() -> None:
    thread = f"<noscript>{paragraphs('topic')}</noscript>"
    assert "topic1x1" in texted(f"<html><body>{thread}<div id=app></div></body></html>")
    page = walked(f"{thread}{paragraphs('lamp')}")
    assert not any("topic" in block.text for block in page.blocks)
    request = "Please enable JavaScript to use this page."
    assert len(request) < LEAST_SHOWN
    assert walked(f"<noscript>{request}</noscript>").blocks == []


def test_a_block_is_described_by_what_is_around_it() -> None:
    page = walked(
        f'<nav><a href="/">Home</a></nav><h1>A lamp</h1><article class="x-1"><p>{"a" * 60}.</p>'
        f'<p><a href="/b">{"b" * 30}</a>{"c" * 30}</p></article><p hidden>{"d" * 9}</p>'
    )
    first = row_of(page, 2)
    assert first["size"] == 61
    assert first["ends"]
    assert first["article"]
    assert not first["nav"]
    assert not first["beside"]
    assert first["from heading"] == 1
    assert first["links behind"] == 0.5
    assert first["long 2"] == 0.5  # a block that is half links is not long
    assert first["series"] == 2
    assert first["series mean"] == 60.5
    assert first["place"] == 10 / (4 + 6 + 61 + 60 + 11)
    assert row_of(page, 0)["beside"]
    assert row_of(page, 0)["links"] == 1
    assert row_of(page, 4)["hidden"]
    assert row_of(page, 4)["long before"] == 1


def test_a_text_that_is_said_again_is_known() -> None:
    page = walked("<p>One</p><p>Two</p><p>One</p>")
    assert [row_of(page, at)["again"] for at in range(3)] == [0, 0, 1]
    assert [row_of(page, at)["copies"] for at in range(3)] == [2, 1, 2]


def test_names_count_by_their_words_and_up_to_a_bound() -> None:
    weights = {"main": 1.0, "nav": -2.0, "footer": -5.0}
    assert read_names("div mainContent nav-12", weights)[2:5] == (-1.0, -2.0, 1.0)
    assert read_names("div nav footer", weights)[2:5] == (-6.0, -5.0, -2.0)
    assert read_names("div row-1", weights)[5] == read_names("div row-2", weights)[5]


def test_words_of_texts_count_each_time_in_both_cases() -> None:
    slots = weights_by_slot({"cookies": 14, "©": 9, "по": 5})
    assert weight_of_words("Cookies, cookies COOKIES ©", slots) == 14 + 14 + 9
    assert weight_of_words("cookie s", slots) == 0
    assert weight_of_words("", slots) == 0


def test_words_count_for_the_sections_around_them() -> None:
    notice = "<div><div>Cookies<p>Privacy</p></div>Oak</div>"
    page = walked(f"<div><div>{notice}Menu</div>Cart</div>{paragraphs('lamp', 1)}")
    row = row_of(page, 0)
    third = sum(WORDS[word] for word in ("cookies", "privacy", "menu"))
    assert row["words"] == WORDS["cookies"] > 0
    assert row["words 3"] == third / (7 + 7 + 3 + 4)
    assert row["words 4"] == (third + WORDS["cart"]) / (7 + 7 + 3 + 4 + 4)


def test_the_chosen_blocks_are_those_of_the_highest_expected_f1() -> None:
    page = walked("".join(f"<p>{'x' * (10 + i)}</p>" for i in range(8)))
    chooser = Chooser(page.blocks, page.outline)
    shares = [0.9, 0.1, 0.45, 0.3, 0.05, 0.6, 0.2, 0.4]
    for spot, share in zip(chooser.spots, shares, strict=True):
        spot.share = share
    sizes = [spot.size for spot in chooser.spots]
    total = sum(share * size for share, size in zip(shares, sizes, strict=True))

    def expected(least: float) -> float:
        taken = [(p, n) for p, n in zip(shares, sizes, strict=True) if p > least]
        size = sum(n for _, n in taken)
        return 2 * sum(p * n for p, n in taken) / (size + total)

    best = max([0.0, *shares[1:]], key=lambda least: expected(least) if least < 0.9 else 0.0)
    assert expected(chooser.threshold()) == expected(best)


def test_the_table_is_read_as_it_is_written() -> None:
    features, bounds, greater, roots = built._parsed("size<3 -1 links<0.5 2 3;\n4")
    assert list(features) == [FEATURES.index("size"), -1, FEATURES.index("links"), -1, -1, -1]
    assert list(bounds) == [3, -1, 0.5, 2, 3, 4]
    assert list(greater) == [2, 0, 4, 0, 0, 0]
    assert list(roots) == [0, 5]


def test_the_model_is_as_small_as_documented() -> None:
    trees = TREES.split(";")
    assert len(trees) <= 100
    assert max(len(tree.split()) for tree in trees) <= 15  # 8 leaves
    assert len(NAMES) <= 1_000
    assert len(WORDS) <= 300


IN_PYTHON = in_python(built)


@given(documents())
def test_compiled_and_python_choose_the_same(html: str) -> None:
    tree = parse(html)
    if tree is None:
        return
    blocks, _, outline = walk(tree)
    assert main_blocks(blocks, outline) == IN_PYTHON.main_blocks(blocks, outline)
    if blocks:
        one, two = Chooser(blocks, outline), IN_PYTHON.Chooser(blocks, outline)
        one.judge()
        two.judge()
        assert [spot.share for spot in one.spots] == [spot.share for spot in two.spots]


def test_huge_and_deep_pages_take_time_in_proportion() -> None:
    def seconds(count: int) -> float:
        blocks = [Block("A lamp", at, False, False) for at in range(count)]
        sections = [(-1, "")] + [(at, f"div {'x' * (at % 7)} a{at}") for at in range(count)]
        outline = Outline(sections, [(at + 1, 0.0) for at in range(count)])
        started = process_time()
        assert main_blocks(blocks, outline)
        return process_time() - started

    # What takes a square takes a hundred times as long each time; other processes disturb some.
    assert any(seconds(50_000) < 20 * seconds(5_000) for _ in range(10))
