"""The walk over the nodes of libxml2 meets what the walk over lxml's elements does."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml.html import HtmlElement
from scrapy.http import HtmlResponse

from scrapy_simhash.analysis import blocks, events, values
from scrapy_simhash.analysis.blocks import Event, Walked, blocks_of
from scrapy_simhash.analysis.events import (
    BESIDE_NAMES,
    BESIDE_ROLES,
    KNOWN,
    MARK,
    MAX_REMEMBERED,
    Element,
    Text,
    element_of,
    text_of,
)
from scrapy_simhash.analysis.tree import (
    compiled_walk,
    mark_hidden,
    parse,
    reference_events,
    walk,
)
from scrapy_simhash.decision.cuts import (
    EVERYWHERE,
    NO_CUTS,
    WHOLE,
    Cut,
    Cuts,
    element_at,
)
from scrapy_simhash.decision.holdings import Addresses
from tests.pages import in_python

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


# An element, its end, code, and what there is of a text.
Met: TypeAlias = "str | tuple[object, ...] | None"


def told(events: list[Event]) -> list[Met]:
    """What was met, as values that can be compared."""
    return [
        (one.kind.name, one.attributes)
        if isinstance(one, Element)
        else (one.text, one.number, one.shown, one.size, one.begins_apart, one.ends_apart)
        if isinstance(one, Text)
        else one
        for one in events
    ]


def both(tree: HtmlElement) -> list[Event]:
    """Return what both walks meet."""
    assert compiled_walk is not None
    events: list[Event] = compiled_walk.events_of(tree)
    assert told(events) == told(reference_events(tree))
    return events


def walked(html: str) -> Walked:
    tree = parse(f"<html><body>{html}</body></html>")
    assert tree is not None
    return blocks_of(both(tree))


@given(documents())
@example("<html><main><nav>a</nav><aside>b</aside></main><p>c</html>")
@example("<html><aside role=main>a</aside><div class=ad><h1>b</h1></div></html>")
@example("<html><p>a<!-- x -->b<b></b>c<?y z?>d</p>e</html>")
@example("<html><p hidden>a<script>b</script>c<b>d</b></p>e<dialog>f</dialog></html>")
def test_both_walks_meet_the_same(html: str) -> None:
    tree = parse(html)
    if tree is not None:
        both(tree)


@given(documents())
def test_events_tell_the_whole_tree(html: str) -> None:
    """Each element with its attributes, its text, its children and its end, in order.

    Words that the page hides are marked as in a tree for an extractor that reads it.
    """
    tree, plain = parse(html), parse(html)
    if tree is None or plain is None:
        return
    is_marked = mark_hidden(tree)

    def expected(element: HtmlElement) -> Iterator[Event]:
        yield element_of(element.tag, tuple(chain.from_iterable(element.items())))
        yield element.text or ""
        for child in element:
            yield from expected(child)
            yield child.tail or ""
        yield None

    wanted: list[Event] = []
    codes: list[bool] = []
    for one in expected(tree):
        if isinstance(one, Element):
            codes.append(one.kind.is_code)
        elif one is None:
            codes.pop()
        elif one == "":
            continue
        elif isinstance(one, str) and not codes[-1]:
            one = text_of(one, is_hidden=False)
        wanted.append(one)
    assert told(both(plain)) == told(wanted)
    assert mark_hidden(plain) == is_marked


def test_a_block_is_what_is_between_two_block_level_elements() -> None:
    page = walked("A <b>B</b>C<i> D</i>\n E<p>F</p>G<br>H <script>x</script> <u>I</u><div> </div>J")
    assert [block.text for block in page.blocks] == ["A BC D E", "F", "G", "H I", "J"]
    assert [block.id for block in page.blocks] == [
        text_of(text, is_hidden=False).number for text in ("A BC D E", "F", "G", "H I", "J")
    ]


IN_BLOCKS, IN_EVENTS, IN_VALUES = in_python(blocks), in_python(events), in_python(values)


@given(documents(), st.booleans())
def test_compiled_and_python_read_the_same(html: str, is_cut: bool) -> None:
    tree = parse(html)
    if tree is None:
        return
    found = both(tree)
    assert blocks_of(found) == IN_BLOCKS.blocks_of(found)
    url, base = "http://a.example/b/c?y=1", "http://a.example/b/x/"
    atoms = values.atoms_of(found, url, base)
    assert atoms == IN_VALUES.atoms_of(found, url, base)
    cuts = NO_CUTS
    if is_cut:
        last_word: Cut = ("near", "", " ", 1)
        places = dict.fromkeys([*atoms][::2], (last_word,))
        places |= dict.fromkeys([*atoms][::5], (WHOLE,))
        cuts = Cuts(frozenset({"y"}), places, frozenset(map(element_at, places)))
    one = values.read_values(found, url, base, cuts)
    other = IN_VALUES.read_values(found, url, base, cuts)
    assert one.state() == other.state()
    template = frozenset(one.values(()).loose[::3])
    assert one.values(template) == other.values(template)
    assert one.values((), tell_all=True).told == other.values((), tell_all=True).told
    assert values.links_of(found, url, cuts) == IN_VALUES.links_of(found, url, cuts)


FIELDS = [name for name in vars(IN_EVENTS.Element("p", ())) if not name.startswith("_")]


@given(st.sampled_from(TAGS), ATTRIBUTES)
def test_an_element_is_the_same_compiled_and_in_python(
    tag: str, attributes: list[tuple[str, str]]
) -> None:
    held = tuple(chain.from_iterable(dict(attributes).items()))
    one, other = Element(tag, held), IN_EVENTS.Element(tag, held)
    one.read()
    other.read()
    for name in FIELDS:
        if name != "kind":
            assert getattr(one, name) == getattr(other, name), name
    kind = {name: getattr(one.kind, name) for name in vars(other.kind)}
    assert kind == vars(other.kind)


@given(documents(), documents())
@example("<html><p>x</p></html>", "<a href=/>y</a>")
def test_the_links_and_pictures_that_a_spider_selects_are_read(html: str, more: str) -> None:
    html += more.removeprefix("<html>")
    response = HtmlResponse("http://a.example/", body=html, encoding="utf-8")
    tree = parse(html)
    if tree is not None:
        elements = [event for event in walk(tree).events if isinstance(event, Element)]
        read = Counter((one.kind.name, *pair) for one in elements for pair in one.held().items())
        for tag, name in (("a", "href"), ("img", "src")):
            selected = response.xpath(f"//{tag}/@{name}").getall()
            assert not Counter((tag, name, value) for value in selected) - read


LINKS = '<p class=a><a href="/x">X</a> <a href="/y">Y</a></p>'
TEASER = f'{LINKS}<p class=b><a href="/read?id=17"><img src="/read.png?id=17"></a></p>'


def read_with(cut: Cut, html: str = TEASER) -> list[Addresses]:
    """The addresses on a page, where the links in paragraphs of one class are cut."""
    tree = parse(html)
    assert tree is not None
    url, found = "http://a.example/", both(tree)
    wide = {
        place
        for place, (atom, *_) in values.atoms_of(found, url, url).items()
        if atom.text.startswith("http://a.example/read")
    }
    places = dict.fromkeys(wide, (cut,))
    cuts = Cuts(places=places, elements=frozenset(map(element_at, wide)))
    return [
        module.read_values(found, url, url, cuts).values(()).addresses
        for module in (values, IN_VALUES)
    ]


def test_a_link_that_is_cut_may_lead_to_what_is_written() -> None:
    for found in read_with(("parameter", "id")):
        ((written, (left, place)),) = found.cut_links().items()
        assert (written, left) == ("http://a.example/read?id=17", "http://a.example/read")
        assert place
        assert "http://a.example/read.png" in found.texts
        assert {*found.of("link", "media")} == {"http://a.example/x", "http://a.example/y"}
    for found in read_with(WHOLE):
        assert [left for left, _ in found.cut_links().values()] == [""]


def test_a_link_in_a_box_that_shows_others_may_lead_to_what_is_written() -> None:
    tree = parse(TEASER)
    assert tree is not None
    url, found = "http://a.example/", both(tree)
    atoms = [atom for of in values.atoms_of(found, url, url).values() for atom in of]
    boxes = {box.wide for atom in atoms if "/read" in atom.text for box in atom.boxes}
    cuts = Cuts(places=dict.fromkeys(boxes, (WHOLE,)), elements=frozenset(map(element_at, boxes)))
    for module in (values, IN_VALUES):
        held = module.read_values(found, url, url, cuts).values(()).addresses
        assert "http://a.example/read?id=17" in held.cut_links()
        assert "http://a.example/read.png?id=17" not in held.of("link", "media")


@pytest.mark.parametrize(("more", "is_session"), [("", False), ("?id=17", True)])
def test_a_parameter_of_few_links_is_that_of_what_they_lead_to(more: str, is_session: bool) -> None:
    links = "".join(f'<a href="/{name}{more}">{name}</a>' for name in "uvwx")
    html = f'<p>{links}<a href="/read?id=17">A</a><a href="/talk?id=17">B</a></p>'
    tree = parse(html)
    assert tree is not None
    url, found = "http://a.example/", both(tree)
    for module in (values, IN_VALUES):
        reader = module.read_values(found, url, url, Cuts(frozenset({"id"})))
        held = reader.values(()).addresses
        expected = (
            {}
            if is_session
            else {
                f"http://a.example/{name}?id=17": (f"http://a.example/{name}", EVERYWHERE)
                for name in ("read", "talk")
            }
        )
        assert held.cut_links() == expected


@pytest.mark.parametrize("first", ["fingerprint", "events", "values"])
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
    monkeypatch.setattr(compiled_walk, "events_of", lambda tree: [])
    assert walk(tree) == Walked([], [], walk(tree).outline)


def test_more_elements_than_are_remembered() -> None:
    elements = [f'<x-{i} data-{i}="{i}" title="t">{i}</x-{i}><p>.' for i in range(KNOWN + 10)]
    events = walked("".join(elements)).events
    own = [
        (one.kind.name, one.attributes)
        for one in events
        if isinstance(one, Element) and one.kind.name.startswith("x-")
    ]
    assert own == [(f"x-{i}", (f"data-{i}", str(i), "title", "t")) for i in range(KNOWN + 10)]


def test_the_same_element_and_text_are_met_again() -> None:
    html = '<p class="a" title="">Oak</p><p class="a" title="">Oak</p>'
    first, second = (
        [one for one in walked(html).events if isinstance(one, (Element, Text))] for _ in range(2)
    )
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert first[2] is first[4]
    assert first[3] is first[5]


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
    outline = blocks_of(both(tree)).outline
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


def test_a_part_of_a_page_is_read_alone() -> None:
    tree = parse(
        "<html><body><aside>A<p hidden>B<a href=/>C</a></p>D</aside>E<i hidden>F</i></body></html>"
    )
    assert tree is not None
    blocks = blocks_of(both(tree.find(".//aside"))).blocks
    assert [block.text.replace(MARK, "") for block in blocks] == ["A", "BC", "D"]
    assert [MARK in block.text for block in blocks] == [False, True, False]
