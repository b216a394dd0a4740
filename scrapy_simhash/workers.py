"""Where pages are analysed: processes with a time limit for each page, or this process.

trafilatura is not thread-safe and takes 10 to 50 ms a page, so the crawl's own process
never runs it; a page that hangs or kills its worker costs that worker, no more.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from time import monotonic
from traceback import clear_frames
from typing import Any, Protocol, TypeVar

import psutil
from loky.backend import get_context
from pebble import ProcessPool

from scrapy_simhash.analysis.page import Analyser, AnalysisError, PageAnalysis

# Whatever the libraries in a worker keep of the pages that they saw goes with the worker.
PAGES_PER_WORKER = 1000
# A worker holds 85 MB before its first page, and 250 MB after one of 100,000 tags.
WORKER_BYTES = 500 << 20
# A page that nobody stops any more, since the crawl's process was killed, ends its worker.
GRACE_SECONDS = 5.0

# A task that only has the pool start its workers; it takes no time.
START_SECONDS = 10.0
# Longer than the bursts of a crawl that its workers can keep up with.
BACKLOG_SECONDS = 30.0

logger = logging.getLogger(__name__)

Template = frozenset[int]
_T = TypeVar("_T")


class Workers(Protocol):
    """Something that analyses pages."""

    def start(self) -> None:
        """Get ready, without waiting for it."""

    async def analyse(
        self, body: bytes, encoding: str | None, url: str, template: Template = frozenset()
    ) -> PageAnalysis:
        """Return the analysis of one page; *template* as :meth:`Analyser.analyse` wants it.

        :raises AnalysisError: with a reason of :meth:`Analyser.analyse`, ``timed_out``,
            ``worker_died`` or ``workers_busy``.
        """

    def close(self) -> None:
        """Stop; pages under way are given up."""


class InProcess:
    """Analyses pages in this process, one after the other, with no time limit: for tests."""

    def __init__(self, analyser: Analyser) -> None:
        self._analyser = analyser

    def start(self) -> None:
        """Nothing to get ready."""

    async def analyse(
        self, body: bytes, encoding: str | None, url: str, template: Template = frozenset()
    ) -> PageAnalysis:
        return self._analyser.analyse(body, encoding, url, template)

    def close(self) -> None:
        """Nothing to stop."""


class Backlog:
    """Says once in the log that *processes* workers cannot keep up with a crawl."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._since: float | None = None
        self._said = False

    def note(self, waiting: int) -> None:
        """Take note of how many pages wait for a worker when a further one comes."""
        now = monotonic()
        if waiting < self._processes:
            self._since = None
        elif self._since is None:
            self._since = now
        elif now - self._since >= BACKLOG_SECONDS and not self._said:
            self._said = True
            logger.warning(
                "The workers cannot keep up, so the crawl waits for them: for %d s, pages have "
                "waited for each of %d. Set SIMHASH_WORKERS to more where there are processors "
                "to spare, SIMHASH_EXTRACTOR to 'resiliparse', or SIMHASH_MAX_WAITING to let "
                "pages pass unjudged",
                BACKLOG_SECONDS,
                self._processes,
            )


