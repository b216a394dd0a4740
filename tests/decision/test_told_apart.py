"""Pages that are to be told apart though nearly all is the same: the smallest case of each.

A crawl that took one for the other lost items.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from textwrap import wrap
from typing import Any

import pytest
from scrapy import Request

from scrapy_simhash.crawl.reach import TRUSTED_AFTER
from scrapy_simhash.decision.template import VALUES, Template
from scrapy_simhash.settings import ITEMS
from tests.analysis import test_values
from tests.analysis.test_values import LONG, OTHER_LONG, document, page, repeated
from tests.conftest import CrawlFixture, Site, article, path_of, prose
from tests.crawl.test_requests import Facts
from tests.decision import test_noise
from tests.decision.test_items import Judge, shop_page

# Records ----------------------------------------------------------------------------------------

ITEMS_OF = (
    ("Free wifi in all of the rooms", "Free parking behind the house", "A view of the sea"),
    ("Breakfast until ten o'clock", "Dogs are welcome at any time", "No stairs at all"),
)


QUESTIONS = prose("first question", 20), prose("other question", 20)
A, B, C = "Yoga for all of you", "Boxing for women and men", "A run of five miles"


def listed(tag: str = "ul", item: str = "li", number: int = 0) -> str:
    return f"<{tag}>{''.join(f'<{item}>{one}</{item}>' for one in ITEMS_OF[number])}</{tag}>"


def records(one: Callable[[str, str], str]) -> tuple[str, str]:
    """Two pages with the records Oak and Elm, of which what the second argument says is swapped."""
    return one("Oak", "39 EUR") + one("Elm", "29 EUR"), one("Oak", "29 EUR") + one("Elm", "39 EUR")


def days(head: str, item: str) -> tuple[str, str]:
    """Two pages with two days, under which what is on is swapped."""
    plays = item.format("Hamlet at eight, in the hall"), item.format("Medea at nine, in the cellar")
    one, other = (
        "".join(
            head.format(f"The {day}") + play
            for day, play in zip(("first", "last"), of, strict=True)
        )
        for of in permutations(plays)
    )
    tag = {"<tr>": "table", "<li>": "ul", "<opt": "select"}.get(item[:4], "div")
    return f"<{tag}>{one}</{tag}>", f"<{tag}>{other}</{tag}>"


def lists(one: Callable[[str, int], str]) -> tuple[str, str]:
    """Two pages with the headings Early and Late, under which the whole lists are swapped."""
    return one("Early", 0) + one("Late", 1), one("Early", 1) + one("Late", 0)


def cards(card: str) -> tuple[str, str]:
    """Two pages with four cards, of which the second and the third have each other's state."""
    return swapped(f"<div>{card}</div>".replace("{}", f"<p>{LONG}</p>"))


def swapped(one: str, joined_by: str = "") -> tuple[str, str]:
    """The same of anything: ``STATE`` and ``NAME`` stand for those of each."""
    page, other = (
        joined_by.join(
            one.replace("STATE", state).replace("NAME", name)
            for state, name in zip(("free", *of, "gone"), ("Ash", "Oak", "Elm", "Fir"), strict=True)
        )
        for of in permutations(("free", "taken"))
    )
    return page, other


def boxes(behind: str = "", before: str = "") -> tuple[str, str]:
    """Two pages with the boxes of home and away, whose addresses are swapped."""
    one, other = (
        "".join(
            f'<section class="{box}">{before}<p>{text}</p>{behind}</section>'.replace("{}", name)
            for box, text, name in zip(("home", "away"), (LONG, OTHER_LONG), of, strict=True)
        )
        for of in permutations("ab")
    )
    return one, other


def columns(*of: str) -> tuple[str, str]:
    one, other = (
        rows("<th>Monday<th>Tuesday", f"<td>{LONG[1:]}" + "".join(f"<td>{cell}" for cell in cells))
        for cells in permutations(of)
    )
    return one, other


def repeats(item: str) -> tuple[str, str]:
    one, other = ("".join(map(item.format, of)) for of in ("aaabb", "aabbb"))
    tag = {"<li>": "ul", "<tr>": "table"}.get(item[:4], "div")
    return f"<{tag}>{one}</{tag}>", f"<{tag}>{other}</{tag}>"


def rows(*cells: str) -> str:
    return f"<table>{''.join(f'<tr>{one}</tr>' for one in cells)}</table>"


