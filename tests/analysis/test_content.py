"""The second view of a page: its content, its sketch, and the template of its site."""

from __future__ import annotations

import random
import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.analysis.content import Content, content_of, text_shingles
from scrapy_simhash.analysis.events import MAX_ADDRESS
from scrapy_simhash.analysis.tree import canonical_of, parse, title_of, visible_blocks
from scrapy_simhash.decision.comparison import MIN_SAMPLES, overlap
from scrapy_simhash.decision.sketch import is_sketch, keys, mark, sketch_of
from scrapy_simhash.decision.template import (
    LASTING_PAGES,
    MAX_BLOCKS,
    MAX_SITES,
    SAVE_PAGES,
    WINDOW_PAGES,
    Template,
    Templates,
)
from tests.pages import samples_in


def blocks(body: str) -> list[tuple[str, bool]]:
    """The text of each block of a page, and whether it is beside the content or only links."""
    tree = parse(f"<!DOCTYPE html><html><body>{body}</body></html>")
    assert tree is not None
    return [(block.text, block.is_beside or block.is_links) for block in visible_blocks(tree)]


def content(body: str, template: frozenset[int] = frozenset()) -> Content:
    tree = parse(f"<!DOCTYPE html><html><body>{body}</body></html>")
    assert tree is not None
    found = content_of(visible_blocks(tree), template)
    assert found is not None
    return found


def share(one: str, two: str) -> float:
    return overlap(content(one).sketch, content(two).sketch).share


def test_blocks_are_the_texts_of_block_elements() -> None:
    page = "<h1>Title</h1><p>One <b>bold</b>\n  word.</p>loose<ul><li>a<li>b</ul>tail<!-- no -->!"
    assert [text for text, _ in blocks(page)] == [
        "Title",
        "One bold word.",
        "loose",
        "a",
        "b",
        "tail!",
    ]


def test_what_nobody_sees_is_no_text() -> None:
    page = "<p>seen</p><script>x</script><style>y</style><noscript>z</noscript>!"
    assert [text for text, _ in blocks(page)] == ["seen", "!"]


@pytest.mark.parametrize(
    ("body", "beside"),
    [
        ("<p>text</p>", False),
        ("<li><a href=x>Next page</a></li>", True),
        ("<li><a href=x>previous</a> |</li>", True),
        ("<p>Read <a href=x>this</a> at once</p>", False),
        ("<nav><p>text</p></nav>", True),
        ("<header><p>text</p></header>", True),
        ("<article><header><h1>text</h1></header></article>", False),
        ("<main><aside>a note in the text</aside></main>", False),
        ("<footer>text</footer>", True),
        ("<div role=navigation>text</div>", True),
        ("<div class='box Side-Bar'>text</div>", True),
        ("<div class=site-footer><div><p>text</p></div></div>", True),
        ("<div id=top_bar>text</div>", True),
        ("<div class=advertisement>text</div>", True),
        ("<div class='admonition header'>text</div>", False),
        ("<p>text <span class=ad>offer</span></p>", False),
        ("<main><nav>text</nav></main>", True),
        ("<div class=sidebar>x</div><p>text</p>", False),
        ("<nav><script>x</script><br></nav><p>text</p>", False),
    ],
)
def test_what_is_beside_the_content(body: str, beside: bool) -> None:
    assert blocks(body)[-1][1] == beside


def test_pages_that_differ_beside_the_content_are_one() -> None:
    text = "".join(f"<p>Sentence number {i} of the text.</p>" for i in range(30))
    one = f"<header>Monday 12:03, visit 17</header><main>{text}</main><div class=ad>Shoes!</div>"
    two = f"<header>Friday 08:59, visit 4711</header><main>{text}</main><div class=ad>Loans!</div>"
    assert share(one, two) == 1
    assert content(one).fingerprint == content(two).fingerprint


def test_lists_of_links_are_told_apart_by_their_links() -> None:
    one, two = (
        f"<h1>Tag</h1><ul>{''.join(f'<li><a href=x>{w} story {i}</a>' for i in range(20))}</ul>"
        for w in ("sea", "land")
    )
    assert share(one, one) == 1
    assert share(one, two) < 0.4  # "story 1" at the end of a link is in both


