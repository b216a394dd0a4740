"""Where pages are analysed: processes with a time limit for each page, or this process.

trafilatura is not thread-safe and takes 10 to 50 ms a page, so the crawl's own process
never runs it; a page that hangs or kills its worker costs that worker, no more.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from itertools import count, islice
from operator import attrgetter
from time import monotonic
from typing import Any, TypeVar, cast

from scrapy_simhash.analysis.analyser import Analyser, Background, PageAnalysis
from scrapy_simhash.errors import AnalysisError
from scrapy_simhash.workers.child import LENGTH, START_SECONDS, Reply, outcome_of

# A worker gets this many pages at once, so that it has work while the crawl's process is busy with
# other things, and replies come in batches, which is easier on that process's caches: of its CPU, a
# page took 0.94 ms with 2, 0.60 with 3, 0.35 with 4 and 0.74 with 8.
PAGES_AT_HAND = 4
# The page that a worker died at may not be the cause: it gets one more try.
MAX_DEATHS = 2
# A page that waits its turn while others bring down its worker is not to blame.  A worker that
# breaks more often than those others can make it will never take the page up.
MAX_BREAKS = MAX_DEATHS * PAGES_AT_HAND
# A process that has closed its socket ends in less than a millisecond, unless it did so on purpose.
LAST_SECONDS = 0.1
READ_BYTES = 1 << 18  # as much as asyncio reads at once
# Longer than the bursts of a crawl that its workers can keep up with.
BACKLOG_SECONDS = 30.0
# Of pages that a command reads one after the other, this many for each worker are under way.  With
# two, a worker has its next page at once.
WAITING = 2

logger = logging.getLogger(__name__)

S = TypeVar("S")
T = TypeVar("T")


async def in_order(
    work: Callable[[S], Coroutine[Any, Any, T]], items: Iterable[S], processes: int
) -> AsyncGenerator[T, None]:
    """Yield the result of each item, in their order, while those of the next are under way.

    Close the generator (``aclosing``): that gives up what is under way.
    """
    most = WAITING * max(processes, 1)
    under_way: deque[asyncio.Task[T]] = deque()
    try:
        for item in items:
            if len(under_way) == most:
                yield await under_way.popleft()
            under_way.append(asyncio.create_task(work(item)))
        while under_way:
            yield await under_way.popleft()
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


class Workers:
    """Something that analyses pages."""

    def start(self) -> None:
        """Get ready, without waiting for it."""

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Wait, in the order of those who wait, until a worker can take one more page.

        :raises AnalysisError: too many wait, ``workers_busy``.
        """
        return nullcontext()

    async def run(self, function: Callable[..., Any] | None, *arguments: object) -> Any:
        """Return the outcome of a page (child.py), or what a function of a module says of pages.

        The arguments are those of :meth:`analyse` or those of the function, which takes at most the
        time of a page.  All these, and what it returns, can be pickled.  It comes before all that
        wait for their turn.

        :raises AnalysisError: with a reason of :meth:`Analyser.analyse`, ``timed_out`` or
            ``worker_died``; what a function raises is ``extraction_failed``.
        """
        raise NotImplementedError

    async def analyse(
        self,
        body: bytes,
        encoding: str | None,
        url: str,
        background: Callable[[], Background] = Background,
        is_urgent: bool = False,
    ) -> PageAnalysis:
        """Return the analysis of one page.

        *background* is called when the page's turn comes; an urgent one waits for none.

        :raises AnalysisError: as :meth:`turn` and :meth:`run`.
        """
        async with nullcontext() if is_urgent else self.turn():
            _, pickled = await self.run(None, body, encoding, url, background())
        return cast("PageAnalysis", pickle.loads(pickled))  # noqa: S301 - our own

    async def close(self) -> None:
        """Stop; pages under way are given up."""


class InProcess(Workers):
    """Analyses pages in this process, one after the other, with no time limit."""

    def __init__(self, analyser: Analyser) -> None:
        self._analyser = analyser

    async def run(self, function: Callable[..., Any] | None, *arguments: object) -> Any:
        outcome = outcome_of(self._analyser, function, arguments)
        if isinstance(outcome, AnalysisError):
            raise outcome
        return outcome