SWAPPED: dict[str, tuple[str, str]] = {
    "price after a list": records(lambda n, p: f"<div><h3>{n}</h3>{listed()}<p>{p}</p></div>"),
    "price after a table": records(
        lambda n, p: f"<div><h3>{n}</h3><table><tr><td>{LONG}</table><p>{p}</p></div>"
    ),
    "price beside a box": records(
        lambda n, p: (
            f'<div><div><img src="/{n}.jpg" alt=""><h3>{n}</h3><p>{n}: {LONG}</p></div>'
            f'<div class="buy">{p}</div></div>'
        )
    ),
    "cell beside a cell": records(
        lambda n, p: (
            f'<table><tr><td><div><img src="/{n}.jpg" alt=""></div><p>{n}</p><p>{n}: {LONG}'
            f"</p></td><td>{p}</td></tr></table>"
        )
    ),
    "price after a text that records share": records(
        lambda n, p: f"<div><h3>{n}</h3><p>{LONG}</p><p>{p}</p></div>"
    ),
    "lists under headings": lists(lambda n, of: f"<h2>{n}</h2>{listed(number=of)}"),
    "lists of panels": lists(lambda n, of: f'<div data-of="{n}">{listed(number=of)}</div>'),
    "lists of definitions": lists(lambda n, of: f"<dt>{n}</dt><dd>{listed(number=of)}</dd>"),
    "selects under legends": lists(
        lambda n, of: f"<fieldset><legend>{n}</legend>{listed('select', 'option', of)}</fieldset>"
    ),
    "tables under captions": lists(
        lambda n, of: (
            f"<table><caption>{n}</caption>"
            + "".join(f"<tr><td>{one}<td>1</tr>" for one in ITEMS_OF[of])
            + "</table>"
        )
    ),
    "lists in a list": tuple(  # type: ignore[dict-item]
        f"<ul>{one}</ul>" for one in lists(lambda n, of: f"<li>{n}{listed(number=of)}</li>")
    ),
    "rows under a heading row": (
        rows("<th>Monday", f"<td>{A}", f"<td>{B}", "<th>Tuesday", f"<td>{C}"),
        rows("<th>Monday", f"<td>{A}", "<th>Tuesday", f"<td>{B}", f"<td>{C}"),
    ),
    "rows of a merged cell": (
        rows(
            *('<td rowspan="2">Monday, early<td>Yoga for all', "<td>Boxing for two"),
            *('<td rowspan="2">Tuesday, early<td>Run of five', "<td>Choir of six"),
        ),
        rows(
            *('<td rowspan="2">Monday, early<td>Yoga for all', "<td>Choir of six"),
            *('<td rowspan="2">Tuesday, early<td>Run of five', "<td>Boxing for two"),
        ),
    ),
    "articles under headings": days("<h2>{}</h2>", "<article>{}</article>"),
    "items under headings": days("<h3>{}</h3>", "<li>{}</li>"),
    "articles under paragraphs": days("<p>{}</p>", "<article>{}</article>"),
    "rows under bold cells": days("<tr><td><b>{}</b><td>at</tr>", "<tr><td>{}<td>at</tr>"),
    "long rows behind blank cells": days(
        f"<tr><td>{{}}<td>{LONG}</tr>", f"<tr><td><td>{{}} {LONG}</tr>"
    ),
    "long rows of a merged cell": days(
        f'<tr><td rowspan="2">{{}}<td>{LONG}</tr>', f"<tr><td>{{}} {LONG}</tr>"
    ),
    "long rows of a merged cell behind": days(
        f'<tr><td>{LONG}<td rowspan="2">{{}}</tr>', f"<tr><td>{{}} {LONG}</tr>"
    ),
    "long rows under a long cell": days(
        f'<tr><td colspan="2">{{}} {LONG}</tr>', f"<tr><td>{{}} {LONG}<td>at</tr>"
    ),
    "long rows under bold cells": days(
        f"<tr><td><b>{{}} {LONG}</b><td></tr>", f"<tr><td>{{}} {LONG}<td>at</tr>"
    ),
    "long items under bold ones": days(f"<li><b>{{}} {LONG}</b></li>", f"<li>{{}} {LONG}</li>"),
    "long items under headings": days(f"<li><h3>{{}} {LONG}</h3></li>", f"<li>{{}} {LONG}</li>"),
    "options under one that is disabled": days(
        "<option disabled>{} of them</option>", "<option>{}</option>"
    ),
    "rows of long cells": tuple(  # type: ignore[dict-item]
        rows(*(f"<td><p>{a}</p><td><p>{b}</p>" for a, b in zip((LONG, LONG[2:]), of, strict=True)))
        for of in permutations((OTHER_LONG, OTHER_LONG[3:]))
    ),
    "pictures before long cells": tuple(  # type: ignore[dict-item]
        rows(*(f'<td><img src="/{p}.jpg"><td><p>{t}</p>' for p, t in zip("ab", of, strict=True)))
        for of in permutations((LONG, OTHER_LONG))
    ),
    "pictures before long texts": tuple(  # type: ignore[dict-item]
        "".join(f'<div><img src="/{p}.jpg"><p>{t}</p></div>' for p, t in zip("ab", of, strict=True))
        for of in permutations((LONG, OTHER_LONG))
    ),
    "pictures of two boxes": boxes('<img src="/{}.jpg">'),
    "pictures of two boxes, first": boxes(before='<img src="/{}.jpg">'),
    "links of two boxes": boxes('<p><a href="/of/{}">Team page</a></p>'),
    "pictures of two boxes with one text": tuple(  # type: ignore[dict-item]
        one.replace(OTHER_LONG, LONG) for one in boxes('<img src="/{}.jpg">')
    ),
    "boxes behind a badge": records(
        lambda n, p: (
            f"<div><p>New</p><div><p>{n}</p><p>{LONG}</p></div>"
            f"<div><p>{p}</p><p>{OTHER_LONG}</p></div></div>"
        )
    ),
    "boxes behind a picture, the price first": records(
        lambda n, p: (
            f'<div><img src="/new.png" alt=""><div><p>{LONG}</p><p>{p}</p></div>'
            f"<div><p>{OTHER_LONG}</p><p>{n}</p></div></div>"
        )
    ),
    "cells behind a mark": records(
        lambda n, p: (
            f"<table><tr><td>Open<td><b>{n}</b><p>{LONG}</p><td><p>{p}</p><p>{OTHER_LONG}</p>"
            "</table>"
        )
    ),
    "icon before a text that cards share": cards('<p><img src="/STATE.png"></p>{}<p>NAME</p>'),
    "icon behind it": cards('{}<p><img src="/STATE.png"></p><p>NAME</p>'),
    "link behind it": cards('{}<p><a href="/by/STATE">Contact</a></p><p>NAME</p>'),
    "icon in it": cards(f'<h3>NAME</h3><p>{LONG} <img src="/STATE.png"> for sale</p>'),
    "heading behind it": cards("<p>STATE</p>{}<h3>NAME</h3>"),
    "state behind it": cards("<p>NAME</p>{}<h3>STATE</h3>"),
    "class of a card": swapped(f'<div class="STATE"><p>{LONG}</p><p>NAME</p></div>'),
    "style of a card": swapped(
        f'<div style="background:url(/STATE.png)"><p>{LONG}</p><p>NAME</p></div>'
    ),
    "code in a card": cards('<script>x={"is":"STATE","n":1}</script>{}<p>NAME</p>'),
    "code in a small card": cards('NAME <script>x={"is":"STATE","n":1}</script>'),
    "pictures of two things": cards('<img src="/STATE.png">{}<p><img src="/NAME.jpg"></p>'),
    "pictures of small cards": swapped(
        '<article><img src="/STATE.png"> and <img src="/NAME.jpg"></article>'
    ),
    "availability in a link": swapped(
        '<a href="/all"><link itemprop="availability" href="https://schema.org/STATE">'
        f"<p>{LONG}</p><p>NAME</p></a>"
    ),
    "long columns": columns(LONG, OTHER_LONG),
    "columns of lists": columns(listed(), listed(number=1)),
    "options under one without a value": days(
        '<option value="">{}, all</option>', '<option value="1">{}</option>'
    ),
    "items under an item in italics": days("<li><em>{}</em></li>", "<li>{}</li>"),
    "items under an item of another style": days(
        '<li style="font-weight:bold">{} of them</li>', "<li>{}</li>"
    ),
    "how often a picture comes": repeats('<li><img src="/{}.png"> A card of this deck</li>'),
    "how often a link comes": repeats('<li><a href="/{}">Show this card</a></li>'),
    "how often a row has a picture": repeats('<tr><td><img src="/{}.png"><td>Olympic medal</tr>'),
    "how often a script has a picture": repeats(
        '<script>x={{"n":1,"img":"https://i.example/{}.png","is":true}}</script>'
    ),
    "long answers": tuple(  # type: ignore[dict-item]
        "".join(f"<div><p>{q}</p><p>{a}</p></div>" for q, a in zip(QUESTIONS, of, strict=True))
        for of in permutations((LONG, OTHER_LONG))
    ),
    "a reply to a comment": tuple(  # type: ignore[dict-item]
        "".join(f"<div class=c><p>{q}</p>{a}</div>" for q, a in zip(QUESTIONS, of, strict=True))
        for of in permutations(("", f"<div class=c><p>{LONG}</p></div>"))
    ),
    "long items of an ol": (
        f"<ol><li><b>First</b> {LONG}</li><li><b>Other</b> {OTHER_LONG}</li></ol>",
        f"<ol><li><b>Other</b> {OTHER_LONG}</li><li><b>First</b> {LONG}</li></ol>",
    ),
}


