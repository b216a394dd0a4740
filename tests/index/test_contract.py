"""One contract for every index: the rule, the star, and the same answer as a linear scan."""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scrapy_simhash import hamming_distance
from scrapy_simhash.decision.page import Decision, Page, Reason, met_by
from scrapy_simhash.index.sqlite import segments
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from tests.indexes import Blocking, groups, ids_by_name, open_index, write_segments
from tests.pages import (
    MASK,
    PARAMETERS,
    UNIQUE,
    exact,
    near,
    page,
    refreshed,
)
from tests.redis_servers import NO_PROGRAM, PROGRAM, new_redis_url


@pytest.fixture
def index(place: str) -> Iterator[Blocking]:
    with open_index(place, PARAMETERS) as opened:
        yield opened


def test_first_page_is_unique(index: Blocking) -> None:
    assert index.check_and_add(page("a", 0)) == UNIQUE
    assert len(index) == 1


def test_page_at_distance_k_is_a_near_duplicate_and_one_more_is_not(index: Blocking) -> None:
    index.check_and_add(page("a", 0b000))
    assert index.check_and_add(page("b", 0b011)) == near("a", 2)
    assert index.check_and_add(page("c", 0b111)) == UNIQUE


def test_same_text_is_an_exact_duplicate_however_long(index: Blocking) -> None:
    index.check_and_add(page("a", 0, tokens=3, text="short"))
    index.check_and_add(page("b", MASK, tokens=300, text="long"))
    assert index.check_and_add(page("c", 0, tokens=3, text="short")) == exact("a")
    assert index.check_and_add(page("d", MASK, tokens=300, text="long")) == exact("b")


def test_short_texts_are_never_near(index: Blocking) -> None:
    index.check_and_add(page("long", 0b0, tokens=10))
    assert index.check_and_add(page("short", 0b1, tokens=9)) == UNIQUE
    assert index.check_and_add(page("other short", 0b11, tokens=9)) == UNIQUE


def test_the_closest_is_named_and_then_the_oldest(index: Blocking) -> None:
    for name, fingerprint in [("a", 0b00011), ("b", 0b11000), ("c", 0b11111111)]:
        index.check_and_add(page(name, fingerprint))
    assert index.check_and_add(page("x", 0b00001)) == near("a", 1)
    assert index.check_and_add(page("y", 0b01001)) == near("a", 2)


def canonical(name: str, of: str, fingerprint: int, text: str = "") -> Page:
    return replace(page(name, fingerprint, text=text), canonical=f"http://site.example/{of}")


def test_of_several_as_close_the_canonical_one_is_named(index: Blocking) -> None:
    for name, fingerprint in [("a", 0b000011), ("b", 0b001100), ("c", 0b111111)]:
        assert index.check_and_add(page(name, fingerprint)) == UNIQUE
    assert index.check_and_add(canonical("x", "b", 0b001111)) == near("b", 2)
    assert index.check_and_add(canonical("y", "elsewhere", 0b001111)) == near("a", 2)
    # One that is farther is not as good.
    assert index.check_and_add(canonical("z", "b", 0b000001)) == near("a", 1)


def test_of_several_with_the_same_text_the_canonical_one_is_named(index: Blocking) -> None:
    index.check_and_add(page("a", 0, text="same"))
    index.check_and_add(page("b", MASK, text="other"))
    index.check_and_add(page("b", MASK, text="same"))  # a refreshed page stays a kept one
    assert index.check_and_add(canonical("x", "b", 0, text="same")) == exact("b")
    assert index.check_and_add(page("y", 0, text="same")) == exact("a")


def test_wrong_canonical_makes_no_duplicate(index: Blocking) -> None:
    index.check_and_add(page("a", 0))
    assert index.check_and_add(canonical("b", "a", MASK)) == UNIQUE
    assert index.check_and_add(canonical("c", "a", MASK ^ 1)) == near("b", 1)


