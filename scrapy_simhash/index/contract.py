"""The contract of every index, and the one rule by which they judge a page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

from typing_extensions import Self

Verdict = Literal["unique", "near_duplicate", "exact_duplicate", "refresh", "skipped"]
DUPLICATES: frozenset[Verdict] = frozenset({"near_duplicate", "exact_duplicate"})


@dataclass(frozen=True, slots=True)
class IndexParameters:
    """What an index is built for.

    *scheme* and *scope* are stored with it and must be the same ever after; *distance*
    and *min_tokens* may change from crawl to crawl.
    """

    scheme: str
    scope: str = "global"
    distance: int = 3
    min_tokens: int = 50


@dataclass(frozen=True, slots=True)
class Page:
    """A page as an index sees it.

    *fingerprint* is the 64-bit simhash, *digest* 16 bytes that equal texts share,
    *request_fingerprint* Scrapy's own, *scope* the part of the index to compare with,
    *judged_at* seconds since the epoch.
    """

    url: str
    request_fingerprint: bytes
    scope: str
    fingerprint: int
    digest: bytes
    tokens: int
    judged_at: float


@dataclass(frozen=True, slots=True)
class Row:
    """A page that is stored: *representative* is the id of the kept page, None where it is one."""

    id: int
    url: str
    fingerprint: int
    digest: bytes
    tokens: int
    representative: int | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided of one page, and why.

    *representative* is the URL of the kept page, *distance* the bits between the two
    fingerprints; both None for a page without one.  *reason* is one of the short codes
    listed in docs/decisions.md.
    """

    verdict: Verdict
    reason: str
    representative: str | None = None
    distance: int | None = None

    @property
    def is_duplicate(self) -> bool:
        """Whether the page is a duplicate of a kept one."""
        return self.verdict in DUPLICATES


class Index(ABC):
    """Pages kept so far, and the rule that compares a new one with them.

    :meth:`check_and_add` is atomic among all who share the index.  Only representatives
    are compared with: a page that was found to be a duplicate is remembered with its
    representative, but nothing is ever a duplicate *of* it (a star, never a chain).
    """

    def __init__(self, parameters: IndexParameters) -> None:
        self.parameters = parameters

    def check_and_add(self, page: Page) -> Decision:
        """Judge *page* and remember it; when this returns, both are done for good.

        In this order:

        1. the request of a representative again: ``refresh``, and its text is the new one;
        2. a representative has the same text: ``exact_duplicate``;
        3. the text has at least ``min_tokens`` tokens and a representative with as many is
           within ``distance`` bits: ``near_duplicate`` of the closest, of the oldest of several;
        4. anything else is ``unique`` and becomes a representative.

        :raises IndexUnavailableError: the index did not answer; nothing was remembered.
        """
        with self._transaction():
            own = self._row_of_request(page)
            if own is not None and own.representative is None:
                distance = (own.fingerprint ^ page.fingerprint).bit_count()
                self._write(page, own, representative=None)
                return Decision("refresh", "seen_before", own.url, distance)
            twin = self._oldest_of_same_text(page)
            if twin is not None:
                self._write(page, own, representative=twin.id)
                return Decision("exact_duplicate", "same_text", twin.url, 0)
            if page.tokens >= self.parameters.min_tokens:
                for row, distance in self._near(page):
                    self._write(page, own, representative=row.id)
                    return Decision("near_duplicate", "within_distance", row.url, distance)
            self._write(page, own, representative=None)
            return Decision("unique", "new_text")

    @abstractmethod
    def __str__(self) -> str:
        """Return where the index is, as SIMHASH_INDEX would name it."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many representatives there are."""

    @abstractmethod
    def rows(self) -> Iterable[Row]:
        """Yield every stored page, representatives and duplicates, oldest first."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the index holds; closing twice is no error."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[None]:
        """Keep all others who share the index out; on an error, undo."""

    @abstractmethod
    def _row_of_request(self, page: Page) -> Row | None:
        """Return the row of the same request in the same scope."""

    @abstractmethod
    def _oldest_of_same_text(self, page: Page) -> Row | None:
        """Return the oldest representative in the page's scope with the page's digest."""

    @abstractmethod
    def _near(self, page: Page) -> Iterable[tuple[Row, int]]:
        """Yield representatives of long texts within the distance, closest first, then oldest."""

    @abstractmethod
    def _write(self, page: Page, own: Row | None, representative: int | None) -> None:
        """Store *page* in the place of *own*, or as a new row."""
