"""One page that the user names on the command line: a URL, or a file."""

from __future__ import annotations

from http.client import HTTPException
from pathlib import Path
from urllib.request import Request as UrlRequest
from urllib.request import urlopen

import scrapy
from scrapy.http import HtmlResponse, Request
from scrapy.utils.request import fingerprint

from scrapy_simhash.analysis.page import PageAnalysis
from scrapy_simhash.errors import AnalysisError, SourceError
from scrapy_simhash.index.base import Index
from scrapy_simhash.pipeline import Fetched, Pipeline
from scrapy_simhash.rule.page import Page
from scrapy_simhash.workers.pool import InProcess

TIMEOUT_SECONDS = 30


def load(place: str, url: str | None = None) -> Fetched:
    """Return the page at a URL (``http:``, ``https:``) or in a file.

    It is taken for the page at *url*, if that is given, and for the answer to a plain request,
    with Scrapy's own request fingerprint.

    :raises SourceError: it cannot be read or fetched, or *url* is no URL.
    """
    response = _response(place)
    try:
        request = Request(url or response.url)
    except ValueError as exc:
        raise SourceError(str(exc)) from exc
    return Fetched(url or response.url, response.body, response.encoding, fingerprint(request))


async def analysed_page(
    fetched: Fetched, pipeline: Pipeline, known: Index, spider: str = ""
) -> tuple[Page, PageAnalysis]:
    """Return a page as an index sees it, and its analysis; this process analyses it.

    :raises SourceError: it cannot be analysed, or has no text to compare.
    """
    try:
        return await pipeline.page(fetched, InProcess(pipeline.analyser), known, spider)
    except AnalysisError as exc:
        if exc.reason == "no_text":
            raise SourceError(str(exc)) from exc
        raise SourceError(f"{fetched.url} cannot be analysed: {exc}") from exc


def _response(place: str) -> HtmlResponse:
    if "://" not in place:
        try:
            path = Path(place).resolve(strict=True)
            return HtmlResponse(path.as_uri(), body=path.read_bytes())
        except OSError as exc:
            raise SourceError(f"{place} cannot be read: {exc}") from exc
    if not place.startswith(("http://", "https://")):
        raise SourceError(f"A page must be a file, or a URL of http or https: got {place}")
    request = UrlRequest(place, headers={"User-Agent": f"Scrapy/{scrapy.__version__}"})  # noqa: S310
    try:
        with urlopen(request, timeout=TIMEOUT_SECONDS) as reply:  # noqa: S310 - checked above
            headers = dict(reply.headers.items())
            return HtmlResponse(reply.url, headers=headers, body=reply.read())
    except (OSError, HTTPException, ValueError) as exc:
        raise SourceError(f"{place} cannot be fetched: {exc}") from exc
