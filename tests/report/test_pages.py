"""The report's JSON, HTML and text say what was collected, whatever stands in it."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rich.cells import cell_len

from scrapy_simhash.report.collector import Collector
from scrapy_simhash.report.document import CrawlInfo, report_of
from scrapy_simhash.report.html import (
    BRIEF_CELLS,
    SECTIONS_DRAWN,
    Bar,
    html_of,
    picture_of,
    text_of,
)
from scrapy_simhash.report.pairs import SHOWN_PAIRS
from scrapy_simhash.report.record import OUTCOMES, WHYS, Action
from tests.reports import line, record, skipped
from tests.sample_reports import (
    HOSTILE,
    SITE,
    collected,
    compared,
    everywhere,
    learned,
    session_ids,
)

KILOBYTE = 1000
SVG = "{http://www.w3.org/2000/svg}"


def parsed(html: str) -> Element:
    """Parse as browsers do; the first mistake raises."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    tree = parser.parse(html.encode("utf-8"), transport_encoding="utf-8")
    assert isinstance(tree, Element)
    return tree


def text_in(element: Element) -> str:
    return " ".join(" ".join(element.itertext()).split())


def test_page_has_every_section_and_its_numbers() -> None:
    html = html_of(collected(*session_ids()))
    page = parsed(html)
    headings = [text_in(heading) for heading in page.iter("h2")]
    assert headings == [
        "In short",
        "Alarms",
        "What to change",
        "The largest groups",
        "What was saved",
        "How much alike",
        "Where duplicates come from",
        "Not judged, and why",
        "Settings and versions",
        "What the words mean",
    ]
    text = text_in(page)
    assert "45 pages dropped 69.2%" in text
    assert "1 page not judged 1.5% timed out : 1 page" in text
    assert "longer than 10 s" in text
    assert "SIMHASH_SHARE 0.9" in text


@pytest.mark.parametrize(
    ("action", "saved", "setting"),
    [
        ("drop", "45 were dropped", ""),
        ("pass", "45 would be dropped", 'SIMHASH_ACTION = "drop"'),
        ("flag", "45 were flagged", ""),
    ],
)
def test_report_begins_with_what_happened_what_was_saved_and_the_next_step(
    action: Action, saved: str, setting: str
) -> None:
    report = collected(
        *(replace(one, action=action) if one.is_duplicate else one for one in session_ids())
    )
    summary = report["summary"]
    assert summary["happened"] == "64 pages judged: 19 kept, 45 duplicates."
    assert summary["saved"] == f"{saved}, and their links not followed."
    assert summary["setting"] == setting
    shown = text_in(parsed(html_of(report)))
    assert summary["happened"] in shown
    assert f"Next: {summary['next']} {setting}".strip() in shown


def test_report_begins_with_what_rules_have_saved_if_they_are_used() -> None:
    rules = [learned("sid") | {"parked": 50, "released": 7, "audited": 3}, learned("x")]
    about = CrawlInfo("news", {"SIMHASH_RULES": "'use'"}, rules=rules)
    collector = Collector()
    for one in session_ids():
        collector.add(one)
    report = report_of(collector, about)
    assert report["summary"]["saved"] == (
        "45 were dropped, and their links not followed; 40 requests parked by rules, and not sent."
    )
    assert report["summary"]["setting"] == ""


def test_report_names_pages_that_pass_again_as_the_log_does() -> None:
    records = [
        record(SITE, verdict="refresh", reason="seen_before"),
        record(f"{SITE}/copy", SITE, action="pass"),
    ]
    report = collected(*records)
    assert report["summary"]["happened"] == "2 pages judged: 1 duplicate, 1 passed again."
    assert "2 pages passed anyway 100.0%" in text_in(parsed(html_of(report)))


def policy_of(page: Element) -> str:
    (meta,) = (one for one in page.iter("meta") if one.get("http-equiv"))
    return meta.get("content", "")


def test_page_needs_no_network_and_runs_no_script_but_its_own() -> None:
    page = parsed(html_of(collected(*session_ids())))
    for name in ("link", "img", "iframe", "object", "form", SVG + "image", SVG + "use"):
        assert list(page.iter(name)) == []
    assert "url(" not in "".join(text_in(style) for style in page.iter("style"))
    assert {one.get("fill", "url(#")[:5] for one in page.iter(SVG + "rect")} == {"url(#"}
    (script,) = page.iter("script")
    assert script.attrib == {}
    digest = b64encode(sha256((script.text or "").encode()).digest()).decode()
    assert policy_of(page) == (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )


