"""The walk over the nodes of libxml2 reads a page as the walk over lxml's elements does."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml.html import HtmlElement
from scrapy.http import HtmlResponse

from scrapy_simhash.analysis import extraction, hidden
from scrapy_simhash.analysis.attributes import IDENTIFIERS
from scrapy_simhash.analysis.elements import BESIDE_NAMES, BESIDE_ROLES
from scrapy_simhash.analysis.engine import compiled_walk
from scrapy_simhash.analysis.extraction import parse
from scrapy_simhash.analysis.hidden import MARK, hidden_in, is_hiding
from scrapy_simhash.analysis.reading import MAX_IDENTIFIER, NAMED_AROUND, Finding
from scrapy_simhash.analysis.walk import reference_walk, walk

if compiled_walk is None:
    pytest.skip("not compiled", allow_module_level=True)

TAGS = (
    *("a", "article", "aside", "audio", "b", "body", "br", "canvas", "dialog", "div", "footer"),
    *("form", "h1", "head", "header", "iframe", "img", "input", "li", "link", "main", "meta"),
    *("nav", "noscript", "p", "script", "section", "select", "span", "style", "svg", "table"),
    *("td", "template", "title", "ul", "video", "x-own", "fb:like"),
)
NAMES = st.lists(st.sampled_from(["own", "item 12", "has-menu", "é", *sorted(BESIDE_NAMES)[:5]]))
VALUES = {
    "class": NAMES.map(" ".join),
    "id": NAMES.map("-".join),
    "role": st.sampled_from([*sorted(BESIDE_ROLES), "main"]),
    "href": st.sampled_from(["/", "", "../x?y=1&amp;z=2", "#a", "é"]),
    "rel": st.sampled_from(["nofollow", "next", "prev nofollow"]),
    "style": st.sampled_from(["display:none", "color: red", "left: -9999px", "url(x.png)"]),
    "hidden": st.just(""),
    "open": st.just(""),
    "itemprop": st.sampled_from(["name", *sorted(IDENTIFIERS)[:3], "x:sku name"]),
    "content": st.sampled_from(["", "A 17", "é"]),
    "value": st.sampled_from(["", "B 18"]),
    "name": st.sampled_from(["", "field"]),
    "title": st.sampled_from(["A title", ""]),
    "data-x": st.sampled_from(["1", '{"a": [1, "x"]}']),
    "onclick": st.just("f('x')"),
    "xml:lang": st.just("en"),
    "src": st.sampled_from(["a.png", "data:x,y"]),
    "type": st.sampled_from(["application/json", "hidden"]),
}
ATTRIBUTES = st.lists(
    st.sampled_from(sorted(VALUES)).flatmap(lambda name: st.tuples(st.just(name), VALUES[name])),
    max_size=5,
)
TEXTS = st.sampled_from(
    [
        "",
        " ",
        "a b",
        " a\n\tb ",
        "\xa0",
        "é \u2003x",
        "&nbsp;&amp;",
        "字",
        "a" * 300,
        MARK,
        "&#28;x",
    ]
)
ELEMENTS = st.tuples(st.sampled_from(TAGS), ATTRIBUTES, TEXTS)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Return elements that are opened and closed in any order, with text between."""
    parts = ["<html>"]
    for tag, attributes, text in draw(st.lists(ELEMENTS, max_size=40)):
        written = "".join(f" {name}='{value}'" for name, value in attributes)
        parts.append(f"<{tag}{written}>{text}")
        if draw(st.booleans()):
            parts.append(f"</{tag}>{draw(TEXTS)}")
    return "".join(parts) + "</html>"


def unmarked(html: str, monkeypatch: pytest.MonkeyPatch) -> HtmlElement:
    with monkeypatch.context() as patch:
        patch.setattr(extraction, "mark_hidden", lambda tree: None)
        tree = parse(html)
    assert tree is not None
    return tree


