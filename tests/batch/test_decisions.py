"""A batch decides as ten lines of Python do, one page after the other."""

from __future__ import annotations

import random
from array import array
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow")

from scrapy_simhash.batch.decisions import (  # noqa: E402
    NONE,
    BatchDecisions,
    Groups,
    decide_plain,
    decide_verified,
)
from scrapy_simhash.batch.rule import Seen, match  # noqa: E402
from scrapy_simhash.decision.judge import Parameters  # noqa: E402
from tests.batches import WORDS, greedy, html_of, link_of_chain, row_of  # noqa: E402

VERIFIED = Parameters("test", distance=7, share=0.9)
HOSTS = ["a.example", "b.example", "docs.a.example"]


@cache
def row(host: str, start: int, link: int, name: str) -> dict[str, Any]:
    return row_of(f"http://{host}/x/{name}", html_of(link_of_chain(link, start)))


def decided(rows: list[dict[str, Any]], known: int = 0, most: int = 100) -> BatchDecisions:
    classes, texts = (numbers([one.get(name) for one in rows]) for name in ("class", "text"))
    firsts = [classes.index(number) for number in range(max(classes, default=-1) + 1)]
    keys = pa.array([rows[first]["keys"] for first in firsts], pa.list_(pa.int64()))
    groups = Groups(keys, pa.array([], pa.int64()), most)
    pages = [Seen.of(one, frozenset()) for one in rows]
    return decide_verified(classes, texts, groups, pages.__getitem__, VERIFIED, known)


def numbers(values: list[Any]) -> list[int]:
    """A number for each different value, by its first place."""
    found: dict[Any, int] = {}
    return [-1 if value is None else found.setdefault(value, len(found)) for value in values]


def kept_of(decisions: BatchDecisions) -> list[int | None]:
    return [None if one == NONE else one for one in decisions.kept]


def test_links_of_a_chain_are_like_the_next_one_alone() -> None:
    chain = [Seen.of(row("a.example", 0, link, "p"), frozenset()) for link in range(4)]
    assert all(match(later, earlier, VERIFIED) for earlier, later in pairwise(chain))
    assert not any(match(later, earlier, VERIFIED) for earlier, later in pairwise(chain[::2]))


def test_every_other_page_of_a_chain_is_kept() -> None:
    rows = [row("a.example", 0, link, f"p{link}") for link in range(7)]
    assert kept_of(decided(rows)) == [None, 0, None, 2, None, 4, None]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(HOSTS),
            st.sampled_from([0, 200]),
            st.integers(0, 6),
            st.sampled_from(["one", "two"]),
        ),
        max_size=20,
    )
)
def test_the_answer_is_the_greedy_one(
    drawn: list[tuple[str, int, int, str]],
) -> None:
    rows = [row(*one) for one in drawn]
    assert kept_of(decided(rows)) == greedy(rows, VERIFIED)


def test_equal_pages_are_duplicates_although_their_keys_are_crowded() -> None:
    rows = [row(f"h{number}.example", 0, 0, "p") for number in range(12)]
    found = decided(rows, most=10)
    assert kept_of(found) == [None] + [0] * 11
    assert list(found.crowded) == [1] + [0] * 11


def test_a_page_with_a_crowded_key_is_kept_and_counted() -> None:
    rows = [row("a.example", 0, link, f"p{link}") for link in range(3)]
    assert kept_of(decided(rows, most=3)) == [None, 0, None]
    found = decided(rows, most=1)
    assert kept_of(found) == [None, None, None]
    assert list(found.crowded) == [1, 1, 1]


def test_known_pages_stay_kept_and_stand_for_others() -> None:
    rows = [row("a.example", 0, link, f"p{link}") for link in (0, 1, 1, 2)]
    assert kept_of(decided(rows)) == [None, 0, 0, None]
    assert kept_of(decided(rows, known=2)) == [None, None, 1, 1]


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 12), st.sampled_from([10, 50, 80])),
        max_size=40,
    ),
    st.integers(0, 5),
)
def test_plain_rule_is_that_of_the_paper(drawn: list[tuple[int, int, int]], known: int) -> None:
    base = random.Random(0).getrandbits(64)
    pages = [(base ^ (1 << bits) - 1 ^ flip << 60, tokens) for flip, bits, tokens in drawn]
    digests = [bytes([number % 3 + 1]) * 16 for number in range(len(pages))]
    expected: list[tuple[int, int] | None] = []
    for number, (fingerprint, tokens) in enumerate(pages):
        near = [
            ((fingerprint ^ pages[one][0]).bit_count(), one)
            for one in range(number)
            if expected[one] is None and min(tokens, pages[one][1]) >= 50
        ]
        near = [one for one in near if one[0] <= 3]
        if tokens < 50:
            near = [
                (0, one)
                for one in range(number)
                if expected[one] is None and pages[one][1] < 50 and digests[one] == digests[number]
            ]
        expected.append(None if number < known else min(near, default=None))
    found = decide_plain(
        array("Q", [one for one, _ in pages]),
        digests.__getitem__,
        [tokens for _, tokens in pages],
        3,
        known,
    )
    assert [
        None if kept == NONE else (distance, kept)
        for distance, kept in zip(found.distances, found.kept, strict=True)
    ] == expected


def test_words_are_enough_for_two_chains() -> None:
    assert not {*WORDS[:150]} & {*WORDS[200:350]}
