"""The permuted tables of a server find what a comparison with all pages finds."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from scrapy_simhash.index.redis.buckets import plan
from tests.indexes import open_index
from tests.pages import PARAMETERS, UNIQUE, page

# One of each kind: keys of one block, of several, and of a covering design.
PLANNED = [
    (0, 1_000, "split 1"),
    (1, 1_000_000, "blocks 2"),
    (2, 100, "blocks 3"),
    (2, 1_000_000_000, "covering 4"),
    (3, 1_000_000, "blocks 4"),
    (3, 100_000_000, "covering 8"),
    (4, 100_000, "blocks 5"),
    (5, 100_000, "covering 12"),
    (6, 10_000, "blocks 7"),
    (7, 1, "blocks 8"),
    (7, 1_000_000, "blocks 9"),
]
NAMES = [f"{distance} bits, {pages:,} pages, {name}" for distance, pages, name in PLANNED]


@pytest.mark.parametrize(("distance", "pages", "name"), PLANNED, ids=NAMES)
def test_closest_page_is_found_within_the_distance_and_not_beyond(
    redis_url: str, distance: int, pages: int, name: str
) -> None:
    assert plan(distance, pages).name == name
    rng = random.Random(1)
    kept = {f"kept{number}": rng.getrandbits(64) for number in range(20)}
    with open_index(f"{redis_url}&pages={pages}", replace(PARAMETERS, distance=distance)) as index:
        for of, its in kept.items():
            index.keep(page(of, its))
        for number in range(150):
            # The bits that differ are anywhere, or side by side.
            differ, width = distance + rng.randint(-1, 2), rng.choice((64, 24, 10))
            start = rng.randrange(64 - width + 1)
            places = rng.sample(range(start, start + width), max(0, differ))
            asked = rng.choice(list(kept.values())) ^ sum(1 << place for place in places)
            closest = min((asked ^ its).bit_count() for its in kept.values())
            found = index.check(page(f"asked{number}", asked, text=f"asked {number}"))
            if closest <= distance:
                assert (found.reason, found.distance) == ("within_distance", closest)
            else:
                assert found == UNIQUE


def test_page_that_differs_in_a_byte_is_not_near(redis_url: str) -> None:
    with open_index(f"{redis_url}&pages=100000", replace(PARAMETERS, distance=4)) as index:
        index.check_and_add(page("a", 0))
        for byte in range(8):
            assert index.check(page("b", 0xFF << 8 * byte)) == UNIQUE
