"""Pytest fixtures that crawl a folder or a server, and say what the crawl keeps and drops.

::

    def test_print_view_is_dropped(simhash_crawl):
        result = simhash_crawl(NewsSpider, Path(__file__).parent / "site")
        assert result.dropped == {"/print.html": "/article.html"}

A thread serves the folder.  child.py crawls in a process of its own, since a reactor cannot be
started twice::

    test                              child
     | job: spider, settings            |
     |--------------------------------->| crawls
     |   result: items, decisions       |
     |<---------------------------------|

Job and result are JSON files.  The child's stderr is the log.

pytest loads this module whenever it starts, so it imports neither Scrapy nor what Scrapy needs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler

__all__ = ["CrawlError", "CrawlFunction", "CrawlResult", "SiteFunction"]

DEFAULTS: dict[str, Any] = {
    "SIMHASH_INDEX": "memory:",
    "SIMHASH_WORKERS": 0,
    # One page after the other, in the order of the links: each crawl keeps the same pages.
    "CONCURRENT_REQUESTS": 1,
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    # Scrapy starts as many tasks for each page: the default, 100, takes a tenth of a crawl's time.
    "CONCURRENT_ITEMS": 16,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
}
# Scrapy's stats at the end of a log take about 30 of them.
LOG_LINES = 60

SiteFunction = Callable[[Path], str]
CrawlFunction = Callable[..., "CrawlResult"]


class CrawlError(AssertionError):
    """The crawl failed; the message shows the end of its log."""


@dataclass(frozen=True)
class CrawlResult:
    """What came of a crawl.

    A page is named by its path and query (``/list?page=2``), a page of another host by its URL.

    *kept* are the pages that were passed to the spider, without answers with an error status.
    *dropped* maps each dropped page to its representative, the kept page that has its text.
    *decisions* are the lines of the decisions feed, in order.  *items* are the scraped items, as
    dictionaries.  In items and *stats*, a value that JSON has not is a string.  *log* is the whole
    log.
    """

    kept: set[str]
    dropped: dict[str, str]
    decisions: list[dict[str, Any]]
    items: list[dict[str, Any]]
    stats: dict[str, Any]
    log: str


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


def run_crawl(
    spider: type | str,
    url: str,
    arguments: Mapping[str, Any] | None,
    settings: Mapping[str, Any],
    folder: Path,
    timeout_seconds: float,
) -> CrawlResult:
    """Crawl the site at *url* in the working folder *folder*; see the fixture ``simhash_crawl``.

    :raises CrawlError: the crawl failed.
    """
    __tracebackhide__ = True
    job = {
        "spider": _import_path(spider),
        "arguments": dict(arguments or {}),
        "start_urls": [url] if arguments is None else None,
        "host": urlsplit(url).hostname,
        "settings": {**DEFAULTS, **settings},
    }
    with TemporaryDirectory() as name:
        job_file, result_file = Path(name, "job.json"), Path(name, "result.json")
        job_file.write_text(json.dumps(job, default=os.fspath))
        log = _run_child([job_file, result_file], folder, timeout_seconds)
        found = json.loads(result_file.read_text())
    if errors := found["stats"].get("spider_exceptions/count"):
        raise _failed(f"in the spider, {errors} times", log)
    if not found["decisions"]:
        raise _failed("to get a page that could be judged", log)
    return CrawlResult(*_kept_and_dropped(found["decisions"], url), **found, log=log)


def _import_path(spider: type | str) -> str:
    """Return ``module:Class``."""
    if isinstance(spider, str):
        return spider if ":" in spider else ":".join(spider.rsplit(".", 1))
    if "<locals>" in spider.__qualname__:
        raise ValueError(f"spider must be at the top of a module: got {spider!r}")
    return f"{spider.__module__}:{spider.__qualname__}"


def _run_child(files: list[Path], folder: Path, timeout_seconds: float) -> str:
    """Run child.py, and return its log."""
    __tracebackhide__ = True
    # What the test can import, the spider can import.
    import_path = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
    try:
        done = subprocess.run(  # noqa: S603 - the command is our own
            [sys.executable, "-m", "scrapy_simhash.testing.child", *files],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": import_path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=timeout_seconds,
        )
    except subprocess.TimeoutExpired as exc:
        log = (exc.stderr or b"").decode(errors="replace")
        raise _failed(f"to end within {timeout_seconds} seconds", log) from exc
    log = done.stderr.decode(errors="replace")
    if done.returncode:
        raise _failed(f"with exit code {done.returncode}", log)
    return log


def _failed(how: str, log: str) -> CrawlError:
    end = "\n".join(log.splitlines()[-LOG_LINES:])
    return CrawlError(f"the crawl failed {how}. The end of its log:\n{end}")


def _kept_and_dropped(decisions: list[dict[str, Any]], url: str) -> tuple[set[str], dict[str, str]]:
    host = urlsplit(url).netloc
    kept, dropped = set(), {}
    for decision in decisions:
        page = _page(decision["url"], host)
        if decision["action"] == "drop":
            # A page that has not changed has none: it has its own text of an earlier crawl.
            dropped[page] = _page(decision["representative"] or decision["url"], host)
        elif decision["reason"] != "status":
            kept.add(page)
    return kept, dropped


def _page(url: str, host: str) -> str:
    """Return path and query of a URL on *host*, or else the whole URL."""
    parts = urlsplit(url)
    return parts._replace(scheme="", netloc="").geturl() or "/" if parts.netloc == host else url
