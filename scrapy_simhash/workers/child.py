"""The process of a worker: it analyses one page after the other, as they are written to it.

Its standard input is a socket.  From there it reads pickles, each with a number: an analyser and
a time limit, then questions, each a function of a module (None: the analyser's) and its arguments.
To each it writes a :class:`Reply` there: the pickle, after its length (:data:`LENGTH`).
"""

from __future__ import annotations

import fcntl
import gc
import logging
import os
import pickle
import signal
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, BinaryIO, NamedTuple

import psutil

from scrapy_simhash.analysis.analyser import Analyser
from scrapy_simhash.errors import AnalysisError

LENGTH = struct.Struct(">I")

# Whatever the libraries in a worker keep of the pages that they saw goes with the worker.
PAGES_PER_WORKER = 1000
# A worker holds 77 MB before its first page, and 190 MB after one of 100,000 tags.
WORKER_BYTES = 500 << 20
# Asking the system for its memory takes 0.1 to 0.3 ms, so a worker asks after each tenth page.
MEASURED_PAGES = 10
# Python looks for cycles each time that this many objects are left over.  With its 700, that is 4 %
# of the time of real pages: an analysis makes thousands of objects, and no cycles.
COLLECTED_OBJECTS = 10_000
# Importing an extractor's libraries takes a worker a second; on a slow or busy machine, longer.
START_SECONDS = 60.0
# If the crawl's process was killed, nobody stops a page that takes too long: its worker then ends
# this much later.
GRACE_SECONDS = 5.0


# Of a page: the hash of its body, and its analysis, pickled.
Outcome = tuple[bytes, bytes]


class Reply(NamedTuple):
    """What came of a question, or its error; *is_last* asks for another worker."""

    number: int
    outcome: Any
    is_last: bool = False


def serve() -> None:
    """Answer questions until the crawl's process has closed its end."""
    # What an extractor logs of a page would go to the crawl's terminal, past its log.
    logging.disable(logging.CRITICAL)
    while (nothing := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # a daemon may have closed these
    # The socket is for this process alone: what an extractor runs may neither read pages that
    # are for others nor keep it open, and what it forks may not answer.
    requests = os.fdopen(fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3), "rb")
    replies = os.fdopen(requests.fileno(), "wb", closefd=False)
    os.register_at_fork(
        after_in_child=lambda: os.dup2(nothing, requests.fileno(), inheritable=False)
    )
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # what an extractor prints is no output of the crawl
    asked = _read(requests)
    try:
        number, (analyser, timeout_seconds) = next(asked)
        with _alarm(START_SECONDS):
            analyser.load()
        gc.freeze()  # the libraries stay, whatever is collected
        gc.set_threshold(COLLECTED_OBJECTS)
        _write(replies, Reply(number, None))
        for pages, (number, question) in enumerate(asked, start=1):
            with _alarm(timeout_seconds):
                outcome = outcome_of(analyser, *question)
            is_due = pages % MEASURED_PAGES == 0
            is_last = pages >= PAGES_PER_WORKER or (is_due and _has_grown())
            _write(replies, Reply(number, outcome, is_last))
    except (StopIteration, ConnectionError):
        return
    finally:
        # Python waits for threads at its end, such as one that an extractor left hanging.
        signal.setitimer(signal.ITIMER_REAL, GRACE_SECONDS)


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """End this process where something takes longer, with grace for the crawl to do it first."""
    # The alarm has no handler: the system kills the process, even within a C library.
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def outcome_of(
    analyser: Analyser, function: Callable[..., Any] | None, arguments: tuple[Any, ...]
) -> Any:
    """Return the outcome of a page, what a function says of one, or why there is none."""
    try:
        if function is None:  # pickled here, since what is recalled of it is the pickle
            pickled = pickle.dumps(analyser.analyse(*arguments), protocol=5)
            return hash_of_body(arguments[0]), pickled
        return function(*arguments)
    except AnalysisError as exc:
        return exc
    except Exception as exc:  # a hostile page may raise whatever it likes
        return AnalysisError("extraction_failed", f"{type(exc).__name__}: {exc}")


def hash_of_body(body: bytes) -> bytes:
    """Return 16 bytes that nobody can make another body have."""
    return blake2b(body, digest_size=16).digest()


def _has_grown() -> bool:
    return int(psutil.Process().memory_info().rss) >= WORKER_BYTES


def _read(requests: BinaryIO) -> Iterator[Any]:
    """Yield the questions, until the crawl's process has closed its end, or is gone."""
    while True:
        try:
            yield pickle.load(requests)  # noqa: S301 - from the process that started this one
        except (EOFError, pickle.UnpicklingError, ConnectionError):
            return


def _write(replies: BinaryIO, reply: Reply) -> None:
    pickled = pickle.dumps(reply, protocol=5)
    replies.write(LENGTH.pack(len(pickled)) + pickled)
    replies.flush()
