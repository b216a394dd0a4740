"""Taking back what an index in Redis has stored of a row."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.redis.buckets import Buckets
from scrapy_simhash.index.redis.keys import Scope
from scrapy_simhash.index.redis.rows import StoredRow, pack_id
from scrapy_simhash.index.redis.server import Script
from scrapy_simhash.index.redis.store import Store

# A step fails if another process has changed its rows meanwhile.  If it fails so often, the index
# contradicts itself.
TRIES = 100

_FORGET = Script("buckets.lua", "groups.lua", "forget.lua")
_UNDELIVER = Script("buckets.lua", "undeliver.lua")


class Forgetting:
    """Forgets rows by their ids.

    :raises IndexUnavailableError: (any method) the server did not answer, or not as it must.
    """

    def __init__(self, store: Store, buckets: Buckets) -> None:
        self._store = store
        self._buckets = buckets

    async def forget(self, row_id: int) -> None:
        """Forget a row; the oldest of those that point to it takes its place."""
        await self._until_done(row_id, self._with_heir)

    async def forget_group(self, row_id: int) -> None:
        """Forget a row and all that point to it."""
        await self._until_done(row_id, self._with_group)

    async def undeliver(self, row_id: int) -> None:
        """Make the crawls that judged and met a row unknown."""
        await self._until_done(row_id, self._undeliver)

    async def _until_done(
        self, row_id: int, step: Callable[[Scope, StoredRow], Coroutine[Any, Any, bool]]
    ) -> None:
        """Repeat a step with the present state of a row, until it succeeds or the row is gone."""
        for _ in range(TRIES):
            found = await self._store.row(row_id)
            if found is None or await step(*found):
                return
        raise IndexUnavailableError(
            f"row {row_id} cannot be changed: it is not what it was read as"
        )

    async def _undeliver(self, scope: Scope, stored: StoredRow) -> bool:
        return bool(await self._store.script(scope, _UNDELIVER, _seen(scope, stored)))

    async def _with_group(self, scope: Scope, stored: StoredRow) -> bool:
        members: list[int] = []
        # The oldest come first.  If they are still there, their rows are lost.
        while (oldest := await self._oldest(scope, stored)) != members:
            members = oldest
            for number in members:
                await self._until_done(scope.base + number, self._alone)
        return await self._alone(scope, stored)

    async def _with_heir(self, scope: Scope, stored: StoredRow) -> bool:
        members = await self._oldest(scope, stored)
        heirs = await self._store.stored(scope, members[:1])
        return await self._alone(scope, stored, *heirs)

    async def _oldest(self, scope: Scope, stored: StoredRow) -> list[int]:
        return await self._store.oldest_of_group(scope, stored.row.id - scope.base)

    async def _alone(self, scope: Scope, stored: StoredRow, heir: StoredRow | None = None) -> bool:
        """Forget a row; *heir* takes its place, if there is one."""
        row, puts, seen = stored.row, b"", b""
        place = pack_id(row.id - scope.base)
        cuts = self._buckets.request_place(row.page.request_fingerprint, place)
        if row.is_kept:
            cuts += self._buckets.places(row.page, place)
        if heir is not None:
            seen, request = _seen(scope, heir), heir.row.page.request_fingerprint
            cuts += self._buckets.request_place(request, pack_id(heir.row.id - scope.base))
            puts = self._buckets.request_place(request, place)
            puts += self._buckets.places(heir.row.page, place)
        answer = await self._store.script(scope, _FORGET, _seen(scope, stored), cuts, seen, puts)
        return bool(answer)


def _seen(scope: Scope, stored: StoredRow) -> bytes:
    """Return the id of a row and its last change, which tell a script what the caller has seen."""
    return pack_id(stored.row.id - scope.base) + pack_id(stored.change)
