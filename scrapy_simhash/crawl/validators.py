"""Asking a server whether a known page has changed, instead of downloading it.

A request for a page that an earlier crawl has passed on carries what the server said of it then
(RFC 9110, section 8.8).  The answer 304 has no body, and counts as the page that is stored.  Of
such pages, a share is downloaded all the same: if one has changed, its host is not asked for 30
days.
"""

from __future__ import annotations

import logging
import random
from contextlib import suppress
from hashlib import blake2b
from weakref import WeakKeyDictionary

from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Request, Response
from scrapy.http.request import NO_CALLBACK

from scrapy_simhash.crawl.choices import CarefulPolicy, why_not
from scrapy_simhash.crawl.requests import OWN_META_KEY, PRIORITY, RENDERING, copied
from scrapy_simhash.crawl.run import CrawlRun, spider_name
from scrapy_simhash.crawl.setup import Parts
from scrapy_simhash.crawl.walls import ASKED_AGAIN_META_KEY
from scrapy_simhash.decision.judge import other_request
from scrapy_simhash.decision.page import Decision, Page
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.urls import host_of

logger = logging.getLogger(__name__)

# The headers that this plug-in has set: a redirect, or another try, takes them along.
SENT_META_KEY = "simhash_validators"
# In a request that is sent once more without: its URL, and the hash of the body that its page has,
# as the server said; empty if it is not audited.
WHOLE_META_KEY = "simhash_whole"
# Of the pages that are said to be as before, this share is downloaded all the same.
AUDITED_SHARE = 0.03
# What is longer is not stored: most entity tags have 10 to 40 bytes, a date has 29.
MAX_BYTES = 120
BODY_BYTES = 8


def validators_of(response: Response) -> bytes | None:
    """Return what is stored of an answer: a hash of its body, its entity tag, its date of change.

    At most 249 bytes; None if it has neither of the latter.  A date alone counts if it is not the
    one on which the page was sent: it may change in the same second again (section 8.8.2.2).
    """
    found = (response.headers.get(name) or b"" for name in ("ETag", "Last-Modified", "Date"))
    etag, modified, date = (value if len(value) <= MAX_BYTES else b"" for value in found)
    if not etag and (not date or modified in (b"", date)):
        return None
    return blake2b(response.body, digest_size=BODY_BYTES).digest() + etag + b"\n" + modified


