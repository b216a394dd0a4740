"""Crawls that keep their pages in a real Redis server."""

from __future__ import annotations

import pytest

from tests.conftest import CrawlFixture, Site, article, prose
from tests.redis_servers import free_port


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
    first = crawl(SIMHASH_INDEX=redis_url)
    assert first.returncode == 0
    assert first.seen() == {"/", "/a", "/b"}
    assert first.simhash_stats()["exact_duplicate"] == 1
    twins["/"] = article(prose("another start"), ["/elsewhere"])
    twins["/elsewhere"] = article(prose("boat"))
    second = crawl(SIMHASH_INDEX=redis_url)
    assert second.verdicts()["/elsewhere"] == "exact_duplicate"
    assert f"pages in {redis_url.replace('PASSWORD', '***')}" in second.log
    assert "PASSWORD" not in first.log + second.log


def test_redis_of_scrapy_redis_is_used_where_the_setting_says_so(
    twins: Site, crawl: CrawlFixture, redis_url: str
) -> None:
    assert crawl(SIMHASH_INDEX="redis:", REDIS_URL=redis_url).seen() == {"/", "/a", "/b"}
    refused = crawl(SIMHASH_INDEX="redis:")
    assert refused.returncode == 1
    assert "SettingsError: SIMHASH_INDEX 'redis:' takes the server of REDIS_URL" in refused.log


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
    assert f"IndexUnavailableError: {url.replace('secret', '***')} does not answer" in refused.log
    assert "secret" not in refused.log
