"""What does a second crawl download of a site whose server says what has not changed?

A site of --pages pages of seeded_site.py is crawled, then a share --changed of them changes, and it
is crawled again with ``SIMHASH_SKIP_UNCHANGED``.  The server answers 304 by entity tags.  Of a
share --lies of the pages the tag stays although they change, too: each of --repeats such crawls
begins with the index of the first one, and ends with one more, in which these pages change again.

Prints for each second crawl its bytes (bodies and headers) as a share of those of the first one,
the changed pages that the spider did not get, with right and with wrong tags, and of the latter
those that were missed after the host was no longer asked; and the milliseconds that a request took,
at the median, to be given what the server said of its page.

Leaves out: the time (bench_crawl.py), and servers that answer by dates, which the tests have.

    python benchmarks/bench_recrawl.py [--pages 2000] [--bytes 20000] [--changed 0.05]
        [--lies 0.01] [--repeats 5] [--json FILE] [--redis URL]

With ``--redis``, the index is on this server, and stays there from crawl to crawl: for the last
figure alone, with ``--repeats 0`` and an empty server.

With ``--sites``, does every judged page of real sites have its kept page, whatever happens?

At most --pages pages of each site, chosen by chance, are crawled, and the other addresses that the
server gives to three of ten.  The crawl is killed, interrupted, and killed once more.  Three more
crawls of pages known by then follow, with ``SIMHASH_SKIP_UNCHANGED`` and entity tags: the first is
killed, the second interrupted.  Before each, one kept page of five is forgotten, and other pages
get other addresses.  Each crawl goes on in its ``JOBDIR`` until it ends; after a kill, without the
queue of Scrapy, which cannot be read then.

Prints for each site what happened, and the sums over the looks at the groups, one after each
run and each forgetting: judged pages in no group, those in several, and rows whose kept page is
not listed as one.  A page counts as judged if a decisions feed says so, until it is forgotten.

With ``--canonicals``, which copy is kept, and is anything lost by false declarations?

Pages by chance and, of three of ten, a second address.  All pages with one gold text name one of
their addresses, chosen by chance, as canonical; then, in crawls of their own, all of them name the
home page, another domain, or any page of the site, by chance.  Prints for the crawls with
``SIMHASH_PREFER`` as "first" and as "canonical" the groups of several pages, those whose kept page
names another page of its group, the pages that replaced another, and the gold texts of which no
page was passed.

    python benchmarks/bench_recrawl.py --sites SITES_FOLDER --tools TOOLS_FOLDER [--pages 2000]
        [--canonicals]

SITES_FOLDER holds a folder with ``site.tar.xz`` for each site, TOOLS_FOLDER ``serve_site.py``.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

from measured_crawl import Given
from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor
from seeded_site import SeededSite

from scrapy_simhash import groups
from scrapy_simhash.crawl.validators import Validators
from scrapy_simhash.index.opening import open_lasting
from scrapy_simhash.testing import serve
from scrapy_simhash.testing.child import run_spiders

CRAWL = "import sys; sys.path.insert(0, sys.argv[1]); import bench_recrawl; bench_recrawl.run()"
# Share of the pages of a site that link to other addresses of theirs.
ALIASES = 0.3
OTHER_DOMAIN = "http://other.example/"
ONCE_MORE = " And now it says something else: number {}."


def run() -> None:
    """Run the crawl of a job, which a file says, and print its stats."""
    job = json.loads(Path(sys.argv[2]).read_text())
    seconds = []
    prepare = Validators.prepare

    async def timed(of: Validators, request: Request) -> None:
        began = time.perf_counter()
        await prepare(of, request)
        seconds.append(time.perf_counter() - began)

    Validators.prepare = timed  # type: ignore[assignment, method-assign]
    spiders = [{"Given": Given, "Mapped": Mapped}[job["spider"]]]
    [crawler] = run_spiders(spiders, {"urls": job["urls"]}, job["settings"], {})
    look_up_ms = 1000 * statistics.median(seconds or [0])
    print(json.dumps({**crawler.stats.get_stats(), "look_up_ms": look_up_ms}, default=str))


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
    look_up_ms: float


def start(
    spider: str, urls: list[str], folder: Path, settings: dict[str, Any]
) -> subprocess.Popen[str]:
    """Start a crawl of pages with the index in a folder, which prints its stats at its end."""
    of_all = {
        "SIMHASH_INDEX": str(folder / "pages.simhash"),
        "SIMHASH_DECISIONS_FILE": str(folder / "decisions.jsonl"),
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
    }
    job = folder / "job.json"
    job.write_text(json.dumps({"spider": spider, "urls": urls, "settings": of_all | settings}))
    command = [sys.executable, "-c", CRAWL, str(Path(__file__).parent), str(job)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def end_of(crawl: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the stats of a crawl, at its end."""
    output, _ = crawl.communicate()
    if crawl.returncode:
        sys.exit(f"a crawl ended with {crawl.returncode}")
    stats: dict[str, Any] = json.loads(output.splitlines()[-1])
    return stats


