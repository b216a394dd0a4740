"""Serves a site that answers to the whole request: its method, form, headers and cookies."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qsl, urlsplit

from reach.pages import Site, page
from reach.server import Reply, SiteServer


@dataclass(frozen=True)
class Asked:
    """A request; *counts* is for what the site counts, from its first crawl on."""

    url: str
    headers: Mapping[str, str]
    form: dict[str, str]
    counts: Counter[str]
    is_post: bool = False

    @cached_property
    def path(self) -> str:
        return urlsplit(self.url).path

    @cached_property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.url).query))

    @cached_property
    def number(self) -> int:
        """The number at the end of the path."""
        return int(self.path.rpartition("/")[2])

    @cached_property
    def cookies(self) -> dict[str, str]:
        jar = SimpleCookie(self.headers.get("Cookie", ""))
        return {name: morsel.value for name, morsel in jar.items()}

    def times(self, what: str) -> int:
        """Count one more of *what*, and return how many there are."""
        self.counts[what] += 1
        return self.counts[what]


@dataclass(frozen=True)
class Answer:
    """A response; it is sent after *wait_seconds*."""

    body: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait_seconds: float = 0


Answering = Callable[[Asked], str | Answer | None]


def moved(to: str, cookie: str = "", status: int = 302) -> Answer:
    return Answer("", status, {"Location": to, **({"Set-Cookie": cookie} if cookie else {})})


def welcome(title: str, cookie: str) -> Answer:
    return Answer(page(title, "<p>You can go on now.</p>"), headers={"Set-Cookie": cookie})


class AskedServer(SiteServer):
    """Serves one site; it makes one answer at a time, so that sites may count."""

    def __init__(self, site: Answering) -> None:
        self._site_answers = site
        self.counts: Counter[str] = Counter()
        super().__init__(Site(lambda path: None), ())

    def reply(self, request: BaseHTTPRequestHandler) -> Reply:
        url, length = request.path, int(request.headers.get("Content-Length", 0))
        form = dict(parse_qsl(request.rfile.read(length).decode()))
        is_post = request.command == "POST"
        asked = Asked(url, dict(request.headers), form, self.counts, is_post)
        with self._lock:
            self._visits[url] += 1
            answer = self._site_answers(asked)
        if answer is None:
            answer = Answer(page("Not found", f"<p>There is no page {url}.</p>"), 404)
        elif isinstance(answer, str):
            answer = Answer(answer)
        time.sleep(answer.wait_seconds)
        return Reply(answer.status, [*answer.headers.items()], answer.body.encode())
