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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, HtmlResponse, Request, Response
from scrapy.responsetypes import responsetypes
from scrapy.statscollectors import DummyStatsCollector
from scrapy.utils.request import fingerprint
from w3lib.http import headers_raw_to_dict

from scrapy_simhash.analysis.page import AnalysisError
from scrapy_simhash.crawl.judging import page_of
from scrapy_simhash.errors import SimhashError
from scrapy_simhash.index import Page
from scrapy_simhash.rule.scope import host_of, scope_key
from scrapy_simhash.workers.pool import InProcess, WorkerProcesses

if TYPE_CHECKING:
    from scrapy_simhash.analysis.page import Analyser
    from scrapy_simhash.rule.template import Templates
    from scrapy_simhash.settings import SimhashSettings

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

# So many pages wait for each worker, so that none is idle.
WAITING = 2


@dataclass(frozen=True)
class StoredPage:
    """A page from a source, with the request that it answers."""

    response: HtmlResponse
    request_fingerprint: bytes


@dataclass(frozen=True)
class Source:
    """A place that holds pages: how many it may hold at the most, and how they are read."""

    count: int | None
    read: Callable[[], Iterator[StoredPage]]


def source_at(place: Path) -> Source:
    """Return what is at *place*: an HTTP cache, a folder of HTML files, or a WARC file.

    :raises SimhashError: it is none of these.
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
    raise SimhashError(
        f"{place} must be an HTTP cache of Scrapy (a folder, or a .db file), a "
        f"folder with .html files, or a .warc or .warc.gz file"
    )


def analysed_pages(
    pages: Iterable[StoredPage],
    settings: SimhashSettings,
    analyser: Analyser,
    templates: Templates,
    spider: str,
) -> Iterator[tuple[str, Page | None]]:
    """Yield the URL of each page, and the page as an index sees it; None where it has no text.

    The worker processes of a crawl do the work, with its time limit; the order stays.
    """
    workers = (
        WorkerProcesses(analyser, settings.workers, settings.page_timeout)
        if settings.workers
        else InProcess(analyser)
    )
    loop = asyncio.new_event_loop()

    async def analyse(page: StoredPage) -> Page | None:
        response = page.response
        template = templates.blocks(host_of(response.url))
        try:
            found = await workers.analyse(response.body, response.encoding, response.url, template)
        except AnalysisError:
            return None
        if not found.tokens and found.content is None:
            return None
        scope = scope_key(settings.scope, response.url, spider)
        return page_of(found, response.url, page.request_fingerprint, scope)

    waiting: deque[tuple[str, asyncio.Task[Page | None]]] = deque()
    try:
        for page in pages:
            waiting.append((page.response.url, loop.create_task(analyse(page))))
            if len(waiting) > WAITING * max(settings.workers, 1):
                url, task = waiting.popleft()
                yield url, loop.run_until_complete(task)
        for url, task in waiting:
            yield url, loop.run_until_complete(task)
    finally:
        loop.run_until_complete(workers.close())
        loop.close()


def _cached_pages(entries: list[Path]) -> Iterator[StoredPage]:
    """Read what Scrapy's FilesystemCacheStorage wrote; the folder is the request's fingerprint.

    Nothing is unpickled: what is pickled there stands beside it as text.
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
            continue  # an entry that Scrapy could not use, either
        if isinstance(unpacked, Response):
            yield from _page(unpacked, request_fingerprint)


class _PlainValues(pickle.Unpickler):
    """Reads what is made of Python's own values; nothing in a file can have code run."""

    def find_class(self, module: str, name: str) -> type[str]:
        if module == "ipaddress":  # an address is made of its text
            return str
        raise pickle.UnpicklingError(f"{module}.{name} has no place in a response")


def _dbm_pages(path: Path) -> Iterator[StoredPage]:
    """Read what Scrapy's DbmCacheStorage wrote: under each request's fingerprint, a response."""
    compression = _compression()
    try:
        with dbm.open(os.fspath(path), "r") as cache:
            for key in cache.keys():  # noqa: SIM118 - not every kind of file can be iterated over
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
                    continue  # an entry that Scrapy could not use, either
                if isinstance(unpacked, Response):
                    yield from _page(unpacked, request_fingerprint)
    except (OSError, *dbm.error) as exc:
        raise SimhashError(f"{path} cannot be read: {exc}") from exc


def _compression() -> HttpCompressionMiddleware:
    crawler = Crawler(Spider)
    crawler.stats = DummyStatsCollector(crawler)
    return HttpCompressionMiddleware.from_crawler(crawler)


def _files(files: list[Path]) -> Iterator[StoredPage]:
    for path in files:
        try:
            response = HtmlResponse(path.resolve().as_uri(), body=path.read_bytes())
        except OSError:
            continue
        yield from _page(response, fingerprint(Request(response.url)))


def _warc_pages(path: Path) -> Iterator[StoredPage]:
    try:
        from warcio.archiveiterator import ArchiveIterator
        from warcio.exceptions import ArchiveLoadFailed
    except ImportError as exc:
        raise SimhashError("WARC files need warcio: pip install scrapy-simhash[warc]") from exc
    try:
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                url = record.rec_headers.get_header("WARC-Target-URI")
                if record.rec_type != "response" or not str(url).startswith("http"):
                    continue
                headers = Headers(record.http_headers.headers)
                status = int(record.http_headers.get_statuscode())
                body = record.content_stream().read()
                yield from _page(Response(url, status, headers, body), fingerprint(Request(url)))
    except (OSError, ArchiveLoadFailed) as exc:
        raise SimhashError(f"{path} cannot be read: {exc}") from exc


def _page(response: Response, request_fingerprint: bytes) -> Iterator[StoredPage]:
    """Yield a page if a crawl would judge it: HTML, with a status of 200 to 299."""
    kind = responsetypes.from_args(response.headers, response.url, body=response.body)
    if 200 <= response.status < 300 and issubclass(kind, HtmlResponse):
        html = HtmlResponse(response.url, response.status, response.headers, response.body)
        yield StoredPage(html, request_fingerprint)
