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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: DECISIONS"),
        (["none.jsonl"], "none.jsonl cannot be read: No such file"),
        ([__file__], "must hold decisions"),
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
