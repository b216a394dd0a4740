"""Pages that are stored somewhere: in Scrapy's HTTP cache, in WARC files, in a folder."""

from __future__ import annotations

import asyncio
import dbm
import gzip
import os
import pickle
import zlib
from ast import literal_eval
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, HtmlResponse, Request, Response
from scrapy.responsetypes import responsetypes
from scrapy.statscollectors import DummyStatsCollector
from scrapy.utils.request import fingerprint
from w3lib.http import headers_raw_to_dict

from scrapy_simhash.analysis.page import PageAnalysis
from scrapy_simhash.errors import AnalysisError, SourceError
from scrapy_simhash.index.base import Index
from scrapy_simhash.pipeline import Fetched, Pipeline
from scrapy_simhash.rule.page import Page

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
    IndexError,
    pickle.UnpicklingError,
)

# With two, a worker has its next page at once.
WAITING = 2


@dataclass(frozen=True)
class Source:
    """A place that holds pages: *read* yields them, at most *count*, which may be unknown."""

    count: int | None
    read: Callable[[], Iterator[Fetched]]


def source_at(place: Path) -> Source:
    """Return what is at *place*: an HTTP cache, a folder of HTML files, or a WARC file.

    :raises SourceError: it is none of these.
    """
    if place.name.endswith((".warc", ".warc.gz")) and place.is_file():
        return Source(None, partial(_warc_pages, place))
    if place.suffix == ".db" and dbm.whichdb(os.fspath(place)):
        return Source(None, partial(_dbm_pages, place))
    if place.is_dir():
        if entries := sorted(path.parent for path in place.rglob("pickled_meta")):
            return Source(len(entries), partial(_cached_pages, entries))
        if files := sorted(path for path in place.rglob("*") if path.suffix in (".html", ".htm")):
            return Source(len(files), partial(_files, files))
    raise SourceError(
        f"{place} must be an HTTP cache of Scrapy (a folder, or a .db file), a "
        f"folder with .html files, or a .warc or .warc.gz file"
    )


class Analysed(NamedTuple):
    """A page as an index sees it, and its analysis."""

    page: Page
    analysis: PageAnalysis


async def analysed_pages(
    pages: Iterable[Fetched], pipeline: Pipeline, known: Index, spider: str
) -> AsyncGenerator[tuple[str, Analysed | None], None]:
    """Yield the URL of each page, and what was found in it; None of one that an index cannot judge.

    That is a page that has no text, or that cannot be analysed.  The pages keep their order.  The
    workers are those of a crawl, with its time limit, and at most ``WAITING`` pages for each are
    under way.  Close the generator (``aclosing``): that stops the workers.
    """
    workers = pipeline.workers()
    most = WAITING * max(pipeline.settings.workers, 1)
    under_way: deque[tuple[str, asyncio.Task[Analysed | None]]] = deque()

    async def analysed(fetched: Fetched) -> Analysed | None:
        try:
            return Analysed(*await pipeline.page(fetched, workers, known, spider))
        except AnalysisError:
            return None

    try:
        for fetched in pages:
            if len(under_way) == most:
                url, task = under_way.popleft()
                yield url, await task
            under_way.append((fetched.url, asyncio.create_task(analysed(fetched))))
        while under_way:
            url, task = under_way.popleft()
            yield url, await task
    finally:
        for _, task in under_way:
            task.cancel()
        await asyncio.gather(*(task for _, task in under_way), return_exceptions=True)
        await workers.close()


