"""A record is written to the decisions feed and read back, and nothing changes on the way."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.analysis.analyser import PageAnalysis
from scrapy_simhash.decision.holdings import Told
from scrapy_simhash.decision.page import Decision, NearMiss, Reason, Verdict
from scrapy_simhash.report.record import Action, Record
from scrapy_simhash.urls import Address

SITE = "http://a.example"

# 2026-11-01T12:00:00.250Z, by GNU date: date -u -d 2026-11-01T12:00:00Z +%s
NOON = 1793534400.25

DUPLICATE = Record(
    url=f"{SITE}/print/lamp",
    decision=Decision(
        "near_duplicate", "share_in_common", f"{SITE}/article/lamp", distance=2, share=0.937
    ),
    body_bytes=41_207,
    action="drop",
    is_start_request=False,
    fingerprint=0x00C0FFEE,
    tokens=312,
    analysis_seconds=0.012346,
    index_seconds=0.000321,
    is_recalled=False,
    error=None,
    redirects=(f"{SITE}/p?lamp", f"{SITE}/print?lamp"),
    judged_at=NOON,
)
# Written by hand, from docs/decisions.md.
DUPLICATE_LINE = (
    '{"url": "http://a.example/print/lamp", '
    '"redirects": ["http://a.example/p?lamp", "http://a.example/print?lamp"], '
    '"verdict": "near_duplicate", "representative": "http://a.example/article/lamp", '
    '"distance": 2, "share": 0.937, "closest": null, "reason": "share_in_common", '
    '"changed": null, "action": "drop", "fingerprint": "0000000000c0ffee", "tokens": 312, '
    '"body_bytes": 41207, "analysis_seconds": 0.012346, "index_seconds": 0.000321, '
    '"start_request": false, "error": null, "time": "2026-11-01T12:00:00.250+00:00"}'
)

UNIQUE = replace(
    DUPLICATE,
    decision=Decision("unique", "new_text", closest=NearMiss(0.71, 5, f"{SITE}/article/lamp")),
    action="pass",
    is_start_request=True,
    redirects=(),
)
UNIQUE_LINE = (
    '{"url": "http://a.example/print/lamp", "verdict": "unique", "representative": null, '
    '"distance": null, "share": null, '
    '"closest": {"share": 0.71, "distance": 5, "url": "http://a.example/article/lamp"}, '
    '"reason": "new_text", "changed": null, "action": "pass", "fingerprint": "0000000000c0ffee", '
    '"tokens": 312, "body_bytes": 41207, "analysis_seconds": 0.012346, "index_seconds": 0.000321, '
    '"start_request": true, "error": null, "time": "2026-11-01T12:00:00.250+00:00"}'
)

VARIANT = replace(
    UNIQUE,
    decision=Decision(
        "variant",
        "new_links",
        f"{SITE}/article/lamp",
        distance=0,
        share=1.0,
        closest=NearMiss(1.0, 0, f"{SITE}/article/lamp"),
        new=(Told("link", "div offer a", f"{SITE}/order/17"), Told("text", "p", "39 EUR")),
    ),
)
VARIANT_LINE = (
    '{"url": "http://a.example/print/lamp", "verdict": "variant", '
    '"representative": "http://a.example/article/lamp", "distance": 0, "share": 1.0, '
    '"closest": {"share": 1.0, "distance": 0, "url": "http://a.example/article/lamp"}, '
    '"reason": "new_links", "new": ['
    '{"kind": "link", "place": "div offer a", "text": "http://a.example/order/17"}, '
    '{"kind": "text", "place": "p", "text": "39 EUR"}], '
    '"changed": null, "action": "pass", "fingerprint": "0000000000c0ffee", '
    '"tokens": 312, "body_bytes": 41207, "analysis_seconds": 0.012346, "index_seconds": 0.000321, '
    '"start_request": true, "error": null, "time": "2026-11-01T12:00:00.250+00:00"}'
)

SKIPPED = Record(
    url=f"{SITE}/video",
    decision=Decision("skipped", "timed_out"),
    body_bytes=7,
    action="pass",
    is_start_request=False,
    fingerprint=None,
    tokens=None,
    analysis_seconds=None,
    index_seconds=None,
    is_recalled=False,
    error="longer than 10 s",
    redirects=(),
    judged_at=NOON,
)
SKIPPED_LINE = (
    '{"url": "http://a.example/video", "verdict": "skipped", "representative": null, '
    '"distance": null, "share": null, "closest": null, "reason": "timed_out", "changed": null, '
    '"action": "pass", "fingerprint": null, "tokens": null, "body_bytes": 7, '
    '"analysis_seconds": null, "index_seconds": null, "start_request": false, '
    '"error": "longer than 10 s", "time": "2026-11-01T12:00:00.250+00:00"}'
)

LINES = pytest.mark.parametrize(
    ("record", "line"),
    [
        (DUPLICATE, DUPLICATE_LINE),
        (UNIQUE, UNIQUE_LINE),
        (VARIANT, VARIANT_LINE),
        (SKIPPED, SKIPPED_LINE),
    ],
    ids=["duplicate", "unique", "variant", "skipped"],
)

shares = st.integers(0, 1000).map(lambda thousandths: thousandths / 1000)
seconds = st.integers(0, 10**8).map(lambda millionths: millionths / 10**6)
distances = st.integers(0, 64)


@st.composite
def decisions(draw: st.DrawFn) -> Decision:
    verdict: Verdict = draw(st.sampled_from(get_args(Verdict)))
    has_kept_page = verdict in ("variant", "near_duplicate", "exact_duplicate", "refresh")
    told = st.builds(Told, st.text(), st.text(), st.text())
    return Decision(
        verdict,
        draw(st.sampled_from(get_args(Reason))),
        draw(st.text()) if has_kept_page else None,
        draw(distances) if has_kept_page else None,
        draw(st.none() | shares),
        draw(st.booleans()) if verdict == "refresh" else None,
        draw(st.none() | st.builds(NearMiss, shares, distances, st.text())),
        new=draw(st.lists(told, max_size=3).map(tuple)) if verdict == "variant" else (),
    )


records = st.builds(
    Record,
    url=st.text(),
    decision=decisions(),
    body_bytes=st.integers(0, 10**9),
    action=st.sampled_from(get_args(Action)),
    is_start_request=st.booleans(),
    fingerprint=st.none() | st.integers(0, 2**64 - 1),
    tokens=st.none() | st.integers(0, 10**6),
    analysis_seconds=st.none() | seconds,
    index_seconds=st.none() | seconds,
    is_recalled=st.just(False),
    error=st.none() | st.text(),
    redirects=st.lists(st.text(), max_size=3).map(tuple),
    judged_at=st.integers(0, 4 * 10**12).map(lambda milliseconds: milliseconds / 1000),
)


@LINES
def test_line_of_a_record_is_as_it_always_was(record: Record, line: str) -> None:
    assert json.dumps(record.as_json()) == line


@LINES
def test_line_is_read_as_the_record_that_wrote_it(record: Record, line: str) -> None:
    read = Record.from_json(json.loads(line))
    assert read == record
    # Decisions do not compare these.
    assert read.decision.closest == record.decision.closest
    assert read.decision.new == record.decision.new


@given(records)
def test_any_record_comes_back_from_its_line(record: Record) -> None:
    read = Record.from_json(json.loads(json.dumps(record.as_json())))
    assert read == record
    assert read.decision.closest == record.decision.closest
    assert read.decision.new == record.decision.new


def test_whether_a_body_was_known_is_all_that_the_feed_does_not_say() -> None:
    recalled = replace(DUPLICATE, is_recalled=True)
    assert recalled.as_json() == DUPLICATE.as_json()
    assert Record.from_json(recalled.as_json()) == DUPLICATE


def made(**known: Any) -> Record:
    """A record as a crawl makes it, of numbers that the feed has no room for."""
    analysis = PageAnalysis(
        fingerprint=0xC0FFEE, digest=b"", tokens=312, seconds=0.0123456789, recalled=True
    )
    near_miss = NearMiss(0.71049, 5, f"{SITE}/article/lamp")
    decision = Decision(
        "near_duplicate", "share_in_common", f"{SITE}/a", 2, 0.93651, closest=near_miss
    )
    defaults = {"url": f"{SITE}/b", "body_bytes": 9, "analysis": analysis, "index_seconds": 2e-7}
    return Record.of(**{"decision": decision, **defaults, **known})


def test_crawl_rounds_what_the_feed_rounds() -> None:
    record = made()
    assert record.decision.share == 0.937
    assert record.decision.closest == NearMiss(0.71, 5, f"{SITE}/article/lamp")
    assert record.analysis_seconds == 0.012346
    assert record.index_seconds == 0.0
    assert record.judged_at == round(record.judged_at, 3)


def test_record_of_a_crawl_is_the_one_in_its_feed() -> None:
    record = made(redirects=(f"{SITE}/",), is_start_request=True, action="flag")
    read = Record.from_json(json.loads(json.dumps(record.as_json())))
    assert read == replace(record, is_recalled=False)
    assert read.decision.closest == record.decision.closest


def test_record_holds_what_its_analysis_says() -> None:
    record = made()
    assert (record.fingerprint, record.tokens, record.is_recalled) == (0xC0FFEE, 312, True)


def test_skipped_page_has_no_fingerprint_and_took_no_time() -> None:
    record = made(decision=Decision("skipped", "no_text"), analysis=None, index_seconds=0.5)
    assert (record.fingerprint, record.tokens, record.is_recalled) == (None, None, False)
    assert (record.analysis_seconds, record.index_seconds) == (None, None)


def test_record_is_of_the_time_at_which_it_was_made() -> None:
    before = datetime.now(timezone.utc).timestamp()
    assert before - 0.002 < made().judged_at <= datetime.now(timezone.utc).timestamp() + 0.002


def test_kept_url_is_that_of_the_representative_of_duplicates_only() -> None:
    assert DUPLICATE.kept_url == f"{SITE}/article/lamp"
    assert UNIQUE.kept_url == UNIQUE.url
    assert VARIANT.kept_url == VARIANT.url
    again = Decision("refresh", "seen_before", f"{SITE}/before", 0, changed=False)
    assert replace(UNIQUE, decision=again).kept_url == UNIQUE.url


def test_asked_url_is_where_the_redirects_began() -> None:
    assert DUPLICATE.asked_url == f"{SITE}/p?lamp"
    assert UNIQUE.asked_url is None


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_only_near_and_exact_duplicates_are_duplicates(verdict: Verdict) -> None:
    record = replace(UNIQUE, decision=Decision(verdict, "new_text"))
    assert record.is_duplicate == (verdict in ("near_duplicate", "exact_duplicate"))


def test_address_is_that_of_the_url() -> None:
    assert DUPLICATE.address == Address.of(f"{SITE}/print/lamp")
    assert (DUPLICATE.pattern, DUPLICATE.slug) == ("a.example/print/*", "lamp")


def test_reason_and_action_of_a_later_version_are_taken_as_they_are() -> None:
    later = {**json.loads(DUPLICATE_LINE), "reason": "looks_alike", "action": "archive"}
    record = Record.from_json(later)
    assert (record.decision.reason, record.action) == ("looks_alike", "archive")


@pytest.mark.parametrize(
    ("field", "value", "error", "message"),
    [
        ("verdict", "alike", ValueError, "unknown verdict: 'alike'"),
        ("url", 7, TypeError, "an address must be a string: got 7"),
        ("representative", None, ValueError, "a duplicate must have a representative"),
        ("representative", 7, TypeError, "an address must be a string: got 7"),
        ("distance", 65, ValueError, "must be from 0 to 64: got 65"),
        ("distance", None, ValueError, "a duplicate must have a representative and a distance"),
        ("share", 1.001, ValueError, "must be from 0 to 1: got 1.001"),
        ("closest", {"share": 0.5, "distance": 3}, KeyError, "url"),
        ("closest", {"share": float("nan"), "distance": 3, "url": ""}, ValueError, "got nan"),
        ("new", [{"kind": "text", "text": ""}], KeyError, "place"),
        ("new", ["http://a.example/"], TypeError, "string indices"),
        ("body_bytes", float("inf"), OverflowError, "infinity"),
        ("analysis_seconds", "long", ValueError, "long"),
        ("redirects", [7], TypeError, "an address must be a string: got 7"),
        ("redirects", 1, TypeError, "int"),
        ("time", "noon", ValueError, "noon"),
    ],
)
def test_line_that_the_report_cannot_use_is_refused(
    field: str, value: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Record.from_json({**json.loads(DUPLICATE_LINE), field: value})


@pytest.mark.parametrize(
    "field",
    [
        *("url", "verdict", "representative", "distance", "share", "closest", "reason", "action"),
        *("body_bytes", "analysis_seconds", "index_seconds", "error", "time"),
        *("fingerprint", "tokens", "changed", "start_request"),
    ],
)
def test_line_that_lacks_what_the_report_needs_is_refused(field: str) -> None:
    line = json.loads(DUPLICATE_LINE)
    del line[field]
    with pytest.raises(KeyError, match=field):
        Record.from_json(line)
