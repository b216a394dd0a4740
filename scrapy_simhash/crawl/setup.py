"""What components share: the settings of a crawl, the places of its files, what they log."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import takewhile
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import quote
from weakref import WeakKeyDictionary

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.asyncio import call_later
from scrapy.utils.project import data_path
from scrapy.utils.python import global_object_name

from scrapy_simhash.crawl.requests import RequestFacts
from scrapy_simhash.crawl.run import INDEXES, Shared, spider_name
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.errors import IndexUnavailableError, ServerAwayError, SettingsError
from scrapy_simhash.index.base import Index
from scrapy_simhash.index.opening import observed_place, open_index
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.settings import MEMORY, SimhashSettings
from scrapy_simhash.urls import owner_of

logger = logging.getLogger(__name__)

# Between two warnings of one kind.
WARNING_SECONDS = 60.0

# What to do if a server does not answer when a crawl starts.
_NO_SERVER = """
  Is the server of SIMHASH_INDEX running? "redis-cli -u URL ping" must answer PONG.
  On one machine no server is needed: SIMHASH_INDEX = "crawl.simhash" is a file."""

# Packages whose middlewares between a verdict and the spider leave pages as they are.
_HARMLESS = ("scrapy", "scrapy_simhash", "scrapy_poet", "scrapy_zyte_api")

# Read once for a crawl: several components need them, and some settings are files.
_settings: WeakKeyDictionary[Crawler, SimhashSettings] = WeakKeyDictionary()


@dataclass
class Parts:
    """What the downloader middlewares of one crawl share.

    The one that judges pages tells what it does to the one for *rules*, which may be missing.
    """

    pipeline: Pipeline
    index: Index
    facts: RequestFacts
    # Where a crawl that only observes stores what it learns of sites.
    learns_in: Index | None = None
    rules: Any = None  # a SimhashRulesMiddleware, whose module imports this one

    async def close(self) -> None:
        """End one use of the indexes."""
        for index in filter(None, (self.index, self.learns_in)):
            await INDEXES.give_back(index)


PARTS: Shared[Parts] = Shared()
# What is under way after refused starts.
_CLOSING: set[asyncio.Future[None]] = set()


def active_settings(crawler: Crawler) -> SimhashSettings:
    """Return the settings of a crawl that judges its pages.

    :raises NotConfigured: the plug-in is switched off, or this is ``scrapy shell``, ``check``,
        ``fetch``, ``parse`` or ``view``: their pages must be shown, and must not enter an index.
        The commands give the spider a start of their own.
    :raises SettingsError: a setting breaks its rule.
    """
    is_first = crawler not in _settings
    if is_first:
        _settings[crawler] = SimhashSettings.read(crawler.settings)
    settings = _settings[crawler]
    why = ""
    if not settings.enabled:
        why = "SIMHASH_ENABLED is off"
    elif not crawler.crawling:
        why = "No crawl is going on"
    elif crawler.spidercls.start.__module__.startswith("scrapy.commands."):
        why = "A command asks for single pages"
    if why:
        if is_first:
            logger.info("%(why)s, so no page is judged", {"why": why})
        raise NotConfigured  # without a message: Scrapy would warn of each component
    return settings


def spiders(settings: BaseSettings) -> list[str]:
    """Return the names of the spiders of a project."""
    return sorted(get_spider_loader(settings).list())


def settings_of_spider(name: str, settings: BaseSettings) -> BaseSettings:
    """Return the settings of a project with those of a spider; the spider may be gone."""
    if name not in spiders(settings):
        return settings
    own = settings.copy()
    get_spider_loader(settings).load(name).update_settings(own)
    return own


def index_place(settings: SimhashSettings, spider_name: str) -> str:
    """Return the place of the index of a spider's crawls: by default a file of its name."""
    if settings.index is not None:
        return settings.index
    return str(_data_folder() / f"{quote(spider_name, safe='')}.simhash")


def index_of(
    crawler: Crawler, settings: SimhashSettings, parameters: Parameters
) -> tuple[Index, Index | None]:
    """Return the index of a crawl, which the spiders of this process share, and where it learns.

    It is in memory, and a warning says so, if no file can be written at the default place.  The
    pages of a crawl that only observes are in an index of their own, so that the next crawl does
    not know them; what it learns of sites is in that of the spider.

    :raises SettingsError: its URL is wrong.
    :raises FingerprintIndexError: it cannot be used.
    """

    def taken(place: str) -> Index:
        index = INDEXES.take((place, parameters), lambda: open_index(place, parameters))
        with suppress(RuntimeError):  # there is no event loop
            call_later(0, _close_if_refused, crawler, index)
        return index

    try:
        place = index_place(settings, spider_name(crawler))
        index = taken(place)
    except ServerAwayError as exc:
        raise ServerAwayError(f"{exc}{_NO_SERVER}") from exc
    except (OSError, IndexUnavailableError) as exc:
        if settings.index is not None:
            raise
        logger.warning(
            "The index is in memory, so the next crawl does not know these pages: %(error)s. "
            "Set SIMHASH_INDEX to a place that can be written",
            {"error": exc},
        )
        place, index = MEMORY, taken(MEMORY)
    if settings.action != "observe":
        return index, None
    pages = taken(observed_place(place))
    pages.learned = index.learned
    return pages, index


