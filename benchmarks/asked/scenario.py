"""What a scenario is, and what many of them have: a first request, links and products."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any

import scrapy
from reach.pages import page, prose

from asked.server import Answering, Asked


@dataclass(frozen=True)
class Scenario:
    """A site, and a spider that gets *args* as its attributes.

    Of several *crawls*, one after the other in one folder, the items of the last one count that the
    first one does not have.  Of several *parts*, each is crawled by a process of its own, at the
    same time in one folder.  *files* are made, empty, in the folder before the crawl.  *known* is a
    reason that the documentation gives for losses.
    """

    about: str
    site: Answering
    spider: type[scrapy.Spider]
    args: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    crawls: int = 1
    parts: tuple[str, ...] = ("",)
    files: tuple[str, ...] = ()
    known: str = ""


class Start(scrapy.Spider):
    """Asks for one page of the site first; *base* is the site's address and ends with ``/``."""

    name = "asked"
    base = ""
    first = ""
    part = ""

    async def start(self) -> AsyncIterator[Any]:
        yield scrapy.Request(self.base + self.first + self.part)

    def parse(self, response: Any) -> Any:
        yield from response.follow_all(css="main a", callback=self.parse_page)

    def parse_page(self, response: Any) -> Any:
        """Take items from a page that the first one links to."""


# Several at once: a wall or an end of a session is met by all that are under way.
TOGETHER = {"CONCURRENT_REQUESTS": 8}


def rng(*key: object) -> random.Random:
    return random.Random(repr(key))


def title(*key: object) -> str:
    return prose(("title", *key), 3).rstrip(".")


def text(*key: object, words: int = 90) -> str:
    return f"<p>{prose(key, words)}</p>"


def links(paths: Iterable[str], kind: str = "") -> str:
    return "".join(f'<p><a class="{kind}" href="{path}">{title(path)}</a></p>' for path in paths)


def h1(response: Any) -> str:
    return str(response.css("h1::text").get())


def product(i: int) -> str:
    """A page with a text of its own."""
    price = f"<p class=price>{rng('price', i).randint(100, 9900) / 100:.2f}</p>"
    return page(title("product", i), price + text("product", i))


def products(asked: Asked, size: int = 60) -> str:
    """A shop: its start page links to all products."""
    if asked.path == "/":
        return page("Shop", links(f"/p/{i}" for i in range(size)))
    return product(asked.number)


def product_item(response: Any) -> dict[str, Any]:
    return {"name": h1(response), "price": response.css(".price::text").get()}
