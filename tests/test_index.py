"""One contract for every index: the rule, the star, and the same answer as a linear scan."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scrapy_simhash import hamming_distance
from scrapy_simhash.index import (
    Decision,
    Index,
    IndexParameters,
    Page,
    SQLiteIndex,
    open_index,
)

PARAMETERS = IndexParameters(scheme="test", distance=2, min_tokens=10)
MASK = (1 << 64) - 1


def page(name: str, fingerprint: int, tokens: int = 100, text: str = "", scope: str = "") -> Page:
    """A page at /name whose text is *text*; by default one of its own for each fingerprint."""
    return Page(
        url=f"http://site.example/{name}",
        request_fingerprint=name.encode().ljust(20, b"-"),
        scope=scope,
        fingerprint=fingerprint,
        digest=blake2b((text or f"text {fingerprint}").encode(), digest_size=16).digest(),
        tokens=tokens,
        judged_at=1.5,
    )


@pytest.fixture(params=["memory:", "file"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    place = "memory:" if request.param == "memory:" else str(tmp_path / "pages.simhash")
    with open_index(place, PARAMETERS) as opened:
        yield opened


def near(representative: str, distance: int) -> Decision:
    return Decision(
        "near_duplicate", "within_distance", f"http://site.example/{representative}", distance
    )


def exact(representative: str) -> Decision:
    return Decision("exact_duplicate", "same_text", f"http://site.example/{representative}", 0)


UNIQUE = Decision("unique", "new_text")


def test_first_page_is_unique(index: Index) -> None:
    assert index.check_and_add(page("a", 0)) == UNIQUE
    assert len(index) == 1


def test_page_at_distance_k_is_a_near_duplicate_and_one_more_is_not(index: Index) -> None:
    index.check_and_add(page("a", 0b000))
    assert index.check_and_add(page("b", 0b011)) == near("a", 2)
    assert index.check_and_add(page("c", 0b111)) == UNIQUE


def test_same_text_is_an_exact_duplicate_however_long(index: Index) -> None:
    index.check_and_add(page("a", 0, tokens=3, text="short"))
    index.check_and_add(page("b", MASK, tokens=300, text="long"))
    assert index.check_and_add(page("c", 0, tokens=3, text="short")) == exact("a")
    assert index.check_and_add(page("d", MASK, tokens=300, text="long")) == exact("b")


def test_short_texts_are_never_near(index: Index) -> None:
    index.check_and_add(page("long", 0b0, tokens=10))
    assert index.check_and_add(page("short", 0b1, tokens=9)) == UNIQUE
    assert index.check_and_add(page("other short", 0b11, tokens=9)) == UNIQUE


def test_the_closest_is_named_and_then_the_oldest(index: Index) -> None:
    for name, fingerprint in [("a", 0b00011), ("b", 0b11000), ("c", 0b11111111)]:
        index.check_and_add(page(name, fingerprint))
    assert index.check_and_add(page("x", 0b00001)) == near("a", 1)
    assert index.check_and_add(page("y", 0b01001)) == near("a", 2)


def test_duplicates_point_to_a_kept_page_and_form_no_chain(index: Index) -> None:
    index.check_and_add(page("a", 0b0000))
    assert index.check_and_add(page("b", 0b0011)) == near("a", 2)
    # Two bits from b, four from a: b was not kept, so nothing is a duplicate of it.
    assert index.check_and_add(page("c", 0b1111)) == UNIQUE
    assert len(index) == 2


def test_same_request_is_never_a_duplicate_of_itself(index: Index) -> None:
    index.check_and_add(page("a", 0b0))
    again = index.check_and_add(page("a", 0b1))
    assert again == Decision("refresh", "seen_before", "http://site.example/a", 1)
    assert len(index) == 1


def test_refreshed_page_is_compared_by_its_new_text(index: Index) -> None:
    index.check_and_add(page("a", 0b0, text="old"))
    index.check_and_add(page("a", 0b111110000, text="new"))
    assert index.check_and_add(page("b", 0b0, text="old")) == UNIQUE
    assert index.check_and_add(page("c", 0b111110001)) == near("a", 1)
    assert index.check_and_add(page("d", 0b0, text="new")) == exact("a")


def test_refreshed_page_may_become_short_and_long_again(index: Index) -> None:
    index.check_and_add(page("a", 0b0))
    index.check_and_add(page("a", 0b0, tokens=3))
    assert index.check_and_add(page("b", 0b1)) == UNIQUE
    index.check_and_add(page("a", 0b110000))
    assert index.check_and_add(page("c", 0b111000)) == near("a", 1)


def test_duplicate_judged_again_is_a_duplicate_again(index: Index) -> None:
    index.check_and_add(page("a", 0b0))
    index.check_and_add(page("b", 0b1))
    assert index.check_and_add(page("b", 0b1)) == near("a", 1)
    assert len(list(index.rows())) == 2


def test_duplicate_that_became_another_page_is_kept(index: Index) -> None:
    index.check_and_add(page("a", 0b0))
    index.check_and_add(page("b", 0b1))
    assert index.check_and_add(page("b", MASK)) == UNIQUE
    assert index.check_and_add(page("c", MASK ^ 1)) == near("b", 1)


def test_scopes_do_not_see_each_other(index: Index) -> None:
    index.check_and_add(page("a", 0, scope="one.example"))
    assert index.check_and_add(page("b", 0, scope="two.example")) == UNIQUE
    assert index.check_and_add(page("a", 0, scope="two.example")) == exact("b")


@pytest.mark.parametrize("fingerprint", [0, 1, 1 << 63, MASK, MASK - 1])
def test_all_64_bits_count(index: Index, fingerprint: int) -> None:
    index.check_and_add(page("a", fingerprint))
    assert index.check_and_add(page("b", fingerprint ^ 1 << 63)) == near("a", 1)
    assert [row.fingerprint for row in index.rows()] == [fingerprint, fingerprint ^ 1 << 63]


def test_rows_tell_representatives_from_duplicates(index: Index) -> None:
    index.check_and_add(page("a", 0b0))
    index.check_and_add(page("b", 0b1))
    first, second = index.rows()
    assert (first.url, first.representative) == ("http://site.example/a", None)
    assert (second.url, second.representative) == ("http://site.example/b", first.id)


@dataclass
class Kept:
    name: str
    page: Page


class LinearScan:
    """The contract once more, with no index: what every index must answer."""

    def __init__(self) -> None:
        self.kept: list[Kept] = []

    def check_and_add(self, name: str, new: Page) -> Decision:
        for one in self.kept:
            if one.name == name:
                distance = hamming_distance(one.page.fingerprint, new.fingerprint)
                one.page = new
                return Decision("refresh", "seen_before", new.url, distance)
        for one in self.kept:
            if one.page.digest == new.digest:
                return exact(one.name)
        found = [
            (hamming_distance(one.page.fingerprint, new.fingerprint), position)
            for position, one in enumerate(self.kept)
            if min(one.page.tokens, new.tokens) >= PARAMETERS.min_tokens
        ]
        distance, position = min(found, default=(99, 0))
        if distance <= PARAMETERS.distance:
            return near(self.kept[position].name, distance)
        self.kept.append(Kept(name, new))
        return UNIQUE


class IndexAgainstLinearScan(RuleBasedStateMachine):
    """Judges pages in any order, by two processes' worth of connections, closing in between."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "pages.simhash"
        self.memory = open_index("memory:", PARAMETERS)
        self.files = [SQLiteIndex(self.path, PARAMETERS) for _ in range(2)]
        self.model = LinearScan()
        self.turn = itertools.cycle([0, 1])
        # "Oldest" means first judged; the model keeps pages that were duplicates first in
        # the order in which they became representatives, so names are used once or kept.
        self.duplicates: set[str] = set()

    @rule(
        name=st.sampled_from("abcdefgh"),
        fingerprint=st.integers(0, 255),
        tokens=st.sampled_from([5, 50]),
    )
    def judge(self, name: str, fingerprint: int, tokens: int) -> None:
        if name in self.duplicates:
            return
        new = page(name, fingerprint, tokens, text=f"text {fingerprint} {tokens}")
        expected = self.model.check_and_add(name, new)
        if expected.is_duplicate:
            self.duplicates.add(name)
        assert self.memory.check_and_add(new) == expected
        assert self.files[next(self.turn)].check_and_add(new) == expected

    @rule(which=st.sampled_from([0, 1]))
    def reopen(self, which: int) -> None:
        self.files[which].close()
        self.files[which] = SQLiteIndex(self.path, PARAMETERS)

    @invariant()
    def as_many_are_kept(self) -> None:
        assert len(self.memory) == len(self.files[0]) == len(self.files[1]) == len(self.model.kept)

    def teardown(self) -> None:
        for file in self.files:
            file.close()
        self.folder.cleanup()


TestIndexAgainstLinearScan = IndexAgainstLinearScan.TestCase
TestIndexAgainstLinearScan.settings = settings(max_examples=30, stateful_step_count=30)
