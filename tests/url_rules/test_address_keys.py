"""The key of an address, and of what rules make of it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from scrapy_simhash.url_rules.learner import KeyedAddress
from scrapy_simhash.url_rules.rule import AddressRule
from scrapy_simhash.urls import Address

HOST = "a.example"
RULES = [
    AddressRule("parameter", HOST, "sid", ""),
    AddressRule("only", HOST, "", "id"),
    AddressRule("path", HOST, "/print/", "/"),
    AddressRule("path_parameter", HOST, "jsessionid", ""),
    AddressRule("host", HOST, HOST, "www.a.example"),
    AddressRule("scheme", HOST, "http", "https"),
]


def key(url: str, jar: str = "") -> int:
    return KeyedAddress(Address.of(url), jar).key


@pytest.mark.parametrize("rules", [*[[rule] for rule in RULES], RULES, []])
def test_what_rules_make_of_an_address_has_the_key_that_it_has_by_itself(
    rules: list[AddressRule],
) -> None:
    url = "http://a.example/print/lamp;jsessionid=1f?id=7&sid=1&x=2"
    own = KeyedAddress(Address.of(url), "jar")
    changed = own.address
    for rule in rules:
        changed = rule.applied(changed) or changed
    assert own.key_of(changed) == KeyedAddress(changed, "jar").key
    assert (own.key_of(changed) == own.key) is (not rules)


def test_a_key_is_that_of_all_parts_but_for_the_order_of_parameters() -> None:
    assert key("http://a.example/x?a=1&b=2") == key("http://a.example/x?b=2&a=1")
    urls = [
        "http://a.example/x?a=1&b=2",
        "http://a.example/x?a=1",
        "http://a.example/x?a=1&a=1",
        "http://a.example/x?a=2&b=1",
        "http://a.example/x?a1=",
        "http://a.example/x",
        "http://a.example/xa",
        "http://a.examplex/a",
        "https://a.example/x",
    ]
    keys = {key(url, jar) for url in urls for jar in ("", "1")}
    assert len(keys) == 2 * len(urls)
    assert all(0 <= one < 1 << 64 for one in keys)


def test_two_addresses_are_never_taken_for_one() -> None:
    """In the process whose secret is 45, half of the pairs have the last 8 bits in common."""
    code = """
from tests.url_rules.test_address_keys import key
from scrapy_simhash.url_rules.learner import Sighting
pairs = [[key(f"http://a.example/p{i}?sid={n}") for n in (3, 4)] for i in range(1000)]
assert sum(one % 256 == other % 256 for one, other in pairs) > 500
assert not any(Sighting.of(1, one, True).is_at(other) for one, other in pairs)
assert all(Sighting.of(1, one, True).is_at(one) for one, _ in pairs)
"""
    environ = {**os.environ, "PYTHONHASHSEED": "45"}
    subprocess.run([sys.executable, "-c", code], env=environ, check=True)
