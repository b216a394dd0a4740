"""Pages that a person names on the command line: a URL, or a file."""

from __future__ import annotations

from http.client import HTTPException
from pathlib import Path
from urllib.request import Request as UrlRequest
from urllib.request import urlopen

import scrapy
from scrapy.http import HtmlResponse, Request
from scrapy.utils.request import fingerprint

from scrapy_simhash.analysis.page import Analyser, AnalysisError, PageAnalysis
from scrapy_simhash.crawl.judging import page_of
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index import Page
from scrapy_simhash.rule.scope import host_of, scope_key
from scrapy_simhash.rule.template import Templates

TIMEOUT_SECONDS = 30


class PageError(SimhashError):
    """A page could not be had, or has no text."""


def load(place: str) -> HtmlResponse:
    """Return the page at a URL (``http:``, ``https:``) or in a file.

    :raises PageError: it cannot be had.
    """
    if "://" not in place:
        try:
            path = Path(place).resolve(strict=True)
            return HtmlResponse(path.as_uri(), body=path.read_bytes())
        except OSError as exc:
            raise PageError(f"{place} cannot be read: {exc}") from exc
    if not place.startswith(("http://", "https://")):
        raise PageError(f"A page must be a file, or a URL of http or https: got {place}")
    request = UrlRequest(place, headers={"User-Agent": f"Scrapy/{scrapy.__version__}"})  # noqa: S310
    try:
        with urlopen(request, timeout=TIMEOUT_SECONDS) as reply:  # noqa: S310 - checked above
            headers = dict(reply.headers.items())
            return HtmlResponse(reply.url, headers=headers, body=reply.read())
    except (OSError, HTTPException, ValueError) as exc:
        raise PageError(f"{place} cannot be fetched: {exc}") from exc


def analysed(analyser: Analyser, response: HtmlResponse, templates: Templates) -> PageAnalysis:
    """Return the analysis of a page.

    :raises PageError: it cannot be analysed, or has nothing to compare.
    """
    template = templates.blocks(host_of(response.url))
    try:
        analysis = analyser.analyse(response.body, response.encoding, response.url, template)
    except AnalysisError as exc:
        raise PageError(f"{response.url} cannot be analysed: {exc}") from exc
    if not analysis.tokens and analysis.content is None:
        raise PageError(f"{response.url} has no text to compare")
    return analysis


def as_page(analysis: PageAnalysis, url: str, scope: str, spider: str = "") -> Page:
    """Return a page as a crawl with Scrapy's own request fingerprints would see it.

    :raises PageError: *url* is no URL.
    """
    try:
        request = Request(url)
    except ValueError as exc:
        raise PageError(str(exc)) from exc
    return page_of(analysis, url, fingerprint(request), scope_key(scope, url, spider))
