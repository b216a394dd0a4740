"""The index that any number of machines share: its tables are in the server.

A new page takes one round trip: add_page.lua looks it up, and writes it if there is nothing to
compare it with.  Otherwise the page is judged here, by the rule that all indexes share.  A second
round trip writes it, if the rows that it was judged by have not changed; if they have, it is judged
again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from typing import Any, TypeVar

from scrapy_simhash.decision.judge import MAX_COMPARED, Parameters, stored_as
from scrapy_simhash.decision.page import Decision, Found, Page, Row
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.base import Run
from scrapy_simhash.index.redis.address import Scope, ServerAddress
from scrapy_simhash.index.redis.buckets import ID_BYTES, Buckets, Question
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
from scrapy_simhash.index.redis.store import Store

T = TypeVar("T")

# A step fails if another process has changed its rows meanwhile.  If it fails this often, the index
# contradicts itself.
TRIES = 100

_CHANGE = Script("buckets.lua", "change_page.lua")
_NO_ID = bytes(ID_BYTES)


class RedisIndex(Store):
    """An index in the server at a URL, created if there is none, and *parameters* are given.

    A page is on the server before :meth:`add` returns.  Whether it survives a restart of
    the server depends on the server's persistence (docs/redis.md).

    :raises SettingsError: the URL has an unknown form.
    :raises IndexMismatchError: the index was built for something else.
    :raises IndexUnavailableError: the server cannot be reached, or evicts keys.
    """

    def __init__(self, url: str, parameters: Parameters | None) -> None:
        super().__init__(Server(ServerAddress.from_url(url)))
        self._calls = (number & MAX_NUMBER for number in count(random.getrandbits(32)))
        about = _run_apart(self._open(parameters))
        self._buckets = Buckets(about.near, about.pages)
        self._add_page = Script("buckets.lua", "look_up.lua", about.near.script, "add_page.lua")

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
            await self._until_done(row.id, step, request_fingerprint)

    async def forget(self, ids: Iterable[int]) -> int:
        wanted = sorted(set(ids))
        # Duplicates first: no duplicate becomes a representative only to be forgotten next.
        forgotten = 0
        for keep_kept in (True, False):
            for row_id in wanted:
                row = await self.row(row_id)
                if row is not None and not (keep_kept and row.is_kept):
                    await self._until_done(row_id, self._with_heir, row.page.request_fingerprint)
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

    async def _row_of_request(self, name: str, request_fingerprint: bytes) -> Row | None:
        scope = await self._scope(name)
        question = self._buckets.question_of_request(request_fingerprint)
        return _own_row(scope, await self._ask(scope, "check", question))

    async def _until_done(
        self,
        row_id: int,
        step: Callable[[StoredRow], Coroutine[Any, Any, bool]],
        request_fingerprint: bytes | None = None,
    ) -> None:
        """Repeat a step with the present state of a row, until it succeeds or its page is gone.

        Another page may have its place by then, by the step itself, if its answer was lost.
        """
        for _ in range(TRIES):
            found = await self._stored_row(row_id)
            if found is None:
                return
            request = found.row.page.request_fingerprint
            if request != (request_fingerprint := request_fingerprint or request):
                return
            if await step(found):
                return
        raise IndexUnavailableError(
            f"row {row_id} cannot be changed: it is not what it was read as"
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
            for number in members:
                await self._until_done(stored.scope.base + number, self._alone)
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


def _own_row(scope: Scope, answer: list[Any]) -> Row | None:
    """Return the row of the request in an answer of add_page.lua."""
    own_id, own_page = answer[2:4]
    return unpack(number_of(own_id), scope, own_page).row if own_id else None


def _run_apart(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine, run in a new thread: this one may have a running loop."""
    with ThreadPoolExecutor(1, "simhash-redis") as thread:
        return thread.submit(asyncio.run, coroutine).result()