def _cached_pages(entries: list[Path]) -> Iterator[Fetched]:
    """Yield what Scrapy's FilesystemCacheStorage wrote, in folders named by request fingerprints.

    Nothing is unpickled: each folder has the same facts as text, too.
    """
    compression = _compression()
    for entry in entries:
        try:
            meta = (entry / "meta").read_bytes()
            read = gzip.decompress if meta.startswith(b"\x1f\x8b") else bytes
            facts = literal_eval(read(meta).decode("utf-8"))
            headers = headers_raw_to_dict(read((entry / "response_headers").read_bytes()))
            response = Response(
                facts["response_url"],
                facts["status"],
                Headers(headers),
                read((entry / "response_body").read_bytes()),
            )
            unpacked = compression.process_response(
                Request(facts["url"], method=facts["method"]), response
            )
            request_fingerprint = bytes.fromhex(entry.name)
        except _BROKEN:
            continue  # Scrapy could not use this entry either
        if isinstance(unpacked, Response):
            yield from _page(unpacked, request_fingerprint)


class _PlainValues(pickle.Unpickler):
    """Reads plain Python values only, so that no file can run code."""

    def find_class(self, module: str, name: str) -> type[str]:
        if module == "ipaddress":  # IPv4Address and IPv6Address take their text
            return str
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a response")


def _dbm_pages(path: Path) -> Iterator[Fetched]:
    """Yield what Scrapy's DbmCacheStorage wrote: a response for each request fingerprint."""
    compression = _compression()
    try:
        with dbm.open(os.fspath(path), "r") as cache:
            for key in cache.keys():  # noqa: SIM118 - not every kind of file can be iterated
                request, _, kind = os.fsdecode(key).rpartition("_")
                if kind != "data":
                    continue
                try:
                    facts = _PlainValues(BytesIO(cache[key])).load()
                    response = Response(
                        facts["url"], facts["status"], Headers(facts["headers"]), facts["body"]
                    )
                    unpacked = compression.process_response(Request(facts["url"]), response)
                    request_fingerprint = bytes.fromhex(request)
                except _BROKEN:
                    continue  # Scrapy could not use this entry either
                if isinstance(unpacked, Response):
                    yield from _page(unpacked, request_fingerprint)
    except (OSError, *dbm.error) as exc:
        raise SourceError(f"{path} cannot be read: {exc}") from exc


def _compression() -> HttpCompressionMiddleware:
    crawler = Crawler(Spider)
    crawler.stats = DummyStatsCollector(crawler)
    return HttpCompressionMiddleware.from_crawler(crawler)


def _files(files: list[Path]) -> Iterator[Fetched]:
    for path in files:
        try:
            response = HtmlResponse(path.resolve().as_uri(), body=path.read_bytes())
        except OSError:
            continue
        yield from _page(response, fingerprint(Request(response.url)))


def _warc_pages(path: Path) -> Iterator[Fetched]:
    try:
        from warcio.archiveiterator import ArchiveIterator
        from warcio.exceptions import ArchiveLoadFailed
    except ImportError as exc:
        raise SourceError("WARC files need warcio: pip install scrapy-simhash[warc]") from exc
    try:
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                url = record.rec_headers.get_header("WARC-Target-URI")
                if record.rec_type != "response" or not str(url).startswith("http"):
                    continue
                http = record.http_headers
                if http is None or not http.get_statuscode().isdigit():
                    continue  # the record is cut short, or is no response of HTTP
                body = record.content_stream().read()
                try:
                    request_fingerprint = fingerprint(Request(url))
                except ValueError:
                    continue  # no URL
                status, headers = int(http.get_statuscode()), Headers(http.headers)
                yield from _page(Response(url, status, headers, body), request_fingerprint)
    except (OSError, ArchiveLoadFailed) as exc:
        raise SourceError(f"{path} cannot be read: {exc}") from exc


def _page(response: Response, request_fingerprint: bytes) -> Iterator[Fetched]:
    """Yield a page if a crawl would judge it: HTML, with a status of 200 to 299."""
    kind = responsetypes.from_args(response.headers, response.url, body=response.body)
    if 200 <= response.status < 300 and issubclass(kind, HtmlResponse):
        html = HtmlResponse(response.url, response.status, response.headers, response.body)
        links = html.headers.getlist("Link")
        yield Fetched(html.url, html.body, html.encoding, request_fingerprint, links=links)
