"""The index of one process, gone when it ends."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import count

from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.decision.page import Found, Page, Row
from scrapy_simhash.index.base import Counts, LocalIndex, Run
from scrapy_simhash.index.site_knowledge import Learned
from scrapy_simhash.index.views import ViewTables


class MemoryIndex(LocalIndex):
    """Everything in dictionaries; about half a kilobyte and the URL for each page."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__()
        self.parameters = parameters
        self.learned = Learned(parameters.share)
        self._rows: dict[int, Row] = {}
        self._ids_by_request: dict[tuple[str, bytes], int] = {}
        # In order: the oldest first.
        self._ids_by_text: dict[tuple[str, bytes], list[int]] = defaultdict(list)
        self._tables = ViewTables(parameters.distance)
        self._groups: dict[int, set[int]] = defaultdict(set)
        self._ids = count(1)
        self._runs = count(1)
        self._named: dict[str, int] = {}
        # The running runs of each spider that join others.
        self._running: dict[tuple[str, str], set[Run]] = defaultdict(set)

    def __str__(self) -> str:
        return "memory:"

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
        pass  # a run of this process notes its end

    async def end_crawl(self, run: Run, delivered: bool = True) -> None:
        for running in self._running.values():
            running.discard(run)

    async def counts(self) -> Counts:
        duplicates = sum(map(len, self._groups.values()))
        return Counts(len(self._rows), len(self._rows) - duplicates)

    async def rows(self) -> AsyncIterator[Row]:
        for _, row in sorted(self._rows.items()):
            yield row

    async def close(self) -> None:
        pass

    def _transaction(self) -> AbstractContextManager[None]:
        return nullcontext()

    def _look_up(self, page: Page) -> Found:
        same_text = self._ids_by_text.get((page.scope, page.digest), ())
        return Found(
            own=self._row_of_request(page.scope, page.request_fingerprint),
            same_text=(self._rows[row_id] for row_id in same_text),
            near=self._near(page),
        )

    def _row_of_request(self, scope: str, request_fingerprint: bytes) -> Row | None:
        row_id = self._ids_by_request.get((scope, request_fingerprint))
        return None if row_id is None else self._rows[row_id]

    def _row(self, row_id: int) -> Row | None:
        return self._rows.get(row_id)

    def _duplicates_of(self, row_id: int) -> list[Row]:
        return [self._rows[number] for number in sorted(self._groups.get(row_id, ()))]

    def _near(self, page: Page) -> Iterator[tuple[Row, int]]:
        seen: set[int] = set()
        for distance, row_id, _, _ in self._tables.near(page.scope, self.parameters.views(page)):
            if row_id not in seen:
                seen.add(row_id)
                yield self._rows[row_id], distance

    def _write(self, page: Page, own: Row | None, representative: int | None) -> int:
        if own is not None:
            self._remove(own)
        row_id = next(self._ids) if own is None else own.id
        self._rows[row_id] = Row(row_id, page.stored(), representative)
        self._ids_by_request[page.scope, page.request_fingerprint] = row_id
        if representative is not None:
            self._groups[representative].add(row_id)
            return row_id
        insort(self._ids_by_text[page.scope, page.digest], row_id)
        for view, fingerprint in self.parameters.views(page):
            self._tables.add(page.scope, view, fingerprint, row_id)
        return row_id

    def _remove(self, row: Row) -> None:
        page = row.page
        del self._rows[row.id]
        del self._ids_by_request[page.scope, page.request_fingerprint]
        if row.representative is not None:
            group = self._groups[row.representative]
            group.discard(row.id)
            if not group:
                del self._groups[row.representative]
            return
        ids = self._ids_by_text[page.scope, page.digest]
        del ids[bisect_left(ids, row.id)]
        if not ids:
            del self._ids_by_text[page.scope, page.digest]
        for view, fingerprint in self.parameters.views(page):
            self._tables.remove(page.scope, view, fingerprint, row.id)
