"""Serves a site on loopback, with noise, and counts requests."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Collection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from reach.noise import NOISE, signed
from reach.pages import Site, without_markers

# A header for each item of a page.
ITEM_HEADER = "X-Item"


class Reply(NamedTuple):
    """What is sent for a request: an HTML page, and headers beside those of every page."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class SiteServer:
    """A server of one site; the same visit of the same address gets the same page."""

    def __init__(self, site: Site, noise: Collection[str]) -> None:
        self._site = site
        self._noise = [name for name in NOISE if name in noise]
        self._visits: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def requests(self) -> Counter[str]:
        """Return how often each row's addresses were asked for, and forget all visits."""
        with self._lock:
            visits, self._visits = self._visits, Counter()
        rows: Counter[str] = Counter()
        for path, times in visits.items():
            rows[self._site.row(path)] += times
        return rows

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply(self, request: BaseHTTPRequestHandler) -> Reply:
        """Return what is sent for a request."""
        path = request.path
        with self._lock:
            visit = self._visits[path]
            self._visits[path] += 1
        html = self._site.body(path)
        if html is None:
            return Reply(404, [], b"")
        html, items = without_markers(html)
        rng = random.Random(f"{path} {visit}")
        html = signed(html, rng)
        if "/leaf/" not in path:
            for name in self._noise:
                if name != "session" or self._site.is_session(path):
                    html = NOISE[name](html, rng, self._site.pool)
        return Reply(200, [(ITEM_HEADER, item) for item in items], html.encode())

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        reply = self.reply

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = 1 << 16

            def do_GET(self) -> None:
                status, headers, body = reply(self)
                self.send_response(status)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                for name, value in headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing."""

        return Handler