def test_picture_has_its_numbers_in_words_and_in_tables() -> None:
    page = parsed(html_of(collected(*session_ids())))
    (picture,) = (one for one in page.iter(SVG + "svg") if one.get("role") == "img")
    (words,) = (
        one for one in page.iter(SVG + "desc") if one.get("id") == picture.get("aria-describedby")
    )
    assert text_in(words) == (
        "The crawl: 65 pages: 19 kept, 45 dropped, 1 not judged. "
        "/article/: 48 pages: 8 kept, 40 dropped. "
        "/: 12 pages: 11 kept, 1 not judged. "
        "/print/: 5 pages: 5 dropped."
    )
    titles = [text_in(title) for title in picture.iter(SVG + "title")]
    assert "2026-11-01 12:00:56 UTC, 0 pages" not in titles
    assert "2026-11-01 12:01:00 UTC, 5 pages: 5 dropped" in titles
    (figure,) = page.iter("figure")
    assert "a.example/article/ 48 8 40 0" in text_in(figure)


def test_picture_names_many_hosts_and_counts_what_it_has_no_room_for() -> None:
    records = [record(f"http://{i}.example/x/{n}") for i in range(12) for n in range(12 - i)]
    picture = picture_of(collected(*records))
    assert [(bar.name, bar.pages) for bar in picture.sections[:2]] == [
        ("0.example/x/", 12),
        ("1.example/x/", 11),
    ]
    assert len(picture.sections) == SECTIONS_DRAWN + 1
    assert (picture.sections[-1].name, picture.sections[-1].pages) == ("all other sections", 10)


def test_names_in_the_picture_are_cut_to_the_width_that_a_telephone_has() -> None:
    folders = ("W" * 60, "日" * 30, "\u202e" * 60)
    page = parsed(html_of(collected(*(record(f"{SITE}/{one}/") for one in folders))))
    texts = page.iter(SVG + "text")
    names = [text_in(text) for text in texts if text.get("class") == "name"]
    assert [cell_len(name) for name in names] == [BRIEF_CELLS] * 3
    assert names[2].startswith(r"/\u202e\u202e")


counts = st.integers(0, 10**12)


@given(st.tuples(*(counts for _ in OUTCOMES)))
def test_parts_of_a_bar_stand_side_by_side(pages: tuple[int, ...]) -> None:
    bar = Bar.of("name", dict(zip(OUTCOMES, pages, strict=True)), 100)
    assert sum(part.pages for part in bar.parts) == bar.pages == sum(pages)
    end = 0.0
    for part in bar.parts:
        assert part.start == pytest.approx(end, abs=0.05)
        end = part.start + part.length
    assert end == pytest.approx(100 if bar.pages else 0, abs=0.05)


def test_every_word_is_explained_and_every_explanation_has_its_word() -> None:
    all_reasons = collected(record(SITE), record(f"{SITE}/c", SITE, action="pass"))
    all_reasons["outcomes"] = [
        {"outcome": outcome, "why": why, "pages": 1} for outcome in OUTCOMES for why in WHYS
    ]
    all_reasons["totals"]["links_not_followed"] = 1
    pages = [everywhere("http://a.example/"), collected(*session_ids()), all_reasons]
    linked, explained = set(), set()
    for report in pages:
        page = parsed(html_of(report))
        linked |= {one.get("href", "") for one in page.iter("a") if one.get("class") == "term"}
        explained |= {f"#{one.get('id')}" for one in page.iter("div") if one.get("id")}
    assert linked == explained
    assert linked >= {f"#word-{why}" for why in WHYS}


def test_savings_are_said_in_pages_bytes_and_worker_time() -> None:
    records = [
        *session_ids(),
        *(record(f"{SITE}/b{i}", f"{SITE}/9", analysis_seconds=0) for i in range(3)),
        *(record(f"{SITE}/c{i}", f"{SITE}/9", action="pass") for i in range(2)),
    ]
    report = collected(*records)
    report["totals"]["links_not_followed"] = 1234
    report["totals"]["parked"] = 4977
    (section,) = (
        one
        for one in parsed(html_of(report)).iter("section")
        if one.get("aria-labelledby") == "savings"
    )
    rows = [text_in(row) for row in section.iter("tr")]
    assert rows[1:] == [
        "Not parsed, not stored: dropped pages 48 pages 48.0 kB none: they took 0.90 s",
        "Would be dropped: duplicates that were only observed "
        "2 pages 2.0 kB none: they took 0.04 s",
        "Not analysed: pages with the bytes of an earlier one 3 pages none about 0.06 s",
        "Not requested: links of flagged pages 1,234 requests not known not known",
        "Not requested: parked by rules 4,977 requests not known not known",
    ]


