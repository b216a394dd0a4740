"""A crawl that is stopped, or killed, and started again with the same index."""

from __future__ import annotations

import signal
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


def start_and_stop(site: Site, folder: Path, stop: signal.Signals, after: int) -> str:
    """Start a crawl, send *stop* after so many decisions, and wait for its end."""
    job = crawl_job(site, folder, SIMHASH_WORKERS=2, CONCURRENT_REQUESTS=4, SIMHASH_WALLS="drop")
    feed = folder / "decisions.jsonl"
    with start_job(job, folder) as crawl:
        deadline = time.monotonic() + 60
        while not feed.exists() or feed.read_bytes().count(b"\n") < after:
            assert time.monotonic() < deadline
            assert crawl.poll() is None
            time.sleep(0.01)
        crawl.send_signal(stop)
        return crawl.wait().stderr


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_no_acknowledged_page_is_lost_and_no_start_page_is_dropped(
    large_site: Site, tmp_path: Path, stop: signal.Signals
) -> None:
    log = start_and_stop(large_site, tmp_path, stop, after=30)
    first = crawl_result(0, log, tmp_path)
    assert 30 <= len(first.decisions) < PAGES
    assert all(d["verdict"] != "skipped" for d in first.decisions)
    if stop == signal.SIGINT:
        assert "Closing spider (shutdown)" in log
        assert "pages judged" in log

    stored = urls_in(tmp_path / ".scrapy" / "simhash" / "links.simhash")
    assert {d["url"] for d in first.decisions} <= stored

    job = crawl_job(
        large_site, tmp_path, SIMHASH_WORKERS=2, CONCURRENT_REQUESTS=4, SIMHASH_WALLS="drop"
    )
    whole = run_job(job, tmp_path)
    second = {path_of(d["url"]): d for d in whole.decisions[len(first.decisions) :]}
    assert len(second) == PAGES
    assert (second["/"]["verdict"], second["/"]["action"]) == ("refresh", "pass")
    for decision in first.decisions:
        again = second[path_of(decision["url"])]
        expected = {"unique": "refresh"}.get(decision["verdict"], decision["verdict"])
        assert again["verdict"] == expected
    kept = {d["url"] for d in whole.decisions if d["action"] == "pass"}
    assert len(kept) == 1 + sum(1 for i in range(1, PAGES) if i % 3)
