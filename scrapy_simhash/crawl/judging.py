"""The downloader middleware: one page's way to its verdict."""

from __future__ import annotations

import asyncio
import logging
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from cachetools import FIFOCache
from scrapy import Request
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import is_asyncio_available

from scrapy_simhash.analysis.analyser import PageAnalysis, leading_headers
from scrapy_simhash.crawl import signals
from scrapy_simhash.crawl.choices import (
    DECISION_META_KEY,
    META_KEY,
    CarefulPolicy,
    is_inline,
    policy_of,
    why_not,
)
from scrapy_simhash.crawl.exceptions import NearDuplicate, UnchangedPage
from scrapy_simhash.crawl.reach import OTHER_PAGES, Party, Reach, decide, with_links
from scrapy_simhash.crawl.requests import (
    LED_FROM_META_KEY,
    OWN_META_KEY,
    RequestVariants,
    close_browser_page,
    is_start_request,
    mark_posted,
    redirects_in,
)
from scrapy_simhash.crawl.run import WORKERS, CrawlRun, JobState, Withdrawals, spider_name
from scrapy_simhash.crawl.setup import (
    PARTS,
    Parts,
    RareWarning,
    active_settings,
    parts_of,
    say_what_is_between,
    spare_the_collector,
)
from scrapy_simhash.crawl.validators import Validators, validators_of
from scrapy_simhash.crawl.visits import FirstVisit, KeptPages, SecondVisits
from scrapy_simhash.crawl.walls import (
    ASKED_AGAIN_META_KEY,
    MOST_ASKED,
    DroppedPage,
    DroppedRequests,
    Walls,
)
from scrapy_simhash.decision.cuts import with_stripped
from scrapy_simhash.decision.holdings import Addresses
from scrapy_simhash.decision.page import Decision, Page
from scrapy_simhash.errors import AnalysisError, IndexUnavailableError, SettingsError
from scrapy_simhash.pipeline import Fetched
from scrapy_simhash.report.record import Action, Record
from scrapy_simhash.settings import ITEMS
from scrapy_simhash.urls import section_of
from scrapy_simhash.workers.pool import Workers

if TYPE_CHECKING:
    from typing_extensions import Self

    from scrapy_simhash.crawl.rules import SimhashRulesMiddleware

logger = logging.getLogger(__name__)

T = TypeVar("T")

FLAG = "near-duplicate"
VARIANT_FLAG = "variant"
REPLACES_FLAG = "replaces"
# So many pages wait for a request of their callback.
MAX_UNHANDED = 100
# Of so many pages it is remembered that a link of theirs, or below them, was asked for in vain, and
# of a request, which pages led to it: so many, the last first.
MAX_IN_VAIN = 10_000
MOST_LED_FROM = 50
# A look at what was dropped holds for so long; Scrapy tells every five seconds of an idle spider.
LOOK_SECONDS = 10.0
# The page is gone, which is an answer.
GONE = (404, 410)


