"""Reports on crawls that never were: one of session ids, one with a text in every place."""

from __future__ import annotations

from typing import Any

from scrapy_simhash.report.alarms import AlarmWatch
from scrapy_simhash.report.collector import Collector, shortened
from scrapy_simhash.report.document import ROWS, CrawlInfo, report_of
from scrapy_simhash.report.pairs import SHOWN_ROWS
from scrapy_simhash.report.record import Record
from scrapy_simhash.report.savings import NAMED_PATTERNS, FeedRules
from scrapy_simhash.url_rules.book import MAX_RULE
from tests.reports import record, skipped, variant

SITE = "http://a.example"

# Texts that may stand in a page's address.
HOSTILE = [
    "javascript:alert(1)",
    "http://a.example/<script>alert(1)</script>",
    "http://a.example/\"onmouseover='alert(1)'&lt;",
    "http://a.example/{{ 7 * 7 }}{% raw %}",
    "http://a.example/\x00\x1b[31m\r\n\x7f",
    "http://a.example/\u202egpj.exe\u2066",
    "http://a.example/\ud800",
    "http://a.example/" + "x" * 10_000,
    "http://a.example/שלום/?ש=1",
    "http://[bad/?a=1&a=2",
    "data:text/html,<script>alert(1)</script>",
    "//[red]a.example[/red]/--><!--",
    "",
]


def collected(*records: Record) -> dict[str, Any]:
    """The report of a feed of these, with a setting."""
    collector, rules = Collector(), FeedRules()
    for one in records:
        collector.add(one)
        rules.add(one)
    about = CrawlInfo(name="news", settings={"SIMHASH_SHARE": "0.9"}, rules=rules.rows())
    return report_of(collector, about)


def session_ids() -> list[Record]:
    records = [record(f"{SITE}/article/{page}", second=page) for page in range(8)]
    for number in range(40):
        kept = f"{SITE}/article/{number % 8}"
        records.append(record(f"{kept}?sid={number}", kept, second=10 + number))
    for page in range(5):
        kept = f"{SITE}/article/{page}"
        records.append(record(f"{SITE}/print/{page}", kept, second=60))
    records += [record(f"{SITE}/list?page={page}") for page in range(10)]
    records.append(record(f"{SITE}/9", closest={"url": f"{SITE}/8", "share": 0.83, "distance": 6}))
    records.append(skipped(f"{SITE}/video", "timed_out", "longer than 10 s"))
    return records


def everywhere(text: str) -> dict[str, Any]:
    """A report with *text* in every place that a crawl can put one."""
    records = [record(text), record(f"{text}/in a folder")]
    records += [record(f"{text}?{i}{text}=1", f"{text}/kept", second=i) for i in range(30)]
    records += [record(f"{text}to", f"{text}/kept", redirects=[text, text])]
    records += [record(f"{text}near", closest={"url": text, "share": 0.5, "distance": 3})]
    told = [{"kind": "text", "place": text, "text": text}]
    records += [variant(f"{text}variant", text, "new_text", new=told)]
    records += [skipped(text, "timed_out", text), skipped(text, text)]
    collector = Collector()
    collector.watch = AlarmWatch(0)
    for one in records:
        collector.add(one)
    about = CrawlInfo(
        name=text,
        settings={"SIMHASH_INDEX": text},
        side_by_side=[compared(text)],
        rules=[learned(text)] * ROWS,
        traps=[trap(text)] * ROWS,
    )
    return report_of(collector, about)


def learned(text: str) -> dict[str, Any]:
    """A rule with *text* in every place, cut as rules are."""
    texts = ("advice", "kind", "host", "drop", "keep")
    numbers = (
        *("number", "keys", "failures", "templates_in_all"),
        *("duplicates", "body_bytes", "lost", "needless"),
    )
    times = dict.fromkeys(("learned", "seen"), "2026-01-01T00:00:00+00:00")
    templates = {"templates": [shortened(text)] * NAMED_PATTERNS}
    return {
        **dict.fromkeys(texts, text[:MAX_RULE]),
        **dict.fromkeys(numbers, 1),
        **times,
        "waits_for": text[:MAX_RULE],
        "wrong_about": shortened(text),
    } | templates


def trap(text: str) -> dict[str, Any]:
    """A trap whose pattern has *text* in it."""
    numbers = dict.fromkeys(("found_after", "pages", "parked"), 1)
    return {"pattern": shortened(text), "host": shortened(text), **numbers}


def compared(text: str) -> dict[str, Any]:
    """Two pages whose texts differ in *text*."""
    row = dict.fromkeys(("before", "first", "second", "after"), shortened(text))
    pages = {"representative": text, "pages": 1, "first": text, "second": text}
    return {**pages, "differences": 7, "rows": [row] * SHOWN_ROWS}
