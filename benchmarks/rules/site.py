"""Serves an archived site, each page at several addresses, on hosts of its own.

The server is a proxy: a crawl asks it for ``http://www.site.com/...`` and ``http://m.site.com/...``.
Each page links its own aliases and those of the next page, so that an alias may be met first.
Each names its address as rel=canonical, which is right.
"""

from __future__ import annotations

import gzip
import html
import json
import random
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import quote, unquote, urljoin, urlsplit

HOST, OTHER_HOST = "www.site.com", "m.site.com"
WALL = "<html><head><title>Log in</title></head><body><p>Please log in first.</p></body></html>"

Hostile = Literal[
    "matters in one section",
    "starts to matter midway",
    "wall that opens later",
    "session id is required",
]
HOSTILE: tuple[Hostile, ...] = get_args(Hostile)
# What happens midway happens when so many of the pages were asked for, at any of their addresses.
MIDWAY = 0.5
SECTIONS = 4

_LINK = re.compile(rb"<a\s[^>]*?href\s*=\s*[\"']?([^\"' >#?]+)", re.I)
_HEAD = re.compile(rb"<head\b[^>]*>", re.I)
_BODY_END = re.compile(rb"</body\s*>", re.I)
_SLASH = "/~!$&'()*+,;=:@-._"


def _token(path: str) -> str:
    return f"{random.Random(path).getrandbits(64):016x}"


# The address of a page, by its quoted path.
ALIASES: dict[str, Callable[[str], str]] = {
    "session id": lambda path: f"http://{HOST}{path}?sid={_token(path)}",
    "tracking": lambda path: f"http://{HOST}{path}?utm_source=feed&utm_medium=link",
    "sort order": lambda path: f"http://{HOST}{path}?sort={'ab'[len(path) % 2]}",
    "jsessionid": lambda path: f"http://{HOST}{path};jsessionid={_token(path)}",
    "print view": lambda path: f"http://{HOST}/print{path}",
    "mirror": lambda path: f"http://{HOST}/mirror{path}",
    "index file": lambda path: f"http://{HOST}{path.removesuffix('index.html')}",
    "host": lambda path: f"http://{OTHER_HOST}{path}",
}


class Answer(NamedTuple):
    """An answer that was given: the address, the path of its page, and that of its content."""

    url: str
    path: str
    content: str | None


