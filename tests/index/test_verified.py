"""An index that verifies: a candidate is a duplicate only if the pages share their content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scrapy_simhash.decision.holdings import PageValues
from scrapy_simhash.decision.judge import MAX_COMPARED
from scrapy_simhash.decision.page import Decision, Page
from scrapy_simhash.decision.sketch import sketch_of
from tests.indexes import Blocking, open_index
from tests.pages import UNIQUE, values, with_values
from tests.pages import VERIFIED as PARAMETERS
from tests.pages import page_with_content as page
from tests.redis_servers import new_redis_url


@pytest.fixture
def index(place: str) -> Iterator[Blocking]:
    with open_index(place, PARAMETERS) as opened:
        yield opened


def test_candidate_that_shares_its_content_is_a_duplicate(index: Blocking) -> None:
    index.check_and_add(page("a", range(1, 101)))
    found = index.check_and_add(page("b", range(3, 103), main_text=1))
    assert found == replace(found, verdict="near_duplicate", reason="share_in_common", distance=1)
    assert found.representative == "http://site.example/a"
    assert found.share == pytest.approx(98 / 102, abs=0.05)


def test_same_main_text_with_other_content_is_another_page(index: Blocking) -> None:
    index.check_and_add(page("a", range(1, 101)))
    assert index.check_and_add(page("b", range(201, 301))) == UNIQUE


def test_same_page_is_an_exact_duplicate(index: Blocking) -> None:
    index.check_and_add(page("a", range(1, 101)))
    assert index.check_and_add(page("b", range(1, 101))) == Decision(
        "exact_duplicate", "same_text", "http://site.example/a", 0, 1.0
    )


def test_unique_page_says_what_it_came_closest_to(index: Blocking) -> None:
    index.check_and_add(page("far", range(500, 600), block=2))
    index.check_and_add(page("near", range(1, 101), block=3))
    found = index.check_and_add(page("new", range(41, 141), block=4))
    assert found == UNIQUE
    assert found.closest is not None
    assert found.closest.url == "http://site.example/near"
    assert found.closest.share == pytest.approx(60 / 140, abs=0.1)


def test_page_with_a_value_of_its_own_is_a_variant(index: Blocking) -> None:
    def named(name: str, *values: int) -> Page:
        return with_values(page(name, range(1, 101)), *values)

    index.check_and_add(named("a", 1))
    found = index.check_and_add(named("b", 2))
    assert (found.verdict, found.reason) == ("variant", "new_data")
    assert found.representative == "http://site.example/a"
    assert index.check_and_add(named("c", 2)).representative == "http://site.example/b"
    assert index.check_and_add(named("d")).is_duplicate
    index.check_and_add(named("e", 3, 4))
    assert index.check_and_add(named("f", 4)).representative == "http://site.example/e"
    assert index.check_and_add(named("g", 4, 5)).verdict == "variant"


def test_same_main_text_needs_less_of_the_rest(index: Blocking) -> None:
    index.check_and_add(page("a", range(1, 81)))
    assert index.check_and_add(page("b", range(7, 87), main_text=1)) == UNIQUE
    assert index.check_and_add(page("c", range(7, 87), content_fingerprint=9)).is_duplicate
    assert index.check_and_add(page("d", range(41, 121))) == UNIQUE


def test_little_content_must_be_the_same(index: Blocking) -> None:
    index.check_and_add(page("a", range(1, 9), tokens=5))
    assert index.check_and_add(page("b", range(1, 10), tokens=5)) == UNIQUE
    assert index.check_and_add(page("c", range(1, 9), tokens=5)).is_duplicate


def test_less_around_the_same_main_text_is_the_same_page(index: Blocking) -> None:
    index.check_and_add(page("a", range(1, 51), tokens=20))
    less = page("notice taken away", range(1, 31), tokens=20, content_fingerprint=9)
    assert index.check_and_add(less).share == pytest.approx(30 / 50)
    too_little = page("most taken away", range(1, 25), tokens=20, content_fingerprint=9)
    assert index.check_and_add(too_little) == UNIQUE


def test_more_around_the_same_main_text_is_lost_only_where_it_is_little(index: Blocking) -> None:
    index.check_and_add(page("a", range(1, 31), tokens=20))
    more = page("notice added", range(1, 41), tokens=20, content_fingerprint=9)
    assert index.check_and_add(more).share == pytest.approx(30 / 40)
    too_much = page("more added", range(1, 51), tokens=20, content_fingerprint=9)
    assert index.check_and_add(too_much) == UNIQUE


@pytest.mark.parametrize(
    ("other", "tokens", "main_text"),
    [(range(1, 31), 19, 0), (range(1, 31), 100, 1), (range(11, 61), 100, 0)],
    ids=["little text", "other text", "something added as well"],
)
def test_what_is_left_out_counts_for_little_only_around_a_text(
    index: Blocking, other: range, tokens: int, main_text: int
) -> None:
    index.check_and_add(page("a", range(1, 51), tokens=tokens))
    assert index.check_and_add(page("b", other, main_text=main_text, tokens=tokens)) == UNIQUE


@pytest.mark.parametrize(
    ("kept", "new", "is_duplicate"),
    [
        (range(1, 31), range(1, 27), True),
        (range(1, 31), range(1, 26), False),
        (range(1, 31), range(2, 28), True),
        (range(1, 31), range(4, 32), False),
        (range(1, 20), range(1, 18), False),
    ],
    ids=["26 of 30", "25 of 30", "26 of 30 from within", "one is new", "too little to say so"],
)
def test_page_that_the_kept_one_has_whole_is_a_duplicate(
    index: Blocking, kept: range, new: range, is_duplicate: bool
) -> None:
    index.check_and_add(page("page", kept))
    assert index.check_and_add(page("rendered", new, main_text=1)).is_duplicate == is_duplicate


def test_page_with_another_heading_must_share_more(index: Blocking) -> None:
    for name, heading in {"ridge": 1, "lasso": 2, "no heading": None}.items():
        one = replace(page(name, range(1, 81), main_text=heading or 0), heading=heading)
        # Each of them is new to an index of its scope.
        index.check_and_add(replace(one, scope=name))
        like = replace(page(f"like {name}", range(5, 85), main_text=3), scope=name, heading=1)
        assert index.check_and_add(like).is_duplicate == (name != "lasso")
    most = replace(page("translated", range(2, 81), main_text=3), scope="lasso", heading=1)
    assert index.check_and_add(most).is_duplicate


@pytest.mark.parametrize(("shingles", "may_differ"), [(10, 0), (15, 0), (18, 2), (40, 4)])
def test_the_more_content_the_more_may_differ(
    index: Blocking, shingles: int, may_differ: int
) -> None:
    """The share of 0.9 holds from twice min_tokens on; one of 15 would be a share of 0.93."""
    index.check_and_add(page("a", range(1, 1 + shingles)))
    for number in range(1, 6):
        changed = page(f"{number} more", range(1, 1 + shingles + number), main_text=1)
        found = index.check_and_add(replace(changed, content_fingerprint=0))
        assert found.is_duplicate == (number <= may_differ)
        if not found.is_duplicate:
            return


def test_the_page_that_shares_most_is_named_not_the_closest(index: Blocking) -> None:
    index.check_and_add(page("close", range(1, 201), main_text=0))
    index.check_and_add(page("alike", range(50, 250), main_text=0b11))
    found = index.check_and_add(page("x", range(50, 250), main_text=0b1, content_fingerprint=9))
    assert found.representative == "http://site.example/alike"


@pytest.mark.parametrize("kind", ["near", "of the same text"])
def test_many_candidates_of_one_kind_leave_room_for_the_other(index: Blocking, kind: str) -> None:
    other = "main_text" if kind == "near" else "content_fingerprint"
    for number in range(1, MAX_COMPARED + 2):
        elsewhere = {other: number * 0x9E3779B97F4A7C15 % (1 << 64)}
        one = page(f"{number}", range(1000 * number, 1000 * number + 50), tokens=5, **elsewhere)
        assert not index.check_and_add(one).is_duplicate
    far = {"near": "content_fingerprint", "of the same text": "main_text"}[kind]
    index.check_and_add(page("twin", range(1, 51), tokens=5, **{far: 0xFFFF}))
    found = index.check_and_add(page("x", range(1, 51), tokens=5))
    assert found.representative == "http://site.example/twin"


def test_page_near_in_its_content_alone_is_found(index: Blocking) -> None:
    index.check_and_add(page("a", range(1, 101), main_text=0, content_fingerprint=0xF0))
    other = page("b", range(1, 101), main_text=0xFFFF, content_fingerprint=0xF1)
    assert index.check_and_add(other).representative == "http://site.example/a"


def test_page_is_found_in_a_server_however_far_its_fingerprints_are() -> None:
    with open_index(new_redis_url(), PARAMETERS) as index:
        index.check_and_add(page("a", range(1, 101)))
        far = page("b", range(1, 101), main_text=0xFFFF, content_fingerprint=0xFFFF)
        found = index.check_and_add(far)
        assert found.representative == "http://site.example/a"
        assert found.distance == 16
        other = page("c", range(1001, 1101), content_fingerprint=0xFF0000, main_text=5)
        assert index.check_and_add(other) == UNIQUE


def test_page_without_content_is_kept(index: Blocking) -> None:
    bare = replace(page("a", range(1, 2)), sketch=None, content_fingerprint=None)
    index.check_and_add(bare)
    again = replace(bare, url="http://site.example/b", request_fingerprint=b"b" * 20)
    assert index.check_and_add(again) == UNIQUE


def test_kept_pages_teach_what_the_site_repeats_and_duplicates_do_not(index: Blocking) -> None:
    for i in range(40):
        start = 1000 * i + 1
        unique = replace(page(f"p{i}", range(start, start + 50), main_text=i << 8), blocks=(7, i))
        assert index.check_and_add(replace(unique, content_fingerprint=i << 40)) == UNIQUE
        copy = replace(unique, url="x", request_fingerprint=b"%020d" % i, blocks=(8, i))
        assert index.check_and_add(replace(copy, content_fingerprint=i << 40)).is_duplicate
    assert index.learned.template("site.example") == {7}
    assert index.learned.template("other.example") == frozenset()


SECTIONS = ["site.example/de", "site.example/en", "site.example/fr", "site.example/ja"]


def teach_sections(index: Blocking, are_values: bool = False) -> None:
    """Let the pages of each section have a header of its own, and all one footer."""
    for i in range(160):
        fingerprint = (i + 1) * 0x9E3779B97F4A7C15 % (1 << 64)
        section, start = i % len(SECTIONS), 1000 * (i + 1)
        unique = page(
            f"p{i}",
            range(start, start + 50),
            main_text=fingerprint,
            content_fingerprint=fingerprint,
        )
        blocks = (7, 100 + section, 1000 + i)
        loose = values(blocks if are_values else ())
        of_section = replace(unique, section=SECTIONS[section], blocks=blocks)
        assert index.check_and_add(replace(of_section, holds=PageValues(loose=loose))) == UNIQUE


def test_what_a_section_repeats_is_template_in_it(index: Blocking) -> None:
    teach_sections(index)
    assert index.learned.template("site.example") == {7}
    assert [index.learned.template(section) for section in SECTIONS] == [
        {7, 100 + i} for i in range(4)
    ]
    assert index.learned.template("site.example/it") == {7}


def test_what_a_section_repeats_does_not_count_in_a_comparison(index: Blocking) -> None:
    teach_sections(index)
    shingles = {i * 0x9E3779B97F4A7C15 % (1 << 64): 1 if i <= 50 else 100 for i in range(1, 91)}
    whole = replace(page("whole", range(1, 91)), sketch=sketch_of(shingles))
    index.check_and_add(replace(whole, section=SECTIONS[0], blocks=(1,)))
    bare = replace(page("printed", range(1, 51), main_text=3), blocks=(1,))
    assert index.check(replace(bare, section=SECTIONS[1])) == UNIQUE
    assert index.check(replace(bare, section=SECTIONS[0])).is_duplicate


def test_what_the_section_of_the_kept_page_repeats_does_not_count(index: Blocking) -> None:
    teach_sections(index)
    kept = replace(page("de/kept", range(1, 51)), section=SECTIONS[0], blocks=(1,))
    index.check_and_add(kept)  # its block 100 was not stored, since its section repeats it
    shingles = {i * 0x9E3779B97F4A7C15 % (1 << 64): 1 if i <= 50 else 100 for i in range(1, 91)}
    copy = replace(page("print/kept", range(1, 91), main_text=3), section="site.example/print")
    copy = replace(copy, sketch=sketch_of(shingles))
    assert index.check(copy).is_duplicate
    other = {value: 101 if block == 100 else block for value, block in shingles.items()}
    assert index.check(replace(copy, sketch=sketch_of(other))) == UNIQUE


def test_what_the_section_of_the_kept_page_repeats_is_no_new_value(index: Blocking) -> None:
    teach_sections(index, are_values=True)
    kept = replace(with_values(page("de/kept", range(1, 101))), section=SECTIONS[0])
    index.check_and_add(kept)  # its value 100 was not stored, since its section repeats it
    copy = replace(page("print/kept", range(1, 101)), section="site.example/print")
    assert index.check(with_values(copy, 7, 100)).is_duplicate
    for other in (99, 101):
        assert index.check(with_values(copy, 100, other)).reason == "new_data"


def test_what_was_learned_is_there_after_reopening(lasting_place: str) -> None:
    with open_index(lasting_place, PARAMETERS) as index:
        for i in range(40):
            start = 1000 * i + 1
            fingerprint = (i + 1) * 0x9E3779B97F4A7C15 % (1 << 64)
            index.check_and_add(
                page(
                    f"p{i}",
                    range(start, start + 50),
                    main_text=fingerprint,
                    content_fingerprint=fingerprint,
                )
            )
    with open_index(lasting_place, PARAMETERS) as index:
        assert index.learned.template("site.example") == {1}


def test_what_a_section_repeats_is_there_after_reopening(lasting_place: str) -> None:
    with open_index(lasting_place, PARAMETERS) as index:
        teach_sections(index)
    with open_index(lasting_place, PARAMETERS) as index:
        assert index.learned.template(SECTIONS[2]) == {7, 102}


def test_values_that_a_section_repeats_are_there_after_reopening(lasting_place: str) -> None:
    with open_index(lasting_place, PARAMETERS) as index:
        teach_sections(index, are_values=True)
    with open_index(lasting_place, PARAMETERS) as index:
        repeated = {7, 102, *values([7, 102])}
        assert index.learned.template(SECTIONS[2]) == repeated
        assert index.learned.template(f"{SECTIONS[2]}/news") == repeated
        assert index.learned.repeated_blocks(SECTIONS[2]) == {7, 102}
        assert index.learned.template("site.example/it") == {7}, "values are those of one section"


def test_plain_rule_ignores_the_content(tmp_path: Path) -> None:
    with open_index("memory:", replace(PARAMETERS, share=None)) as index:
        index.check_and_add(page("a", range(1, 101)))
        assert index.check_and_add(page("b", range(201, 301), main_text=1)) == Decision(
            "near_duplicate", "within_distance", "http://site.example/a", 1
        )


def test_of_all_that_share_enough_the_canonical_one_is_named(index: Blocking) -> None:
    names = {"a": range(1, 101), "b": range(18, 118)}
    for name, content in names.items():
        assert index.check_and_add(page(name, content)) == UNIQUE
    new = page("x", range(8, 108))
    assert index.check_and_add(new).representative == "http://site.example/a"
    named = replace(new, request_fingerprint=b"y" * 20, canonical="http://site.example/b")
    found = index.check_and_add(named)
    assert (found.verdict, found.representative) == ("near_duplicate", "http://site.example/b")


def test_of_two_that_share_the_same_the_one_with_the_more_alike_path_is_named(
    index: Blocking,
) -> None:
    """Also where the one URL ends with all of the other, as in an archive."""
    for name in ("other", "kept"):
        index.keep(replace(page(name, range(1, 101)), url=f"http://a.example/of/{name}"))
    url = "http://archive.example/web/http://a.example/of/kept"
    found = index.check(replace(page("x", range(1, 101)), url=url))
    assert found.representative == "http://a.example/of/kept"


def test_wrong_canonical_makes_no_duplicate_of_other_content(index: Blocking) -> None:
    index.check_and_add(page("a", range(1, 101)))
    new = replace(page("x", range(201, 301)), canonical="http://site.example/a")
    assert index.check_and_add(new) == UNIQUE