def test_sidebar_of_a_list_of_links_does_not_count() -> None:
    links = "".join(f"<li><a href=x>Story number {i}</a>" for i in range(20))
    one = f"<div class=advertisement>Shoes, now for half the price!</div><ul>{links}</ul>"
    two = f"<div class=advertisement>Loans for everyone, ask us</div><ul>{links}</ul>"
    assert share(one, two) == 1
    assert share("<nav><p>A page</p></nav>", "<nav><p>Another page</p></nav>") == 0


@pytest.mark.parametrize(
    ("head", "address"),
    [
        ('<link rel="canonical" href="/page">', "/page"),
        ('<LINK REL="shortlink Canonical" HREF=" http://a.example/ ">', "http://a.example/"),
        ('<link rel="stylesheet" href="x"><link rel=canonical href=y>', "y"),
        ('<link rel="canonical">', None),
        (f'<link rel="canonical" href="/{"x" * MAX_ADDRESS}">', None),
        ('<link rel="alternate" href="/page">', None),
        ("", None),
    ],
)
def test_canonical_address_is_what_the_head_says(head: str, address: str | None) -> None:
    page = f"<!DOCTYPE html><html><head><title>T</title>{head}</head><body><p>text</body></html>"
    tree = parse(page)
    assert tree is not None
    assert canonical_of(tree) == address


def test_canonical_address_in_the_body_does_not_count() -> None:
    tree = parse('<html><body><p>text<link rel="canonical" href="/x"></p></body></html>')
    assert tree is not None
    assert canonical_of(tree) is None


def test_template_counts_for_nothing_unless_there_is_nothing_else() -> None:
    page = (
        "<p>The same on every page of this site.</p><p>Words of this page alone, and some more.</p>"
    )
    repeated = content("<p>The same on every page of this site.</p>").blocks
    own = content("<p>Words of this page alone, and some more.</p>")
    assert content(page, frozenset(repeated)).fingerprint == own.fingerprint
    wall = content("<p>The same on every page of this site.</p>", frozenset(repeated))
    assert wall.fingerprint == content("<p>The same on every page of this site.</p>").fingerprint


def test_pages_with_nothing_of_their_own_but_a_title_are_told_apart() -> None:
    def picture(title: str) -> Content:
        html = f"<title>{title}</title><nav>menu of the site</nav><img src=x><p>All rights kept</p>"
        tree = parse(f"<html>{html}</html>")
        assert tree is not None
        repeated = frozenset(content("<p>All rights kept</p><p>menu of the site</p>").blocks)
        found = content_of(visible_blocks(tree), repeated, title_of(tree))
        assert found is not None
        return found

    def common(one: str, two: str) -> float:
        marks = {mark(block) for block in picture(one).blocks}
        return overlap(picture(one).sketch, picture(two).sketch, marks).share

    assert common("Sunset 1", "Sunset 2") == 0
    assert common("Log in", "Log in") == 1


def test_page_without_text_has_no_content() -> None:
    tree = parse("<html><body><img src=x></body></html>")
    assert tree is not None
    assert content_of(visible_blocks(tree)) is None


def test_deep_and_long_pages_are_read() -> None:
    assert blocks("<div>" * 200 + "deep" + "</div>" * 200) == [("deep", False)]
    assert blocks("<div>" * 100_000 + "too deep for the parser") == []
    assert len(blocks("<p>x</p>" * 20_000)) == 20_000


def test_shingles_of_mixed_scripts() -> None:
    assert text_shingles("函数 print 输出") == ["函数pri", "数prin", "print", "rint输", "int输出"]
    assert text_shingles("one word 字 in an english line of text")[1] == "one word 字"
    assert text_shingles("字") == ["字"]


def test_each_word_of_a_block_has_its_shingle() -> None:
    for words in ("one", "one two", "one two three", "one two three four"):
        assert len(text_shingles(words)) == len(words.split())


def spread_out(shingles: range) -> bytes:
    """A sketch of shingles with hashes that are spread over 64 bits."""
    return sketch_of({i * 0x9E3779B97F4A7C15 % (1 << 64): 1 for i in shingles})