@pytest.mark.parametrize("element", ["html", "body"])
def test_a_page_around_which_an_element_has_no_class_is_new(element: str) -> None:
    free = f"<html><body>{page('')}</body></html>"
    sold = free.replace(f"<{element}>", f'<{element} class="sold-out">', 1)
    assert sold != free
    assert test_values.new(free, sold)
    assert test_values.new(sold, free)


@pytest.mark.parametrize("behind", [f"<p>{OTHER_LONG}</p>", "<p>yes</p>"])
def test_boxes_in_another_order_are_a_copy(behind: str) -> None:
    one, other = (
        page(
            "".join(f"<div><p>New</p><div><p>{n}</p><p>{LONG}</p></div>{behind}</div>" for n in of)
        )
        for of in (("Oak", "Elm"), ("Elm", "Oak"))
    )
    assert not test_values.new(one, other)


@pytest.mark.parametrize(("one", "other"), SWAPPED.values(), ids=SWAPPED)
def test_values_that_change_places_are_new(one: str, other: str) -> None:
    assert test_values.new(page(one), page(other))
    assert test_values.new(page(other), page(one))


def test_pictures_that_a_section_repeats_change_places_in_its_boxes() -> None:
    usual, other = boxes('<img src="/{}.jpg">')
    others = [page(f"<p>Page {number}</p>{usual}") for number in range(3)]
    template = repeated(*others)
    kept, swapped, same = (page(f"<p>Page 7</p>{of}") for of in (usual, other, usual))
    assert not test_values.new(kept, same, template=template)
    assert test_values.new(kept, swapped, template=template)
    assert test_values.new(swapped, kept, template=template)


@pytest.mark.parametrize("names", [("print-home", "print-away"), ("home", "")])
def test_a_picture_may_stand_in_a_box_with_another_id(names: tuple[str, str]) -> None:
    """An id never counts; nor does it count that a print view has one of the pictures less."""
    usual, _ = boxes('<img src="/{}.jpg">')
    usual = usual.replace("class", "id")
    home, away = names
    copy = usual.replace('"home"', f'"{home}"').replace('"away"', f'"{away}"')
    copy = copy if away else copy.partition('<section id="">')[0]
    assert not test_values.new(page(usual), page(copy))


# An empty cell says in which column the next one is.
EMPTY: dict[str, tuple[str, str]] = {
    "cell": (rows("<td>Plan of Ann<td>x<td>"), rows("<td>Plan of Ann<td><td>x")),
    "cell of a space": (
        rows("<td>Plan of Ann<td>x<td>&nbsp;"),
        rows("<td>Plan of Ann<td>&nbsp;<td>x"),
    ),
    "cell of a grid": (
        f"<div class=grid>{'<div></div>' * 3}<div>x</div>{'<div></div>' * 2}</div>",
        f"<div class=grid>{'<div></div>' * 4}<div>x</div><div></div></div>",
    ),
}


@pytest.mark.parametrize(("one", "other"), EMPTY.values(), ids=EMPTY)
def test_a_mark_in_another_column_is_new(one: str, other: str) -> None:
    assert test_values.new(page(one), page(other))


# Beside the content -----------------------------------------------------------------------------

