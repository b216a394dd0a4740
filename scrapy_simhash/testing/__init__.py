"""Pytest fixtures that crawl a folder or a server, and say what the crawl keeps and drops.

::

    def test_print_view_is_dropped(simhash_crawl):
        result = simhash_crawl(NewsSpider, Path(__file__).parent / "site")
        assert result.dropped == {"/print.html": "/article.html"}

A thread serves the folder.  running.py runs child.py, which crawls in a process of its own, since a
reactor cannot be started twice, and returns the result.

pytest loads this module whenever it starts, so it imports neither Scrapy nor what Scrapy needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from scrapy_simhash.testing.running import CrawlError, CrawlResult, run_crawl

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler

__all__ = ["CrawlError", "CrawlFunction", "CrawlResult", "SiteFunction"]

SiteFunction = Callable[[Path], str]
CrawlFunction = Callable[..., CrawlResult]


@contextmanager
def serve(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """Answer requests with *handler*, and give the URL of the server, with a slash at its end."""
    from http.server import ThreadingHTTPServer

    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        # The seconds between two looks at whether to end: the default, 0.5, would slow each test.
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def _serve_folder(folder: Path) -> AbstractContextManager[str]:
    """Serve the files of a folder; a folder is its ``index.html``, or a list of its files.

    :raises NotADirectoryError: it is no folder.
    """
    from http.server import SimpleHTTPRequestHandler

    class FolderHandler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    if not folder.is_dir():
        raise NotADirectoryError(f"site must be a folder: got {str(folder)!r}")
    return serve(partial(FolderHandler, directory=str(folder)))


@pytest.fixture
def simhash_site() -> Iterator[SiteFunction]:
    """Return a function that serves a folder until the test ends, and returns its URL.

    The URL ends in a slash, and is the same for the same folder.

    :raises NotADirectoryError: it is no folder.
    """
    urls: dict[Path, str] = {}
    with ExitStack() as stack:

        def site(folder: Path) -> str:
            folder = folder.resolve()
            if folder not in urls:
                urls[folder] = stack.enter_context(_serve_folder(folder))
            return urls[folder]

        yield site


@pytest.fixture
def simhash_crawl(simhash_site: SiteFunction, tmp_path: Path) -> CrawlFunction:
    """Return a function that crawls a site: ``simhash_crawl(MySpider, site, **settings)``.

    The spider is a class, or its import path.  The site is a folder (a :class:`pathlib.Path`),
    which is served on loopback, or a URL.  The spider starts there.  If *arguments* is given, a
    mapping of arguments of the spider, the spider itself says where it starts.  Its
    ``allowed_domains`` is the host of the site.  Settings and arguments have values that JSON has;
    settings take precedence over ``custom_settings``.  The working folder is *tmp_path*.

    :raises CrawlError: the crawl did not start, judged no page or took over *timeout_seconds*,
        or the spider raised an error.
    :raises ValueError, TypeError, NotADirectoryError: an argument breaks its rule.
    """

    def crawl(
        spider: type | str,
        site: Path | str,
        *,
        arguments: Mapping[str, Any] | None = None,
        timeout_seconds: float = 120,
        **settings: Any,
    ) -> CrawlResult:
        __tracebackhide__ = True
        url = simhash_site(site) if isinstance(site, Path) else site
        if not urlsplit(url).hostname:
            raise ValueError(f"site must be a pathlib.Path or a URL: got {site!r}")
        return run_crawl(spider, url, arguments, settings, tmp_path, timeout_seconds)

    return crawl
