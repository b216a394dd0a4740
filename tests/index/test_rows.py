"""What is in an index after pages were stored, forgotten, moved and taken back."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import replace

import pytest

from scrapy_simhash.decision.holdings import PageValues
from scrapy_simhash.decision.page import met_by
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index import opening
from tests.indexes import Blocking, groups, ids_by_name, open_index
from tests.pages import PARAMETERS, UNIQUE, near, page


@pytest.fixture
def index(place: str) -> Iterator[Blocking]:
    with open_index(place, PARAMETERS) as opened:
        yield opened


def test_page_is_found_after_others_have_forgotten_theirs(lasting_place: str) -> None:
    """The number of a forgotten row is not used again: others have seen all up to that."""
    with open_index(lasting_place, PARAMETERS) as one, open_index(lasting_place, PARAMETERS) as two:
        one.check_and_add(page("a", 0))
        one.forget(ids_by_name(one).values())
        two.check_and_add(page("b", 0b1111))
        assert one.check(page("c", 0b1110)) == near("b", 1)


@pytest.mark.parametrize("names", ["aab", "aba"])
def test_page_is_found_after_others_have_changed_theirs(lasting_place: str, names: str) -> None:
    """The number of a change is not used again, whether or not it is the last."""
    with open_index(lasting_place, PARAMETERS) as one, open_index(lasting_place, PARAMETERS) as two:
        for name, fingerprint in zip(names, (0, 0xFF, 0xFF00), strict=True):
            one.check_and_add(page(name, fingerprint))
        assert two.check_and_add(page("c", 0xFF0000)) == UNIQUE
        assert one.check(page("d", 0xFF0001)) == near("c", 1)


def test_heir_is_found_by_others_who_have_the_index_open(lasting_place: str) -> None:
    """It has the id of the forgotten page, which they know, and another fingerprint."""
    with (
        open_index(lasting_place, PARAMETERS) as one,
        open_index(lasting_place, PARAMETERS) as two,
    ):
        for name, fingerprint in [("a", 0b00), ("b", 0b11)]:
            one.check_and_add(page(name, fingerprint))
        assert two.check(page("c", 0b01)) == near("a", 1)
        one.forget([ids_by_name(one)["a"]])
        assert two.check(page("c", 0b1111)) == near("b", 2)
        assert two.check(page("c", 0b00)) == near("b", 2)


def test_page_that_is_a_duplicate_by_now_is_not_withdrawn(index: Blocking) -> None:
    page_a = page("a", 0b0)
    decision = index.check_and_add(page_a)
    index.forget([ids_by_name(index)["a"]])
    index.check_and_add(page("b", 0b1))
    assert index.check_and_add(page_a).is_duplicate
    index.withdraw("", page_a.request_fingerprint, decision)
    assert groups(index) == {"b": None, "a": "b"}


def test_request_that_takes_the_place_of_another_page_has_one_row(index: Blocking) -> None:
    """It was a duplicate of that page for one crawl, and is met first by the next one."""
    for name, fingerprint in [("a", 0b00), ("b", 0b01), ("c", 0b10)]:
        index.check_and_add(replace(page(name, fingerprint), met_by=met_by(1)))
    moved = index.check_and_add(replace(page("b", 0b01), met_by=met_by(2)))
    assert moved.reason == "moved"
    assert groups(index) == {"b": None, "c": "b", "a": "b"}
    assert index.counts() == (3, 1)


def test_page_whose_place_another_has_taken_is_a_copy_of_that_one(index: Blocking) -> None:
    """It keeps what was stored of it, and may take its place back."""
    first = replace(page("a", 0b00), met_by=met_by(1))
    index.check_and_add(first)
    index.check_and_add(replace(page("b", 0b01), met_by=met_by(2)))
    ids = ids_by_name(index)
    assert groups(index) == {"b": None, "a": "b"}
    (row,) = (row for row in index.rows() if row.id == ids["a"])
    assert replace(row.page, judged_at=1.5) == first
    assert index.check_and_add(replace(first, met_by=met_by(2))) == near("b", 1)
    assert index.check_and_add(replace(first, met_by=met_by(3))).reason == "moved"
    assert groups(index) == {"a": None, "b": "a"}
    index.forget([ids_by_name(index)["a"]])
    assert groups(index) == {"b": None}


def test_only_what_is_stored_of_a_page_is_kept(index: Blocking) -> None:
    """Memory that nobody reads again."""
    whole = replace(
        page("a", 0b0),
        site="site.example",
        section="site.example/a",
        blocks=(1, 2),
        holds=PageValues(loose=array("Q", [1])),
        canonical="http://site.example/other",
        view_under=lambda template: None,
    )
    index.check_and_add(whole)
    (row,) = index.rows()
    named = replace(page("a", 0b0), canonical="http://site.example/other")
    assert replace(row.page, judged_at=1.5) == named
    assert row.page.view_under is None
    assert len({whole, row.page}) == 2  # a page can be in a set


def test_page_without_blocks_teaches_nothing(lasting_place: str) -> None:
    with open_index(lasting_place, PARAMETERS) as index:
        assert index.check_and_add(page("a", 0b0)) == UNIQUE
    with open_index(lasting_place, PARAMETERS) as index:
        assert index.templates() == []


def test_index_in_memory_does_not_last() -> None:
    with pytest.raises(IndexUnavailableError, match="must be a file or in Redis here"):
        opening.open_lasting("memory:", PARAMETERS)