META = '<meta property="{}" content="{}">'
HEADS = {
    "addresses": META.format("image", "/{}.jpg") * 2,
    "names": META.format("tag", "{}") * 2,
    "pairs": "".join(META.format("amount", n) + META.format("currency", "{}") for n in (10, 12)),
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_meta_elements_of_one_name_are_told_by_what_is_before_them(head: str) -> None:
    one, other = (document(page(""), head.format(*of)) for of in permutations(("EUR", "USD")))
    assert test_values.new(one, other)


@pytest.mark.parametrize("around", ["<aside>{}</aside>", "<main>{}</main>"])
def test_what_a_section_repeats_changes_places_beside_the_content(around: str) -> None:
    """As opening hours: each day and each time is on all pages of a section."""

    def html(number: int, *hours: str) -> str:
        days = zip(("Monday", "Tuesday", "Sunday"), (*hours, "closed"), strict=True)
        said = "".join(f"<p>{day}</p><p>{hour}</p>" for day, hour in days)
        return document(f"<h1>Pool</h1><p>{LONG} {number}</p>{around.format(said)}")

    every = "9 to 5", "9 to 12", "closed"
    others = [html(number, *of) for number, of in enumerate(permutations(every, 2))]
    every_value = set.union(*(set(test_values.read(other).loose) for other in others))
    template = repeated(*others) | every_value
    kept = html(7, "9 to 5", "9 to 12")
    assert not test_values.new(kept, kept, template=template)
    assert test_values.new(kept, html(7, "9 to 12", "9 to 5"), template=template)


HOURS = "<dl><dt>Monday<dd>{}<dt>Tuesday<dd>{}</dl>"


@pytest.mark.parametrize(
    "around",
    [
        "<aside>{}</aside>",
        "<footer>{}</footer>",
        '<div role="complementary">{}</div>',
        "<section><header>{}</header></section>",
    ],
)
def test_values_that_change_places_beside_the_content_are_new(around: str) -> None:
    one, other = (
        document(f"<h1>Bench</h1><p>{LONG}</p>{around.format(HOURS.format(*of))}")
        for of in permutations(("9 to 5", "closed"))
    )
    assert test_values.new(one, other)


def test_a_footer_belongs_to_its_card() -> None:
    """As in Bulma: <header class=card-header>, <footer class=card-footer>; and not in a main."""
    one, other = (
        document(f"<h1>Bench</h1><p>{LONG}</p>{cards}")
        for cards in records(
            lambda n, p: f"<div><header>{n}</header><p>{n}: {LONG}</p><footer>{p}</footer></div>"
        )
    )
    assert test_values.new(one, other)


@pytest.mark.parametrize(
    ("around", "is_new"),
    [
        ("<main>{}<aside>{}</aside></main>", True),
        ('<main>{}<div role="complementary">{}</div></main>', True),
        ('<main>{}<div role="navigation">{}</div></main>', False),
        ('<main>{}</main><div role="complementary">{}</div>', False),
    ],
)
def test_a_sidebar_of_the_content_is_content(around: str, is_new: bool) -> None:
    """What its links are called counts, whatever element or role it has; not in a menu."""
    one, other = (
        document(around.format(f"<h1>Flat</h1><p>{LONG}</p>", f'<p><a href="/a">{name}</a></p>'))
        for name in ("Anna", "Carl")
    )
    assert bool(test_values.new(one, other)) is is_new


@pytest.mark.parametrize("around", ["<aside>{}</aside>", '<div role="complementary">{}</div>'])
def test_a_badge_that_only_the_kept_page_has_beside_the_content_is_new(around: str) -> None:
    one, other = (
        document(f"<h1>Bench</h1><p>{LONG}</p>{around.format(f'<p>39 EUR</p>{badge}')}")
        for badge in ("<p>Sold out</p>", "")
    )
    assert test_values.new(one, other)


# Scripts ----------------------------------------------------------------------------------------


def offers(*prices: int) -> str:
    return ",".join(
        f'{{"name":"{name}","@type":"Offer","currency":"EUR","condition":"new","price":{price},'
        '"valid":"2026","seller":"Shop","unit":"piece"}'
        for name, price in zip(("Oak", "Elm"), prices, strict=True)
    )


SCRIPTS: dict[str, tuple[str, str]] = {
    "keys of objects": ('x={"07-03":{"free":1}}', 'x={"08-13":{"free":1}}'),
    "keys of days": (
        'x={"mon":{"open":"9:00"},"tue":{"open":"9:00"}}',
        'x={"sat":{"open":"9:00"},"sun":{"open":"9:00"}}',
    ),
    "arrays in an array": ('x=[["9:00","10:00"],["11:00"]]', 'x=[["9:00"],["10:00","11:00"]]'),
    "fields behind an object": (
        'x=[{"size":{"name":"S"},"price":1},{"size":{"name":"M"},"price":2}]',
        'x=[{"size":{"name":"S"},"price":2},{"size":{"name":"M"},"price":1}]',
    ),
    "objects behind an array": (
        'x=[{"sizes":[{"name":"S"}],"price":{"EUR":1}},{"sizes":[{"name":"M"}],"price":{"EUR":2}}]',
        'x=[{"sizes":[{"name":"S"}],"price":{"EUR":2}},{"sizes":[{"name":"M"}],"price":{"EUR":1}}]',
    ),
    "arrays of one number": ("x=[[1],[2],[3]]", "x=[[1],[3],[2]]"),
    "objects of one number": (
        'x=[{"c":[{"v":"Rome"},{"v":5},{"v":9}]}]',
        'x=[{"c":[{"v":"Rome"},{"v":9},{"v":5}]}]',
    ),
    "calls with one number": ("s.push({y:1});s.push({y:2})", "s.push({y:2});s.push({y:1})"),
    "addresses before names": (
        'x=[{"image":"/a.jpg","name":"Oak","n":1},{"image":"/b.jpg","name":"Elm","n":1}]',
        'x=[{"image":"/b.jpg","name":"Oak","n":1},{"image":"/a.jpg","name":"Elm","n":1}]',
    ),
    "addresses behind a type in scripts of their own": tuple(  # type: ignore[dict-item]
        "</script><script>".join(
            f'x={{"type":"Offer","image":"/{picture}.jpg","name":"{name}"}}'
            for picture, name in zip(of, ("Oak", "Elm"), strict=True)
        )
        for of in permutations("ab")
    ),
    "addresses before a price": swapped('{"image":"/STATE.jpg","price":1,"name":"NAME"}', ","),
    "addresses in an object before a name": swapped(
        '{"at":{"image":"/STATE.jpg","n":1},"name":"NAME"}', ","
    ),
    "addresses of one object": swapped('{"image":"/STATE.jpg","n":1,"url":"/NAME"}', ","),
    "addresses of calls": swapped("add({icon:'/STATE.png',zoom:12,name:'NAME'})", ";"),
    "calls in calls": (
        "add(new Point(1,2),'Bath');add(new Point(3,4),'York')",
        "add(new Point(1,2),'York');add(new Point(3,4),'Bath')",
    ),
    "objects of many fields": (f"x=[{offers(39, 29)}]", f"x=[{offers(29, 39)}]"),
    # What seems outside of quotes may be inside.
    "apostrophe in a comment": (
        "// don't edit\nx = {color: 'red', size: 'L'}",
        "// don't edit\nx = {color: 'blue', size: 'M'}",
    ),
    "quote in a pattern": (
        's.replace(/"/g, \'\'); x = {"color": "red"}',
        's.replace(/"/g, \'\'); x = {"color": "blue"}',
    ),
    # As minifiers write numbers.
    "sign": ("show(51.5,-.12)", "show(51.5,.12)"),
    "point": ("show({rate:.5})", "show({rate:5})"),
}


@pytest.mark.parametrize(("one", "other"), SCRIPTS.values(), ids=SCRIPTS)
def test_data_in_a_script_is_new(one: str, other: str) -> None:
    assert test_values.new(page(f"<script>{one}</script>"), page(f"<script>{other}</script>"))


@pytest.mark.parametrize(
    "script",
    [
        'x={{"sizes":[0,{}]}}',
        'x={{"sizes":[{{"name":"XS"}},{},{{"name":"XL"}}],"price":1}}',
        "{}",
    ],
)
def test_a_list_of_objects_in_another_order_is_a_copy(script: str) -> None:
    parts = [f'{{"size":{{"name":"{name}"}},"price":1}}' for name in "SMLX"]
    if script == "{}":
        parts = [f"add({part});" for part in parts]
    first, *between, last = parts
    one, other = (
        page(f"<script>{script.format(','.join((first, *of, last)))}</script>")
        for of in (between, between[::-1])
    )
    assert not test_values.new(one, other)
    assert not test_values.new(other, one)


@pytest.mark.parametrize("literal", ["0", "17", "true"])
def test_a_string_is_no_number(literal: str) -> None:
    """A spider reads 0 in JSON as false, and "0" as true."""
    one, other = (
        page(f'<script type="application/json">{{"name": "Oak", "stock": {stock}}}</script>')
        for stock in (literal, f'"{literal}"')
    )
    assert test_values.new(one, other)
    assert test_values.new(other, one)


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        ("text/vnd.abc", "K:G M:4/4\nGABc dedB", "K:G M:4/4\ndedB GABc"),
        ("application/x-chess-pgn", "1. e4 e5 2. Nf3", "1. d4 d5 2. Nc3"),
        ("math/tex", r"\frac{a^2}{b}", r"\frac{b^2}{a}"),
        ("text/csv", "Leeds,red,17", "Leeds,blue,17"),
        ("text/turtle", "ex:flat ex:rooms 3; ex:is ex:free", "ex:flat ex:rooms 3; ex:is ex:sold"),
    ],
)
def test_data_in_a_script_that_is_no_code_is_new(kind: str, one: str, other: str) -> None:
    first, second = (page(f'<script type="{kind}">{data}</script>') for data in (one, other))
    assert test_values.new(first, second)


