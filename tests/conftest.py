"""Fixtures: Hypothesis profiles, a site on loopback, a crawl in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings

from scrapy_simhash import testing
from scrapy_simhash.analysis.extraction import NAMED
from scrapy_simhash.settings import TEXT
from scrapy_simhash.testing import DEFAULTS, serve
from tests import forking
from tests.redis_servers import new_redis_url

# Bounded and the same on every run in CI; wider by hand: HYPOTHESIS_PROFILE=thorough
settings.register_profile("ci", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

FOLDER = Path(__file__).parents[1]
# What the fixture "simhash_crawl" runs.
CHILD = FOLDER / "scrapy_simhash" / "testing" / "child.py"

needs_resiliparse = pytest.mark.skipif(
    find_spec("resiliparse") is None, reason="resiliparse is not installed"
)
# The named extractors, to test with each that is installed.
EXTRACTORS = [
    pytest.param(name, marks=needs_resiliparse) if name == "resiliparse" else name for name in NAMED
]


@dataclass
class Reply:
    """What the site answers at a path: a body, or a function of the number of the visit, from 1."""

    body: bytes | str | Callable[[int], str] = b""
    status: int = 200
    content_type: str = "text/html; charset=utf-8"
    headers: dict[str, str] = field(default_factory=dict)

    def is_known(self, headers: Any) -> bool:
        """Whether a request with these headers gets 304 (RFC 9110, section 13.2.2)."""
        if (etag := headers.get("If-None-Match")) is not None:
            return bool(etag == self.headers.get("ETag"))
        since = headers.get("If-Modified-Since")
        return since is not None and since == self.headers.get("Last-Modified")


class Site:
    """Pages by path, served on loopback.

    ``asked`` counts the requests for each path, ``not_modified`` the answers 304, and
    ``conditional`` has the last headers by which it was asked whether a page has changed.
    """

    def __init__(self) -> None:
        self.pages: dict[str, Reply] = {}
        self.asked: Counter[str] = Counter()
        self.not_modified: Counter[str] = Counter()
        self.conditional: dict[str, dict[str, str]] = {}
        site = self

        class Handler(BaseHTTPRequestHandler):
            # A connection serves many pages, each of which is sent at once.
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                site.asked[self.path] += 1
                reply = site.pages.get(self.path, Reply("not found", 404))
                conditional = {n: v for n, v in self.headers.items() if n.startswith("If-")}
                site.conditional[self.path] = conditional
                found = reply.body(site.asked[self.path]) if callable(reply.body) else reply.body
                body = found.encode() if isinstance(found, str) else found
                if conditional and reply.is_known(conditional):
                    site.not_modified[self.path] += 1
                    self.send_response(304)
                    self.end_headers()
                    return
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.content_type)
                self.send_header("Content-Length", str(len(body)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self.handler = Handler
        self.url = ""

    def __setitem__(self, path: str, reply: Reply | str | Callable[[int], str]) -> None:
        self.pages[path] = reply if isinstance(reply, Reply) else Reply(reply)


@pytest.fixture
def site() -> Iterator[Site]:
    """An empty site; fill it with ``site["/path"] = article(...)``."""
    site = Site()
    with serve(site.handler) as url:
        site.url = url.rstrip("/")
        yield site


def prose(topic: str, words: int = 120) -> str:
    """Text that shares no run of words with that of another topic."""
    return " ".join(f"{topic}{i % 89} {topic}{i * i % 97}" for i in range(words // 2))


def article(text: str, links: list[str] | None = None, title: str = "Page") -> str:
    """An HTML page with *text* as its content, and links."""
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links or [])
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title></head><body>"
        f"<nav><ul>{anchors}</ul></nav><main><article><p>{text}</p></article></main></body></html>"
    )


@dataclass
class Crawl:
    """What came of a crawl."""

    returncode: int
    log: str
    stats: dict[str, Any]
    items: list[dict[str, Any]]
    decisions: list[dict[str, Any]]

    def verdicts(self) -> dict[str, str]:
        """URL path -> verdict, from the decisions feed."""
        return {path_of(d["url"]): d["verdict"] for d in self.decisions}

    def seen(self) -> set[str]:
        """The paths of the pages that reached the spider."""
        return {path_of(item["url"]) for item in self.items}

    def simhash_stats(self) -> dict[str, Any]:
        """The stats of the plug-in, but for those of time and bytes."""
        return {
            name.removeprefix("simhash/"): value
            for name, value in self.stats.items()
            if name.startswith("simhash/") and not name.endswith(("_seconds", "_bytes"))
        }


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]


CrawlFixture = Callable[..., Crawl]


@pytest.fixture
def redis_url() -> str:
    """The URL of an index in Redis that is not there yet."""
    return new_redis_url()


@pytest.fixture(params=["memory:", "file", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an index of each kind may be made."""
    if request.param == "redis":
        return new_redis_url()
    return "memory:" if request.param == "memory:" else str(tmp_path / "pages.simhash")


