"""A long group in Redis: pages enter and leave it one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import cast

import pytest

from scrapy_simhash.index.redis import index as redis_index
from scrapy_simhash.index.redis.index import RedisIndex
from scrapy_simhash.index.redis.rows import numbers_of
from tests.indexes import LOOP, Blocking, groups, ids_by_name, open_index
from tests.pages import PARAMETERS, UNIQUE, page

# More than a step reads at once.
MANY = 1_100


@pytest.fixture
def index(redis_url: str) -> Iterator[Blocking]:
    with open_index(redis_url, PARAMETERS) as index:
        yield index


def add_group(index: Blocking, duplicates: int) -> None:
    """Store a page, and duplicates of it: their ids are 1, 2, and so on."""

    kept = index.adopt(page("kept", 0), None)
    for number in range(duplicates):
        index.adopt(page(f"{number}", 0), kept)


def members(index: Blocking, representative: int) -> list[int]:
    """The ids of a group, which is all that there is of groups."""
    its = cast(RedisIndex, index.index)
    scope = LOOP.run_until_complete(its._scope(""))
    found = LOOP.run_until_complete(its._server.command("ZRANGE", scope.keys[2], 0, -1))
    pairs = [numbers_of(member) for member in found]
    assert {of for of, _ in pairs} <= {representative}
    return [number for _, number in pairs]


def test_pages_enter_and_leave_a_group_at_any_place(index: Blocking) -> None:
    add_group(index, MANY)
    rng = random.Random(1)
    ids = ids_by_name(index)
    met_again = rng.sample(range(MANY), 100)
    for number in met_again[:60]:  # leaves, and enters as the same
        assert index.check_and_add(page(f"{number}", 0)).is_duplicate
    for number in met_again[60:]:
        assert not index.check_and_add(page(f"{number}", rng.getrandbits(64))).is_duplicate
    left = {ids[f"{number}"] for number in met_again[60:]}
    assert members(index, 1) == [one for one in range(2, MANY + 2) if one not in left]


def test_oldest_that_is_left_of_a_group_takes_its_place(index: Blocking) -> None:
    add_group(index, MANY)
    index.forget([*range(2, 300), *range(500, 900)])
    assert members(index, 1) == [*range(300, 500), *range(900, MANY + 2)]
    index.forget([1])
    assert groups(index)["298"] is None  # the oldest
    assert members(index, 1) == [*range(301, 500), *range(900, MANY + 2)]


def test_all_of_a_long_group_are_withdrawn(
    index: Blocking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group may be read more often than a step has tries."""
    monkeypatch.setattr(redis_index, "TRIES", 1)
    monkeypatch.setattr(redis_index, "SCANNED_AT_ONCE", 100)
    add_group(index, MANY)
    index.withdraw("", page("kept", 0).request_fingerprint, UNIQUE)
    assert groups(index) == {}
    assert members(index, 1) == []
