"""The index that any number of machines share: its tables are in the server.

A new page takes one round trip: add_page.lua looks it up and, where there is nothing to compare it
with, writes it.  Where there is, the page is judged here, by the one rule, and written by a second
round trip if what it was judged by is still the same; if not, it is judged again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.contract import (
    MAX_VERIFIED,
    Decision,
    Found,
    Page,
    Parameters,
    Row,
)
from scrapy_simhash.index.copying import CrawlRecord, LastingIndex
from scrapy_simhash.index.redis.address import ServerAddress
from scrapy_simhash.index.redis.buckets import ID_BYTES, Buckets, Question, design_named
from scrapy_simhash.index.redis.keys import Scope
from scrapy_simhash.index.redis.rows import (
    MAX_NUMBER,
    StoredRow,
    number_of,
    numbers_of,
    pack,
    pack_id,
    unpack,
)
from scrapy_simhash.index.redis.server import TRY_SECONDS, Script, Server
from scrapy_simhash.index.redis.store import About, Store, spans

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")

_NOTHING = Found(own=None, delivered=False, same_text=(), near=())
_NO_ID = bytes(ID_BYTES)

_ADD = Script("buckets.lua", "add_page.lua")
_FORGET = Script("buckets.lua", "forget.lua")
_UNDELIVER = Script("buckets.lua", "undeliver.lua")


class RedisIndex(LastingIndex):
    """An index in the server at a URL, made where there is none, for *pages* in each scope.

    A page is on the server before :meth:`check_and_add` returns: what becomes of it there is a
    matter of the server's persistence (docs/redis.md).

    :raises SettingsError: the URL is of no known form.
    :raises IndexMismatchError: the index was built for something else.
    :raises IndexUnavailableError: the server cannot be reached, or evicts keys.
    """

    def __init__(self, url: str, parameters: Parameters, pages: int) -> None:
        super().__init__(parameters)
        self._store = Store(Server(ServerAddress.from_url(url)))
        self._calls = count(random.getrandbits(32))
        # What is not awaited has a loop and a thread of its own: the caller's may run a loop.
        self._loop = asyncio.new_event_loop()
        self._thread = ThreadPoolExecutor(1, "simhash-redis")
        try:
            self._buckets = self._run(self._open(pages))
        except BaseException:
            self._close()
            raise

    @classmethod
    def existing(cls, url: str) -> Self | None:
        """Return the index at *url* as it was built, to be tended; None where there is none."""
        about = asyncio.run(_about(url))
        if about is None:
            return None
        share = 1.0 if about.is_verified else None
        parameters = Parameters(about.scheme, about.scope, about.distance, about.min_tokens, share)
        return cls(url, parameters, about.pages)

    async def _open(self, pages: int) -> Buckets:
        about = await self._store.open(self.parameters, pages)
        async for site, state in self._store.templates():
            with suppress(ValueError):  # damaged; it can be learned again
                self.templates.restore(site, state)
        return Buckets(design_named(about.tables, about.distance), about.pages)

    def __str__(self) -> str:
        return str(self._store.server.address)

    def __len__(self) -> int:
        return sum(pages - duplicates for _, pages, duplicates in self._run(self._store.counts()))

    def count(self) -> int:
        """Return how many pages there are, representatives and duplicates."""
        return sum(pages for _, pages, _ in self._run(self._store.counts()))

    @property
    def losses(self) -> int:
        """How often the server was found to have lost pages that it had taken."""
        return self._store.losses

    def check_and_add(self, page: Page) -> Decision:
        return self._run(self.check_and_add_async(page))

    async def check_and_add_async(self, page: Page) -> Decision:
        scope = await self._store.scope(page.scope)
        question, call = self._question(page), next(self._calls) & MAX_NUMBER
        unique, _ = self._judge(page, _NOTHING)
        decision, representative, crawl, judged_by, cuts = unique, 0, page.crawl, b"", b""
        while True:
            record = pack(page, representative, call, crawl)
            answer = await self._ask(
                scope, "add", question, self._most(page), record, judged_by, cuts
            )
            if answer[0] is not None:
                break
            found = await self._found(scope, answer)
            decision, kept = self._judge(page, found)
            judged_by, crawl = answer[1], self._crawl_of(page, found, decision)
            representative = 0 if kept is None else kept.id - scope.base
            cuts = b"" if found.own is None else self._places(found.own, scope)
        row_id, of = answer
        if decision.is_duplicate and of == _NO_ID:
            decision = unique  # what it was judged by was forgotten meanwhile
        self._store.taken(scope, row_id, page.request_fingerprint)
        self._learn(page, decision)
        await self._save_templates(self.templates.take_due(page.site))
        return decision

    def check(self, page: Page) -> Decision:
        return self._run(self._check(page))

    async def _check(self, page: Page) -> Decision:
        scope = await self._store.scope(page.scope)
        answer = await self._ask(scope, "check", self._question(page), self._most(page))
        return self._judge(page, await self._found(scope, answer))[0]

    async def aside(self, operation: Callable[[], T]) -> T:
        return await asyncio.to_thread(operation)

    def _question(self, page: Page) -> Question:
        digest = page.digest if self._has_text(page) else None
        return self._buckets.question(page.request_fingerprint, digest, self._views(page))

    def _most(self, page: Page) -> int:
        """Return how many rows to ask for: by the plain rule, the first, if nothing can choose."""
        return MAX_VERIFIED if self.parameters.share or page.canonical else 1

    def _has_text(self, page: Page | Row) -> bool:
        """Whether a page is found by its text: an empty one says nothing where it is verified."""
        return bool(page.tokens) or not self.parameters.share

    def _places(self, row: Row, scope: Scope) -> bytes:
        """Return where a row stands to be found."""
        row_id = pack_id(row.id - scope.base)
        return self._buckets.places(row, self._has_text(row), self._views(row), row_id)

    async def _ask(
        self,
        scope: Scope,
        mode: str,
        question: Question,
        most: int = 1,
        record: bytes = b"",
        judged_by: bytes = b"",
        cuts: bytes = b"",
    ) -> list[Any]:
        answer: list[Any] = await self._store.script(
            scope,
            _ADD,
            mode,
            most,
            self.parameters.distance,
            question.names,
            question.request,
            question.text,
            question.tables,
            record,
            judged_by,
            cuts,
        )
        return answer

    async def _found(self, scope: Scope, answer: list[Any]) -> Found:
        """Return what add_page.lua tells of a page."""
        _, _, own_id, own_page, same, near, ids, *pages = answer
        rows = {
            number: unpack(number, scope, page).row
            for number, page in zip(numbers_of(ids), pages, strict=True)
        }
        own = unpack(number_of(own_id), scope, own_page).row if own_id else None
        return Found(
            own=own,
            delivered=own is not None and await self._store.was_delivered(own.crawl),
            same_text=[rows[number] for number in numbers_of(same)],
            near=[
                (rows[number_of(near[at : at + ID_BYTES])], near[at + ID_BYTES])
                for at in range(0, len(near), ID_BYTES + 1)
            ],
        )

    def rows(self) -> Iterator[Row]:
        for scope in self._run(self._store.all_scopes()):
            for ids in spans(self._run(self._store.numbers(scope))):
                yield from (one.row for one in self._run(self._store.stored(scope, ids)))

    def brief_rows(self) -> Iterator[Row]:
        for scope in self._run(self._store.all_scopes()):
            for ids in spans(self._run(self._store.numbers(scope))):
                yield from (one.row for one in self._run(self._store.scan(scope, ids)))

    def crawls(self) -> list[CrawlRecord]:
        return self._run(self._store.crawls())

    def learned(self) -> Iterable[tuple[str, bytes]]:
        return self._run(self._all_learned())

    async def _all_learned(self) -> list[tuple[str, bytes]]:
        return [found async for found in self._store.templates()]

    def adopt(self, page: Page, representative: int | None) -> int:
        return self._run(self._adopt(page, representative))

    async def _adopt(self, page: Page, representative: int | None) -> int:
        scope = await self._store.scope(page.scope)
        number = 0 if representative is None else representative - scope.base
        record = pack(page, number, next(self._calls) & MAX_NUMBER, page.crawl)
        row_id, _ = await self._ask(scope, "adopt", self._question(page), record=record)
        return scope.base + number_of(row_id)

    def adopt_crawl(self, crawl: CrawlRecord) -> int:
        return self._run(self._store.adopt_crawl(crawl))

    def adopt_learned(self, site: str, state: bytes) -> None:
        with suppress(ValueError):  # damaged; it can be learned again
            self.templates.restore(site, state)
            self._run(self._save_templates([(site, state)]))

    def begin_crawl(self, spider: str) -> int | None:
        with suppress(IndexUnavailableError):
            return self._run(self._store.begin_crawl(spider))
        return None

    def end_crawl(self, crawl: int | None) -> None:
        if crawl is not None:
            with suppress(IndexUnavailableError):
                self._run(self._store.end_crawl(crawl))

    def close(self) -> None:
        if self._loop.is_closed():
            return
        # What a site repeats can be learned again.
        with suppress(IndexUnavailableError):
            self._run(self._save_templates(self.templates.take_changed()))
        self._close()

    def _close(self) -> None:
        server = self._store.server
        for loop in server.loops:
            if loop is self._loop:
                self._run(server.close_client())
            elif loop.is_running():
                closing = asyncio.run_coroutine_threadsafe(server.close_client(), loop)
                closing.result(TRY_SECONDS)
        self._thread.shutdown()
        self._loop.close()

    async def _save_templates(self, learned: Iterable[tuple[str, bytes]]) -> None:
        """Store what sites repeat, as this process and others have learned it."""
        with suppress(IndexUnavailableError):
            for site, state in learned:
                stored = await self._store.template(site)
                merged = self.templates.merged(site, state, stored)
                await self._store.store_template(site, merged)
                self.templates.note_stored(site, merged)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return what a coroutine returns, and hold the caller up until then."""
        return self._thread.submit(self._loop.run_until_complete, coroutine).result()

    def _transaction(self) -> AbstractContextManager[None]:
        return nullcontext()  # each step is one on the server

    def _row_of_request(self, scope: str, request_fingerprint: bytes) -> Row | None:
        return self._run(self._own(scope, request_fingerprint))

    async def _own(self, name: str, request_fingerprint: bytes) -> Row | None:
        scope = await self._store.scope(name)
        question = self._buckets.question(request_fingerprint, None, ())
        return (await self._found(scope, await self._ask(scope, "check", question))).own

    def _row(self, row_id: int) -> Row | None:
        found = self._run(self._stored(row_id))
        return None if found is None else found[1].row

    async def _stored(self, row_id: int) -> tuple[Scope, StoredRow] | None:
        """Return the scope of a row, and the row as it is now; None where it is not there."""
        scope = await self._store.scope_of(row_id)
        if scope is None:
            return None
        found = await self._store.stored(scope, [row_id - scope.base])
        return (scope, found[0]) if found else None

    def _judged_before(self, time: float) -> list[int]:
        return self._run(self._ids_before(time))

    async def _ids_before(self, time: float) -> list[int]:
        return [
            one.row.id
            for scope in await self._store.all_scopes()
            for ids in spans(await self._store.numbers(scope))
            for one in await self._store.scan(scope, ids, time)
        ]

    def _mark_undelivered(self, row: Row) -> None:
        self._run(self._until_done(row.id, self._undeliver))

    def _delete(self, row: Row) -> None:
        self._run(self._until_done(row.id, self._forget_one))

    def _delete_group(self, row: Row) -> None:
        self._run(self._until_done(row.id, self._forget_group))

    async def _until_done(
        self, row_id: int, step: Callable[[Scope, StoredRow], Coroutine[Any, Any, bool]]
    ) -> None:
        """Try a step until the row, as it is then, has been left alone by others or is gone."""
        while (found := await self._stored(row_id)) is not None:
            if await step(*found):
                return

    async def _undeliver(self, scope: Scope, stored: StoredRow) -> bool:
        return bool(await self._store.script(scope, _UNDELIVER, _seen(scope, stored)))

    async def _forget_group(self, scope: Scope, stored: StoredRow) -> bool:
        for number in await self._store.group(scope, stored.row.id - scope.base):
            await self._until_done(scope.base + number, self._forget_alone)
        return await self._forget_alone(scope, stored)

    async def _forget_one(self, scope: Scope, stored: StoredRow) -> bool:
        """Forget a row, and let its heir take its place."""
        group = await self._store.group(scope, stored.row.id - scope.base)
        heirs = await self._store.stored(scope, group[:1])
        return await self._forget_alone(scope, stored, *heirs)

    async def _forget_alone(
        self, scope: Scope, stored: StoredRow, heir: StoredRow | None = None
    ) -> bool:
        """Forget a row whose heir is *heir*, or which has none."""
        row = stored.row
        cuts = self._buckets.request_place(row, pack_id(row.id - scope.base))
        if row.representative is None:
            cuts += self._places(row, scope)
        self._store.given_up(scope, pack_id(row.id - scope.base))
        done = await self._store.script(
            scope,
            _FORGET,
            _seen(scope, stored),
            cuts,
            b"" if heir is None else _seen(scope, heir),
            b"" if heir is None else self._places(heir.row, scope),
        )
        return bool(done)


async def _about(url: str) -> About | None:
    server = Server(ServerAddress.from_url(url))
    try:
        return await Store(server).about()
    finally:
        await server.close_client()


def _seen(scope: Scope, stored: StoredRow) -> bytes:
    """Return the id of a row and its last change, as scripts take what a caller has seen."""
    return pack_id(stored.row.id - scope.base) + pack_id(stored.change)
