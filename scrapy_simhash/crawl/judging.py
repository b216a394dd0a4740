"""The downloader middleware: one page's way to its verdict."""

from __future__ import annotations

import logging
import time
from functools import partial
from typing import TYPE_CHECKING

from scrapy import signals as scrapy_signals
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.python import binary_is_text

from scrapy_simhash.crawl import signals
from scrapy_simhash.crawl.dropped import NearDuplicate, UnchangedPage
from scrapy_simhash.crawl.known import Reach
from scrapy_simhash.crawl.log import RareWarning
from scrapy_simhash.crawl.redirects import redirects_in
from scrapy_simhash.crawl.setup import active_settings, index_place
from scrapy_simhash.crawl.shared import INDEXES, WORKERS
from scrapy_simhash.crawl.withdrawals import FailedPage, Withdrawals
from scrapy_simhash.errors import AnalysisError, IndexUnavailableError, SettingsError
from scrapy_simhash.index.opening import open_index
from scrapy_simhash.pipeline import Fetched, Pipeline
from scrapy_simhash.report.record import Action, Record
from scrapy_simhash.rule.page import Decision, NearMiss, Reason
from scrapy_simhash.rule.scope import scope_key
from scrapy_simhash.settings import ACTIONS, SimhashSettings

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.exceptions import IgnoreRequest
    from scrapy.http import Request, Response
    from typing_extensions import Self

    from scrapy_simhash.analysis.page import PageAnalysis
    from scrapy_simhash.index.contract import Index
    from scrapy_simhash.workers.pool import Workers

logger = logging.getLogger(__name__)

META_KEY = "simhash"
DECISION_META_KEY = "simhash_decision"
FLAG = "near-duplicate"

_ACTION_TAKEN: dict[str, Action] = {"drop": "drop", "flag": "flag", "observe": "pass"}

SECONDS_A_DAY = 86_400

# As many bytes as Scrapy looks at to tell text from binary data, and the bytes that it takes for
# binary: looking at each by itself, as Scrapy does, took 0.1 ms a page.
_SNIFFED_BYTES = 5000
_BINARY_BYTES = bytes(byte for byte in range(256) if not binary_is_text(bytes([byte])))


