"""Small samples of two pages say how much of their content they share, by either engine."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.decision.comparison import Comparison, ReferenceComparison
from scrapy_simhash.decision.sketch import HASH_BITS, HIDDEN, MIN_SAMPLES, Overlap, Sketch, mark

BLOCK, FRAME = 7, 8

# The two are one if nothing is compiled.
each_engine = pytest.mark.parametrize("engine", [ReferenceComparison, Comparison])
Engine = type[ReferenceComparison]


def sketch(first: int, last: int, frame: range = range(0)) -> bytes:
    """Of a page with shingles *first* to *last*, spread over all 64 bits, and those of a frame."""
    own = dict.fromkeys(map(spread, range(first, last + 1)), BLOCK)
    return Sketch.of(own | dict.fromkeys(map(spread, frame), FRAME)).to_bytes()


@cache
def spread(number: int) -> int:
    return random.Random(number).getrandbits(64)


@each_engine
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
def test_share_of_small_pages_is_exact(
    engine: Engine, first: bytes, second: bytes, expected: Overlap
) -> None:
    assert engine(first).overlap(second) == expected


@each_engine
def test_share_of_large_pages_is_estimated(engine: Engine) -> None:
    one, other = sketch(1, 10_000), sketch(2_001, 10_000)
    found = engine(one).overlap(other)
    assert found.share == pytest.approx(0.8, abs=0.15)
    assert found.compared >= MIN_SAMPLES
    assert (found.first_in_second, found.second_in_first) == (False, True)
    assert engine(one).overlap(sketch(20_001, 30_000)).share == 0


@pytest.mark.parametrize("start", [0, 1 << 63])
def test_sample_is_of_the_lowest_hashes_however_they_are_spread(start: int) -> None:
    hashes = [start + (number << 50) for number in range(1000)]
    sample = Sketch.of(dict.fromkeys(reversed(hashes), BLOCK)).samples[BLOCK]
    assert len(sample) > 100
    assert list(sample) == [value >> 64 - HASH_BITS & ~HIDDEN for value in hashes[: len(sample)]]


@each_engine
def test_template_counts_on_neither_side_unless_there_is_nothing_else(engine: Engine) -> None:
    template = {mark(FRAME)}
    one, other = sketch(1, 20, range(100, 140)), sketch(21, 40, range(100, 140))
    assert engine(one).overlap(other).share == 0.5
    assert engine(one, template).overlap(other) == Overlap(0.0, 40, False, False, True, True)
    one, other = sketch(1, 0, range(100, 140)), sketch(1, 0, range(100, 130))
    expected = Overlap(0.75, 40, False, True, True, True)
    assert engine(one, template).overlap(other) == engine(one).overlap(other) == expected


# The first and the last shingle of a page.
spans = st.tuples(st.integers(1, 300), st.integers(1, 600))


@pytest.mark.skipif(Comparison is ReferenceComparison, reason="not compiled")
@given(spans, spans, st.integers(1, 500), st.sets(st.integers(0, 500)))
def test_compiled_comparison_says_what_the_reference_says(
    one: tuple[int, int], other: tuple[int, int], blocks: int, template: set[int]
) -> None:
    """Of pages of few and of many shingles, some of them hidden, in few and in many blocks."""
    first, second = (
        Sketch.of(
            {spread(number): number % blocks for number in range(start, end + 1)},
            {spread(number) for number in range(start, end + 1, hidden)},
        ).to_bytes()
        for (start, end), hidden in ((one, 7), (other, 14))
    )
    expected = ReferenceComparison(first, template).overlap(second)
    assert Comparison(first, template).overlap(second) == expected
