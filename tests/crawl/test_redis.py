"""Crawls that keep their pages in a real Redis server."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CrawlFixture, Site, article, crawl_job, ended, prose, start_job
from tests.redis_servers import RedisServer, free_port


@pytest.fixture
def twins(site: Site) -> Site:
    site["/"] = article(prose("start"), ["/a", "/copy", "/b"])
    site["/a"] = article(prose("lamp"))
    site["/copy"] = article(prose("lamp"))
    site["/b"] = article(prose("boat"))
    return site


def test_crawl_drops_what_another_machine_has_kept(
    twins: Site, crawl: CrawlFixture, redis_url: str
) -> None:
    settings = {"SIMHASH_INDEX": redis_url, "SIMHASH_CRAWL": "one"}
    first = crawl(**settings)
    assert first.returncode == 0
    assert first.seen() == {"/", "/a", "/b"}
    assert first.simhash_stats()["exact_duplicate"] == 1
    twins["/"] = article(prose("another start"), ["/elsewhere"])
    twins["/elsewhere"] = article(prose("boat"))
    second = crawl(**settings)
    assert second.verdicts()["/elsewhere"] == "exact_duplicate"
    assert f"pages in {redis_url.replace('PASSWORD', '***')}" in second.log
    assert "PASSWORD" not in first.log + second.log


def test_page_that_a_callback_failed_on_is_taken_back(
    twins: Site, crawl: CrawlFixture, redis_url: str
) -> None:
    twins["/"] = article(prose("start"), ["/fails", "/copy"])
    twins["/fails"] = article(prose("lamp"))
    result = crawl("FailsOnce", SIMHASH_INDEX=redis_url)
    assert result.stats["simhash/withdrawn"] == 1
    assert result.verdicts()["/copy"] == "unique"


def test_server_that_is_not_there_is_refused_at_start(twins: Site, crawl: CrawlFixture) -> None:
    url = f"redis://user:secret@127.0.0.1:{free_port()}"
    refused = crawl(SIMHASH_INDEX=url)
    assert refused.returncode == 1
    what, is_running, other = refused.log.rstrip().splitlines()[-3:]
    assert f"ServerAwayError: {url.replace('secret', '***')} does not answer" in what
    assert is_running.startswith("  Is the server of SIMHASH_INDEX running?")
    assert 'SIMHASH_INDEX = "crawl.simhash"' in other
    assert "secret" not in refused.log


def test_an_index_that_is_away_when_the_crawl_begins_stops_nothing(
    twins: Site, crawl: CrawlFixture
) -> None:
    result = crawl("LosesServer")
    assert "Error caught on signal handler" not in result.log
    assert result.items


def test_two_processes_of_scrapy_redis_crawl_a_site_as_one(site: Site, tmp_path: Path) -> None:
    names = [f"/{i}" for i in range(20)]
    site["/"] = article(prose("start"), names + [f"/print{name}" for name in names])
    for name in names:
        site[name] = site[f"/print{name}"] = article(prose(f"topic{name[1:]}"))
    with RedisServer(tmp_path / "redis") as server:
        settings: dict[str, Any] = {
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "SCHEDULER_MEMORY_QUEUE": None,
            "SCHEDULER_PERSIST": True,
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "REDIS_URL": server.url,
            "SIMHASH_INDEX": server.url,
        }
        with ExitStack() as stack:
            crawls = {}
            for number in range(2):
                folder = tmp_path / f"{number}"
                folder.mkdir()
                job = crawl_job(site, folder, **settings)
                crawls[folder] = stack.enter_context(start_job(job, folder))
            results = [ended(started, folder) for folder, started in crawls.items()]
        with server.client() as client:
            keys = {key.decode() for key in client.scan_iter()}
    assert [result.returncode for result in results] == [0, 0], results[0].log + results[1].log
    verdicts = Counter(decision["verdict"] for r in results for decision in r.decisions)
    assert verdicts["unique"] == 21
    assert verdicts["exact_duplicate"] == 20
    assert site.asked["/7"] == site.asked["/print/7"] == 1
    assert {key for key in keys if not key.startswith("simhash:1:")} == {"links:dupefilter"}
