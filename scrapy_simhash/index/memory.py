"""The index of one process, gone when it ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext

from scrapy_simhash.index.contract import Index, IndexParameters, Page, Row
from scrapy_simhash.index.views import ViewTables


class MemoryIndex(Index):
    """Everything in dictionaries; about half a kilobyte and the URL for each page."""

    def __init__(self, parameters: IndexParameters) -> None:
        super().__init__(parameters)
        self._rows: dict[int, Row] = {}
        self._ids_by_request: dict[tuple[str, bytes], int] = {}
        self._ids_by_text: dict[tuple[str, bytes], set[int]] = defaultdict(set)
        self._tables = ViewTables(parameters.distance)
        self._representatives = 0

    def __str__(self) -> str:
        return "memory:"

    def __len__(self) -> int:
        return self._representatives

    def rows(self) -> Iterable[Row]:
        return self._rows.values()

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

    def _write(self, page: Page, own: Row | None, representative: int | None) -> None:
        if own is not None and own.representative is None:
            self._withdraw(own, page.scope)
        row = Row(
            id=own.id if own else len(self._rows) + 1,
            crawl=None,
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
        if representative is None:
            self._present(row, page.scope)

    def _present(self, row: Row, scope: str) -> None:
        """Let others be compared with a representative."""
        self._representatives += 1
        self._ids_by_text[scope, row.digest].add(row.id)
        for view, fingerprint in self._views(row):
            self._tables.add(scope, view, fingerprint, row.id)

    def _withdraw(self, row: Row, scope: str) -> None:
        """Undo :meth:`_present`."""
        self._representatives -= 1
        ids = self._ids_by_text[scope, row.digest]
        ids.remove(row.id)
        if not ids:
            del self._ids_by_text[scope, row.digest]
        for view, fingerprint in self._views(row):
            self._tables.remove(scope, view, fingerprint, row.id)
