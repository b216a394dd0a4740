"""What another process does to an index between the two round trips of a page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from scrapy_simhash.index import opening
from scrapy_simhash.index.contract import Index
from scrapy_simhash.index.redis import index as redis_index
from scrapy_simhash.rule.page import Found, Page
from scrapy_simhash.rule.rule import Judged, Parameters, SiteKnowledge, judge
from tests.indexes import Blocking, ids_by_name, open_index
from tests.pages import PARAMETERS, UNIQUE, VERIFIED, near, page, page_with_content

Act = Callable[[Index], Coroutine[Any, Any, Any]]
Meanwhile = Callable[[Act], None]


@pytest.fixture
def meanwhile(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Meanwhile]:
    """A function that has another user of the index act once, in the middle of the next page.

    That is after the page was judged by rows of the index, and before it is written.
    """

    def do_once(act: Act) -> None:
        left = [act]

        async def done(parameters: Parameters) -> None:
            async with opening.open_index(redis_url, parameters) as other:
                await left.pop()(other)

        def judge_then(
            page: Page, found: Found, parameters: Parameters, site: SiteKnowledge
        ) -> Judged:
            judged = judge(page, found, parameters, site)
            if left and (judged.row is not None or judged.decision.closest is not None):
                thread.submit(lambda: asyncio.run(done(parameters))).result()
            return judged

        monkeypatch.setattr(redis_index, "judge", judge_then)

    with ThreadPoolExecutor(1) as thread:
        yield do_once


@pytest.fixture
def index(redis_url: str) -> Iterator[Blocking]:
    with open_index(redis_url, PARAMETERS) as opened:
        yield opened


def test_copy_that_is_kept_meanwhile_is_found(redis_url: str, meanwhile: Meanwhile) -> None:
    """Both have a candidate, which is like neither of them."""
    twins = [page_with_content(name, range(1, 101)) for name in ("one", "two")]
    with open_index(redis_url, VERIFIED) as index:
        index.check_and_add(page_with_content("candidate", range(501, 601)))
        meanwhile(lambda other: other.check_and_add(twins[1]))
        assert index.check_and_add(twins[0]).representative == twins[1].url
        assert len(index) == 2


def test_of_twins_with_a_candidate_judged_at_once_one_is_kept(redis_url: str) -> None:
    async def together(index: Blocking) -> list[str]:
        names = [f"{number} {twin}" for number in range(1, 21) for twin in ("one", "two")]
        pages = (
            page_with_content(name, range(500 * number, 500 * number + 100), main_text=number << 8)
            for name in names
            for number in [int(name.split()[0])]
        )
        told = await asyncio.gather(*map(index.index.check_and_add, pages))
        return [name.split()[0] for name, one in zip(names, told, strict=True) if one == UNIQUE]

    with open_index(redis_url, VERIFIED) as index:
        for number in range(1, 21):
            candidate = page_with_content(f"{number}", range(100), main_text=number << 8 | 1)
            index.keep(candidate)
        kept = index.run(together(index))
        assert len(index) == 40, kept


def test_page_is_no_duplicate_of_one_that_is_forgotten_meanwhile(
    index: Blocking, meanwhile: Meanwhile
) -> None:
    """The heir has the id of the forgotten page, and another fingerprint."""
    for name, fingerprint in [("a", 0b00), ("b", 0b01)]:
        index.check_and_add(page(name, fingerprint))
    forgotten = ids_by_name(index)["a"]
    meanwhile(lambda other: other.forget([forgotten]))
    assert index.check_and_add(page("c", 0b10)) == near("b", 2)


def test_page_whose_last_candidate_is_forgotten_meanwhile_is_kept(
    index: Blocking, meanwhile: Meanwhile
) -> None:
    index.check_and_add(page("a", 0b00))
    forgotten = ids_by_name(index)["a"]
    meanwhile(lambda other: other.forget([forgotten]))
    assert index.check_and_add(page("c", 0b10)) == UNIQUE
    assert [row.is_kept for row in index.rows()] == [True]


def test_page_that_is_met_again_meanwhile_stays_what_the_other_made_it(
    index: Blocking, meanwhile: Meanwhile
) -> None:
    index.check_and_add(page("a", 0b00))
    meanwhile(lambda other: other.check_and_add(page("a", 0xFF00)))
    assert index.check_and_add(page("b", 0b01)) == UNIQUE
    assert index.check_and_add(page("c", 0xFF01)) == near("a", 1)
