"""What a spider could take from a page beside its text: links, media, data, and what names it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.analysis import holdings
from scrapy_simhash.analysis.extraction import parse
from scrapy_simhash.analysis.holdings import NOTHING, Holdings, holdings_of
from scrapy_simhash.analysis.page import Analyser
from scrapy_simhash.analysis.walk import walk
from scrapy_simhash.rule.hashes import lowest_halves, pack_hashes
from scrapy_simhash.rule.holdings import (
    MAX_DATA,
    OwnData,
    are_among,
    pack_addresses,
    pack_data,
    reference_are_among,
)
from scrapy_simhash.rule.identity import MAX_HASHES, identity_of, is_another

URL = "http://a.example/shop/list?page=2"


def held(html: str) -> Holdings:
    tree = parse(f"<html><head><title>x</title></head><body>{html}</body></html>")
    assert tree is not None
    return holdings_of(tree, *walk(tree), URL)


def links(html: str) -> tuple[str, ...]:
    return tuple(chain.from_iterable(held(html).links.values()))


def media(html: str) -> tuple[str, ...]:
    found = held(html)
    assert not found.links
    return tuple(chain.from_iterable(found.media.values()))


def mentioned(html: str) -> tuple[str, ...]:
    return tuple(chain.from_iterable(held(html).mentioned.values()))


def identity(html: str) -> bytes | None:
    return held(html).identity


@pytest.mark.parametrize(
    ("href", "address"),
    [
        ("http://b.example/x#part", "http://b.example/x"),
        ("/x", "http://a.example/x"),
        ("x", "http://a.example/shop/x"),
        ("?page=3", "http://a.example/shop/list?page=3"),
        ("//c.example/x", "http://c.example/x"),
        ("//c.example/x?", "http://c.example/x"),
        ("//c.example/x;", "http://c.example/x"),
        ("//c.example?y", "http://c.example?y"),
        ("///x", "http://a.example/x"),
        (" /x ", "http://a.example/x"),
        ("/x/../y", "http://a.example/y"),
        ("../x", "http://a.example/x"),
        ("../../x", "http://a.example/x"),
        ("../x/../y", "http://a.example/y"),
        ("../.x", "http://a.example/.x"),
        ("./x", "http://a.example/shop/x"),
        ("x/y?a=../b", "http://a.example/shop/x/y?a=../b"),
        ("..", "http://a.example/"),
        ("../..", "http://a.example/"),
        ("x:y", None),
        ("http://b.example/[x]", "http://b.example/[x]"),
        ("http://b.example/x\u00e4", "http://b.example/x\u00e4"),
    ],
)
def test_links_are_whole_addresses(href: str, address: str | None) -> None:
    found = links(f'<main><a href="{href}">x</a></main>')
    assert found == (() if address is None else (address,))


@pytest.mark.parametrize(
    "href",
    [
        *("", "#top", "javascript:void(0)", "mailto:a@b.example", "data:,x"),
        *("http://[bad/", "http://bad]/", "//[bad/", "http://a\u2100b.example/"),
    ],
)
def test_what_leads_to_no_page_is_no_link(href: str) -> None:
    assert links(f'<main><a href="{href}">x</a></main>') == ()


def test_links_count_wherever_they_stand() -> None:
    found = links(
        '<nav><a href="/menu">x</a></nav><div class="sidebar"><p><a href="/side">x</a></p></div>'
        '<main><a href="/own">x</a><area href="/part"></main><link rel="next" href="/2">'
        '<link rel="stylesheet" href="/style.css">'
    )
    names = ("menu", "side", "own", "part", "2")
    assert set(found) == {f"http://a.example/{name}" for name in names}


def test_links_beside_the_content_that_are_not_to_be_followed_do_not_count() -> None:
    link = '<a rel="nofollow" href="/source">x</a>'
    assert links(f'<div class="sidebar"><p>{link}</p></div><main>x</main>') == ()
    assert links(f"<main>{link}</main>") == ("http://a.example/source",)


@pytest.mark.parametrize(
    ("html", "addresses"),
    [
        ('<img src="1.jpg">', ["/shop/1.jpg"]),
        ('<img srcset="/1.jpg 1x, /2.jpg 2x">', ["/1.jpg", "/2.jpg"]),
        ('<picture><source srcset="/1.webp 800w,/2.webp 1600w"></picture>', ["/1.webp", "/2.webp"]),
        ('<video src="/1.mp4" poster="/1.jpg"></video>', ["/1.mp4", "/1.jpg"]),
        ('<audio><source src="/1.ogg"></audio>', ["/1.ogg"]),
        ('<iframe src="/map?at=3"></iframe>', ["/map?at=3"]),
        ('<object data="/1.pdf"></object>', ["/1.pdf"]),
        ("<div style=\"background: url('/1.jpg')\">x</div>", ["/1.jpg"]),
        ('<img src="javascript:void(0)">', []),
    ],
)
def test_what_a_page_shows(html: str, addresses: list[str]) -> None:
    assert media(html) == tuple(f"http://a.example{one}" for one in addresses)


DATA = [
    '<img alt="{}">',
    '<p title="{}">x</p>',
    '<button aria-label="{}">x</button>',
    '<input type="hidden" name="item" value="{}">',
    '<select><option value="{}">x</option></select>',
    '<div data-id="{}">x</div>',
    """<div data-product='{{"id": "{}"}}'>x</div>""",
    '<meta property="product:price" content="{}">',
    '<span itemprop="price" content="{}">x</span>',
    "<button onclick=\"show('{}')\">x</button>",
    '<img src="data:image/png;base64,{}">',
    '<script>window.__STATE__ = {{"product": {{"name": "{}"}}}}</script>',
    "<script>var product = {{name: '{}', tags: [1, 2]}};</script>",
    '<script type="application/json" id="__NEXT_DATA__">{{"props": ["{}"]}}</script>',
    '<script type="application/ld+json">{{"@type": "Product", "name": "{}"}}</script>',
    r'<script>self.__next_f.push([1, "{{\"name\": \"{}\"}}"])</script>',
    '<script type="application/json">{{"broken": "{}"</script>',
]


@pytest.mark.parametrize("html", DATA)
def test_values_that_differ_are_other_data_in_the_same_place(html: str) -> None:
    one, other = held(html.format("one")).data, held(html.format("other")).data
    assert one.keys() == other.keys()
    assert one != other
    assert held(html.format("one")).data == one


@pytest.mark.parametrize(
    "html",
    [
        '<div data-href="{}">x</div>',
        '<form action="{}"></form>',
        '<script type="application/ld+json">{{"image": ["{}"]}}</script>',
        '<script>location.href = "{}"</script>',
        r'<script>page = {{"next": "\/other"}}</script>',
    ],
)
def test_addresses_in_data_are_whole(html: str) -> None:
    assert mentioned(html.format("/other")) == ("http://a.example/other",)


def test_the_title_of_another_page_is_no_data() -> None:
    assert not held('<link rel="next" href="/2" title="Next">').data
    link = '<a href="/2" title="Next">Next</a>'
    assert not held(f"<div role=navigation><ul><li>{link}</ul></div><p>x</p>").data
    assert held(f"<main><ul><li>{link}</ul></main>").data


def test_equal_values_in_other_places_are_other_data() -> None:
    one, other = held('<p data-a="1">x</p>').data, held('<p data-b="1">x</p>').data
    assert one.keys().isdisjoint(other)
    assert set(chain.from_iterable(one.values())).isdisjoint(chain.from_iterable(other.values()))
    elsewhere = held('<div class="print"><b data-a="1">x</b></div>').data
    assert one.keys().isdisjoint(elsewhere)
    assert list(one.values()) == list(elsewhere.values())


def test_places_have_no_numbers() -> None:
    def places(number: int) -> set[int]:
        html = f'<div class="post post-{number}" id="p{number}"><i class="like" data-n="{number}">'
        return set(held(html).data)

    assert places(1) == places(2)
    box = '<div class="{}"><ul><li><a href="/x">x</a></li></ul></div>'
    assert held(box.format("related")).links.keys() != held(box.format("results")).links.keys()


@pytest.mark.parametrize(
    ("names", "own"),
    [
        ("box box-7 b12x 3", "box"),
        ("  a\tb  2 ", "a b"),
        ("caf\u00e9 caf\u00e92 x\u00b2 \u0663y", "caf\u00e9"),
        ("n" * 300 + " n1 end", "n" * 300 + " end"),
        ("12 3a", ""),
    ],
)
def test_names_with_a_digit_are_left_out_of_a_place(names: str, own: str) -> None:
    with_names, without = (f'<b class="{one}"><a href="/x">x</a></b>' for one in (names, own))
    assert held(with_names).links == held(without).links


def test_names_without_a_digit_are_part_of_a_place() -> None:
    one, other = (held(f'<b class="{names}"><a href="/x">x</a></b>') for names in ("a b", "a c"))
    assert one.links != other.links


def test_many_values_in_one_place_count_as_one() -> None:
    def options(numbers: Iterable[int]) -> dict[int, tuple[int, ...]]:
        return dict(held("".join(f'<option value="{i}">x</option>' for i in numbers)).data)

    few, many = range(holdings.MAX_IN_PLACE), range(holdings.MAX_IN_PLACE + 1)
    assert [len(values) for values in options(few).values()] == [len(few)]
    assert [len(values) for values in options(many).values()] == [1]
    assert options(many) == options(reversed(many))
    assert options(many) != options([*few, 99])


def test_what_is_beyond_the_limits_counts_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holdings, "MAX_VALUES", 2)
    monkeypatch.setattr(holdings, "MAX_SCRIPT_CHARACTERS", 30)
    for html in ('<i data-a="1" data-b="2" data-c="{}">', f"<script>{'x' * 30} = {{}}</script>"):
        one, other = held(html.format("3")).data, held(html.format("4")).data
        assert one.keys() == other.keys()
        assert one[0] != other[0]


def test_values_beyond_the_limits_do_not_cancel_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(holdings, "MAX_VALUES", 1)
    one, other = (held(f'<i data-a="1">{f"<i data-b={i}>" * 2}').data for i in (3, 4))
    assert one[0] != other[0]


@pytest.mark.parametrize("end", ["#{}", "x" * 10_000 + "{}"])
def test_a_picture_within_the_page_counts_whole(end: str) -> None:
    one, other = (held(f'<img src="data:image/png;base64,{end.format(i)}">').data for i in (1, 2))
    assert one.keys() == other.keys()
    assert one != other


def test_sources_with_a_picture_within_the_page_count() -> None:
    one, other = (held(f'<img srcset="data:image/png,x 1x, /{i}.jpg 2x">') for i in (1, 2))
    assert one != other
    assert one.data


def test_too_many_addresses_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holdings, "MAX_ADDRESSES", 2)
    pages = [held("".join(f'<a href="/{i}">x</a>' for i in range(number))) for number in (2, 3)]
    assert [page.is_whole for page in pages] == [True, False]
    assert not list(pages[1].addresses())


def test_without_verification_nothing_is_looked_for() -> None:
    page = f'<main>{in_json(sku="A1")}<p>Text.</p><a href="/x">x</a></main>'.encode()
    found = Analyser.create(extractor="text").analyse(page, "utf-8", URL)
    assert found.holdings == held(page.decode())
    assert found.addresses == pack_addresses(["http://a.example/x"])
    found = Analyser.create(extractor="text", verify=False).analyse(page, "utf-8", URL)
    assert (found.holdings, found.addresses, found.data) == (NOTHING, None, None)


def test_of_data_what_the_site_repeats_is_not_stored() -> None:
    page = b'<main><p data-own="1" data-site="2">Some text here.</p><p>And more of it.</p></main>'
    analyser = Analyser.create(extractor="text")
    found = analyser.analyse(page, "utf-8", URL)
    values = set(chain.from_iterable(found.holdings.data.values()))
    assert len(values) == 2
    assert values <= set(found.blocks)
    own, repeated = sorted(values)
    assert found.data == pack_data(values)
    assert analyser.analyse(page, "utf-8", URL, {repeated}).data == pack_data([own])


@pytest.mark.parametrize("text", ['"\\' * 20_000, "'" * 20_001, "{" * 20_000, '"\\"' * 20_000])
def test_hostile_scripts_take_no_longer_than_others(text: str) -> None:
    started = perf_counter()
    held(f"<script>{text}</script>")
    assert perf_counter() - started < 2  # quadratic, it is 20 s and more


def test_a_long_name_costs_no_more_than_others() -> None:
    document = f'{{"{"k" * 500_000}":[{"1," * 200_000}1]}}'
    started = perf_counter()
    held(f'<script type="application/json">{document}</script>')
    assert perf_counter() - started < 5  # with the whole name before each value, 31 s


def test_names_that_end_differently_tell_values_apart() -> None:
    def data(names: list[str]) -> dict[int, tuple[int, ...]]:
        document = "".join(f'{{"{name}":' for name in names) + "1" + "}" * len(names)
        return dict(held(f'<script type="application/json">{document}</script>').data)

    path = ["a"] * 20
    assert data([*path, "b"]) != data([*path, "c"])
    assert data([*path, "b"]) == data([*path, "b"])


def in_json(**fields: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(fields)}</script>'


def test_identifiers_are_found_in_json_ld_microdata_and_rdfa() -> None:
    expected = identity(in_json(sku="A 1"))
    assert expected is not None
    assert identity(in_json(offers=[{"sku": "A 1"}])) == expected
    assert identity('<span itemprop="sku">A\n1</span>') == expected
    assert identity('<meta itemprop="sku" content="A 1">') == expected
    assert identity('<span property="schema:sku">A 1</span>') == expected
    assert identity(in_json(sku="A 2")) != expected
    assert identity(in_json(gtin13="A 1")) != expected
    value = {"@type": "PropertyValue", "value": "17/2021"}
    assert identity(in_json(identifier=value)) == identity(in_json(identifier="17/2021"))


@pytest.mark.parametrize(
    "html",
    [
        "",
        in_json(name="A 1", price=3),
        '<script type="application/ld+json">{"sku": </script>',
        f'<script type="application/ld+json">{"[" * 100_000}</script>',
        '<script type="text/template">{"sku": 1}</script>',
        f'<span itemprop="sku">{"x" * 1000}</span>',
        '<span itemprop="sku"> </span>',
    ],
)
def test_page_without_identifiers_has_no_identity(html: str) -> None:
    assert identity(html) is None


def test_a_page_is_another_if_it_names_what_the_kept_one_does_not() -> None:
    one, both, other = identity_of({1}), identity_of({1, 2}), identity_of({3})
    assert not is_another(one, one)
    assert not is_another(one, both)
    assert is_another(both, one)
    assert is_another(one, other)
    assert not is_another(None, one)
    assert not is_another(one, None)


def test_many_identifiers_are_compared_as_a_whole() -> None:
    many = set(range(MAX_HASHES + 1))
    assert not is_another(identity_of(many), identity_of(many))
    assert is_another(identity_of(many - {0}), identity_of(many))
    assert is_another(identity_of(many), identity_of(many | {99}))


def test_a_page_has_new_data_if_the_kept_one_has_not_all_of_it() -> None:
    one, two = 1 << 32, 2 << 32
    assert not OwnData({7: (one,)}, (), ()).has_new(pack_data([one, two]))
    assert OwnData({7: (one, two)}, (), ()).has_new(pack_data([one]))
    assert not OwnData({7: (one, two)}, {two}, ()).has_new(pack_data([one]))
    assert not OwnData({7: (one,), 8: (two,)}, (), {8}).has_new(pack_data([one]))
    assert OwnData({7: (one,)}, (), ()).has_new(None)


def test_of_many_values_those_beyond_the_stored_ones_are_not_new() -> None:
    many = [i << 32 for i in range(2 * MAX_DATA)]
    stored = pack_data(many)
    assert len(stored) == 4 * MAX_DATA
    assert not OwnData({7: many}, (), ()).has_new(stored)
    assert OwnData({7: [(1 << 32) * (MAX_DATA - 2)]}, (), ()).has_new(pack_data(many[::2])) is False
    assert OwnData({7: [1 << 32]}, (), ()).has_new(pack_data(many[::2]))


@given(
    st.integers(1, 5),
    st.lists(st.integers(0, 1 << 34) | st.integers(0, (1 << 64) - 1)),
    st.sets(st.integers(0, 50)),
)
def test_lowest_halves_are_the_lowest_of_all_that_count(
    count: int, hashes: list[int], places: set[int]
) -> None:
    without = {value for place, value in enumerate(hashes) if place in places}
    halves = {value >> 32 for value in hashes if value not in without}
    assert lowest_halves(count, hashes, without) == sorted(halves)[:count]


@pytest.mark.skipif(are_among is reference_are_among, reason="not compiled")
@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_compiled_comparison_of_hashes_says_what_the_reference_says(
    some: set[int], others: set[int]
) -> None:
    for one, all_ in ((some, others), (some, some | others)):
        packed = pack_hashes(one), pack_hashes(all_)
        assert are_among(*packed) == reference_are_among(*packed) == (one <= all_)


@pytest.mark.parametrize(
    ("html", "counts"),
    [
        ("<p>Welcome</p><div class=menu><p>Soup 3.50</p><p>Bread 1.20</p></div>", True),
        ("<p>Welcome to all of you</p><div class=menu><p>Soup 3.50</p></div>", False),
        ("<p>Welcome</p><div class=menu><p><a href=/s>Soup of the day</a></p></div>", False),
        ("<p><a href=/s>All that we have</a></p><div class=menu><p>Soup 3.50</p></div>", True),
        ("</main><p>Welcome</p><div class=menu><p>Soup 3.50 of today</p></div>", False),
        ("</main><aside><p>Soup 3.50</p></aside>", False),
    ],
)
def test_text_named_beside_the_content_is_data_where_it_is_most_of_the_text(
    html: str, counts: bool
) -> None:
    html = f"<main>{html}"
    assert set(held(html).data) == ({holdings.PLACE_NAMED_BESIDE} if counts else set())
    assert (held(html).data != held(html.replace("Soup", "Stew")).data) is counts