def test_duplicates_point_to_a_kept_page_and_form_no_chain(index: Blocking) -> None:
    index.check_and_add(page("a", 0b0000))
    assert index.check_and_add(page("b", 0b0011)) == near("a", 2)
    # Two bits from b, four from a: b was not kept, so nothing is a duplicate of it.
    assert index.check_and_add(page("c", 0b1111)) == UNIQUE
    assert len(index) == 2


def test_of_copies_added_at_once_the_first_is_kept(index: Blocking) -> None:
    async def added_at_once() -> list[Decision]:
        pages = [page("a", 0b0), page("b", 0b1), page("c", MASK), page("d", MASK ^ 1)]
        decisions: list[Decision] = await asyncio.gather(*map(index.index.add, pages))
        return decisions

    assert index.run(added_at_once()) == [UNIQUE, near("a", 1), UNIQUE, near("c", 1)]
    assert groups(index) == {"a": None, "b": "a", "c": None, "d": "c"}


def test_duplicate_that_is_kept_all_the_same_stands_for_others(index: Blocking) -> None:
    index.check_and_add(page("a", 0b0000))
    assert index.check_and_add(page("b", 0b0011)) == near("a", 2)
    index.keep(page("b", 0b0011))
    index.keep(page("b", 0b0011))
    assert groups(index) == {"a": None, "b": None}
    assert len(index) == 2
    assert index.check_and_add(page("c", 0b0111)) == near("b", 1)
    again = index.check_and_add(page("b", 0b0011))
    assert again == refreshed("b", 0, changed=False)
    assert again.beside == near("a", 2)


def test_page_may_be_kept_that_was_never_judged(index: Blocking) -> None:
    index.check_and_add(page("a", 0b0))
    index.keep(page("b", 0b1))
    assert groups(index) == {"a": None, "b": None}
    index.keep(page("a", 0b111))  # a representative stays as it is
    assert index.check_and_add(page("c", 0b0)) == exact("a")


def test_same_request_is_never_a_duplicate_of_itself(index: Blocking) -> None:
    index.check_and_add(page("a", 0b0))
    again = index.check_and_add(page("a", 0b1))
    assert again == refreshed("a", 1, changed=True)
    assert again.beside is None
    assert len(index) == 1


def test_refreshed_page_is_compared_by_its_new_text(index: Blocking) -> None:
    index.check_and_add(page("a", 0b0, text="old"))
    index.check_and_add(page("a", 0b111110000, text="new"))
    assert index.check_and_add(page("b", 0b0, text="old")) == UNIQUE
    assert index.check_and_add(page("c", 0b111110001)) == near("a", 1)
    assert index.check_and_add(page("d", 0b0, text="new")) == exact("a")


def test_refreshed_page_may_become_short_and_long_again(index: Blocking) -> None:
    index.check_and_add(page("a", 0b0))
    index.check_and_add(page("a", 0b0, tokens=3))
    assert index.check_and_add(page("b", 0b1)) == UNIQUE
    index.check_and_add(page("a", 0b110000))
    assert index.check_and_add(page("c", 0b111000)) == near("a", 1)


def test_duplicate_judged_again_is_a_duplicate_again(index: Blocking) -> None:
    index.check_and_add(page("a", 0b0))
    index.check_and_add(page("b", 0b1))
    assert index.check_and_add(page("b", 0b1)) == near("a", 1)
    assert len(list(index.rows())) == 2


def test_duplicate_that_became_another_page_is_kept(index: Blocking) -> None:
    index.check_and_add(page("a", 0b0))
    index.check_and_add(page("b", 0b1))
    assert index.check_and_add(page("b", MASK)) == UNIQUE
    assert index.check_and_add(page("c", MASK ^ 1)) == near("b", 1)


def test_scopes_do_not_see_each_other(index: Blocking) -> None:
    index.check_and_add(page("a", 0, scope="one.example"))
    assert index.check_and_add(page("b", 0, scope="two.example")) == UNIQUE
    assert index.check_and_add(page("a", 0, scope="two.example")) == exact("b")