class SimhashDownloaderMiddleware:
    """Judge each HTML page that a spider is to get, and drop or flag the near-duplicates.

    Meta key ``simhash`` of a request: ``False`` leaves its page alone, ``"drop"``, ``"flag"``
    and ``"observe"`` take the place of ``SIMHASH_ACTION``.  Meta key ``simhash_decision`` of a
    response that was judged and passed on: its
    :class:`~scrapy_simhash.rule.page.Decision`.

    A dropped page is logged as follows, and its request's errback gets a
    :class:`~scrapy_simhash.crawl.dropped.NearDuplicate`::

        DEBUG: Dropped near-duplicate <200 http://a.example/print>:
        representative http://a.example/, distance 1

    Whatever fails, the page passes on and is counted under ``simhash/skipped/<reason>``.
    """

    def __init__(
        self, crawler: Crawler, pipeline: Pipeline, workers: Workers, index: Index
    ) -> None:
        self.crawler = crawler
        self.spider_name = crawler.spidercls.name
        self.pipeline = pipeline
        self.settings = pipeline.settings
        self.workers = workers
        self.index = index
        self._crawl: int | None = None
        self._reach = Reach()
        self._failures: dict[Reason, RareWarning] = {}
        self._withdrawals = Withdrawals(
            index, partial(crawler.stats.inc_value, "simhash/withdrawn")
        )

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = active_settings(crawler)
        if not is_asyncio_available():
            raise SettingsError(
                "TWISTED_REACTOR must be the asyncio reactor, as it is by default: "
                f"got {crawler.settings['TWISTED_REACTOR']!r}"
            )
        pipeline, place = Pipeline.of(settings), index_place(settings, crawler)
        index = INDEXES.take(
            (place, pipeline.parameters),
            lambda: open_index(place, pipeline.parameters, settings.expected_pages),
        )
        workers = WORKERS.take(pipeline.shared_by, pipeline.workers)
        middleware = cls(crawler, pipeline, workers, index)
        crawler.signals.connect(middleware.spider_opened, scrapy_signals.spider_opened)
        crawler.signals.connect(middleware.spider_closed, scrapy_signals.spider_closed)
        crawler.signals.connect(middleware.spider_error, scrapy_signals.spider_error)
        return middleware

    async def spider_opened(self, spider: Spider) -> None:
        self.workers.start()
        logger.info(
            "Near-duplicates: %(action)s within %(distance)d bits of %(kept)d pages in %(index)s",
            {
                "action": self.settings.action,
                "distance": self.index.parameters.distance,
                "kept": (await self.index.counts()).kept,
                "index": self.index,
            },
            extra={"spider": spider},
        )
        self._crawl = await self.index.begin_crawl(self.spider_name)
        await self._expire(spider)

    async def spider_closed(self, spider: Spider) -> None:
        try:
            if WORKERS.give_back(self.workers):
                await self.workers.close()
            if left := await self._withdrawals.finish():
                logger.warning(
                    "Pages whose callback failed are still in the index: %(n)d. So no page of "
                    "this crawl counts as passed on, and none will be skipped as unchanged",
                    {"n": left},
                    extra={"spider": spider},
                )
            else:
                await self.index.end_crawl(self._crawl)
        finally:
            if INDEXES.give_back(self.index):
                await self.index.close()

    def spider_error(self, response: Response, spider: Spider) -> None:
        """Take back a page that a callback failed on: it must not stand for its copies."""
        request = getattr(response, "request", None)  # for an errback, this is a Failure
        if request is None:
            return
        decision = request.meta.get(DECISION_META_KEY)
        if decision is None or decision.is_duplicate:
            return
        scope = scope_key(self.settings.scope, response.url, self.spider_name)
        request_fingerprint = self.crawler.request_fingerprinter.fingerprint(request)
        # The signal waits for nobody.
        self._withdrawals.begin(FailedPage(scope, request_fingerprint, decision, response.url))

    async def _expire(self, spider: Spider) -> None:
        """Forget what was judged too long ago."""
        if self.settings.expire_days is None:
            return
        try:
            before = time.time() - self.settings.expire_days * SECONDS_A_DAY
            expired = await self.index.expire(before)
        except IndexUnavailableError as exc:
            logger.warning("Old pages stay: %(error)s", {"error": exc}, extra={"spider": spider})
        else:
            logger.info("%(n)d old pages forgotten", {"n": expired}, extra={"spider": spider})

    def process_request(self, request: Request) -> None:
        """Forget the verdict of the page that a copied meta came from."""
        request.meta.pop(DECISION_META_KEY, None)
        self._reach.hand([request.url])

    async def process_response(self, request: Request, response: Response) -> Response:
        if request.callback is NO_CALLBACK:
            return response
        decision, record = await self._judge(request, response)
        self.crawler.signals.send_catch_log(
            signals.page_judged, record=record, response=response, spider=self.crawler.spider
        )
        if record.action == "drop":
            raise self._dropped(response, decision)
        (response.request or request).meta[DECISION_META_KEY] = decision
        if record.action == "flag":
            response.flags = [*response.flags, FLAG]
        return response

    async def _judge(self, request: Request, response: Response) -> tuple[Decision, Record]:
        """Return the decision on a page and its record; one that cannot be judged is ``skipped``.

        The shares in the record are rounded; those in the decision, which the spider gets, are not.
        """
        record = partial(
            Record.of,
            url=response.url,
            body_bytes=len(response.body),
            is_start_request=is_start_request(request),
            redirects=redirects_in(request.meta),
        )
        if reason := why_not(request, response, self.settings):
            decision = Decision("skipped", reason)
            return decision, record(decision)
        try:
            fetched = Fetched(
                response.url,
                response.body,
                getattr(response, "encoding", None),
                self.crawler.request_fingerprinter.fingerprint(request),
            )
            page, analysis = await self.pipeline.page(
                fetched, self.workers, self.index.template, self.spider_name, self._crawl
            )
            started = time.perf_counter()
            await self._withdrawals.wait()
            decision = await self.index.check_and_add(page)
            if decision.is_duplicate and self._leads_on(analysis, page.url, decision):
                await self.index.keep(page)
                decision = Decision("unique", "new_links", closest=near_miss_of(decision))
            elif decision.verdict == "unique":
                self._reach.note_unique(page.url)
        except AnalysisError as exc:
            if exc.reason == "no_text":
                decision = Decision("skipped", "no_text")
                return decision, record(decision)
            decision = self._failed(response, exc.reason, exc)
            return decision, record(decision, error=str(exc))
        except IndexUnavailableError as exc:
            decision = self._failed(response, "index_unavailable", exc)
            return decision, record(decision, error=str(exc))
        except Exception as exc:  # a mistake of ours may cost a verdict, never a page
            logger.debug("Error in scrapy-simhash", exc_info=True)
            decision = self._failed(response, "internal_error", exc)
            return decision, record(decision, error=repr(exc))
        action = action_on(decision, request, self.settings)
        if action == "pass" or (action == "flag" and self.settings.follow_duplicate_links):
            self._reach.hand([response.url, *(analysis.links or ())])
        return decision, record(
            decision,
            action=action,
            analysis=analysis,
            index_seconds=time.perf_counter() - started,
        )

    def _leads_on(self, analysis: PageAnalysis, url: str, decision: Decision) -> bool:
        """Whether a duplicate links to what the spider has not been handed: it is kept then."""
        if not self.settings.verify or decision.representative is None:
            return False
        if analysis.links is None:  # too many to compare
            return True
        return self._reach.leads_on(
            analysis.links, url, decision.representative, decision.kept_links
        )

    def _dropped(self, response: Response, decision: Decision) -> IgnoreRequest:
        """Log that a page is dropped, and return what its errback gets."""
        extra = {"spider": self.crawler.spider}
        if decision.is_unchanged:
            logger.debug("Dropped unchanged %(response)s", {"response": response}, extra=extra)
            return UnchangedPage(response.url, decision)
        logger.debug(
            "Dropped near-duplicate %(response)s: representative %(representative)s, "
            "distance %(distance)d",
            {
                "response": response,
                "representative": decision.representative,
                "distance": decision.distance,
            },
            extra=extra,
        )
        return NearDuplicate(response.url, decision)

    def _failed(self, response: Response, reason: Reason, exc: Exception) -> Decision:
        """Warn of a page that the plug-in failed on, and let it pass."""
        self._failures.setdefault(reason, RareWarning(logger)).log(
            f"Page passed unjudged ({reason}): {response.url}: {exc}",
            extra={"spider": self.crawler.spider},
        )
        return Decision("skipped", reason)