class WorkerProcesses(Workers):
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
        self._pages = 0
        self._behind_since: float | None = None
        self._said_behind = False
        self._workers = [_Worker(analyser, timeout_seconds) for _ in range(processes)]
        self._turn = asyncio.Semaphore(processes * PAGES_AT_HAND)

    def start(self) -> None:
        for worker in self._workers:
            worker.start()

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        waiting = self._pages - self._processes  # below 0 while a worker is free
        self._note_backlog(waiting)
        if self._max_waiting is not None and waiting >= self._max_waiting:
            raise AnalysisError("workers_busy", f"{waiting} pages wait for a worker")
        self._pages += 1
        try:
            async with self._turn:
                yield
        finally:
            self._pages -= 1

    def _note_backlog(self, waiting: int) -> None:
        """Say once that the workers cannot keep up, where pages wait for each of them for long."""
        now = monotonic()
        if waiting < self._processes:
            self._behind_since = None
        elif self._behind_since is None:
            self._behind_since = now
        elif now - self._behind_since >= BACKLOG_SECONDS and not self._said_behind:
            self._said_behind = True
            logger.warning(
                "The workers cannot keep up, so the crawl waits for them: for %d s, pages have "
                "waited for each of %d. Set SIMHASH_WORKERS to more where there are processors "
                "to spare, or SIMHASH_MAX_WAITING to let pages pass unjudged",
                BACKLOG_SECONDS,
                self._processes,
            )

    async def run(self, function: Callable[..., Any] | None, *arguments: object) -> Any:
        worker = min(self._workers, key=attrgetter("pages"))
        return await worker.answer((function, arguments))

    async def close(self) -> None:
        await asyncio.gather(*(worker.close() for worker in self._workers))


class _Worker:
    """One worker process at a time; when it has ended, the next page starts another."""

    def __init__(self, analyser: Analyser, timeout_seconds: float) -> None:
        self._analyser = analyser
        self._timeout_seconds = timeout_seconds
        self._process: _Process | None = None
        self._ready: asyncio.Future[_Process] | None = None
        self._closed = False
        self.pages = 0

    def start(self) -> asyncio.Future[_Process]:
        """Return the process, as soon as it is ready; where there is none, start one."""
        ready = self._ready
        if ready is None or (ready.done() and (ready.exception() or ready.result().is_over)):
            ready = self._ready = asyncio.ensure_future(self._start())
        return ready

    async def answer(self, question: object) -> Any:
        """Ask the worker; ask again where the question may not be what brought it down.

        :raises AnalysisError: see :meth:`Workers.run`.
        """
        self.pages += 1
        left = {_DiedError: MAX_DEATHS, _StoppedError: MAX_BREAKS}
        try:
            while True:
                try:
                    return await self._ask(question)
                except (_DiedError, _StoppedError) as exc:
                    left[type(exc)] -= 1
                    if not left[type(exc)]:
                        raise AnalysisError("worker_died", str(exc)) from exc
        finally:
            self.pages -= 1

    async def close(self) -> None:
        """Stop for good; a page under way fails."""
        self._closed = True
        if self._process is not None:
            self._process.stop("the workers were stopped")
        if self._ready is not None:
            with suppress(_StoppedError):
                await self._ready
        if self._process is not None:
            await self._process.ended

    async def _ask(self, question: object) -> Any:
        process = await asyncio.shield(self.start())
        try:
            return await process.ask(question, self._timeout_seconds)
        except asyncio.CancelledError:
            # A page that nobody waits for any more may not take the time of the next one.
            process.stop("a page was cancelled")
            raise

    async def _start(self) -> _Process:
        """Return a new process that is ready for its first page.

        :raises _StoppedError: it did not get so far.
        """
        # Not by multiprocessing, which imports the main script again: one without a __main__
        # guard, as Scrapy's documentation shows them, would crawl once more in each worker.
        path = [entry for entry in sys.path if isinstance(entry, str)]  # import sees no others
        code = f"import sys; sys.path[:] = {path!r}; import scrapy_simhash.workers.child as worker"
        command = [sys.executable, "-c", f"{code}; worker.serve()"]
        try:
            if self._closed:
                raise _StoppedError("the workers were stopped")
            process = _Process(command)
            await process.connect()
            self._process = process
            if self._closed:
                process.stop("the workers were stopped")
            await process.ask((self._analyser, self._timeout_seconds), START_SECONDS)
        except Exception as exc:
            raise _StoppedError(f"a worker did not start: {exc!r}") from exc
        return process


class _DiedError(Exception):
    """A worker died while it was at work on what it was asked."""


