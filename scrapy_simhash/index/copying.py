"""Moving pages from one lasting index to another as they are, with nothing judged anew."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scrapy_simhash.errors import IndexMismatchError
from scrapy_simhash.index.contract import Index, Page, Row


@dataclass(frozen=True)
class CrawlRecord:
    """A crawl that began: its number, when it began, and when it ended, None if it did not."""

    id: int
    spider: str
    started_at: int
    finished_at: int | None


class LastingIndex(Index):
    """An index that outlives its process."""

    @abstractmethod
    def count(self) -> int:
        """Return how many pages there are, representatives and duplicates."""

    @abstractmethod
    def crawls(self) -> list[CrawlRecord]:
        """Return the crawls that judged its pages, by number."""

    @abstractmethod
    def learned(self) -> Iterable[tuple[str, bytes]]:
        """Yield each site of which something was learned, and its state."""

    @abstractmethod
    def brief_rows(self) -> Iterator[Row]:
        """Yield every stored page as :meth:`rows` does, but without its sketch."""

    def row(self, row_id: int) -> Row | None:
        """Return the row with an id."""
        return self._row(row_id)

    @abstractmethod
    def adopt(self, page: Page, representative: int | None) -> int:
        """Store a page as it was judged elsewhere, and return its id.

        Where its request is there already, that stays as it is.

        :raises IndexUnavailableError: the index did not answer.
        """

    @abstractmethod
    def adopt_crawl(self, crawl: CrawlRecord) -> int:
        """Return the number of a crawl as of this index, which takes it over if need be."""

    @abstractmethod
    def adopt_learned(self, site: str, state: bytes) -> None:
        """Store what was learned of a site, beside what is known here."""


def copy(source: LastingIndex, target: LastingIndex) -> Iterator[Row]:
    """Copy what is in *source*, and yield each of its rows when it is in *target*.

    A copy that was broken off goes on when it is made again: what is there stays.  Kept pages come
    first, so that each duplicate finds its own.  Cost: a number for each page, in memory.

    :raises IndexMismatchError: the two are not of one kind.
    """
    for name in ("scheme", "scope"):
        one, other = getattr(source.parameters, name), getattr(target.parameters, name)
        if one != other:
            raise IndexMismatchError(
                f"{target} has {name} {other!r}, and {source} {one!r}: name another target."
            )
    crawls: dict[int | None, int | None] = {
        crawl.id: target.adopt_crawl(crawl) for crawl in source.crawls()
    }
    for site, state in source.learned():
        target.adopt_learned(site, state)
    ids: dict[int | None, int | None] = {None: None}
    for are_kept in (True, False):
        for row in source.rows():
            if (row.representative is None) == are_kept:
                page = _page(row, crawls.get(row.crawl))
                ids[row.id] = target.adopt(page, ids[row.representative])
                yield row


def _page(row: Row, crawl: int | None) -> Page:
    return Page(
        url=row.url,
        request_fingerprint=row.request_fingerprint,
        scope=row.scope,
        fingerprint=row.fingerprint,
        digest=row.digest,
        tokens=row.tokens,
        judged_at=row.judged_at,
        crawl=crawl,
        content_fingerprint=row.content_fingerprint,
        sketch=row.sketch,
    )
