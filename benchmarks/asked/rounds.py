"""How deep and how often: the limit of depth, polls, rounds of a monitor, a second crawl."""

from __future__ import annotations

import json
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import scrapy
from reach.pages import page
from scrapy import signals
from scrapy.exceptions import DontCloseSpider

from asked.scenario import TOGETHER, Scenario, Start, h1, links, rng, text, title
from asked.server import Answer, Asked


def hubs(asked: Asked, size: int = 12, articles: int = 3, wait: float = 0) -> str | Answer | None:
    """Hubs that are met at a depth of 3 first, and then at 1; articles and comments below them."""
    match asked.path.split("/")[1:]:
        case [""]:
            return page("Home", links([*(f"/hub/{i}" for i in range(size)), "/blog"]))
        case ["blog"]:
            return page("Blog", text("blog") + links(["/post"]))
        case ["post"]:
            return page("Post", text("post") + links(f"/hub/{i}?from=blog" for i in range(size)))
        case ["hub", i]:
            own = links(f"/article/{int(i) * 100 + k}" for k in range(articles))
            return Answer(page(title(i), text(i) + own), wait_seconds=0 if asked.query else wait)
        case ["article", i]:
            return page(title("article", i), text("article", i) + links([f"/comments/{i}"]))
        case ["comments", i]:
            return page(f"Comments on {i}", text("comments", i))
    return None


class Deep(Start):
    def parse(self, response: Any) -> Any:
        if "/article/" in response.url or "/comments/" in response.url:
            yield {"title": h1(response)}
        yield from response.follow_all(css="main a")


SIZES = range(38, 46)


def stock(asked: Asked) -> str:
    """What is left of a size changes from poll to poll, and is the same for some sizes."""
    if asked.path == "/":
        return page("Boot", text("boot") + links(f"/stock?size={size}" for size in SIZES))
    size = int(asked.query["size"]) % 3
    left = rng(size, asked.times(asked.url) // 2).choice([0, 0, 1, 2, 3])
    return page("Stock", f"<p>{left} left</p><p>Delivery takes two to four working days.</p>")


class Polls(Start):
    """Polls each size eight times: by its callback or by a loop, with or without a number."""

    loop = False
    is_carried = False

    def parse(self, response: Any) -> Any:
        self.polls: dict[str, int] = {}
        for poll in range(1, 9 if self.loop else 2):
            yield from response.follow_all(
                css="main a", callback=self.parse_stock, dont_filter=self.loop, **self.carried(poll)
            )

    def carried(self, poll: int) -> dict[str, Any]:
        return {"cb_kwargs": {"poll": poll}} if self.is_carried else {}

    def parse_stock(self, response: Any, poll: int = 0) -> Any:
        size = response.url.rpartition("=")[2]
        self.polls[size] = self.polls.get(size, 0) + 1
        poll = poll or self.polls[size]
        yield {"size": size, "poll": poll}
        if not self.loop and poll < 8:
            yield response.request.replace(dont_filter=True, **self.carried(poll + 1))


def services(asked: Asked) -> str:
    if asked.path == "/":
        return page("Status", links(f"/status/{i}" for i in range(12)))
    is_down = asked.number % 4 == 0
    return page("Status", f"<p>{asked.path} is down.</p>" if is_down else "<p>All is well.</p>")


class Monitor(Start):
    """Asks for all services in five rounds; the spider knows the round, the requests do not."""

    round = 0
    urls: tuple[str, ...] = ()

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Monitor:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.idle, signals.spider_idle)
        return spider

    def idle(self) -> None:
        if self.round < 5:
            self.round += 1
            for url in self.urls:
                assert self.crawler.engine
                request = scrapy.Request(url, self.parse_status, dont_filter=True)
                self.crawler.engine.crawl(request)
            raise DontCloseSpider

    def parse(self, response: Any) -> Any:
        self.urls = tuple(map(response.urljoin, response.css("main a::attr(href)").getall()))

    def parse_status(self, response: Any) -> Any:
        yield {"round": self.round, "service": urlsplit(response.url).path}


