"""What became of the pages, and why: over time, by section of the site, in all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.report.collector import SECTIONS, Collector
from scrapy_simhash.report.document import ROWS, CrawlInfo, report_of
from scrapy_simhash.report.record import OUTCOMES, WHYS, Record
from scrapy_simhash.urls import Address
from tests.reports import record, skipped, variant
from tests.sample_reports import SITE, collected

KEPT = f"{SITE}/kept"


@pytest.mark.parametrize(
    ("page", "outcome", "why"),
    [
        (record(SITE), "kept", "new_text"),
        (record(SITE, reason="shell"), "kept", "shell"),
        (variant(SITE, KEPT, "new_text"), "variant", "new_text"),
        (variant(SITE, KEPT, "new_links"), "variant", "new_links"),
        (variant(SITE, KEPT, "other_site"), "variant", "other_site"),
        (record(SITE, verdict="refresh", reason="seen_before"), "passed", "seen_before"),
        (record(SITE, verdict="refresh", reason="moved"), "passed", "moved"),
        (record(SITE, KEPT, action="pass", reason="wall"), "passed", "wall"),
        (record(SITE, KEPT, action="pass", start_request=True), "passed", "start_request"),
        (record(SITE, KEPT, action="pass"), "passed", "observed"),
        (record(SITE, KEPT, action="flag"), "flagged", "share_in_common"),
        (record(SITE, KEPT), "dropped", "share_in_common"),
        (
            record(SITE, verdict="refresh", reason="unchanged", action="drop"),
            "dropped",
            "unchanged",
        ),
        (skipped(SITE, "timed_out"), "not_judged", "timed_out"),
        (skipped(SITE, "of a later version"), "not_judged", "other"),
        (record(SITE, action="of a later version"), "kept", "new_text"),
    ],
)
def test_page_has_one_outcome_and_a_reason_for_it(page: Record, outcome: str, why: str) -> None:
    assert (page.outcome, page.why) == (outcome, why)


@pytest.mark.parametrize(
    ("url", "section"),
    [
        ("http://a.example/article/lamp?sid=1", "a.example/article/"),
        ("http://a.example/list", "a.example/"),
        ("http://a.example", "a.example/"),
        ("http://a.example/2031/05/12", "a.example/N/"),
        ("http://A.example//x", "a.example//"),
    ],
)
def test_section_is_the_first_folder(url: str, section: str) -> None:
    assert Address.of(url).general_section == section


def crawl() -> list[Record]:
    return [
        record(f"{SITE}/", second=0),
        record(f"{SITE}/article/1", second=0),
        variant(f"{SITE}/article/2", f"{SITE}/article/1", "new_links", second=1),
        record(f"{SITE}/print/1", f"{SITE}/article/1", second=1, analysis_seconds=0.5),
        record(f"{SITE}/print/2", f"{SITE}/article/1", second=1, analysis_seconds=0),
        skipped(f"{SITE}/print/3", "not_html"),
    ]


def numbers(row: dict[str, Any]) -> dict[str, int]:
    return {name: row[name] for name in OUTCOMES if row[name]}


def test_outcomes_are_counted_in_all_over_time_and_by_section() -> None:
    report = collected(*crawl())
    assert report["outcomes"] == [
        {"outcome": "kept", "why": "new_text", "pages": 2},
        {"outcome": "variant", "why": "new_links", "pages": 1},
        {"outcome": "dropped", "why": "share_in_common", "pages": 2},
        {"outcome": "not_judged", "why": "not_html", "pages": 1},
    ]
    assert [(row["section"], row["pages"], numbers(row)) for row in report["sections"]] == [
        ("a.example/print/", 3, {"dropped": 2, "not_judged": 1}),
        ("a.example/article/", 2, {"kept": 1, "variant": 1}),
        ("a.example/", 1, {"kept": 1}),
    ]
    first, second = report["timeline"]["bins"]
    assert (first["pages"], first["duplicates"], numbers(first)) == (
        3,
        0,
        {"kept": 2, "not_judged": 1},
    )
    assert (second["pages"], second["duplicates"], numbers(second)) == (
        3,
        2,
        {"variant": 1, "dropped": 2},
    )


def test_what_drops_took_and_what_was_not_analysed_again_are_counted() -> None:
    totals = collected(*crawl())["totals"]
    assert (totals["dropped"], totals["dropped_bytes"]) == (2, 2000)
    assert totals["dropped_seconds"] == pytest.approx(0.5)
    assert totals["analyses_avoided"] == 1


def test_what_a_crawl_that_observes_would_drop_is_counted() -> None:
    pages = [
        record(
            f"{SITE}/{i}", KEPT, action="pass", body_bytes=i, analysis_seconds=0.25, reason=reason
        )
        for i, reason in enumerate(("same_text", "share_in_common", "wall"), 1)
    ]
    totals = collected(record(KEPT), *pages, record(f"{SITE}/start", KEPT))["totals"]
    observed = {name: totals[name] for name in totals if name.startswith("observed")}
    assert observed == {"observed": 2, "observed_bytes": 3, "observed_seconds": 0.5}


def test_sections_are_bounded_however_many_there_are() -> None:
    collector = Collector()
    for i in range(3 * SECTIONS):
        name = "".join(chr(ord("a") + int(digit)) for digit in str(i))
        collector.add(record(f"{SITE}/{name}{'x' * 5000}/"))
    assert len(collector.sections) <= SECTIONS
    assert max(map(len, collector.sections)) < 400
    report = report_of(collector, CrawlInfo())
    assert len(report["sections"]) == ROWS
    assert report["missing"]["sections"] > 0


@given(st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9), st.text(max_size=9))))
def test_any_pages_are_all_counted_once(pages: list[tuple[str, str, str]]) -> None:
    records = [
        record(url, url[1:] or None, action=action, reason=reason) for url, action, reason in pages
    ]
    report = collected(*records)
    assert sum(row["pages"] for row in report["outcomes"]) == len(records)
    assert {row["why"] for row in report["outcomes"]} <= WHYS
    for row in (*report["sections"], *report["timeline"]["bins"]):
        assert row["pages"] == sum(numbers(row).values())
