"""``scrapy simhash report``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.command_line import simhash, simhash_json
from tests.reports import line


@pytest.fixture
def feed(tmp_path: Path) -> Path:
    """A feed of 20 pages, each with two session ids, and a line that was cut short."""
    lines = [line(f"http://a.example/{i}") for i in range(20)]
    lines += [
        line(f"http://a.example/{i}?sid={sid}", f"http://a.example/{i}", second=i)
        for i in range(20)
        for sid in range(2)
    ]
    path = tmp_path / "decisions.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines) + '{"url": "http://a.e')
    return path


def test_report_is_made_from_one_feed_or_many(feed: Path, tmp_path: Path) -> None:
    one = simhash_json(tmp_path, "report", str(feed))
    assert one["totals"]["duplicates"] == 40
    assert one["totals"]["unreadable_lines"] == 1
    (rule,) = one["rules"]
    assert rule["advice"] == "Ignore the parameter sid on a.example"
    assert (rule["keys"], rule["duplicates"], rule["learned"]) == (19, 37, None)
    two = simhash_json(tmp_path, "report", str(feed), str(feed))
    assert two["totals"]["duplicates"] == 80
    assert two["name"] == "decisions.jsonl, decisions.jsonl"


def test_report_is_written_as_html_and_shown_in_short(feed: Path, tmp_path: Path) -> None:
    done = simhash(tmp_path, "report", str(feed), "--output", str(tmp_path / "report.html"))
    assert done.returncode == 0
    assert done.stderr == ""
    assert "60 pages judged, 40 duplicates (66.7%)" in done.stdout
    assert re.search("37 +19 +0 +Ignore the parameter", done.stdout)
    assert "<h2" in (tmp_path / "report.html").read_text()


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which a browser notes what it is asked to open."""
    program, asked = tmp_path / "browser", tmp_path / "asked"
    program.write_text(f'#!/bin/sh\necho "$1" > "{asked}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{program} %s")
    return asked


def test_report_is_opened_in_a_browser(feed: Path, tmp_path: Path, browser: Path) -> None:
    done = simhash(tmp_path, "report", str(feed), "--output", "a report.html", "--open")
    assert done.returncode == 0, done.stderr
    assert browser.read_text().strip() == (tmp_path / "a report.html").as_uri()
    assert "60 pages judged" in done.stdout


def test_missing_browser_is_said_and_the_page_is_there(
    feed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = simhash(tmp_path, "report", str(feed), "--output", "report.html", "--open")
    assert done.returncode == 2
    assert "report.html is written, but no browser was found" in done.stderr
    assert "BROWSER" in done.stderr
    assert "<h2" in (tmp_path / "report.html").read_text()


def test_reports_are_compared(feed: Path, tmp_path: Path) -> None:
    better = tmp_path / "better.jsonl"
    better.write_text(json.dumps(line("http://a.example/0")) + "\n")
    found = simhash_json(tmp_path, "report", "--compare", str(feed), str(better))
    rows = {(row["section"], row["name"]): (row["one"], row["other"]) for row in found["rows"]}
    assert rows["totals", "pages"] == (60, 1)
    assert rows["rules", "Ignore the parameter sid on a.example"] == (37, 0)
    done = simhash(tmp_path, "report", "--compare", str(feed), str(better))
    assert "66.7%" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name one or more decisions feeds"),
        (["none.jsonl"], "none.jsonl cannot be read: No such file"),
        ([__file__], "must hold decisions"),
        (["--compare", "a", "b", "c"], "name one or more decisions feeds, or two"),
        (["--compare", "a", "b", "--output", "c.html"], "not written as HTML"),
        (["--compare", "a", "b", "--open"], "not written as HTML"),
        (["decisions.jsonl", "--open"], "say where to write the page that --open shows"),
    ],
)
def test_report_refuses_what_makes_no_sense(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = simhash(tmp_path, "report", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_report_that_cannot_be_written_is_refused(feed: Path, tmp_path: Path) -> None:
    done = simhash(tmp_path, "report", str(feed), "--output", str(tmp_path / "no" / "report.html"))
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
