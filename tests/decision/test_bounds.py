"""What one page or one site can cost has a bound, whatever it holds."""

from __future__ import annotations

import itertools
import random
import tracemalloc
from array import array
from collections.abc import Iterable, Iterator, Sized
from dataclasses import replace
from typing import TypeVar, cast

import pytest

from scrapy_simhash.decision import template
from scrapy_simhash.decision.holdings import MAX_TABLES_COMPARED
from scrapy_simhash.decision.judge import (
    MAX_COMPARED,
    MOST_SEGMENTS,
    Judged,
    Parameters,
    SiteKnowledge,
    judge,
    segments_in_common,
)
from scrapy_simhash.decision.page import Found, Page, Row, met_by
from scrapy_simhash.decision.template import LASTING_PAGES, MAX_TAUGHT, Template, Templates
from scrapy_simhash.index import base
from scrapy_simhash.index.redis.index import RedisIndex
from tests.indexes import LOOP, Blocking, open_index
from tests.pages import PARAMETERS, UNIQUE, VERIFIED, page_with_content, with_values
from tests.pages import page as plain_page
from tests.redis_servers import new_redis_url

T = TypeVar("T")


def test_pages_without_a_main_text_are_not_walked_one_by_one() -> None:
    """All have the same empty text; reading each of 20,000 took a second a page."""

    def never() -> Iterator[Row]:
        pytest.fail("a row was read")
        yield

    empty = page_with_content("empty", range(100), tokens=0)
    judged = judge(empty, Found(same_text=never()), VERIFIED, SiteKnowledge())
    assert judged.decision == UNIQUE


@pytest.mark.parametrize("parameters", [PARAMETERS, VERIFIED], ids=["plain", "verified"])
def test_no_page_is_compared_with_more_than_a_bounded_number(parameters: Parameters) -> None:
    read = 0

    def rows(name: str) -> Iterator[Row]:
        nonlocal read
        for number in itertools.count(1):
            read += 1
            assert read < 1_000
            other = page_with_content(f"{name}{number}", range(9 * number, 9 * number + 100))
            yield Row(number, replace(other, met_by=met_by(1)))

    new = replace(page_with_content("new", range(-500, -400)), met_by=met_by(2))
    found = Found(same_text=rows("same"), near=((row, 1) for row in rows("near")))
    judge(new, found, parameters, SiteKnowledge())
    assert read <= 2 * MAX_COMPARED + 2


def test_page_that_too_many_kept_ones_are_like_passes_and_says_so(place: str) -> None:
    """Of two kinds: kept pages with its text, and kept pages with its content."""
    with open_index(place, VERIFIED) as index:
        for kind in ("text", "content"):
            for number in range(1, MAX_COMPARED + 30):
                new = crowding_page(kind, number)
                decision = index.check_and_add(new)
                is_near = kind == "content" and number > 1
                assert decision.verdict == ("variant" if is_near else "unique")
                assert decision.is_crowded == (number > MAX_COMPARED), (kind, number)


def crowding_page(kind: str, number: int) -> Page:
    """A page with the text, or the content, of all others of its kind; all else is its own."""
    spread = number * 0x9E3779B97F4A7C15 % (1 << 64)
    own = range(1000 * number, 1000 * number + 100)
    if kind == "text":
        return page_with_content(f"t{number}", own, main_text=1, content_fingerprint=spread)
    page = page_with_content(f"c{number}", range(1, 101), main_text=spread, block=2)
    digest = spread.to_bytes(8, "big") * 2
    return replace(with_values(page, number), digest=digest)


def buckets_of(index: Blocking) -> dict[bytes, bytes]:
    """The buckets of a server, by name."""
    its = cast(RedisIndex, index.index)
    scope = LOOP.run_until_complete(its._scope(""))
    buckets = LOOP.run_until_complete(its._server.command("HGETALL", scope.keys[1]))
    return {name: found for name, found in buckets.items() if len(name) == 4}