class WorkerProcesses:
    """Analyses pages in *processes* processes, each page within *timeout_seconds*.

    The time limit runs from when a worker takes the page up.  A worker that outlasts it
    is killed, and one that dies is replaced; the pages of the others go on.  A page that would
    be one of more than *max_waiting* that wait for a worker is refused.
    """

    def __init__(
        self,
        analyser: Analyser,
        processes: int,
        timeout_seconds: float,
        max_waiting: int | None = None,
    ) -> None:
        self._analyser = analyser
        self._processes = processes
        self._timeout_seconds = timeout_seconds
        self._max_waiting = max_waiting
        self._backlog = Backlog(processes)
        self._pool: ProcessPool | None = None
        self._pending: set[Future[Any]] = set()
        self._closed = False

    def start(self) -> None:
        self._schedule(_nothing, timeout=START_SECONDS)

    async def analyse(
        self, body: bytes, encoding: str | None, url: str, template: Template = frozenset()
    ) -> PageAnalysis:
        waiting = len(self._pending) - self._processes  # below 0 while a worker is free
        self._backlog.note(waiting)
        if self._max_waiting is not None and waiting >= self._max_waiting:
            raise AnalysisError("workers_busy", f"{waiting} pages wait for a worker")
        page = (body, encoding, url, template)
        try:
            try:
                return await self._run(*page)
            except BrokenProcessPool:
                # Pebble gives up the whole pool when a worker dies that it saw no page of;
                # that worker may have been idle, so the page gets one more try in a new pool.
                return await self._run(*page)
        except AnalysisError:
            raise
        except (asyncio.TimeoutError, TimeoutError) as exc:
            detail = f"not analysed within {self._timeout_seconds} s"
            raise AnalysisError("timed_out", detail) from exc
        except Exception as exc:
            # Besides ProcessExpired and BrokenProcessPool, whatever a pool raises that cannot
            # start, or that is stopped in the middle of a message: OSError, TypeError, ...
            raise AnalysisError("worker_died", f"{type(exc).__name__}: {exc}") from exc

    def close(self) -> None:
        self._closed = True
        self._stop_pool()

    def _stop_pool(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.stop()
            pool.join()
        # Pebble forgets the pages that it had not passed to a worker yet.
        for future in list(self._pending):
            if not future.done():
                future.set_exception(BrokenProcessPool("the workers were stopped"))

    async def _run(self, *page: object) -> PageAnalysis:
        future = self._schedule(_analyse, *page, timeout=self._timeout_seconds)
        return await asyncio.wrap_future(future)

    def _schedule(self, function: Callable[..., _T], *args: object, timeout: float) -> Future[_T]:
        if _analyser is not None:
            raise RuntimeError("a worker may not start workers of its own")
        if self._closed:
            raise BrokenProcessPool("the workers were stopped")
        if self._pool is None or not self._pool.active:
            self._stop_pool()
            self._pool = ProcessPool(
                max_workers=self._processes,
                max_tasks=_PagesUntilFull(PAGES_PER_WORKER),
                initializer=_set_up,
                initargs=(self._analyser, self._timeout_seconds),
                # loky's processes start afresh like multiprocessing's "spawn", but do not
                # import the main script again: a script without a __main__ guard, as
                # Scrapy's documentation shows them, would crawl once more in each worker.
                context=get_context("loky"),
            )
        future: Future[_T] = self._pool.schedule(function, args=args, timeout=timeout)
        self._pending.add(future)
        future.add_done_callback(self._settle)
        return future

    def _settle(self, future: Future[Any]) -> None:
        """Forget a page that is done, and what the error of its pool holds on to.

        The frames of a message that was cut off keep the page's body alive, and a buffer that
        the garbage collector cannot free in the order it meets them (BufferError).
        """
        self._pending.discard(future)
        if not future.cancelled() and (error := future.exception()) is not None:
            clear_frames(error.__traceback__)


class _PagesUntilFull(int):
    """The pages of a worker, or fewer: a worker that has grown too far takes no further one.

    Pebble asks ``pages < max_tasks`` in the worker before each page, and replaces a worker
    that ends so; Python lets the more special of two types answer.
    """

    def __gt__(self, pages: int) -> bool:
        return int(self) > pages and psutil.Process().memory_info().rss < WORKER_BYTES


_analyser: Analyser | None = None
_last_resort_seconds = 0.0


def _set_up(analyser: Analyser, timeout_seconds: float) -> None:
    """Get a new worker process ready: before its first page, whose time is limited."""
    global _analyser, _last_resort_seconds
    _last_resort_seconds = timeout_seconds + GRACE_SECONDS
    # What an extractor logs of a page would go to the crawl's terminal, past its log.
    logging.disable(logging.CRITICAL)
    _analyser = analyser
    analyser.load()


def _nothing() -> None:
    """Give a worker something to do."""


def _analyse(body: bytes, encoding: str | None, url: str, template: Template) -> PageAnalysis:
    assert _analyser is not None  # noqa: S101 - set by the initializer
    # The alarm has no handler: the system kills this process, even within a C library.
    signal.setitimer(signal.ITIMER_REAL, _last_resort_seconds)
    try:
        return _analyser.analyse(body, encoding, url, template)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