@pytest.mark.parametrize("fingerprint", [0, 1, 1 << 63, MASK, MASK - 1])
def test_all_64_bits_count(index: Blocking, fingerprint: int) -> None:
    index.check_and_add(page("a", fingerprint))
    assert index.check_and_add(page("b", fingerprint ^ 1 << 63)) == near("a", 1)
    assert [row.page.fingerprint for row in index.rows()] == [fingerprint, fingerprint ^ 1 << 63]


def test_rows_tell_representatives_from_duplicates(index: Blocking) -> None:
    index.check_and_add(page("a", 0b0))
    index.check_and_add(page("b", 0b1))
    first, second = index.rows()
    assert (first.page.url, first.representative) == ("http://site.example/a", None)
    assert (second.page.url, second.representative) == ("http://site.example/b", first.id)


def test_request_met_again_with_the_same_text_is_unchanged(index: Blocking) -> None:
    index.check_and_add(page("a", 0b0))
    assert index.check_and_add(page("a", 0b0)) == refreshed("a", 0, changed=False)
    assert index.check_and_add(page("a", 0b0, text="new")) == refreshed("a", 0, changed=True)


def test_unchanged_page_may_be_skipped_only_after_a_crawl_that_ended(lasting_place: str) -> None:
    crawls: list[tuple[bool, Reason | None]]
    crawls = [(False, None), (True, "seen_before"), (False, "unchanged")]
    for ends, reason in crawls:
        with open_index(lasting_place, PARAMETERS) as index:
            run = index.begin_crawl("spider")
            decision = index.check_and_add(replace(page("a", 0b0), crawl=run.id))
            if reason is None:
                assert decision == UNIQUE
            else:
                assert decision == refreshed("a", 0, changed=False, reason=reason)
                # Only what an earlier crawl has passed on counts, not the one that goes on.
                again = replace(page("a", 0b0), crawl=run.id)
                assert index.check_and_add(again).reason == reason
            if ends:
                index.end_crawl(run)


def test_unchanged_page_may_be_skipped_by_the_spider_alone_that_got_it(lasting_place: str) -> None:
    reasons: list[Reason | None] = []
    for spider in ("one", "one", "other", "other", "one"):
        with open_index(lasting_place, PARAMETERS) as index:
            run = index.begin_crawl(spider)
            reasons.append(index.check_and_add(replace(page("a", 0b0), crawl=run.id)).reason)
            index.end_crawl(run)
    assert reasons == ["new_text", "unchanged", "seen_before", "unchanged", "seen_before"]


def test_refreshed_page_that_was_not_passed_on_is_not_skipped(lasting_place: str) -> None:
    with open_index(lasting_place, PARAMETERS) as index:
        for reason in ("new_text", "unchanged", "seen_before"):
            run = index.begin_crawl("spider")
            new = replace(page("a", 0b0), crawl=run.id)
            decision = index.check_and_add(new)
            assert decision.reason == reason
            if decision.reason == "unchanged":
                index.withdraw("", new.request_fingerprint, decision)
            index.end_crawl(run)


def test_spiders_that_share_an_index_end_their_crawls_by_themselves(lasting_place: str) -> None:
    with open_index(lasting_place, PARAMETERS) as index:
        runs = {name: index.begin_crawl(name) for name in ("quick", "slow")}
        pages = {
            name: replace(page(name, f), crawl=runs[name].id)
            for name, f in (("quick", 0), ("slow", 0xFF))
        }
        for name in pages:
            assert index.check_and_add(pages[name]) == UNIQUE
        index.end_crawl(runs["quick"])
        assert index.check_and_add(pages["quick"]).reason == "unchanged"
        assert index.check_and_add(pages["slow"]).reason == "seen_before"


