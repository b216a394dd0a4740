"""What differs between two pages of a group is shown, from bounded memory."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from scrapy_simhash.analysis.analyser import Analyser
from scrapy_simhash.errors import AnalysisError
from scrapy_simhash.report.pairs import MAX_BODY_BYTES, PAIRS, RECENT_BYTES, Pairs
from scrapy_simhash.workers.pool import InProcess
from tests.conftest import CrawlFixture, Site, article, prose
from tests.reports import record

SITE = "http://a.example"

T = TypeVar("T")


def page(*paragraphs: str) -> bytes:
    return f"<html><body>{''.join(f'<p>{p}</p>' for p in paragraphs)}</body></html>".encode()


def added(pairs: Pairs, url: str, body: bytes, twin: str | None = None, **fields: Any) -> None:
    members = fields.pop("members", 1 if twin else 0)
    pairs.add(record(url, twin, **fields), body, "utf-8", members)


def side_by_side(pairs: Pairs) -> list[dict[str, Any]]:
    return asyncio.run(pairs.side_by_side(InProcess(Analyser.create()), limit_seconds=60))


def test_places_in_which_two_pages_differ_are_shown_with_the_words_around() -> None:
    pairs = Pairs()
    lines = ["The lamp burns", "it was lit by one keeper every night of the year", "The end"]
    other = ["The lamp burns", "it was lit by two men every night of the year", "The end", "More"]
    added(pairs, f"{SITE}/a", page(*lines))
    added(pairs, f"{SITE}/b", page(*other), f"{SITE}/a")
    assert side_by_side(pairs) == [
        {
            "representative": f"{SITE}/a",
            "pages": 1,
            "first": f"{SITE}/a",
            "second": f"{SITE}/b",
            "differences": 2,
            "rows": [
                {
                    "before": "it was lit by ",
                    "first": "one keeper ",
                    "second": "two men ",
                    "after": "every night of the year",
                },
                {"before": "", "first": "", "second": "More", "after": ""},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("one", "other", "first", "second"),
    [
        ("灯塔看守人每天晚上点灯", "灯塔看守人每天早上点灯", "晚", "早"),
        ("the lamp", "the lamp burns", "", "burns"),
        ("Bits", "High Bits", "", "High "),
    ],
)
def test_no_more_is_marked_than_differs(one: str, other: str, first: str, second: str) -> None:
    pairs = Pairs()
    added(pairs, f"{SITE}/a", page(one))
    added(pairs, f"{SITE}/b", page(other), f"{SITE}/a")
    ((row,),) = (sides["rows"] for sides in side_by_side(pairs))
    assert (row["first"], row["second"]) == (first, second)


def test_the_duplicate_that_shares_least_is_shown() -> None:
    pairs = Pairs()
    added(pairs, f"{SITE}/a", page("one"))
    for name, share in (("b", 0.99), ("c", 0.91), ("d", 1.0)):
        added(pairs, f"{SITE}/{name}", page(name), f"{SITE}/a", share=share)
    assert side_by_side(pairs)[0]["second"] == f"{SITE}/c"


def test_two_duplicates_are_compared_where_the_kept_page_is_not_at_hand() -> None:
    pairs = Pairs()
    added(pairs, f"{SITE}/b", page("one"), f"{SITE}/a")
    assert side_by_side(pairs) == []
    added(pairs, f"{SITE}/c", page("two"), f"{SITE}/a")
    (found,) = side_by_side(pairs)
    assert (found["first"], found["second"]) == (f"{SITE}/b", f"{SITE}/c")


def test_larger_groups_take_the_place_of_smaller_ones() -> None:
    pairs = Pairs()
    for group in range(100):
        for member in range(1, 3 + 3 * (group == 60)):
            url = f"{SITE}/{group}/{member}"
            added(pairs, url, page(url), f"{SITE}/{group}", members=member)
    assert len(pairs._pairs) == PAIRS
    assert side_by_side(pairs)[0]["representative"] == f"{SITE}/60"


def test_groups_whose_pages_differ_are_shown_rather_than_larger_ones() -> None:
    pairs = Pairs()
    for group in range(PAIRS):
        added(pairs, f"{SITE}/{group}", page("same"))
        added(pairs, f"{SITE}/{group}?b", page("same"), f"{SITE}/{group}", share=1.0, members=50)
    added(pairs, f"{SITE}/a", page("one"))
    added(pairs, f"{SITE}/b", page("two"), f"{SITE}/a", share=0.95)
    assert [one["representative"] for one in side_by_side(pairs)] == [f"{SITE}/a"]


def test_bodies_take_a_bounded_amount_of_memory() -> None:
    pairs = Pairs()
    body = bytes(MAX_BODY_BYTES)
    for i in range(200):
        added(pairs, f"{SITE}/{i}", body)
        added(pairs, f"{SITE}/{i}?b", body, f"{SITE}/{i}", members=i)
        added(pairs, f"{SITE}/{i}?c", body + b" ", f"{SITE}/{i}", members=i)
    held = [side for pair in pairs._pairs.values() for side in (pair.first, pair.second) if side]
    held += pairs._recent.values()
    assert all(len(side.body) <= MAX_BODY_BYTES for side in held)
    assert sum(len(side.body) for side in held) <= RECENT_BYTES + 2 * PAIRS * MAX_BODY_BYTES


def test_tiny_bodies_take_a_bounded_amount_of_memory() -> None:
    pairs = Pairs()
    tracemalloc.start()
    try:
        for i in range(30_000):
            added(pairs, f"{SITE}/{i}", b"<p>%d" % i)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(pairs._recent) < 30_000
    assert held <= RECENT_BYTES * 1.1


@pytest.mark.parametrize("body", [b"", b"\x00", b"<p>", b"\xff\xfe<", b"<a " * 10_000])
def test_page_of_any_kind_can_be_compared(body: bytes) -> None:
    pairs = Pairs()
    added(pairs, f"{SITE}/a", body)
    added(pairs, f"{SITE}/b", page("text"), f"{SITE}/a")
    side_by_side(pairs)


def test_report_of_a_crawl_shows_what_differs(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    words = prose("harbour", 200)
    site["/"] = article(prose("start"), ["/monday", "/tuesday"])
    site["/monday"] = article(f"{words} free {words}")
    site["/tuesday"] = article(f"{words} closed {words}")
    crawl(SIMHASH_REPORT_FILE="report.html")
    (sides,) = json.loads((tmp_path / "report.json").read_text())["side_by_side"]
    (row,) = sides["rows"]
    assert (row["first"], row["second"]) == ("free ", "closed ")
    html = (tmp_path / "report.html").read_text()
    assert "<mark>free</mark>" in html
    assert "<mark>closed</mark>" in html


def test_pages_that_cannot_be_compared_in_time_are_left_out() -> None:
    pairs = Pairs()
    for name in "abc":
        added(pairs, f"{SITE}/{name}", page(f"the lamp {name}"))
        added(pairs, f"{SITE}/{name}2", page(f"the lamp {name}2"), f"{SITE}/{name}")
    asked = []

    class Late(InProcess):
        async def run(self, function: Callable[..., Any] | None, *arguments: object) -> Any:
            asked.append(arguments)
            if len(asked) == 1:
                raise AnalysisError("timed_out", "not analysed within 10 s")
            return await super().run(function, *arguments)

    workers = Late(Analyser.create())
    assert len(asyncio.run(pairs.side_by_side(workers, limit_seconds=60))) == 2
    assert asyncio.run(pairs.side_by_side(workers, limit_seconds=-1)) == []
    assert len(asked) == 3
