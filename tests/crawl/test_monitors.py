"""Spidermon's monitors, at the end of real crawls of the example project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import forking
from tests.command_line import SCRAPY
from tests.conftest import Reply, Site, article, prose

EXAMPLE = Path(__file__).parents[2] / "example_project"


def monitored(site: Site, folder: Path, **settings: object) -> str:
    """Crawl the site with the example suite, and return the log."""
    command: list[str | Path] = [SCRAPY, "crawl", "site", "-a", f"url={site.url}/"]
    settings = {
        "SPIDERMON_ENABLED": True,
        "EXTENSIONS": json.dumps({"spidermon.contrib.scrapy.extensions.Spidermon": 500}),
        "SPIDERMON_SPIDER_CLOSE_MONITORS": "site_crawl.monitors.CloseSuite",
        "SIMHASH_INDEX": "memory:",
        "SIMHASH_DECISIONS_FILE": folder / "decisions.jsonl",
        "SIMHASH_WORKERS": 0,
        "TELNETCONSOLE_ENABLED": False,
        **settings,
    }
    for name, value in settings.items():
        command += ["-s", f"{name}={value}"]
    done = forking.run(command, EXAMPLE, import_path=EXAMPLE.parent)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture
def twins(site: Site) -> Site:
    """Three pages, two of which are one."""
    site["/"] = article(prose("start"), ["/a", "/b"])
    site["/a"] = site["/b"] = article(prose("same"))
    return site


def test_monitors_pass_after_a_clean_crawl(twins: Site, tmp_path: Path) -> None:
    log = monitored(twins, tmp_path)
    for name in ("AlarmMonitor/test_no_alarm", "DuplicateShareMonitor/test_duplicate_share"):
        assert f"{name}... OK" in log
    assert "5 monitors in" in log
    assert "... FAIL" not in log


def test_monitors_fail_where_there_is_too_much(twins: Site, tmp_path: Path) -> None:
    names = [f"/wall{i}" for i in range(12)]
    twins["/"] = article(prose("start"), names)
    for name in names:
        twins[name] = article(prose("wall"))
    log = monitored(twins, tmp_path, SPIDERMON_SIMHASH_MAX_DUPLICATE_SHARE=0.2)
    assert "AlarmMonitor/test_no_alarm... FAIL" in log
    assert "alarms: one_text" in log
    # Ten were dropped before the alarm, and asked for again.
    assert "21 of 23 pages are duplicates" in log
    assert "FailedShareMonitor/test_failed_share... OK" in log


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_monitor_fails_where_decisions_are_missing(twins: Site, tmp_path: Path) -> None:
    log = monitored(twins, tmp_path, SIMHASH_DECISIONS_FILE="/dev/full")
    assert "FailedShareMonitor/test_decisions_feed_is_whole... FAIL" in log


def test_monitor_fails_where_the_plug_in_failed(twins: Site, tmp_path: Path) -> None:
    twins["/"] = article(prose("start"), ["/die"])
    twins["/die"] = article(prose("die"))
    log = monitored(
        twins, tmp_path, SIMHASH_WORKERS=1, SIMHASH_EXTRACTOR="tests.extractors.rude_text"
    )
    assert "FailedShareMonitor/test_failed_share... FAIL" in log
    assert "1 pages passed unjudged, 1 judged" in log


def test_monitor_fails_where_the_extractor_failed(twins: Site, tmp_path: Path) -> None:
    twins["/"] = article(prose("start"), ["/raise"])
    twins["/raise"] = article(prose("raise"))
    log = monitored(twins, tmp_path, SIMHASH_EXTRACTOR="tests.extractors.rude_text")
    assert "FailedShareMonitor/test_failed_share... FAIL" in log
    assert "1 pages passed unjudged, 1 judged" in log
    assert "FailedShareMonitor/test_pages_were_judged... OK" in log


def test_monitor_fails_where_pages_came_and_none_was_judged(site: Site, tmp_path: Path) -> None:
    site["/robots.txt"] = Reply("User-agent: *", content_type="text/plain")
    site["/"] = Reply(b"\x89PNG\x00", content_type="image/png")
    log = monitored(site, tmp_path)
    assert "FailedShareMonitor/test_pages_were_judged... FAIL" in log
    assert "none of 1 responses was judged" in log


def test_monitors_pass_where_no_page_came(site: Site, tmp_path: Path) -> None:
    site["/robots.txt"] = Reply("User-agent: *\nDisallow: /", content_type="text/plain")
    log = monitored(site, tmp_path, ROBOTSTXT_OBEY=True)
    assert "FailedShareMonitor/test_pages_were_judged... OK" in log
