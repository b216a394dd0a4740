"""A group in Redis is kept in parts: what a duplicate costs does not grow with its group."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import cast

import pytest

from scrapy_simhash.index.redis import index as redis_index
from scrapy_simhash.index.redis.index import RedisIndex
from scrapy_simhash.index.redis.rows import numbers_of, pack_id
from tests.indexes import LOOP, Blocking, groups, ids_by_name, open_index
from tests.pages import PARAMETERS, UNIQUE, page

MOST_OF_A_PART = 2_048
# A part is halved when it has more than 512.
FOUR_PARTS = 1_100


@pytest.fixture
def index(redis_url: str) -> Iterator[Blocking]:
    with open_index(redis_url, PARAMETERS) as index:
        yield index


def add_group(index: Blocking, duplicates: int) -> None:
    """Store a page, and duplicates of it: their ids are 1, 2, and so on."""

    kept = index.adopt(page("kept", 0), None)
    for number in range(duplicates):
        index.adopt(page(f"{number}", 0), kept)


def buckets(index: Blocking) -> dict[bytes, bytes]:
    store = cast(RedisIndex, index.index)._store
    scope = LOOP.run_until_complete(store.scope(""))
    found: dict[bytes, bytes] = LOOP.run_until_complete(
        store.server.command("HGETALL", scope.keys[1])
    )
    return found


def members(index: Blocking, representative: int) -> list[int]:
    """The ids in the parts of a group, which are all that there is of groups."""
    stored, place = buckets(index), pack_id(representative)
    begins = numbers_of(stored.pop(b"G" + place, b""))
    parts = [stored.pop(b"g" + place + pack_id(begin)) for begin in begins]
    ids = [numbers_of(part) for part in parts]
    assert all(part[0] >= begin for part, begin in zip(ids, begins, strict=True))
    parts.append(first := stored.pop(b"g" + place, b""))
    assert first or not begins
    assert all(len(part) <= MOST_OF_A_PART for part in parts)
    assert not [name for name in stored if name[:1] in b"gG"]
    return sum(ids, numbers_of(first))


def test_long_group_is_kept_in_parts(index: Blocking) -> None:
    """A group of 100,000 was one field of 400 KB, written anew with each duplicate."""
    add_group(index, FOUR_PARTS)
    assert members(index, 1) == list(range(2, FOUR_PARTS + 2))
    assert len([name for name in buckets(index) if name[:1] == b"g"]) >= 4


def test_pages_enter_and_leave_a_group_at_any_place(index: Blocking) -> None:
    add_group(index, FOUR_PARTS)
    rng = random.Random(1)
    ids = ids_by_name(index)
    met_again = rng.sample(range(FOUR_PARTS), 100)
    for number in met_again[:60]:  # leaves, and enters as the same
        assert index.check_and_add(page(f"{number}", 0)).is_duplicate
    for number in met_again[60:]:
        assert not index.check_and_add(page(f"{number}", rng.getrandbits(64))).is_duplicate
    left = {ids[f"{number}"] for number in met_again[60:]}
    assert members(index, 1) == [one for one in range(2, FOUR_PARTS + 2) if one not in left]


def test_parts_of_a_group_that_become_empty_are_removed(index: Blocking) -> None:
    add_group(index, FOUR_PARTS)
    index.forget([*range(2, 300), *range(500, 900)])  # the first part, and one between
    assert members(index, 1) == [*range(300, 500), *range(900, FOUR_PARTS + 2)]
    index.forget([1])
    assert groups(index)["298"] is None  # the oldest
    assert members(index, 1) == [*range(301, 500), *range(900, FOUR_PARTS + 2)]


def test_all_parts_of_a_group_are_withdrawn(
    index: Blocking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group may have more parts than a step has tries."""
    monkeypatch.setattr(redis_index, "TRIES", 1)
    add_group(index, FOUR_PARTS)
    index.withdraw("", page("kept", 0).request_fingerprint, UNIQUE)
    assert groups(index) == {}
    assert members(index, 1) == []