def bucket_lengths(index: Blocking) -> list[int]:
    """The entries in each bucket of a server, for verified pages."""
    return [len(found) // 6 for found in buckets_of(index).values()]


def test_buckets_of_a_server_have_a_bounded_length() -> None:
    """What thousands of pages share would be read, and written, with each of them."""
    with open_index(new_redis_url(), VERIFIED) as index:
        for number in range(1, 160):
            index.check_and_add(crowding_page("content", number))
            index.check_and_add(crowding_page("text", number))
        assert 100 <= max(bucket_lengths(index)) < 130  # 100 with one key, and a few others


def test_buckets_that_one_page_looks_at_have_a_bounded_size_together() -> None:
    """Within 7 bits, a page looks at 38 buckets; crafted pages have one key, and are not alike."""
    rng = random.Random(1)
    with open_index(new_redis_url(), replace(PARAMETERS, distance=7)) as index:
        for number in range(2_400):
            index.check_and_add(plain_page(f"p{number}", rng.getrandbits(48)))
        assert 27_500 <= max(map(len, buckets_of(index).values())) <= 27_700
        assert index.check(plain_page("new", rng.getrandbits(48))).is_crowded


def test_page_that_changes_leaves_nothing_in_the_buckets_of_a_server() -> None:
    with open_index(new_redis_url(), VERIFIED) as index:
        for number in range(1, 20):
            text = number.to_bytes(16, "big")
            shingles = range(1_000 * number, 1_000 * number + 100)
            index.check_and_add(replace(page_with_content("changing", shingles), digest=text))
        assert sum(bucket_lengths(index)) == 6  # its request, its text, four keys


def test_long_page_teaches_what_is_at_its_ends() -> None:
    learned = Template()
    for page in range(2 * LASTING_PAGES):
        own = range(10_000 * (page + 1), 10_000 * (page + 1) + 2 * MAX_TAUGHT)
        learned.learn([1, 2, *own, 3, 4])
    assert learned.blocks == {1, 2, 3, 4}


@pytest.mark.parametrize("sites", [20, pytest.param(60, marks=pytest.mark.long)])
def test_templates_of_many_large_sites_take_a_bounded_memory(sites: int) -> None:
    """Two pages of 60,000 blocks took 15 MB a site, and 60 sites 900 MB."""
    templates = Templates()
    tracemalloc.start()
    for site in range(sites):
        for page in range(2):
            start = 1_000_000 * site + 100_000 * page
            templates.learn(f"{site}.example", range(start, start + 60_000))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 120e6


def test_settled_template_outlives_the_reduction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template, "MAX_ALL_BLOCKS", 5_000)
    templates = Templates()
    numbers = itertools.count(100)
    for site in ("first", "second"):
        for _ in range(2 * LASTING_PAGES):
            templates.learn(site, [1, 2, *itertools.islice(numbers, 60)])
    assert templates.blocks("first") == templates.blocks("second") == {1, 2}


def test_candidate_that_is_found_in_several_ways_takes_one_place() -> None:
    rows = [
        Row(number, page_with_content(f"{number}", range(100 * number, 100 * number + 100)))
        for number in range(1, MAX_COMPARED)
    ]
    last = rows[-1].page
    found = Found(same_text=rows, near=[(row, 0) for row in [*rows, *rows]])
    judged = judge(replace(last, url="http://site.example/x"), found, VERIFIED, SiteKnowledge())
    assert judged.decision.representative == last.url


@pytest.mark.parametrize("folder", ["", pytest.param("de/", marks=pytest.mark.long), "{}/"])
@pytest.mark.parametrize(
    ("of_kept", "most"),
    [((1,), 1), ((1, 5_000), 3 + 2 * MAX_TABLES_COMPARED), ((5_000,), 3 + 2 * MAX_TABLES_COMPARED)],
    ids=["exact", "both", "tables"],
)
def test_values_of_a_page_are_looked_through_a_few_times(
    folder: str, of_kept: tuple[int, ...], most: int
) -> None:
    """Beside 100 kept pages: once, and twice for each that is stored in a table."""

    class Values(tuple[int, ...]):
        read = 0

        def __iter__(self) -> Iterator[int]:
            Values.read += 1
            return super().__iter__()

    new = with_values(page_with_content("new", range(100)), 1, 2)
    holds = replace(new.holds, own=cast("array[int]", Values(new.holds.own)))
    new = replace(new, section="site.example", holds=holds)
    kept = [
        with_values(
            page_with_content(folder.format(i) + f"{i}", range(100)),
            *(2 * number + 1 for number in range(of_kept[i % len(of_kept)])),
        )
        for i in range(1, 1 + MAX_COMPARED)
    ]
    found = Found(same_text=map(Row, itertools.count(1), kept))
    judged = judge(new, found, VERIFIED, SiteKnowledge())
    assert judged.decision.verdict == "variant"
    assert 0 < Values.read <= most


def test_long_urls_are_compared_by_their_ends() -> None:
    url = "http://site.example" + "/a" * 1_000
    assert segments_in_common(url, url) == 1 + MOST_SEGMENTS


@pytest.mark.parametrize("parameters", [PARAMETERS, VERIFIED], ids=["plain", "verified"])
def test_no_index_hands_the_rule_more_rows_than_a_bounded_number(
    place: str, parameters: Parameters, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 400 kept pages with one main text, each in a crawl that has not met them."""
    handed = 0

    def note(row: T) -> T:
        nonlocal handed
        handed += 1
        return row

    def noted(rows: Iterable[T]) -> Iterable[T]:
        # An index that hands a list has looked them all up.
        return list(map(note, rows)) if isinstance(rows, Sized) else map(note, rows)

    def judge_noting(
        page: Page, found: Found, parameters: Parameters, site: SiteKnowledge
    ) -> Judged:
        found = replace(found, same_text=noted(found.same_text), near=noted(found.near))
        return judge(page, found, parameters, site)

    with open_index(place, parameters) as index:
        for number in range(400):
            content = range(1_000 * number, 1_000 * number + 50)
            index.keep(replace(page_with_content(f"{number}", content), met_by=met_by(1)))
        monkeypatch.setattr(base, "judge", judge_noting)
        new = page_with_content("new", range(-60, -10))
        for met in (None, met_by(2)):
            handed = 0
            index.check(replace(new, met_by=met))
            assert 0 < handed <= 2 * MAX_COMPARED + 2 < 250
        assert len(index) == 400