@given(st.integers(1, 400), st.integers(0, 400), st.integers(0, 400))
def test_share_is_near_the_true_one(common: int, only_a: int, only_b: int) -> None:
    a = spread_out(range(1, 1 + common + only_a))
    b = spread_out(range(1 + only_a, 1 + only_a + common + only_b))
    shared = overlap(a, b)
    true = common / (common + only_a + only_b)
    if a[0] and b[0]:
        assert shared.share == pytest.approx(true)
        assert shared.compared == common + only_a + only_b
        assert shared.first_in_second == (not only_a)
        assert shared.second_in_first == (not only_b)
    elif shared.compared >= MIN_SAMPLES:
        assert abs(shared.share - true) < 6 * (0.25 / shared.compared) ** 0.5


@given(st.integers(0, 300), st.integers(1, 300))
def test_sketch_holds_the_lowest_hashes_and_is_small(size: int, in_block: int) -> None:
    spread = [i * 0x9E3779B97F4A7C15 % (1 << 64) for i in range(1, 1 + size)]
    stored = sketch_of({value: 0xAB0000 + i // in_block for i, value in enumerate(spread)})
    assert is_sketch(stored)
    # One more shingle, in another block, takes six bytes.
    assert len(stored) <= 558
    assert stored[0] or len(stored) > 558 - 6
    assert keys(stored) == [value.to_bytes(8, "big")[3:] for value in sorted(spread)[:8]]
    blocks = samples_in(stored)
    lowest = sorted(spread)[: len(blocks)]
    assert blocks == {v >> 41 << 1: spread.index(v) // in_block for v in lowest}
    assert stored[0] == (len(blocks) == size)


def test_bytes_of_a_sketch() -> None:
    shingles = {0x0000040000000000: 0xA0001, 0x0000030000000001: 0xB0002, 0x07 << 40: 0xA0001}
    assert sketch_of(shingles, hidden={0x07 << 40}).hex(" ") == (
        "01 0e 00 00 00 00 01" + " 00 00 00 00 01" + " 00 00 00 00 00" * 7 + " 00 02 01 00 00 02"
        " 00 01 02 00 00 04 00 00 07"
    )


def test_template_is_left_out_of_a_comparison_on_both_sides() -> None:
    menu = {i << 44: 7 for i in range(1, 60)}
    a = sketch_of({**menu, **{i << 44 | 1 << 40: 1 for i in range(1, 10)}})
    b = sketch_of({**menu, **{i << 44 | 1 << 41: 2 for i in range(1, 10)}})
    assert overlap(a, b).share > 0.7
    assert overlap(a, b, {mark(7)}).share == 0
    alone = sketch_of(menu)
    assert overlap(alone, alone, {mark(7)}).share == 1


def test_too_few_samples_say_nothing() -> None:
    menu = {i << 32: 7 for i in range(1, 200)}
    page = sketch_of({**menu, **{i << 33 | 5: 1 for i in range(1, 10)}})
    assert not page[0]
    assert overlap(page, page, {mark(7)}).share == 0


def test_what_stands_on_page_after_page_becomes_template() -> None:
    template = Template()
    for page in range(40):
        template.learn([1, 2, 100 + page, *([3] if page % 4 == 0 else [])])
    assert template.blocks == {1, 2}


def test_first_pages_make_no_template() -> None:
    template = Template()
    while template.pages < LASTING_PAGES:
        assert not template.blocks
        template.learn([1])
    assert template.blocks == {1}


@given(st.lists(st.sets(st.integers(1, 12), max_size=6), max_size=LASTING_PAGES - 1))
def test_template_is_what_its_definition_says(pages: list[set[int]]) -> None:
    template = Template()
    for page in pages:
        template.learn(page)
    old = 1 - 1 / WINDOW_PAGES
    weights = [old**age for age in reversed(range(len(pages)))]
    n = sum(weights)
    counts = {b: sum(w for p, w in zip(pages, weights, strict=True) if b in p) for b in range(13)}
    limit = 0.3 * n + 2 * (0.3 * 0.7 * n) ** 0.5
    assert {b for b, c in counts.items() if c > limit * (1 + 1e-9)} <= template.likely_blocks
    assert template.likely_blocks <= {b for b, c in counts.items() if c > limit * (1 - 1e-9)}


@pytest.mark.parametrize("seed", range(10))
def test_template_stays_what_its_definition_says(seed: int) -> None:
    template, rng = Template(), random.Random(seed)
    old = 1 - 1 / WINDOW_PAGES
    n, counts, surely, perhaps = 0.0, dict.fromkeys(range(40), 0.0), set[int](), set[int]()
    for number in range(3 * LASTING_PAGES):
        era = 2 * number // LASTING_PAGES
        page = {block for block in counts if rng.random() < (block + 13 * era) % 40 / 40}
        template.learn([*page, *page])
        n = n * old + 1
        counts = {block: count * old + (block in page) for block, count in counts.items()}
        limit = 0.3 * n + 2 * (0.3 * 0.7 * n) ** 0.5
        above = {block for block, count in counts.items() if count > limit * (1 + 1e-9)}
        nearly = {block for block, count in counts.items() if count > limit * (1 - 1e-9)}
        assert surely | above <= template.likely_blocks <= perhaps | nearly
        if n >= LASTING_PAGES:
            surely |= above
            perhaps |= nearly


def test_block_at_the_threshold_is_in_doubt_and_left() -> None:
    template = Template()
    rng = random.Random(1)
    for page in range(300):
        template.learn([page + 100, *([1] if rng.random() < 0.25 else [2])])
        assert 1 not in template.blocks or page < LASTING_PAGES
    assert template.blocks == {2}


def test_new_template_is_learned_and_the_old_one_stays() -> None:
    template = Template()
    for era in (1, 2):
        for page in range(400):
            template.learn([era, 1000 * era + page])
    assert template.blocks == {1, 2}


def test_template_survives_its_bytes() -> None:
    template = Template()
    for page in range(50):
        template.learn([1, 100 + page, *([2] if page % 2 else [])])
    again = Template.from_bytes(template.to_bytes())
    assert again.blocks == template.blocks == {1, 2}
    for _ in range(60):
        again.learn([3])
        template.learn([3])
    assert again.blocks == template.blocks == {1, 2, 3}


def test_memory_is_bounded() -> None:
    template = Template()
    for page in range(2 * MAX_BLOCKS // 100):
        template.learn([1, *range(page * 100 + 1000, page * 100 + 1100)])
    assert len(template._recent) + len(template._earlier) <= MAX_BLOCKS + 200
    assert template.blocks == {1}


def test_least_used_sites_are_forgotten() -> None:
    templates = Templates()
    for site in range(MAX_SITES + 5):
        templates.learn(f"site{site}.example", [1])
    assert len(templates._learned) == MAX_SITES
    assert len(templates.take_changed()) == MAX_SITES
    assert not templates.take_changed()


def test_only_what_changed_is_stored_anew() -> None:
    templates = Templates()
    for _ in range(5):
        templates.learn("a.example", [1])
        templates.learn("b.example", [2])
    stored = {site: templates.merged(site, None) for site in templates.take_changed()}
    templates.learn("b.example", [3])
    assert templates.take_changed() == ["b.example"]
    again = Templates()
    again.restore("a.example", stored["a.example"])
    assert again.blocks("b.example") == frozenset()


def test_template_is_due_to_be_stored_when_much_was_learned() -> None:
    templates = Templates()
    due = []
    for page in range(300):
        templates.learn("site", {1, 1000 + page})
        if templates.take_due("site"):
            due.append(page)
    assert due[0] == SAVE_PAGES * 2 - 1
    gaps = [later - earlier for earlier, later in pairwise(due)]
    assert len(gaps) >= 3
    assert gaps == sorted(gaps)
    assert gaps[-1] <= SAVE_PAGES + WINDOW_PAGES / 2
    assert not templates.take_due("other")


@pytest.mark.parametrize("stored", [b"", b"abc", struct.pack(">f", -1.0), b"\x00" * 10])
def test_template_that_is_damaged_is_refused(stored: bytes) -> None:
    with pytest.raises(ValueError, match="no template"):
        Templates().restore("site", stored)
