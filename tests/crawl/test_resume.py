"""A crawl that is stopped, or killed, and started again with the same index."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import (
    Site,
    article,
    crawl_job,
    crawl_result,
    path_of,
    prose,
    run_job,
    start_job,
)
from tests.indexes import urls_in

PAGES = 100


@pytest.fixture
def large_site(site: Site) -> Site:
    """A chain of pages, every third with the text of the first one."""
    for i in range(PAGES):
        path = "/" if i == 0 else f"/page{i}"
        text = prose("first") if i % 3 == 0 else prose(f"topic{i}x")
        links = [f"/page{j}" for j in range(1, PAGES)] if i == 0 else []
        site[path] = article(text, links)
    return site


# How a crawl is stopped.
STOPS = ("ctrl-c", "ctrl-c again and again", "kill")


def job_of(site: Site, folder: Path) -> list[str]:
    """Return the command of a crawl of the site."""
    return crawl_job(
        site,
        folder,
        CONCURRENT_REQUESTS=4,
        SIMHASH_WORKERS=2,
        SIMHASH_WALLS="drop",
        SIMHASH_REPORT_FILE="report.html",
    )


def start_and_stop(
    site: Site, folder: Path, stop: str, after: int
) -> subprocess.CompletedProcess[str]:
    """Start a crawl, stop it after so many decisions, and wait for its end."""
    job = job_of(site, folder)
    feed = folder / "decisions.jsonl"
    with start_job(job, folder) as crawl:
        deadline = time.monotonic() + 60
        while not feed.exists() or feed.read_bytes().count(b"\n") < after:
            assert time.monotonic() < deadline
            assert crawl.poll() is None
            time.sleep(0.01)
        crawl.send_signal(signal.SIGKILL if stop == "kill" else signal.SIGINT)
        while stop == "ctrl-c again and again" and crawl.poll() is None:
            time.sleep(0.05)
            crawl.send_signal(signal.SIGINT)
        return crawl.wait()


@pytest.mark.parametrize("stop", STOPS)
def test_no_acknowledged_page_is_lost_and_no_start_page_is_dropped(
    large_site: Site, tmp_path: Path, stop: str
) -> None:
    stopped = start_and_stop(large_site, tmp_path, stop, after=30)
    log = stopped.stderr
    first = crawl_result(stopped.returncode, log, tmp_path)
    assert 30 <= len(first.decisions) < PAGES
    assert all(d["verdict"] != "skipped" for d in first.decisions)
    if stop == "ctrl-c":
        assert "Closing spider (shutdown)" in log
        assert f"Near-duplicates: {len(first.decisions)} pages judged" in log
        report = json.loads((tmp_path / "report.json").read_text())
        assert report["totals"]["judged"] == len(first.decisions)
    if stop != "kill":  # as a crawl without the plug-in ends
        assert stopped.returncode == 0
        assert "Traceback" not in log
        assert ("forcing unclean shutdown" in log) == (stop != "ctrl-c")

    stored = urls_in(tmp_path / ".scrapy" / "simhash" / "links.simhash")
    assert {d["url"] for d in first.decisions} <= stored

    whole = run_job(job_of(large_site, tmp_path), tmp_path)
    second = {path_of(d["url"]): d for d in whole.decisions[len(first.decisions) :]}
    assert len(second) == PAGES
    assert (second["/"]["verdict"], second["/"]["action"]) == ("refresh", "pass")
    for decision in first.decisions:
        again = second[path_of(decision["url"])]
        expected = {"unique": "refresh"}.get(decision["verdict"], decision["verdict"])
        assert again["verdict"] == expected
    kept = {d["url"] for d in whole.decisions if d["action"] == "pass"}
    assert len(kept) == 1 + sum(1 for i in range(1, PAGES) if i % 3)
