"""What does a crawl reach without the plug-in, and what of that with it?

Crawls seeded sites on loopback, without the plug-in, with ``drop`` and with ``flag``, all other
settings at their defaults.  Each page that an item can be taken from names it.  Prints, for each
site: requests; items reached without the plug-in; items lost with it; copies of an item that
reached the spider again.

Sites: *shop* (listings with an introduction and cards wholly inside links, a pagination, products
under session ids and as print views), *variants* (products with the same text and other
identifiers in JSON-LD), *blog* (posts that only tag and date pages lead to), *application* (one
shell, the data in a script), *gallery* (one text, other pictures).

Leaves out: real sites (tests against those need their archives), pages that change with each visit,
and how fast the crawl is.

    python benchmarks/bench_reach.py [SITE ...] [--size 480] [--json]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import threading
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Pages = dict[str, str]

WORDS = [
    f"{a}{b}{c}" for a in "bdfglm" for b in "aeiou" for c in ("ra", "ston", "lig", "men", "dun")
]


def prose(seed: object, words: int) -> str:
    rng = random.Random(str(seed))
    return " ".join(rng.choices(WORDS, k=words)).capitalize() + "."


def page(title: str, content: str, item: object = None, head: str = "") -> str:
    """A page of a site with a menu and a footer; *item* is what a spider takes from it."""
    marker = "" if item is None else f'<meta name="item" content="{item}">'
    return (
        f"<!DOCTYPE html><html><head><title>{title}</title>{marker}{head}</head><body>"
        '<header><nav><a href="/">Start</a> <a href="/about">About</a></nav></header>'
        f"<main><h1>{title}</h1>{content}</main>"
        f"<footer><p>{prose('footer', 30)}</p></footer></body></html>"
    )


def shop(size: int) -> Pages:
    """Listings of 12 cards under one introduction; each product at four addresses."""
    pages: Pages = {}
    intro = f"<p>{prose('intro', 120)}</p>"
    count = -(-size // 12)
    for number in range(count):
        cards = "".join(
            f'<div class="card"><a href="/product/{i}"><h3>Tool {i}</h3><p>{i % 90} euros</p></a>'
            f'<a href="/product/{i}?sid={i * 7919 % 1000}"><span>look at it</span></a></div>'
            for i in range(12 * number, min(12 * number + 12, size))
        )
        more = f'<div class="pagination"><a href="/list?page={number + 1}">next</a></div>'
        pages[f"/list?page={number}"] = page(
            "Tools", intro + cards + (more if number + 1 < count else "")
        )
    for i in range(size):
        text = f"<p>{prose(('product', i), 150)}</p>"
        printed = f'<p><a href="/print/product/{i}">Print</a></p>'
        pages[f"/product/{i}"] = page(f"Tool {i}", text + printed, item=i)
        pages[f"/product/{i}?sid={i * 7919 % 1000}"] = page(f"Tool {i}", text + printed, item=i)
        pages[f"/print/product/{i}"] = f"<html><body><h1>Tool {i}</h1>{text}</body></html>".replace(
            "<html>", f'<html><head><meta name="item" content="{i}"></head>'
        )
    pages["/"] = page("Shop", f'<p>{prose("start", 60)}</p><a href="/list?page=0">All tools</a>')
    return pages


def listed(pages: Pages, title: str, paths: list[str]) -> Pages:
    """Add a start page that links to *paths*."""
    links = "".join(f'<li><a href="{path}">{path[1:]}</a></li>' for path in paths)
    return {"/": page(title, f"<p>{prose('start', 60)}</p><ul>{links}</ul>"), **pages}


def variants(size: int) -> Pages:
    """Products whose text is the same but for a colour, with another number each."""
    pages: Pages = {}
    for i in range(size):
        data = {"@type": "Product", "sku": f"T-{i}", "gtin13": f"40{i:011d}", "name": "Tool"}
        head = f'<script type="application/ld+json">{json.dumps(data)}</script>'
        text = f"<p>{prose('variant', 160)} Colour {i % 7}.</p>"
        pages[f"/variant/{i}"] = page("Tool", text, item=i, head=head)
        pages[f"/variant/{i}?ref=mail"] = page("Tool", text, item=i, head=head)
    return listed(pages, "Variants", list(pages))


def blog(size: int) -> Pages:
    """Posts that only pages of tags and dates lead to; these show a teaser that others show."""
    pages: Pages = {}
    for i in range(size):
        pages[f"/post/{i}"] = page(f"Post {i}", f"<p>{prose(('post', i), 200)}</p>", item=i)
    archives = []
    for i in range(0, size, 4):
        teaser = f"<article><p>{prose(('teaser', i % 40), 120)}</p></article>"
        links = "".join(f'<p><a href="/post/{j}">{j}</a></p>' for j in range(i, min(i + 4, size)))
        path = f"/{'tag' if i % 8 else 'date'}/{i}"
        pages[path] = page("Archive", teaser + links)
        archives.append(path)
    return listed(pages, "Blog", archives)


def application(size: int) -> Pages:
    """One shell for all pages; what they are is in a script."""
    pages: Pages = {}
    for i in range(size):
        state = f"<script>window.__STATE__ = {json.dumps({'id': i, 'name': prose(i, 5)})}</script>"
        shell = f"<p>{prose('shell', 120)}</p><div id='root'></div>"
        pages[f"/view/{i}"] = page("Application", shell + state, item=i)
    return listed(pages, "Application", list(pages))


def gallery(size: int) -> Pages:
    """Pages with one text and another picture each."""
    pages: Pages = {}
    for i in range(size):
        picture = f'<p>{prose("gallery", 120)}</p><img src="/picture/{i}.jpg" alt="">'
        pages[f"/photo/{i}"] = page("Gallery", picture, item=i)
    return listed(pages, "Gallery", list(pages))


SITES: dict[str, Callable[[int], Pages]] = {
    "shop": shop,
    "variants": variants,
    "blog": blog,
    "application": application,
    "gallery": gallery,
}


def served(pages: Pages) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def crawl(base: str, action: str | None, results: Any) -> None:
    """Crawl a site and tell how many requests it took, and how often each item was met."""
    import scrapy
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.linkextractors import LinkExtractor

    items: Counter[str] = Counter()

    class Everything(scrapy.Spider):
        name = "everything"
        start_urls = [base]  # noqa: RUF012 - as Scrapy has it
        links = LinkExtractor()

        def parse(self, response: Any) -> Any:
            if (item := response.css('meta[name="item"]::attr(content)').get()) is not None:
                items[item] += 1
            for link in self.links.extract_links(response):
                yield scrapy.Request(link.url)

    settings: dict[str, Any] = {"LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False}
    if action is not None:
        settings["ADDONS"] = {"scrapy_simhash.Addon": 500}
        settings |= {"SIMHASH_INDEX": "memory:", "SIMHASH_ACTION": action}
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(Everything)
    process.crawl(crawler)
    process.start()
    results.put((crawler.stats.get_value("downloader/request_count"), items))


def measure(name: str, size: int) -> dict[str, Any]:
    server = served(SITES[name](size))
    base = f"http://127.0.0.1:{server.server_port}/"
    assert urlsplit(base).port
    spawn = multiprocessing.get_context("spawn")
    found: dict[str, Any] = {}
    reached: set[str] = set()
    for action in (None, "drop", "flag"):
        results = spawn.Queue()
        child = spawn.Process(target=crawl, args=(base, action, results))
        child.start()
        requests, items = results.get()
        child.join()
        if action is None:
            reached = set(items)
        found[action or "none"] = {
            "requests": requests,
            "items": len(items),
            "lost": len(reached - set(items)),
            "copies": sum(items.values()) - len(items),
        }
    server.shutdown()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sites", nargs="*", metavar="SITE", help=f"of {', '.join(SITES)}")
    parser.add_argument("--size", type=int, default=480, help="items of a site (default: 480)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found = {name: measure(name, args.size) for name in args.sites or SITES}
    if args.json:
        print(json.dumps(found))
        return
    print(f"{'site':12} {'mode':5} {'requests':>8} {'items':>6} {'lost':>5} {'copies':>7}")
    for name, modes in found.items():
        for mode, row in modes.items():
            print(
                f"{name:12} {mode:5} {row['requests']:8,} {row['items']:6,} {row['lost']:5,} "
                f"{row['copies']:7,}"
            )


if __name__ == "__main__":
    main()
