"""What changes by itself between two visits to one address."""

from __future__ import annotations

import pytest

from scrapy_simhash.index.learned import noise_key
from scrapy_simhash.rule import noise as module
from scrapy_simhash.rule.noise import Noise, Noises, Visit
from tests.indexes import open_index
from tests.pages import PARAMETERS

SITE = "http://a.example"


def visit(values: dict[int, list[int]], *addresses: str) -> Visit:
    return Visit({1: [SITE + address for address in addresses]}, values)


def test_a_place_with_nothing_in_common_is_noise() -> None:
    noise = Noise()
    noise.learn(visit({7: [1], 8: [1], 9: [1, 2]}), visit({7: [2], 8: [1], 9: [2, 3]}))
    assert noise.places == {7}


def test_a_place_that_is_not_always_there_is_noise() -> None:
    noise = Noise()
    noise.learn(visit({7: [1]}), visit({}))
    assert noise.places == {7}


def test_a_place_that_mostly_stays_is_unlearned() -> None:
    noise = Noise()
    noise.learn(visit({7: [1]}), visit({7: [2]}))
    noise.learn(visit({7: [1]}), visit({7: [1]}))
    assert noise.places == {7}
    noise.learn(visit({7: [1]}), visit({7: [1]}))
    assert not noise.places
    noise.learn(visit({7: [1]}), visit({7: [2]}))
    assert noise.places == {7}


def test_a_parameter_with_one_value_a_visit_is_noise_and_its_place_is_not() -> None:
    noise = Noise()
    noise.learn(visit({}, "/a?sid=1", "/b?x=3&sid=1"), visit({}, "/a?sid=2", "/b?x=3&sid=2"))
    assert noise.parameters == {"sid"}
    assert not noise.places
    assert noise.stripped(f"{SITE}/b?x=3&sid=9") == f"{SITE}/b?x=3"
    assert noise.stripped(f"{SITE}/b?x=3&side=9") == f"{SITE}/b?x=3&side=9"
    assert noise.without({1: [f"{SITE}/a?sid=7"]}) == [f"{SITE}/a"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["/product?id=1"], ["/product?id=2"]),
        (["/p?id=1", "/p?id=2"], ["/p?id=3", "/p?id=4"]),
        (["/a?lang=en", "/b?lang=en"], ["/a?lang=en", "/b?lang=en"]),
    ],
)
def test_a_parameter_that_tells_pages_apart_is_no_noise(
    first: list[str], second: list[str]
) -> None:
    noise = Noise()
    noise.learn(visit({}, *first), visit({}, *second))
    assert not noise.parameters
    x, y, z = f"{SITE}/x", f"{SITE}/other/y", f"{SITE}/z"
    own = noise.without({1: [x, y], 2: [z]})
    assert own == ([x, y, z] if first == second else [y, z])


def test_what_is_watched_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WATCHED", 2)
    noise = Noise()
    for place in range(5):
        noise.learn(visit({place: [1]}), visit({place: [2]}))
    assert noise.places == {3, 4}


def test_state_comes_back_and_is_merged_once() -> None:
    noise, other = Noise(), Noise()
    noise.learn(visit({7: [1]}), visit({7: [2]}))
    other.learn(visit({8: [1]}, "/a?s=1", "/b?s=1"), visit({8: [2]}, "/a?s=2", "/b?s=2"))
    for _ in range(2):
        noise.merge(Noise.from_bytes(other.to_bytes()))
    assert noise.places == {7, 8}
    assert noise.parameters == {"s"}
    assert Noise.from_bytes(noise.to_bytes()).to_bytes() == noise.to_bytes()


@pytest.mark.parametrize(
    "stored",
    [
        b"",
        b"{",
        b"7",
        b"[7]",
        b'[["x", 1, 2]]',
        b"[[7, 1]]",
        b"[[null, 1, 1]]",
        b"[[[7, 8], 1, 1]]",
        b"[" * 9999,
    ],
)
def test_damaged_state_is_refused_and_ignored(stored: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        Noise.from_bytes(stored)
    noises = Noises()
    noises.restore("a.example", stored)
    assert not noises.of("a.example").places


def test_the_sites_that_are_known_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SITES", 2)
    noises = Noises()
    for site in "abc":
        noises.learn(site, visit({7: [1]}), visit({7: [2]}))
    assert [bool(noises.of(site).places) for site in "abc"] == [False, True, True]


def test_each_index_learns_what_changes_by_itself(place: str) -> None:
    with open_index(place, PARAMETERS) as index:
        index.learn_noise("a.example", visit({7: [1]}), visit({7: [2]}))
        assert index.noise("a.example").places == {7}
        assert not index.noise("b.example").places


def test_what_one_process_learns_the_next_one_knows(lasting_place: str) -> None:
    with open_index(lasting_place, PARAMETERS) as index:
        index.learn_noise("a.example", visit({7: [1]}), visit({7: [2]}))
        assert index.noise("a.example").places == {7}
    with open_index(lasting_place, PARAMETERS) as index:
        assert index.noise("a.example").places == {7}
        assert [site for site, _ in index.templates()] == [noise_key("a.example")]
        index.learn_noise("a.example", visit({8: [1]}), visit({8: [2]}))
        assert index.noise("a.example").places == {7, 8}