def test_oldest_of_the_group_takes_the_place_of_a_forgotten_page(index: Blocking) -> None:
    for name, fingerprint in [("a", 0b00), ("b", 0b01), ("c", 0b10), ("d", 0xFF00)]:
        index.check_and_add(page(name, fingerprint))
    assert index.forget([ids_by_name(index)["a"]]) == 1
    assert groups(index) == {"b": None, "c": "b", "d": None}
    assert index.check_and_add(page("e", 0b101)) == near("b", 1)
    assert index.check_and_add(page("a", 0b100)) == near("b", 2)


def test_several_of_a_group_can_be_forgotten_at_once(index: Blocking) -> None:
    for name, fingerprint in [("a", 0b00), ("b", 0b01), ("c", 0b10), ("d", 0b11)]:
        index.check_and_add(page(name, fingerprint))
    ids = ids_by_name(index)
    assert index.forget([ids["a"], ids["b"], ids["c"], 10**6]) == 3
    assert groups(index) == {"d": None}
    assert index.forget(ids.values()) == 1
    assert len(index) == 0
    assert index.check_and_add(page("a", 0b00)) == UNIQUE


def test_forgotten_duplicate_leaves_its_group(index: Blocking) -> None:
    for name, fingerprint in [("a", 0b00), ("b", 0b01), ("c", 0b10)]:
        index.check_and_add(page(name, fingerprint))
    assert index.forget([ids_by_name(index)["b"]]) == 1
    assert groups(index) == {"a": None, "c": "a"}


def test_withdrawn_page_takes_its_copies_with_it(index: Blocking) -> None:
    new = page("a", 0b0)
    decision = index.check_and_add(new)
    index.check_and_add(page("b", 0b1))
    index.withdraw("", new.request_fingerprint, decision)
    assert groups(index) == {}
    assert index.check_and_add(page("b", 0b1)) == UNIQUE


@pytest.mark.parametrize(
    ("change", "stands"),
    [
        ("none", True),
        ("met again by another crawl", True),
        ("nearly the same text", True),
        ("other text", False),
        ("other text, before", True),
        ("withdrawn", False),
        ("withdrawn when met again", False),
        ("forgotten", False),
    ],
)
def test_a_kept_page_stands_for_a_copy_until_it_is_taken_back_or_has_changed(
    index: Blocking, change: str, stands: bool
) -> None:
    ours = met_by(1)
    kept, copy = (replace(page(name, 0, text="same"), met_by=ours) for name in "ab")
    decision = index.check_and_add(kept)
    assert index.check_and_add(copy).is_duplicate
    if change == "met again by another crawl":
        index.check_and_add(replace(kept, met_by=met_by(2)))
    elif change == "nearly the same text":
        index.check_and_add(replace(page("a", 0b1), met_by=ours))
    elif change == "other text":
        index.check_and_add(replace(page("a", MASK), met_by=ours))
    elif change == "other text, before":
        index.check_and_add(replace(page("a", MASK), met_by=ours, judged_at=kept.judged_at - 1))
    elif change == "withdrawn":
        index.withdraw("", kept.request_fingerprint, decision)
    elif change == "withdrawn when met again":
        index.withdraw("", kept.request_fingerprint, index.check_and_add(kept))
    elif change == "forgotten":
        index.forget([ids_by_name(index)["a"]])
    assert index.stands_for("", copy.request_fingerprint, 1) is stands
    assert not index.stands_for("", copy.request_fingerprint, 3)
    assert not index.stands_for("", kept.request_fingerprint, 1), "it is no copy"
    assert not index.stands_for("", b"unknown", 1)


def test_withdrawn_duplicate_changes_nothing(index: Blocking) -> None:
    index.check_and_add(page("a", 0b0))
    copy = page("b", 0b1)
    index.withdraw("", copy.request_fingerprint, index.check_and_add(copy))
    assert groups(index) == {"a": None, "b": "a"}


