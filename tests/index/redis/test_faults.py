"""Whatever happens to the server or on the way to it, a crawl goes on and nothing is lost.

The short form runs always; ``benchmarks/bench_redis.py`` has the long one.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError, ResponseError

from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.errors import (
    IndexFormatError,
    IndexMismatchError,
    IndexUnavailableError,
    SettingsError,
)
from scrapy_simhash.index.base import Index
from scrapy_simhash.index.redis import server
from tests.conftest import CrawlFixture, Site, article, prose
from tests.fault_writer import page_of, spread, writer, written
from tests.indexes import Blocking, open_index
from tests.pages import PARAMETERS, UNIQUE, exact, near, page
from tests.proxy import Proxy
from tests.redis_servers import RedisServer, shared_server

FOLDER = Path(__file__).parents[3]
PAIRS = 200


def opened(url: str, parameters: Parameters = PARAMETERS) -> Blocking:
    return open_index(url, parameters)


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that may be killed, and has on disk what it acknowledged."""
    with RedisServer(tmp_path / "redis", "--appendonly", "yes", "--appendfsync", "always") as own:
        yield own


@pytest.fixture
def proxy(redis_url: str) -> Iterator[Proxy]:
    with Proxy(shared_server().port) as proxy:
        yield proxy


@pytest.fixture
def url_behind_proxy(redis_url: str, proxy: Proxy) -> str:
    return redis_url.replace(str(shared_server().port), str(proxy.port))


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PAUSES", (0.01, 0.02))
    monkeypatch.setattr(server, "AWAY_SECONDS", 0.05)


def judged(index: Blocking, name: str, fingerprint: int) -> str:
    """The verdict, or that the page passes unjudged."""
    try:
        return str(index.check_and_add(page(name, fingerprint)).verdict)
    except IndexUnavailableError:
        return "passes"


def test_server_that_is_killed_and_restarted_keeps_what_it_acknowledged(
    own_server: RedisServer,
) -> None:
    taken: set[str] = set()
    with opened(own_server.url) as index:
        for restart in range(3):
            for i in range(50 * restart, 50 * restart + 50):
                assert index.check_and_add(page_of(i, 0)) == UNIQUE
                taken.add(f"{i}-0")
            own_server.kill()
            assert judged(index, "while away", 0) == "passes"
            own_server.start()
            while judged(index, "back", 0xFFFF) == "passes":
                pass
            assert taken <= {row.page.url.rpartition("/")[2] for row in index.rows()}
            assert index.check_and_add(page_of(50 * restart, 1)).is_duplicate
        assert index.losses == 0


def test_loss_of_data_is_noticed_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with RedisServer(tmp_path / "forgetful") as forgetful, opened(forgetful.url) as index:
        for i in range(5):
            index.check_and_add(page_of(i, 0))
        forgetful.kill()
        forgetful.start()
        for i in range(20):
            while judged(index, f"new {i}", spread(1000 + i)) == "passes":
                pass
        assert index.losses == 1
        assert caplog.text.count("has lost pages that it had taken") == 1
        with opened(forgetful.url) as another:
            assert len(another) == 20