def test_what_a_hidden_field_has_beside_a_parameter_of_the_address_is_new() -> None:
    first, second = (
        page(f'<form><input type="hidden" name="n" value="{n}" data-price="{price}"></form>')
        for n, price in ((1, 39), (2, 35))
    )
    assert test_values.new(first, second, "http://shop.example/?n=2", "http://shop.example/?n=1")


def test_other_bytes_that_cannot_be_decoded_are_new() -> None:
    """A page in Latin-1 that says UTF-8; its spider knows better."""
    judge = Judge()
    html = shop_page("<p>NAME</p>").encode()
    first, second = (html.replace(b"NAME", name) for name in (b"\xe4", b"\xf6"))
    try:
        judge("/1", _Bytes(first))
        assert not judge("/2", _Bytes(second)).is_duplicate
    finally:
        judge.index.close()


class _Bytes(str):
    """A page that is encoded already."""

    body: bytes

    def __new__(cls, body: bytes) -> _Bytes:
        made = super().__new__(cls)
        made.body = body
        return made

    def encode(self, *_: Any) -> bytes:
        return self.body


# What a section repeats -------------------------------------------------------------------------

IN = "This item is in stock and is sent to you within two or three days from our own store."
OUT = "This item is not available for now, and we do not know yet when there is more of it."

# What nearly all pages say, and what the kept page says at the same place.
STATES: dict[str, tuple[str, str]] = {
    "long text": (f'<div class="of"><p>{IN}</p></div>', f'<div class="of"><p>{OUT}</p></div>'),
    "aside": (
        "</main><aside><p>In stock</p></aside><main>",
        "</main><aside><p>Sold out</p></aside><main>",
    ),
    "address in JSON": (
        '<script type="application/ld+json">{"currency":"EUR","availability":'
        '"https://schema.org/InStock"}</script>',
        '<script type="application/ld+json">{"currency":"EUR","availability":'
        '"https://schema.org/OutOfStock"}</script>',
    ),
    "microdata": (
        '<p><link itemprop="availability" href="https://schema.org/InStock"></p>',
        '<p><link itemprop="availability" href="https://schema.org/OutOfStock"></p>',
    ),
    "script": ('<script src="/badge-in.js"></script>', '<script src="/badge-out.js"></script>'),
}


@pytest.mark.parametrize(("often", "rare"), STATES.values(), ids=STATES)
def test_what_a_section_repeats_is_new_where_the_kept_page_says_something_else(
    often: str, rare: str
) -> None:
    template = repeated(page(often), page(f"{often}<h2>Another one</h2>"))
    kept, own = page(f"<h2>Oak</h2>{rare}"), page(f"<h2>Oak</h2>{often}")
    between = f"<p>{OTHER_LONG}</p>"  # so that the heading before it does not tell them apart
    kept, own = (one.replace("</h2>", f"</h2>{between}") for one in (kept, own))
    template |= repeated(page(between), page(between + between))
    assert test_values.new(kept, own, template=template)


