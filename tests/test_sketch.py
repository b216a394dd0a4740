"""Small samples of two pages say how much of their content they share."""

from __future__ import annotations

import random

import pytest

from scrapy_simhash.rule.sketch import (
    HASH_BITS,
    HIDDEN,
    MIN_SAMPLES,
    Overlap,
    Sketch,
    mark,
    overlap,
)

BLOCK, FRAME = 7, 8


def sketch(first: int, last: int, frame: range = range(0)) -> Sketch:
    """Of a page with shingles *first* to *last*, spread over all 64 bits, and those of a frame."""
    own = dict.fromkeys(map(spread, range(first, last + 1)), BLOCK)
    return Sketch.from_bytes(Sketch.of(own | dict.fromkeys(map(spread, frame), FRAME)).to_bytes())


def spread(number: int) -> int:
    return random.Random(number).getrandbits(64)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (sketch(1, 40), sketch(1, 40), Overlap(1.0, 40, True, True, True, True)),
        (sketch(1, 30), sketch(1, 40), Overlap(0.75, 40, True, False, True, True)),
        (sketch(1, 40), sketch(11, 40), Overlap(0.75, 40, False, True, True, True)),
        (sketch(1, 30), sketch(11, 40), Overlap(0.5, 40, False, False, True, True)),
        (sketch(1, 1), sketch(2, 2), Overlap(0.0, 2, False, False, True, True)),
        (sketch(1, 0), sketch(1, 0), Overlap(0.0, 0, False, False, False, False)),
    ],
)
def test_share_of_small_pages_is_exact(first: Sketch, second: Sketch, expected: Overlap) -> None:
    assert overlap(first, second) == expected


def test_share_of_large_pages_is_estimated() -> None:
    one, other = sketch(1, 10_000), sketch(2_001, 10_000)
    found = overlap(one, other)
    assert found.share == pytest.approx(0.8, abs=0.15)
    assert found.compared >= MIN_SAMPLES
    assert (found.first_in_second, found.second_in_first) == (False, True)
    assert overlap(one, sketch(20_001, 30_000)).share == 0


@pytest.mark.parametrize("start", [0, 1 << 63])
def test_sample_is_of_the_lowest_hashes_however_they_are_spread(start: int) -> None:
    hashes = [start + (number << 50) for number in range(1000)]
    sample = Sketch.of(dict.fromkeys(reversed(hashes), BLOCK)).samples[BLOCK]
    assert len(sample) > 100
    assert list(sample) == [value >> 64 - HASH_BITS & ~HIDDEN for value in hashes[: len(sample)]]


def test_template_counts_on_neither_side_unless_there_is_nothing_else() -> None:
    template = {mark(FRAME)}
    one, other = sketch(1, 20, range(100, 140)), sketch(21, 40, range(100, 140))
    assert overlap(one, other).share == 0.5
    assert overlap(one, other, template) == Overlap(0.0, 40, False, False, True, True)
    frames = sketch(1, 0, range(100, 140)), sketch(1, 0, range(100, 130))
    assert (
        overlap(*frames, template) == overlap(*frames) == Overlap(0.75, 40, False, True, True, True)
    )