KINDS = {"list": 30, "data": 20, "picture": 20, "class": 20, "badge": 10, "same": 15}


def changing(asked: Asked) -> str:
    """Pages of which each kind differs in one thing at the second crawl; *same* does not."""
    version = asked.counts["crawls"]
    if asked.path == "/":
        return page("Start", links(f"/{kind}/{i}" for kind, n in KINDS.items() for i in range(n)))
    kind, i = asked.path.split("/")[1], asked.number
    body, head = text(kind, i), ""
    if kind == "list":  # of each second list other stories, of the others another headline
        shown = [(k, version if k < 2 else 1) for k in range(12)]
        body = "".join(
            f"<p><a href='/story/{i}-{k}-{v if i % 2 else 1}'>{title(i, k, v)}</a></p>"
            for k, v in shown
        )
    elif kind == "data":
        offer = {"@type": "Product", "offers": {"@type": "Offer", "price": f"{i + 10 * version}.9"}}
        head = f"<script type='application/ld+json'>{json.dumps(offer)}</script>"
    elif kind == "picture":
        body += f"<img src='/media/{i}-{version}.jpg' alt=''>"
    elif kind == "class":
        body += f"<div class='buy{' sold-out' * (version - 1)}'><button>Buy</button></div>"
    elif kind == "badge" and version == 1:
        body = f"<b>New</b>{body}"
    return page(title(kind, i), body, head=head)


class Changes(Start):
    def parse_page(self, response: Any) -> Any:
        yield {
            "page": urlsplit(response.url).path,
            "headlines": response.css("main a::text, main a::attr(href)").getall(),
            "data": response.css("script::text").get(),
            "marks": response.css("img::attr(src), .buy::attr(class), b::text").getall(),
        }


def offers(asked: Asked) -> str:
    """60 prices, of which 25 change, in the listing alone."""
    if asked.path != "/":
        return page(title(asked.number), text("offer", asked.number))
    prices = (i + 10 * (asked.counts["crawls"] if i < 25 else 1) for i in range(60))
    rows = (f"<tr><td>{links([f'/p/{i}'])}<td>{price}.9" for i, price in enumerate(prices))
    return page("Offers", f"<table>{''.join(rows)}</table>")


class Offers(Start):
    def parse(self, response: Any) -> Any:
        for row in response.css("tr"):
            meta = {"price": row.css("td::text").get()}
            yield response.follow(row.css("a")[0], self.parse_offer, meta=meta)

    def parse_offer(self, response: Any) -> Any:
        yield {"name": h1(response), "price": response.meta["price"]}


def deep(about: str, site: Any = hubs, **settings: Any) -> Scenario:
    return Scenario(about, site, Deep, {}, {"DEPTH_LIMIT": 3, **settings})


def polls(about: str, **args: bool) -> Scenario:
    return Scenario(about, stock, Polls, args)


def second(about: str, site: Any, spider: type[Start]) -> Scenario:
    return Scenario(about, site, spider, {}, {"SIMHASH_SKIP_UNCHANGED": True}, crawls=2)


SCENARIOS = {
    "depth/one": deep("hubs first at DEPTH_LIMIT, then at 1"),
    "depth/two-hubs": deep("the same, 2 hubs with 25 articles", partial(hubs, size=2, articles=25)),
    "depth/deepest-first": deep(
        "the same, DEPTH_PRIORITY -1, 4 at once", DEPTH_PRIORITY=-1, CONCURRENT_REQUESTS=4
    ),
    "depth/together": deep(
        "the same, 8 at once; hubs are slow", partial(hubs, wait=0.5), **TOGETHER
    ),
    "polls/again": polls("eight polls, each by the callback before", is_carried=True),
    "polls/loop": polls("eight polls by a loop", is_carried=True, loop=True),
    "polls/again-counted": polls("by the callback; the spider counts"),
    "polls/loop-counted": polls("by a loop; the spider counts", loop=True),
    "polls/monitor": Scenario("five rounds from spider_idle", services, Monitor),
    "second/changes": second("a second crawl; one thing has changed", changing, Changes),
    "second/listing": second("a second crawl; prices changed in the listing", offers, Offers),
}