def test_a_value_that_another_has_followed_in_its_place_is_no_template_any_more() -> None:
    """First all pages say the one, then all others the other."""
    template = Template(VALUES)
    before, now, page_of_its_own = 1, 2, 3
    for number in range(100):
        template.learn([before, page_of_its_own + number])
    assert template.blocks == {before}
    for number in range(600):
        template.learn([now, page_of_its_own + number])
    assert template.blocks == {now}
    for number in range(100):  # it comes a little less often
        template.learn([now, page_of_its_own] if number % 10 < 8 else [page_of_its_own])
    assert template.blocks == {now}


@pytest.mark.parametrize(
    "note",
    [
        "<div class='note'><p>Prices in {}</p></div>",
        "<div><p>All prices of this shop are in {}, with taxes, packing and shipping.</p></div>",
        "<script>shop = {{'money': '{}'}}</script>",
    ],
    ids=["short", "long", "script"],
)
def test_what_another_section_repeats_is_new_where_the_kept_one_repeats_something_else(
    note: str,
) -> None:
    """/eu/ and /us/ of a shop: the same items and numbers in another currency."""
    judge = Judge()
    try:
        for place, money in (("eu", "EUR"), ("us", "USD")):
            for number in range(60):
                text = prose(f"{place}{number}-", 120)
                judge(f"/{place}/{number}", shop_page(f"{note.format(money)}<h2>39</h2>", text))
        judge("/eu/oak", shop_page(f"{note.format('EUR')}<h2>39</h2>"))
        found = judge("/us/oak", shop_page(f"{note.format('USD')}<h2>39</h2>"))
        assert not found.is_duplicate
    finally:
        judge.index.close()


# What changes by itself -------------------------------------------------------------------------

pad = test_noise.pad

# At each place, one value changes at each visit, and the page's own stays.
BESIDE_NOISE: dict[str, test_noise.Page] = {
    "parameter of another address": lambda n, v: (
        f'<p><img src="/photo.php?id={n}"></p><p><img src="/pixel.gif?id={pad(v)}"></p>'
    ),
    "segment of another address": lambda n, v: (
        f'<p><img src="/up/of/{n}/a.jpg"></p><p><img src="/ads/by/{pad(v)}/b.gif"></p>'
    ),
    "text of another row": lambda n, v: (
        f"<table><tr><td>Bid now<td>EUR {v}.50</tr><tr><td>Strike<td>EUR {n}.00</tr></table>"
    ),
    "time of another event": lambda n, v: (
        f'<p><time datetime="2026-08-01T{n % 24}:00"></time></p>'
        f'<p>Made: <time datetime="2026-07-01T{v % 24}:{v % 60:02d}"></time></p>'
    ),
    "field of another name": lambda n, v: (
        f'<script>x=[{{"key":"visit","value":"{pad(v)}"}},{{"key":"sku","value":"s{n}"}}]</script>'
    ),
    "field without a name": lambda n, v: (
        f'<form method="post"><input type="hidden" value="{pad(v)}">'
        f'<input type="hidden" value="s{n}"></form>'
    ),
    "option of another select": lambda n, v: (
        f'<select name="go"><option value="{pad(v)}">Wish list</option></select>'
        f'<select name="size"><option value="{n}">Small</option></select>'
    ),
    "attribute of another element": lambda n, v: (
        f'<p><i data-v="{pad(v)}">Views</i></p><p><i data-v="s{n}">Item</i></p>'
    ),
    "price before a time far behind": lambda n, v: (
        f"<p>Price: {n}.90 EUR with all taxes, and free delivery in all of the country by our own "
        f"people. Last updated at 12:{v % 60:02d}:{v % 59:02d}</p>"
    ),
    "stock far behind a number of people": lambda n, v: (
        f"<p>{v} people have bought this bench of oak here within the last four weeks of the year. "
        f"Only {n} are left in stock, so order soon.</p>"
    ),
    "price between tokens of other numbers of words": lambda n, v: (
        f'<div data-page=\'{{"csrf":"{parted(v)}","props":{{"price":{n}}},'
        f'"version":"{parted(v + 3)}"}}\'></div>'
    ),
    "price in quoted JSON": lambda n, v: (
        f"""<script>f([1,"{{\\"csrf\\":\\"{parted(v)}\\",\\"price\\":{n},\\"id\\":"""
        f"""\\"{parted(v + 3)}\\"}}"])</script>"""
    ),
    "argument between such tokens": lambda n, v: (
        f"""<b onclick="buy('{parted(v)}',{n},'{parted(v + 4)}')">Buy</b>"""
    ),
    "field of the same name": lambda n, v: (
        f"""<div data-page='{{"item":{{"id":"{n}"}},"visit":{{"id":"{pad(v)}"}}}}'></div>"""
    ),
    "file of another host": lambda n, v: f'<img src="http://i{v % 97}.b.example/of/{n}.jpg">',
    "file in another folder with another parameter": lambda n, v: (
        f'<img src="/in/{pad(v)}/{n}.jpg?at={v}">'
    ),
    "class of what changes": lambda n, v: f'<p>Points <b class="level-{n}">{v}</b></p>',
    "class beside it": lambda n, v: f'<p class="now"><i class="t{n}"></i>{v}.5</p>',
    "words behind a time on some pages": lambda n, v: (
        f"<p>Updated {v}{f' - {n} minutes late' * (n >= 50)}</p>"
    ),
    "words before a number on some pages": lambda n, v: (
        f"<p>{f'Part {n} - ' * (n >= 50)}{v} views</p>"
    ),
    "price behind a price on some pages": lambda n, v: (
        f"<p>Bid: {v} EUR{f', buy now for {n} EUR' * (n >= 50)}</p>"
    ),
    "field behind a token on some pages": lambda n, v: (
        f"""<div data-of='{{"t": {v}{f', "seat": "B{n}"' * (n >= 50)}}}'></div>"""
    ),
    "price that most pages have between such tokens": lambda n, v: (
        f"<p>{parted(v)} · {500 + n // 51} EUR · {parted(v + 3)}</p>"
    ),
    "number among counters, in a box of others": lambda n, v: (
        f'<div class="now"><img src="/of/{pad(v)}.jpg"><img src="/of/{pad(v + 5)}.jpg">'
        f"<p>{v}</p><p>{7 * v}</p><p>{v * v}</p><p>{3_000 + n}</p></div>"
    ),
    "number before a number": lambda n, v: f'<p class="q"><b>{n}:{v}</b></p>',
    "numbers of a script": lambda n, v: f"<script>x='a',q='{n},39.90,{v}'</script>",
    "file in no folder": lambda n, v: f'<img src="/{f"{pad(v)}/photo" if n < 50 else n}.jpg">',
    "file at another depth": lambda n, v: f'<img src="/in{"/x" * (v % 5)}/{pad(v)}/{n}.jpg">',
}


