"""The pages that commands analyse: one from a URL or a file, or all that are stored somewhere.

Pages are stored in Scrapy's HTTP cache, in WARC files, or in a folder.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from ast import literal_eval
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing, suppress
from functools import partial
from http.client import HTTPException
from pathlib import Path
from urllib.request import Request as UrlRequest
from urllib.request import urlopen

import scrapy
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, HtmlResponse, Request, Response
from scrapy.responsetypes import responsetypes
from scrapy.statscollectors import DummyStatsCollector
from scrapy.utils.request import fingerprint
from w3lib.http import headers_raw_to_dict

from scrapy_simhash.analysis.analyser import leading_headers
from scrapy_simhash.batch.pages import page_of, pages
from scrapy_simhash.batch.unread import Unread
from scrapy_simhash.batch.warc import WarcFile
from scrapy_simhash.decision.page import Page
from scrapy_simhash.errors import AnalysisError, SourceError
from scrapy_simhash.index.base import Index
from scrapy_simhash.pipeline import Fetched, Pipeline
from scrapy_simhash.workers.pool import InProcess, in_order

# What a broken entry of an HTTP cache makes the readers of its parts raise.
_BROKEN = (
    OSError,
    ValueError,
    SyntaxError,
    KeyError,
    TypeError,
    EOFError,
    zlib.error,
    IgnoreRequest,
    AttributeError,
)

# What may be a URL without its scheme: a host with a dot, or with a port.
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)+(?:[:/]|$)|[\w-]+:\d")

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
) -> Page:
    """Return a page as an index sees it; this process analyses it.

    :raises SourceError: it cannot be analysed, or has no text to compare.
    """
    try:
        page, _ = await pipeline.page(fetched, InProcess(pipeline.analyser), known.learned, spider)
    except AnalysisError as exc:
        if exc.reason == "no_text":
            raise SourceError(str(exc)) from exc
        raise SourceError(f"{fetched.url} cannot be analysed: {exc}") from exc
    return page


def _response(place: str) -> HtmlResponse:
    if "://" not in place:
        try:
            path = Path(place).resolve(strict=True)
            return HtmlResponse(path.as_uri(), body=path.read_bytes())
        except OSError as exc:
            hint = f" (did you mean http://{place}?)" if _HOST.match(place) else ""
            raise SourceError(f"{place} cannot be read: {exc}{hint}") from exc
    if not place.startswith(("http://", "https://")):
        raise SourceError(f"A page must be a file, or a URL of http or https: got {place}")
    request = UrlRequest(place, headers={"User-Agent": f"Scrapy/{scrapy.__version__}"})  # noqa: S310
    try:
        with urlopen(request, timeout=TIMEOUT_SECONDS) as reply:  # noqa: S310 - checked above
            headers = dict(reply.headers.items())
            return HtmlResponse(reply.url, headers=headers, body=reply.read())
    except (OSError, HTTPException, ValueError) as exc:
        raise SourceError(f"{place} cannot be fetched: {exc}") from exc


def pages_at(place: Path, unread: Unread) -> tuple[Iterator[Fetched], int | None]:
    """Return the pages at *place*: an HTTP cache, a folder of HTML files, or a WARC file.

    With them comes how many there are at most, if that is known.  What is not read of a WARC file
    is counted in *unread* meanwhile.

    :raises SourceError: it is none of these.
    """
    if place.name.endswith((".warc", ".warc.gz")) and place.is_file():
        return _warc_pages(place, unread), None
    if place.is_dir():
        if entries := sorted(path.parent for path in place.rglob("pickled_meta")):
            return _cached(entries), len(entries)
        if files := sorted(path for path in place.rglob("*") if path.suffix in (".html", ".htm")):
            return _files(files), len(files)
    raise SourceError(
        f"{place} must be an HTTP cache of Scrapy in files, a folder with .html files, a .warc or "
        f".warc.gz file, or an index"
    )


async def analysed_pages(
    pages: Iterable[Fetched], pipeline: Pipeline, known: Index, spider: str
) -> AsyncGenerator[Page | None, None]:
    """Yield each page as an index sees it, in their order.

    This is None for a page that has no text, or that cannot be analysed.  The workers are those of
    a crawl, with its time limit.  Close the generator (``aclosing``): that stops the workers.
    """
    workers = pipeline.workers()

    async def analysed(fetched: Fetched) -> Page | None:
        try:
            page, _ = await pipeline.page(fetched, workers, known.learned, spider)
        except AnalysisError:
            return None
        return page

    try:
        async with aclosing(in_order(analysed, pages, pipeline.settings.workers)) as found:
            async for page in found:
                yield page
    finally:
        await workers.close()


def _cached(entries: Iterable[Path]) -> Iterator[Fetched]:
    """Yield the pages in an HTTP cache: each is a folder, named by its request fingerprint."""
    crawler = Crawler(Spider)
    crawler.stats = DummyStatsCollector(crawler)
    compression = HttpCompressionMiddleware.from_crawler(crawler)
    for entry in entries:
        try:
            unpacked = compression.process_response(*_entry(entry))
            request_fingerprint = bytes.fromhex(entry.name)
        except _BROKEN:
            continue  # Scrapy could not use this entry either
        if isinstance(unpacked, Response):
            yield from _page(unpacked, request_fingerprint)


def _entry(entry: Path) -> tuple[Request, Response]:
    """Read what Scrapy's FilesystemCacheStorage wrote to a folder.

    Nothing is unpickled: the folder has the same facts as text, too.
    """
    meta = (entry / "meta").read_bytes()
    read = gzip.decompress if meta.startswith(b"\x1f\x8b") else bytes
    facts = literal_eval(read(meta).decode("utf-8"))
    headers = headers_raw_to_dict(read((entry / "response_headers").read_bytes()))
    body = read((entry / "response_body").read_bytes())
    response = Response(facts["response_url"], facts["status"], Headers(headers), body)
    return Request(facts["url"], method=facts["method"]), response


def _files(files: list[Path]) -> Iterator[Fetched]:
    for path in files:
        with suppress(SourceError):
            yield load(os.fspath(path))


def _warc_pages(path: Path, unread: Unread) -> Iterator[Fetched]:
    """Yield the pages of a WARC file; a revisit is the page before it that it refers to."""
    note = partial(unread.add, str(path))
    met: dict[int, int] = {}
    try:
        with path.open("rb") as file:
            records = WarcFile(file, str(path), note)
            for page in pages(records):
                met.update(dict.fromkeys(page.names, page.offset))
                if page.refers is not None:
                    origin = next((met[name] for name in page.refers if name in met), None)
                    if origin is None:
                        note("revisit_unresolved", page.offset)
                        continue
                    whole = page_of(records.at(origin), records.place)
                    page = whole._replace(url=page.url, offset=page.offset)
                try:
                    request_fingerprint = fingerprint(Request(page.url))
                except ValueError:
                    note("no_url", page.offset)
                    continue
                if not isinstance(page.content, bytes):
                    note("conversion", page.offset)  # a text without its page
                    continue
                charset = {"Content-Type": f"text/html; charset={page.encoding}"}
                headers = charset if page.encoding else None
                html = HtmlResponse(page.url, headers=headers, body=page.content)
                yield Fetched(
                    html.url, html.body, html.encoding, request_fingerprint, links=page.links
                )
    except OSError as exc:
        raise SourceError(f"{path} cannot be read: {exc}") from exc


def _page(response: Response, request_fingerprint: bytes) -> Iterator[Fetched]:
    """Yield a page if a crawl would judge it: HTML, with a status of 200 to 299."""
    kind = responsetypes.from_args(response.headers, response.url, body=response.body)
    if 200 <= response.status < 300 and issubclass(kind, HtmlResponse):
        html = HtmlResponse(response.url, response.status, response.headers, response.body)
        links = leading_headers(html.headers.getlist)
        yield Fetched(html.url, html.body, html.encoding, request_fingerprint, links=links)
