"""The index of one process, gone when it ends."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import count

from scrapy_simhash.index.base import Counts, LocalIndex, Run
from scrapy_simhash.index.site_knowledge import Learned
from scrapy_simhash.index.views import ViewTables
from scrapy_simhash.rule.page import Found, Page, Row
from scrapy_simhash.rule.rule import Parameters


class MemoryIndex(LocalIndex):
    """Everything in dictionaries; about half a kilobyte and the URL for each page."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters
        self._learned = Learned(parameters.share)
        self._rows: dict[int, Row] = {}
        self._ids_by_request: dict[tuple[str, bytes], int] = {}
        # In order: the oldest first.
        self._ids_by_text: dict[tuple[str, bytes], list[int]] = defaultdict(list)
        self._tables = ViewTables(parameters.distance)
        self._groups: dict[int, set[int]] = defaultdict(set)
        self._ids = count(1)
        self._runs = count(1)
        self._named: dict[str, int] = {}
        # The runs of each spider that are going on, and join others.
        self._running: dict[tuple[str, str], set[Run]] = defaultdict(set)

    def __str__(self) -> str:
        return "memory:"

    async def expire(self, before: float) -> int:
        return await self.forget(
            [row.id for row in self._rows.values() if row.page.judged_at < before]
        )

    async def begin_crawl(self, spider: str, name: str | None = None, joins: str = "") -> Run:
        number = next(self._runs)
        crawl = None if name is None else self._named.get(name)
        if crawl is None and joins:
            crawl = min((run.crawl for run in self._running[spider, joins]), default=None)
        run = Run(number, number if crawl is None else crawl)
        if name is not None:
            self._named[name] = run.crawl
        if joins:
            self._running[spider, joins].add(run)
        return run

    async def beat(self, run: Run) -> None:
        pass  # a run of this process cannot end without a word

    async def end_crawl(self, run: Run, delivered: bool = True) -> None:
        for running in self._running.values():
            running.discard(run)

    async def counts(self) -> Counts:
        duplicates = sum(map(len, self._groups.values()))
        return Counts(len(self._rows), len(self._rows) - duplicates)

    async def rows(self) -> AsyncIterator[Row]:
        for row in self._rows.values():
            yield row

    async def close(self) -> None:
        pass

    def _transaction(self) -> AbstractContextManager[None]:
        return nullcontext()

    def _look_up(self, page: Page) -> Found:
        return Found(
            own=self._row_of_request(page.scope, page.request_fingerprint),
            same_text=self._of_same_text(page),
            near=self._near(page),
        )

    def _row_of_request(self, scope: str, request_fingerprint: bytes) -> Row | None:
        row_id = self._ids_by_request.get((scope, request_fingerprint))
        return None if row_id is None else self._rows[row_id]

    def _row(self, row_id: int) -> Row | None:
        return self._rows.get(row_id)

    def _duplicates_of(self, row_id: int) -> list[Row]:
        return [self._rows[number] for number in sorted(self._groups.get(row_id, ()))]

    def _of_same_text(self, page: Page) -> Iterator[Row]:
        ids = self._ids_by_text.get((page.scope, page.digest), ())
        return (self._rows[row_id] for row_id in ids)

    def _near(self, page: Page) -> Iterator[tuple[Row, int]]:
        seen: set[int] = set()
        for distance, row_id, _, _ in self._tables.near(page.scope, self.parameters.views(page)):
            if row_id not in seen:
                seen.add(row_id)
                yield self._rows[row_id], distance

    def _write(self, page: Page, own: Row | None, representative: int | None) -> None:
        if own is not None:
            self._leave(own)
            del self._ids_by_request[own.page.scope, own.page.request_fingerprint]
        row = Row(
            id=next(self._ids) if own is None else own.id,
            page=page.stored(),
            representative=representative,
        )
        self._rows[row.id] = row
        self._ids_by_request[page.scope, page.request_fingerprint] = row.id
        self._enter(row)

    def _remove(self, row: Row) -> None:
        self._leave(row)
        del self._rows[row.id]
        del self._ids_by_request[row.page.scope, row.page.request_fingerprint]

    def _enter(self, row: Row) -> None:
        """Let others be compared with a representative, and a duplicate be found by its own."""
        if row.representative is not None:
            self._groups[row.representative].add(row.id)
            return
        insort(self._ids_by_text[row.page.scope, row.page.digest], row.id)
        for view, fingerprint in self.parameters.views(row.page):
            self._tables.add(row.page.scope, view, fingerprint, row.id)

    def _leave(self, row: Row) -> None:
        """Undo :meth:`_enter`."""
        if row.representative is not None:
            group = self._groups[row.representative]
            group.discard(row.id)
            if not group:
                del self._groups[row.representative]
            return
        text = row.page.scope, row.page.digest
        ids = self._ids_by_text[text]
        del ids[bisect_left(ids, row.id)]
        if not ids:
            del self._ids_by_text[text]
        for view, fingerprint in self.parameters.views(row.page):
            self._tables.remove(row.page.scope, view, fingerprint, row.id)
