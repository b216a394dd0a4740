"""Addresses whose pages say nothing new, and lead to ever more addresses of their kind."""

from __future__ import annotations

import random
import tracemalloc

import pytest

from scrapy_simhash.analysis.content import MAX_CHARACTERS, MAX_NUMBERS, MAX_WORDS, gist_of
from scrapy_simhash.url_rules.dead_ends import (
    AUDITED_OF_TRAP,
    BUDGET,
    MAX_WATCHED,
    Sight,
    Trap,
    Traps,
)
from scrapy_simhash.urls import Address, value_pattern

HOST = "a.example"
DAY, MONTH, EVENT = f"{HOST}/day/N", f"{HOST}/month/N", f"{HOST}/event/N"
WORDS = frozenset(range(20))


def day(number: int, *leads: str) -> Sight:
    """A page of a calendar: its number is in its address, and its words are those of others."""
    words = WORDS | {100 + number % 7}
    return Sight(words=words, numbers=(number,), own_numbers=frozenset({number}), leads=leads)


def article(number: int, *leads: str) -> Sight:
    return Sight(words=frozenset(range(1000 * number, 1000 * number + 60)), leads=leads)


def walk(traps: Traps, pages: int, pattern: str = DAY) -> Trap | None:
    """Days of which each leads to the next; return the trap that they are found to be."""
    found = None
    for number in range(pages):
        found = traps.take(pattern, day(number, pattern))[0] or found
    return found


def trapped(traps: Traps, path: str) -> bool:
    return traps.of(f"http://{HOST}{path}") is not None


def test_an_endless_row_of_pages_that_say_nothing_new_is_a_trap() -> None:
    traps = Traps()
    assert walk(traps, BUDGET - 1) is None
    assert not trapped(traps, "/day/900")
    found = walk(traps, 2)
    assert found is not None
    assert (found.patterns, found.pages) == ({DAY}, BUDGET)
    assert trapped(traps, "/day/900")
    assert not trapped(traps, "/day/900?sort=price")
    assert not trapped(traps, "/article/900")


@pytest.mark.parametrize(
    "sight",
    [
        pytest.param(lambda i: article(i, DAY), id="their texts differ"),
        pytest.param(lambda i: day(i, DAY)._replace(numbers=(i, 5 * i)), id="their numbers differ"),
        pytest.param(lambda i: day(i, DAY)._replace(has_more=i % 9 == 0), id="some have pictures"),
        pytest.param(lambda i: day(i), id="they lead nowhere"),
        pytest.param(lambda i: day(i, *[DAY][: i % 4 == 0]), id="few lead on"),
        pytest.param(lambda i: day(i, *[DAY] * (200 if i == 0 else 0)), id="one lists all others"),
        pytest.param(lambda i: day(i, f"{HOST}/{i}/*", DAY), id="they lead to many kinds"),
    ],
)
def test_other_streaks_of_pages_are_none(sight: object) -> None:
    traps = Traps()
    for number in range(200):
        assert traps.take(DAY, sight(number))[0] is None  # type: ignore[operator]


def test_pages_of_a_known_text_that_lead_on_are_a_trap() -> None:
    traps = Traps()
    known = Sight(known_text=True, leads=(DAY,))
    assert any(traps.take(DAY, known)[0] for _ in range(BUDGET))


def test_months_and_days_that_lead_to_each_other_are_one_trap() -> None:
    traps = Traps()
    found = None
    for month in range(3):
        found = traps.take(MONTH, day(month, MONTH, MONTH, *[DAY] * 30))[0] or found
        for number in range(30):
            found = traps.take(DAY, day(number))[0] or found
    assert found is not None
    assert found.patterns == found.closed == {DAY, MONTH}


def test_days_that_lead_to_events_are_none() -> None:
    traps = Traps()
    for number in range(200):
        leads = (DAY, EVENT) if number % 10 == 5 else (DAY,)
        assert traps.take(DAY, day(number, *leads))[0] is None or number < 40
        if number % 10 == 5:
            traps.take(EVENT, article(number))
    assert not trapped(traps, "/day/900")


@pytest.mark.parametrize("every", [25, 31])
def test_days_with_something_in_a_budget_are_none_however_many_months_there_are(every: int) -> None:
    traps = Traps()
    for number in range(1_000):
        if number % 30 == 0:
            assert traps.take(MONTH, day(number, MONTH, *[DAY] * 30))[0] is None
        sight = article(number) if number % every == 0 else day(number)
        assert traps.take(DAY, sight)[0] is None


def test_the_first_page_that_says_something_ends_the_trap() -> None:
    traps = Traps()
    walk(traps, BUDGET)
    (ended,) = traps.take(DAY, article(1, DAY))[1]
    assert ended.closed == {DAY}
    assert not trapped(traps, "/day/900")
    assert walk(traps, 2 * BUDGET - 2) is None, "it needs twice as many pages now"
    assert walk(traps, 10) is not None


