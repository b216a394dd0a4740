"""The walk over the nodes of libxml2 reads a page as the walk over lxml's elements does."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml.html import HtmlElement
from scrapy.http import HtmlResponse

from scrapy_simhash.analysis.reading import (
    BESIDE_NAMES,
    BESIDE_ROLES,
    MARK,
    MAX_REMEMBERED,
    NOTHING,
    Event,
    Walked,
)
from scrapy_simhash.analysis.tree import (
    compiled_walk,
    has_marks,
    hidden_in,
    is_hiding,
    parse,
    reference_walk,
    walk,
)

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
    "itemprop": st.sampled_from(["name", "sku", "x:sku name"]),
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
        patch.setattr("scrapy_simhash.analysis.tree.mark_hidden", lambda tree: None)
        tree = parse(html)
    assert tree is not None
    return tree


def joined(events: list[Event]) -> list[Event]:
    """Join texts that follow each other: one may come in several pieces."""
    found: list[Event] = []
    for event in events:
        if isinstance(event, str) and found and isinstance(found[-1], str):
            found[-1] += event
        else:
            found.append(event)
    return found


def both(tree: HtmlElement, with_events: bool = True) -> Walked:
    """Return what both walks read."""
    assert compiled_walk is not None
    one, two = compiled_walk.walk(tree, with_events), reference_walk(tree, with_events)
    one, two = (read._replace(events=joined(read.events)) for read in (one, two))
    assert one == two
    return one


def events_of(html: str) -> list[Event]:
    tree = parse(f"<html><body>{html}</body></html>")
    assert tree is not None
    return both(tree).events


@given(documents(), st.booleans())
@example("<html><main><nav>a</nav><aside>b</aside></main><p>c</html>", True)
@example("<html><aside role=main>a</aside><div class=ad><h1>b</h1></div></html>", True)
@example("<html><p>a<!-- x -->b<b></b>c<?y z?>d</p>e</html>", True)
def test_both_walks_read_the_same(html: str, with_events: bool) -> None:
    tree = parse(html)
    if tree is not None:
        events = both(tree, with_events).events
        assert with_events or not events


@given(documents())
def test_events_tell_the_whole_tree(html: str) -> None:
    """Each element with its attributes, its text, its children and its end, in order."""
    tree = parse(html)
    if tree is None:
        return

    def told(element: HtmlElement) -> Iterator[Event]:
        if isinstance(element.tag, str):
            yield element.tag, tuple(chain.from_iterable(element.items()))
            yield element.text or ""
            for child in element:
                yield from told(child)
            yield None
        yield element.tail or ""

    expected = [event for event in told(tree) if event != ""]
    assert both(tree).events == joined(expected)


@given(documents())
def test_both_find_the_same_hidden_elements_and_marks(html: str) -> None:
    assert compiled_walk is not None
    with pytest.MonkeyPatch.context() as monkeypatch:
        tree = unmarked(html, monkeypatch)
        assert compiled_walk.hidden_in(tree, is_hiding) == hidden_in(tree)
        found = has_marks(tree)
        monkeypatch.setattr("scrapy_simhash.analysis.tree.compiled_walk", None)
        assert has_marks(tree) == found


@given(documents(), documents())
@example("<html><p>x</p></html>", "<a href=/>y</a>")
def test_the_links_and_pictures_that_a_spider_selects_are_read(html: str, more: str) -> None:
    html += more.removeprefix("<html>")
    response = HtmlResponse("http://a.example/", body=html, encoding="utf-8")
    tree = parse(html)
    if tree is not None:
        elements = [event for event in walk(tree).events if isinstance(event, tuple)]
        read = Counter(
            (tag, *pair)
            for tag, attributes in elements
            for pair in zip(attributes[::2], attributes[1::2], strict=True)
        )
        for tag, name in (("a", "href"), ("img", "src")):
            selected = response.xpath(f"//{tag}/@{name}").getall()
            assert not Counter((tag, name, value) for value in selected) - read


@pytest.mark.parametrize("first", ["fingerprint", "reading"])
def test_the_compiled_walk_is_found_whichever_module_comes_first(first: str) -> None:
    code = (
        f"import sys, scrapy_simhash.analysis.{first}; import scrapy_simhash.analysis.tree as tree;"
        "sys.exit(tree.compiled_walk is None)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_walk_is_the_compiled_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = parse("<html><body><p>Some text.</body></html>")
    assert tree is not None
    assert walk(tree).blocks[0].text == "Some text."
    monkeypatch.setattr(compiled_walk, "walk", lambda tree, with_events: NOTHING)
    assert walk(tree) == NOTHING


def test_more_names_than_are_remembered() -> None:
    elements = [f'<x-{i} data-{i}="{i}" title="t">{i}</x-{i}><p>.' for i in range(3_000)]
    events = events_of("".join(elements))
    own = [one for one in events if isinstance(one, tuple) and one[0].startswith("x-")]
    assert own == [(f"x-{i}", (f"data-{i}", str(i), "title", "t")) for i in range(3_000)]


def test_pages_of_any_depth() -> None:
    html = f"<html><body>{'<i><b class=x>' * 100_000}text"
    tree = parse(html)
    assert tree is not None
    both(tree)


def test_an_outline_has_the_sections_that_hold_blocks_up_to_a_length_of_names() -> None:
    tree = parse(
        '<html><body><hr><div id=a class="b c"><p></p><p>One</p>Two'
        f"<div><br></div></div><div class='{'x' * 1_000}'>Three</div></body></html>"
    )
    assert tree is not None
    outline = both(tree).outline
    above = {names: outline.sections[at][1] for at, names in outline.sections[1:]}
    assert above == {
        "html  ": "",
        "body  ": "html  ",
        "div b c a": "body  ",
        "p  ": "div b c a",
        f"div {'x' * (MAX_REMEMBERED - 4)}": "body  ",
    }
    assert [outline.sections[at][1][:9] for at, _ in outline.places] == [
        *("p  ", "div b c a", "div xxxxx"),
    ]


def test_a_part_of_a_page_is_read_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (
        "<html><body><aside>A<p hidden>B<a href=/>C</a></p>D</aside>E<i hidden>F</i></body></html>"
    )
    part = unmarked(page, monkeypatch).find(".//aside")
    assert part is not None
    assert compiled_walk is not None
    blocks = compiled_walk.walk(part, True).blocks
    assert [block.text for block in blocks] == ["A", "BC", "D"]
    assert compiled_walk.hidden_in(part, is_hiding) == list(part.iterchildren("p"))
    assert not compiled_walk.has_text(part, b"E")
