"""The run of a crawl: what it shares, what it leaves to the next run, and what it takes back.

Workers and index are shared by the spiders of one process: made for the first, closed after the
last.  A run begins in the index with its first page, and is kept alive there; it belongs to the
same crawl as the runs that its ``JOBDIR`` resumes.  Pages that nobody could use are taken out of
the index while the run goes on.

:data:`WORKERS` and :data:`INDEXES` are state of the process.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import Generic, Protocol, TypeVar

from cachetools import FIFOCache
from scrapy.crawler import Crawler
from scrapy.utils.job import job_dir
from scrapy.utils.misc import load_object

from scrapy_simhash.decision.page import Decision
from scrapy_simhash.errors import IndexUnavailableError, SettingsError
from scrapy_simhash.files import replacing
from scrapy_simhash.index.base import BEAT_SECONDS, Index, Run
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.workers.pool import Workers

logger = logging.getLogger(__name__)

T = TypeVar("T")


class _Resource(Protocol):
    async def close(self) -> None: ...


R = TypeVar("R", bound=_Resource)

# The file in JOBDIR that names the crawl: a run that resumes it belongs to the same one.
JOB_FILE = "simhash.crawl"
# Where the index did not take the beginning, it is asked again after this time.
AGAIN_SECONDS = 1.0
# The decisions that are remembered, so that a page is taken back once.
MAX_BEGUN = 1_000


class Shared(Generic[R]):
    """Resources by key; all users of a key at a time get the same one; the last closes it."""

    def __init__(self) -> None:
        self._resources: dict[Hashable, R] = {}
        self._users: Counter[Hashable] = Counter()

    def take(self, key: Hashable, make: Callable[[], R]) -> R:
        """Return the resource of *key*; *make* makes it if it has no user yet."""
        if key not in self._resources:
            self._resources[key] = make()
        self._users[key] += 1
        return self._resources[key]

    async def give_back(self, resource: R) -> None:
        """End one use of *resource*; the last one closes it."""
        for key in [key for key, held in self._resources.items() if held is resource]:
            self._users[key] -= 1
            if not self._users[key]:
                self.forget(key)
                await resource.close()

    def forget(self, key: Hashable) -> None:
        """End all uses of the resource of *key*, if there is one."""
        self._resources.pop(key, None)
        self._users.pop(key, None)


WORKERS: Shared[Workers] = Shared()
INDEXES: Shared[Index] = Shared()


class CrawlRun:
    """The run of one crawler in an index.

    It is part of the crawl that ``SIMHASH_CRAWL`` or its ``JOBDIR`` names, or of that with whose
    runs it shares a queue.  Nothing else makes two runs one crawl: they may have other arguments.
    """

    def __init__(self, crawler: Crawler, index: Index, settings: SimhashSettings) -> None:
        self._spider_name = spider_name(crawler)
        self._index = index
        is_named = settings.crawl is not None
        self._joins = "" if is_named else _queue_of(crawler)
        # Whether other processes may be part of the crawl.
        self.is_shared = is_named or bool(self._joins)
        folder = job_dir(crawler.settings)
        self._job_file = Path(folder) / JOB_FILE if folder and not is_named else None
        self._name = settings.crawl if self._job_file is None else _name_in(self._job_file)
        # None until it has begun.
        self.begun: Run | None = None
        self._lock = asyncio.Lock()
        self._try_at = 0.0
        self._beats: asyncio.Future[None] | None = None

    async def current(self) -> Run:
        """Return the run, which begins with the first call.

        :raises IndexUnavailableError: the index did not take it: no page can be judged yet, since
            nobody knows which pages this crawl has met.
        """
        async with self._lock:
            if self.begun is None:
                self.begun = await self._begin()
        return self.begun

    async def _begin(self) -> Run:
        if monotonic() < self._try_at:
            raise IndexUnavailableError(f"{self._index} does not know of this crawl yet")
        try:
            run = await self._index.begin_crawl(self._spider_name, self._name, self._joins)
        except IndexUnavailableError:
            self._try_at = monotonic() + AGAIN_SECONDS
            raise
        self._beats = asyncio.ensure_future(self._beat(run))
        return run

    async def end(self, delivered: bool, is_done: bool) -> None:
        """Note the end of the run.

        *delivered*: all its pages were passed on, or dropped; *is_done*: its job has nothing left
        to do, so that the next run in its ``JOBDIR`` is another crawl.
        """
        if is_done and self._job_file is not None:
            with suppress(OSError):
                self._job_file.unlink(missing_ok=True)
        if self.begun is not None and self._beats is not None:
            self._beats.cancel()
            await self._index.end_crawl(self.begun, delivered)

    async def _beat(self, run: Run) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                await self._index.beat(run)
            except IndexUnavailableError as exc:
                logger.debug("The index was not told that the crawl goes on: %s", exc)


def spider_name(crawler: Crawler) -> str:
    """Return the name of a crawl's spider, whose class may have none."""
    names = (getattr(one, "name", None) for one in (crawler.spidercls, crawler.spider))
    return next(filter(None, names), crawler.spidercls.__name__)


