"""The collector keeps what the report tells, in bounded memory."""

from __future__ import annotations

import json
import pickle
import random
import tracemalloc
from itertools import islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scrapy_simhash.report.collector import Collector
from scrapy_simhash.report.counting import BINS, Heaviest, Timeline
from scrapy_simhash.report.document import CrawlInfo, report_of
from scrapy_simhash.report.html import html_of, text_of
from scrapy_simhash.report.record import Record
from scrapy_simhash.report.savings import FeedRules
from scrapy_simhash.url_rules.rule import AddressRule, difference
from scrapy_simhash.urls import Address
from tests.reports import line, record, skipped, variant

SITE = "http://a.example"


def collect(*records: Record) -> Collector:
    collector = Collector()
    for one in records:
        collector.add(one)
    return collector


class Count:
    """A row that counts."""

    pages = 0


def test_heaviest_rows_stay_and_the_rest_is_bounded() -> None:
    heaviest: Heaviest[str, Count] = Heaviest(10, Count, lambda row: row.pages)
    for i in range(1000):
        heaviest["often"].pages += 1
        heaviest[f"once {i}"].pages += 1
        assert len(heaviest) <= 10
    key, row = next(heaviest.top())
    assert (key, row.pages) == ("often", 1000)


@given(st.lists(st.integers(0, 30), max_size=300))
def test_a_row_is_too_light_by_what_is_missing_at_the_most(keys: list[int]) -> None:
    heaviest: Heaviest[int, Count] = Heaviest(8, Count, lambda row: row.pages)
    for key in keys:
        heaviest[key].pages += 1
    rows = dict(heaviest.top())
    for key in set(keys):
        counted = rows[key].pages if key in rows else 0
        assert counted <= keys.count(key) <= counted + heaviest.missing


@given(st.lists(st.tuples(st.floats(1e9, 1.1e9), st.booleans()), min_size=1, max_size=100))
def test_timeline_counts_every_page_in_few_bins(pages: list[tuple[float, bool]]) -> None:
    timeline = Timeline()
    for when, duplicate in pages:
        timeline.add(when, "dropped" if duplicate else "kept", duplicate)
    rows = list(timeline.rows())
    assert len(rows) <= BINS
    assert sum(row[1].total() for row in rows) == len(pages)
    assert all(row[1]["dropped"] == row[2] for row in rows)
    assert sum(row[2] for row in rows) == sum(duplicate for _, duplicate in pages)


def test_kept_pages_that_share_most_are_listed_in_order() -> None:
    shares = [step / 100 for step in range(50, 90)]
    random.Random(1).shuffle(shares)
    closest = [{"url": SITE, "share": share, "distance": 3} for share in shares]
    collector = collect(*(record(f"{SITE}/{i}", closest=one) for i, one in enumerate(closest)))
    listed = [row["share"] for row in report_of(collector, CrawlInfo())["near_misses"]]
    assert listed == sorted(shares, reverse=True)[:10]


@pytest.mark.parametrize(
    ("duplicate", "kept", "rule"),
    [
        ("/a?sid=1", "/a", AddressRule("parameter", "a.example", "sid", "")),
        ("/a?sid=1&page=2", "/a?page=2&sid=9", AddressRule("parameter", "a.example", "sid", "")),
        ("/a?x=1&y=2", "/a", AddressRule("parameter", "a.example", "x&y", "")),
        ("/a?x=1&y=2&z=3", "/a", None),
        ("/print/a", "/article/a", AddressRule("path", "a.example", "/print/", "/article/")),
        ("/mirror/x/a", "/x/a", AddressRule("path", "a.example", "/mirror/", "/")),
        ("/x/index.html", "/x/", AddressRule("path", "a.example", "/index.html", "/")),
        ("/members/archive", "/members/letters", None),
        ("/a/b/c/d/z", "/e/f/g/h/z", None),
        ("http://b.example/a", "/a", AddressRule("host", "b.example", "b.example", "a.example")),
        ("http://b.example/a", "/b", None),
        ("https://a.example/a", "/a", AddressRule("scheme", "a.example", "https", "http")),
        ("/a", "/a", None),
    ],
)
def test_what_two_addresses_differ_in_is_a_rule(
    duplicate: str, kept: str, rule: AddressRule | None
) -> None:
    one, other = (
        Address.of(url if url.startswith("http") else SITE + url) for url in (duplicate, kept)
    )
    assert difference(one, other) == rule
    if rule is not None:
        assert (rule.applied(one) or one) == (rule.applied(other) or other)


@given(st.text())
def test_no_url_is_too_odd(url: str) -> None:
    address = Address.of(url)
    assert len(address.pattern) < 1000
    difference(address, Address.of("http://a.example/"))