class Validators:
    """Asks for known pages by what their servers said of them.

    A request is left alone if its page would pass unchanged (an answer without a body has no links
    to follow), if its spider sets such headers, if a browser renders the page, and if Scrapy's HTTP
    cache may answer: it would store the 304, or asks by itself.
    """

    def __init__(
        self, crawler: Crawler, parts: Parts, policy: CarefulPolicy, run: CrawlRun
    ) -> None:
        self._crawler, self._parts, self._policy, self._run = crawler, parts, policy, run
        self._has_cache = crawler.settings.getbool("HTTPCACHE_ENABLED")
        self._liars = parts.index.learned.liars
        self._asked: WeakKeyDictionary[Request, Page] = WeakKeyDictionary()

    async def prepare(self, request: Request) -> None:
        """Let a request ask whether its page has changed, if it may; one look-up."""
        asked_at, headers = request.meta.pop(SENT_META_KEY, ("", {}))
        for name, value in headers.items():
            if request.headers.get(name) == value.encode("latin-1"):
                del request.headers[name]
        if asked_at == request.url:  # the answer did not do, as for a middleware that expects 200
            return
        with suppress(Exception):  # then the page is downloaded
            if self._may_ask(request) and (known := await self._known(request)) is not None:
                self._asked[request] = known
                stored = (known.validators or b"")[BODY_BYTES:].decode("latin-1").split("\n")
                sent = zip(("If-None-Match", "If-Modified-Since"), stored, strict=True)
                headers = {name: value for name, value in sent if value}
                request.meta[SENT_META_KEY] = request.url, headers
                request.headers.update(headers)

    def _may_ask(self, request: Request) -> bool:
        meta, page = request.meta, HtmlResponse(request.url, body=b"<html>")
        is_set = any(name.startswith((b"If-", b"Range")) for name in request.headers)
        is_rendered = any(str(name).startswith(RENDERING) for name in meta)
        return (
            request.method == "GET"
            and request.callback is not NO_CALLBACK
            and OWN_META_KEY not in meta
            and self._said(request) is None
            and not (is_set or is_rendered or (self._has_cache and not meta.get("dont_cache")))
            and not self._parts.facts.is_poll(request)
            and not self._liars.include(host_of(request.url))
            and why_not(self._parts.pipeline.settings, request, page) is None
            and self._policy.action(request, page, Decision("refresh", "unchanged")) == "drop"
        )

    async def _known(self, request: Request) -> Page | None:
        """Return the stored page of a request as it is judged if it has not changed."""
        parts, run, crawler = self._parts, await self._run.current(), self._crawler
        asker, purpose, levels = parts.facts.of(request)
        scope = parts.pipeline.scope_of(request.url, spider_name(crawler), asker, run)
        fingerprint = crawler.request_fingerprinter.fingerprint(request)
        stored = await parts.index.delivered(scope, fingerprint, run)
        if stored is None or stored.validators is None:
            return None
        page = parts.pipeline.unmodified(stored, purpose, levels, run)
        return None if other_request(page, stored) else page

    async def answer(
        self, request: Request, response: Response
    ) -> tuple[Page, Decision] | Request | None:
        """Return the page behind a 304 with its decision, or a request for all of it; or None."""
        page = self._asked.pop(request, None)
        _, sent = request.meta.get(SENT_META_KEY, ("", {}))
        is_ours = all(
            request.headers.get(name) == value.encode("latin-1") for name, value in sent.items()
        )
        if response.status != 304 or page is None or not is_ours:
            return None
        index, stats = self._parts.index, self._crawler.stats
        if random.random() < AUDITED_SHARE:  # noqa: S311 - no secret
            stats.inc_value("simhash/validators/audited")
            return _whole(request, page.validators)
        with suppress(IndexUnavailableError):
            # Not stored if it has become another one meanwhile: the spider would not get it.
            is_trusted = not self._liars.include(host_of(page.url))
            is_same = is_trusted and (await index.check(page)).is_unchanged
            if is_same and (decision := await index.add(page)).is_unchanged:
                stats.inc_value("simhash/not_modified")
                return page, decision
        return _whole(request)

    def _said(self, request: Request) -> str | None:
        """Return which body a page is said to have that is asked for once more; None of others."""
        url, body = request.meta.get(WHOLE_META_KEY, ("", ""))
        return body if url == request.url else None  # or else the meta was copied

    async def look(self, request: Request, page: Page, decision: Decision) -> None:
        """Trust a host no more if a page has changed of which it said that it had not."""
        said, now = self._said(request), (page.validators or b"")[:BODY_BYTES].hex()
        if not said or said == now or decision.verdict != "refresh" or decision.is_unchanged:
            return
        self._crawler.stats.inc_value("simhash/validators/wrong")
        logger.warning(
            "%(page)s has changed, but its server said that it had not: all pages of its host are "
            "downloaded for 30 days",
            {"page": page.url},
            extra={"spider": self._crawler.spider},
        )
        await self._parts.index.learned.distrust(host_of(page.url))


def _whole(request: Request, validators: bytes | None = None) -> Request:
    """Return the request that is sent once more for all of a page, before others."""
    whole = [request.url, (validators or b"")[:BODY_BYTES].hex()]
    meta = {**request.meta, ASKED_AGAIN_META_KEY: True, WHOLE_META_KEY: whole}
    return copied(request, dont_filter=True, priority=request.priority + PRIORITY, meta=meta)