def _queue_of(crawler: Crawler) -> str:
    """Return the key of the queue that scrapy-redis shares among runs; empty without it."""
    scheduler = load_object(crawler.settings["SCHEDULER"])
    if not any(one.__module__.startswith("scrapy_redis") for one in scheduler.__mro__):
        return ""
    key = crawler.settings["SCHEDULER_QUEUE_KEY"] or "%(spider)s:requests"
    return str(key % {"spider": spider_name(crawler)})


def _name_in(file: Path) -> str:
    """Return the name that a file holds, which is made if there is none.

    :raises SettingsError: the file cannot be read or written.
    """
    try:
        if file.exists() and (name := file.read_text("utf-8").strip()):
            return name
        name = f"job {token_hex(16)}"
        with replacing(file) as unfinished:
            unfinished.write_text(f"{name}\n", "utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(f"{file} in JOBDIR must be a file that can be written: {exc}") from exc
    return name


class JobState(Generic[T]):
    """An object in the file ``simhash-NAME.state``; without a JOBDIR, in none.

    One of another version counts as one that cannot be read: it may lack something.
    """

    def __init__(self, crawler: Crawler, name: str) -> None:
        folder = job_dir(crawler.settings)
        self._path = Path(folder, f"simhash-{name}.state") if folder else None
        self._name = name
        self._magic = f"scrapy-simhash {version('scrapy-simhash')} {name} state\n".encode()

    def load(self) -> T | None:
        """Return what an earlier run has saved; a file that cannot be read is set aside."""
        if self._path is None or not self._path.exists():
            return None
        try:
            data = self._path.read_bytes()
            if not data.startswith(self._magic):
                raise ValueError("it does not begin as it should")
            # Scrapy unpickles the other files in a JOBDIR, too.
            state: T = pickle.loads(data[len(self._magic) :])  # noqa: S301
        except Exception as exc:  # a damaged pickle may raise whatever it likes
            aside = self._path.with_suffix(".unreadable")
            outcome = f"It was moved to {aside}."
            try:
                self._path.replace(aside)
            except OSError as refusal:
                outcome = f"It could not be moved aside: {refusal}."
            logger.warning(
                "The state of the %(name)s starts anew: %(path)s cannot be read: %(error)s. "
                "%(outcome)s",
                {"name": self._name, "path": self._path, "error": exc, "outcome": outcome},
            )
            return None
        return state

    def save(self, state: T) -> None:
        """Write *state*; if the process is killed, the old file or the new one is left."""
        if self._path is None:
            return
        try:
            with replacing(self._path) as unfinished:
                unfinished.write_bytes(self._magic + pickle.dumps(state))
        except OSError as exc:
            logger.warning(
                "A resumed crawl will know less, for the state of the %(name)s could not be saved: "
                "%(error)s",
                {"name": self._name, "error": exc},
            )

    def remove(self) -> None:
        """Leave nothing for the next run."""
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)


class Withdrawals:
    """Removes pages from *index* while the crawl runs, and tries failed removals again at its end.

    *count* is called for each removed page.
    """

    def __init__(self, index: Index, count: Callable[[], None]) -> None:
        self._index = index
        self._count = count
        self._under_way: set[asyncio.Task[None]] = set()
        self._left: list[tuple[str, bytes, Decision, str]] = []
        # By their identity, the decisions on the last pages: several items of a page may be
        # refused, and its request may be judged again later, with an equal decision.
        self._begun: FIFOCache[int, Decision] = FIFOCache(MAX_BEGUN)

    def begin(self, scope: str, request_fingerprint: bytes, decision: Decision, url: str) -> None:
        """Begin to remove a page, once, without waiting for the end.

        The spider, or a pipeline, could not use it.
        """
        if id(decision) in self._begun:
            return
        self._begun[id(decision)] = decision
        task = asyncio.ensure_future(self._withdraw(scope, request_fingerprint, decision, url))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def wait(self) -> None:
        """Wait for the removals under way: the next page must not be judged by a failed one."""
        if self._under_way:
            await asyncio.wait(self._under_way)

    async def finish(self, in_vain: Iterable[tuple[str, str]] = ()) -> int:
        """Try again to remove the pages that are left; return the number that still are.

        Those that have led on *in_vain*, by scope and request fingerprint in hexadecimal digits,
        stay, but do not count as passed on.
        """
        await self.wait()
        again, self._left = self._left, []
        for page in again:
            await self._withdraw(*page)
        met = Decision("refresh", "seen_before")
        for scope, request_fingerprint in in_vain:
            try:
                await self._index.withdraw(scope, bytes.fromhex(request_fingerprint), met)
            except IndexUnavailableError:
                return len(self._left) + 1
        return len(self._left)

    async def _withdraw(
        self, scope: str, request_fingerprint: bytes, decision: Decision, url: str
    ) -> None:
        try:
            await self._index.withdraw(scope, request_fingerprint, decision)
        except IndexUnavailableError as exc:
            self._left.append((scope, request_fingerprint, decision, url))
            logger.warning("Not taken back, though it could not be used: %s: %s", url, exc)
        else:
            self._count()
