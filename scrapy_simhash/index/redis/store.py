"""What an index has on the server: its parameters, scopes, rows and runs, and what sites repeat.

Pages are judged and written by index.py.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.decision.page import Page, Row
from scrapy_simhash.errors import IndexFormatError, IndexUnavailableError, refuse_mismatch
from scrapy_simhash.index.base import (
    SILENT_SECONDS,
    Counts,
    CrawlRecord,
    Index,
    Run,
    absent,
    is_dead,
    this_process,
)
from scrapy_simhash.index.redis.address import Scope, base_of, key_of
from scrapy_simhash.index.redis.buckets import ID_BYTES, Near, NearKeys, NearTables
from scrapy_simhash.index.redis.rows import MAX_NUMBER, StoredRow, number_of, pack_id, unpack
from scrapy_simhash.index.redis.server import Script, Server
from scrapy_simhash.index.site_knowledge import Learned

logger = logging.getLogger(__name__)

# This many rows, or members of a group, are read at once: the server does nothing else for 1 ms.
SCANNED_AT_ONCE = 1_000

_BEGIN = Script("running.lua", "begin_crawl.lua")
_BEAT = Script("running.lua", "beat.lua")

# Parameters that a crawl cannot change once pages are stored.  It can ask for a smaller distance.
_MUST_BE_SAME = ("scheme", "scope", "min_tokens", "is_verified")

_KEEP = "It was left as it is; name another index (?prefix= at the end of the URL)"


@dataclass(frozen=True)
class IndexInfo:
    """The parameters of an index in Redis.

    Its tables, or its keys, are planned for *pages*; *tables* names them.
    """

    scheme: str
    scope: str
    distance: int
    min_tokens: int
    is_verified: bool
    pages: int
    tables: str = ""

    @property
    def near(self) -> Near:
        """What finds the pages that are near another."""
        if self.is_verified:
            return NearKeys(self.pages)
        return NearTables(self.distance, self.min_tokens, self.pages)

    @property
    def parameters(self) -> Parameters:
        """The parameters with which the index can be tended."""
        share = 1.0 if self.is_verified else None
        return Parameters(self.scheme, self.scope, self.distance, self.min_tokens, share)


class Store(Index):
    """The part of an index in a server that opens and reads it, and notes runs.

    *losses* is the number of times that the server had lost pages which it had stored.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self.losses = 0
        self._about = b""
        self._scopes: dict[str, Scope] = {}
        self._run_keys = tuple(map(self._key, ("crawls", "running", "named")))
        self._delivered: set[tuple[int | None, ...]] = set()
        self._notes: dict[Run, str] = {}

    def __str__(self) -> str:
        return str(self._server.address)

    def _key(self, part: str) -> str:
        return key_of(self._server.address.prefix, part)

    async def _open(self, parameters: Parameters | None) -> IndexInfo:
        """Return what the index was built for; if there is none, create it for *parameters*.

        :raises IndexFormatError: it is damaged.
        :raises IndexUnavailableError: the server evicts keys; there is no index, nor parameters.
        :raises IndexMismatchError: the index was built with other parameters.
        """
        try:
            about = await self._about_index(parameters)
            self.parameters = parameters or about.parameters
            self.learned = Learned(self.parameters.share, self._exchange_state)
            async for site, state in self.templates():
                self.learned.restore(site, state)
            return about
        finally:
            await self._server.close_client()

    async def close(self) -> None:
        """Store what was learned, and close the connections of the running loop."""
        await self.learned.store_all()
        await self._server.close_client()

    async def _about_index(self, parameters: Parameters | None) -> IndexInfo:
        await self._refuse_eviction()
        if parameters is not None:
            wanted = IndexInfo(
                scheme=parameters.scheme,
                scope=parameters.scope,
                distance=parameters.distance,
                min_tokens=parameters.min_tokens,
                is_verified=bool(parameters.share),
                pages=self._server.address.pages,
            )
            wanted = replace(wanted, tables=wanted.near.name)
            await self._server.command("SET", self._key("about"), json.dumps(asdict(wanted)), "NX")
        stored = await self._server.command("GET", self._key("about"))
        if stored is None:
            raise absent(self)
        try:
            about = IndexInfo(**json.loads(stored))
        except (ValueError, TypeError) as exc:
            raise IndexFormatError(f"{self} is no index: {exc}") from exc
        if about.tables != about.near.name:
            raise IndexFormatError(
                f"{self} has tables {about.tables!r}, which this version has not"
            )
        if parameters is not None:
            same = [*_MUST_BE_SAME] + ["distance"] * (about.distance < wanted.distance)
            parts = [(name, getattr(about, name), getattr(wanted, name)) for name in same]
            refuse_mismatch(self, parts, f"{_KEEP}, or set what it was built with.")
        self._about = stored
        return about

    async def _refuse_eviction(self) -> None:
        for memory in await self._server.information("memory"):
            policy = memory.get("maxmemory_policy", "noeviction")
            if policy != "noeviction":
                raise IndexUnavailableError(
                    f"maxmemory-policy of {self} must be 'noeviction': got "
                    f"{policy!r}. A server that evicts keys would forget parts of the index, "
                    f"and pages would be judged by what is left."
                )

    async def _scope(self, name: str) -> Scope:
        """Return the scope of a name; this process notes it in the index when it first occurs."""
        scope = self._scopes.get(name)
        if scope is None:
            prefix = self._server.address.prefix
            pages, buckets, groups = (
                key_of(prefix, part, name) for part in ("pages", "buckets", "groups")
            )
            scope = Scope(name, (pages, buckets, groups))
            await self._server.command("SADD", self._key("scopes"), name)
            self._scopes[name] = scope
        return scope

    async def _all_scopes(self) -> list[Scope]:
        """Return all scopes noted in the index, by name."""
        names = await self._server.command("SMEMBERS", self._key("scopes"))
        return [await self._scope(name) for name in sorted(name.decode() for name in names)]

    async def _scope_of(self, row_id: int) -> Scope | None:
        """Return the scope to which the id of a row belongs, None if there is none."""
        scopes = [*self._scopes.values()]
        if all(scope.base != base_of(row_id) for scope in scopes):
            scopes = await self._all_scopes()
        return next((scope for scope in scopes if scope.base == base_of(row_id)), None)

    async def _script(self, scope: Scope, script: Script, *arguments: Any) -> Any:
        """Return the answer of a script on the pages of a scope.

        :raises IndexUnavailableError: the server did not answer.
        """
        if scope.connections != self._server.connections:
            await self._look_for_loss(scope)
        return await self._server.script(script, scope.keys, *arguments)

    async def _look_for_flush(self) -> None:
        """Check that the index is there: somebody may have emptied the server meanwhile."""
        if await self._server.command("GET", self._key("about")) is None:
            for scope in self._scopes.values():
                scope.last = 0
            await self._lost()

    async def _look_for_loss(self, scope: Scope) -> None:
        """Check that the last stored page is known: the server may have been restarted."""
        connections = self._server.connections
        if scope.last:
            last = await self._server.command("HGET", scope.keys[1], "n")
            if int(last or 0) < scope.last:
                scope.last = 0
                await self._lost()
        scope.connections = connections

    async def _lost(self) -> None:
        self.losses += 1
        logger.error(
            "%s has lost pages that it had taken: was it restarted without them? Their duplicates "
            'will be kept once more. See "Persistence" in docs/redis.md.',
            self,
        )
        await self._server.command("SET", self._key("about"), self._about, "NX")
        if self._scopes:
            await self._server.command("SADD", self._key("scopes"), *self._scopes)

    async def _stored(self, scope: Scope, numbers: Iterable[int]) -> list[StoredRow]:
        """Return the rows with these numbers in a scope; missing rows are left out."""
        ids = list(numbers)
        if not ids:
            return []
        pages = await self._server.command("HMGET", scope.keys[0], *map(pack_id, ids))
        return [
            unpack(number, scope, page)
            for number, page in zip(ids, pages, strict=True)
            if page is not None
        ]

    async def row(self, row_id: int) -> Row | None:
        found = await self._stored_row(row_id)
        return None if found is None else found.row

    async def _stored_row(self, row_id: int) -> StoredRow | None:
        """Return the present state of a row; None if the row is not there."""
        scope = await self._scope_of(row_id)
        found = [] if scope is None else await self._stored(scope, [row_id - scope.base])
        return found[0] if found else None

    async def rows(self) -> AsyncIterator[Row]:
        for scope in await self._all_scopes():
            last = int(await self._server.command("HGET", scope.keys[1], "n") or 0)
            for first in range(1, last + 1, SCANNED_AT_ONCE):
                span = range(first, min(first + SCANNED_AT_ONCE, last + 1))
                for stored in await self._stored(scope, span):
                    yield stored.row

    async def _oldest_of_group(self, kept: StoredRow) -> list[int]:
        """Return the numbers of the oldest pages that point to a representative, not of all."""
        first = b"[" + kept.id
        span = first, first + pack_id(MAX_NUMBER), "BYLEX", "LIMIT", 0, SCANNED_AT_ONCE
        found = await self._server.command("ZRANGE", kept.scope.keys[2], *span)
        return [number_of(member[ID_BYTES:]) for member in found]

    async def counts(self) -> Counts:
        pages = duplicates = 0
        for scope in await self._all_scopes():
            pages += int(await self._server.command("HLEN", scope.keys[0]))
            duplicates += int(await self._server.command("ZCARD", scope.keys[2]))
        return Counts(pages, pages - duplicates)

    async def templates(self) -> AsyncIterator[tuple[str, bytes]]:
        key, cursor = self._key("templates"), b"0"
        while True:
            cursor, found = await self._server.command("HSCAN", key, cursor, "COUNT", 20)
            for site, state in found.items():
                yield site.decode(), state
            if int(cursor) == 0:
                return

    async def _exchange_state(self, key: str, merge: Callable[[bytes | None], bytes]) -> bytes:
        """Store what *merge* makes of the stored state of a key, and return it."""
        templates = self._key("templates")
        state = merge(await self._server.command("HGET", templates, key))
        await self._server.command("HSET", templates, key, state)
        return state

    async def begin_crawl(self, spider: str, name: str | None = None, joins: str = "") -> Run:
        running = await self._server.command("HGETALL", self._run_keys[1])
        processes = {json.loads(note)["process"] for note in running.values()}
        note = {"spider": spider, "joins": joins, "process": this_process()}
        number, crawl = await self._run_script(
            _BEGIN,
            json.dumps(note),
            name or "",
            json.dumps({"spider": spider, "started": int(time.time())}),
            *filter(is_dead, processes),
        )
        run = Run(number, crawl)
        self._notes[run] = json.dumps({**note, "crawl": crawl})
        return run

    async def beat(self, run: Run) -> None:
        await self._look_for_flush()
        await self._run_script(_BEAT, run.id, self._notes[run])

    async def end_crawl(self, run: Run, delivered: bool = True) -> None:
        with suppress(IndexUnavailableError):
            await self._server.command("HDEL", self._run_keys[1], run.id)
            if delivered:
                await self._finish(run.id, int(time.time()))

    async def crawls(self) -> list[CrawlRecord]:
        stored = await self._server.command("HGETALL", self._run_keys[0])
        found = []
        for name in sorted((name for name in stored if name.isdigit()), key=int):
            begun, finished = json.loads(stored[name]), stored.get(name + b":finished")
            end = None if finished is None else int(finished)
            found.append(CrawlRecord(int(name), begun["spider"], begun["started"], end))
        return found

    async def add_crawl(self, crawl: CrawlRecord) -> int:
        number = int(await self._server.command("HINCRBY", self._run_keys[0], "last", 1))
        begun = json.dumps({"spider": crawl.spider, "started": crawl.started_at})
        await self._server.command("HSET", self._run_keys[0], f"{number}", begun)
        if crawl.finished_at is not None:
            await self._finish(number, crawl.finished_at)
        return number

    async def _was_delivered(self, page: Page, run: int | None) -> bool:
        """Whether a page is known to have been passed on to the spider of a run, or to any.

        A positive answer is remembered.
        """
        runs = page.crawl, run
        if page.crawl is None:
            return False
        if runs not in self._delivered:
            fields = f"{page.crawl}:finished", *map(str, runs)
            end, *begun = await self._server.command("HMGET", self._run_keys[0], *fields)
            if end is None or len({json.loads(one)["spider"] for one in filter(None, begun)}) != 1:
                return False
            self._delivered.add(runs)
        return True

    async def _finish(self, run: int, finished_at: int) -> None:
        await self._server.command("HSET", self._run_keys[0], f"{run}:finished", finished_at)

    async def _run_script(self, script: Script, *arguments: Any) -> Any:
        return await self._server.script(script, self._run_keys, int(SILENT_SECONDS), *arguments)
