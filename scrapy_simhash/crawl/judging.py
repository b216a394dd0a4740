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

from scrapy_simhash.analysis.page import Analyser, AnalysisError, PageAnalysis
from scrapy_simhash.crawl import signals
from scrapy_simhash.crawl.dropped import NearDuplicate, UnchangedPage
from scrapy_simhash.crawl.log import RareWarning
from scrapy_simhash.crawl.redirects import redirects_in
from scrapy_simhash.crawl.setup import active_settings, index_place
from scrapy_simhash.crawl.shared import Shared
from scrapy_simhash.crawl.withdrawals import FailedPage, Withdrawals
from scrapy_simhash.errors import IndexUnavailableError, SettingsError
from scrapy_simhash.index import Decision, Page, Parameters, open_index
from scrapy_simhash.report.judgement import Action, Judgement
from scrapy_simhash.rule.scope import canonical_url, host_of, scope_key
from scrapy_simhash.settings import ACTIONS, SimhashSettings
from scrapy_simhash.workers.pool import InProcess, WorkerProcesses, Workers
from scrapy_simhash.workers.recall import RecallingWorkers

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.exceptions import IgnoreRequest
    from scrapy.http import Request, Response
    from typing_extensions import Self

    from scrapy_simhash.index import Index

logger = logging.getLogger(__name__)

# Spiders that run in one process at the same time share what they ask for alike.
_workers: Shared[Workers] = Shared()
_indexes: Shared[Index] = Shared()

META_KEY = "simhash"
DECISION_META_KEY = "simhash_decision"
FLAG = "near-duplicate"

_ACTION_TAKEN: dict[str, Action] = {"drop": "drop", "flag": "flag", "observe": "pass"}

