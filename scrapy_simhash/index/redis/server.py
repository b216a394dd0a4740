"""The connection to the server: repeated calls, and no waiting while the server is away.

A call that gets no answer is repeated, so it must have the same effect if it comes twice
(add_page.lua recognises it by its number).  If the last try fails, the server counts as away: calls
fail at once, except one a second, which tests whether the server is back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache, partial
from hashlib import sha1
from importlib.resources import files
from itertools import chain
from time import monotonic
from typing import Any, NamedTuple

from redis.asyncio import Redis
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    ClusterDownError,
    ConnectionError,
    NoScriptError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    TimeoutError,
    TryAgainError,
)

from scrapy_simhash.errors import IndexUnavailableError, ServerAwayError
from scrapy_simhash.index.redis.address import ServerAddress
from scrapy_simhash.index.redis.rows import layout

# A page waits at most for three tries of this length, with these pauses between them: 7 seconds
# in all.  A server that answers within half a second, twice, is slow, not away.
TRY_SECONDS = 2.0
PAUSES = (0.1, 0.5)
# The time between two tests whether the server is back.
AWAY_SECONDS = 1.0
# More connections than this would only wait for each other: the server does one thing at a time.
MAX_CONNECTIONS = 16
# While this many batches of calls are under way, further calls are collected for the next batch.
# A batch keeps the server busy for up to 4 ms.
BATCHES = 2
CALLS_AT_ONCE = 64


# Errors after which a call is repeated: no connection (or the server still loads its data), no
# answer in time, a server that has just become a replica, a cluster that is being reconfigured.
_PASSING = (
    ConnectionError,
    TimeoutError,
    OSError,
    ReadOnlyError,
    ClusterDownError,
    TryAgainError,
    RedisClusterException,
)
# If a call to a cluster fails, redis-py closes all connections, and another call that was about to
# write to one of them gets this error (redis 6.4).
_PASSING_IN_CLUSTER = (*_PASSING, AttributeError)


class Script:
    """A script for the server: the layout of a page, then the files *names* of lua/, in order."""

    def __init__(self, *names: str) -> None:
        folder = files("scrapy_simhash.index.redis") / "lua"
        text = layout() + "".join((folder / name).read_text("utf-8") for name in names)
        self.source = text.replace("%DISTANCES%", _distances()) if "%DIST" in text else text
        self.digest = sha1(self.source.encode(), usedforsecurity=False).hexdigest()


@cache
def _distances() -> str:
    """Return the distances between all pairs of bytes, in bits, as a literal of Lua."""
    pairs = ((one ^ other).bit_count() for one in range(256) for other in range(256))
    return f"'{''.join(map(chr, chain.from_iterable((92, 48 + bits) for bits in pairs)))}'"


class _Call(NamedTuple):
    """A command, the source of its script (empty: it runs none), and the future for its answer."""

    command: tuple[Any, ...]
    source: str
    answer: asyncio.Future[Any]


@dataclass
class _Client:
    """The clients of one event loop, the calls that wait, and the tasks that send them.

    *sentinels* are further clients, which ask the sentinels for the server's address.
    """

    redis: Any
    sentinels: list[Any]
    waiting: list[_Call] = field(default_factory=list)
    senders: set[asyncio.Task[Any] | None] = field(default_factory=set)


class Server:
    """The server at an address, for coroutines of any event loop.

    *connections* counts the connections made: if it has grown, the server may be another one.
    """

    def __init__(self, address: ServerAddress) -> None:
        self.address = address
        self.connections = 0
        self._passing = _PASSING_IN_CLUSTER if address.kind == "cluster" else _PASSING
        self._clients: dict[asyncio.AbstractEventLoop, _Client] = {}
        self._look_at: float | None = None

    async def script(self, script: Script, keys: tuple[str, ...], *arguments: Any) -> Any:
        """Return the answer of a script; a server that does not know the script gets its source.

        :raises IndexUnavailableError: the server did not answer, or refused.
        """
        call = "EVALSHA", script.digest, len(keys), *keys, *arguments
        return await self.command(*call, source=script.source)

    async def command(self, *command: Any, source: str = "") -> Any:
        """Return the answer of the server.

        Calls that come while others are under way are sent together, in one round trip.  That
        saves system calls, which take most of the time.

        :raises IndexUnavailableError: the server did not answer, or refused.
        """
        client = self._client()
        answer = asyncio.get_running_loop().create_future()
        client.waiting.append(_Call(command, source, answer))
        if len(client.senders) < BATCHES:
            client.senders.add(asyncio.create_task(self._send_waiting(client)))
        return await answer

    async def _send_waiting(self, client: _Client) -> None:
        try:
            while calls := client.waiting[:CALLS_AT_ONCE]:
                del client.waiting[: len(calls)]
                try:
                    answers = await self._ask(partial(self._together, calls))
                except BaseException as exc:
                    answers = [exc] * len(calls)
                for call, answer in zip(calls, answers, strict=True):
                    if call.answer.done():  # the caller has been cancelled
                        continue
                    if isinstance(answer, RedisError):
                        answer = self._refusal(answer)
                    if isinstance(answer, BaseException):
                        call.answer.set_exception(answer)
                    else:
                        call.answer.set_result(answer)
        finally:  # at once: the next call must see that this task no longer sends
            client.senders.discard(asyncio.current_task())

    async def _together(self, calls: list[_Call], client: Any) -> list[Any]:
        """Return the answers to calls; the answer to a failed call is its error."""
        pipeline = client.pipeline(transaction=False)
        for call in calls:
            pipeline.execute_command(*call.command)
        answers: list[Any] = await pipeline.execute(raise_on_error=False)
        for position, answer in enumerate(answers):
            if isinstance(answer, NoScriptError):
                _, _, *arguments = calls[position].command
                evaluated = client.execute_command("EVAL", calls[position].source, *arguments)
                (answer,) = await asyncio.gather(evaluated, return_exceptions=True)
                answers[position] = answer
            if isinstance(answer, self._passing):
                raise answer  # all calls are repeated; the server knows them by their numbers
        return answers

    async def information(self, section: str) -> list[dict[str, Any]]:
        """Return a section of INFO from each server, without replicas."""
        if self.address.kind != "cluster":
            return [await self._ask(lambda client: client.info(section))]
        found = await self._ask(
            lambda client: client.info(section, target_nodes=RedisCluster.PRIMARIES)
        )
        return list(found.values()) if "redis_version" not in found else [found]

    async def close_client(self) -> None:
        """Close the connections of the running loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            for one in (client.redis, *client.sentinels):
                await one.aclose()

    async def _ask(self, ask: Callable[[Any], Awaitable[Any]]) -> Any:
        client = self._client()
        pauses = iter(self._pauses())
        while True:
            try:
                answer = await ask(client.redis)
            except AuthenticationError as exc:
                raise self._refusal(exc) from exc
            except self._passing as exc:
                self.connections += 1  # a cluster client does not report new connections
                if (pause := next(pauses, None)) is None:
                    self._look_at = monotonic() + AWAY_SECONDS
                    raise ServerAwayError(f"{self.address} does not answer: {exc}") from exc
                await asyncio.sleep(pause)
            except RedisError as exc:
                raise self._refusal(exc) from exc
            else:
                self._look_at = None
                return answer

    def _pauses(self) -> tuple[float, ...]:
        """Return the pauses between tries: none for a page that tests whether the server is back.

        :raises IndexUnavailableError: the server is away, and another page tests it.
        """
        if self._look_at is None:
            return PAUSES
        now = monotonic()
        if now < self._look_at:
            raise ServerAwayError(f"{self.address} does not answer")
        self._look_at = now + AWAY_SECONDS
        return ()

    def _refusal(self, exc: Exception) -> IndexUnavailableError:
        return IndexUnavailableError(f"{self.address} refuses: {exc}")

    def _client(self) -> _Client:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = self._new_client()
        return self._clients[loop]

    def _new_client(self) -> _Client:
        address = self.address
        options = {
            **address.options,
            "socket_timeout": TRY_SECONDS,
            "socket_connect_timeout": TRY_SECONDS,
            "retry": Retry(NoBackoff(), 0),  # this class repeats calls itself
            "protocol": 2,
        }
        if address.kind == "cluster":
            nodes = [ClusterNode(host, port) for host, port in address.hosts]
            cluster = RedisCluster(startup_nodes=nodes, max_connections=MAX_CONNECTIONS, **options)
            return _Client(cluster, [])
        options.update(db=address.database, redis_connect_func=self._connected)
        if address.kind == "sentinel":
            ask_sentinels = {"socket_timeout": TRY_SECONDS}
            sentinels = Sentinel(  # type: ignore[no-untyped-call]
                address.hosts, sentinel_kwargs=ask_sentinels
            )
            return _Client(sentinels.master_for(address.service, **options), sentinels.sentinels)
        (host, port), *_ = address.hosts
        return _Client(Redis(host=host, port=port, **options), [])

    async def _connected(self, connection: Any) -> None:
        self.connections += 1
        await connection.on_connect()
