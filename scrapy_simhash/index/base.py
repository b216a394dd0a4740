"""What an index does for a crawl, and for commands: :class:`Index`.

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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil

from scrapy_simhash.decision.judge import Judged, Parameters, judge
from scrapy_simhash.decision.page import Decision, Found, Page, Row, crawls_in
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.site_knowledge import Learned

if TYPE_CHECKING:
    from typing_extensions import Self


# The interval at which a run notes that it is running; after how long a silence it has ended.
BEAT_SECONDS = 5.0
SILENT_SECONDS = 20.0


class Counts(NamedTuple):
    """How many pages an index has, and how many of them are representatives."""

    pages: int
    kept: int


class Run(NamedTuple):
    """One process's part in a crawl: its number, and that of the crawl."""

    id: int
    crawl: int


@dataclass(frozen=True)
class CrawlRecord:
    """A run of a crawl: its number, when it began, and when it ended well, None if it did not."""

    id: int
    spider: str
    started_at: int
    finished_at: int | None


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

    @abstractmethod
    async def delivered(self, scope: str, request_fingerprint: bytes, run: Run) -> Page | None:
        """Return the kept page of a request that the spider of a *run* got before, if any.

        It got the pages of earlier runs that ended well.
        """

    async def stands_for(self, scope: str, request_fingerprint: bytes, crawl: int) -> bool:
        """Whether a kept page stands for the copy of a request, as when a crawl has judged that.

        It may have been taken back meanwhile, or may say something else.
        """
        own = await self._row_of_request(scope, request_fingerprint)
        if own is None or own.representative is None:
            return False
        kept = await self.row(own.representative)
        if kept is None or crawl not in crawls_in(kept.page.met_by):
            return False
        is_near = own.page.distance_to(kept.page) <= self.parameters.distance
        return is_near or kept.page.judged_at < own.page.judged_at

    @abstractmethod
    async def _row_of_request(self, scope: str, request_fingerprint: bytes) -> Row | None:
        """Return the row of a request, None if its page is not stored."""

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
        one is running.  Otherwise, and if there is nothing that it joins, it is a crawl of its own.
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

    @abstractmethod
    async def close(self) -> None:
        """Give back what the index holds; closing twice is no error."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def absent(place: object) -> IndexUnavailableError:
    """Return the error that there is no index at a place, which shows no password."""
    return IndexUnavailableError(f"{place} is not there: no crawl has made an index yet")


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