def decisions_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "decisions.jsonl").read_text().splitlines()]


def crawl(urls: list[str], folder: Path, **own: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Crawl pages with the index in a folder; return the stats and the decisions, in order."""
    (folder / "decisions.jsonl").unlink(missing_ok=True)
    settings = {"SIMHASH_SKIP_UNCHANGED": True, "SIMHASH_RULES": "off", **own}
    return end_of(start("Given", urls, folder, settings)), decisions_in(folder)


def recrawl(
    name: str,
    urls: list[str],
    folder: Path,
    first: float,
    honest: list[int],
    lying: list[int],
    **own: Any,
) -> Recrawl:
    """Crawl again, and look which changed pages the spider got."""
    stats, decisions = crawl(urls, folder, **own)
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
        look_up_ms=round(stats["look_up_ms"], 3),
    )


class Mapped(Given):
    """Get the given pages, with the other addresses that the server of the site gives to some."""

    name = "mapped"
    links = LinkExtractor(restrict_css="div.page-tools")

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        yield {"url": response.url}
        if isinstance(response, HtmlResponse):
            yield from (Request(link.url) for link in self.links.extract_links(response))


def tagged(handler: Any) -> Any:
    """Return the handler of serve_site.py with entity tags."""

    class Tagged(handler):  # type: ignore[misc]
        def _send(
            self, status: HTTPStatus, body: bytes, kind: str, with_body: bool, **headers: str
        ) -> None:
            tag = f'"{zlib.crc32(body):x}"'
            if status == HTTPStatus.OK and self.headers.get("If-None-Match") == tag:
                status, with_body = HTTPStatus.NOT_MODIFIED, False
            super()._send(status, body, kind, with_body, ETag=tag, **headers)

    return Tagged


def declaring(handler: Any, named: dict[str, str]) -> Any:
    """Return the handler of serve_site.py with pages that name their canonical addresses."""

    class Declaring(handler):  # type: ignore[misc]
        def _send(
            self, status: HTTPStatus, body: bytes, kind: str, with_body: bool, **headers: str
        ) -> None:
            link = f'<link rel="canonical" href="{named.get(self.path, "")}">'.encode()
            if self.path in named:
                body = re.sub(rb"(?i)<head[^>]*>", lambda head: head[0] + link, body, count=1)
            super()._send(status, body, kind, with_body, **headers)

    return Declaring


class Mapping:
    """The groups of a site's pages, and what was wrong with them in all looks together."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.judged: set[str] = set()
        self.kept: set[str] = set()

    def crawl(self, urls: list[str], stops: list[signal.Signals], **settings: Any) -> None:
        """Crawl, stop after equal shares of the pages, and go on each time; look each time."""
        job, feed = self.folder / "job", self.folder / "decisions.jsonl"
        shutil.rmtree(job, ignore_errors=True)
        feed.write_text("")
        for number, stop in enumerate([*stops, None], 1):
            run = start("Mapped", urls, self.folder, {**settings, "JOBDIR": str(job)})
            enough = number * len(urls) // (len(stops) + 1)
            while stop and run.poll() is None and feed.read_bytes().count(b"\n") < enough:
                time.sleep(0.01)
            if stop is None:
                self.counts["304"] += end_of(run).get("simhash/not_modified", 0)
            elif run.poll() is None:
                run.send_signal(stop)
                run.communicate()
                self.counts[stop.name] += 1
            if stop == signal.SIGKILL:  # then Scrapy cannot read its queue any more
                (job / "requests.seen").unlink(missing_ok=True)
                shutil.rmtree(job / "requests.queue", ignore_errors=True)
            found = decisions_in(self.folder)
            self.judged |= {one["url"] for one in found if one["verdict"] != "skipped"}
            asyncio.run(self.look())
        self.counts["decisions"] += len(found)

    async def look(self) -> None:
        """Compare the groups with the pages that were judged."""
        members = [one async for one in groups(str(self.folder / "pages.simhash"))]
        times = Counter(one.url for one in members)
        self.kept = {one.url for one in members if one.verdict == "kept"}
        self.counts["looks"] += 1
        self.counts["in no group"] += len(self.judged - times.keys())
        self.counts["in several"] += sum(times[url] > 1 for url in self.judged)
        self.counts["not listed"] += sum(one.kept not in self.kept for one in members)

    async def forget(self, urls: set[str]) -> None:
        """Forget pages, and look."""
        async with open_lasting(str(self.folder / "pages.simhash")) as index:
            ids = [row.id async for row in index.rows() if row.page.url in urls]
            self.counts["forgotten"] += await index.forget(ids)
        self.judged -= urls
        await self.look()


def mapping(archive: Path, tool: Any, pages: int, folder: Path) -> Counter[str]:
    """Return what happened to the groups of a site: crawls, stops, forgotten pages, and errors."""
    found, rng = Mapping(folder), random.Random(1)
    with tool.SiteServer(archive, aliases=ALIASES) as server:
        paths = server.site.pages()
        urls = [server.url + path[1:] for path in rng.sample(paths, min(pages, len(paths)))]
        found.crawl(urls, [signal.SIGKILL, signal.SIGINT, signal.SIGKILL])
        for stops in [signal.SIGKILL], [signal.SIGINT], []:
            asyncio.run(found.forget(set(rng.sample(sorted(found.kept), len(found.kept) // 5))))
            server.site.alias_seed += "+"  # other pages have other addresses now
            known = sorted({*urls, *found.judged} - {urls[0]})
            urls[1:] = rng.sample(known, min(pages, len(known)))
            found.crawl(urls, stops, SIMHASH_SKIP_UNCHANGED=True)
    found.counts["judged"], found.counts["kept"] = len(found.judged), len(found.kept)
    return found.counts


def preferring(archive: Path, tool: Any, pages: int) -> Iterator[tuple[str, Counter[str]]]:
    """Yield what was kept and lost of a site whose pages declare right and wrong canonicals."""
    rng, named = random.Random(1), dict[str, str]()
    with gzip.open(archive.parent / "gold.jsonl.gz", "rt", encoding="utf-8") as lines:
        gold = {quote(one["path"]): one["text"] for one in map(json.loads, lines) if one["text"]}
    chosen = rng.sample(sorted(gold), min(pages, len(gold)))
    paths = chosen + [f"{path}?from=list" for path in chosen if rng.random() < ALIASES]
    rng.shuffle(paths)
    text_of = {path: gold[path.partition("?")[0]] for path in paths}
    handler = tool._Handler
    tool._Handler = declaring(handler, named)
    with tool.SiteServer(archive) as server:
        tool._Handler = handler
        site = server.url[:-1]
        best = {text_of[path]: site + path for path in rng.sample(paths, len(paths))}
        false = {
            text: rng.choice(("/", OTHER_DOMAIN, rng.choice(list(best.values())))) for text in best
        }
        for told, canonical in ("right", best), ("wrong", false):
            named.update((path, canonical[text]) for path, text in text_of.items())
            for prefer in "first", "canonical":
                with tempfile.TemporaryDirectory() as name:
                    found = kept_and_lost(site, paths, text_of, Path(name), prefer)
                yield f"{told}, {prefer}", found


def kept_and_lost(
    site: str, paths: list[str], text_of: dict[str, str], folder: Path, prefer: str
) -> Counter[str]:
    """Crawl the pages of a site once, and return what its groups keep and what was lost."""
    _, decisions = crawl([site + path for path in paths], folder, SIMHASH_PREFER=prefer)
    text = {one["url"]: text_of[one["url"].removeprefix(site)] for one in decisions}
    got = {text[one["url"]] for one in decisions if one["action"] == "pass"}
    kept_of, names = asyncio.run(kept_in(folder))
    several = Counter(kept_of.values())
    return Counter(
        {
            "judged": len(decisions),
            "dropped": sum(one["action"] == "drop" for one in decisions),
            "groups of several": sum(count > 1 for count in several.values()),
            "keep another": sum(kept_of.get(named) == kept for kept, named in names.items()),
            "replaced": sum(one["reason"] == "canonical" for one in decisions),
            "texts": len(set(text.values())),
            "lost": len(set(text.values()) - got),
        }
    )


async def kept_in(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the kept page of each page of an index, and what the kept ones name as canonical."""
    members = [one async for one in groups(str(folder / "pages.simhash"))]
    names = {one.url: one.canonical for one in members if one.verdict == "kept" and one.canonical}
    return {one.url: one.kept for one in members}, names


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pages", type=int, default=2000)
    parser.add_argument("--bytes", type=int, default=20_000)
    parser.add_argument("--changed", type=float, default=0.05)
    parser.add_argument("--lies", type=float, default=0.01)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--redis", metavar="URL", help="keep the index on this server")
    parser.add_argument("--sites", type=Path, help="a folder of archived sites")
    parser.add_argument("--canonicals", action="store_true", help="ask which copy is kept")
    parser.add_argument("--tools", type=Path, help="the folder of serve_site.py")
    args = parser.parse_args()
    if args.sites:
        sys.path.insert(0, str(args.tools))
        tool: Any = import_module("serve_site")
        if args.canonicals:
            for place in sorted(args.sites.glob("*/site.tar.xz")):
                for crawls, counts in preferring(place, tool, args.pages):
                    told = ", ".join(f"{k} {v:,}" for k, v in counts.items())
                    print(f"{place.parent.name}, {crawls}: {told}", flush=True)
            return
        tool._Handler = tagged(tool._Handler)
        for place in sorted(args.sites.glob("*/site.tar.xz")):
            with tempfile.TemporaryDirectory() as name:
                counts = mapping(place, tool, args.pages, Path(name))
            told = ", ".join(f"{k} {v:,}" for k, v in counts.items())
            print(f"{place.parent.name}: {told}", flush=True)
        return
    pages = ChangingSite(SeededSite(args.pages, args.bytes, identical=0, seed=1))
    own = {"SIMHASH_INDEX": args.redis} if args.redis else {}
    rng = random.Random(1)
    rows = []
    with tempfile.TemporaryDirectory() as name, serve(pages.handler) as url:
        folder = Path(name)
        (folder / "first").mkdir()
        urls = [f"{url}{number}" for number in range(args.pages)]
        first = crawl(urls, folder / "first", **own)[0]["downloader/response_bytes"]
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
            rows.append(recrawl(kind, urls, place, first, changed, lying, **own))
            if number:
                pages.change([], lying)
                rows.append(recrawl(f"lies {number}, again", urls, place, first, [], lying, **own))
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
