"""How an index forgets: one page, many, old ones, and one that the spider could not use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy_simhash.index.contract import Decision, Row

# So many rows are forgotten at once: others who share the index wait for about 20 ms.
FORGET_AT_ONCE = 500


class Forgetful(ABC):
    """What forgets rows, whatever keeps them; the star stays a star."""

    def withdraw(self, scope: str, request_fingerprint: bytes, decision: Decision) -> None:
        """Take back what *decision* on a page said, since the spider could not use the page.

        A page that was new is forgotten with all that points to it, so that the next copy of it
        is kept; one that was met again stays, but does not count as passed on.

        :raises IndexUnavailableError: the index did not answer; everything is as it was.
        """
        if decision.verdict not in ("unique", "refresh"):
            return
        with self._transaction():
            row = self._row_of_request(scope, request_fingerprint)
            if row is None or row.representative is not None:
                return
            if decision.verdict == "unique":
                self._delete_group(row)
            else:
                self._mark_undelivered(row)

    def expire(self, before: float) -> int:
        """Forget the pages that were judged last before a time, and return how many.

        :raises IndexUnavailableError: the index did not answer; some may be forgotten.
        """
        return self.forget(self._judged_before(before))

    def forget(self, ids: Iterable[int]) -> int:
        """Forget rows, and return how many there were.

        Where a representative goes, the oldest that stays of those that point to it takes its
        place, and the others point to that one.

        :raises IndexUnavailableError: the index did not answer; some may be forgotten.
        """
        wanted = sorted(set(ids))
        # First those that others cannot point to: so no place is taken only to be left again.
        duplicates = self._forget(wanted, duplicates_only=True)
        return duplicates + self._forget(wanted, duplicates_only=False)

    def _forget(self, wanted: list[int], duplicates_only: bool) -> int:
        forgotten = 0
        for start in range(0, len(wanted), FORGET_AT_ONCE):
            with self._transaction():
                for row in filter(None, map(self._row, wanted[start : start + FORGET_AT_ONCE])):
                    if row.representative is None and duplicates_only:
                        continue
                    self._delete(row)
                    forgotten += 1
        return forgotten

    @abstractmethod
    def _row_of_request(self, scope: str, request_fingerprint: bytes) -> Row | None:
        """Return the row of a request in a scope."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[None]:
        """Keep all others who share the index out; on an error, undo."""

    @abstractmethod
    def _row(self, row_id: int) -> Row | None:
        """Return the row with an id."""

    @abstractmethod
    def _judged_before(self, time: float) -> Iterable[int]:
        """Return the ids of the rows that were judged last before *time*."""

    @abstractmethod
    def _mark_undelivered(self, row: Row) -> None:
        """Make :meth:`_was_delivered` say no."""

    @abstractmethod
    def _delete(self, row: Row) -> None:
        """Remove a row; the oldest of those that point to it, if any do, takes its place."""

    @abstractmethod
    def _delete_group(self, row: Row) -> None:
        """Remove a representative and all that point to it."""
