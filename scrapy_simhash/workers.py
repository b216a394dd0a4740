"""Where pages are analysed: processes with a time limit for each page, or this process.

trafilatura is not thread-safe and takes 10 to 50 ms a page, so the crawl's own process
never runs it; a page that hangs or kills its worker costs that worker, no more.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as OutOfTimeError  # another one in Python 3.10
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from operator import attrgetter
from time import monotonic
from typing import Any, Protocol, TypeVar

import psutil
from loky.backend import get_context
from pebble import ProcessExpired, ProcessPool

from scrapy_simhash.analysis.page import Analyser, AnalysisError, PageAnalysis

# Whatever the libraries in a worker keep of the pages that they saw goes with the worker.
PAGES_PER_WORKER = 1000
# A worker holds 85 MB before its first page, and 250 MB after one of 100,000 tags.
WORKER_BYTES = 500 << 20
# A page that nobody stops any more, since the crawl's process was killed, ends its worker.
GRACE_SECONDS = 5.0

# Importing an extractor's libraries takes a worker a second; on a slow or busy machine, longer.
START_SECONDS = 60.0
# So many pages are given to a worker at once, so that it has work while the crawl's process is
# busy with other things: two took 0.5 ms of that process's CPU a page less than one, as many more
# than two no less.
PAGES_AT_HAND = 2
# A page that a worker died of may have been beside the point: it gets one more try.
MAX_DEATHS = 2
# A page that waits its turn when others bring down its worker is not to blame; but a worker that
# breaks again and again before it takes a page up never will.
MAX_BREAKS = 5
# How soon a page hears of a pool that forgot it.
GLANCE_SECONDS = 0.5
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
        self._processes = processes
        self._max_waiting = max_waiting
        self._backlog = Backlog(processes)
        self._pages = 0
        # Stopping a pool can take seconds, for which the crawl does not wait.
        self._undertaker = ThreadPoolExecutor(processes, thread_name_prefix="simhash-stop")
        self._workers = [
            _Worker(analyser, timeout_seconds, self._undertaker) for _ in range(processes)
        ]
        self._turn = asyncio.Semaphore(processes * PAGES_AT_HAND)

    def start(self) -> None:
        for worker in self._workers:
            worker.start()

    async def analyse(
        self, body: bytes, encoding: str | None, url: str, template: Template = frozenset()
    ) -> PageAnalysis:
        waiting = self._pages - self._processes  # below 0 while a worker is free
        self._backlog.note(waiting)
        if self._max_waiting is not None and waiting >= self._max_waiting:
            raise AnalysisError("workers_busy", f"{waiting} pages wait for a worker")
        self._pages += 1
        try:
            async with self._turn:
                worker = min(self._workers, key=attrgetter("pages"))
                return await worker.analyse(body, encoding, url, template)
        finally:
            self._pages -= 1

    def close(self) -> None:
        for worker in self._workers:
            worker.close()
        self._undertaker.shutdown()


class _Worker:
    """One worker process at a time, in a pool of its own.

    The workers of one Pebble pool share a pipe and its lock: one that dies with the lock in its
    hands breaks the pool, and so does one that died idle.  So here a pool has one worker, and
    goes when that dies.  *undertaker* buries it.
    """

    def __init__(
        self, analyser: Analyser, timeout_seconds: float, undertaker: ThreadPoolExecutor
    ) -> None:
        self._analyser = analyser
        self._timeout_seconds = timeout_seconds
        self._undertaker = undertaker
        self._pool: ProcessPool | None = None
        self._answers: set[asyncio.Future[PageAnalysis]] = set()
        self._closed = False

    @property
    def pages(self) -> int:
        """How many pages it has at hand."""
        return len(self._answers)

    def start(self) -> ProcessPool:
        """Return the pool; where there is none that runs, start one, without waiting for it."""
        if _analyser is not None:
            raise RuntimeError("a worker may not start workers of its own")
        if self._closed:
            raise BrokenProcessPool("the workers were stopped")
        if self._pool is not None and not self._pool.active:
            self._throw_away(self._pool)
        if self._pool is None:
            self._pool = ProcessPool(
                max_workers=1,
                max_tasks=_PagesUntilFull(PAGES_PER_WORKER),
                initializer=_set_up,
                initargs=(self._analyser, self._timeout_seconds),
                # loky's processes start afresh like multiprocessing's "spawn", but do not
                # import the main script again: a script without a __main__ guard, as
                # Scrapy's documentation shows them, would crawl once more in each worker.
                context=get_context("loky"),
            )
            _schedule(self._pool, _nothing, timeout=START_SECONDS)
        return self._pool

    async def analyse(self, *page: object) -> PageAnalysis:
        """Have the worker analyse a page.

        :raises AnalysisError: see :meth:`Workers.analyse`.
        """
        try:
            return await self._answer_at_last(page)
        except AnalysisError:
            raise
        except OutOfTimeError as exc:
            detail = f"not analysed within {self._timeout_seconds} s"
            raise AnalysisError("timed_out", detail) from exc
        except Exception as exc:
            # Besides ProcessExpired and BrokenProcessPool, whatever a pool raises that cannot
            # start, or that is stopped in the middle of a message: OSError, TypeError, ...
            raise AnalysisError("worker_died", f"{type(exc).__name__}: {exc}") from exc

    def close(self) -> None:
        """Stop for good, without waiting for it; a page under way hears of it."""
        self._closed = True
        if self._pool is not None:
            self._throw_away(self._pool)

    async def _answer_at_last(self, page: tuple[object, ...]) -> PageAnalysis:
        """Try again where it may not be the page that brought its worker down."""
        deaths = breaks = 0
        while True:
            try:
                return await self._answer(page)
            except ProcessExpired:
                deaths += 1
                if deaths == MAX_DEATHS:
                    raise
            except BrokenProcessPool:
                breaks += 1
                if breaks == MAX_BREAKS:
                    raise

    async def _answer(self, page: tuple[object, ...]) -> PageAnalysis:
        pool = self.start()
        try:
            answer = self._ask(pool, page)
            self._answers.add(answer)
            try:
                return await answer
            finally:
                self._answers.discard(answer)
        except AnalysisError:
            raise
        except BaseException:
            # Who knows what the worker left in the pipe; and a page that nobody waits for any
            # more, since its task was cancelled, may not take the time of the next one.
            self._throw_away(pool)
            raise

    def _ask(self, pool: ProcessPool, page: tuple[object, ...]) -> asyncio.Future[PageAnalysis]:
        """Return what will become of a page.

        A pool that breaks just as it is given a page forgets the page; so the pool is looked at
        now and then.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[PageAnalysis] = loop.create_future()
        deadline = monotonic() + START_SECONDS + PAGES_AT_HAND * self._timeout_seconds

        def look() -> None:
            if answer.done():
                return
            if pool.active and monotonic() < deadline:
                loop.call_later(GLANCE_SECONDS, look)
            else:
                answer.set_exception(BrokenProcessPool("the worker does not answer"))

        future = _schedule(pool, _analyse, *page, timeout=self._timeout_seconds)
        future.add_done_callback(partial(_hand_over, loop, answer))
        loop.call_later(GLANCE_SECONDS, look)
        return answer

    def _throw_away(self, pool: ProcessPool) -> None:
        """Stop a pool, if that was not done: another page may have a new one already.

        The pages that it has at hand hear of it at once, so that they come first in the next.
        """
        if self._pool != pool:
            return
        self._pool = None
        pool.stop()
        self._undertaker.submit(pool.join)
        for answer in self._answers:
            if not answer.done():
                answer.set_exception(BrokenProcessPool("the worker was stopped"))


def _schedule(
    pool: ProcessPool, function: Callable[..., _T], *args: object, timeout: float
) -> Future[_T]:
    future: Future[_T] = pool.schedule(function, args=args, timeout=timeout)
    future.add_done_callback(_let_go)
    return future


def _let_go(future: Future[Any]) -> None:
    """Let go of what the error of a pool holds on to.

    The frames of a message that was cut off keep the page's body alive, and a buffer that
    the garbage collector cannot free in the order it meets them (BufferError).  They are not
    cleared: all pages of a pool that broke get the same error, and one of them may have raised it.
    """
    error = None if future.cancelled() else future.exception()
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def _hand_over(
    loop: asyncio.AbstractEventLoop, answer: asyncio.Future[_T], future: Future[_T]
) -> None:
    """Give what a pool says to whoever still waits for it on *loop*, from the pool's thread."""

    def settle() -> None:
        if answer.done():
            return
        if (error := future.exception()) is not None:
            answer.set_exception(error)
        else:
            answer.set_result(future.result())

    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(settle)


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