def test_tables_can_be_read_aloud() -> None:
    page = parsed(html_of(collected(*session_ids())))
    tables = list(page.iter("table"))
    assert len(tables) >= 8
    for table in tables:
        assert table.find("caption") is not None
        assert all(cell.get("scope") in ("col", "row") for cell in table.iter("th"))
    assert all(chart.get("aria-label") for chart in page.iter() if chart.get("role") == "img")
    ids = [element.get("id") for element in page.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    labels = [section.get("aria-labelledby") for section in page.iter("section")]
    assert set(labels) <= set(ids)


def test_pages_that_were_nearly_dropped_are_shown() -> None:
    report = collected(*session_ids())
    assert report["near_misses"] == [
        {"url": f"{SITE}/9", "closest": f"{SITE}/8", "share": 0.83, "distance": 6}
    ]
    assert {row["from"]: row["kept"] for row in report["shares"]} == {
        0.8: 1,
        0.85: 0,
        0.9: 0,
        0.95: 0,
        1.0: 0,
    }
    assert "83.0% 6 http://a.example/9 http://a.example/8" in text_in(parsed(html_of(report)))


def test_page_of_nothing_is_a_page() -> None:
    report = collected()
    parsed(html_of(report))
    assert text_of(report) == ""


@cache
def names_and_places() -> tuple[set[str], set[str]]:
    """The elements of a page and the targets of its links, where no text is out of the ordinary."""
    plain = parsed(html_of(everywhere("http://a.example/")))
    return (
        {element.tag for element in plain.iter()},
        {f"#{element.get('id')}" for element in plain.iter()},
    )


def check_harmless(report: dict[str, Any]) -> None:
    html = html_of(report)
    page = parsed(html)
    names, places = names_and_places()
    assert {element.tag for element in page.iter()} <= names, "a text became an element"
    assert len(list(page.iter("script"))) == 1
    assert all(char.isprintable() or char == "\n" for char in html)
    for element in page.iter():
        assert not any(name.startswith("on") for name in element.attrib)
        if "href" in element.attrib:
            href = element.get("href", "")
            assert href in places or href.startswith(("http://", "https://"))
    assert all(char.isprintable() or char == "\n" for char in text_of(report))
    json.dumps(report, ensure_ascii=False).encode("utf-8", "backslashreplace")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text: str) -> None:
    check_harmless(everywhere(text))


@pytest.mark.long
@hypothesis_settings(max_examples=30)
@given(st.text(max_size=50))
def test_any_text_stays_text(text: str) -> None:
    check_harmless(everywhere(text))


@pytest.mark.parametrize(
    "char",
    ["\x00", *(pytest.param(c, marks=pytest.mark.long) for c in 'x"\U0001f600\u05d0')],
)
def test_page_stays_small_however_long_the_addresses_are(char: str) -> None:
    collector = Collector()
    for i in range(3000):
        site = f"http://{i % 50}{char * 5000}"
        url = f"{site}/{i % 40}{char * 5000}/{i % 7}{char * 5000}?{i % 30}{char * 5000}=1"
        other = url.replace("=1", "=2") if i % 2 else f"{site}/{i % 40}/mirror/{i % 7}"
        collector.add(record(url, other, second=i, redirects=[f"{site}/{i % 60}/from/x", url]))
        collector.add(record(f"{site}/{i}/wall", f"{site}/wall", second=i))
        collector.add(skipped(url, f"reason {i % 15}", char * 5000))
    sides = [compared("http://" + char * 5000)] * SHOWN_PAIRS
    about = CrawlInfo(name=char * 5000, side_by_side=sides)
    report = report_of(collector, about)
    assert len(html_of(report).encode()) <= 500 * KILOBYTE
    assert len(report["alarms"]) > 10


def test_text_is_a_short_table() -> None:
    lines = text_of(collected(*session_ids())).splitlines()
    assert any("38" in one and "Ignore the parameter sid" in one for one in lines)
    assert len(lines) < 40
    assert max(map(len, lines)) <= 120


def test_json_keeps_to_its_schema() -> None:
    report = json.loads(json.dumps(collected(*session_ids())))
    assert report["schema"] == 3
    assert line("x").keys() >= {"url", "verdict"}


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    digits = colour.lstrip("#")
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_contrast_is_enough_in_light_and_dark_and_print() -> None:
    html = html_of(collected())
    schemes = re.findall(r":root \{(.*?)\}", html, re.DOTALL)
    assert len(schemes) == 3
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+): (#\w+)", scheme))
        for back in ("paper", "warn"):
            for front in ("ink", "soft", "link"):
                low, high = sorted(map(luminance, (colours[front], colours[back])))
                assert (high + 0.05) / (low + 0.05) >= 4.5, f"{front} on {back}"
        for front in ("kept", "passed", "flagged", "duplicate", "soft"):
            low, high = sorted(map(luminance, (colours[front], colours["paper"])))
            assert (high + 0.05) / (low + 0.05) >= 3, f"{front} on paper"
