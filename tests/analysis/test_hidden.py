"""Text that nobody sees: it is no text that a page shows, and no text that may be lost."""

from __future__ import annotations

import pytest

from scrapy_simhash.analysis.analyser import Analyser, PageAnalysis
from scrapy_simhash.analysis.content import content_of
from scrapy_simhash.analysis.events import MARK, is_hiding
from scrapy_simhash.analysis.extraction import NAMED
from scrapy_simhash.analysis.tree import parse, visible_blocks
from scrapy_simhash.decision.comparison import overlap
from scrapy_simhash.decision.sketch import HIDDEN
from tests.conftest import CrawlFixture, Site, article, prose
from tests.pages import samples_in

# Each hides what it is an attribute, or the whole element, of.
HIDING = [
    "<div hidden>{}</div>",
    '<div hidden="until-found">{}</div>',
    '<div style="display:none">{}</div>',
    '<div style="color:red; DISPLAY : none !important">{}</div>',
    '<div style="visibility: hidden">{}</div>',
    '<div style="opacity:0">{}</div>',
    '<div style="font-size:0px;color:red">{}</div>',
    '<div style="text-indent:-9999px">{}</div>',
    '<div style="position:absolute; left:-9999px">{}</div>',
    '<div style="position:absolute;/* x */top:-100.5em">{}</div>',
    '<div style="margin-left:-2000px">{}</div>',
    '<div style="transform: translateX(-9999px)">{}</div>',
    '<div style="position:absolute;clip:rect(0 0 0 0);width:1px">{}</div>',
    '<div style="clip-path: inset(50%)">{}</div>',
    '<div style="overflow:hidden;height:0">{}</div>',
    "<template>{}</template>",
    "<dialog>{}</dialog>",
    "<video>{}</video>",
    "<canvas>{}</canvas>",
]
SHOWN = [
    "<div>{}</div>",
    '<div aria-hidden="true">{}</div>',
    '<div style="display:block; visibility: visible">{}</div>',
    '<div style="opacity:0.5; font-size:0.9em">{}</div>',
    '<div style="margin-left:-15px; top:-3em; left:-50%">{}</div>',
    '<div style="overflow:hidden; height:200px">{}</div>',
    '<div style="clip-path: inset(5%)">{}</div>',
    '<div data-style="display:none" class="hidden">{}</div>',
    "<dialog open>{}</dialog>",
    "<details><summary>More</summary>{}</details>",
]


def texts(body: str) -> list[str]:
    """The blocks of a page."""
    page = f"<!DOCTYPE html><html><head></head><body>{body}</body></html>"
    tree = parse(page)
    assert tree is not None
    return [block.text for block in visible_blocks(tree)]


def marked(body: str) -> list[tuple[str, bool]]:
    """Each word of a page, and whether it has the mark of a hidden one."""
    return [(word.replace(MARK, ""), MARK in word) for word in " ".join(texts(body)).split()]


def sketch_of(page: PageAnalysis) -> bytes:
    assert page.content is not None
    return page.content.sketch


@pytest.mark.parametrize("html", HIDING)
def test_words_that_nobody_sees_are_other_words(html: str) -> None:
    body = html.format("one<p>two, <b>three</b>") + "four"
    found = dict(marked(body))
    assert [word for word, is_hidden in found.items() if is_hidden] == ["one", "two,", "three"]
    assert not found["four"]


@pytest.mark.parametrize("html", SHOWN)
def test_words_that_are_seen_are_not_marked(html: str) -> None:
    assert ("one", False) in marked(html.format("one"))


def test_within_a_line_only_what_is_hidden_is_marked() -> None:
    body = "<p>one <span hidden>two <!-- x -->three <i>four</i> five</span> six</p>"
    hidden = [word for word, is_hidden in marked(body) if is_hidden]
    assert hidden == ["two", "three", "four", "five"]


def test_what_scripts_hold_is_not_changed() -> None:
    tree = parse("<body><div hidden><script>a = 1</script><style>b</style>x</div>")
    assert tree is not None
    assert [tree.findtext(".//script"), tree.findtext(".//style")] == ["a = 1", "b"]


@pytest.mark.parametrize(
    "character", ["\x01", "\x0b", "\x1f", "\ufffe", "\uffff", "&#xd800;", "&#1;"]
)
def test_characters_that_are_in_no_xml_do_no_harm(character: str) -> None:
    hidden = [word for word, is_hidden in marked(f"<p hidden>one{character}two</p>") if is_hidden]
    assert "".join(hidden).replace("\ufffd", "") == "onetwo"


def test_a_long_style_is_read_in_little_time() -> None:
    assert not is_hiding("/*" * 200_000)
    assert not is_hiding("left:-" * 200_000)
    assert is_hiding("color:red;" * 200_000 + "display:none")