def parted(number: int) -> str:
    """A token with a mark between other letters at each visit, as base64 has."""
    digits = pad(number) + pad(number * 31)
    return "-".join(wrap(digits, 2 + number % 3))


@pytest.mark.parametrize("html", BESIDE_NOISE.values(), ids=BESIDE_NOISE)
def test_what_stays_where_another_value_changes_is_new(html: test_noise.Page) -> None:
    cuts = test_noise.noise_of(html).cuts
    assert test_noise.new(html, cuts, 51, 509)


def test_what_was_before_the_changing_words_on_other_pages_is_new_behind_more_words() -> None:
    """The price of a longer name is where shorter ones have the token of the visit."""

    def html(number: int, visit: int) -> str:
        name = "Bench" if number < 50 else "Old bench of oak"
        data = f'{{"name":"{name}","price":{number},"token":"{pad(visit)}"}}'
        return f"<div data-of='{data}'></div>"

    cuts = test_noise.noise_of(html).cuts
    assert test_noise.new(html, cuts, 51, 509)


def test_a_parameter_of_all_links_of_one_page_may_be_an_id_on_another() -> None:
    """/style.css?v=TIME and /app.js?v=TIME on each page; and /watch?v=17."""

    def plain(number: int, visit: int) -> str:
        assets = "".join(f'<link rel="stylesheet" href="/{n}.css?v={pad(visit)}">' for n in "ab")
        watch = "".join(f'<a href="/watch?v={number * 10 + i}"></a>' for i in range(3))
        return assets + (watch if number >= 50 else f"<p>Page {number}</p>")

    cuts = test_noise.noise_of(plain, 1).cuts
    assert "v" in cuts.parameters
    assert test_noise.new(plain, cuts, 51, 509)


# Crawls -----------------------------------------------------------------------------------------

SAME = prose("same")


def seen(crawl: CrawlFixture, spider: str = "Links", **settings: Any) -> set[str]:
    return crawl(spider, SIMHASH_TAKES=ITEMS, CONCURRENT_REQUESTS=1, **settings).seen()


@pytest.mark.parametrize("place", ["nav", "p"])
def test_links_with_the_parameter_of_their_page_lead_to_pages_of_their_own(
    site: Site, crawl: CrawlFixture, place: str
) -> None:
    """/case?nr=17 says what all say, and leads to /papers?nr=17: nr was never seen to vary."""
    site["/"] = article(prose("start"), [f"/case?nr={n}" for n in range(8)])
    for n in range(8):
        links = f'<{place}><a href="/papers?nr={n}">Papers</a></{place}>'
        site[f"/case?nr={n}"] = shop_page(links)
        site[f"/papers?nr={n}"] = article(prose(f"papers{n}-"))
    assert {f"/papers?nr={n}" for n in range(8)} <= seen(crawl)


def test_a_picture_with_the_parameter_of_its_page_is_new(site: Site, crawl: CrawlFixture) -> None:
    """A photo page, whose picture was a thumbnail of the list."""
    names = [f"/photo?id={n}" for n in range(8)]
    thumbs = "".join(f'<img src="/image?id={n}">' for n in range(8))
    site["/"] = article(prose("start"), names).replace("</main>", f"{thumbs}</main>")
    for n, name in enumerate(names):
        site[name] = shop_page(f'<p><img src="/image?id={n}"></p>')
    assert set(names) <= seen(crawl)


