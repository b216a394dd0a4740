"""What was seen under each key, in a few bytes."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.url_rules.learner import Sighting, Sightings

KEYS = st.integers(0, 2**64 - 1)
SIGHTINGS = st.builds(Sighting.of, KEYS, KEYS, st.booleans(), st.booleans())


@given(st.lists(st.tuples(KEYS, SIGHTINGS)), st.lists(KEYS))
def test_what_was_put_is_there_until_it_is_removed(
    puts: list[tuple[int, Sighting]], others: list[int]
) -> None:
    sightings, expected = Sightings(), dict(puts)
    for key, sighting in puts:
        sightings.put(key, sighting)
    removed = [key for key, _ in puts[::2]] + others
    for key in removed:
        sightings.remove(key)
        expected.pop(key, None)
    assert len(sightings) == len(expected)
    for key in (*removed, *expected):
        assert sightings.get(key) == expected.get(key)


@given(KEYS, st.dictionaries(KEYS, SIGHTINGS, min_size=1), KEYS)
def test_one_key_has_what_was_put_with_each_salt(
    key: int, by_salt: dict[int, Sighting], other: int
) -> None:
    sightings = Sightings()
    for salt, sighting in by_salt.items():
        sightings.put(key, sighting, salt)
    for salt in (*by_salt, other):
        assert sightings.get(key, salt) == by_salt.get(salt)
    for salt in by_salt:
        sightings.remove(key, salt)
        assert sightings.get(key, salt) is None


def test_a_key_takes_less_than_20_bytes() -> None:
    rng, sightings = random.Random(1), Sightings()
    for i in range(50_000):
        sightings.put(rng.getrandbits(64), Sighting.of(i, i, True))
        if i > 1000 and i % 1000 == 0:
            assert sightings.nbytes <= 20 * len(sightings)
    assert len(sightings) == 50_000


def test_it_is_bounded_and_invents_nothing() -> None:
    rng, sightings = random.Random(1), Sightings(limit=3000)
    put = {}
    for i in range(40_000):
        key, sighting = rng.getrandbits(64), Sighting.of(i, i, i % 2 == 0)
        sightings.put(key, sighting)
        put[key] = sighting
        assert len(sightings) <= 3000
    found = [key for key in put if sightings.get(key) is not None]
    assert len(found) == len(sightings) > 2000
    assert all(sightings.get(key) == put[key] for key in found)


def test_a_small_one_begins_anew() -> None:
    sightings = Sightings(limit=10)
    for key in range(100):
        sightings.put(key, Sighting.of(key, key, True))
    assert len(sightings) <= 10
    assert sightings.get(99) is None or sightings.get(99) == Sighting.of(99, 99, True)
