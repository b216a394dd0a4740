"""The runs of crawls in a server: when they began and ended, and which are going on."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

from scrapy_simhash.index.base import SILENT_SECONDS, CrawlRecord, Run, is_dead, this_process
from scrapy_simhash.index.redis.server import Script, Server

_BEGIN = Script("running.lua", "begin_crawl.lua")
_BEAT = Script("running.lua", "beat.lua")


class Crawls:
    """The runs of an index, in its keys ``:crawls``, ``:running`` and ``:named``."""

    def __init__(self, server: Server, keys: tuple[str, ...]) -> None:
        self._server = server
        self._keys = keys
        self._delivered: set[int] = set()
        self._said: dict[Run, str] = {}

    @property
    def _key(self) -> str:
        return self._keys[0]

    async def begin(self, spider: str, name: str | None, joins: str) -> Run:
        """Return a run that begins: see :meth:`Index.begin_crawl`."""
        running = await self._server.command("HGETALL", self._keys[1])
        processes = {json.loads(said)["process"] for said in running.values()}
        said = {"spider": spider, "joins": joins, "process": this_process()}
        number, crawl = await self._script(
            _BEGIN,
            json.dumps(said),
            name or "",
            json.dumps({"spider": spider, "started": int(time.time())}),
            *filter(is_dead, processes),
        )
        run = Run(number, crawl)
        self._said[run] = json.dumps({**said, "crawl": crawl})
        return run

    async def beat(self, run: Run) -> None:
        """Note that a run is going on."""
        await self._script(_BEAT, run.id, self._said[run])

    async def end(self, run: Run, delivered: bool) -> None:
        """Note that a run has ended."""
        await self._server.command("HDEL", self._keys[1], run.id)
        if delivered:
            await self._finish(run.id, int(time.time()))

    async def was_delivered(self, run: int | None) -> bool:
        """Whether a run is known to have ended well; a positive answer is remembered."""
        if run is None:
            return False
        if run not in self._delivered:
            if not await self._server.command("HEXISTS", self._key, f"{run}:finished"):
                return False
            self._delivered.add(run)
        return True

    async def all(self) -> list[CrawlRecord]:
        """Return all runs, ordered by number."""
        stored = await self._server.command("HGETALL", self._key)
        found = []
        for name in sorted((name for name in stored if name.isdigit()), key=int):
            begun, finished = json.loads(stored[name]), stored.get(name + b":finished")
            end = None if finished is None else int(finished)
            found.append(CrawlRecord(int(name), begun["spider"], begun["started"], end))
        return found

    async def adopt(self, crawl: CrawlRecord) -> int:
        """Return the number here of a run of another index; it is added if it is not there."""
        for known in await self.all():
            if replace(known, id=crawl.id) == crawl:
                return known.id
        number = int(await self._server.command("HINCRBY", self._key, "last", 1))
        begun = json.dumps({"spider": crawl.spider, "started": crawl.started_at})
        await self._server.command("HSET", self._key, f"{number}", begun)
        if crawl.finished_at is not None:
            await self._finish(number, crawl.finished_at)
        return number

    async def _finish(self, run: int, finished_at: int) -> None:
        await self._server.command("HSET", self._key, f"{run}:finished", finished_at)

    async def _script(self, script: Script, *arguments: Any) -> Any:
        return await self._server.script(script, self._keys, int(SILENT_SECONDS), *arguments)