# Verification needs many candidates, and the plain rule few (docs/quality.md).
VERIFIED_DISTANCE = 7
PLAIN_DISTANCE = 3

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
    :class:`~scrapy_simhash.index.contract.Decision`.

    A dropped page is logged as follows, and its request's errback gets a
    :class:`~scrapy_simhash.crawl.dropped.NearDuplicate`::

        DEBUG: Dropped near-duplicate <200 http://a.example/print>:
        representative http://a.example/, distance 1

    Whatever fails, the page passes on and is counted under ``simhash/skipped/<reason>``.
    """

    def __init__(
        self, crawler: Crawler, settings: SimhashSettings, workers: Workers, index: Index
    ) -> None:
        self.crawler = crawler
        self.spider_name = crawler.spidercls.name
        self.settings = settings
        self.workers = workers
        self.index = index
        self._crawl: int | None = None
        self._failures: dict[str, RareWarning] = {}
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
        analyser = analyser_of(settings)
        parameters = parameters_of(settings, analyser)
        place = index_place(settings, crawler)
        index = _indexes.take(
            (place, parameters), lambda: open_index(place, parameters, settings.expected_pages)
        )
        workers = _workers.take(
            (analyser, settings.workers, settings.page_timeout, settings.max_waiting),
            lambda: workers_for(analyser, settings),
        )
        middleware = cls(crawler, settings, workers, index)
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
                "kept": await self.index.aside(self.index.__len__),
                "index": self.index,
            },
            extra={"spider": spider},
        )
        self._crawl = await self.index.aside(partial(self.index.begin_crawl, self.spider_name))
        await self._expire(spider)

    async def spider_closed(self, spider: Spider) -> None:
        try:
            if _workers.give_back(self.workers):
                await self.workers.close()
            if left := await self._withdrawals.finish():
                logger.warning(
                    "Pages whose callback failed are still in the index: %(n)d. So no page of "
                    "this crawl counts as passed on, and none will be skipped as unchanged",
                    {"n": left},
                    extra={"spider": spider},
                )
            else:
                await self.index.aside(partial(self.index.end_crawl, self._crawl))
        finally:
            if _indexes.give_back(self.index):
                await self.index.aside(self.index.close)

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
            expired = await self.index.aside(partial(self.index.expire, before))
        except IndexUnavailableError as exc:
            logger.warning("Old pages stay: %(error)s", {"error": exc}, extra={"spider": spider})
        else:
            logger.info("%(n)d old pages forgotten", {"n": expired}, extra={"spider": spider})

    def process_request(self, request: Request) -> None:
        """Forget the verdict of the page that a copied meta came from."""
        request.meta.pop(DECISION_META_KEY, None)

    async def process_response(self, request: Request, response: Response) -> Response:
        if request.callback is NO_CALLBACK:
            return response
        judgement = await self._judge(request, response)
        self.crawler.signals.send_catch_log(
            signals.page_judged, judgement=judgement, response=response, spider=self.crawler.spider
        )
        if judgement.action == "drop":
            raise self._dropped(response, judgement.decision)
        (response.request or request).meta[DECISION_META_KEY] = judgement.decision
        if judgement.action == "flag":
            response.flags = [*response.flags, FLAG]
        return response

    async def _judge(self, request: Request, response: Response) -> Judgement:
        """Return the verdict on a page; one that cannot be judged is ``skipped``."""
        judgement = partial(
            Judgement,
            url=response.url,
            body_bytes=len(response.body),
            is_start_request=is_start_request(request),
            redirects=redirects_in(request.meta),
        )
        if reason := self._why_not(request, response):
            return judgement(decision=Decision("skipped", reason))
        try:
            analysis = await self.workers.analyse(
                response.body,
                getattr(response, "encoding", None),
                response.url,
                self.index.templates.blocks(host_of(response.url)),
            )
            if not analysis.tokens and analysis.content is None:
                return judgement(decision=Decision("skipped", "no_text"))
            started = time.perf_counter()
            await self._withdrawals.wait()
            page = self._page(request, response, analysis)
            decision = await self.index.check_and_add_async(page)
        except AnalysisError as exc:
            return judgement(decision=self._failed(response, exc.reason, exc), error=str(exc))
        except IndexUnavailableError as exc:
            decision = self._failed(response, "index_unavailable", exc)
            return judgement(decision=decision, error=str(exc))
        except Exception as exc:  # a mistake of ours may cost a verdict, never a page
            logger.debug("Error in scrapy-simhash", exc_info=True)
            decision = self._failed(response, "internal_error", exc)
            return judgement(decision=decision, error=repr(exc))
        return judgement(
            decision=decision,
            action=self._action(request, decision),
            analysis=analysis,
            index_seconds=time.perf_counter() - started,
        )

    def _why_not(self, request: Request, response: Response) -> str | None:
        """Return the reason for which the page is not judged, None where it is."""
        wish = request.meta.get(META_KEY)
        if wish is False:
            return "opt_out"
        if not 200 <= response.status < 300:
            return "status"
        if not isinstance(response, HtmlResponse) or not _looks_like_text(response):
            return "not_html"
        if len(response.body) > self.settings.max_body_bytes:
            return "too_large"
        if wish not in (None, True, *ACTIONS):
            return "bad_meta"
        return None

    def _page(self, request: Request, response: Response, analysis: PageAnalysis) -> Page:
        return page_of(
            analysis,
            response.url,
            self.crawler.request_fingerprinter.fingerprint(request),
            scope_key(self.settings.scope, response.url, self.spider_name),
            self._crawl,
        )

    def _action(self, request: Request, decision: Decision) -> Action:
        """Return what becomes of a judged page."""
        protected = self.settings.protect_start_requests and is_start_request(request)
        wish = request.meta.get(META_KEY)
        action = _ACTION_TAKEN[wish if wish in ACTIONS else self.settings.action]
        if protected:
            return "pass"
        if self.settings.skip_unchanged and decision.is_unchanged and action == "drop":
            return "drop"
        return action if decision.is_duplicate else "pass"

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

    def _failed(self, response: Response, reason: str, exc: Exception) -> Decision:
        """Warn of a page that the plug-in failed on, and let it pass."""
        self._failures.setdefault(reason, RareWarning(logger)).log(
            f"Page passed unjudged ({reason}): {response.url}: {exc}",
            extra={"spider": self.crawler.spider},
        )
        return Decision("skipped", reason)


def workers_for(analyser: Analyser, settings: SimhashSettings) -> Workers:
    """Return what analyses the pages of a crawl."""
    workers: Workers = (
        WorkerProcesses(analyser, settings.workers, settings.page_timeout, settings.max_waiting)
        if settings.workers
        else InProcess(analyser)
    )
    return RecallingWorkers(workers, url_counts=analyser.reads_urls)


def is_start_request(request: Request) -> bool:
    """Whether a request is one that the crawl starts from.

    Scrapy marks those in their meta; where a spider copies the meta of a response into its
    requests, the mark comes along, but then their depth is above 0.
    """
    return bool(request.meta.get("is_start_request")) and not request.meta.get("depth")


def analyser_of(settings: SimhashSettings) -> Analyser:
    """Return what analyses the pages of a crawl.

    :raises SettingsError: no such extractor or features.
    """
    return Analyser.create(
        settings.extractor,
        settings.features,
        settings.stop_words,
        settings.idf,
        settings.verify,
        settings.max_tags,
        settings.max_depth,
    )


def parameters_of(settings: SimhashSettings, analyser: Analyser) -> Parameters:
    """Return what the index of a crawl must be built for."""
    return Parameters(
        scheme=analyser.identity,
        scope=settings.scope,
        distance=distance_of(settings),
        min_tokens=settings.min_tokens,
        share=settings.share if settings.verify else None,
    )


def page_of(
    analysis: PageAnalysis,
    url: str,
    request_fingerprint: bytes,
    scope: str,
    crawl: int | None = None,
) -> Page:
    """Return a page that was analysed as an index sees it."""
    content = analysis.content
    return Page(
        url=url,
        request_fingerprint=request_fingerprint,
        scope=scope,
        fingerprint=analysis.fingerprint,
        digest=analysis.digest,
        tokens=analysis.tokens,
        judged_at=time.time(),
        crawl=crawl,
        content_fingerprint=None if content is None else content.fingerprint,
        sketch=None if content is None else content.sketch,
        site=host_of(url),
        blocks=() if content is None else content.blocks,
        canonical=canonical_url(url, analysis.canonical),
    )


def distance_of(settings: SimhashSettings) -> int:
    """Return how far candidates may be: further where they are verified."""
    if settings.distance is not None:
        return settings.distance
    return VERIFIED_DISTANCE if settings.verify else PLAIN_DISTANCE


def _looks_like_text(response: HtmlResponse) -> bool:
    """Whether a body that claims to be HTML can be; UTF-16 and UTF-32 text holds NULs."""
    if response.encoding.startswith(("utf-16", "utf-32")):
        return True
    start = response.body[:_SNIFFED_BYTES]
    return len(start.translate(None, _BINARY_BYTES)) == len(start)
