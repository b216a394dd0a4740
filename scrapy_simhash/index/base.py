"""What an index does for a crawl (:class:`Index`), and for commands (:class:`LastingIndex`).

:class:`LocalIndex` is the part that all indexes on this machine share.

A backend looks up and stores; what is a duplicate is decided by
:mod:`scrapy_simhash.decision.judge`.  The contract is asynchronous: an index on this machine
answers without waiting, one on another machine lets the crawl go on meanwhile.  Commands run the
same coroutines to their end.

Each run of a crawl notes in the index every few seconds that it is running, so that a run that was
killed counts as ended.  A run may join those of its spider that share its queue of requests, on any
number of processes and machines.
"""

from __future__ import annotations

import asyncio
import os
import socket
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil

from scrapy_simhash.decision.judge import Judged, Parameters, judge, stored_as
from scrapy_simhash.decision.page import Decision, Found, Page, Row
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.site_knowledge import Learned
from scrapy_simhash.index.variants import Variants

if TYPE_CHECKING:
    from typing_extensions import Self


# The interval at which a run notes that it is running; after how long a silence it has ended.
BEAT_SECONDS = 5.0
SILENT_SECONDS = 20.0

# At most this many rows are forgotten in one transaction: other processes wait about 20 ms for it.
FORGET_AT_ONCE = 500


class Counts(NamedTuple):
    """How many pages an index has, and how many of them are representatives."""

    pages: int
    kept: int


class Run(NamedTuple):
    """One process's part in a crawl: its number, and that of the crawl."""

    id: int
    crawl: int


