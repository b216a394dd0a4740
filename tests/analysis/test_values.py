"""Everything on a page counts: what is new on it beside another page, and what never is."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from scrapy_simhash.analysis import events
from scrapy_simhash.analysis import values as module
from scrapy_simhash.analysis.own_values import values_under
from scrapy_simhash.analysis.tree import canonical_of, decode, parse, walk
from scrapy_simhash.analysis.values import (
    MOST_TOLD,
    Reader,
    base_of,
    links_of,
    read_values,
)
from scrapy_simhash.decision.holdings import (
    LESS,
    MAX_BYTES,
    NO_VALUES,
    Comparable,
    PageValues,
    Told,
)
from scrapy_simhash.hashes import difference, hash_of, pack_table
from scrapy_simhash.urls import section_of

KEPT = "http://shop.example/bench"
URL = "http://shop.example/print"

# Over 60 bytes each, so they count wherever they stand.
LONG = "A bench of oak for two, made by hand in the north, with a back and two arms of iron."
OTHER_LONG = "It is delivered within two weeks, to any address in the country, and without a fee."


def document(body: str, head: str = "") -> str:
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"


def page(inside: str) -> str:
    """A page with a heading and a long text before what a test is about."""
    return f"<main><h1>Bench</h1><p>{LONG}</p>{inside}</main>"


def reader(html: str, url: str = URL) -> Reader:
    tree = parse(decode((html if "<html" in html else document(html)).encode(), "utf-8"))
    assert tree is not None
    base, canonical = base_of(tree, url), canonical_of(tree)
    return read_values(walk(tree).events, url, base, canonical=canonical)


def read(html: str, url: str = URL, template: Collection[int] = ()) -> PageValues:
    return reader(html, url).values(template, tell_all=True)


def beside(
    kept: PageValues, own: PageValues, kept_url: str = KEPT, url: str = URL
) -> list[int] | None:
    """The ids of what a page has that a kept one has not."""
    section = section_of(url)
    return Comparable(url, own, own.pack(), section).new_beside(kept_url, kept.pack(), section)


def new(
    first: str,
    second: str,
    url: str = URL,
    kept_url: str = KEPT,
    template: Collection[int] = (),
) -> list[Told]:
    """What the second page has that the first, which is kept, has not."""
    own = read(second, url, template)
    found = beside(read(first, kept_url, template), own, kept_url, url)
    assert found is not None
    return [own.told[value] for value in found]


def repeated(*pages: str) -> set[int]:
    """What all pages of a section have."""
    found = [read(html) for html in pages]
    return set.intersection(*({*one.loose, *one.shapes} for one in found))


# What counts ------------------------------------------------------------------------------------

# Each with the two values of a place: "{}" is one of them.
PLACES = {
    "class": '<p class="{}">Monday</p>',
    "class of a div": '<div class="{}"><p>Monday</p></div>',
    "class of a long text": f'<p class="{{}}">{LONG}</p>',
    "vue prop": '<app-offer :product-id="{}"></app-offer>',
    "vue event": '<button @click="buy({})">Buy</button>',
    "hx-get": '<div hx-get="/parts/{}"></div>',
    "hx-vals": """<button hx-vals='{{"n": "{}"}}'>Buy</button>""",
    "ng-init": '<div ng-init="offer = {}"></div>',
    "x-data": '<div x-data="{{n: {}}}"></div>',
    "wire": '<div wire:snapshot="{}">Offer</div>',
    "tel": '<a href="tel:+49{}">Call</a>',
    "mailto": '<a href="mailto:{}@shop.example">Write</a>',
    "javascript": '<a href="javascript:open({})">Open</a>',
    "magnet": '<a href="magnet:?xt=urn:btih:{}">Load</a>',
    "onclick": '<a href="#" onclick="open({})">Open</a>',
    "hash route": '<a href="#/offer/{}">Open</a>',
    "hashbang route": '<a href="#!offer/{}">Open</a>',
    "link": '<a href="/offer/{}">Open</a>',
    "hash route of a page": '<a href="/app#/offer/{}">Open</a>',
    "map": '<a href="https://maps.example/#map=15/{}">Map</a>',
    "page of a file": '<a href="/guide.pdf#page={}">Page</a>',
    "star of a sprite": '<svg><use href="/icons.svg#star-{}"></use></svg>',
    "flag of a sprite": '<img src="/flags.svg#{}">',
    "colspan": '<table><tr><td colspan="{}">Monday</td></tr></table>',
    "style": '<i style="width: {}%"></i>',
    "style address": '<i style="background: url(/i/{}.png)"></i>',
    "style element address": "<style>.a {{ background: url(/i/{}.png) }}</style>",
    "custom element": '<three-d-model src="/model/{}"></three-d-model>',
    "data": '<span data-stock="{}">Stock</span>',
    "aria-label": '<span aria-label="{} of 5"></span>',
    "title": '<abbr title="{}">BN</abbr>',
    "alt": '<img src="/i.png" alt="{}">',
    "img": '<img src="/i/{}.png">',
    "srcset": '<img srcset="/s/{}.png 1x, /l.png 2x">',
    "spaces in srcset": '<img srcset="/my pictures {}.png 1x, /l.png 2x">',
    "another scheme in srcset": '<img srcset="ipfs://{} 1x, ipfs://l 2x">',
    "another scheme in ping": '<a href="/l" ping="/p ipfs://{}">l</a>',
    "second of srcset": '<img srcset="/s.png 1x, /l/{}.png 2x">',
    "inline picture": '<img src="data:image/png;base64,{}">',
    "iframe": '<iframe src="https://maps.example/{}"></iframe>',
    "source": '<video poster="/p.png"><source src="/v/{}.mp4"></video>',
    "poster": '<video poster="/p/{}.png"></video>',
    "object": '<object data="/o/{}.pdf"></object>',
    "action": '<form action="/cart/{}" method="post"><button>Buy</button></form>',
    "datetime": '<time datetime="2026-01-{}">January</time>',
    "value": '<input type="hidden" name="sku" value="{}">',
    "name": '<input name="field-{}">',
    "max": '<input type="number" max="{}">',
    "meter": '<meter value="{}" max="5"></meter>',
    "option value": '<select><option value="{}">Oak</option></select>',
    "option text": "<select><option>Oak {}</option></select>",
    "textarea": "<textarea>{}</textarea>",
    "svg path": '<svg><path d="M0 0 L{} 4"></path></svg>',
    "svg text": "<svg><text>{}</text></svg>",
    "math": "<math><mi>x</mi><mo>=</mo><mn>{}</mn></math>",
    "noscript": "<noscript>{} offers</noscript>",
    "srcdoc": '<iframe srcdoc="<p>{}</p>"></iframe>',
    "template": "<template><p>{}</p></template>",
    "script src": '<script src="/offer/{}.js"></script>',
    "script": "<script>var stock = {};</script>",
    "script string": "<script>start('{}')</script>",
    "script address": """<script>load("https://api.example/{}")</script>""",
    "json": '<script type="application/json">{{"stock": {}}}</script>',
    "json-ld": """<script type="application/ld+json">{{"price": "{}"}}</script>""",
    "json-ld address": """<script type="application/ld+json">{{"image": "/i/{}.png"}}</script>""",
    "inline text": "<p>for <b>{}</b> EUR</p>",
    "text": "<p>for {} EUR</p>",
    "long text": f"<p>{LONG} For {{}} EUR.</p>",
    "loose text": "for {} EUR",
    "microdata": '<span itemprop="sku" content="{}"></span>',
    "lang": '<p lang="{}">Taxi</p>',
    "download": '<a href="/f.pdf" download="{}.pdf">Load</a>',
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("around", [page, str], ids=["page", "alone"])
def test_a_value_in_any_place_is_new(place: str, around: Callable[[str], str]) -> None:
    one, other = around(place.format(17)), around(place.format(23))
    assert new(one, other)
    assert new(other, one)
    assert not new(one, one)


HEADS = [
    "<title>Bench {}</title>",
    '<meta name="description" content="{}">',
    '<meta property="og:price" content="{}">',
    '<meta http-equiv="refresh" content="{}">',
    '<link rel="preload" href="/picture/{}.png" as="image">',
    '<link rel="alternate" type="application/json" href="/api/{}">',
    "<script>var id = {}</script>",
]


@pytest.mark.parametrize("head", HEADS)
def test_a_value_in_the_head_is_new(head: str) -> None:
    one, other = (document(page(""), head.format(n)) for n in (17, 23))
    assert new(one, other)


FLAGS = {
    "disabled": "<button{}>Buy</button>",
    "checked": '<input type="checkbox" name="gift"{}>',
    "selected": '<select name="size"><option{}>42</option></select>',
    "hidden": "<p{}>sold out</p>",
    "open": "<details{}><summary>Stock</summary></details>",
    "required": '<input name="size"{}>',
    "readonly": "<textarea{}>as it is</textarea>",
    "controls": '<video src="/v.mp4"{}></video>',
}


@pytest.mark.parametrize(("name", "place"), FLAGS.items(), ids=FLAGS)
def test_a_flag_is_new_if_it_is_there_and_if_it_is_missing(name: str, place: str) -> None:
    with_flag, without = page(place.format(f" {name}")), page(place.format(""))
    assert new(without, with_flag)
    assert new(with_flag, without)


def test_what_is_told_says_kind_place_and_value() -> None:
    one = page('<div class="offer"><p class="price">39 EUR</p></div>')
    other = page('<div class="offer"><p class="price">35 EUR</p></div>')
    found = new(one, other)[0]
    assert (found.kind, found.place) == ("text", "main")
    assert "35 EUR" in found.text


def test_what_follows_a_new_value_is_not_told_before_it() -> None:
    facts = ["In stock", "Delivered in two days", "Free returns", "Made of oak", "Two seats"]
    after = "".join(f"<p>{fact}</p>" for fact in facts)
    one, other = (page(f"<p>{price} EUR</p>{after}") for price in (39, 35))
    assert "35 EUR" in new(one, other)[0].text


@pytest.mark.parametrize(
    ("inside", "kind"),
    [
        ('<p>A bench <a href="/{}">here</a></p>', "link"),
        ('<p><img src="/{}.png"></p>', "media"),
        ("<script>var n = {}</script>", "data"),
        (f'<section data-n="{{}}"><p>{LONG}</p></section>', "element"),
        ("<p>{}</p>", "text"),
    ],
)
def test_the_kind_of_what_is_new(inside: str, kind: str) -> None:
    found = {one.kind for one in new(page(inside.format(1)), page(inside.format(2)))}
    assert found - {"end"} == {kind}


def test_where_a_page_has_less_than_the_kept_one_is_told() -> None:
    less, more = (page(f"<h2>Seat</h2><p>A1</p>{end}") for end in ("", "<p>taken</p>"))
    assert new(more, less, template=read(more).loose) == [Told("end", "main", LESS)]


def test_what_follows_something_of_the_page_is_told_though_its_section_repeats_it() -> None:
    one, other = (page(f"<p>Of {wood}. {LONG}</p><p>In stock</p>") for wood in ("oak", "ash"))
    values = reader(other).values(repeated(one, other))
    assert {values.told[value].text for value in values.chained} == {"In stock", LESS}


# What never counts ------------------------------------------------------------------------------

NEVER = {
    "id": '<p id="{}">Monday</p>',
    "for": '<label for="{}">Size</label>',
    "headers": '<table><tr><td headers="{}">Monday</td></tr></table>',
    "nonce": '<script nonce="{}">var a = 1</script>',
    "integrity": '<script src="/a.js" integrity="{}"></script>',
    "aria-labelledby": '<section aria-labelledby="{}"><p>Monday</p></section>',
    "aria-describedby": '<input aria-describedby="{}">',
    "aria-controls": '<button aria-controls="{}">More</button>',
    "name of an anchor": '<a name="{}">Monday</a>',
    "fragment": '<a href="#{}">Monday</a>',
    "fragment of a page": '<a href="/other#{}">Monday</a>',
    "comment": "<p>Mon<!-- {} -->day</p>",
    "style": "<style>.a {{ width: {}px }}</style>",
}


@pytest.mark.parametrize("place", NEVER.values(), ids=NEVER)
@pytest.mark.parametrize("around", [page, str], ids=["page", "alone"])
def test_what_never_counts_is_not_new(place: str, around: Callable[[str], str]) -> None:
    one, other = around(place.format("a17")), around(place.format("b23"))
    assert not new(one, other)
    assert not new(other, one)


def test_spaces_between_words_never_count() -> None:
    assert not new("<p>Oak  and\n iron</p>", "<p>Oak and iron </p>")


@pytest.mark.parametrize("space", ["&nbsp;", "\u2003", "\u3000"])
@pytest.mark.parametrize("count", [2, 3, 5])
def test_several_spaces_of_other_widths_count_where_there_is_nothing_else(
    space: str, count: int
) -> None:
    bar = "<p>yes <b class=bar>{}</b></p><td>{}</td>"
    one, other = (page(bar.format(n * space, n * space)) for n in (count, count + 1))
    assert new(one, other)
    assert new(other, one)
    assert not new(one, one.replace("bar>", "bar>\n "))


def test_spaces_in_pre_count_where_it_names_its_page() -> None:
    assert new(f"<pre># ##\n{KEPT}</pre>", f"<pre>## #\n{URL}</pre>")
    assert new(f"<pre>#  # {KEPT}</pre>", f"<pre># # {URL}</pre>")
    assert not new(f"<pre># ##\n{KEPT}</pre>", f"<pre># ##\n{URL}</pre>")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A+", "A-"),
        ("oak", "Oak"),
        ("39.00", "3900"),
        ("yes", "yes!"),
        ("€ 5", "$ 5"),
        ("☆", "★"),
        ("no one", "noone"),
        ("5 m²", "5 m2"),
    ],
)
@pytest.mark.parametrize(
    "place", ["<p>{}</p>", '<p class="{}">x</p>', "<script>a('{}')</script>", f"<p>{LONG} {{}}</p>"]
)
def test_symbols_and_case_count(place: str, one: str, other: str) -> None:
    assert new(page(place.format(one)), page(place.format(other)))
    assert new(page(place.format(other)), page(place.format(one)))


# Records ----------------------------------------------------------------------------------------

BADGED = {
    "table row": "<table><tr><td>12 May</td>{}</tr><tr><td>13 May</td></tr></table>",
    "table cell": "<table><tr><td>12 May {}</td></tr><tr><td>13 May</td></tr></table>",
    "list item": "<ul><li>Room 1 {}</li><li>Room 2</li></ul>",
    "div": "<div><div>Room 1 {}</div><div>Room 2</div></div>",
    "long list item": f"<ul><li>{OTHER_LONG} {{}}</li><li>Room 2</li></ul>",
    "long card": f"<div><div><h3>Room 1</h3><p>{OTHER_LONG}</p>{{}}</div></div>",
    "start of a long card": f"<div>{{}}<p>{OTHER_LONG}</p></div>",
    "before a long card": f"{{}}<div><h3>Room 1</h3><p>{OTHER_LONG}</p></div>",
    "before a heading": "<p>39 EUR</p>{}<h2>Stock</h2><p>5 left</p>",
    "end of main": f"<p>{OTHER_LONG}</p>{{}}",
    "after the last heading": "<h2>Stock</h2>{}",
    "before a long text": f"{{}}<p>{OTHER_LONG}</p>",
    "between heading and text": f"<h2>Room 1</h2>{{}}<p>{OTHER_LONG}</p>",
    "between two short texts": "<p>39 EUR</p>{}<p>In stock</p>",
    "definition list": "<dl><dt>Room 1</dt>{}<dd>39 EUR</dd></dl>",
    "in an article": f"<article><h2>Room 1</h2>{{}}<p>{OTHER_LONG}</p></article>",
}


@pytest.mark.parametrize("badge", ["<td>booked</td>", "<div>booked</div>", "<b>booked</b>"])
@pytest.mark.parametrize("around", BADGED.values(), ids=BADGED)
def test_a_badge_that_only_the_kept_page_has_is_new(around: str, badge: str) -> None:
    if "td" in badge and around != BADGED["table row"]:
        badge = badge.replace("td", "span")
    booked, free = page(around.format(badge)), page(around.format(""))
    assert new(booked, free)
    assert new(free, booked)


def test_an_empty_badge_that_only_the_kept_page_has_is_new() -> None:
    free = page("<ul><li>Room 1</li></ul>")
    booked = page('<ul><li>Room 1<i class="booked"></i></li></ul>')
    assert new(booked, free)


@pytest.mark.parametrize(
    "whole",
    [
        f"<p>{OTHER_LONG}</p>",
        f"<footer><p>{OTHER_LONG}</p><p>Imprint</p></footer>",
        '<nav><a href="/">Start</a><a href="/help">Help</a></nav>',
        f"<aside><h2>Others</h2><p>{OTHER_LONG}</p></aside>",
    ],
    ids=["paragraph", "footer", "nav", "aside"],
)
def test_whole_blocks_that_only_the_kept_page_has_are_no_news(whole: str) -> None:
    body = f"<main><h1>Bench</h1><p>{LONG}</p><p>39 EUR</p></main>"
    assert not new(document(body + whole), document(body))
    assert new(document(body), document(f"{body}{whole}<p>{LONG[::-1]}</p>"))


def test_a_long_paragraph_that_only_the_kept_page_has_is_no_news_between_long_ones() -> None:
    first, second, third = (f"<p>{text}</p>" for text in (LONG, OTHER_LONG, LONG[::-1]))
    assert not new(f"<main>{first}{second}{third}</main>", f"<main>{first}{third}</main>")


def league(*points: int) -> str:
    rows = zip(("Ajax", "Feyenoord", "PSV"), points, strict=True)
    return "".join(f"<tr><td>{name}</td><td>{n}</td></tr>" for name, n in rows)


def calendar(*days: str) -> str:
    cells = "".join(f'<td class="{one}">{day}</td>' for day, one in enumerate(days, 1))
    return f"<table><tr>{cells}</tr></table>"


def cards(*prices: int) -> str:
    return "".join(
        f'<div class="card"><div>{name}</div><div>{price} EUR</div></div>'
        for name, price in zip(("Oak", "Iron"), prices, strict=True)
    )


def long_cards(*prices: int) -> str:
    return "".join(
        f'<div class="card"><h3>{name}</h3><p>{price} EUR</p><p>{text}</p></div>'
        for name, price, text in zip(("Oak", "Iron"), prices, (LONG, OTHER_LONG), strict=True)
    )


def flat_cards(*prices: int) -> str:
    pairs = zip(("Oak", "Iron"), prices, strict=True)
    return "".join(f"<div>{name}</div><div>{price} EUR</div>" for name, price in pairs)


def links(*addresses: str) -> str:
    pairs = zip(("Anna", "Berta"), addresses, strict=True)
    return "".join(f'<p><a href="{address}">{name}</a></p>' for name, address in pairs)


def records(around: str) -> tuple[str, str]:
    """Two records with their numbers, once the other way round."""
    one, other = (
        "".join(around.format(title, n) for title, n in zip(("Oak", "Iron"), numbers, strict=True))
        for numbers in ((1, 2), (2, 1))
    )
    return one, other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"<table>{league(9, 6, 3)}</table>", f"<table>{league(6, 9, 3)}</table>"),
        (calendar("free", "booked", "free"), calendar("booked", "free", "free")),
        (cards(39, 45), cards(45, 39)),
        (long_cards(39, 45), long_cards(45, 39)),
        (flat_cards(39, 45), flat_cards(45, 39)),
        (links("/1", "/2"), links("/2", "/1")),
        records('<figure><img src="/{1}.png"><figcaption>{0}</figcaption></figure>'),
        records('<div><h3>{0}</h3><a href="/{1}">Details</a></div>'),
        records("<script>add({{name: '{0}', url: '/{1}'}})</script>"),
        ("<dl><dt>A<dd>1<dt>B<dd>2</dl>", "<dl><dt>A<dd>2<dt>B<dd>1</dl>"),
        ("<h2>A</h2><p>1</p><h2>B</h2><p>2</p>", "<h2>A</h2><p>2</p><h2>B</h2><p>1</p>"),
        (
            "<script>x=[{name:'A',n:1},{name:'B',n:2}]</script>",
            "<script>x=[{name:'A',n:2},{name:'B',n:1}]</script>",
        ),
        ('<p class="a">x</p><p class="b">y</p>', '<p class="b">x</p><p class="a">y</p>'),
        ("<p>Ann <b>beat</b> Bob</p>", "<p>Bob <b>beat</b> Ann</p>"),
        ("<p>a&nbsp;&nbsp;b</p>", "<p>a b</p>"),
        ("<p>山田\u3000太郎</p>", "<p>山田 太郎</p>"),
        ('<img srcset="/a.jpg 400w">', '<img srcset="/a.jpg 500w">'),
        ('<img srcset="/a.jpg 9w 400h">', '<img srcset="/a.jpg 9w 500h">'),
        ('<link rel="author" href="/1">', '<link rel="author" href="/2">'),
        ("<p>1 <b>29</b></p>", "<p>1<b>29</b></p>"),
        ("<p>1<b> 29</b></p>", "<p>1<b>29</b></p>"),
        ("<p><b>1 </b>29</p>", "<p><b>1</b>29</p>"),
        ("<p><b>1</b> <i>29</i></p>", "<p><b>1</b><i>29</i></p>"),
        (
            "<ol><li><p>A</p><p>1</p></li><li><p>B</p><p>2</p></li></ol>",
            "<ol><li><p>A</p><p>2</p></li><li><p>B</p><p>1</p></li></ol>",
        ),
    ],
    ids=[
        *("league", "calendar", "cards", "long cards", "flat cards", "links", "pictures"),
        *("same links", "addresses in scripts"),
        *("definitions", "headings", "objects", "classes", "words"),
        *(
            "wide spaces",
            "wide space",
            "width of a picture",
            "height of a picture",
            "author",
            "space before",
            "space first in",
            "space last in",
            "space between",
            "items",
        ),
    ],
)
def test_values_that_belong_to_another_record_are_new(one: str, other: str) -> None:
    assert new(page(one), page(other))
    assert new(page(other), page(one))


NAMES = ["Ann of Sweden, 1", "Bob of Norway, 2", "Cid of Finland, 3", "Dan of Denmark, 4"]


@pytest.mark.parametrize(
    ("around", "part"),
    [
        ("<ul>{}</ul>", "<li>{}</li>"),
        ("<ul>{}</ul>", '<li class="person"><b>{}</b></li>'),
        ("<ul>{}</ul>", '<li><a href="/of/{}">{}</a></li>'),
        ("<ul>{}</ul>", f'<li><a href="/of/{{}}">{{}}</a> {LONG}</li>'),
        ("<table>{}</table>", "<tr><td>{}<td>5</tr>"),
        ("<table><tbody>{}</tbody></table>", '<tr data-n="{}"><td>{}<td>5</tr>'),
        ("<select>{}</select>", '<option value="{}">{}</option>'),
        ("<div>{}</div>", f"<article><h2>{{}}</h2><p>{LONG}</p></article>"),
    ],
)
def test_a_list_in_another_order_is_a_copy(around: str, part: str) -> None:
    parts = [part.replace("{}", name) for name in NAMES]
    one, other = (page(around.format("".join(order))) for order in (parts, parts[::-1]))
    assert not new(one, other)
    assert not new(other, one)


@pytest.mark.parametrize(
    "parts",
    [
        ("<ul>", "<li>", "<p>{}</p>", f"<p>{LONG}</p>", "<p><b>New</b></p>"),
        ("<div>", "<article>", "<h3>{}</h3>", f"<p>{OTHER_LONG}</p>", f"<p>{LONG}</p>"),
        ("<table>", "<tr>", "<td><a href='/of/{0}'>{0}</a></td>", f"<td>{LONG}</td><td>", "New"),
    ],
)
def test_long_items_in_another_order_that_begin_alike_are_a_copy(parts: tuple[str, ...]) -> None:
    around, item, head, said, more = parts
    end = item.replace("<", "</")
    items = [f"{item}{head.format(n)}{said}{more * (n in NAMES[:2])}{end}" for n in NAMES]
    one, other = (page(around + "".join(order)) for order in (items, items[::-1]))
    assert not new(one, other)
    assert not new(other, one)


# Records whose parts are in elements of their own: "{0}" is what a record is about.
RECORDS = {
    "price": "<div><div><p>{0} {long}</p></div><div><p>{long}</p><p>{1} EUR</p></div></div>",
    "price without a title": "<div><p>{0} {long}</p><div><p>{long}</p><p>{1} EUR</p></div></div>",
    "table": "<section><h2>{0}</h2><div><p>{long}</p><table><tr><td>the {1} of it</td></tr>"
    "<tr><td>a {1}</td></tr></table></div></section>",
    "list": "<div><h3>{0}</h3><p>{long}</p><ul><li>state {1}</li><li>and {1}</li></ul></div>",
    "script": "<div><h3>{0}</h3><p>{long}</p><script>var price = {1};</script></div>",
    "picture": "<div><h3>{0}</h3><p>{long}</p><p><img src='/stars/{1}.png'></p></div>",
    "link": "<div><h3>{0}</h3><p>{long}</p><p><a href='/of/{1}'>buy it</a></p></div>",
    "attribute": "<div><h3>{0}</h3><div data-of={1}><p>{long}</p></div></div>",
}


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())
def test_what_is_said_belongs_to_its_record(record: str) -> None:
    """Also where the parts of a record are in elements of their own."""

    def html(*parts: tuple[str, int]) -> str:
        return page("".join(record.format(*one, long=LONG) for one in parts))

    one, other = ("Oak", 30), ("Ash", 40)
    kept = html(one, other)
    assert new(kept, html(("Oak", 40), ("Ash", 30)))
    assert not new(kept, kept)
    assert not new(kept, html(other, one))


def test_where_one_record_alone_may_stand_what_is_around_it_does_not_matter() -> None:
    box = f"<div class=box><p>{OTHER_LONG}</p><p>Sale</p></div>"
    template = repeated(*(page(f"<p>{LONG} {i}</p>{box}") for i in range(3)))
    kept = page(f"<p>{LONG} 7</p>")
    assert not new(kept, page(f"<p>{LONG} 7</p>{box}"), template=template)


STATES = {
    "definitions": ("<dl>", "<dt>Size number {}</dt><dd>{}</dd>", "</dl>"),
    "paragraphs": ("<div>", "<h3>Size number {}</h3><p>{}</p>", "</div>"),
    "data": ("<script>var sizes = [", '{{"size": "{}", "state": "{}"}},', "]</script>"),
    "data in the head": ("<script>var all = [", '{{"size": "{}", "state": "{}"}},', "]</script>"),
}


@pytest.mark.parametrize("kind", STATES)
def test_what_the_section_repeats_counts_where_it_is_put_together_in_another_way(kind: str) -> None:
    start, one, end = STATES[kind]

    def html(number: int, *states: str) -> str:
        part = start + "".join(one.format(size, state) for size, state in enumerate(states)) + end
        texts = f"<p>{LONG} {number}</p><p>{OTHER_LONG}</p>"
        if "head" in kind:
            return document(page(texts), head=part)
        return page(f"{texts}{part}")

    sold, left = "sold out", "in stock"
    both = (sold, left, sold, left), (left, sold, left, sold)
    others = [html(i, *states) for i in (1, 2) for states in both]
    every_value = set.union(*(set(read(other).loose) for other in others))
    template = repeated(*others) | every_value
    kept = html(7, sold, left, sold, left)
    assert not new(kept, kept, template=template)
    assert new(kept, html(7, left, left, sold, sold), template=template)


def test_how_the_bytes_are_read_does_not_count() -> None:
    kept = document(page(""), head="<meta charset=utf-8>")
    old = '<meta http-equiv="Content-Type" content="text/html; charset=ISO-8859-1">'
    assert not new(kept, document(page(""), head=old))
    assert not new(document(page(""), head=old), kept)
    assert new(kept, document(page(""), head='<meta name="author" content="Oak">'))


def test_a_small_list_in_another_order_is_another_value() -> None:
    assert new("<ul><li>Ann 1</li><li>Bob 2</li></ul>", "<ul><li>Bob 2</li><li>Ann 1</li></ul>")


@pytest.mark.parametrize(
    "part", ["<li>Ann 1</li>", f"<p>{LONG}</p>", "<p>5</p>", "<script>a(1)</script>"]
)
def test_a_value_that_comes_once_more_is_new(part: str) -> None:
    assert new(page(part), page(part * 2))
    assert new(page(part * 2), page(part * 3))


# Beside the content -----------------------------------------------------------------------------

CONTENT = f"<main><h1>Bench</h1><p>{LONG}</p></main>"


def menu(element: str, active: int, count: int = 3) -> str:
    entries = (
        f'<a class="{"active" if n == active else "entry"}" href="/part/{n}">Part {n}</a>'
        for n in range(count)
    )
    return f"<{element}>{' '.join(entries)}</{element.split()[0]}>{CONTENT}"


@pytest.mark.parametrize("element", ["nav", "header", "footer", "aside", "div role=navigation"])
def test_other_links_beside_the_content_are_no_news(element: str) -> None:
    assert not new(menu(element, 0), menu(element, 1))
    assert not new(menu(element, 0), menu(element, 0, count=9))


def called(nav: str, url: str = "http://shop.example/events?month=4") -> set[int]:
    """What the links of a page to month 5 are called."""
    found = read(document(f"{page('')}{nav}"), url).addresses
    return {call for row, call in found.calls() if found.texts[row].endswith("month=5")}


MONTHS = '<nav><ul><a href="/events?month=4">April</a> <a href="/events?month=5">May</a></ul></nav>'


@pytest.mark.parametrize(
    ("plain", "other"),
    [
        ("<ul>", '<ul class="all">'),
        ("<nav>", '<nav class="related">'),
        ('month=5"', 'month=5" data-testid="related"'),
        ('month=5"', 'month=5" title="Next month"'),
        ("May", 'May<i class="next"></i>'),
        ("May", "May<i data-next></i>"),
        ('month=4"', 'month=4" aria-current="page"'),
    ],
)
def test_a_link_beside_the_content_is_called_by_all_that_a_spider_may_choose_it_by(
    plain: str, other: str
) -> None:
    assert called(MONTHS.replace(plain, other)) != called(MONTHS)
    assert called(MONTHS.replace("month=4", "month=2")) == called(MONTHS)


def test_numbers_in_what_a_link_is_called_do_not_count_but_for_the_next_one() -> None:
    one = '<nav class="n1"><a href="/events?month=5" data-n="17" class="c1">5</a></nav>'
    assert called(one) == called(one.replace("1", "2").replace("17", "29"))
    for month, is_next in ((4, True), (3, False), (8, False)):
        url = f"http://shop.example/events?month={month}"
        other = "http://shop.example/events?month=9"
        assert (called(one, url) != called(one, other)) is is_next


@pytest.mark.parametrize("element", ["nav", "header", "footer", "aside"])
def test_text_without_a_link_beside_the_content_is_new(element: str) -> None:
    one, other = (f"<{element}><p>Open until {n}</p></{element}>{CONTENT}" for n in (17, 18))
    assert new(one, other)


def test_links_of_a_class_named_menu_are_values() -> None:
    one, other = (f'<div class="menu-b"><a href="/{n}">{n}</a></div>{CONTENT}' for n in (1, 2))
    assert new(one, other)


def test_a_link_beside_the_content_that_names_no_page_is_a_value() -> None:
    one, other = (f'<nav><a href="tel:{n}">Call us</a></nav>{CONTENT}' for n in (1, 2))
    assert new(one, other)


@pytest.mark.parametrize("element", ["header", "footer", "aside"])
def test_what_is_beside_within_the_content_is_content(element: str) -> None:
    one, other = (
        f'<main><h1>Bench</h1><{element}><a href="/{n}">By {n}</a></{element}></main>'
        for n in (1, 2)
    )
    assert new(one, other)


@pytest.mark.parametrize("rel", ["next", "prev", "up"])
def test_links_of_a_head_that_lead_on_are_no_news(rel: str) -> None:
    one, other = (document(CONTENT, f'<link rel="{rel}" href="/{n}">') for n in (1, 2))
    assert not new(one, other)


@pytest.mark.parametrize("rel", ["stylesheet", "Alternate StyleSheet"])
@pytest.mark.parametrize("place", ["{}<p>39 EUR</p>", "<nav>{}</nav>", "<p>{}39 EUR</p>"])
def test_a_style_sheet_is_no_news_but_must_have_been_handed(rel: str, place: str) -> None:
    """/app.css?v=17 is another address for all pages of a later time."""
    one, other = (
        page(place.format(f'<link rel="{rel}" media="print" href="/app.css?v={n}">'))
        for n in (17, 18)
    )
    assert not new(one, other)
    assert not new(page(place.format("")), other)
    assert read(other).addresses.of("media") == ["http://shop.example/app.css?v=18"]


# The page's own address -------------------------------------------------------------------------

OWN = {
    "canonical": '<link rel="canonical" href="{url}">',
    "og:url": '<meta property="og:url" content="{url}">',
    "path": '<a href="{path}">This page</a>',
    "share": '<a href="https://social.example/share?u={quoted}">Share</a>',
    "share in data": '<span data-share="https://social.example/share?u={quoted}"></span>',
    "next": '<a href="/login?next={quoted_path}">Log in</a>',
    "plain next": '<a href="/login?next={path}">Log in</a>',
    "uenc": '<a href="/cart/add?uenc={base64}">Buy</a>',
    "uenc in a path": '<a href="/cart/add/uenc/{base64}/product/1">Buy</a>',
    "hidden field": '<input type="hidden" name="back" value="{url}">',
    "text": "<p>Printed from {url}</p>",
    "json": """<script>var page = "{escaped}"</script>""",
    "json-ld": """<script type="application/ld+json">{{"@id": "{url}", "@type": "A"}}</script>""",
    "action": '<form action="{path}" method="post"><button>Send</button></form>',
    "form without a form": '<form method="post"><button>Send</button></form>',
    "value of a tab": '<a href="{path}#tab=2">More</a>',
    "fragment": '<a href="{path}#top">Top</a>',
    "other scheme": '<script>var page = "https://{rest}"</script>',
    "html in a script": '<script>var page = "{html}"</script>',
    "html in an attribute": '<p data-page="at {twice}">x</p>',
    "wordpress in a script": '<script>var page = "{wordpress}"</script>',
    "json with an ampersand": '<script>var page = "{json}", at = "here: {json}"</script>',
}


def addressed(place: str, url: str) -> str:
    path = "/" + url.split("/", 3)[3]
    encoded = base64.b64encode(url.encode()).decode()
    names = {"quoted": quote(url, safe=""), "quoted_path": quote(path, safe="")}
    names |= {"rest": url.partition("//")[2], "html": url.replace("&", "&amp;")}
    names |= {"twice": url.replace("&", "&amp;amp;"), "wordpress": url.replace("&", "&#038;")}
    names |= {"json": url.replace("&", r"\u0026")}
    return page(
        place.format(url=url, path=path, base64=encoded, escaped=url.replace("/", "\\/"), **names)
    )


@pytest.mark.parametrize("place", OWN.values(), ids=OWN)
@pytest.mark.parametrize(
    ("url", "kept_url"),
    [
        (URL, KEPT),
        ("http://shop.example/view?id=17", "http://shop.example/view?id=23"),
        ("http://shop.example/view?id=17&s=1", "http://shop.example/view?id=17&s=2"),
        ("http://shop.example/caf%C3%A9", "http://shop.example/a/b/thé"),
        ("https://www.shop.example/", "http://shop.example/"),
    ],
    ids=["path", "query", "two parameters", "folder", "root"],
)
def test_the_address_of_the_page_is_no_news(place: str, url: str, kept_url: str) -> None:
    assert not new(addressed(place, kept_url), addressed(place, url), url, kept_url)


@pytest.mark.parametrize("place", OWN.values(), ids=OWN)
@pytest.mark.parametrize("copies", [("", "?ref=a"), ("?ref=a", ""), ("?ref=a", "?ref=b")])
def test_the_address_of_the_page_without_a_query_is_no_news(
    place: str, copies: tuple[str, str]
) -> None:
    """A copy may show its own, or that of all copies, as one says it that is written once."""
    html = addressed(place, URL)
    url, kept_url = (f"{URL}{copy}" for copy in copies)
    assert not new(html, html, url, kept_url)
    another = addressed(place, f"{URL}/more")
    assert another == html or new(html, another, url, kept_url)


@pytest.mark.parametrize("place", ["share in data", "hidden field", "json", "fragment", "text"])
@pytest.mark.parametrize("copies", [("www", "m"), ("m", "www"), ("m", "n")])
def test_the_address_that_the_page_gives_as_its_own_is_no_news(
    place: str, copies: tuple[str, str]
) -> None:
    shown = "http://www.shop.example/view/17"
    html = addressed(OWN[place], shown)
    html = document(html, f'<link rel="canonical" href="{shown}">')
    url, kept_url = (f"http://{host}.shop.example/view/17" for host in copies)
    assert not new(html, html, url, kept_url)


@pytest.mark.parametrize("copies", [("", "?ref=menu"), ("?ref=menu", ""), ("?ref=menu", "?ref=x")])
def test_links_carry_a_parameter_whatever_the_address_of_the_copy_has(
    copies: tuple[str, str],
) -> None:
    cards = [
        f'<div><a href="/p{n}{"" if n % 3 else "?ref=menu"}"><img src="/i{n}.png"></a></div>'
        for n in range(9)
    ]
    url, kept_url = (f"{URL}{copy}" for copy in copies)
    assert not new(page("".join(cards)), page("".join(cards)), url, kept_url)


@pytest.mark.parametrize(
    "place",
    [
        '<p :listing-id="{}">Offer</p>',
        "<p>Offer {}</p>",
        '<form method="post"><input name="offer" value="{}"></form>',
        "<script>var id = {}</script>",
        '<a href="/cart/add/{}">Buy</a>',
        '<img src="/i/{}.png">',
    ],
)
def test_an_id_of_the_address_in_a_value_is_new(place: str) -> None:
    url, kept_url = "http://shop.example/view?id=17", "http://shop.example/view?id=23"
    assert new(page(place.format(23)), page(place.format(17)), url, kept_url)


@pytest.mark.parametrize(
    ("url", "longer"),
    [
        ("http://a.example/q/17", "/q/17/answers"),
        ("http://a.example/q/17", "/q/170"),
        ("http://a.example/q/17", "/q/17?page=2"),
        ("http://a.example/q/17", "/q/17-more"),
        ("http://a.example/q/17", "/q/17.pdf"),
        ("http://a.example/q/17", "/x/q/17"),
        ("http://a.example/q/17", "http://b.example/q/17"),
    ],
)
@pytest.mark.parametrize(
    "place", ['<p data-more="{}">x</p>', "<p>{}</p>", '<p><a href="{}">x</a></p>']
)
def test_a_longer_address_than_that_of_the_page_is_new(url: str, longer: str, place: str) -> None:
    one, other = page(place.format("/q/16")), page(place.format(longer))
    assert new(one, other, url, "http://a.example/q/16")


@pytest.mark.parametrize(
    "control",
    [
        '<input type="hidden" name="room" value="{}">',
        '<input type="radio" name="room" value="1"{is_1}>'
        '<input type="radio" name="room" value="2"{is_2}>',
        '<select name="room"><option value="1"{is_1}>A<option value="2"{is_2}>B</select>',
    ],
    ids=["hidden", "radio", "select"],
)
def test_controls_that_repeat_the_address_are_no_news_in_a_get_form(control: str) -> None:
    kept_url, url = (f"http://a.example/rooms?room={n}" for n in (1, 2))

    def form(start: str, n: int) -> str:
        flag = "selected" if "select" in control else "checked"
        is_one, is_two = (f" {flag}" if n == one else "" for one in (1, 2))
        return page(start + control.format(n, is_1=is_one, is_2=is_two) + "</form>")

    for start in '<form method="get" action="/rooms">', "<form>":
        assert not new(form(start, 1), form(start, 2), url, kept_url)
    assert new(form('<form method="post">', 1), form('<form method="post">', 2), url, kept_url)
    assert new(form("<form>", 1), form("<form>", 2), "http://a.example/b", "http://a.example/a")


def test_a_hidden_field_that_repeats_the_address_may_be_missing() -> None:
    kept_url, url = "http://a.example/rooms", "http://a.example/rooms?from=mail"

    def form(start: str, field: str) -> str:
        return page(f"{start}<select name=by><option>A</select>{field}</form><p>Rooms</p>")

    field = '<input type="hidden" name="from" value="mail">'
    assert not new(form("<form>", ""), form("<form>", field), url, kept_url)
    assert not new(form("<form>", field), form("<form>", ""), kept_url, url)
    assert new(form("<form>", ""), form("<form>", field.replace("mail", "me")), url, kept_url)
    assert new(form("<form method=post>", ""), form("<form method=post>", field), url, kept_url)
    quoted = "http://a.example/rooms?by=A%26from%3Dmail"
    assert not new(form("<form>", ""), form("<form>", field), quoted, kept_url)
    assert new(form("<form>", ""), form("<form>", field.replace("mail", "me")), quoted, kept_url)


def mirrored(url: str) -> str:
    """A page with links relative to it, and one with its host."""
    host = "/".join(url.split("/")[:3])
    return page(f'<a href="next">Next</a><img src="../i.png"><a href="{host}/help">Help</a>')


@pytest.mark.parametrize(
    ("url", "kept_url"),
    [
        ("http://a.example/en/guide/start", "http://a.example/latest/guide/start"),
        ("http://a.example/old/guide/start", "http://a.example/guide/start"),
        ("http://a.example/guide/start", "http://a.example/old/guide/start"),
        ("http://www.a.example/guide/start", "http://a.example/guide/start"),
        ("https://a.example/guide/start", "http://a.example/guide/start"),
        ("https://b.a.example/2/guide/start", "http://a.example/1/guide/start"),
    ],
    ids=["folder", "one more", "one less", "host", "scheme", "all"],
)
def test_links_of_a_mirror_are_no_news(url: str, kept_url: str) -> None:
    assert not new(mirrored(kept_url), mirrored(url), url, kept_url)


@pytest.mark.parametrize("host", ["https://a.example", "http://mirror.a.example"])
def test_a_path_in_a_script_of_a_mirror_is_no_news(host: str) -> None:
    html = page('<script>var assets = "/plugins/player/"; play(17);</script>')
    url, kept_url = f"{host}/guide/start", "http://a.example/guide/start"
    assert not new(html, html, url, kept_url)
    assert new(html, html.replace("player", "slides"), url, kept_url)
    elsewhere = html.replace("/plugins", "http://cdn.example/plugins")
    assert new(html, elsewhere, url, kept_url)


@pytest.mark.parametrize(
    ("url", "kept_url"),
    [
        ("http://a.example/view?s=ab", "http://a.example/view?s=cd"),
        ("http://a.example/view?s=ab", "http://a.example/view"),
        ("http://a.example/view", "http://a.example/view?s=cd"),
        ("http://a.example/view?id=1&s=ab", "http://a.example/view?id=1&s=cd"),
    ],
)
def test_session_parameters_in_links_are_no_news(url: str, kept_url: str) -> None:
    def body(of: str) -> str:
        session = re.search(r"s=\w+", of)
        mark = f"&{session.group()}" if session else ""
        return page(f'<p><a href="/view?id=7{mark}">Seven</a></p><a href="/start">Start</a>')

    assert not new(body(kept_url), body(url), url, kept_url)
    assert new(body(kept_url), body(url).replace("id=7", "id=8"), url, kept_url)


def test_links_are_relative_to_the_base_of_a_page() -> None:
    html = document('<a href="17">Seventeen</a>', '<base href="/parts/">')
    assert read(html).addresses.of("link")[-1] == "http://shop.example/parts/17"


@pytest.mark.parametrize(
    "written",
    [
        '<b data-src="7.jpg"></b>',
        '<option value="pictures/7.JPG?w=300">7</option>',
        '<my-view :src="7.webp"></my-view>',
        '<script>show("7.jpg", 300)</script>',
        '<script type="application/json">{"src": "7.html", "width": 300}</script>',
    ],
)
def test_a_file_by_its_name_is_another_one_in_another_folder(written: str) -> None:
    """Two albums of one text, whose pictures have the same names."""
    red, blue = "http://shop.example/albums/red/", "http://shop.example/albums/blue/"
    (told,) = read(page(written), red).addresses.of("data")
    assert told.startswith(red)
    assert not new(page(written), page(written), red, red)
    other = read(page(written), blue)
    assert other.addresses.of("data") == [told.replace("red", "blue")]


def test_the_name_of_its_own_file_that_a_form_sends_is_no_name_of_the_page() -> None:
    def field(number: int) -> str:
        return page(f'<form method="post"><input type="hidden" name="f" value="m{number}.html">')

    url, kept_url = (f"http://shop.example/events/m{number}.html" for number in (3, 4))
    assert new(field(4), field(3), url, kept_url)


@pytest.mark.parametrize(
    "written",
    ['<img alt="7.jpg">', '<b title="7.jpg"></b>', '<b x-text="item.price"></b>', "<b v=1.2></b>"],
)
def test_what_only_looks_like_a_file_leads_nowhere(written: str) -> None:
    assert not read(page(written)).addresses.of("data", "media")


# Templates --------------------------------------------------------------------------------------


NOTICE = f"<div class=notice><p>Sale</p><p>{OTHER_LONG}</p></div>"


@pytest.mark.parametrize(
    "around",
    ["{notice}<main>{}</main>", "<main>{}</main>{notice}"],
    ids=["before", "behind"],
)
def test_what_the_section_repeats_is_no_news(around: str) -> None:
    def html(text: str, notice: str = NOTICE) -> str:
        return document(around.format(f"<p>{text}</p><p>{len(text)} EUR</p>", notice=notice))

    template = repeated(html(LONG), html(LONG * 2), html(LONG * 3))
    assert new(html(LONG, ""), html(LONG))
    assert not new(html(LONG, ""), html(LONG), template=template)


def stock(word: str, price: str = "39 EUR") -> str:
    return page(f"<div class=price>{price}</div><div class=stock>{word}</div>")


def test_what_the_section_repeats_is_new_where_the_kept_page_has_another_value() -> None:
    template = repeated(stock("in stock"), stock("in stock", "35 EUR"))
    assert not new(stock("in stock"), stock("in stock"), template=template)
    assert new(stock("sold out"), stock("in stock"), template=template)


@pytest.mark.parametrize(
    "part",
    [
        f'<section class="{{}}"><p>{LONG}</p></section>',
        f'<div class="box"><div class="{{}}">Stock</div><p>{LONG}</p></div>',
        f'<article class="{{}}"><h3>Bench</h3><p>{LONG}</p></article>',
    ],
    ids=["big", "small", "card"],
)
def test_a_class_that_the_section_repeats_is_new_where_the_kept_page_has_another(part: str) -> None:
    free, booked = (page(part.replace("{}", word)) for word in ("free", "booked"))
    assert new(booked, free, template=set(read(free).loose))


def test_a_badge_missing_before_a_repeated_text_is_new() -> None:
    def room(number: int, badge: str = "") -> str:
        return f"<main><h1>Room {number}</h1>{badge}<p>In stock</p><p>{LONG} {number}</p></main>"

    template = repeated(*map(room, range(5)))
    assert template
    booked = room(7, "<div class=badge>booked</div>")
    assert not new(room(7), room(7), template=template)
    assert new(booked, room(7), template=template)
    assert new(room(7), booked, template=template)


def test_a_page_of_repeated_values_has_none_of_its_own() -> None:
    html = page("<p>39 EUR</p><a href=/a>A</a>")
    found = read(html, template=repeated(html))
    assert not found.own
    assert not found.chained
    assert len(found.repeated) == len(read(html).own)


def test_values_are_the_same_from_their_state() -> None:
    html = page("<p>39 EUR</p><ul><li>Ann</li></ul><p>sold out</p>")
    one = reader(html)
    held = one.values(())
    template = {*held.loose[::2], *held.shapes}
    whole, again = one.values(template), values_under(one.state(), template)
    assert (again.own, again.chained, again.repeated) == (
        whole.own,
        whole.chained,
        whole.repeated,
    )
    assert again.pack() == whole.pack()
    assert whole.own
    assert whole.repeated


# Many values ------------------------------------------------------------------------------------


def many(count: int, changed: int = -1) -> str:
    rows = (f"<tr><td>Name {n}</td><td>{n + (n == changed)}</td></tr>" for n in range(count))
    return page(f"<table>{''.join(rows)}</table>")


@pytest.mark.parametrize("count", [10, 400, 600, 900, 3_000])
@pytest.mark.parametrize("changed", [0, 5, 9])
def test_one_changed_value_of_many_is_found(count: int, changed: int) -> None:
    kept = read(many(count), KEPT)
    assert len(kept.pack() or b"") in range(1, MAX_BYTES + 1)
    assert beside(kept, read(many(count, count * changed // 10))) != []
    assert beside(kept, read(many(count))) == []


def test_what_is_new_among_many_values_is_known_if_it_is_little() -> None:
    kept, own = read(many(3_000), KEPT), read(many(2_999))
    (items,) = beside(kept, own) or []
    assert own.told[items].text == "table: Name 0 ..."
    assert beside(kept, read(many(3_500))) is None


def test_many_values_are_compared_with_those_kept_before_the_section_was_known() -> None:
    frame = "".join(f"<div class={'x' * n}>Part {n}</div><p>{LONG} {n}</p>" for n in range(150))

    def hotel(*rooms: str) -> str:
        return f"<nav>{frame}</nav>{page(frame + ''.join(rooms))}"

    def rooms(free: int) -> str:
        return hotel(*(f"<h3>Room {n}</h3><p>{n != free}</p>" for n in range(700)))

    template = repeated(*(hotel(f"<h3>Room {n}</h3><p>True</p>") for n in (701, 702)))
    kept, same, other = read(rooms(9), KEPT), read(rooms(9), URL, template), read(rooms(3), URL)
    assert same.repeated
    assert beside(kept, same) == []
    assert beside(kept, other) != []


@given(st.sets(st.integers(0, 0xFFFFFFFF)), st.data())
def test_difference_of_two_sets_is_exact_or_unknown(kept: set[int], data: st.DataObject) -> None:
    more = data.draw(st.sets(st.integers(0, 0xFFFFFFFF)))
    less = data.draw(st.sets(st.sampled_from(sorted(kept)))) if kept else set()
    own = (kept | more) - less
    assert difference(own, pack_table(kept)) in (None, (own - kept, kept - own))


def test_difference_of_two_large_sets_is_known() -> None:
    kept = {hash_of(f"kept {n}") for n in range(5_000)}
    own = {*sorted(kept)[75:], *(hash_of(f"own {n}") for n in range(75))}
    assert difference(own, pack_table(kept)) == (own - kept, kept - own)


@given(st.integers(0, 4_000), st.integers(1, 0xFFFF))
def test_stored_values_are_never_longer_than_their_bound(count: int, places: int) -> None:
    values = PageValues()
    values.own.extend(n * 0x9E3779B97F4A7C15 % (1 << 48) << 16 | n % places for n in range(count))
    assert len(values.pack() or b"") in range(1, MAX_BYTES + 1)


@pytest.mark.parametrize(
    "html",
    [
        "<style>a {{ background: url({}) }}</style>",
        '<p style="background: url({})">Oak</p>',
        '<img src="{}">',
        '<video poster="{}"></video>',
    ],
)
@pytest.mark.parametrize("written", ["", "  ", "#oak", " #oak "])
def test_spaces_and_a_place_of_the_page_are_no_address(html: str, written: str) -> None:
    assert read(page(html.format(written))).addresses.texts == []
    assert read(page(html.format(f" /oak.png{written.strip()} "))).addresses.texts == [
        f"http://shop.example/oak.png{written.strip()}"
    ]


def test_a_page_with_too_many_addresses_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ADDRESSES", 3)
    links_ = "".join(f"<p><a href=/{n}>x</a></p>" for n in range(4))
    found = read(links_)
    assert not found.is_whole
    assert found.pack() is None
    assert beside(found, found) is None
    tree = parse(document(links_))
    assert tree is not None
    assert not links_of(walk(tree).events, URL).is_whole


def test_a_script_with_too_many_literals_counts_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LITERALS", 5)
    one, other = (f"<script>a([{','.join(map(str, range(n, n + 20)))}])</script>" for n in (1, 2))
    assert new(page(one), page(other))
    assert not new(page(one), page(one))


def test_of_many_own_values_the_first_are_told_and_all_on_request() -> None:
    html = page("".join(f"<li>Number {n}</li>" for n in range(MOST_TOLD + 1)))
    assert len(reader(html).values(()).told_values.kinds) == MOST_TOLD
    assert len(reader(html).values((), tell_all=True).told) > MOST_TOLD
    assert reader(page("<p>5</p>")).values(()).told


def test_links_alone() -> None:
    html = document(
        '<a href="/a#x">A</a><area href="/b"><a href="mailto:a@b">C</a><img src="/i.png">',
        '<link rel="next" href="/n"><link rel="canonical" href="/c">',
    )
    tree = parse(html)
    assert tree is not None
    found = links_of(walk(tree).events, URL)
    links = ["http://shop.example/n", "http://shop.example/a", "http://shop.example/b"]
    assert found.addresses.of("link") == found.addresses.texts == links
    assert NO_VALUES.own == found.own


# Any page ---------------------------------------------------------------------------------------


@dataclass
class Node:
    """An element: its children are others, or texts."""

    tag: str
    attributes: dict[str, str]
    children: list[Node | str]

    def html(self) -> str:
        held = "".join(f' {name}="{value}"' for name, value in self.attributes.items())
        inside = " ".join(one if isinstance(one, str) else one.html() for one in self.children)
        return f"<{self.tag}{held}>{inside}</{self.tag}>"

    def nodes(self) -> list[Node]:
        below = [one for one in self.children if isinstance(one, Node)]
        return [self, *(node for one in below for node in one.nodes())]


TEXTS = st.sampled_from(["Oak", "Iron", "39", "sold out", "A+", LONG, OTHER_LONG])
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["class", "title", "data-n", "lang"]),
    st.sampled_from(["a", "b", "c", "1", "x y"]),
    max_size=2,
)
TAGS = st.sampled_from(["div", "section", "ul", "li", "b", "span", "h2", "article", "td", "tr"])


def node_of(inside: st.SearchStrategy[Node | str]) -> st.SearchStrategy[Node]:
    return st.builds(Node, TAGS, ATTRIBUTES, st.lists(inside, min_size=1, max_size=4))


INSIDE: st.SearchStrategy[Node | str] = st.recursive(TEXTS, node_of, max_leaves=12)
TREES = st.builds(Node, st.just("main"), ATTRIBUTES, st.lists(INSIDE, min_size=1, max_size=4))


@given(TREES)
def test_no_page_is_new_beside_itself(tree: Node) -> None:
    assert not new(tree.html(), tree.html())


@given(TREES, st.data(), st.sampled_from(["fresh", OTHER_LONG[::-1]]))
def test_any_text_that_differs_is_new(tree: Node, data: st.DataObject, fresh: str) -> None:
    before = tree.html()
    spots = [
        (node, place)
        for node in tree.nodes()
        for place, one in enumerate(node.children)
        if isinstance(one, str)
    ]
    assume(spots)
    node, place = data.draw(st.sampled_from(spots))
    node.children[place] = fresh
    assert new(before, tree.html())
    assert new(tree.html(), before)


@given(TREES, st.data(), st.sampled_from(["class", "data-fresh", "disabled"]))
def test_any_attribute_that_differs_is_new(tree: Node, data: st.DataObject, name: str) -> None:
    before = tree.html()
    node = data.draw(st.sampled_from(tree.nodes()))
    node.attributes[name] = "fresh"
    assert new(before, tree.html())
    assert new(tree.html(), before)


@given(TREES, st.data(), st.sampled_from(["i", "div"]))
def test_a_badge_of_the_kept_page_is_missed_anywhere(
    tree: Node, data: st.DataObject, tag: str
) -> None:
    before = tree.html()
    node = data.draw(st.sampled_from(tree.nodes()))
    place = data.draw(st.integers(0, len(node.children)))
    node.children.insert(place, Node(tag, {"class": "badge"}, ["booked"]))
    assert new(tree.html(), before)
    assert new(before, tree.html())


def test_long_elements_and_texts_are_not_remembered() -> None:
    """A hostile page must not fill the memory of a worker."""
    long, short = "x" * 3000, "y"
    for _ in range(2):
        events.known_elements.clear()
        events.known_texts.clear()
        read(document(f'<p data-one="{long}">{long}</p><p data-one="{short}">{short}</p>'))
        assert not any(long in str(key) for key in events.long_elements)
        for known in events.known_elements, events.known_texts:
            kept = [str(key) for key in known]
            assert any(short in key for key in kept)
            assert not any(long in key for key in kept)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KNOWN", 10)
    monkeypatch.setattr(events, "KNOWN_LONG", 5)
    long = "x" * 1000
    for value in "known", long:
        html = document("".join(f"<p class={value}{n}>unknown {n}</p>" for n in range(100)))
        assert len(read(html).loose) > 100
    assert len(events.known_elements) <= 10
    assert 1 <= len(events.long_elements) <= 5
    assert len(events.known_texts) <= 10
