"""The rules that a report shows, as learned from a feed: what they have shown, and would save."""

from __future__ import annotations

from typing import Any

from scrapy_simhash.report.html import html_of, text_of
from scrapy_simhash.report.record import Record
from scrapy_simhash.url_rules.evidence import LEAST_KEYS
from tests.reports import record, skipped, variant
from tests.sample_reports import SITE, collected, session_ids

# Duplicates that suggest a rule, before its trials.
SUGGESTIONS = 2


def sessions(pages: int, second: float = 0, folder: str = "shop") -> list[Record]:
    """Pages of a shop, and then each with a session id."""
    kept = [f"{SITE}/{folder}/{page}" for page in range(pages)]
    copies = [record(f"{url}?sid={second + at}", url, second + at) for at, url in enumerate(kept)]
    return [*(record(url, second=second) for url in kept), *copies]


def rules(*records: Record) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = collected(*records)["rules"]
    return found


def test_report_of_a_feed_shows_the_rules_that_its_pages_teach() -> None:
    report = collected(*session_ids())
    (rule,) = report["rules"]
    assert rule["advice"] == "Ignore the parameter sid on a.example"
    # Of eight pages, each with five ids, two have suggested the rule.
    assert (rule["keys"], rule["failures"], rule["duplicates"]) == (8, 0, 38)
    assert (rule["body_bytes"], rule["lost"], rule["learned"]) == (38_000, 0, None)
    assert rule["seen"] == "2026-11-01T12:00:19+00:00", "times are those of the feed"
    html = html_of(report)
    assert "Ignore the parameter sid on a.example" in html
    assert "It waits: 8 of 45 pairs of addresses in /article/*" in html


def test_rule_that_a_feed_proves_holds() -> None:
    (rule,) = rules(*sessions(60))
    assert (rule["templates"], rule["waits_for"]) == (["/shop/*"], None)
    assert rule["learned"] == "2026-11-01T12:00:46+00:00"


def test_rule_is_shown_when_it_was_right_often_enough_to_wait() -> None:
    least = SUGGESTIONS + LEAST_KEYS
    assert not rules(*sessions(least - 1))
    (rule,) = rules(*sessions(least))
    assert (rule["keys"], rule["duplicates"]) == (LEAST_KEYS, LEAST_KEYS)


def test_only_duplicates_where_a_rule_holds_count_as_needless() -> None:
    waits = collected(*sessions(LEAST_KEYS + SUGGESTIONS))
    assert waits["rules"][0]["needless"] == 0
    assert "rules for addresses" not in waits["summary"]["saved"]
    failed = [record(f"{SITE}/list/{page}{query}") for page in range(9) for query in ("", "?sid=x")]
    report = collected(*sessions(60), *sessions(9, 60, "list"), *failed)
    (rule,) = report["rules"]
    assert (rule["templates"], rule["failures"]) == (["/shop/*"], 9)
    assert (rule["duplicates"], rule["needless"]) == (67, 58)
    assert "rules for addresses would make about 58 requests needless" in report["summary"]["saved"]
    assert report["summary"]["setting"] == 'SIMHASH_RULES = "use"'


def test_page_that_a_rule_would_lose_is_named() -> None:
    lost = f"{SITE}/shop/0?sid=special"
    report = collected(*sessions(60), record(lost))
    (rule,) = report["rules"]
    assert (rule["failures"], rule["lost"], rule["wrong_about"]) == (1, 1, lost)
    assert f'With another text: <a href="{lost}"' in html_of(report)


def test_page_with_only_new_links_is_not_lost() -> None:
    kept = f"{SITE}/shop/0"
    (rule,) = rules(*sessions(20), variant(f"{kept}?sid=new", kept, "new_links"))
    assert (rule["failures"], rule["wrong_about"]) == (1, "")


def test_rule_that_is_mostly_wrong_is_not_shown() -> None:
    pages = [record(f"{SITE}/list?page={page}") for page in range(20)]
    copies = [record(f"{SITE}/list?page={page}", f"{SITE}/list?page=1") for page in range(20, 25)]
    assert not rules(*pages, *copies)


def test_page_counts_once_if_several_rules_save_it() -> None:
    kept = [f"{SITE}/article/{page}" for page in range(20)]
    prints = [record(url.replace("/article/", "/print/"), url) for url in kept]
    shown = rules(*map(record, kept), *prints, *(record(f"{url}?sid=1", url) for url in kept))
    assert len(shown) >= 2
    assert sum(row["duplicates"] for row in shown) <= 40


def test_walls_redirects_and_pages_without_a_verdict_teach_nothing() -> None:
    kept = [f"{SITE}/shop/{page}" for page in range(20)]
    copies = [(f"{url}?sid=1", url) for url in kept]
    assert rules(*map(record, kept), *(record(*pair) for pair in copies))
    assert not rules(*map(record, kept), *(record(*pair, reason="wall") for pair in copies))
    assert not rules(*map(record, kept), *(record(*pair, redirects=[SITE]) for pair in copies))
    assert not rules(*map(record, kept), *(skipped(url, "no_text") for url, _ in copies))


def test_page_that_turns_out_to_be_a_wall_is_held_against_no_rule() -> None:
    form = f"{SITE}/shop/form"
    before, after = record(form), record(f"{form}?sid=1")
    (rule,) = rules(*sessions(60), before, after)
    assert rule["failures"] == 1
    (rule,) = rules(*sessions(60), before, record(f"{SITE}/other", form, reason="wall"), after)
    assert rule["failures"] == 0


def test_report_without_a_rule_says_so() -> None:
    report = collected(record(SITE))
    assert "for addresses was learned" in html_of(report)
    assert text_of(report) == ""
