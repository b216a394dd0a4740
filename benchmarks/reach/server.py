"""Serves a site on loopback, with noise, and counts requests."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Collection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from reach.noise import NOISE
from reach.pages import Site


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

    def _answer(self, path: str) -> bytes:
        with self._lock:
            visit = self._visits[path]
            self._visits[path] += 1
        html = self._site.body(path)
        if html is None:
            return b""
        if self._noise and "/leaf/" not in path:
            rng = random.Random(f"{path} {visit}")
            for name in self._noise:
                if name != "session" or self._site.is_session(path):
                    html = NOISE[name](html, rng, self._site.pool)
        return html.encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = 1 << 16

            def do_GET(self) -> None:
                body = answer(self.path)
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing."""

        return Handler
