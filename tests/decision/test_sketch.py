"""Small samples of two pages say how much of their content they share, compiled or not."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.decision import comparison
from scrapy_simhash.decision.comparison import MIN_SAMPLES, Overlap, overlap
from scrapy_simhash.decision.sketch import HASH_BITS, HIDDEN, mark, sketch_of
from tests.pages import in_python, samples_in

BLOCK, FRAME = 7, 8


def sketch(first: int, last: int, frame: range = range(0)) -> bytes:
    """Of a page with shingles *first* to *last*, spread over all 64 bits, and those of a frame."""
    own = dict.fromkeys(map(spread, range(first, last + 1)), BLOCK)
    return sketch_of(own | dict.fromkeys(map(spread, frame), FRAME))


@cache
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
def test_share_of_small_pages_is_exact(first: bytes, second: bytes, expected: Overlap) -> None:
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
    sample = samples_in(sketch_of(dict.fromkeys(reversed(hashes), BLOCK)))
    assert len(sample) > 100
    assert list(sample) == [value >> 64 - HASH_BITS & ~HIDDEN for value in hashes[: len(sample)]]


def test_template_counts_on_neither_side_unless_there_is_nothing_else() -> None:
    template = {mark(FRAME)}
    one, other = sketch(1, 20, range(100, 140)), sketch(21, 40, range(100, 140))
    assert overlap(one, other).share == 0.5
    assert overlap(one, other, template) == Overlap(0.0, 40, False, False, True, True)
    one, other = sketch(1, 0, range(100, 140)), sketch(1, 0, range(100, 130))
    expected = Overlap(0.75, 40, False, True, True, True)
    assert overlap(one, other, template) == overlap(one, other) == expected


# The first and the last shingle of a page.
spans = st.tuples(st.integers(1, 300), st.integers(1, 600))


@given(spans, spans, st.integers(1, 500), st.sets(st.integers(0, 500)))
def test_a_comparison_says_what_sets_of_the_samples_say(
    one: tuple[int, int], other: tuple[int, int], blocks: int, template: set[int]
) -> None:
    """Of pages of few and of many shingles, some of them hidden, in few and in many blocks."""
    first, second = (
        sketch_of(
            {spread(number): number % blocks for number in range(start, end + 1)},
            {spread(number) for number in range(start, end + 1, hidden)},
        )
        for (start, end), hidden in ((one, 7), (other, 14))
    )
    limit = min(1 << HASH_BITS if one[0] else max(samples_in(one)) for one in (first, second))
    own, its = (
        {sample for sample, block in samples_in(one).items() if block not in template}
        for one in (first, second)
    )
    own, its = ({sample for sample in one if sample <= limit} for one in (own, its))
    if not own and not its and template:
        own, its = ({one for one in samples_in(page) if one <= limit} for page in (first, second))
    found = overlap(first, second, template)
    assert in_python(comparison).overlap(first, second, template) == found
    assert found.compared == len(own | its)
    if found.compared >= MIN_SAMPLES:
        assert found.share == len(own & its) / len(own | its)
        assert (found.first_in_second, found.second_in_first) == (own <= its, its <= own)
        assert found.hidden_in_second == ({sample for sample in own if sample & HIDDEN} <= its)
        assert found.is_exact == (limit == 1 << HASH_BITS or first[1:7] == second[1:7])
