"""From the settings to what a crawl works with, and from the body of a page to a :class:`Page`.

The one way of a page to the index, for crawls and commands alike: workers analyse its body, with
what its site repeats, and what they find becomes the page that an index judges.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from scrapy_simhash.analysis.analyser import (
    Analyser,
    Background,
    PageAnalysis,
    second_fingerprint,
    view_from,
)
from scrapy_simhash.decision.holdings import PageValues
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.decision.page import Page, View, met_by
from scrapy_simhash.errors import AnalysisError
from scrapy_simhash.index.base import Run
from scrapy_simhash.index.site_knowledge import Learned
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.urls import canonical_url, folder_of, host_of, scope_key, section_of
from scrapy_simhash.workers.pool import InProcess, WorkerProcesses, Workers
from scrapy_simhash.workers.recall import RecallingWorkers

# Verification needs many candidates, and the plain rule few (docs/quality.md).
VERIFIED_DISTANCE = 7
PLAIN_DISTANCE = 3


class Fetched(NamedTuple):
    """A page as it came: *request_fingerprint* is Scrapy's own, *asker* says who asked for it.

    *purpose*, *levels*, *is_asked_again*, *is_poll* and *validators* are those of
    :class:`~scrapy_simhash.decision.page.Page`. *links* are the HTTP headers that lead on.
    """

    url: str
    body: bytes
    encoding: str | None
    request_fingerprint: bytes
    asker: str = ""
    purpose: bytes | None = None
    levels: int | None = None
    is_asked_again: bool = False
    links: Sequence[bytes] = ()
    is_poll: bool = False
    validators: bytes | None = None


@dataclass(frozen=True)
class Pipeline:
    """What the settings of a crawl say of its pages' way: the analysis, and the index's parameters.

    Make one with :meth:`of`.  A plain value: what it makes (:meth:`workers`) is the caller's.
    """

    settings: SimhashSettings
    analyser: Analyser
    parameters: Parameters

    @classmethod
    def of(cls, settings: SimhashSettings) -> Pipeline:
        """Return the pipeline of these settings.

        :raises SettingsError: no such extractor or features.
        """
        analyser = Analyser.create(
            settings.extractor, *settings.features, verify=settings.verifies, takes=settings.takes
        )
        distance = VERIFIED_DISTANCE if settings.verifies else PLAIN_DISTANCE
        parameters = Parameters(
            scheme=analyser.identity,
            scope=settings.scope,
            distance=distance if settings.distance is None else settings.distance,
            share=settings.share if settings.verifies else None,
            prefer=settings.prefer,
        )
        return cls(settings, analyser, parameters)

    @property
    def shared_by(self) -> Hashable:
        """What two pipelines have in common whose pages the same workers can analyse."""
        settings = self.settings
        return self.analyser, settings.workers, settings.page_timeout, settings.max_waiting

    def scope_of(self, url: str, spider: str, asker: str, run: Run | None) -> str:
        """Return the part of the index in which the page at *url* is compared.

        Each crawl that only observes has one of its own, and starts as if no other had been.
        """
        if self.settings.action == "observe" and run is not None:
            asker = f"{asker} crawl {run.crawl}"
        return scope_key(self.settings.scope, url, spider, asker)

    def workers(self) -> Workers:
        """Return what analyses the pages, to be started.

        It is this process where Python is frozen, as in an application of one file: a worker would
        be the application once more.
        """
        settings = self.settings
        workers: Workers = InProcess(self.analyser)
        if settings.workers and not getattr(sys, "frozen", False):
            workers = WorkerProcesses(
                self.analyser, settings.workers, settings.page_timeout, settings.max_waiting
            )
        return RecallingWorkers(workers, url_counts=self.analyser.reads_urls)

    async def page(
        self,
        fetched: Fetched,
        workers: Workers,
        known: Learned,
        spider: str,
        run: Run | None = None,
        is_urgent: bool = False,
    ) -> tuple[Page, PageAnalysis]:
        """Return a page as an index sees it, met by a *run* of *spider*, and its analysis.

        *known* says what is known of the page's site, which counts as it is when the page has
        waited for its turn; an urgent one does not wait.  Without a run, and if
        ``SIMHASH_SKIP_UNCHANGED`` is "moved", all kept pages stand for others.

        :raises AnalysisError: it cannot be analysed, or has no text to compare (``no_text``).
        """
        url, body, encoding, request_fingerprint, asker, *_ = fetched
        section = section_of(url)
        folder = folder_of(url)

        def background() -> Background:
            return Background(known.template(folder), known.noises.of(section).cuts)

        analysis = await workers.analyse(body, encoding, url, background, is_urgent)
        content = analysis.content
        if fetched.links and content is not None:
            analysis = analysis.with_headers(
                fetched.links, url, self.settings.takes, background().cuts
            )
        if not analysis.tokens and content is None:
            raise AnalysisError("no_text", f"{url} has no text to compare")
        page = Page(
            url=url,
            request_fingerprint=request_fingerprint,
            scope=self.scope_of(url, spider, asker, run),
            fingerprint=analysis.fingerprint,
            digest=analysis.digest,
            tokens=analysis.tokens,
            judged_at=time.time(),
            crawl=None if run is None else run.id,
            met_by=self._met_by(run),
            content_fingerprint=analysis.content_fingerprint,
            addresses=analysis.addresses,
            own_values=analysis.own_values,
            heading=None if content is None else content.heading,
            purpose=fetched.purpose,
            levels=fetched.levels,
            sketch=None if content is None else content.sketch,
            is_asked_again=fetched.is_asked_again,
            is_poll=fetched.is_poll,
            site=host_of(url),
            section=section,
            blocks=analysis.blocks,
            holds=analysis.values,
            canonical=canonical_url(url, analysis.canonical),
            validators=fetched.validators,
            view_under=None
            if analysis.source is None
            else partial(_view, analysis.source, analysis.values),
        )
        return known.viewed(page), analysis

    def unmodified(self, stored: Page, purpose: bytes | None, levels: int | None, run: Run) -> Page:
        """Return a stored page as it is met again by a *run*, if its server says it is the same."""
        now = replace(stored, judged_at=time.time(), crawl=run.id, met_by=self._met_by(run))
        return replace(now, purpose=purpose, levels=levels, is_unmodified=True)

    def _met_by(self, run: Run | None) -> bytes | None:
        takes_all = self.settings.skip_unchanged == "moved"
        return None if run is None or takes_all else met_by(run.crawl)


def _view(source: bytes, held: PageValues, template: Collection[int]) -> View | None:
    """Return what a page is under a template; it *held* the same addresses."""
    found = view_from(source, template)
    if found is None:
        return None
    content, values = found
    stored = values.pack() if held.loose else None
    values = replace(
        values, addresses=held.addresses, told_values=held.told_values, loose=held.loose
    )
    return View(second_fingerprint(content, values), content.sketch, stored, values)