def parts_of(crawler: Crawler, settings: SimhashSettings) -> Parts:
    """Return what the middlewares of a crawl share; each must give it back.

    :raises SettingsError: see :meth:`.Pipeline.of` and :func:`index_of`.
    :raises FingerprintIndexError: the index cannot be used.
    """

    def made() -> Parts:
        pipeline = Pipeline.of(settings)
        index, learns_in = index_of(crawler, settings, pipeline.parameters)
        return Parts(pipeline, index, RequestFacts(crawler, settings), learns_in)

    return PARTS.take(crawler, made)


def _close_if_refused(crawler: Crawler, index: Index) -> None:
    """End the use of an index by a crawl that has no engine: no signal tells of its end."""
    with suppress(RuntimeError):  # by which later versions of Scrapy say that there is none
        if crawler.engine is not None:
            return
    PARTS.forget(crawler)
    closing = asyncio.ensure_future(INDEXES.give_back(index))
    _CLOSING.add(closing)
    closing.add_done_callback(_CLOSING.discard)


def _data_folder() -> Path:
    """Return the folder of the default indexes: in Scrapy's data directory, if it has one.

    It has none where settings are found without a scrapy.cfg, as in the egg that scrapyd runs:
    then, in the working directory.  The projects of scrapyd share it; it names them in
    ``SCRAPY_PROJECT``.
    """
    try:
        folder = Path(data_path("simhash"))
    except NotConfigured:
        folder = Path(".scrapy", "simhash")
    return folder.absolute() / quote(os.environ.get("SCRAPY_PROJECT", ""), safe="")


def file_path(crawler: Crawler, setting: str, path: str | None) -> Path | None:
    """Return the path of a file of a crawl, whose folder is created; None if there is to be none.

    ``%(name)s`` and ``%(time)s`` are those of Scrapy's feeds.

    :raises SettingsError: the path has another %, or its folder cannot be created.
    """
    if path is None:
        return None
    started = datetime.now(timezone.utc).replace(microsecond=0).isoformat().replace(":", "-")
    try:
        found = Path(path % {"name": spider_name(crawler), "time": started})
        found.parent.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise unwritable(setting, path, exc) from exc
    return found


def unwritable(setting: str, path: object, exc: Exception) -> SettingsError:
    """Return the error of a file that cannot be written."""
    return SettingsError(
        f"{setting} must be a path that can be written, with no % but in %(name)s and %(time)s: "
        f"got {str(path)!r} ({exc})"
    )


class RareWarning:
    """A warning that is logged at most once a minute, with the number of those held back."""

    def __init__(self, logger: logging.Logger, crawler: Crawler) -> None:
        self._logger = logger
        self._crawler = crawler
        self._next = 0.0
        self._held_back = 0

    def log(self, message: str) -> None:
        """Log *message*, or count it as held back."""
        now = monotonic()
        if now < self._next:
            self._held_back += 1
            return
        if self._held_back:
            message += f" (and {self._held_back} more warnings like this since the last one)"
        self._logger.warning("%s", message, extra={"spider": self._crawler.spider})
        self._next = now + WARNING_SECONDS
        self._held_back = 0


def spare_the_collector() -> None:
    """Exempt what is loaded when the first crawl begins from garbage collection.

    It stays loaded in any case.  Otherwise the collector walks over all modules, Scrapy's too,
    twelve times in 1,200 pages: 1.2 to 1.6 ms a page of LLVM's documentation instead of 0.8.
    """
    if not gc.get_freeze_count():
        owner_of("http://site.example/")  # reads the list of domains: 17,000 objects
        gc.collect()
        gc.freeze()


def say_what_is_between(crawler: Crawler, judge: object) -> None:
    """Name the middlewares that get a page after *judge*, the downloader middleware, in one line.

    Scrapy's are left out, and those that handle no responses.
    """
    names: list[str] = []
    with suppress(AttributeError, TypeError):  # an engine or a downloader of the user's
        engine = crawler.engine
        nearer = takewhile(lambda one: one is not judge, engine.downloader.middleware.middlewares)
        names += _foreign(nearer, "process_response")
        names += _foreign(engine.scraper.spidermw.middlewares, "process_spider_input")
    if names:
        logger.info(
            "Pages are judged before these middlewares get them: %(names)s. If one changes or "
            "refuses pages, let it be a downloader middleware with an order above that of "
            "SimhashDownloaderMiddleware: then a page is judged as the spider gets it",
            {"names": ", ".join(names)},
            extra={"spider": crawler.spider},
        )


def _foreign(middlewares: Iterable[object], method: str) -> Iterator[str]:
    """Yield the names of those that have a method, and are not known to be harmless."""
    for one in middlewares:
        if hasattr(one, method) and type(one).__module__.partition(".")[0] not in _HARMLESS:
            yield global_object_name(type(one))