def test_forgetting_is_seen_by_others_who_have_it_open(lasting_place: str) -> None:
    with (
        open_index(lasting_place, PARAMETERS) as one,
        open_index(lasting_place, PARAMETERS) as two,
    ):
        for name, fingerprint in [("a", 0b00), ("b", 0b01)]:
            one.check_and_add(page(name, fingerprint))
        two.forget(ids_by_name(two).values())
        # A number that was used again would be one that "one" thinks it has seen.
        with open_index(lasting_place, PARAMETERS) as three:
            assert three.check_and_add(page("c", 0b11)) == UNIQUE
        assert one.check_and_add(page("d", 0b10)) == near("c", 1)


@dataclass
class Stored:
    page: Page
    representative: str | None
    met_by: tuple[int, ...] = ()


class LinearScan:
    """The contract once more, with no index: what every index must answer."""

    def __init__(self) -> None:
        self.stored: dict[str, Stored] = {}  # in the order of the first writing

    def kept(self) -> int:
        return sum(one.representative is None for one in self.stored.values())

    def check_and_add(self, name: str, new: Page, crawl: int | None) -> Decision:
        own = self.stored.get(name)
        if own is not None and own.representative is None:
            distance = hamming_distance(own.page.fingerprint, new.fingerprint)
            return self.take_place(name, name, new, crawl, distance)
        for are_met in (True, False):
            decision, of = self.compare(new, crawl, are_met)
            if decision.is_duplicate and not are_met:
                self.stored.pop(name, None)
                return self.take_place(of, name, new, crawl, decision.distance or 0)
            if decision.is_duplicate:
                break
        met_by = () if of or crawl is None else (crawl,)
        if own is None:
            self.stored[name] = Stored(new, of or None, met_by)
        else:
            own.page, own.representative, own.met_by = new, of or None, met_by
        return decision

    def take_place(
        self, of: str, name: str, new: Page, crawl: int | None, distance: int
    ) -> Decision:
        """Store a page in place of a kept one, whose age it has then."""
        old = self.stored[of]
        copy = replace(old, representative=name)
        changed = old.page.digest != new.digest
        before = old.met_by if of == name else ()
        numbers = dict.fromkeys((*([] if crawl is None else [crawl]), *before))
        old.page, old.met_by = new, tuple(numbers)[:4]
        self.stored = {name if one == of else one: found for one, found in self.stored.items()}
        for other in self.stored.values():
            if other.representative == of:
                other.representative = name
        if of != name:
            self.stored[of] = copy
        return refreshed(of, distance, changed, "seen_before" if of == name else "moved")

    def compare(self, new: Page, crawl: int | None, are_met: bool) -> tuple[Decision, str]:
        """Compare a page with those that its crawl has met, or with the others."""
        kept = {
            name: one.page
            for name, one in self.stored.items()
            if not one.representative and (crawl is None or crawl in one.met_by) is are_met
        }
        for name, old in kept.items():
            if old.digest == new.digest:
                return exact(name), name
        found = [
            (hamming_distance(old.fingerprint, new.fingerprint), position, name)
            for position, (name, old) in enumerate(kept.items())
            if min(old.tokens, new.tokens) >= PARAMETERS.min_tokens
        ]
        distance, _, name = min(found, default=(99, 0, ""))
        if distance <= PARAMETERS.distance:
            return near(name, distance), name
        return UNIQUE, ""

    def forget(self, names: set[str]) -> None:
        gone = [name for name in names if name in self.stored]
        for name in sorted(gone, key=lambda name: self.stored[name].representative is None):
            group = [n for n, one in self.stored.items() if one.representative == name]
            heir = next(iter(group), None)
            old = self.stored[name]
            if heir is None:
                del self.stored[name]
                continue
            old.page, old.met_by = self.stored.pop(heir).page, ()
            self.stored = {heir if n == name else n: one for n, one in self.stored.items()}
            for n in group[1:]:
                self.stored[n].representative = heir

    def withdraw(self, name: str, decision: Decision) -> None:
        if decision.verdict == "refresh":
            self.stored[name].met_by = ()
            return
        group = {n for n, one in self.stored.items() if one.representative == name}
        for one in group | {name}:
            del self.stored[one]