class _StoppedError(Exception):
    """A worker ended before it got to what it was asked."""


class _Process(asyncio.Protocol):
    """The process of a worker as the crawl's process sees it: it answers questions in their order.

    The standard input of *command* is the socket between the two.  Not one of asyncio's own
    subprocesses: a task that starts one waits for ever if it is cancelled in the middle, as tasks
    are at the end of ``asyncio.run`` (Python 3.11).
    """

    def __init__(self, command: list[str]) -> None:
        self._loop = asyncio.get_running_loop()
        # In the order of the questions.
        self._asked: dict[int, tuple[asyncio.Future[Any], float]] = {}
        self._numbers = count()
        self._received = bytearray()
        self._clock: asyncio.TimerHandle | None = None
        self.is_over = False
        self._socket, theirs = socket.socketpair()
        try:
            # In a session of its own: Ctrl-C is for the crawl, which ends its workers in its time.
            self._popen = subprocess.Popen(  # noqa: S603 - our own command
                command, stdin=theirs.fileno(), start_new_session=True
            )
        except BaseException:
            self._socket.close()
            raise
        finally:
            theirs.close()

    async def connect(self) -> None:
        """Get ready to be asked."""
        try:
            await self._loop.create_unix_connection(lambda: self, sock=self._socket)
        except BaseException:
            self._socket.close()
            self._popen.kill()
            self._popen.wait()
            raise

    def ask(self, question: object, limit_seconds: float) -> asyncio.Future[Any]:
        """Return what will be answered; the time runs from when the process gets to it.

        :raises _StoppedError: it gets to nothing any more.
        """
        if self.is_over:
            raise _StoppedError("the worker has ended")
        number = next(self._numbers)
        # First, since nothing is asked where this fails, as it may where memory is short.
        request = pickle.dumps((number, question), protocol=5)
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._asked[number] = answer, limit_seconds
        if len(self._asked) == 1:
            self._wind_clock()
        self._transport.write(request)
        return answer

    def stop(self, reason: str) -> None:
        """End the process; what waits for an answer fails at once."""
        if self.is_over:
            return
        self.is_over = True
        self._transport.abort()
        with suppress(ProcessLookupError):
            os.killpg(self._popen.pid, signal.SIGKILL)  # with all that an extractor runs
        for number in list(self._asked):
            self._settle(number, _StoppedError(reason))
        self._wind_clock()
        # The system may take a while to clear up, for which the crawl does not wait.
        self.ended = self._loop.run_in_executor(None, self._popen.wait)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        received = self._received
        received += data
        while len(received) >= LENGTH.size and not self.is_over:
            end = LENGTH.size + LENGTH.unpack_from(received)[0]
            if len(received) < end:
                break
            reply: Reply = pickle.loads(received[LENGTH.size : end])  # noqa: S301 - our own
            del received[:end]
            if reply.number in self._asked:  # whatever an extractor does, none gets another's
                self._settle(reply.number, reply.outcome)
                self._wind_clock()
            if reply.is_last:
                self.stop("the worker is replaced")

    def connection_lost(self, exc: Exception | None) -> None:
        """Take what the process wrote before it ended.

        If writing to it failed first, asyncio reads no more.
        """
        with suppress(OSError):
            while not self.is_over and (data := self._socket.recv(READ_BYTES)):
                self.data_received(data)
        if self._asked:
            error = _DiedError(f"the worker ended by itself, {self._last_words()}")
            self._settle(next(iter(self._asked)), error)
        self.stop("the worker ended by itself")

    def _last_words(self) -> str:
        try:
            return f"with exit code {self._popen.wait(LAST_SECONDS)}"
        except subprocess.TimeoutExpired:
            return "or what it runs has closed its socket"

    def _too_late(self, number: int) -> None:
        _, limit = self._asked[number]
        self._settle(number, AnalysisError("timed_out", f"not analysed within {limit} s"))
        self.stop("another page took too long")

    def _settle(self, number: int, outcome: Any) -> None:
        """Answer the question of that number."""
        answer, _ = self._asked.pop(number)
        if answer.done():  # nobody waits for it any more
            return
        if isinstance(outcome, Exception):
            answer.set_exception(outcome)
        else:
            answer.set_result(outcome)

    def _wind_clock(self) -> None:
        """Start the time limit of the oldest question."""
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        for number, (_, limit) in islice(self._asked.items(), 1):
            self._clock = self._loop.call_later(limit, self._too_late, number)