class Index(ABC):
    """Pages judged so far, of which the kept ones are compared with a new one.

    Only representatives are compared with: a page that was found to be a duplicate is stored with
    its representative, but nothing is ever a duplicate *of* it (a star, never a chain).  An index
    has *parameters*; what is *learned* of sites says by what pages are judged.

    :raises IndexUnavailableError: (any coroutine) the index did not answer.  Everything is as it
        was, unless the method says something else.
    """

    parameters: Parameters
    learned: Learned

    @abstractmethod
    def __str__(self) -> str:
        """Return where the index is, as SIMHASH_INDEX would name it."""

    async def check_and_add(self, page: Page) -> Decision:
        """Judge *page*, store it, and learn from it: :meth:`add` and :meth:`learn`."""
        decision = await self.add(page)
        await self.learn(page, decision)
        return decision

    @abstractmethod
    async def add(self, page: Page) -> Decision:
        """Judge *page* and store it; when this returns, both are done for good.

        Atomic among all who share the index.  A ``unique`` page, or a ``variant``, becomes a
        representative; a ``refresh`` stays one, with its new text; one that has moved takes the
        place of what it was, which becomes a duplicate of it.
        """

    def _judge(self, page: Page, found: Found) -> Judged:
        return judge(page, found, self.parameters, self.learned.of(page))

    @abstractmethod
    async def keep(self, page: Page) -> None:
        """Store *page* as a representative, whatever it is like: its decision was overruled.

        A representative stays as it is.
        """

    @abstractmethod
    async def check(self, page: Page) -> Decision:
        """Return what :meth:`add` would, and store nothing."""

    async def delivered(self, scope: str, request_fingerprint: bytes, run: Run) -> Page | None:
        """Return the kept page of a request that the spider of a *run* got before, if any.

        It got the pages of earlier runs that ended well.
        """
        return None  # an index that ends with its process has none

    async def learn(self, page: Page, decision: Decision) -> None:
        """Learn from an added page what its site repeats; other pages may be judged meanwhile.

        If that is settled now, the representatives of before that are there with the same text are
        stored with another second view.  If the index does not answer, they stay as they are: exact
        copies are found all the same.
        """
        await self.learned.learn(page, decision)
        with suppress(IndexUnavailableError):
            for early in self.learned.take_settled(page):
                now = await self.check(early)
                if now.reason in ("seen_before", "unchanged") and now.distance == 0:
                    await self.add(early)
                await asyncio.sleep(0)  # each takes milliseconds

    async def renew(self, page: Page) -> bool:
        """Store a kept page as it was analysed anew; return whether it is still kept."""
        self.learned.forget(page.scope, page.request_fingerprint)
        is_kept = (await self.check(page)).reason in ("seen_before", "unchanged")
        if is_kept:
            await self.add(page)
            self.learned.remember(page)
        return is_kept

    async def withdraw(self, scope: str, request_fingerprint: bytes, decision: Decision) -> None:
        """Take back the *decision* on a page that the spider could not use.

        A page that was new is forgotten with all that points to it, so that the next copy of it
        is kept; one that was met again stays, but does not count as passed on.
        """
        if decision.stands_for_others:
            self.learned.forget(scope, request_fingerprint)
            await self._take_back(scope, request_fingerprint, was_new=decision.is_kept)

    @abstractmethod
    async def _take_back(self, scope: str, request_fingerprint: bytes, was_new: bool) -> None:
        """Take back a page, if it is a representative: see :meth:`withdraw`."""

    @abstractmethod
    async def forget(self, ids: Iterable[int]) -> int:
        """Forget rows, and return how many there were; on an error, some may be forgotten.

        The place of a representative is taken by the oldest of those that point to it and stay;
        the others point to that one.
        """

    @abstractmethod
    async def begin_crawl(self, spider: str, name: str | None = None, joins: str = "") -> Run:
        """Return the run of *spider* that begins, and the crawl that it is part of.

        It is part of the crawl of that *name*, if there was one.  Otherwise, it is part of the
        crawl of another run of the spider that *joins* the same, such as a queue of requests, if
        one is running (:func:`crawl_to_join`).  Otherwise, and if there is nothing
        that it joins, it is a crawl of its own.
        """

    @abstractmethod
    async def beat(self, run: Run) -> None:
        """Note that a run is running; to be called every :data:`BEAT_SECONDS`."""

    @abstractmethod
    async def end_crawl(self, run: Run, delivered: bool = True) -> None:
        """Note that a run has ended; *delivered*: all its pages were passed on, or dropped."""

    @abstractmethod
    async def counts(self) -> Counts:
        """Return how many pages there are."""

    @abstractmethod
    def rows(self) -> AsyncIterator[Row]:
        """Yield every stored page, representatives and duplicates, oldest first in its scope."""

    @abstractmethod
    async def close(self) -> None:
        """Give back what the index holds; closing twice is no error."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


@dataclass(frozen=True)
class CrawlRecord:
    """A run of a crawl: its number, when it began, and when it ended well, None if it did not."""

    id: int
    spider: str
    started_at: int
    finished_at: int | None


def absent(place: object) -> IndexUnavailableError:
    """Return the error that there is no index at a place, which shows no password."""
    return IndexUnavailableError(f"{place} is not there: no crawl has made an index yet")


class LastingIndex(Index):
    """An index that outlives its process: it can be looked into, and copied."""

    @abstractmethod
    async def row(self, row_id: int) -> Row | None:
        """Return the row with an id."""

    @abstractmethod
    async def crawls(self) -> list[CrawlRecord]:
        """Return the crawls that judged its pages, by number."""

    @abstractmethod
    def templates(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield each site of which something was learned, and its state."""

    @abstractmethod
    async def adopt(self, page: Page, representative: int | None) -> int:
        """Store a page as it was judged elsewhere, and return its id.

        A page whose request is there already stays as it is.
        """

    @abstractmethod
    async def add_crawl(self, crawl: CrawlRecord) -> int:
        """Add a crawl of another index, and return its number here."""


