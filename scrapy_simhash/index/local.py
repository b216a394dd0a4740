"""What indexes on one machine have in common: they look up while they judge."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from scrapy_simhash.index.contract import Decision, Found, Index, Page, Row


class LocalIndex(Index):
    """An index that keeps all others out while it judges a page."""

    def check_and_add(self, page: Page) -> Decision:
        with self._transaction():
            found = self._look_up(page)
            decision, kept = self._judge(page, found)
            crawl = self._crawl_of(page, found, decision)
            self._write(page, found.own, None if kept is None else kept.id, crawl)
        self._learn(page, decision)
        return decision

    def check(self, page: Page) -> Decision:
        with self._transaction():
            return self._judge(page, self._look_up(page))[0]

    def _look_up(self, page: Page) -> Found:
        """Return what a page is judged by; candidates are looked for only as they are asked for."""
        own = self._row_of_request(page.scope, page.request_fingerprint)
        return Found(
            own=own,
            delivered=own is not None and self._was_delivered(own),
            same_text=self._of_same_text(page),
            near=self._near(page),
        )

    @abstractmethod
    def _of_same_text(self, page: Page) -> Iterable[Row]:
        """Yield the representatives with the page's digest: see :class:`Found`."""

    @abstractmethod
    def _near(self, page: Page) -> Iterable[tuple[Row, int]]:
        """Yield the representatives within the distance: see :class:`Found`."""

    @abstractmethod
    def _write(
        self, page: Page, own: Row | None, representative: int | None, crawl: int | None
    ) -> None:
        """Store *page*, as judged in *crawl*, in the place of *own*, or as a new row."""

    @abstractmethod
    def _was_delivered(self, row: Row) -> bool:
        """Whether the crawl that judged a row is known to have passed it on to its spider."""
