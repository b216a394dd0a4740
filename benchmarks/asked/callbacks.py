"""Which function gets the page: one content comes to two callbacks, and each takes other items."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from reach.pages import page
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from asked.scenario import (
    Scenario,
    Start,
    h1,
    links,
    product,
    product_item,
    products,
    rng,
    text,
    title,
)
from asked.server import Answer, Asked


def searches(asked: Asked) -> str:
    """Results over several pages; the first one is also at the address without a page."""
    if asked.path == "/":
        return page("Catalogue", text("catalogue"))
    query, at = asked.query["q"], int(asked.query.get("page", 1))
    pages = 25 if query == "all" else rng(query).randint(1, 3)
    rows = "".join(
        f"<li><b>{title(query, at, i)}</b> {text(query, at, i, words=12)}</li>" for i in range(5)
    )
    count = f"<p class=count data-pages={pages}>Page {at} of {pages}</p>"
    return page(f"Results for {query}", f"{count}<ol>{rows}</ol>")


class Counting(Start):
    """Asks how many pages there are, then for all pages from the first on."""

    queries: tuple[str, ...] = tuple(f"word{i}" for i in range(30))
    same_address = False

    def parse(self, response: Any) -> Any:
        for query in self.queries:
            yield response.follow(f"/search?q={query}", self.parse_count)

    def parse_count(self, response: Any) -> Any:
        pages = int(response.css(".count::attr(data-pages)").get())
        if self.same_address:
            yield response.request.replace(callback=self.parse_list, dont_filter=True)
        for at in range(2 if self.same_address else 1, pages + 1):
            yield response.follow(f"{response.url}&page={at}", self.parse_list)

    def parse_list(self, response: Any) -> Any:
        for name in response.css("li b::text").getall():
            yield {"title": name}


class Ruled(Start, CrawlSpider):
    """A CrawlSpider; the rules are in its arguments."""

    def parse_item(self, response: Any) -> Any:
        yield {"kind": urlsplit(response.url).path.split("/")[1], "title": h1(response)}
        for teaser in response.css(".teaser::text").getall():
            yield {"teaser": teaser}


def rule(allow: str, callback: str | None = "parse_item", follow: bool | None = None) -> Rule:
    return Rule(LinkExtractor(allow=allow), callback=callback, follow=follow)


# The last link of a page is followed first, so that the addresses without the callback come first.
def antiques(asked: Asked) -> str:
    match asked.path.split("/")[1:]:
        case [""]:
            return page("Antiques", text("antiques") + links(["/browse/all"]))
        case ["browse", "all"]:
            lots = (f"/browse/lot/{i}" for i in range(40))
            return page("Browse", links(["/browse/sorted", *lots]))
        case ["browse", "sorted"]:
            return page("From A to Z", links(f"/item/{i}" for i in range(40)))
    return product(asked.number)


def paper(asked: Asked) -> str:
    if asked.path in ("/", "/index"):
        stories = "".join(
            f"<div><a class=teaser href='/story/{i}'>{title('story', i)}</a>"
            f"{text('teaser', i, words=15)}</div>"
            for i in range(30)
        )
        return page("The Paper", f"{links(['/'])}{stories}")
    return page(title("story", asked.number), text("story", asked.number, words=150))


def magazine(asked: Asked) -> str:
    match asked.path.split("/")[1:]:
        case [""]:
            boxes = (f"/topic-box/{i}" for i in range(16))
            return page("Magazine", text("magazine") + links(["/topics", *boxes]))
        case ["topics"]:
            return page("Topics", links(f"/topic/{i}" for i in range(16)))
        case ["article", number]:
            return page(title("article", number), text("article", number))
    i = asked.number
    articles = links(f"/article/{i * 10 + k}" for k in range(4))
    return page(title("topic", i), text("topic", i) + articles)


class OwnFilter(Start):
    """Leaves out addresses that it has seen by itself, and asks for all with dont_filter."""

    def parse(self, response: Any) -> Any:
        for path in dict.fromkeys(response.css("main a::attr(href)").getall()):
            yield response.follow(path, self.parse_product, dont_filter=True)

    def parse_product(self, response: Any) -> Any:
        yield {"path": urlsplit(response.url).path, "price": response.css(".price::text").get()}


def sold_out(asked: Asked) -> str:
    if asked.path != "/" and asked.number % 3 == 0:
        return page("Product", "<p class=price>not available at the moment</p>")
    return products(asked)


class LinkChecker(Start):
    """Says of each link whether it is broken."""

    def parse(self, response: Any) -> Any:
        yield from response.follow_all(css="main a", callback=self.ok, errback=self.broken)

    def ok(self, response: Any) -> Any:
        yield {"link": urlsplit(response.url).path, "state": "ok"}

    def broken(self, failure: Any) -> Any:
        yield {"link": urlsplit(failure.request.url).path, "state": "broken"}


def aliases(asked: Asked) -> str | Answer:
    """60 links to 25 pages; every tenth is broken."""
    if asked.path != "/" and asked.number % 10 == 7:
        return Answer(page("Not found", "<p>There is no such page.</p>"), 404)
    return products(asked) if asked.path == "/" else product(asked.number % 25)


class Deals(Start):
    """Takes a product from one address, and the deal on it from another one, later."""

    def parse(self, response: Any) -> Any:
        yield from response.follow_all(css="a.deal", callback=self.parse_deal, priority=-10)
        yield from response.follow_all(css="a.product", callback=self.parse_product, priority=10)

    def parse_product(self, response: Any) -> Any:
        yield product_item(response)

    def parse_deal(self, response: Any) -> Any:
        yield {"deal": h1(response)}


def deals(asked: Asked) -> str:
    if asked.path != "/":
        return product(asked.number)
    both = (links([f"/deal/{i}"], "deal") + links([f"/p/{i}"], "product") for i in range(30))
    return page("Shop", "".join(both))


SCENARIOS = {
    "counted/listing": Scenario(
        "a listing to count its 25 pages, then each page", searches, Counting, {"queries": ("all",)}
    ),
    "counted/searches": Scenario(
        "30 searches to count their pages, then each page", searches, Counting
    ),
    "counted/same-address": Scenario(
        "the same, the first page at the same address", searches, Counting, {"same_address": True}
    ),
    "rules/follow-first": Scenario(
        "CrawlSpider: lots by a rule that only follows, then by one with a callback",
        antiques,
        Ruled,
        {"rules": (rule("/browse/", None), rule("/item/"))},
    ),
    "rules/start-page": Scenario(
        "CrawlSpider: starts at /index; a rule for / has the callback",
        paper,
        Ruled,
        {"first": "index", "rules": (rule("/$", follow=False), rule("/story/"))},
    ),
    "rules/no-follow-first": Scenario(
        "CrawlSpider: topics by a rule that does not follow, then by one that does",
        magazine,
        Ruled,
        {
            "rules": (
                rule("/topics$", None),
                rule("/topic-box/"),
                rule("/topic/", follow=True),
                rule("/article/"),
            )
        },
    ),
    "callbacks/dont-filter": Scenario(
        "dont_filter everywhere; a third of the pages says 'not available'", sold_out, OwnFilter
    ),
    "callbacks/link-checker": Scenario(
        "ok by the callback, broken by the errback; 60 links to 25 pages",
        aliases,
        LinkChecker,
        known="address",
    ),
    "callbacks/deals": Scenario("product and deal, at two addresses of a page", deals, Deals),
}
