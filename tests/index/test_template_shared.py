"""What several processes learn of a site comes together, and costs no page much."""

from __future__ import annotations

import math
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_simhash.decision.template import (
    LASTING_PAGES,
    MAX_BLOCKS,
    WINDOW_PAGES,
    Template,
    Templates,
)
from tests.indexes import Blocking, open_index
from tests.pages import VERIFIED as PARAMETERS
from tests.pages import page_with_content as page

SITE = "site.example"


def learned(pages: int, *blocks: int, own: int = 1_000_000) -> Template:
    """A template of pages that all have some blocks, and each one of its own."""
    template = Template()
    for i in range(pages):
        template.learn([*blocks, own + i])
    return template


def test_both_know_what_one_has_learned() -> None:
    one, other = learned(5, 1), learned(25, 1, 2)
    one.merge(other)
    assert one.likely_blocks == {1, 2}
    assert one.pages == pytest.approx(other.pages)
    for i in range(200):  # it goes on as if it had learned all by itself
        one.learn([1, 3, i + 100])
    assert one.blocks == {1, 2, 3}  # what was template on 30 pages stays it


def test_what_is_rare_elsewhere_is_less_sure() -> None:
    one, other = learned(12, 1), learned(60, 2)
    one.merge(other)
    assert one.blocks == {2}  # 1 stands on a sixth of the pages that both know


def test_merging_again_and_again_makes_nobody_surer() -> None:
    one = learned(40, 1, 2)
    other = Template.from_bytes(one.to_bytes())
    pages = one.pages
    for _ in range(50):
        one.merge(other)
        other.merge(one)
    assert one.pages == pytest.approx(pages)
    assert one.blocks == other.blocks == {1, 2}


def test_nothing_to_merge_changes_nothing() -> None:
    one = learned(40, 1)
    before = one.to_bytes()
    one.merge(Template())
    assert one.to_bytes() == before


def test_old_templates_count_on_without_end() -> None:
    """Weights grow by a factor of ten in 690 pages, and are brought back in time."""
    template = Template()
    for i in range(100_000):
        template.learn([1, i + 100, *([2] if i > 99_000 else [])])
    assert template.pages == pytest.approx(WINDOW_PAGES)
    assert template.blocks == {1, 2}


def test_frequent_block_is_known_though_pages_bring_thousands_of_others() -> None:
    rng = random.Random(1)
    template = Template()
    for i in range(200):
        others = range(10_000 + 3_000 * i, 13_000 + 3_000 * i)
        template.learn([1, *others, *([2] if rng.random() < 0.6 else [])])
        assert len(template._recent) + len(template._earlier) <= MAX_BLOCKS + 6_000
    assert template.blocks == {1, 2}


@pytest.mark.parametrize("stored", [b"", b"x", b"\0" * 18])
def test_what_is_no_template_is_refused_and_replaced(stored: bytes) -> None:
    if stored != b"\0" * 18:
        with pytest.raises(ValueError, match="no template"):
            Template.from_bytes(stored)
    templates = Templates()
    for i in range(20):
        templates.learn(SITE, [1, 100 + i])
    assert templates.take_changed() == [SITE]
    again = Template.from_bytes(templates.merged(SITE, stored))
    assert again.pages > 15


@pytest.mark.parametrize("number", [math.nan, math.inf, -1.0, 1e9])
def test_impossible_numbers_are_refused(number: float) -> None:
    template = learned(20, 1)
    template._pages = number * template._weight
    with pytest.raises(ValueError, match="no template"):
        Template.from_bytes(template.to_bytes())
    template = learned(20, 1)
    template._lasting.add(1)
    template._recent[1] = number * template._weight
    with pytest.raises(ValueError, match="no template"):
        Template.from_bytes(template.to_bytes())


def judge(index: Blocking, first: int, count: int, block: int) -> None:
    """Judge distinct pages that all have a block."""
    for i in range(first, first + count):
        new = page(f"p{i}", range(1000 * i, 1000 * i + 60), main_text=i << 20, block=block)
        assert index.check_and_add(new).verdict == "unique"


def test_processes_that_share_a_file_learn_from_each_other(tmp_path: Path) -> None:
    path = tmp_path / "pages.simhash"
    with open_index(path, PARAMETERS) as one, open_index(path, PARAMETERS) as two:
        judge(one, 0, 90, block=7)
        judge(two, 100, 25, block=8)  # as many as make it due to be stored
        assert 7 in two.learned.template(SITE)
    with open_index(path, PARAMETERS) as index:
        assert 7 in index.learned.template(SITE)


def test_one_process_stores_what_it_has_learned_as_it_is(lasting_place: str) -> None:
    """What it has stored itself before does not count a second time."""
    template = Template()
    with open_index(lasting_place, PARAMETERS) as index:
        for first, count, block in ((0, 60, 7), (100, 40, 8)):
            judge(index, first, count, block)
            for _ in range(count):
                template.learn([block])
    with open_index(lasting_place, PARAMETERS) as index:
        assert dict(index.templates())[SITE] == template.to_bytes()


def test_last_to_end_does_not_undo_what_others_learned(tmp_path: Path) -> None:
    path = tmp_path / "pages.simhash"
    with open_index(path, PARAMETERS) as one:
        judge(one, 100, 3, block=8)
        with open_index(path, PARAMETERS) as two:
            judge(two, 0, 40, block=7)
    with open_index(path, PARAMETERS) as index:
        assert 7 in index.learned.template(SITE)


def test_damaged_template_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pages.simhash"
    with open_index(path, PARAMETERS) as index:
        judge(index, 0, 40, block=7)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE templates SET state = x'ff'")
            connection.commit()
        judge(index, 100, 1, block=7)
    with open_index(path, PARAMETERS) as index:
        assert index.learned.template(SITE) == {7}


def test_template_that_could_not_be_stored_costs_no_page_and_is_stored_later(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pages.simhash"
    with open_index(path, PARAMETERS) as index:
        judge(index, 0, 40, block=7)
        ((_, stored),) = index.templates()
        connection = index._connection
        connection.execute(
            "CREATE TEMP TRIGGER full BEFORE INSERT ON templates"
            " BEGIN SELECT raise(ABORT, 'full'); END"
        )
        judge(index, 100, 200, block=7)
        assert dict(index.templates()) == {SITE: stored}
        connection.execute("DROP TRIGGER full")
    with open_index(path, PARAMETERS) as index:
        assert dict(index.templates())[SITE] != stored


def test_the_last_pages_count_whatever_was_before() -> None:
    template = learned(2_000, 1)
    assert 250 < template.pages < 350
    for i in range(150):
        template.learn([3, 5_000_000 + i])
    assert template.blocks == {1, 3}  # 3 is on 7 % of all pages


def test_pages_of_other_sites_cost_no_site_what_it_has_counted() -> None:
    templates = Templates()
    for i in range(2 * LASTING_PAGES):
        templates.learn("one.example", [1, 1_000 + i])
        templates.learn("other.example", [2, 2_000 + i])
    assert templates.blocks("one.example") == {1}


def test_state_has_only_what_may_become_template() -> None:
    """A block that stood on one of many pages takes no room in an index."""
    assert learned(1_000, 1).to_bytes() == learned(1_000, 1, own=9_000_000).to_bytes()
    assert Template.from_bytes(learned(1_000, 1, 2).to_bytes()).blocks == {1, 2}
    rare_now = learned(5, 1, 3)
    for i in range(100):
        rare_now.learn([1, 1_000 + i])
    assert len(rare_now.to_bytes()) == len(learned(100, 1).to_bytes())