class ArchivedSite:
    """The first *pages* pages of an archived site, in the order in which they are linked.

    *tools* is the folder of serve_site.py.  With *variants*, a seed, pages change at each visit.
    """

    def __init__(
        self,
        folder: Path,
        tools: Path,
        pages: int,
        aliases: Sequence[str],
        hostile: Hostile | None = None,
        variants: int | None = None,
    ) -> None:
        if str(tools) not in sys.path:
            sys.path.insert(0, str(tools))
        serve = import_module("serve_site")
        self._server = serve.SiteServer(str(folder / "site.tar.xz"), variants=variants)
        self._files: Any = self._server.site
        with gzip.open(folder / "gold.jsonl.gz", "rt") as lines:
            texts = {row["path"]: row["text"] for row in map(json.loads, lines)}
        self.gold = {path: " ".join(text.casefold().split()) for path, text in texts.items()}
        starts = json.loads((folder / "site.json").read_text())["start"]
        found = self._linked(starts, 2 * pages)
        self._paths = found[:pages]
        self._places = {path: place for place, path in enumerate(self._paths)}
        # Shown at an address that is no alias of its page.
        self._others = found[pages:] or found
        self.starts = [f"http://{HOST}{quote(path, safe=_SLASH)}" for path in self._paths[:1]]
        self._aliases = aliases
        self._hostile = hostile
        self.restart()

    def restart(self) -> None:
        """Forget what was asked for."""
        self._seen: set[str] = set()
        self.answers: list[Answer] = []
        self._lock = threading.Lock()

    def close(self) -> None:
        self._server.close()

    def path(self, url: str) -> str | None:
        """Return the path of the page at an address, however it is written; None if there is none.

        This is what an oracle knows.
        """
        parts = urlsplit(url)
        if parts.netloc not in (HOST, OTHER_HOST):
            return None
        path = unquote(parts.path).partition(";")[0]
        for view in ("/print/", "/mirror/"):
            path = path[len(view) - 1 :] if path.startswith(view) else path
        path += "index.html" if path.endswith("/") else ""
        return path if path in self._places else None

    def key(self, url: str) -> str:
        """Return what an oracle takes two addresses for one page by."""
        path = self.path(url) or url
        return f"{path} {self._differs(path, url)}"

    def is_alias(self, url: str) -> bool:
        """Whether an address is not the one that a page names as its own."""
        path = self.path(url)
        return path is not None and url != f"http://{HOST}{quote(path, safe=_SLASH)}"

    def answer(self, url: str) -> bytes | None:
        """Return the page at an address; None if there is none."""
        path = self.path(url)
        if path is None:
            return None
        with self._lock:
            self._seen.add(path)
            content = self._content(path, url)
            self.answers.append(Answer(url, path, content))
        if content is None:
            return WALL.encode()
        file = self._files.file(content)
        is_printed = "/print/" in url
        body: bytes = self._files.render(file.read_bytes(), content, content, is_printed)
        own = url if self._differs(path, url) else f"http://{HOST}{quote(path, safe=_SLASH)}"
        canonical = f'<link rel="canonical" href="{html.escape(own)}">'.encode()
        if head := _HEAD.search(body):
            body = body[: head.end()] + canonical + body[head.end() :]
        foot = self._foot(self._places[path])
        ends = list(_BODY_END.finditer(body))
        at = ends[-1].start() if ends else len(body)
        return body[:at] + foot + body[at:]

    def _content(self, path: str, url: str) -> str | None:
        """Return the path of the content at an address; None for a wall."""
        if path == self._paths[0]:
            return path
        if self._hostile == "wall that opens later" and not self._is_late:
            return path if self._section(path) else None
        if self._hostile == "session id is required" and "sid=" not in url:
            return None
        if self._differs(path, url):
            return self._others[self._places[path] % len(self._others)]
        return path

    def _differs(self, path: str, url: str) -> bool:
        """Whether the session id makes another page of this one, which is not the first."""
        if "sid=" not in url or not self._places.get(path):
            return False
        if self._hostile == "matters in one section":
            return self._section(path) == 0
        return self._hostile == "starts to matter midway" and self._is_late

    @property
    def _is_late(self) -> bool:
        return len(self._seen) >= MIDWAY * len(self._paths)

    def _section(self, path: str) -> int:
        return random.Random(path.rpartition("/")[0]).randrange(SECTIONS)

    def _foot(self, place: int) -> bytes:
        links = []
        for near in (place, (place + 1) % len(self._paths)):
            path = quote(self._paths[near], safe=_SLASH)
            links.append(f"http://{HOST}{path}")
            links += [ALIASES[kind](path) for kind in self._aliases]
        items = " | ".join(f'<a href="{html.escape(one)}">View</a>' for one in links)
        return f'\n<div class="page-tools">{items}</div>\n'.encode()

    def _linked(self, starts: Sequence[str], most: int) -> list[str]:
        """Return the paths of pages with content of their own, breadth first."""
        found: list[str] = []
        waiting, seen = deque(starts), set(starts)
        while waiting and len(found) < most:
            path = waiting.popleft()
            file = self._files.file(path)
            if not path.endswith(".html") or file is None or not file.is_file():
                continue
            if self.gold.get(path):
                found.append(path)
            for link in _LINK.findall(file.read_bytes()):
                target = unquote(
                    urlsplit(urljoin(quote(path), link.decode("ascii", "replace"))).path
                )
                target += "index.html" if target.endswith("/") else ""
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return found


class Proxy:
    """Serves a site to a crawl that has it as its HTTP proxy."""

    def __init__(self, site: ArchivedSite) -> None:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = 1 << 16

            def do_GET(self) -> None:
                body = site.answer(self.path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