class IndexAgainstLinearScan(RuleBasedStateMachine):
    """Judges pages in any order, by two processes' worth of connections, closing in between."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.memory = open_index("memory:", PARAMETERS)
        self.place = self.new_place()
        self.shared = [open_index(self.place, PARAMETERS) for _ in range(2)]
        self.model = LinearScan()
        # The pages that were judged, but for those that were forgotten or taken back.
        self.judged: set[str] = set()
        self.turn = itertools.cycle([0, 1])
        self.span, segments.SPAN = segments.SPAN, 3

    @rule(
        name=st.sampled_from("abcdefgh"),
        fingerprint=st.integers(0, 255),
        tokens=st.sampled_from([5, 50]),
        crawl=st.one_of(st.none(), st.integers(1, 6)),
        fails=st.booleans(),
    )
    def judge(
        self, name: str, fingerprint: int, tokens: int, crawl: int | None, fails: bool
    ) -> None:
        new = page(name, fingerprint, tokens, text=f"text {fingerprint} {tokens}")
        new = new if crawl is None else replace(new, met_by=met_by(crawl))
        expected = self.model.check_and_add(name, new, crawl)
        indexes = [self.memory, self.shared[next(self.turn)]]
        for index in indexes:
            assert index.check_and_add(new) == expected
        self.judged.add(name)
        if fails and not expected.is_duplicate:
            if expected.is_kept:
                self.judged -= {one for one, of in groups(self.memory).items() if name in (one, of)}
            self.model.withdraw(name, expected)
            for index in indexes:
                index.withdraw("", new.request_fingerprint, expected)

    @rule(names=st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=3))
    def forget(self, names: set[str]) -> None:
        self.model.forget(names)
        self.judged -= names
        for index in [self.memory, self.shared[next(self.turn)]]:
            ids = ids_by_name(index)
            index.forget(ids[name] for name in names & ids.keys())

    @rule(which=st.sampled_from([0, 1]))
    def reopen(self, which: int) -> None:
        self.shared[which].close()
        self.shared[which] = open_index(self.place, PARAMETERS)

    @rule(which=st.sampled_from([0, 1]))
    def write_segments(self, which: int) -> None:
        if isinstance(self.shared[which].index, SQLiteIndex):
            write_segments(self.shared[which])

    @invariant()
    def groups_are_the_same(self) -> None:
        expected = {name: one.representative for name, one in self.model.stored.items()}
        for index in [self.memory, *self.shared]:
            assert groups(index) == expected
            assert len(index) == self.model.kept()

    @invariant()
    def every_judged_page_has_one_kept_page(self) -> None:
        for index in [self.memory, *self.shared]:
            found = groups(index)
            assert found.keys() == self.judged
            assert len(index.rows()) == len(found)
            assert all(of is None or found[of] is None for of in found.values())

    def teardown(self) -> None:
        segments.SPAN = self.span
        for index in [self.memory, *self.shared]:
            index.close()
        self.folder.cleanup()

    def new_place(self) -> str:
        return str(Path(self.folder.name) / "pages.simhash")


class RedisAgainstLinearScan(IndexAgainstLinearScan):
    def new_place(self) -> str:
        return new_redis_url()


# 20 runs, or 666 in the profile "thorough".
STEPS = settings(max_examples=settings().max_examples // 3, stateful_step_count=30)
TestIndexAgainstLinearScan = IndexAgainstLinearScan.TestCase
TestIndexAgainstLinearScan.settings = STEPS
TestRedisAgainstLinearScan = pytest.mark.skipif(PROGRAM is None, reason=NO_PROGRAM)(
    RedisAgainstLinearScan.TestCase
)
TestRedisAgainstLinearScan.settings = STEPS
