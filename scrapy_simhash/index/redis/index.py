"""The index that any number of machines share: its rows and tables are in the server.

A new page takes one round trip: add_page.lua looks it up, and writes it if there is nothing to
compare it with.  Otherwise the page is judged here, by the rule that all indexes share.  A second
round trip writes it, if the rows that it was judged by have not changed; if they have, it is judged
again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import count
from typing import Any, TypeVar

from scrapy_simhash.decision.judge import MAX_COMPARED, Parameters, stored_as
from scrapy_simhash.decision.page import Decision, Found, Page, Row
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
from scrapy_simhash.index.redis.address import Scope, ServerAddress, base_of, key_of
from scrapy_simhash.index.redis.buckets import (
    ID_BYTES,
    Buckets,
    Near,
    NearKeys,
    NearTables,
    Question,
)
from scrapy_simhash.index.redis.rows import (
    MAX_NUMBER,
    StoredRow,
    number_of,
    numbers_of,
    pack,
    pack_id,
    unpack,
)
from scrapy_simhash.index.redis.server import Script, Server
from scrapy_simhash.index.site_knowledge import Learned

logger = logging.getLogger(__name__)

T = TypeVar("T")

# This many rows, or members of a group, are read at once: the server does nothing else for 1 ms.
SCANNED_AT_ONCE = 1_000
# A step fails if another process has changed its rows meanwhile.  If it fails this often, the index
# contradicts itself.
TRIES = 100

_BEGIN = Script("running.lua", "begin_crawl.lua")
_BEAT = Script("running.lua", "beat.lua")
_CHANGE = Script("buckets.lua", "change_page.lua")
_NO_ID = bytes(ID_BYTES)

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


class RedisIndex(Index):
    """An index in the server at a URL, created if there is none, and *parameters* are given.

    A page is on the server before :meth:`add` returns.  Whether it survives a restart of
    the server depends on the server's persistence (docs/redis.md).  *losses* is the number of
    times that the server had lost pages which it had stored.

    :raises SettingsError: the URL has an unknown form.
    :raises IndexMismatchError: the index was built for something else.
    :raises IndexUnavailableError: the server cannot be reached, or evicts keys.
    """

    def __init__(self, url: str, parameters: Parameters | None) -> None:
        self._server = Server(ServerAddress.from_url(url))
        self.losses = 0
        self._about = b""
        self._scopes: dict[str, Scope] = {}
        self._run_keys = tuple(map(self._key, ("crawls", "running", "named")))
        self._delivered: set[tuple[int | None, ...]] = set()
        self._notes: dict[Run, str] = {}
        self._calls = (number & MAX_NUMBER for number in count(random.getrandbits(32)))
        about = _run_apart(self._open(parameters))
        self._buckets = Buckets(about.near, about.pages)
        self._add_page = Script("buckets.lua", "look_up.lua", about.near.script, "add_page.lua")

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

    async def add(self, page: Page) -> Decision:
        scope = await self._scope(page.scope)
        question, call = self._buckets.question(page), next(self._calls)
        judged = unique = self._judge(page, found := Found())
        judged_by, cuts, place, left = b"", b"", b"", b""
        for _ in range(TRIES):
            kept = judged.representative
            number = 0 if kept is None else kept.id - scope.base
            record = pack(stored_as(page, judged, found.own), number, call)
            answer = await self._ask(
                scope, "add", question, self._most(page), record, judged_by, cuts, place, left
            )
            if answer[0] is not None:
                if judged.decision.is_duplicate and answer[1] == _NO_ID:
                    judged = unique  # what it was judged by has been forgotten since
                return judged.decision
            found = await self._found(scope, page, answer)
            judged, judged_by = self._judge(page, found), answer[1]
            row = judged.place(found.own)
            cuts, place, left = b"", b"", b""
            if row is not None:
                row_id = pack_id(row.id - scope.base)
                cuts = self._buckets.entries(row.page, row_id)
                if row is not found.own:
                    place = row_id
                    left = self._buckets.request_entry(row.page.request_fingerprint, b"")
        raise IndexUnavailableError(f"{page.url} cannot be stored: its rows change all the time")

    async def keep(self, page: Page) -> None:
        scope = await self._scope(page.scope)
        record = pack(page, 0, next(self._calls))
        await self._ask(scope, "keep", self._buckets.question(page), 1, record)

    async def check(self, page: Page) -> Decision:
        scope = await self._scope(page.scope)
        answer = await self._ask(scope, "check", self._buckets.question(page), self._most(page))
        return self._judge(page, await self._found(scope, page, answer)).decision

    async def _take_back(self, scope: str, request_fingerprint: bytes, was_new: bool) -> None:
        row = await self._row_of_request(scope, request_fingerprint)
        if row is not None and row.is_kept:
            step = self._with_group if was_new else self._undeliver
            await self._until_done(row, step)

    async def forget(self, ids: Iterable[int]) -> int:
        wanted = sorted(set(ids))
        # Duplicates first: no duplicate becomes a representative only to be forgotten next.
        forgotten = 0
        for keep_kept in (True, False):
            for row_id in wanted:
                row = await self.row(row_id)
                if row is not None and not (keep_kept and row.is_kept):
                    await self._until_done(row, self._with_heir)
                    forgotten += 1
        return forgotten

    async def delivered(self, scope: str, request_fingerprint: bytes, run: Run) -> Page | None:
        own = await self._row_of_request(scope, request_fingerprint)
        if own is None or not own.is_kept:
            return None
        return own.page if await self._was_delivered(own.page, run.id) else None

    async def adopt(self, page: Page, representative: int | None) -> int:
        scope = await self._scope(page.scope)
        number = 0 if representative is None else representative - scope.base
        record = pack(page, number, next(self._calls))
        row_id, _ = await self._ask(scope, "adopt", self._buckets.question(page), 1, record)
        return scope.base + number_of(row_id)

    def _most(self, page: Page) -> int:
        """Return how many rows to ask for: one and its own if the plain rule needs the first."""
        is_choice = self.parameters.share or page.canonical or page.met_by
        return MAX_COMPARED if is_choice else 2

    async def _ask(
        self, scope: Scope, mode: str, question: Question, most: int = 1, *rest: bytes
    ) -> list[Any]:
        """Return the answer of add_page.lua; *rest* are its arguments from the 8th on.

        If it has stored a page, note that: the server does not use a smaller number again.
        """
        missing = [b""] * (5 - len(rest))
        asked = (most, self.parameters.distance, *question, *rest, *missing)
        answer: list[Any] = await self._script(scope, self._add_page, mode, *asked)
        if answer[0] is not None:
            scope.last = max(scope.last, number_of(answer[0]))
        return answer

    async def _found(self, scope: Scope, page: Page, answer: list[Any]) -> Found:
        """Return the rows in an answer of add_page.lua on *page*."""
        _, _, _, _, same, near, are_left_out, ids, *pages = answer
        rows = {
            number: unpack(number, scope, page).row
            for number, page in zip(numbers_of(ids), pages, strict=True)
        }
        own = _own_row(scope, answer)
        return Found(
            own=own,
            delivered=own is not None and await self._was_delivered(own.page, page.crawl),
            same_text=[rows[number] for number in numbers_of(same)],
            near=[
                (row, page.distance_to(row.page))
                for row in (rows[number] for number in numbers_of(near))
            ],
            are_left_out=bool(are_left_out),
        )

    async def _row_of_request(self, scope: str, request_fingerprint: bytes) -> Row | None:
        known = await self._scope(scope)
        question = self._buckets.question_of_request(request_fingerprint)
        return _own_row(known, await self._ask(known, "check", question))

    async def _until_done(
        self, row: Row, step: Callable[[StoredRow], Coroutine[Any, Any, bool]]
    ) -> None:
        """Repeat a step with the present state of a row, until it succeeds or its page is gone.

        Another page may have its place by then, by the step itself, if its answer was lost.
        """
        request = row.page.request_fingerprint
        for _ in range(TRIES):
            found = await self._stored_row(row.id)
            if found is None or found.row.page.request_fingerprint != request or await step(found):
                return
        raise IndexUnavailableError(
            f"row {row.id} cannot be changed: it is not what it was read as"
        )

    async def _undeliver(self, stored: StoredRow) -> bool:
        """Make the crawls that judged and met a row unknown."""
        return await self._change(stored, self._undelivered(stored), b"")

    def _undelivered(self, stored: StoredRow) -> bytes:
        """Return what is stored of a representative that no crawl has passed on."""
        page = replace(stored.row.page, crawl=None, met_by=None)
        return pack(page, 0, next(self._calls))

    async def _with_group(self, stored: StoredRow) -> bool:
        """Forget a row and all that point to it."""
        members: list[int] = []
        # The oldest come first.  If they are still there, their rows are lost.
        while (oldest := await self._oldest_of_group(stored)) != members:
            members = oldest
            for one in await self._stored(stored.scope, members):
                await self._until_done(one.row, self._alone)
        return await self._alone(stored)

    async def _with_heir(self, stored: StoredRow) -> bool:
        """Forget a row; the oldest of those that point to it takes its place."""
        members = await self._oldest_of_group(stored)
        return await self._alone(stored, *await self._stored(stored.scope, members[:1]))

    async def _alone(self, stored: StoredRow, heir: StoredRow | None = None) -> bool:
        """Forget a row; *heir* takes its place, if there is one."""
        page, request_entry = stored.row.page, self._buckets.request_entry
        cuts = request_entry(page.request_fingerprint, stored.id)
        if stored.row.is_kept:
            cuts += self._buckets.entries(page, stored.id)
        if heir is None:
            return await self._change(stored, b"", cuts)
        page = heir.row.page
        cuts += request_entry(page.request_fingerprint, heir.id)
        puts = request_entry(page.request_fingerprint, stored.id)
        puts += self._buckets.entries(page, stored.id)
        return await self._change(stored, self._undelivered(heir), cuts, heir.seen, puts)

    async def _change(
        self, stored: StoredRow, record: bytes, cuts: bytes, heir: bytes = b"", puts: bytes = b""
    ) -> bool:
        arguments = stored.seen, record, cuts, heir, puts
        return bool(await self._script(stored.scope, _CHANGE, *arguments))

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


def _own_row(scope: Scope, answer: list[Any]) -> Row | None:
    """Return the row of the request in an answer of add_page.lua."""
    own_id, own_page = answer[2:4]
    return unpack(number_of(own_id), scope, own_page).row if own_id else None


def _run_apart(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine, run in a new thread: this one may have a running loop."""
    with ThreadPoolExecutor(1, "simhash-redis") as thread:
        return thread.submit(asyncio.run, coroutine).result()