class LocalIndex(Index):
    """An index on this machine: a page is judged and stored in one transaction.

    A backend says what a transaction is, and finds, writes and removes rows in it.
    """

    def __init__(self) -> None:
        self._variants = Variants()

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[None]:
        """Keep all others from the rows; undo what was done if an error is raised.

        :raises IndexUnavailableError: the rows cannot be read or written.
        """

    @abstractmethod
    def _row(self, row_id: int) -> Row | None:
        """Return the row with an id."""

    @abstractmethod
    def _row_of_request(self, scope: str, request_fingerprint: bytes) -> Row | None:
        """Return the row of a request in a scope."""

    @abstractmethod
    def _duplicates_of(self, row_id: int) -> Iterable[Row]:
        """Return the rows that point to a row, oldest first."""

    @abstractmethod
    def _look_up(self, page: Page) -> Found:
        """Return what a page is judged by; candidates are looked up only on demand."""

    @abstractmethod
    def _write(self, page: Page, own: Row | None, representative: int | None) -> int:
        """Store *page* in the place of *own*, or as a new row; return the id of the row."""

    @abstractmethod
    def _remove(self, row: Row) -> None:
        """Remove a row that no other points to."""

    async def add(self, page: Page) -> Decision:
        with self._transaction():
            return self._add(page)

    def _add(self, page: Page) -> Decision:
        """Judge and store a page, in a transaction."""
        found = self._found(page)
        judged = self._judge(page, found)
        own, place, kept = found.own, judged.place(found.own), judged.representative
        if own is not None and place is not own:
            self._delete(own)
        row_id = self._write(stored_as(page, judged, own), place, None if kept is None else kept.id)
        if judged.decision.verdict == "variant":
            self._variants.add(page.holds.own, row_id)
        if (left := judged.left) is not None:
            self._write(left.page, None, left.id)
        return judged.decision

    async def keep(self, page: Page) -> None:
        with self._transaction():
            own = self._row_of_request(page.scope, page.request_fingerprint)
            if own is None or not own.is_kept:
                self._write(page, own, None)

    async def check(self, page: Page) -> Decision:
        with self._transaction():
            return self._judge(page, self._found(page)).decision

    def _found(self, page: Page) -> Found:
        """Return what a page is judged by, with variants of its text that share its rare values."""
        found = self._look_up(page)
        ids = self._variants.like(page.holds.own) if page.own_values is not None else []
        if not ids:
            return found
        rows = map(self._row, ids)
        alike = (one for one in rows if one is not None and one.is_kept)
        return replace(found, alike=(one for one in alike if one.page.scope == page.scope))

    async def _take_back(self, scope: str, request_fingerprint: bytes, was_new: bool) -> None:
        with self._transaction():
            row = self._row_of_request(scope, request_fingerprint)
            if row is None or not row.is_kept:
                return
            if was_new:
                for one in [*self._duplicates_of(row.id), row]:
                    self._remove(one)
            else:
                self._write(replace(row.page, crawl=None, met_by=None), row, None)

    async def forget(self, ids: Iterable[int]) -> int:
        wanted = sorted(set(ids))
        forgotten = 0
        # Duplicates first: no duplicate becomes a representative only to be forgotten next.
        for keep_kept in (True, False):
            for start in range(0, len(wanted), FORGET_AT_ONCE):
                with self._transaction():
                    for row in map(self._row, wanted[start : start + FORGET_AT_ONCE]):
                        if row is not None and not (keep_kept and row.is_kept):
                            self._delete(row)
                            forgotten += 1
        return forgotten

    def _delete(self, row: Row) -> None:
        """Remove a row; the oldest of those that point to it, if there are any, takes its place.

        No crawl has passed that one on, so another copy may pass.
        """
        heir = next(iter(self._duplicates_of(row.id)), None) if row.is_kept else None
        self._remove(row if heir is None else heir)
        if heir is not None:
            self._write(replace(heir.page, crawl=None, met_by=None), row, None)


class RunningRun(NamedTuple):
    """A run that has not noted its end: its crawl, its process, and the time of its last note."""

    crawl: int
    process: str
    beat_at: float


def this_process() -> str:
    """Return the name of this process: :func:`_place`, and its number there."""
    return f"{_place()} {os.getpid()}"


def _place() -> str:
    """Return the machine, and the part of it in which processes see each other's numbers."""
    namespace = ""
    with suppress(OSError):  # Linux has it: containers may have the name of their machine
        namespace = str(Path("/proc/self/ns/pid").readlink())
    return f"{socket.gethostname()} {namespace}"


def is_dead(process: str) -> bool:
    """Whether a process is known to have ended; never of a process of another machine."""
    place, _, number = process.rpartition(" ")
    return place == _place() and number.isdigit() and not psutil.pid_exists(int(number))


def crawl_to_join(runs: Iterable[RunningRun], now: float) -> int | None:
    """Return the oldest crawl that has a running run, None if there is none."""
    return min(
        (
            run.crawl
            for run in runs
            if abs(now - run.beat_at) < SILENT_SECONDS and not is_dead(run.process)
        ),
        default=None,
    )
