"""The index of one process, gone when it ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import count

from scrapy_simhash.index.contract import Page, Parameters, Row
from scrapy_simhash.index.local import LocalIndex
from scrapy_simhash.index.views import ViewTables


class MemoryIndex(LocalIndex):
    """Everything in dictionaries; about half a kilobyte and the URL for each page."""

    def __init__(self, parameters: Parameters) -> None:
        super().__init__(parameters)
        self._rows: dict[int, Row] = {}
        self._ids_by_request: dict[tuple[str, bytes], int] = {}
        self._ids_by_text: dict[tuple[str, bytes], set[int]] = defaultdict(set)
        self._tables = ViewTables(parameters.distance)
        self._groups: dict[int, set[int]] = defaultdict(set)
        self._representatives = 0
        self._ids = count(1)

    def __str__(self) -> str:
        return "memory:"

    def __len__(self) -> int:
        return self._representatives

    def rows(self) -> Iterable[Row]:
        return self._rows.values()

    def begin_crawl(self, spider: str) -> None:
        return None  # the index ends with the crawl

    def end_crawl(self, crawl: int | None) -> None:
        pass

    def close(self) -> None:
        pass

    def _transaction(self) -> AbstractContextManager[None]:
        return nullcontext()

    def _row_of_request(self, scope: str, request_fingerprint: bytes) -> Row | None:
        row_id = self._ids_by_request.get((scope, request_fingerprint))
        return None if row_id is None else self._rows[row_id]

    def _of_same_text(self, page: Page) -> Iterator[Row]:
        ids = self._ids_by_text.get((page.scope, page.digest), ())
        return (self._rows[row_id] for row_id in sorted(ids))

    def _near(self, page: Page) -> Iterator[tuple[Row, int]]:
        seen: set[int] = set()
        for distance, row_id, _, _ in self._tables.near(page.scope, self._views(page)):
            if row_id not in seen:
                seen.add(row_id)
                yield self._rows[row_id], distance

    def _write(
        self, page: Page, own: Row | None, representative: int | None, crawl: int | None
    ) -> None:
        if own is not None:
            self._withdraw(own)
        row = Row(
            id=own.id if own else next(self._ids),
            crawl=crawl,
            scope=page.scope,
            request_fingerprint=page.request_fingerprint,
            url=page.url,
            fingerprint=page.fingerprint,
            digest=page.digest,
            tokens=page.tokens,
            representative=representative,
            judged_at=page.judged_at,
            content_fingerprint=page.content_fingerprint,
            sketch=page.sketch,
        )
        self._rows[row.id] = row
        self._ids_by_request[page.scope, page.request_fingerprint] = row.id
        self._present(row)

    def _row(self, row_id: int) -> Row | None:
        return self._rows.get(row_id)

    def _judged_before(self, time: float) -> list[int]:
        return [row.id for row in self._rows.values() if row.judged_at < time]

    def _was_delivered(self, row: Row) -> bool:
        return False  # the index ends with the crawl

    def _mark_undelivered(self, row: Row) -> None:
        pass

    def _delete(self, row: Row) -> None:
        if row.representative is None:
            self._pass_on(row)
        self._withdraw(row)
        del self._rows[row.id]
        del self._ids_by_request[row.scope, row.request_fingerprint]

    def _delete_group(self, row: Row) -> None:
        for row_id in [*self._groups[row.id], row.id]:
            self._delete(self._rows[row_id])

    def _pass_on(self, row: Row) -> None:
        """Let the oldest of those that point to a representative take its place, if any do."""
        if group := sorted(self._groups[row.id]):
            for row_id in group:
                self._withdraw(self._rows[row_id])
                representative = None if row_id == group[0] else group[0]
                self._rows[row_id] = replace(self._rows[row_id], representative=representative)
                self._present(self._rows[row_id])

    def _present(self, row: Row) -> None:
        """Let others be compared with a representative, and a duplicate be found by its own."""
        if row.representative is not None:
            self._groups[row.representative].add(row.id)
            return
        self._representatives += 1
        scope = row.scope
        self._ids_by_text[scope, row.digest].add(row.id)
        for view, fingerprint in self._views(row):
            self._tables.add(scope, view, fingerprint, row.id)

    def _withdraw(self, row: Row) -> None:
        """Undo :meth:`_present`."""
        if row.representative is not None:
            self._groups[row.representative].discard(row.id)
            return
        self._representatives -= 1
        scope = row.scope
        ids = self._ids_by_text[scope, row.digest]
        ids.remove(row.id)
        if not ids:
            del self._ids_by_text[scope, row.digest]
        for view, fingerprint in self._views(row):
            self._tables.remove(scope, view, fingerprint, row.id)
