"""What was seen under each key, in a few bytes."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.url_rules.learner import Sighting, Sightings

HASHES = st.integers(0, 2**64 - 1)
KEYS = st.integers(2, 2**64 - 1)
SIGHTINGS = st.builds(Sighting.of, HASHES, HASHES, st.booleans(), st.booleans())


@given(st.lists(st.tuples(KEYS, SIGHTINGS), max_size=8), st.lists(KEYS))
def test_what_was_put_is_there_until_it_is_removed(
    puts: list[tuple[int, Sighting]], others: list[int]
) -> None:
    """As many as one line takes, as they may all be of one line."""
    sightings, expected = Sightings(), dict(puts)
    for key, sighting in puts:
        sightings.put(key, sighting)
    removed = [key for key, _ in puts[::2]] + others
    for key in removed:
        sightings.remove(key)
        expected.pop(key, None)
    for key in (*removed, *expected):
        assert sightings.get(key) == expected.get(key)


def test_a_key_takes_16_bytes_and_few_are_forgotten_until_it_is_full() -> None:
    rng, sightings = random.Random(1), Sightings()
    keys = [rng.getrandbits(64) for _ in range(200_000)]
    for i, key in enumerate(keys):
        sightings.put(key, Sighting.of(i, i, True))
    assert sum(sightings.get(key) is None for key in keys) < 20
    assert sightings._slots.nbytes == 1 << 24


def test_it_is_bounded_and_invents_nothing() -> None:
    rng, sightings = random.Random(1), Sightings(limit=4096)
    put = {}
    for i in range(40_000):
        key, sighting = rng.getrandbits(64), Sighting.of(i, i, i % 2 == 0)
        sightings.put(key, sighting)
        put[key] = sighting
    found = [key for key in put if sightings.get(key) is not None]
    assert 3000 < len(found) <= 4096
    assert all(sightings.get(key) == put[key] for key in found)


def test_what_was_put_last_is_there() -> None:
    sightings = Sightings(limit=8)
    for key in range(2, 100):
        sightings.put(key, Sighting.of(key, key, True))
        assert sightings.get(key) == Sighting.of(key, key, True)