@pytest.fixture(params=["file", "redis"])
def lasting_place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an index of each kind that outlives its process may be made."""
    return new_redis_url() if request.param == "redis" else str(tmp_path / "pages.simhash")


@pytest.fixture
def crawl(site: Site, tmp_path: Path) -> CrawlFixture:
    """A function that crawls the site from ``/`` with a spider of tests/spiders.py.

    It runs in a process of its own, since a reactor cannot be started twice; the working
    folder is *tmp_path*, so that a second crawl continues from the first one's index.
    Further arguments are settings.
    """

    def run(spider: str = "Links", start: str = "/", **settings: Any) -> Crawl:
        return run_job(crawl_job(site, tmp_path, spider, start, **settings), tmp_path)

    return run


@pytest.fixture
def forked_crawls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fork server run the crawls of ``simhash_crawl``."""

    def run(
        command: list[str | Path], cwd: Path, timeout: float, **_: object
    ) -> subprocess.CompletedProcess[bytes]:
        done = forking.run([CHILD, *command[3:]], cwd, timeout)
        return subprocess.CompletedProcess(command, done.returncode, b"", done.stderr.encode())

    monkeypatch.setattr(testing, "subprocess", SimpleNamespace(**{**vars(subprocess), "run": run}))


def run_job(job: list[str], folder: Path) -> Crawl:
    """Run what :func:`crawl_job` returned."""
    with start_job(job, folder) as started:
        return ended(started, folder)


def start_job(job: list[str], folder: Path) -> forking.Job:
    """Start what :func:`crawl_job` returned."""
    return forking.Job(job[1:], folder)


def ended(started: forking.Job, folder: Path, timeout: float = 120) -> Crawl:
    """Wait for the end of a crawl."""
    done = started.wait(timeout)
    return crawl_result(done.returncode, done.stderr, folder)


def crawl_job(
    site: Site, folder: Path, spider: str = "Links", start: str = "/", **settings: Any
) -> list[str]:
    """Return the command of a crawl."""
    defaults = {
        **DEFAULTS,
        "SIMHASH_INDEX": None,
        # The copies on most sites here differ in a few words, which "items" keeps for them.
        "SIMHASH_TAKES": TEXT,
        "SIMHASH_DECISIONS_FILE": "decisions.jsonl",
    }
    (folder / "job.json").write_text(
        json.dumps(
            {"spider": spider, "url": site.url + start, "settings": {**defaults, **settings}}
        )
    )
    return [sys.executable, str(FOLDER / "tests" / "run_crawl.py"), str(folder / "job.json")]


def crawl_result(returncode: int, log: str, folder: Path) -> Crawl:
    """Read what a crawl left behind in *folder*."""

    def lines(name: str) -> list[dict[str, Any]]:
        path = folder / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    stats = lines("stats.jsonl")
    return Crawl(
        returncode, log, stats[-1] if stats else {}, lines("items.jsonl"), lines("decisions.jsonl")
    )