def test_index_that_is_flushed_while_a_crawl_goes_on_is_whole_again(
    own_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The connection stays, so that only the beat of the run can tell."""
    with opened(own_server.url) as index, own_server.client() as client:
        run = index.begin_crawl("spider", joins="queue")
        index.check_and_add(page("a", 0b0))
        index.beat(run)
        assert index.losses == 0
        client.flushall()
        for _ in range(2):
            index.beat(run)
        assert index.losses == 1
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        assert index.check_and_add(page("b", 0b0)) == UNIQUE
        assert index.check_and_add(page("c", 0b0)).is_duplicate
        with opened(own_server.url) as other:
            assert other.counts() == (2, 1)
        assert index.begin_crawl("spider", joins="queue").crawl == run.crawl
        assert index.begin_crawl("other", joins="queue").crawl not in (run.crawl, run.id)


@pytest.mark.parametrize("lost", ["pages", "buckets"])
def test_half_an_index_answers_and_its_pages_pass(own_server: RedisServer, lost: str) -> None:
    """A server that began to evict keys, say, since somebody changed its policy."""
    with opened(own_server.url) as index, own_server.client() as client:
        for name in ("a", "b", "c"):
            index.check_and_add(page(name, 0b0))
        (key,) = client.keys(f"simhash:1:*:{lost}")
        client.delete(key)
        assert index.check_and_add(page("a", 0b0)) == UNIQUE
        assert index.check_and_add(page("d", 0b0)) == exact("a")
        assert index.check_and_add(page("e", 0b1)) == near("a", 1)
        index.forget([row.id for row in index.rows()])


def test_forgetting_a_page_is_no_loss(redis_url: str) -> None:
    with opened(redis_url) as index:
        decision = index.check_and_add(page("a", 0))
        index.withdraw("", page("a", 0).request_fingerprint, decision)
        index._server.connections += 1
        index.check_and_add(page("b", 0xFF))
        assert index.losses == 0


def test_scripts_that_the_server_has_forgotten_are_sent_again(redis_url: str) -> None:
    with opened(redis_url) as index:
        index.check_and_add(page("a", 0b0))
        shared_server().client().script_flush()
        assert index.check_and_add(page("b", 0b1)) == near("a", 1)


def test_refused_script_that_was_sent_again_costs_no_other_page_its_verdict(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Redis.execute_command
    refusals = iter([ResponseError("refused"), ConnectionError("cut")])

    async def execute_command(self: Redis, *command: Any, **options: Any) -> Any:
        if command[0] == "EVAL" and (refusal := next(refusals, None)):
            raise refusal
        return await original(self, *command, **options)  # type: ignore[no-untyped-call]

    async def together(index: Index) -> list[Any]:
        pages = [page(f"{i}", spread(i)) for i in range(3)]
        asking = map(index.check_and_add, pages)
        return await asyncio.gather(*asking, return_exceptions=True)

    with opened(redis_url) as index:
        index.check_and_add(page("before", 0xFF))
        monkeypatch.setattr(server, "BATCHES", 1)
        monkeypatch.setattr(Redis, "execute_command", execute_command)
        shared_server().client().script_flush()
        told = index.run(together(index.index))
    assert [isinstance(one, IndexUnavailableError) for one in told].count(True) <= 1
    assert UNIQUE in told
    assert next(refusals, None) is None


def test_page_whose_answer_was_lost_is_no_duplicate_of_itself(
    url_behind_proxy: str, proxy: Proxy
) -> None:
    with opened(url_behind_proxy) as index:
        index.check_and_add(page("before", 0xFF00))
        proxy.swallowed = 1
        assert index.check_and_add(page("a", 0b0)) == UNIQUE
        assert index.check_and_add(page("b", 0b1)) == near("a", 1)
        assert index.counts().pages == 3


def test_page_whose_forgetting_was_not_answered_takes_no_heir_with_it(
    url_behind_proxy: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heir has its id by then."""
    with opened(url_behind_proxy) as index:
        for name, fingerprint in [("a", 0b00), ("b", 0b01), ("c", 0b10)]:
            index.check_and_add(page(name, fingerprint))
        kept, _, last = (row.id for row in index.rows())
        index.forget([last])  # the server knows the script from now on
        script = index.index._script

        async def unanswered(*arguments: Any) -> Any:
            proxy.swallowed = 1
            return await script(*arguments)

        monkeypatch.setattr(index.index, "_script", unanswered)
        assert index.forget([kept]) == 1
        assert [row.page.url[-1] for row in index.rows()] == ["b"]


def test_cut_network_lets_pages_pass_and_recovers(url_behind_proxy: str, proxy: Proxy) -> None:
    with opened(url_behind_proxy) as index:
        assert judged(index, "a", 0b0) == "unique"
        proxy.cut()
        assert judged(index, "b", 0b1) == "passes"
        proxy.mend()
        while judged(index, "c", 0b1) == "passes":
            pass
        assert index.check_and_add(page("d", 0b11)) == near("a", 2)
        assert {row.page.url.rpartition("/")[2] for row in index.rows()} == {"a", "c", "d"}


def test_while_the_server_is_away_nobody_waits_for_it(
    url_behind_proxy: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(url_behind_proxy) as index:
        monkeypatch.setattr(server, "AWAY_SECONDS", 1000.0)
        proxy.cut()
        assert judged(index, "a", 0) == "passes"
        tried = proxy.connections
        assert {judged(index, f"{i}", i << 20) for i in range(100)} == {"passes"}
        assert proxy.connections == tried


def test_slow_server_is_waited_for(url_behind_proxy: str, proxy: Proxy) -> None:
    with opened(url_behind_proxy) as index:
        index.check_and_add(page("a", 0b0))
        proxy.delay = 0.1

        async def together() -> list[str]:
            pages = [page(f"{i}", spread(i)) for i in range(1, 30)]
            told = await asyncio.gather(*map(index.index.check_and_add, pages))
            return [decision.verdict for decision in told]

        assert set(index.run(together())) == {"unique"}


@pytest.mark.parametrize("batches", [1, 2])
def test_every_call_is_answered_however_calls_come_together(
    redis_url: str, monkeypatch: pytest.MonkeyPatch, batches: int
) -> None:
    monkeypatch.setattr(server, "BATCHES", batches)

    async def come_and_go(index: Index) -> int:
        supply = iter(range(1_000))

        async def one_after_the_other() -> None:
            for i in supply:
                await index.check_and_add(page(f"{i}", spread(i)))

        crawlers = (one_after_the_other() for _ in range(3))
        await asyncio.wait_for(asyncio.gather(*crawlers), timeout=30)
        return (await index.counts()).kept

    with opened(redis_url) as index:
        assert index.run(come_and_go(index.index)) == 1_000


def test_answer_that_takes_too_long_is_not_waited_for(
    url_behind_proxy: str, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "TRY_SECONDS", 0.05)
    with opened(url_behind_proxy) as index:
        proxy.delay = 1000.0
        assert judged(index, "a", 0) == "passes"
        proxy.delay = 0.0
        while judged(index, "a", 0) == "passes":
            pass


def test_full_server_takes_no_page_and_loses_none(tmp_path: Path) -> None:
    with RedisServer(tmp_path / "full") as full, opened(full.url) as index:
        index.check_and_add(page("a", 0b0))
        full.client().config_set("maxmemory", 1)
        with pytest.raises(IndexUnavailableError, match="maxmemory"):
            index.check_and_add(page("b", 0xFF00))
        full.client().config_set("maxmemory", 0)
        assert index.check_and_add(page("b", 0xFF00)) == UNIQUE
        assert index.check_and_add(page("c", 0b1)) == near("a", 1)


def test_server_that_evicts_is_refused_with_the_reason(tmp_path: Path) -> None:
    evicting = ("--maxmemory-policy", "allkeys-lru")
    with (
        RedisServer(tmp_path / "evicting", *evicting) as server,
        pytest.raises(IndexUnavailableError, match=r"must be 'noeviction': got 'allkeys-lru'"),
    ):
        open_index(server.url, PARAMETERS)


@pytest.mark.parametrize(
    "change", [{"scheme": "other"}, {"scope": "site"}, {"min_tokens": 9}, {"distance": 3}]
)
def test_index_of_something_else_is_refused_and_left_alone(
    redis_url: str, change: dict[str, object]
) -> None:
    with opened(redis_url) as index:
        index.check_and_add(page("a", 0))
    (name, value), *_ = change.items()
    with pytest.raises(IndexMismatchError, match=rf"with {name} .*asks for {value!r}"):
        open_index(redis_url, replace(PARAMETERS, **change))  # type: ignore[arg-type]
    with opened(redis_url, replace(PARAMETERS, distance=1)) as index:
        assert index.check_and_add(page("b", 0b11)) == UNIQUE
        assert index.check_and_add(page("c", 0b1)) == near("a", 1)


@pytest.mark.parametrize("tables", ["blocks 3", "blocks 9"])
def test_index_with_tables_of_another_version_is_refused(tmp_path: Path, tables: str) -> None:
    """Its pages would be looked for where none of them is, or its entries read as others."""
    with RedisServer(tmp_path / "other") as other:
        with opened(other.url) as index:
            index.check_and_add(page("a", 0))
        client = other.client()
        (key,) = client.keys("*:about")
        about = json.loads(client.get(key) or "")
        client.set(key, json.dumps({**about, "tables": tables}))
        with pytest.raises(IndexFormatError, match=rf"tables '{tables}', which this version"):
            open_index(other.url, PARAMETERS)


def test_nothing_outside_the_prefix_is_touched(tmp_path: Path) -> None:
    with RedisServer(tmp_path / "shared") as shared:
        client = shared.client()
        client.set("links:dupefilter", "mine")
        with opened(f"{shared.url}?prefix=near") as index:
            for i in range(10):
                index.check_and_add(page(f"{i}", i, scope=f"{i % 2}"))
            index.forget([row.id for row in index.rows()])
        keys = set(client.scan_iter())
        assert {key for key in keys if not key.startswith(b"near:1:")} == {b"links:dupefilter"}
        assert client.get("links:dupefilter") == b"mine"
        client.close()


def test_of_near_identical_pages_judged_at_once_exactly_one_is_kept(redis_url: str) -> None:
    lines = written([writer(redis_url, 0, PAIRS, number) for number in range(4)])
    kept = Counter(line.split()[0] for line in lines if line.endswith("unique"))
    assert kept == {str(i): 1 for i in range(PAIRS)}
    with opened(redis_url) as index:
        assert (len(index), index.counts().pages) == (PAIRS, 4 * PAIRS)


def test_writer_that_is_killed_leaves_the_index_whole(redis_url: str) -> None:
    with writer(redis_url, 0, 100_000, piped=True) as child:
        taken = len(list(itertools.islice(child.stdout, 200)))
        child.send_signal(signal.SIGKILL)
    with opened(redis_url) as index:
        assert len(list(index.rows())) == index.counts().pages >= taken
        assert all(index.check_and_add(page_of(i, 1)).is_duplicate for i in range(taken))


@pytest.mark.parametrize(
    "url",
    [
        "redis://",
        "redis:host",
        "redis://:secret@a,b/0",
        "redis://:secret@host/zero",
        "redis://:secret@host/0/1",
        "redis://:secret@host/-1",
        "redis://:secret@host#0",
        "redis://:secret@host?colour=red",
        "redis://:secret@host?prefix={a}",
        "redis+sentinel://:secret@host:26379",
        "redis+other://:secret@host",
        "redis://user:sec@ret@host:port/0",
    ],
)
def test_wrong_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(SettingsError, match="URL of an index in Redis must be redis://") as refused:
        open_index(url, PARAMETERS)
    assert "sec" not in str(refused.value)


def test_crawl_goes_on_while_the_server_is_away(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    names = [f"/{i}" for i in range(8)]
    site["/"] = article(prose("start"), names)
    for name in names:
        site[name] = article(prose(f"topic{name[1:]}"))
    with RedisServer(tmp_path / "redis") as mortal:
        assert mortal.process is not None
        result = crawl("KillsServer", SIMHASH_INDEX=mortal.url, KILLED=mortal.process.pid)
    assert result.returncode == 0
    assert result.seen() == {"/", *names}
    stats = result.simhash_stats()
    assert stats["kept"] + stats["skipped/index_unavailable"] == 9
    assert stats["skipped/index_unavailable"] >= 1
    assert result.log.count("Page passed unjudged (index_unavailable)") == 1
    assert result.log.count("Pages pass until it answers again") == 1
