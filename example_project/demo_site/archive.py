"""Write what the demo site answers as an archive: ``python -m demo_site.archive demo.warc.gz``."""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

from demo_site.server import DemoSite

SITE = "http://demo.example"
HTTP = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
WARC = (
    "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n"
    "WARC-Date: 2026-01-01T00:00:00Z\r\n"
    "Content-Type: application/http; msgtype=response\r\nContent-Length: {length}\r\n\r\n"
)


def write(path: Path) -> int:
    """Follow the site's links from its first page on, and return how many pages there are."""
    site = DemoSite()
    found = ["/"]
    pages = {"/": site.answer("/")}
    for target in found:  # which grows
        for link in re.findall(r'href="(/[^"]*)"', pages[target] or ""):
            if link not in pages:
                pages[link] = site.answer(link)
                found.append(link)
    with path.open("wb") as file:
        for target, page in pages.items():
            if page is not None:
                answer = (HTTP + page).encode()
                header = WARC.format(url=SITE + target, length=len(answer))
                # Each record is a member of the archive, so that it can be read by itself.
                file.write(gzip.compress(header.encode() + answer + b"\r\n\r\n", mtime=0))
    return sum(page is not None for page in pages.values())


if __name__ == "__main__":
    print(f"{write(Path(sys.argv[1]))} pages are in {sys.argv[1]}")
