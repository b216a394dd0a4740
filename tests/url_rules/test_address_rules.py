"""What a rule makes of an address, and what two addresses suggest."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.url_rules.rule import KINDS, AddressRule, Kind, differences
from scrapy_simhash.urls import Address

HOST = "http://a.example"


def suggested(duplicate: str, kept: str) -> set[tuple[Kind, str, str]]:
    one, other = (
        Address.of(url if url.startswith("http") else HOST + url) for url in (duplicate, kept)
    )
    rules = list(differences(one, other))
    for rule in rules:
        for either in (rule, rule.in_order()):
            assert (either.applied(one) or one) == (either.applied(other) or other)
    return {(rule.kind, rule.drop, rule.keep) for rule in rules}


@pytest.mark.parametrize(
    ("duplicate", "kept", "rules"),
    [
        ("/a?sid=1", "/a", {("parameter", "sid", "")}),
        ("/a?x=1&y=2&z=3&id=7", "/a?id=7", {("only", "", "id")}),
        ("/a?x=1&y=2&z=3", "/a", {("only", "", "")}),
        ("/a;jsessionid=1f", "/a", {("path_parameter", "jsessionid", "")}),
        ("/a;jsessionid=1f/b", "/a;jsessionid=2c/b", {("path_parameter", "jsessionid", "")}),
        ("/a/lamp.print.html", "/a/lamp.html", {("suffix", ".print", "")}),
        ("/a/lamp_print.html", "/a/lamp.html", {("suffix", "_print", "")}),
        ("/a/lamp/amp", "/a/lamp", {("suffix", "/amp", "")}),
        ("/a/lamp/amp/", "/a/lamp/", {("path", "/amp/", "/")}),
        ("/print/lamp", "/a/lamp", {("path", "/print/", "/a/"), ("segment", "/*/", "")}),
        ("/x/1/lamp", "/x/2/lamp", {("path", "/1/", "/2/"), ("segment", "/x/*/", "")}),
        ("/a/b/a/b/lamp", "/a/b/lamp", {("path", "/a/b/", "/")}),
        ("/x/index.html", "/x/", {("path", "/index.html", "/")}),
        ("http://www.a.example/a", "/a", {("host", "www.a.example", "a.example")}),
        ("https://a.example/a", "/a", {("scheme", "https", "http")}),
        ("/lamp-2.html", "/lamp.html", set()),
        ("/a/lamps", "/a/lamp", set()),
        ("/a?x=1", "/b", set()),
        ("/a", "/a", set()),
    ],
)
def test_two_addresses_suggest_rules(
    duplicate: str, kept: str, rules: set[tuple[Kind, str, str]]
) -> None:
    if ("path", "/a/b/", "/") in rules:  # that rule would need to be applied twice
        one, other = Address.of(HOST + duplicate), Address.of(HOST + kept)
        assert {(one.kind, one.drop, one.keep) for one in differences(one, other)} == rules
    else:
        assert suggested(duplicate, kept) == rules


@pytest.mark.parametrize(
    ("rule", "url", "canonical"),
    [
        (("only", "", "id"), "/a?b=1&id=2", "/a?id=2"),
        (("only", "", ""), "/a?b=1", "/a"),
        (("only", "", "id"), "/a?id=2", None),
        (("segment", "/s/*/", ""), "/s/17/lamp", "/s/*/lamp"),
        (("segment", "/s/*/", ""), "/s/lamp", None),
        (("segment", "/s/*/", ""), "/t/17/lamp", None),
        (("suffix", ".print", ""), "/lamp.print", "/lamp"),
        (("suffix", "/amp", ""), "/amp", None),
        (("path_parameter", "sid", ""), "/a;x=1;sid=2", "/a;x=1"),
        (("scheme", "http", "https"), "/a", "https://a.example/a"),
        (("host", "a.example", "b.example"), "/a", "http://b.example/a"),
        (("path", "/", "/new/"), "/a", "/new/a"),
        (("path", "/", "/new/"), "", "/new/"),
        (("path", "/x/", "/y/"), "/a/x/x/b", "/a/y/x/b"),
        (("path", "/x/", "/y/"), "/a/b", None),
    ],
)
def test_a_rule_has_one_address_for_those_of_a_page(
    rule: tuple[Kind, str, str], url: str, canonical: str | None
) -> None:
    kind, drop, keep = rule
    applied = AddressRule(kind, "a.example", drop, keep).applied(Address.of(HOST + url))
    whole = canonical if canonical is None or "//" in canonical[1:] else HOST + canonical
    assert applied == (whole and Address.of(whole))


@given(st.text("ab=&%2+6;", max_size=20))
def test_parameters_are_those_that_the_library_finds(query: str) -> None:
    found = Address.of(f"{HOST}/?{query}").parameters
    assert found == tuple(parse_qsl(query, keep_blank_values=True))


@given(st.text(max_size=80), st.text(max_size=80))
def test_no_address_is_too_odd_for_a_rule(path: str, other: str) -> None:
    one, two = Address.of(f"{HOST}/{path}"), Address.of(f"{HOST}/{other}")
    for rule in differences(one, two):
        assert rule.applied(one) or rule.applied(two)
        assert str(rule)
        assert rule.in_order() == rule.in_order().in_order()


@pytest.mark.parametrize("kind", KINDS)
@given(url=st.text(max_size=60), drop=st.text(max_size=8), keep=st.text(max_size=8))
def test_no_rule_from_a_file_is_too_odd(kind: Kind, url: str, drop: str, keep: str) -> None:
    AddressRule(kind, "", drop, keep).applied(Address.of(url))