@pytest.mark.parametrize("is_link", [False, True], ids=["pictures", "links to files"])
@pytest.mark.parametrize(
    ("page", "file"),
    [
        ("/{}/p/{}.html", "/{}/full/{}.jpg"),
        ("/{}/{}.html", "/{}/{}.jpg"),
        ("/photo?album={}&n={}", "/image?album={}&n={}"),
        ("/photo/{}/{}.html", "/photo/{}/get?n={}"),
    ],
)
def test_photos_of_albums_that_say_the_same_are_new(
    page: str, file: str, is_link: bool, site: Site, crawl: CrawlFixture
) -> None:
    """Photo 7 of one album is at the address of photo 7 of another but for the album.

    More pages are copies than it takes to trust a rule.  Half of the photos are in a list, too.
    """
    albums, numbers = ("Alps", "Lakes"), range(TRUSTED_AFTER + 6)
    names: dict[str, str] = {}
    for album in albums:
        names |= {page.format(album, n): file.format(album, n) for n in numbers}
    thumbs = "".join(f'<img src="{one}">' for one in [*names.values()][::2])
    site["/"] = article(prose("start"), [*names]).replace("</main>", f"{thumbs}</main>")
    for at, (name, photo) in enumerate(names.items()):
        album, n = albums[at // len(numbers)], at % len(numbers)
        around = [page.format(album, other) for other in (n - 1, n + 1)]
        links = "".join(f'<a href="{one}">Go</a>' for one in around if one in names)
        shown = f'<a href="{photo}">Whole size</a>' if is_link else f'<img src="{photo}">'
        site[name] = shop_page(f"<h1>Photo {n}</h1><p>{shown}</p><p>{links}</p>")
    assert {*names} <= seen(crawl)


def test_a_page_is_a_copy_of_that_which_has_its_picture(site: Site, crawl: CrawlFixture) -> None:
    """Not of the first one that says the same, where the picture has another address."""
    names = [f"/photo?{one}" for one in ("album=1&n=7", "album=2&n=7", "album=2&n=7&ref=mail")]
    site["/"] = article(prose("start"), names)
    for name in names:
        site[name] = shop_page(f'<p><img src="/image?album={name[13]}"></p>')
    found = crawl(SIMHASH_TAKES=ITEMS, CONCURRENT_REQUESTS=1)
    told = {path_of(one["url"]): one for one in found.decisions}
    assert [told[name]["verdict"] for name in names] == ["unique", "variant", "exact_duplicate"]
    assert path_of(told[names[2]]["representative"]) == names[1]


@pytest.mark.parametrize("is_listed", [False, True], ids=["as linked", "from a list"])
def test_pages_of_another_release_are_copies_though_each_leads_to_its_own(
    is_listed: bool, site: Site, crawl: CrawlFixture
) -> None:
    """Every seventh page has changed; of the others, links and pictures are those of the release.

    None of the changed ones is lost, and others are dropped once their links were handed.
    """
    number = 36
    listed = range(number if is_listed else 1)
    site["/"] = article(prose("start"), [f"/{one}/{n}.html" for n in listed for one in (2.0, 2.1)])
    for release in ("2.0", "2.1"):
        for n in range(number):
            text = prose(f"page{n}of{release if n % 7 == 6 else ''}-")
            links = "".join(
                f'<a href="/{release}/{other}.html"><img src="/{release}/{icon}.png"></a>'
                for other, icon in ((n - 1, "back"), (n + 1, "next"))
                if 0 <= other < number
            )
            site[f"/{release}/{n}.html"] = article(text).replace("</main>", f"{links}</main>")
    found = crawl("Links", SIMHASH_TAKES=ITEMS, CONCURRENT_REQUESTS=1)
    others = {f"/{release}/{n}.html" for release in ("2.0", "2.1") for n in range(6, number, 7)}
    assert others <= found.seen()
    assert not is_listed or found.stats["simhash/dropped"] > number // 3


def test_a_tree_of_categories_is_followed_though_some_lead_nowhere(
    site: Site, crawl: CrawlFixture
) -> None:
    """Leaves say what all say, so c seemed not to matter; no page behind the others was met."""
    names = [f"/cat?c={n}" for n in range(20)]
    site["/"] = site["/cat"] = article(prose("start"), names)
    for n, name in enumerate(names):
        more = [f"/cat?c=1{n}{i}" for i in range(2)] if n > 14 else []
        site[name] = article(SAME, ["/cat", *more])
        for one in more:
            site[one] = article(prose(f"items{one[-3:]}-"))
    assert {f"/cat?c=1{n}{i}" for n in range(15, 20) for i in range(2)} <= seen(crawl)


def test_links_on_a_page_whose_callback_ignores_them_are_new_elsewhere(
    site: Site, crawl: CrawlFixture
) -> None:
    site["/"] = article(prose("start"), ["/hub/b", "/hub/a", "/item"])
    site["/item"] = article(prose("item"), ["/shelf/a", "/shelf/b"])
    for name in "ab":
        site[f"/hub/{name}"] = article(SAME, [f"/shelf/{name}"])
        site[f"/shelf/{name}"] = article(prose(f"shelf{name}-"))
    assert {"/shelf/a", "/shelf/b"} <= seen(crawl, "IgnoresLinksOfItems")


OF_REQUESTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "header": ({"headers": {"X-Store": "1"}}, {"headers": {"X-Store": "2"}}),
    "no header": ({}, {"headers": {"X-Store": "2"}}),
    "language": ({"headers": {"Accept-Language": "de"}}, {"headers": {"Accept-Language": "fr"}}),
}


@pytest.mark.parametrize(("one", "other"), OF_REQUESTS.values(), ids=OF_REQUESTS)
def test_what_a_spider_puts_into_a_request_tells_pages_apart(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    facts = Facts()._facts
    first, second = (facts.read(Request("http://a.example/", **of)) for of in (one, other))
    assert first != second


@pytest.mark.parametrize(
    "headers",
    [
        {"User-Agent": "Bot"},
        {"Referer": "http://a.example/17"},
        {"Accept-Language": "en"},
        {"Sec-Ch-Ua-Platform": "Linux"},
        {"X-Trace": "17"},
    ],
)
def test_headers_of_the_client_and_of_all_requests_do_not(headers: dict[str, str]) -> None:
    facts = Facts(SIMHASH_IGNORE_META=["x-trace"])._facts
    first, second = (Request("http://a.example/", headers=of) for of in ({}, headers))
    assert facts.read(first) == facts.read(second)


def test_what_changed_in_a_script_or_a_column_is_no_unchanged_page(
    site: Site, crawl: CrawlFixture
) -> None:
    """With SIMHASH_SKIP_UNCHANGED, the second crawl gets both pages again."""
    site["/"] = article(prose("start"), ["/script", "/column"])

    def write(day: str, cells: str) -> None:
        site["/script"] = shop_page(f'<script>x={{"{day}":{{"n":1}}}}</script>')
        site["/column"] = article(prose("column")).replace("</main>", f"{rows(cells)}</main>")

    write("07-03", "<td>Ann<td>x<td>")
    first = crawl(SIMHASH_TAKES=ITEMS)
    assert {"/script", "/column"} <= first.seen()
    write("08-13", "<td>Ann<td><td>x")
    second = crawl(SIMHASH_TAKES=ITEMS, SIMHASH_SKIP_UNCHANGED=True)
    again = {path_of(item["url"]) for item in second.items[len(first.items) :]}
    assert {"/script", "/column"} <= again