def findings(html: str) -> list[Finding]:
    tree = parse(f"<html><body>{html}</body></html>")
    assert tree is not None
    assert compiled_walk is not None
    found: list[Finding] = compiled_walk.walk(tree, True)[1]
    assert found == reference_walk(tree, True)[1]
    return found


@given(documents(), st.booleans())
@example("<html><main><nav>a</nav><aside>b</aside></main><p>c</html>", True)
@example("<html><aside role=main>a</aside><div class=ad><h1>b</h1></div></html>", True)
def test_both_walks_read_the_same(html: str, with_findings: bool) -> None:
    tree = parse(html)
    if tree is not None:
        assert compiled_walk is not None
        blocks, found = compiled_walk.walk(tree, with_findings)
        assert (blocks, found) == reference_walk(tree, with_findings)
        assert all(type(one) is Finding for one in found)


@given(documents())
def test_both_find_the_same_hidden_elements_and_marks(html: str) -> None:
    assert compiled_walk is not None
    with pytest.MonkeyPatch.context() as monkeypatch:
        tree = unmarked(html, monkeypatch)
        assert compiled_walk.hidden_in(tree, is_hiding) == hidden_in(tree)
        found = hidden.has_marks(tree)
        monkeypatch.setattr(hidden, "compiled_walk", None)
        assert hidden.has_marks(tree) == found


@given(documents(), documents())
@example("<html><p>x</p></html>", "<a href=/>y</a>")
def test_the_links_and_pictures_that_a_spider_selects_are_read(html: str, more: str) -> None:
    html += more.removeprefix("<html>")
    response = HtmlResponse("http://a.example/", body=html, encoding="utf-8")
    tree = parse(html)
    if tree is not None:
        read = Counter((one.tag, one.name, one.value) for one in walk(tree)[1])
        for tag, name in (("a", "href"), ("img", "src")):
            selected = response.xpath(f"//{tag}/@{name}").getall()
            assert not Counter((tag, name, value) for value in selected) - read


def test_walk_is_the_compiled_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = parse("<html><body><p>Some text.</body></html>")
    assert tree is not None
    assert walk(tree)[0][0].text == "Some text."
    monkeypatch.setattr(compiled_walk, "walk", lambda tree, with_findings: ([], []))
    assert walk(tree) == ([], [])


def test_more_names_than_are_remembered() -> None:
    elements = [f'<x-{i} data-{i}="{i}" title="t">{i}</x-{i}><p>.' for i in range(3_000)]
    found = findings("".join(elements))
    assert [one.value for one in found[::2]] == [str(i) for i in range(3_000)]


def test_pages_of_any_depth() -> None:
    html = f"<html><body>{'<i><b class=x>' * 100_000}text"
    tree = parse(html)
    assert tree is not None
    assert compiled_walk is not None
    assert compiled_walk.walk(tree, True) == reference_walk(tree, True)


def test_what_an_identifier_says_is_cut() -> None:
    (sku, prop) = findings(f"<div itemprop=sku><p>é{'ab' * 200_000}<p>more</div>")
    assert (sku.kind, prop.kind) == ("identifier", "property")
    assert sku.aside == ("é" + "ab" * 200)[: MAX_IDENTIFIER + 1]


def test_only_the_nearest_names_are_around() -> None:
    boxes = "".join(f"<div class={name}>" for name in "abcdef")
    (link,) = findings(f"{boxes}<p><a href=/>x</a>")
    assert link.around == tuple(f"div {name}" for name in "def")
    assert len(link.around) == NAMED_AROUND


def test_a_part_of_a_page_is_read_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (
        "<html><body><aside>A<p hidden>B<a href=/>C</a></p>D</aside>E<i hidden>F</i></body></html>"
    )
    part = unmarked(page, monkeypatch).find(".//aside")
    assert part is not None
    assert compiled_walk is not None
    blocks, _ = compiled_walk.walk(part, True)
    assert [block.text for block in blocks] == ["A", "BC", "D"]
    assert compiled_walk.hidden_in(part, is_hiding) == list(part.iterchildren("p"))
    assert not compiled_walk.has_text(part, b"E")