class SimhashDownloaderMiddleware:
    """Judge each HTML page that a spider is to get, and drop or flag the near-duplicates.

    Meta key ``simhash`` of a request: ``False`` leaves its page alone, ``"drop"``, ``"flag"``
    and ``"observe"`` take the place of ``SIMHASH_ACTION``.  Meta key ``simhash_decision`` of a
    response that was judged and passed on: its
    :class:`~scrapy_simhash.decision.page.Decision`.

    A dropped page is logged as follows, and its request's errback gets a
    :class:`~scrapy_simhash.crawl.exceptions.NearDuplicate`::

        DEBUG: Dropped: http://a.example/print is a near-duplicate of http://a.example/ (distance 1)

    Whatever fails, the page passes on and is counted under ``simhash/skipped/<reason>``.
    """

    def __init__(
        self, crawler: Crawler, parts: Parts, workers: Workers, policy: CarefulPolicy
    ) -> None:
        self.crawler = crawler
        self.spider_name = spider_name(crawler)
        self._parts = parts
        self.pipeline = parts.pipeline
        self.index = parts.index
        self._facts = parts.facts
        self.settings = parts.pipeline.settings
        self.workers = workers
        self._run = CrawlRun(crawler, self.index, self.settings)
        self._request_variants = RequestVariants(self._facts)
        self._policy = policy
        self._reach = Reach(crawler.settings.getint("CONCURRENT_REQUESTS"))
        # What is on pages that passed to callbacks which had made no request yet, by their URLs.
        self._unhanded: FIFOCache[str, tuple[Addresses, Party]] = FIFOCache(MAX_UNHANDED)
        self._visits = SecondVisits(crawler, self.index, self.settings.probes)
        self._kept = KeptPages(self._store_again)
        compares_values = self.settings.verifies and self.settings.takes == ITEMS
        # A run that is killed leaves what the one before it has left.
        self._state: JobState[tuple[list[Any], dict[str, Any], bool]] = JobState(crawler, "walls")
        dropped, known, is_more = self._state.load() or ([], {}, False)
        self._dropped = DroppedRequests(crawler, dropped)
        self._walls = None
        if self.settings.walls == "pass":
            self._walls = Walls(crawler, self._dropped, compares_values, known)
        asks = self.settings.skip_unchanged and self.settings.policy is None
        self._validators = Validators(crawler, parts, policy, self._run) if asks else None
        self._look: asyncio.Future[None] | None = None
        self._looked_until = 0.0
        self._log = logging.LoggerAdapter(logger, {"spider": crawler.spider})
        # One for each reason, and one for the rules.
        self._warnings: dict[str, RareWarning] = defaultdict(partial(RareWarning, logger, crawler))
        # Whether any request has an errback, and whether it was said that a dropped one has none.
        self._has_errbacks = self._is_errback_missed = False
        # Pages whose links had no answer, and all that led to them: these are asked for in the next
        # crawl, too; and whether some that led to them are not known.
        self._in_vain: set[tuple[str, str]] = set()
        self._is_more_in_vain = is_more
        self._withdrawals = Withdrawals(
            self.index, partial(crawler.stats.inc_value, "simhash/withdrawn")
        )

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = active_settings(crawler)
        if not is_asyncio_available():
            raise SettingsError(
                "TWISTED_REACTOR must be the asyncio reactor, as it is by default: "
                f"got {crawler.settings['TWISTED_REACTOR']!r}"
            )
        policy = policy_of(settings, crawler)
        parts = parts_of(crawler, settings)
        workers = WORKERS.take(parts.pipeline.shared_by, parts.pipeline.workers)
        middleware = cls(crawler, parts, workers, policy)
        crawler.signals.connect(middleware.spider_opened, scrapy_signals.spider_opened)
        crawler.signals.connect(middleware.spider_closed, scrapy_signals.spider_closed)
        crawler.signals.connect(middleware.spider_idle, scrapy_signals.spider_idle)
        crawler.signals.connect(middleware.page_failed, scrapy_signals.spider_error)
        crawler.signals.connect(middleware.item_scraped, scrapy_signals.item_scraped)
        crawler.signals.connect(middleware.item_dropped, scrapy_signals.item_dropped)
        crawler.signals.connect(middleware.item_refused, scrapy_signals.item_error)
        return middleware

    async def spider_opened(self) -> None:
        self.workers.start()
        with suppress(IndexUnavailableError):  # the first page tries again
            await self._run.current()
            self._log.info(
                "Near-duplicates: %(action)s; kept before: %(kept)d pages in %(index)s",
                {
                    "action": self.settings.action,
                    "kept": (await self.index.counts()).kept,
                    "index": self.index,
                },
            )
        say_what_is_between(self.crawler, self)
        spare_the_collector()

    def spider_idle(self) -> None:
        """Before a crawl of several processes ends, look for what was dropped in the index.

        :raises DontCloseSpider: until that is done.
        """
        copies = self._dropped.copies() if self._run.is_shared else []
        if not copies or monotonic() < self._looked_until:
            return
        if self._look is None or self._look.done():
            self._look = asyncio.ensure_future(self._look_for(copies))
        raise DontCloseSpider

    async def _look_for(self, copies: list[DroppedPage]) -> None:
        """Ask again for those for which no kept page stands by now, or if the index does not say.

        Another process has taken it back, or has met something else there.  Cost: two look-ups for
        each, of at most :data:`.MAX_DROPPED`.
        """
        try:
            for one in copies:
                has_page = False
                with suppress(IndexUnavailableError):
                    run = await self._run.current()
                    has_page = await self.index.stands_for(*one.key, run.crawl)
                if not has_page:
                    self._dropped.ask_for(one)
        finally:
            self._looked_until = monotonic() + LOOK_SECONDS

    async def spider_closed(self, reason: str) -> None:
        if self._look is not None:
            self._look.cancel()
        try:
            await WORKERS.give_back(self.workers)
            left = await self._withdrawals.finish(self._in_vain)
            # What was not asked for by now is only reached if its pages are passed on once more.
            is_done = reason == "finished"
            delivered = is_done and not left and not self._is_more_in_vain
            await self._run.end(delivered, is_done)
            if is_done:
                self._state.remove()
            else:
                known = {} if self._walls is None else self._walls.state()
                self._state.save((self._dropped.state(), known, self._is_more_in_vain))
            if left:
                self._log.warning(
                    "Pages that could not be used are still in the index: %(n)d. So no page of "
                    "this crawl counts as passed on, and none will be skipped as unchanged",
                    {"n": left},
                )
        finally:
            await PARTS.give_back(self._parts)

    def item_scraped(self, response: Response) -> None:
        """Note that pipelines have accepted an item."""
        self._dropped.note_item(response, is_refused=False)

    def item_dropped(self, item: Any, response: Response) -> None:
        """Take back a page of which a pipeline dropped an item, if the policy has it so.

        Its copies are not asked for again if that has been in vain.
        """
        self._dropped.note_item(response, is_refused=True)
        self.item_refused(item, response, asks=not self._dropped.is_in_vain)

    def item_refused(self, item: Any, response: Response, asks: bool = True) -> None:
        """Take back a page of which a pipeline refused an item, if the policy has it so."""
        if self._policy.takes_back(item, response):
            self.page_failed(response, asks)

    def page_failed(self, response: Response, asks: bool = True) -> None:
        """Take back a page on which a callback failed: it must not stand for its copies.

        *asks*: for those that were dropped before.
        """
        request = getattr(response, "request", None)  # for an errback, this is a Failure
        if request is None:
            return
        if getattr(response, "status", 0) not in GONE:
            self._note_failed(request)
        decision = request.meta.get(DECISION_META_KEY)
        if decision is not None:
            self._take_back(request, response, decision, asks)

    def _take_back(
        self, request: Request, response: Response, decision: Decision, asks: bool = True
    ) -> None:
        """Begin to take a page back, if it stands for others; the signal waits for nobody."""
        if decision.stands_for_others:
            if asks:
                self._dropped.take_back(response.url)
            self._tell(lambda rules: rules.page_taken_back(request, response.url))
            self._withdrawals.begin(*self._key(request, response), decision, response.url)

    def _key(self, request: Request, response: Response) -> tuple[str, bytes]:
        """Return the scope and the request fingerprint of a page, by which the index has it."""
        asker = self._facts.of(request).asker
        scope = self.pipeline.scope_of(response.url, self.spider_name, asker, self._run.begun)
        return scope, self.crawler.request_fingerprinter.fingerprint(request)

    def process_request(self, request: Request) -> Coroutine[Any, Any, None] | None:
        """Forget the verdict of the page that a copied meta came from.

        A request that no page led to is a start request, as those of a queue are.  One for a known
        page may ask whether that has changed.
        """
        request.meta.pop(DECISION_META_KEY, None)
        self._facts.read(request)
        mark_posted(request)
        self._has_errbacks |= request.errback is not None
        if is_inline(request):  # it says nothing of what the spider got, or tries again
            return None
        if "depth" not in request.meta:
            request.meta.setdefault("is_start_request", True)
        if self._walls is not None and OWN_META_KEY not in request.meta:
            self._walls.note_request(request)
        addresses = self._addresses_of(request.url)
        self._reach.meet(addresses)
        self._reach.note_asked(addresses, self._facts.asking(request))
        return None if self._validators is None else self._validators.prepare(request)

    def note_link(self, request: Request, response: Response) -> None:
        """Note that a callback has made a request of its page, which is sent."""
        self._facts.note_made(request, response)
        if self.settings.skip_unchanged and response.request is not None and self._run.begun:
            scope, request_fingerprint = self._key(response.request, response)
            before = response.request.meta.get(LED_FROM_META_KEY, ())
            led_from = [(scope, request_fingerprint.hex()), *before][:MOST_LED_FROM]
            request.meta[LED_FROM_META_KEY] = led_from
        unhanded = self._unhanded.pop(response.url, None)
        if unhanded is not None and response.request and self._facts.leads_on(response.request):
            addresses, party = unhanded
            self._reach.hand_all(addresses, response.url, party)
        asked = self._addresses_of(request.url)
        self._reach.note_asked(asked, self._facts.asking(request))
        if self._walls is not None:
            self._walls.note_origin(request, response, lambda: not self._reach.unmet(asked))

    def _note_failed(self, request: Request) -> None:
        """Note that there is no answer to a request, or none of use, that pages have led to."""
        led_from = request.meta.get(LED_FROM_META_KEY, ())
        if len(self._in_vain) < MAX_IN_VAIN:
            self._in_vain.update(map(tuple, led_from))
        is_full = len(self._in_vain) >= MAX_IN_VAIN
        self._is_more_in_vain |= is_full or len(led_from) == MOST_LED_FROM

    def note_cut(self, request: Request) -> None:
        """Note that a request of a callback is not sent, since it is too deep."""
        self._reach.take_back(self._addresses_of(request.url))

    def _addresses_of(self, url: str) -> list[str]:
        """Return an address, and what it is without the parameters that change by themselves."""
        learned = self.index.learned
        if not learned.noises.is_noisy():
            return [url]
        return with_stripped(url, learned.noises.of(section_of(url)).cuts.parameters)

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Go on without the answer to a request, which may be one of the plug-in's own."""
        self._tell(lambda rules: rules.request_ended(request, None))
        if (number := request.meta.get(OWN_META_KEY)) is not None:
            self._tell(lambda rules: rules.dead_ends.answered(number, None, None))
            raise IgnoreRequest(f"no answer to {request}, which the plug-in sent: {exception}")
        if not isinstance(exception, IgnoreRequest):
            self._note_failed(request)

    async def process_response(self, request: Request, response: Response) -> Response | Request:
        if (number := request.meta.get(OWN_META_KEY)) is not None:
            await self._take_own(number, request, response)
            raise IgnoreRequest(f"{response.url} was asked for by the plug-in")
        if request.callback is NO_CALLBACK:
            return response
        known = await self._validators.answer(request, response) if self._validators else None
        if isinstance(known, Request):
            return known
        refuted, taken_back = self._refuted(response.url), self._dropped.taken_back
        decision, record = (
            await self._judge(request, response) if known is None else self._met(request, *known)
        )
        self._note_led_to(request, response, decision)
        if decision.reason == "status" and response.status not in GONE:
            self._note_failed(request)
        self._tell(lambda rules: rules.request_ended(request, decision))
        if record.action == "drop" and not is_inline(request):  # who waits for it has its answer
            # Before the signal: the alarm that it raises asks again for what was dropped.
            await self._note_dropped(request, response, decision, refuted, taken_back)
        self.crawler.signals.send_catch_log(
            signals.page_judged, record=record, response=response, spider=self.crawler.spider
        )
        if record.action == "drop":
            if not decision.is_unchanged:
                self._take_back(request, response, decision)  # a policy dropped a page of its own
            if not await close_browser_page(request):
                self.crawler.stats.inc_value("simhash/browser_pages_left_open")
            raise self._dropping(request, response, decision)
        (response.request or request).meta[DECISION_META_KEY] = decision
        if record.action == "flag" or decision.reason == "wall":
            response.flags = [*response.flags, FLAG]
        elif decision.verdict == "variant":
            response.flags = [*response.flags, VARIANT_FLAG]
        elif decision.replaces is not None:
            response.flags = [*response.flags, REPLACES_FLAG]
        return response

    def _note_led_to(self, request: Request, response: Response, decision: Decision) -> None:
        """Note what links led to by a redirect, and those that led to no page, but to a file."""
        is_file = decision.verdict == "skipped" and response.status // 100 == 2
        is_gone = response.status in GONE
        for url in (request.url, *redirects_in(request.meta)):
            self._reach.note_answer(url, is_gone)
        if is_gone:
            self._reach.note_judged(self._addresses_of(request.url), is_same=True)
        if is_file or decision.is_duplicate or decision.reason in OTHER_PAGES:
            for url in (*redirects_in(request.meta), *[response.url] * is_file):
                is_same = decision.is_duplicate
                self._reach.note_judged(self._addresses_of(url), is_same, by_text=not is_same)

    def _met(self, request: Request, page: Page, decision: Decision) -> tuple[Decision, Record]:
        """Note that a page is unchanged, as its server says; return the decision and its record."""
        self._reach.note_unique(page.url)
        self._tell(lambda rules: rules.page_decided(request, page, decision, 0))
        record = partial(Record.of, redirects=redirects_in(request.meta))
        return decision, record(decision, url=page.url, body_bytes=0, action="drop")

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
        if reason := why_not(self.settings, request, response):
            if reason == "bad_meta":
                wish = request.meta[META_KEY]
                message = f"The meta key 'simhash' must be False, True or an action: got {wish!r}"
                self._warnings[reason].log(f"{message}, in {request}")
            decision = Decision("skipped", reason)
            return decision, record(decision)
        error: str | None
        try:
            fetched = self._fetched(request, response)
            page, analysis = await self._analysed(fetched)
            started = time.perf_counter()
            await self._withdrawals.wait()
            if is_inline(request):  # it stands for no other: the code that waits may use a part
                decision = await self.index.check(page)
                action = self._policy.action(request, response, decision)
                if self._walls is not None:
                    self._walls.note_inline(request, decision)
            else:
                decision, action = await self._decide(request, response, fetched, page, analysis)
        except AnalysisError as exc:
            reason, error = exc.reason, str(exc)
        except IndexUnavailableError as exc:
            reason, error = "index_unavailable", str(exc)
        except Exception as exc:  # a mistake of ours may cost a verdict, never a page
            logger.debug("Error in scrapy-simhash", exc_info=True)
            reason, error = "internal_error", repr(exc)
        else:
            seconds = time.perf_counter() - started
            return decision, record(
                decision, action=action, analysis=analysis, index_seconds=seconds
            )
        decision = Decision("skipped", reason)
        if reason == "no_text":
            return decision, record(decision)
        message = f"Page passed unjudged ({reason}): {response.url}: {error}"
        if reason == "index_unavailable":
            message += ". Pages pass until it answers again, which each of them tries"
        self._warnings[reason].log(message)
        return decision, record(decision, error=error)

    async def _decide(
        self,
        request: Request,
        response: Response,
        fetched: Fetched,
        page: Page,
        analysis: PageAnalysis,
    ) -> tuple[Decision, Action]:
        """Return the decision on a page that the spider may get, and what is done with it."""
        await self._kept.read_again(page)
        party = _party_of(fetched)
        decision, by_text = await decide(self.index, self._reach, page, party)
        if self._walls is not None:
            decision = self._walls.seen(request, page, decision)
        decision = self._facts.told(request, decision)
        self._request_variants.note(request, decision)
        seen = request, page, decision, analysis.gist, self._reach.unmet
        # If it may be a page that is missing, a second visit would teach nothing.
        if not self._tell(lambda rules: rules.dead_ends.learn(*seen)):
            self._visits.consider(request, response, page, decision)
        action = self._policy.action(request, response, decision)
        leads_on = action == "pass" and self._facts.leads_on(request)
        if action == "pass":
            self._reach.meet(self._addresses_of(response.url))
        if leads_on:
            self._reach.hand_all(page.holds.addresses, page.url, party)
        elif action == "pass":
            self._unhanded[response.url] = page.holds.addresses, party
            self._reach.hand_styles(page.holds.addresses, page.url, party)
        if decision.stands_for_others and self.settings.probes:
            self._kept.note(fetched, page, leads_on)
        size = len(response.body)
        self._tell(lambda rules: rules.page_decided(request, page, decision, size))
        await self.index.learn(page, by_text)
        if self._validators is not None:
            await self._validators.look(request, page, decision)
        if action == "drop" and self._walls is not None and decision.is_duplicate:
            # It may have become known while others were waited for: nobody asks for this page then.
            decision = self._walls.seen_again(request, page, decision)
            action = self._policy.action(request, response, decision)
        return decision, action

    async def _take_own(self, number: str, request: Request, response: Response) -> None:
        """Learn from the answer to a request of the plug-in's own, a second visit or a question.

        If anything fails, only a lesson is lost.
        """
        page = gist = None
        if not why_not(self.settings, request, response):
            with suppress(Exception):  # a page that cannot be analysed says nothing
                fetched = self._fetched(request, response)
                page, analysis = await self._analysed(fetched, is_urgent=True)
                gist = analysis.gist
        first = self._visits.first(number)
        if first is None:
            self._tell(lambda rules: rules.dead_ends.answered(number, page, gist))
        elif page is not None:
            await self._compare(first, page, response)

    async def _compare(self, first: FirstVisit, page: Page, response: Response) -> None:
        """Learn from the second visit to a page what changes by itself."""
        try:
            noises = self.index.learned.noises
            refuted = noises.refuted()
            compare = partial(self._visits.compare, first, page, response)
            if changed := await compare(self.pipeline.analyser, self.workers):
                self._kept.note_noise(changed)
                self._reach.start_trials_over()
                self._tell(lambda rules: rules.noise_learned(page.url))
            for section, number in noises.refuted().items():
                if number > refuted.get(section, 0):
                    await self._judge_again(self._dropped.cut_in(section))
        except Exception:
            logger.debug("A second visit taught nothing", exc_info=True)

    def _refuted(self, url: str) -> int:
        """Return how much that was cut in the section of a page has turned out to be no noise."""
        return self.index.learned.noises.of(section_of(url)).refuted

    async def _note_dropped(
        self,
        request: Request,
        response: Response,
        decision: Decision,
        refuted: int,
        taken_back: int,
    ) -> None:
        """Remember a page that is dropped, for the case that what was cut from it is no noise.

        *refuted* and *taken_back* are as they were when its way to the verdict began.
        """
        is_refuted = self._refuted(response.url) > refuted
        is_cut = is_refuted or self.index.learned.noises.of(section_of(response.url)).cuts
        fetched = self._fetched(request, response) if is_cut else None
        dropped = self._dropped.note(request, decision, taken_back, fetched)
        dropped.key = self._key(request, response)
        if is_refuted:
            await self._judge_again([dropped])

    async def _judge_again(self, dropped: Iterable[DroppedPage]) -> None:
        """Ask again for what was dropped without what is no noise, unless that is not new.

        Cost: at most :data:`MOST_ASKED` analyses of a dropped page.
        """
        for one in dropped:
            await asyncio.sleep(0)  # without workers, an analysis waits for nothing
            one.looks += 1
            taken_back = self._dropped.taken_back
            decision = await self._decision_now(one) if one.looks <= MOST_ASKED else None
            if decision is None:
                self._dropped.ask_for(one)
            else:
                self._dropped.note_kept(one, decision, taken_back)

    async def _decision_now(self, dropped: DroppedPage) -> Decision | None:
        """Return by what a page would be dropped now; None if it would not, or nobody can say."""
        fetched = dropped.fetched
        if fetched is None:
            return None
        try:
            again = fetched._replace(body=zlib.decompress(fetched.body), is_asked_again=False)
            page, _ = await self._analysed(again, is_urgent=True)
            await self._withdrawals.wait()
            await self._kept.read_again(page)
            found = await self.index.check(page)
            decision, _ = with_links(self.index, self._reach, page, found, _party_of(again))
        except Exception:  # its body is forgotten, say
            logger.debug("A dropped page cannot be judged again", exc_info=True)
            return None
        is_wall = self._walls is not None and self._walls.may_have(decision)
        return decision if decision.is_duplicate and not is_wall else None

    async def _store_again(self, fetched: Fetched, leads_on: bool) -> None:
        """Store a kept page as it is analysed now."""
        again = fetched._replace(is_asked_again=False)
        page, _ = await self._analysed(again, is_urgent=True)
        if await self.index.renew(page) and leads_on:
            self._reach.hand_all(page.holds.addresses, page.url, _party_of(again))

    def _fetched(self, request: Request, response: Response) -> Fetched:
        return Fetched(
            response.url,
            response.body,
            getattr(response, "encoding", None),
            self.crawler.request_fingerprinter.fingerprint(request),
            *self._facts.with_answer(request, response),
            request.dont_filter and ASKED_AGAIN_META_KEY not in request.meta,
            leading_headers(response.headers.getlist),
            self._facts.is_poll(request),
            validators_of(response) if self._validators is not None else None,
        )

    async def _analysed(
        self, fetched: Fetched, is_urgent: bool = False
    ) -> tuple[Page, PageAnalysis]:
        """Return a page and its analysis; an urgent one is what others that come are judged by."""
        run = await self._run.current()
        known, spider = self.index.learned, self.spider_name
        return await self.pipeline.page(fetched, self.workers, known, spider, run, is_urgent)

    def _dropping(self, request: Request, response: Response, decision: Decision) -> IgnoreRequest:
        """Log that a page is dropped, and return what its errback gets."""
        if self._has_errbacks and request.errback is None and not self._is_errback_missed:
            self._is_errback_missed = True
            self._log.info(
                "A page is dropped whose request has no errback, though others have one: "
                "%(request)s. If something waits for it, give it an errback, too",
                {"request": request},
            )
        error: IgnoreRequest
        if decision.is_unchanged:
            error = UnchangedPage(response, decision)
        elif decision.is_duplicate:
            error = NearDuplicate(response, decision)
        else:
            error = IgnoreRequest(f"SIMHASH_POLICY drops {response.url}")
        self._log.debug("Dropped: %(error)s", {"error": error})
        return error

    def _tell(self, tell: Callable[[SimhashRulesMiddleware], T]) -> T | None:
        """Tell the middleware for rules something, if there is one; a failure costs no page."""
        rules: SimhashRulesMiddleware | None = self._parts.rules
        try:
            return None if rules is None else tell(rules)
        except Exception as exc:
            self.crawler.stats.inc_value("simhash/rules/errors")
            logger.debug("Error in SimhashRulesMiddleware", exc_info=True)
            self._warnings["rules"].log(f"Error in SimhashRulesMiddleware: {exc!r}")
            return None


def _party_of(fetched: Fetched) -> Party:
    return Party(fetched.asker, fetched.purpose)
