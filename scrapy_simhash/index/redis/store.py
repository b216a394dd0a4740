"""The data of an index besides its tables: its parameters, scopes and templates."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from scrapy_simhash.errors import IndexFormatError, IndexMismatchError, IndexUnavailableError
from scrapy_simhash.index.redis.crawls import Crawls
from scrapy_simhash.index.redis.keys import Keys, Scope, base_of
from scrapy_simhash.index.redis.near_keys import NearKeys
from scrapy_simhash.index.redis.near_tables import plan
from scrapy_simhash.index.redis.rows import (
    StoredRow,
    number_of,
    numbers_of,
    pack_id,
    unpack,
)
from scrapy_simhash.index.redis.server import Script, Server
from scrapy_simhash.rule.rule import Parameters

logger = logging.getLogger(__name__)

# This many ids are scanned at once: the server does nothing else for about 1 ms.
SCANNED_AT_ONCE = 1_000

_SCAN = Script("scan.lua")

# Parameters that a crawl cannot change once pages are stored.  It can ask for a smaller distance.
_MUST_BE_SAME = ("scheme", "scope", "min_tokens", "is_verified")

_KEEP = "It was left as it is; name another index (?prefix= at the end of the URL)"


@dataclass(frozen=True)
class About:
    """The parameters of an index in Redis; its *tables*, or its keys, are planned for *pages*."""

    scheme: str
    scope: str
    distance: int
    min_tokens: int
    is_verified: bool
    pages: int
    tables: str


def spans(numbers: range) -> Iterator[range]:
    """Yield the numbers in ranges that are scanned at once."""
    for first in numbers[::SCANNED_AT_ONCE]:
        yield range(first, min(first + SCANNED_AT_ONCE, numbers.stop))


class Store:
    """The keys of an index in a server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.losses = 0
        self._about = ""
        self._keys = Keys(server.address.prefix, "")
        self._scopes: dict[str, Scope] = {}
        names = ("crawls", "running", "named")
        self.crawls = Crawls(server, tuple(map(self._keys.of_index, names)))

    async def about(self) -> About | None:
        """Return the parameters of the index, None if there is none.

        :raises IndexFormatError: it is damaged.
        """
        stored = await self.server.command("GET", self._keys.of_index("about"))
        if stored is None:
            return None
        try:
            return About(**json.loads(stored))
        except (ValueError, TypeError) as exc:
            raise IndexFormatError(f"{self.server.address} is no index: {exc}") from exc

    async def open(self, parameters: Parameters, pages: int) -> About:
        """Return the parameters of the index; if there is none, create it with these.

        :raises IndexUnavailableError: the server evicts keys.
        :raises IndexMismatchError: the index was built with other parameters.
        """
        await self._refuse_eviction()
        wanted = About(
            scheme=parameters.scheme,
            scope=parameters.scope,
            distance=parameters.distance,
            min_tokens=parameters.min_tokens,
            is_verified=parameters.share is not None,
            pages=pages,
            tables=NearKeys.name if parameters.share else plan(parameters.distance, pages).name,
        )
        key = self._keys.of_index("about")
        await self.server.command("SET", key, json.dumps(asdict(wanted)), "NX")
        about = await self.about()
        if about is None:
            raise IndexUnavailableError(f"{self.server.address} did not keep what was written")
        self._refuse_mismatch(about, wanted)
        self._keys = Keys(self._keys.prefix, about.scheme)
        self._about = json.dumps(asdict(about))
        return about

    def _refuse_mismatch(self, about: About, wanted: About) -> None:
        asked = [(name, getattr(about, name), getattr(wanted, name)) for name in _MUST_BE_SAME]
        if about.distance < wanted.distance:
            asked.append(("distance", about.distance, wanted.distance))
        for name, stored, value in asked:
            if stored != value:
                raise IndexMismatchError(
                    f"{self.server.address} was built with {name} {stored!r}; this crawl asks for "
                    f"{value!r}. {_KEEP}, or set what it was built with."
                )

    async def _refuse_eviction(self) -> None:
        for memory in await self.server.information("memory"):
            policy = memory.get("maxmemory_policy", "noeviction")
            if policy != "noeviction":
                raise IndexUnavailableError(
                    f"maxmemory-policy of {self.server.address} must be 'noeviction': got "
                    f"{policy!r}. A server that evicts keys would forget parts of the index, "
                    f"and pages would be judged by what is left."
                )

    async def scope(self, name: str) -> Scope:
        """Return the scope of a name; this process notes it in the index when it first occurs."""
        scope = self._scopes.get(name)
        if scope is None:
            scope = self._keys.scope(name)
            await self.server.command("SADD", self._keys.of_index("scopes"), name)
            self._scopes[name] = scope
        return scope

    async def all_scopes(self) -> list[Scope]:
        """Return all scopes noted in the index, by name."""
        names = await self.server.command("SMEMBERS", self._keys.of_index("scopes"))
        return [await self.scope(name) for name in sorted(name.decode() for name in names)]

    async def scope_of(self, row_id: int) -> Scope | None:
        """Return the scope to which the id of a row belongs, None if there is none."""
        scopes = [*self._scopes.values()]
        if all(scope.base != base_of(row_id) for scope in scopes):
            scopes = await self.all_scopes()
        return next((scope for scope in scopes if scope.base == base_of(row_id)), None)

    async def script(self, scope: Scope, script: Script, *arguments: Any) -> Any:
        """Return the answer of a script on the pages of a scope.

        :raises IndexUnavailableError: the server did not answer.
        """
        if scope.connections != self.server.connections:
            await self._look_for_loss(scope)
        return await self.server.script(script, scope.keys, *arguments)

    def taken(self, scope: Scope, row_id: bytes) -> None:
        """Note that the server stored a page: it does not use a smaller number again."""
        scope.last = max(scope.last, number_of(row_id))

    async def look_for_flush(self) -> None:
        """Check that the index is there: somebody may have emptied the server meanwhile."""
        if await self.server.command("GET", self._keys.of_index("about")) is None:
            for scope in self._scopes.values():
                scope.last = 0
            await self._lost()

    async def _look_for_loss(self, scope: Scope) -> None:
        """Check that the last stored page is known: the server may have been restarted."""
        connections = self.server.connections
        if scope.last:
            last = await self.server.command("HGET", scope.keys[1], "n")
            if int(last or 0) < scope.last:
                scope.last = 0
                await self._lost()
        scope.connections = connections

    async def _lost(self) -> None:
        self.losses += 1
        logger.error(
            "%s has lost pages that it had taken: was it restarted without them? Their duplicates "
            'will be kept once more. See "Persistence" in docs/redis.md.',
            self.server.address,
        )
        await self.server.command("SET", self._keys.of_index("about"), self._about, "NX")
        if self._scopes:
            await self.server.command("SADD", self._keys.of_index("scopes"), *self._scopes)

    async def stored(self, scope: Scope, numbers: Iterable[int]) -> list[StoredRow]:
        """Return the rows with these numbers in a scope; missing rows are left out."""
        ids = list(numbers)
        if not ids:
            return []
        pages = await self.server.command("HMGET", scope.keys[0], *map(pack_id, ids))
        return [
            unpack(number, scope, page)
            for number, page in zip(ids, pages, strict=True)
            if page is not None
        ]

    async def row(self, row_id: int) -> tuple[Scope, StoredRow] | None:
        """Return the scope of a row, and its present state; None if the row is not there."""
        scope = await self.scope_of(row_id)
        if scope is None:
            return None
        found = await self.stored(scope, [row_id - scope.base])
        return (scope, found[0]) if found else None

    async def numbers(self, scope: Scope) -> range:
        """Return the numbers that pages of a scope can have."""
        last = await self.server.command("HGET", scope.keys[1], "n")
        return range(1, int(last or 0) + 1)

    async def scan(
        self, scope: Scope, numbers: range, before: float | None = None
    ) -> list[StoredRow]:
        """Return the rows of a span without sketches; with *before*, those judged before it."""
        limit = "" if before is None else repr(before)
        found = await self.script(scope, _SCAN, numbers.start, numbers.stop - 1, limit)
        pairs = zip(found[::2], found[1::2], strict=True)
        return [unpack(number_of(row_id), scope, page) for row_id, page in pairs]

    async def oldest_of_group(self, scope: Scope, number: int) -> list[int]:
        """Return the numbers of the oldest pages that point to a representative: the first part."""
        ids = await self.server.command("HGET", scope.keys[1], b"g" + pack_id(number))
        return numbers_of(ids or b"")

    async def counts(self) -> list[tuple[Scope, int, int]]:
        """Return the number of pages in each scope, and the number of duplicates among them."""
        found = []
        for scope in await self.all_scopes():
            pages = await self.server.command("HLEN", scope.keys[0])
            duplicates = await self.server.command("HGET", scope.keys[1], "d")
            found.append((scope, int(pages), int(duplicates or 0)))
        return found

    async def templates(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield each site with a stored template, and its state."""
        key, cursor = self._keys.of_index("templates"), b"0"
        while True:
            cursor, found = await self.server.command("HSCAN", key, cursor, "COUNT", 20)
            for site, state in found.items():
                yield site.decode(), state
            if int(cursor) == 0:
                return

    async def template(self, site: str) -> bytes | None:
        """Return the stored state of a site."""
        stored: bytes | None = await self.server.command(
            "HGET", self._keys.of_index("templates"), site
        )
        return stored

    async def store_template(self, site: str, state: bytes) -> None:
        """Store the state of a site."""
        await self.server.command("HSET", self._keys.of_index("templates"), site, state)
