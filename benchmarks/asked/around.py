"""What is around a crawl: a browser's pages, a crawl beside it, a feed, a folder without room."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import scrapy
from reach.pages import page, prose
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler

from asked.scenario import (
    TOGETHER,
    Scenario,
    Start,
    links,
    product,
    product_item,
    products,
    rng,
    text,
)
from asked.server import Asked


class BrowserPage:
    """A page of a browser that has eight; who asked for it closes it."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free = free

    async def close(self) -> None:
        self._free.release()


class Browser(HTTP11DownloadHandler):
    """Stands in for scrapy-playwright.

    A request that waits for a page for a second fails here; there it waits for ever.
    """

    def __init__(self, crawler: Any) -> None:
        super().__init__(crawler)
        self._free = asyncio.Semaphore(8)

    async def download_request(self, request: Any) -> Any:
        if request.meta.get("playwright_include_page"):
            await asyncio.wait_for(self._free.acquire(), 1)
            request.meta["playwright_page"] = BrowserPage(self._free)
        return await super().download_request(request)


def twice(asked: Asked) -> str:
    """50 products, half of them at a second address."""
    if asked.path != "/":
        return product(asked.number)
    paths = [*(f"/p/{i}?from=offers" for i in range(0, 50, 2)), *(f"/p/{i}" for i in range(50))]
    return page("Shop", links(paths))


class Browsing(Start):
    """Closes the page of the browser in the callback, and in the errback if it has one."""

    has_errback = True

    def parse(self, response: Any) -> Any:
        yield from response.follow_all(
            css="main a",
            callback=self.parse_product,
            errback=self.failed if self.has_errback else None,
            meta={"playwright": True, "playwright_include_page": True},
        )

    async def parse_product(self, response: Any) -> Any:
        await response.meta["playwright_page"].close()
        yield product_item(response)

    async def failed(self, failure: Any) -> None:
        if opened := failure.request.meta.get("playwright_page"):
            await opened.close()


class Products(Start):
    def parse_page(self, response: Any) -> Any:
        yield {"part": self.part, **product_item(response)}


def two_parts(asked: Asked) -> str:
    """Two parts of a shop with the same pages."""
    if asked.path in ("/a", "/b"):
        return page("Shop", links(f"{asked.path}/p/{i}" for i in range(45)))
    return product(asked.number)


def feeds(asked: Asked, form: str = "{}") -> str:
    """Ten feeds of ten entries, sent as HTML; entries are like each other."""
    if asked.path == "/":
        return page("Feeds", text("feeds") + links(f"/feed/{i}" for i in range(10)))
    entries = (
        {
            "title": "Article number",
            "guid": asked.number * 100 + i,
            "description": prose("entry", 20),
            "price": rng(asked.number, i).randint(1, 9),
        }
        for i in range(10)
    )
    shown = (
        "".join(f"<{name}>{form.format(value)}</{name}>" for name, value in entry.items())
        for entry in entries
    )
    items = "".join(f"<item>{one}</item>" for one in shown)
    return f"<rss version='2.0'><channel><title>Prices</title>{items}</channel></rss>"


class Feeds(Start):
    def parse_page(self, response: Any) -> Any:
        for entry in scrapy.Selector(text=response.text, type="xml").css("item"):
            yield {name: entry.css(f"{name}::text").get() for name in ("guid", "price")}


BROWSER = {**TOGETHER, "DOWNLOAD_HANDLERS": {"http": Browser}, "RETRY_ENABLED": False}
CDATA = partial(feeds, form="<![CDATA[{}]]>")
SCENARIOS = {
    "browser/errback": Scenario(
        "a browser of 8 pages; callback and errback close them", twice, Browsing, settings=BROWSER
    ),
    "browser/no-errback": Scenario(
        "the same without an errback", twice, Browsing, {"has_errback": False}, BROWSER
    ),
    "around/two-crawls": Scenario(
        "two crawls at once, one index, same pages", two_parts, Products, parts=("a", "b")
    ),
    "around/feed": Scenario("ten feeds sent as HTML", feeds, Feeds),
    "around/feed-cdata": Scenario("the same, all values in CDATA", CDATA, Feeds),
    "around/no-folder": Scenario(
        ".scrapy is a file: no place for an index", products, Products, files=(".scrapy",)
    ),
}
