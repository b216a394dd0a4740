"""A copy among thousands of variants of one text is found by the values that only its page has."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.decision.judge import MAX_COMPARED
from scrapy_simhash.index import variants as module
from scrapy_simhash.index.variants import MOST_FOUND, RARE_OF_PAGE, Variants
from tests.decision.test_items import Judge, shop_page
from tests.indexes import open_index

# Ids as values have them: the lowest 16 bits are a place.
ONE = 1 << 16
RARE = 1_000 * ONE
COMMON = [number * ONE for number in range(100)]


def test_a_page_is_found_by_what_few_have() -> None:
    variants = Variants()
    assert not variants.like([RARE, *COMMON])
    for row_id in range(1, 50):
        variants.add([row_id * RARE, *COMMON], row_id)
    for row_id in range(1, 50):
        assert variants.like([row_id * RARE, *COMMON])[0] == row_id
    assert 17 not in variants.like([50 * RARE])


def test_pages_with_most_values_come_first_and_few_are_found() -> None:
    variants = Variants()
    for row_id in range(1, 2 * MOST_FOUND):
        variants.add([row_id * RARE, row_id * RARE + ONE, *COMMON], row_id)
    firsts = [row_id * RARE for row_id in range(1, 2 * MOST_FOUND)]
    found = variants.like([*firsts, 7 * RARE + ONE])
    assert found[0] == 7
    assert len(found) == MOST_FOUND


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_VALUES", 2 * RARE_OF_PAGE)
    variants = Variants()
    for row_id in range(1, 4):
        variants.add(range(row_id * RARE, row_id * RARE + RARE_OF_PAGE), row_id)
    assert not variants.like(range(RARE, RARE + RARE_OF_PAGE))
    for row_id in (2, 3):
        assert variants.like([row_id * RARE]) == [row_id]


@given(st.lists(st.lists(st.integers(0, 50), max_size=9), max_size=20), st.integers(0, 50))
def test_no_page_is_found_that_has_not_the_value(pages: list[list[int]], value: int) -> None:
    variants = Variants()
    for row_id, values in enumerate(pages):
        variants.add(values, row_id)
    for row_id in variants.like([value]):
        assert value in pages[row_id]


@pytest.mark.parametrize("place", ["memory:", "file"])
def test_copies_of_many_variants_are_found(place: str, tmp_path: Path) -> None:
    judge = Judge()
    if place != "memory:":
        judge.index.close()
        judge.index = open_index(tmp_path / "index", judge.pipeline.parameters)
    pages = [
        shop_page(f'<form class="buy" data-sku="{number}"><button>Buy</button></form>')
        for number in range(2 * MAX_COMPARED)
    ]
    try:
        kept = [judge(f"/item/{number}", page) for number, page in enumerate(pages)]
        assert {one.verdict for one in kept[1:]} == {"variant"}
        for number, page in enumerate(pages):
            found = judge(f"/copy/{number}", page)
            assert found.is_duplicate
            assert found.representative is not None
            assert found.representative.endswith(f"/item/{number}")
        assert judge("/new", shop_page('<form class="buy" data-sku="x"></form>')).is_kept
    finally:
        judge.index.close()