def test_counts_are_those_of_the_crawl() -> None:
    collector = collect(
        record(SITE + "/a"),
        record(SITE + "/a?sid=1", SITE + "/a"),
        record(SITE + "/a?sid=2", SITE + "/a", action="flag", verdict="exact_duplicate"),
        skipped(SITE + "/logo", "not_html"),
    )
    assert collector.pages == 4
    assert collector.verdicts == {
        "unique": 1,
        "near_duplicate": 1,
        "exact_duplicate": 1,
        "skipped": 1,
    }
    assert collector.spent["dropped"].body_bytes == 1000
    assert collector.analysis_seconds == pytest.approx(0.06)
    ((kept, group),) = collector.groups.top()
    assert (kept, group.pages, group.exact) == (SITE + "/a", 2, 1)
    assert group.urls == [SITE + "/a?sid=1", SITE + "/a?sid=2"]


def test_unchanged_pages_that_are_dropped_are_counted() -> None:
    collector = collect(
        record(SITE + "/a", verdict="refresh", reason="unchanged", action="drop"),
        record(SITE + "/b", verdict="refresh", reason="seen_before"),
    )
    totals = report_of(collector, CrawlInfo())["totals"]
    assert (totals["refresh"], totals["unchanged"], totals["duplicates"]) == (2, 1, 0)
    assert (totals["dropped"], totals["dropped_bytes"]) == (1, 1000)


def test_pickled_collector_goes_on_counting() -> None:
    first = collect(record(SITE + "/a"), record(SITE + "/a?sid=1", SITE + "/a"))
    second = pickle.loads(pickle.dumps(first))
    second.add(record(SITE + "/a?sid=2", SITE + "/a", second=60))
    ((_, group),) = second.groups.top()
    assert (second.pages, group.pages) == (3, 2)


@pytest.mark.parametrize("field", ["url", "verdict", "time", "body_bytes", "share"])
def test_line_that_is_none_is_refused(field: str) -> None:
    broken = {**line(SITE), field: object()}
    with pytest.raises((TypeError, ValueError)):
        Record.from_json(broken)


def test_hostile_addresses_do_not_fill_the_memory() -> None:
    def hostile(i: int) -> Record:
        url = f"http://{i}{'h' * 5000}/{i}{'p' * 5000}?{i}{'q' * 5000}=1"
        return record(url, url + "x")

    collector = collect(*(hostile(i) for i in range(10)))
    tracemalloc.start()
    for one in islice(map(hostile, range(10, 10**9)), 3000):
        collector.add(one)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 20_000_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(sorted(line(SITE))), JSON), st.booleans())
@example({"closest": False}, False)
@example({"closest": []}, False)
def test_any_line_is_counted_or_unreadable(changed: dict[str, object], twin: bool) -> None:
    collector, rules = collect(), FeedRules()
    odd = {**line(SITE + "/a", SITE + "/b" if twin else None), **changed}
    lines = [json.dumps(odd).encode(), b"\n", json.dumps(line(SITE)).encode()]
    records = collector.add_lines(lines)
    assert len(records) == collector.pages
    assert collector.pages + collector.unreadable_lines == 2
    assert collector.pages >= 1
    for one in records:
        rules.add(one)
    report = report_of(collector, CrawlInfo(rules=rules.rows()))
    html_of(report)


@pytest.mark.parametrize("cut", [b"", b"{", b"[1]", b"null", b"\xff\xfe", b"[" * 100_000, b"1e999"])
def test_line_of_something_else_is_unreadable(cut: bytes) -> None:
    collector = collect()
    collector.add_lines([cut])
    assert (collector.pages, collector.unreadable_lines) == (0, 1 if cut else 0)


def test_what_holds_variants_apart_is_counted_by_kind_and_place() -> None:
    def news(number: int, *places: str) -> Record:
        new = [{"kind": "text", "place": place, "text": f"{number} EUR"} for place in places]
        return variant(f"{SITE}/{number}", SITE, "new_text", new=new)

    collector = collect()
    for one in news(1, "p price"), news(2, "p price", "p price", "li stock"), record(SITE):
        collector.add(one)
    report = report_of(collector, CrawlInfo())
    assert [(row["kind"], row["place"], row["pages"]) for row in report["novelties"]] == [
        ("text", "p price", 2),
        ("text", "li stock", 1),
    ]
    example = {"url": f"{SITE}/2", "representative": SITE, "text": "2 EUR"}
    assert report["novelties"][0]["example"] == example
    assert "2 EUR" in html_of(report)
    assert "p price" in text_of(report)


def test_reasons_of_a_damaged_feed_do_not_fill_the_memory() -> None:
    one = variant(SITE, f"{SITE}/b", "new_links").as_json()
    odd = [{**one, "reason": f"r{number}"} for number in range(100)]
    collector = collect()
    collector.add_lines([json.dumps(mapping).encode() for mapping in (one, *odd)])
    assert collector.variants == {"new_links": 1, "other": 100}
