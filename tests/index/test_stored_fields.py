"""What of a page is stored comes back as it was, from every index: each field by its kind."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.decision.page import STORED, Kind, Page, Row
from scrapy_simhash.decision.sketch import sketch_of
from scrapy_simhash.errors import IndexFormatError
from scrapy_simhash.index.redis.address import Scope
from scrapy_simhash.index.redis.rows import StoredRow, pack, unpack
from tests.indexes import open_index
from tests.pages import PARAMETERS

# The smallest and the largest value of each kind, and one between.
VALUES: dict[Kind, list[Any]] = {
    Kind.TEXT: ["", "http://site.example/ü", "x" * 60_000],
    Kind.BYTES: [b"", b"\x00\xff" * 10, b"x" * 300],
    Kind.SKETCH: [sketch_of({}), sketch_of({1 << 63: 1})],
    Kind.DIGEST: [bytes(16), b"\xff" * 16],
    Kind.BITS: [0, 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1],
    Kind.COUNT: [0, 1, (1 << 32) - 1],
    Kind.NUMBER: [1, (1 << 32) - 1],
    Kind.SECONDS: [0, 1_800_000_000],
}


@st.composite
def pages(draw: st.DrawFn) -> Page:
    values = {}
    for field in STORED:
        none = [None] if field.optional else []
        values[field.name] = draw(st.sampled_from([*VALUES[field.kind], *none]))
    return Page(**values)


@given(pages(), st.booleans())
def test_a_page_comes_back_from_redis_as_it_was(page: Page, is_kept: bool) -> None:
    scope = Scope(page.scope, ("", "", ""))
    representative = None if is_kept else scope.base + 7
    stored = pack(page, 0 if is_kept else 7, call=3)
    assert unpack(5, scope, stored) == StoredRow(
        Row(scope.base + 5, page, representative), scope, number=5, change=0
    )


@given(pages(), st.integers(1, 1000))
def test_a_page_that_was_cut_is_damaged(page: Page, cut: int) -> None:
    with pytest.raises(IndexFormatError, match="page 5 is damaged"):
        unpack(5, Scope(page.scope, ("", "", "")), pack(page, 0, call=3)[:-cut])


def test_every_value_comes_back_from_every_index(lasting_place: str) -> None:
    most = max(map(len, VALUES.values()))
    with open_index(lasting_place, PARAMETERS) as index:
        wanted = set()
        for number in range(most + 1):
            values: dict[str, Any] = {
                field.name: None
                if field.optional and number == most
                else VALUES[field.kind][number % len(VALUES[field.kind])]
                for field in STORED
            }
            # A request is stored once.
            page = Page(**{**values, "request_fingerprint": bytes([number])})
            index.adopt(page, None)
            wanted.add(page)
        assert {row.page for row in index.rows()} == wanted