@pytest.mark.parametrize("html", HIDING)
@pytest.mark.parametrize("extractor", NAMED)
def test_hidden_text_never_makes_the_main_text_of_a_page_that_shows_it(
    extractor: str, html: str
) -> None:
    analyser = Analyser.create(extractor=extractor)
    text = f"<p>{prose('lamp', 200)}</p>"
    hiding = analyser.analyse(article(html.format(text)).encode(), "utf-8", "")
    showing = analyser.analyse(article(text).encode(), "utf-8", "")
    assert showing.tokens > 100
    assert hiding.digest != showing.digest
    if hiding.tokens:  # an extractor may leave hidden text out
        assert (hiding.fingerprint ^ showing.fingerprint).bit_count() > 7
    assert overlap(sketch_of(hiding), sketch_of(showing)).share == 0


@pytest.mark.parametrize("text", ["two-thirds of it, 3.5 => %s", "网页去重方法", "e\u0301te\u0301"])
def test_every_token_of_hidden_text_is_another_one(text: str) -> None:
    scheme = Analyser.create(features="words-1").scheme
    shown, hidden, nested = (
        " ".join(texts(html.format(text)))
        for html in ("<p>{}", "<p hidden>{}", '<div hidden><p hidden style="opacity:0">{}')
    )
    assert shown == text
    assert hidden == nested
    assert {word for word in hidden.split() if MARK not in word} == set()
    assert scheme.features(shown).keys().isdisjoint(scheme.features(hidden))


def test_hidden_blocks_are_no_template_of_shown_ones() -> None:
    tree = parse("<body><p>one word</p><div hidden><p>one word</p></div>")
    assert tree is not None
    shown, hidden = visible_blocks(tree)
    assert shown.id != hidden.id
    content = content_of([shown, hidden], {hidden.id})
    assert content == content_of([shown, hidden], {hidden.id, 1})
    assert content != content_of([shown, hidden])


def tabbed(hidden: str, attribute: str) -> str:
    """A page whose hidden tab is a ninth of its text."""
    return article(f"<p>{prose('shown', 400)}</p><p {attribute}>{prose(hidden, 50)}</p>")


@pytest.mark.parametrize("attribute", ["hidden", 'style="display:none"', 'style="left:-9999px"'])
@pytest.mark.parametrize("extractor", ["trafilatura", "resiliparse"])
def test_a_page_with_another_hidden_tab_is_kept(
    site: Site, crawl: CrawlFixture, attribute: str, extractor: str
) -> None:
    site["/"] = article(prose("start"), ["/red", "/blue", "/copy"])
    site["/red"], site["/blue"] = tabbed("red", attribute), tabbed("blue", attribute)
    site["/copy"] = tabbed("red", attribute)
    result = crawl(SIMHASH_EXTRACTOR=extractor)
    assert result.seen() == {"/", "/red", "/blue"}
    assert result.verdicts()["/copy"] == "exact_duplicate"


def test_the_same_main_text_excuses_no_other_hidden_text() -> None:
    analyser = Analyser.create(extractor="trafilatura")
    attribute = 'style="display:none"'
    pages = [analyser.analyse(tabbed(name, attribute).encode(), "utf-8", "") for name in "ab"]
    bare = analyser.analyse(article(f"<p>{prose('shown', 400)}</p>").encode(), "utf-8", "")
    assert pages[0].digest == pages[1].digest == bare.digest  # trafilatura leaves such text out
    one, two, none = map(sketch_of, (*pages, bare))
    assert 0.75 < overlap(one, two).share < 0.9
    assert not overlap(one, two).hidden_in_second
    assert not overlap(one, none).hidden_in_second
    assert overlap(none, one).hidden_in_second


def test_within_a_block_only_the_shingles_of_hidden_words_are_hidden() -> None:
    page = article(f"<p>{prose('shown', 60)} <i hidden>one</i> {prose('more', 60)}</p>")
    samples = samples_in(sketch_of(Analyser.create().analyse(page.encode(), "utf-8", "")))
    assert len(samples) > 100
    assert sum(value & HIDDEN for value in samples) == 3  # a word is in three shingles


@pytest.mark.parametrize("share", [0.9, 0])
@pytest.mark.parametrize("html", [HIDING[0], HIDING[8], HIDING[-4]])
def test_a_page_that_hides_the_text_of_another_does_not_take_its_place(
    site: Site, crawl: CrawlFixture, html: str, share: float
) -> None:
    text = f"<p>{prose('original', 200)}</p>"
    site["/"] = article(prose("start"), ["/thief", "/original", "/copy"])
    site["/thief"] = article(f"<p>Buy!</p>{html.format(text)}")
    site["/original"] = site["/copy"] = article(text)
    result = crawl(SIMHASH_SHARE=share)
    assert result.seen() == {"/", "/thief", "/original"}
