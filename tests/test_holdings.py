"""What a spider could take from a page beside its text: links, and what names it."""

from __future__ import annotations

import json

import pytest

from scrapy_simhash.analysis import holdings
from scrapy_simhash.analysis.extraction import parse
from scrapy_simhash.analysis.holdings import identity_in, links_of
from scrapy_simhash.analysis.page import Analyser
from scrapy_simhash.rule.identity import MAX_HASHES, identity_of, is_another

URL = "http://a.example/shop/list?page=2"


def links(html: str) -> tuple[str, ...] | None:
    tree = parse(f"<html><body>{html}</body></html>".encode(), "utf-8")
    assert tree is not None
    return links_of(tree, URL)


def identity(html: str) -> bytes | None:
    tree = parse(f"<html><head><title>x</title></head><body>{html}</body></html>".encode(), "utf-8")
    assert tree is not None
    return identity_in(tree)


@pytest.mark.parametrize(
    ("href", "address"),
    [
        ("http://b.example/x#part", "http://b.example/x"),
        ("/x", "http://a.example/x"),
        ("x", "http://a.example/shop/x"),
        ("?page=3", "http://a.example/shop/list?page=3"),
        ("//c.example/x", "http://c.example/x"),
        (" /x ", "http://a.example/x"),
        ("/x/../y", "http://a.example/y"),
        ("http://b.example/[x]", "http://b.example/[x]"),
        ("http://b.example/x\u00e4", "http://b.example/x\u00e4"),
    ],
)
def test_links_are_whole_addresses(href: str, address: str) -> None:
    assert links(f'<main><a href="{href}">x</a></main>') == (address,)


@pytest.mark.parametrize(
    "href",
    [
        *("", "#top", "javascript:void(0)", "mailto:a@b.example", "data:,x"),
        *("http://[bad/", "http://bad]/", "//[bad/", "http://a\u2100b.example/"),
    ],
)
def test_what_leads_to_no_page_is_no_link(href: str) -> None:
    assert links(f'<main><a href="{href}">x</a></main>') == ()


def test_links_beside_the_content_do_not_count_but_those_of_a_pagination_do() -> None:
    found = links(
        '<nav><a href="/menu">x</a></nav><div class="sidebar"><p><a href="/side">x</a></p></div>'
        '<main><a href="/own">x</a></main><nav class="pagination"><a href="/2">2</a></nav>'
        '<aside><a rel="next" href="/next">x</a></aside>'
    )
    assert found == ("http://a.example/own", "http://a.example/2", "http://a.example/next")


def test_header_of_a_card_is_no_sidebar() -> None:
    assert links('<article><header><a href="/post">x</a></header></article>') == (
        "http://a.example/post",
    )
    assert links('<header><a href="/start">x</a></header>') == ()
    assert links('<main><nav><a href="/menu">x</a></nav></main>') == ()


def test_too_many_links_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holdings, "MAX_LINKS", 2)
    assert links("".join(f'<a href="/{i}">x</a>' for i in range(2))) is not None
    assert links("".join(f'<a href="/{i}">x</a>' for i in range(3))) is None


def test_without_verification_neither_links_nor_names_are_looked_for() -> None:
    page = f'<main>{in_json(sku="A1")}<p>Text.</p><a href="/x">x</a></main>'.encode()
    found = Analyser.create(extractor="text").analyse(page, "utf-8", URL)
    assert (found.links, found.identity) == (("http://a.example/x",), identity(in_json(sku="A1")))
    found = Analyser.create(extractor="text", verify=False).analyse(page, "utf-8", URL)
    assert (found.links, found.identity) == ((), None)


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
