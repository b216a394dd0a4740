"""A site of random pages, the same for the same seed, served on loopback.

Prints its URL and serves ``/0`` to ``/<pages - 1>`` until it is terminated.  Each page has a menu,
a sidebar and a footer that the site repeats, and its own article of 800 words and its own script.
The share --identical of the pages are copies of others, byte for byte.

    python benchmarks/seeded_site.py --pages 1000 [--bytes 60000] [--identical 0.5] [--seed 1]
                                     [--counter]

With --counter, no two answers are the same: each ends with a number in a comment.
"""

from __future__ import annotations

import argparse
import random
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

WORDS = 5000
# Of 80 words each.  A script fills the page up to its size, as on many real pages.
PARAGRAPHS = 10


class SeededSite:
    """The bodies of the pages, made on demand."""

    def __init__(self, pages: int, page_bytes: int, identical: float, seed: int) -> None:
        rng = random.Random(seed)
        self._seed = seed
        self._words = [
            "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 10)))
            for _ in range(WORDS)
        ]
        self._top = self._list("menu", rng.sample(self._words, 60))
        self._side = self._list("sidebar", rng.sample(self._words, 30))
        self._page_bytes = page_bytes
        originals = max(1, round(pages * (1 - identical)))
        self._original = [i if i < originals else rng.randrange(originals) for i in range(pages)]

    def body(self, number: int) -> bytes:
        """Return the body of page *number*.

        :raises IndexError: there is no such page.
        """
        return self._page(self._original[number])

    @lru_cache(maxsize=2000)  # noqa: B019 - there is one site in a process
    def _page(self, number: int) -> bytes:
        rng = random.Random(f"{self._seed} {number}")
        text = "".join(
            f'<div class="section"><p id="p{i}">{" ".join(rng.choices(self._words, k=80))} '
            f'<a href="/{number}/{i}">{rng.choice(self._words)}</a>.</p></div>\n'
            for i in range(PARAGRAPHS)
        )
        page = (
            f"<!DOCTYPE html><html><head><title>Page {number}</title></head><body>{self._top}"
            f"<main><article><h1>{' '.join(rng.choices(self._words, k=6))}</h1>\n{text}</article>"
            f"</main>{self._side}<footer><p>Made from random words.</p></footer>"
        )
        script = rng.randbytes(max(0, self._page_bytes - len(page)) // 2).hex()
        return f"{page}<script>{script}</script></body></html>".encode()

    @staticmethod
    def _list(name: str, words: list[str]) -> str:
        items = "".join(
            f'<li class="{name}-item"><a class="{name}-link" href="/{word}"><span>{word}</span></a>'
            for word in words
        )
        return f'<div class="{name}"><ul>{items}</ul></div>'


def serve(site: SeededSite, counter: bool) -> None:
    numbers = count() if counter else None

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 1 << 16

        def do_GET(self) -> None:
            try:
                status, body = 200, site.body(int(self.path[1:]))
                if numbers is not None:
                    body += b"<!-- %d -->" % next(numbers)
            except (ValueError, IndexError):
                status, body = 404, b"<p>not found</p>"
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--bytes", type=int, default=60_000)
    parser.add_argument("--identical", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--counter", action="store_true")
    args = parser.parse_args()
    serve(SeededSite(args.pages, args.bytes, args.identical, args.seed), args.counter)


if __name__ == "__main__":
    main()
