"""A server that is away, or a replica, for a while: calls are repeated, fail, and come back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.redis import server
from scrapy_simhash.index.redis.address import ServerAddress
from tests.indexes import Blocking, open_index
from tests.pages import PARAMETERS, UNIQUE, near, page
from tests.proxy import Proxy
from tests.redis_servers import RedisServer


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path / "redis") as own:
        yield own


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PAUSES", (0.01, 0.02))
    monkeypatch.setattr(server, "AWAY_SECONDS", 0.05)


@pytest.fixture
def index(own_server: RedisServer) -> Iterator[Blocking]:
    with open_index(own_server.url, PARAMETERS) as opened:
        yield opened


def passes(index: Blocking, name: str, fingerprint: int) -> bool:
    """Whether a page passes unjudged."""
    try:
        index.check_and_add(page(name, fingerprint))
    except IndexUnavailableError:
        return True
    return False


def become(server: RedisServer, primary: bool) -> None:
    with server.client() as client:
        client.execute_command("REPLICAOF", *(("NO", "ONE") if primary else ("127.0.0.1", 1)))


def test_pages_pass_while_the_server_is_a_replica(own_server: RedisServer, index: Blocking) -> None:
    assert index.check_and_add(page("a", 0b0)) == UNIQUE
    become(own_server, primary=False)
    assert passes(index, "b", 0b1)
    assert passes(index, "b", 0b1)
    become(own_server, primary=True)
    while passes(index, "c", 0b1):
        pass
    assert {row.page.url.rpartition("/")[2] for row in index.rows()} == {"a", "c"}


def test_server_that_is_a_replica_for_a_moment_is_asked_again(
    own_server: RedisServer, index: Blocking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a failover, say."""

    async def pause(seconds: float) -> None:
        become(own_server, primary=True)

    index.check_and_add(page("a", 0b0))
    become(own_server, primary=False)
    monkeypatch.setattr(asyncio, "sleep", pause)
    assert index.check_and_add(page("b", 0b1)) == near("a", 1)


def test_crawl_may_end_while_the_server_is_away(own_server: RedisServer, index: Blocking) -> None:
    run = index.begin_crawl("spider")
    own_server.kill()
    index.end_crawl(run)
    own_server.start()


def test_one_call_at_a_time_tests_whether_the_server_is_back(
    own_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "AWAY_SECONDS", 1000.0)
    monkeypatch.setattr(server, "CALLS_AT_ONCE", 1)

    async def ask() -> list[object]:
        one = server.Server(ServerAddress.from_url(f"redis://127.0.0.1:{proxy.port}"))
        proxy.cut()
        with pytest.raises(IndexUnavailableError):
            await one.command("PING")
        proxy.mend()
        now = time.monotonic() + 1001
        monkeypatch.setattr(server, "monotonic", lambda: now)
        asking = (one.command("PING") for _ in range(2))
        told = await asyncio.gather(*asking, return_exceptions=True)
        await one.close_client()
        return list(told)

    with Proxy(own_server.port) as proxy:
        answered, other = asyncio.run(ask())
    assert answered
    assert isinstance(other, IndexUnavailableError)
