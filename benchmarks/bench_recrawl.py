"""What does a second crawl download of a site whose server says what has not changed?

A site of --pages pages of seeded_site.py is crawled, then a share --changed of them changes, and it
is crawled again with ``SIMHASH_SKIP_UNCHANGED``.  The server answers 304 by entity tags.  Of a
share --lies of the pages the tag stays although they change, too: each of --repeats such crawls
begins with the index of the first one, and ends with one more, in which these pages change again.

Prints for each second crawl its bytes (bodies and headers) as a share of those of the first one,
the changed pages that the spider did not get, with right and with wrong tags, and of the latter
those that were missed after the host was no longer asked.

Leaves out: the time (bench_crawl.py), and servers that answer by dates, which the tests have.

    python benchmarks/bench_recrawl.py [--pages 2000] [--bytes 20000] [--changed 0.05]
        [--lies 0.01] [--repeats 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from seeded_site import SeededSite

from scrapy_simhash.testing import serve

CRAWL = """
import json, sys
sys.path.insert(0, sys.argv[1])
from measured_crawl import Given
from scrapy_simhash.testing.child import run_spiders
job = json.loads(sys.argv[2])
[crawler] = run_spiders([Given], {"urls": job["urls"]}, job["settings"], {})
print(json.dumps(crawler.stats.get_stats(), default=str))
"""
ONCE_MORE = " And now it says something else: number {}."


class ChangingSite:
    """The pages of a site, which have a version each, and the version that their tag is of."""

    def __init__(self, site: SeededSite) -> None:
        self.versions: dict[int, int] = {}
        self.tags: dict[int, int] = {}
        of_pages = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = 1 << 16

            def do_GET(self) -> None:
                number = int(self.path[1:])
                tag = f'"{number}-{of_pages.tags.get(number, 0)}"'
                is_same = self.headers.get("If-None-Match") == tag
                body = site.body(number)
                if version := of_pages.versions.get(number, 0):
                    text = ONCE_MORE.format(version).encode()
                    body = body.replace(b"</article>", b"<p>%s</p></article>" % text)
                self.send_response(304 if is_same else 200)
                self.send_header("ETag", tag)
                if not is_same:
                    self.send_header("Content-Type", "text/html; charset=utf-8")
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(b"" if is_same else body)

            def log_message(self, format: str, *args: Any) -> None:
                """Log nothing."""

        self.handler = Handler

    def change(self, honest: list[int], lying: list[int]) -> None:
        """Let pages change, with their tags or without."""
        for number in (*honest, *lying):
            self.versions[number] = self.versions.get(number, 0) + 1
        for number in honest:
            self.tags[number] = self.versions[number]


@dataclass(frozen=True)
class Recrawl:
    """What came of a crawl of a site that was crawled before."""

    name: str
    bytes: float
    not_modified: int
    audited: int
    changed: int
    missed: int
    lying: int
    missed_lies: int
    missed_lies_afterwards: int


def crawl(urls: list[str], folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Crawl pages with the index in a folder; return the stats and the decisions, in order."""
    feed = folder / "decisions.jsonl"
    feed.unlink(missing_ok=True)
    settings = {
        "SIMHASH_INDEX": str(folder / "pages.simhash"),
        "SIMHASH_SKIP_UNCHANGED": True,
        "SIMHASH_DECISIONS_FILE": str(feed),
        "SIMHASH_RULES": "off",
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
    }
    job = json.dumps({"urls": urls, "settings": settings})
    command = [sys.executable, "-c", CRAWL, str(Path(__file__).parent), job]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    lines = feed.read_text().splitlines()
    return json.loads(done.stdout.splitlines()[-1]), [json.loads(line) for line in lines]


def recrawl(
    name: str, urls: list[str], folder: Path, first: float, honest: list[int], lying: list[int]
) -> Recrawl:
    """Crawl again, and look which changed pages the spider got."""
    stats, decisions = crawl(urls, folder)
    got = {one["url"] for one in decisions if one["action"] == "pass"}
    lies = {urls[number] for number in lying}
    asked = [one["url"] for one in decisions if one["reason"] == "unchanged" and not one["tokens"]]
    order = {one["url"]: place for place, one in enumerate(decisions)}
    found = min((order[url] for url in lies & got), default=len(decisions))
    return Recrawl(
        name,
        bytes=stats["downloader/response_bytes"] / first,
        not_modified=stats.get("simhash/not_modified", 0),
        audited=stats.get("simhash/validators/audited", 0),
        changed=len(honest),
        missed=sum(urls[number] not in got for number in honest),
        lying=len(lying),
        missed_lies=len(lies - got),
        missed_lies_afterwards=sum(url in lies and order[url] > found for url in asked),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--bytes", type=int, default=20_000)
    parser.add_argument("--changed", type=float, default=0.05)
    parser.add_argument("--lies", type=float, default=0.01)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    pages = ChangingSite(SeededSite(args.pages, args.bytes, identical=0, seed=1))
    rng = random.Random(1)
    rows = []
    with tempfile.TemporaryDirectory() as name, serve(pages.handler) as url:
        folder = Path(name)
        (folder / "first").mkdir()
        urls = [f"{url}{number}" for number in range(args.pages)]
        first = crawl(urls, folder / "first")[0]["downloader/response_bytes"]
        for number in range(args.repeats + 1):
            place = shutil.copytree(folder / "first", folder / f"{number}")
            pages.versions.clear()
            pages.tags.clear()
            # The first page is where the crawl starts from, and is downloaded in any case.
            changed = rng.sample(range(1, args.pages), round(args.changed * args.pages))
            lying: list[int] = []
            if number:
                others = [*({*range(1, args.pages)} - {*changed})]
                lying = rng.sample(others, round(args.lies * args.pages))
            pages.change(changed, lying)
            kind = f"lies {number}" if number else "honest"
            rows.append(recrawl(kind, urls, place, first, changed, lying))
            if number:
                pages.change([], lying)
                rows.append(recrawl(f"lies {number}, again", urls, place, first, [], lying))
    print(f"first crawl: {args.pages:,} pages, {first:,} bytes")
    for row in rows:
        print(
            ", ".join(
                f"{k} {v:.1%}" if k == "bytes" else f"{k} {v}" for k, v in asdict(row).items()
            )
        )
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=2))


if __name__ == "__main__":
    main()