def test_a_trap_ends_when_what_it_leads_to_says_something() -> None:
    traps = Traps()
    for number in range(BUDGET):
        traps.take(DAY, day(number, DAY, *([EVENT] if number == 20 else [])))
    assert trapped(traps, "/day/900")
    assert not trapped(traps, "/event/1"), "what it leads to is not known yet"
    traps.take(EVENT, article(1))
    assert traps.take(EVENT, article(2))[1]
    assert not trapped(traps, "/day/900")


def test_a_trap_that_leads_to_pages_of_which_few_were_seen_ends_at_last() -> None:
    traps = Traps()
    for number in range(BUDGET):
        traps.take(DAY, day(number, DAY, *([EVENT] if number == 20 else [])))
    traps.take(EVENT, article(1))
    assert traps.take_audits(DAY, 9) is None
    assert not trapped(traps, "/day/900")


def test_a_trap_is_looked_at_a_few_times() -> None:
    traps = Traps()
    walk(traps, BUDGET)
    assert traps.take_audits(DAY, 2) == 2
    assert traps.take_audits(DAY, 9) == AUDITED_OF_TRAP - 2
    assert traps.take_audits(DAY, 9) == 0


def test_each_kind_of_a_trap_is_looked_at() -> None:
    traps = Traps()
    for month in range(3):
        traps.take(MONTH, day(month, MONTH, MONTH, *[DAY] * 30))
        for number in range(30):
            traps.take(DAY, day(number))
    assert traps.take_audits(DAY, 9)
    assert traps.take_audits(MONTH, 9) == 1
    assert traps.take_audits(MONTH, 9) == traps.take_audits(DAY, 9) == 0


def test_a_page_that_leads_to_a_trap_is_no_part_of_it() -> None:
    traps = Traps()
    traps.take(f"{HOST}/*", day(1, *[DAY] * 50))
    found = walk(traps, BUDGET)
    assert found is not None
    assert found.patterns == {DAY}
    assert not trapped(traps, "/about")


def test_what_an_earlier_run_found_holds() -> None:
    traps = Traps()
    traps.restore(DAY)
    assert trapped(traps, "/day/900")
    assert traps.take_audits(DAY, 9)
    traps.take(DAY, article(1))
    assert traps.take(DAY, article(2))[1]
    assert not trapped(traps, "/day/900")


def test_patterns_are_watched_in_bounded_memory() -> None:
    traps = Traps()
    for number in range(3 * MAX_WATCHED):
        traps.take(f"{HOST}/{number}/N", day(number, f"{HOST}/{number}/next/N"))
    assert len(traps._streaks) <= MAX_WATCHED
    assert walk(traps, BUDGET) is not None


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/2031/05/12", "/N/N/N"),
        ("/2031-05-12/", "/N"),
        ("/may-2031", "/*"),
        ("/a/b/c/d/e/7", "/a/b/c/**/N"),
        ("/list?view=week&day=12.5.2031", "/*?day=N&view=week"),
        ("/list?q=a1b2c3", "/*?q=*"),
        ("/", "/*"),
    ],
)
def test_patterns_of_addresses(path: str, pattern: str) -> None:
    assert value_pattern(Address.of(f"http://{HOST}{path}")) == f"{HOST}{pattern}"


def test_the_numbers_of_a_gist_do_not_count_up() -> None:
    gist = gist_of(["May 2031", " ".join(map(str, range(1, 32))), "19:30 to 21:00"])
    assert gist is not None
    assert gist.numbers == (2031, 19, 30, 21, 0)
    assert gist.words == gist_of(["to may"]).words  # type: ignore[union-attr]
    assert gist_of(["5 9 7"]).numbers == (5, 9, 7)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("May 12th, 2031", (12, 2031)),
        ("model b12 of 2031", (2031,)),
        ("2031年5月12日", (2031, 5, 12)),
        ("order 20310512191500", ()),
    ],
)
def test_numbers_in_words(text: str, numbers: tuple[int, ...]) -> None:
    gist = gist_of([text])
    assert gist is not None
    assert gist.numbers == numbers


@pytest.mark.parametrize("texts", [[], [""], ["a" * (MAX_CHARACTERS + 1)]])
def test_texts_without_a_gist(texts: list[str]) -> None:
    assert gist_of(texts) is None


def test_a_text_of_many_words_has_no_gist() -> None:
    assert (
        gist_of([" ".join(f"{a}{b}" for a in "abcdefghijklmnop" for b in "abcdefghijklmnop")])
        is None
    )


def test_patterns_of_hostile_sites_take_little_memory() -> None:
    rng, traps = random.Random(1), Traps()
    tracemalloc.start()
    for number in range(MAX_WATCHED + 50):
        words = frozenset(rng.getrandbits(32) for _ in range(MAX_WORDS))
        for _ in range(12):
            numbers = tuple(rng.getrandbits(24) for _ in range(MAX_NUMBERS))
            traps.take(f"{HOST}/{number}/{'x' * 1900}", Sight(words=words, numbers=numbers))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 20e6


def test_page_with_many_numbers_has_no_gist() -> None:
    numbers = range(1, 3 * MAX_NUMBERS, 2)
    assert gist_of([" ".join(map(str, numbers[:MAX_NUMBERS]))]) is not None
    assert gist_of([" ".join(map(str, numbers[: MAX_NUMBERS + 1]))]) is None