def why_not(request: Request, response: Response, settings: SimhashSettings) -> Reason | None:
    """Return the reason for which a page is not judged, None where it is."""
    wish = request.meta.get(META_KEY)
    if wish is False:
        return "opt_out"
    if not 200 <= response.status < 300:
        return "status"
    if not isinstance(response, HtmlResponse) or not _looks_like_text(response):
        return "not_html"
    if len(response.body) > settings.max_body_bytes:
        return "too_large"
    if wish not in (None, True, *ACTIONS):
        return "bad_meta"
    return None


def action_on(decision: Decision, request: Request, settings: SimhashSettings) -> Action:
    """Return what becomes of a judged page."""
    if settings.protect_start_requests and is_start_request(request):
        return "pass"
    wish = request.meta.get(META_KEY)
    action = _ACTION_TAKEN[wish if wish in ACTIONS else settings.action]
    if settings.skip_unchanged and decision.is_unchanged and action == "drop":
        return "drop"
    return action if decision.is_duplicate else "pass"


def near_miss_of(decision: Decision) -> NearMiss | None:
    """Return the kept page of a duplicate, as what a unique page comes near."""
    if decision.representative is None:
        return None
    share = 1.0 if decision.share is None else decision.share
    return NearMiss(share, decision.distance or 0, decision.representative)


def is_start_request(request: Request) -> bool:
    """Whether a request is one that the crawl starts from.

    Scrapy marks those in their meta; where a spider copies the meta of a response into its
    requests, the mark comes along, but then their depth is above 0.
    """
    return bool(request.meta.get("is_start_request")) and not request.meta.get("depth")


def _looks_like_text(response: HtmlResponse) -> bool:
    """Whether a body that claims to be HTML can be; UTF-16 and UTF-32 text holds NULs."""
    if response.encoding.startswith(("utf-16", "utf-32")):
        return True
    start = response.body[:_SNIFFED_BYTES]
    return len(start.translate(None, _BINARY_BYTES)) == len(start)
