"""A kept page stands for the pages of such requests alone that the spider treats alike."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from types import MethodType
from typing import Any, NamedTuple

import pytest
from itemadapter import ItemAdapter
from scrapy import Field, Item, Request, Selector, Spider
from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.requests import (
    ASKERS_SEEN,
    MOST_CHARACTERS,
    VARIANTS_SEEN,
    RequestFacts,
    RequestVariants,
    copied,
)
from scrapy_simhash.decision.holdings import Told
from scrapy_simhash.decision.page import PURPOSE_BYTES, Decision
from scrapy_simhash.settings import ITEMS, TEXT, SimhashSettings
from tests.conftest import FOLDER, Crawl, CrawlFixture, Reply, Site, article, path_of, prose
from tests.decision.test_items import shop_page
from tests.pages import UNIQUE
from tests.spiders import ByRules

DEPTH_MIDDLEWARE = "scrapy.spidermiddlewares.depth.DepthMiddleware"

# The purpose of a request, as a hash --------------------------------------------------------------


class Shop(Spider):
    name = "shop"

    def parse(self, response: Any) -> None:
        """Take the page, as a callback does."""

    def parse_item(self, response: Any) -> None:
        """Take the page, as a callback does."""

    def parse_review(self, response: Any) -> None:
        """Take the page, as a callback does."""


def timed(callback: Any) -> Any:
    """Wrap a callback as a decorator does that does not care for names."""

    def wrapped(self: Spider, response: Any) -> Any:
        return callback(self, response)

    return wrapped


class ShopOfShoes(Shop):
    def parse_item(self, response: Any) -> None:
        """Take another part of the page."""

    def parse_review_of_base(self) -> Any:
        return super().parse_review

    def parse_item_of_base(self) -> Any:
        return super().parse_item

    parse_price = timed(parse_item)
    parse_size = timed(parse_item)


class Helper:
    """Has a callback, too; nobody can say whether two helpers do the same."""

    def parse_item(self, response: Any) -> None:
        """Take the page, as a callback does."""


@dataclass
class Bench:
    price: int


@dataclass
class Lamp:
    price: int


@dataclass
class BenchOfTheCatalogue:
    price: int


@dataclass
class BenchOfTheCatalogueOnSale:
    price: int


class Product(Item):
    price = Field()


class Offer(Item):
    price = Field()


class Closed(dict[str, int]):
    """A mapping that cannot be read, such as one of a file that is closed."""

    def items(self) -> Any:
        raise KeyError("closed")


class Facts:
    """Reads the purpose of requests that one spider makes."""

    def __init__(self, spider: type[Spider] = Shop, url: str = "", **settings: Any) -> None:
        crawler = get_crawler(spider)
        crawler.spider = self.spider = crawler._create_spider(url=url)
        self._facts = RequestFacts(
            crawler, SimhashSettings.read({"SIMHASH_TAKES": ITEMS, **settings})
        )

    def __call__(self, callback: Any = None, **values: Any) -> bytes | None:
        request = Request("http://a.example/", callback=callback, **values)
        return self._facts.read(request).purpose


@pytest.fixture
def purpose() -> Facts:
    return Facts()


def product(price: int) -> Product:
    return Product(price=price)


def adder(more: int) -> Callable[[int], int]:
    return lambda number: number + more


def default(more: int) -> Callable[[int], int]:
    return lambda number, more=more: number + more  # type: ignore[misc]


class Row(dict[str, int]):
    """A mapping with attributes of its own."""


class Rows(list[int]):
    """A list with attributes of its own."""


class Name(str):
    """A text with attributes of its own."""


class Title(str):
    """Another text with attributes of its own."""


class Price(int):
    """A number with attributes of its own."""


class Day(date):
    """A date with attributes of its own."""


class Size(NamedTuple):
    width: int
    height: int


class Place(NamedTuple):
    row: int
    column: int


def with_attribute(value: Any, name: str, held: Any) -> Any:
    setattr(value, name, held)
    return value


def parse_page(response: Any, **values: Any) -> None:
    """Take the page, as a callback does."""


def itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


ALIKE: dict[str, tuple[Any, Any]] = {
    "order": ({"a": 1, "b": [2, None]}, {"b": [2, None], "a": 1}),
    "tuple": ([1, "x"], (1, "x")),
    "set": ({"a", "b", "c"}, frozenset("cba")),
    "bytes": (b"x", bytearray(b"x")),
    "date": (date(2024, 2, 29), date(2024, 2, 29)),
    "decimal": (Decimal("1.50"), Decimal("1.50")),
    "dataclass": (Bench(1), Bench(1)),
    "item": (product(1), product(1)),
    "class": (Bench, Bench),
    "function": (parse_page, parse_page),
    "partial": (partial(parse_page, number=1), partial(parse_page, number=1)),
    "closure": (adder(1), adder(1)),
    "default": (default(1), default(1)),
    "built-in": (len, len),
    "private": (Bench(1), with_attribute(Bench(1), "_cache", object())),
    "nested": ({"a": [product(1), {"b": (Bench(2),)}]}, {"a": (product(1), {"b": [Bench(2)]})}),
}


@pytest.mark.parametrize(("one", "other"), ALIKE.values(), ids=ALIKE)
@pytest.mark.parametrize("where", ["meta", "cb_kwargs"])
def test_equal_values_have_one_purpose(purpose: Facts, where: str, one: Any, other: Any) -> None:
    found = purpose(**{where: {"of": one}})
    assert found is not None
    assert len(found) == PURPOSE_BYTES
    assert purpose(**{where: {"of": other}}) == found


OTHERS: dict[str, tuple[Any, Any]] = {
    "boolean": (1, True),
    "text": (1, "1"),
    "float": (1, 1.0),
    "bytes": ("x", b"x"),
    "nothing": (None, ""),
    "number": (1, 2),
    "decimal": (Decimal("1.5"), Decimal("1.50")),
    "key": ({"a": 1}, {"b": 1}),
    "swapped": ({"a": "b"}, {"b": "a"}),
    "crossed": ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
    "order": ([1, 2], [2, 1]),
    "joined": (["ab", "c"], ["a", "bc"]),
    "nested": ([[1], 2], [[1, 2]]),
    "empty": ([], {}),
    "longer": ([1], [1, 1]),
    "list or set": (["a"], {"a"}),
    "field": (Bench(1), Bench(2)),
    "dataclass": (Bench(1), Lamp(1)),
    "item": (product(1), product(2)),
    "class": (Bench, Lamp),
    "function": (parse_page, product),
    "argument": (partial(parse_page, number=1), partial(parse_page, number=2)),
    "argument's name": (partial(parse_page, a=None), partial(parse_page, b=None)),
    "closure": (adder(1), adder(2)),
    "default": (default(1), default(2)),
    "code": (lambda one: one, lambda one: -one),
    "built-in": (len, max),
    "attribute of a mapping": (Row(a=1), with_attribute(Row(a=1), "rank", 2)),
    "text of a class": (Title("Oak"), Name("Oak")),
    "attribute of a number": (Price(7), with_attribute(Price(7), "unit", "EUR")),
    "attribute of a date": (Day(2026, 1, 2), with_attribute(Day(2026, 1, 2), "of", 2)),
    "attribute of a text": (Title("Oak"), with_attribute(Title("Oak"), "of", 2)),
    "tuple of a class": (Size(1, 2), Place(1, 2)),
    "attribute of a list": (Rows([1]), with_attribute(Rows([1]), "rank", 2)),
    "attribute that is no field": (Bench(1), with_attribute(Bench(1), "rank", 2)),
}


@pytest.mark.parametrize(("one", "other"), OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("where", ["meta", "cb_kwargs"])
def test_other_values_have_another_purpose(
    purpose: Facts, where: str, one: Any, other: Any
) -> None:
    assert purpose(**{where: {"of": one}}) != purpose(**{where: {"of": other}})


def test_a_value_in_meta_is_another_one_than_in_cb_kwargs(purpose: Facts) -> None:
    assert purpose(meta={"of": 1}) != purpose(cb_kwargs={"of": 1})
    assert purpose(meta={"of": 1}) != purpose(meta={"of": 1, "more": None})


def test_a_request_without_anything_has_no_purpose(purpose: Facts) -> None:
    assert purpose() is purpose(purpose.spider.parse) is None


def test_callbacks_are_told_apart_by_name_and_values(purpose: Facts) -> None:
    spider = purpose.spider
    assert isinstance(spider, Shop)
    callbacks = [
        None,
        spider.parse_item,
        spider.parse_review,
        partial(spider.parse_item, 1),
        partial(spider.parse_item, 2),
        partial(spider.parse_review, 1),
        parse_page,
        adder(1),
        adder(2),
        default(1),
        default(2),
    ]
    found = [purpose(callback) for callback in callbacks]
    assert len(set(found)) == len(callbacks)
    assert found == [purpose(callback) for callback in callbacks], "the same each time"
    assert {one[PURPOSE_BYTES // 2 :] for one in found if one} == {bytes(PURPOSE_BYTES // 2)}
    assert purpose(partial(spider.parse_item, 1)) == found[3], "another object, but the same"
    assert Facts()(None) == found[0]


def test_callbacks_of_one_name_are_told_apart() -> None:
    """One overrides the other, a decorator gave them its own, or the spider has them alone."""
    purpose = Facts(ShopOfShoes)
    spider = purpose.spider
    assert isinstance(spider, ShopOfShoes)
    callbacks = [spider.parse_item, spider.parse_item_of_base()]
    callbacks += [spider.parse_price, spider.parse_size]
    callbacks += [MethodType(one, spider) for one in (timed(parse_page), timed(product))]
    assert len({purpose(callback) for callback in callbacks}) == len(callbacks)
    assert purpose(spider.parse_review) == purpose(spider.parse_review_of_base()), "one inherited"


def test_a_callback_of_the_spider_is_the_same_in_another_run_of_it() -> None:
    one, other = Facts(), Facts()
    assert one.spider is not other.spider
    assert one(one.spider.parse_item) == other(other.spider.parse_item)  # type: ignore[attr-defined]


def generator() -> Iterator[int]:
    yield 1


UNKNOWN: dict[str, Callable[[], Any]] = {
    "object": object,
    "selector": lambda: Selector(text="<p>A"),
    "response": lambda: HtmlResponse("http://a.example/", body=b"<p>A"),
    "generator": generator,
    "contains itself": itself,
    "many": lambda: [*range(10_000)],
    "long": lambda: "x" * (MOST_CHARACTERS + 1),
    "in a dict": lambda: {"a": [object()]},
    "method of an object": lambda: Helper().parse_item,
    "in a partial": lambda: partial(parse_page, object()),
    "in a closure": lambda: adder(object()),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("made", UNKNOWN.values(), ids=UNKNOWN)
def test_a_value_that_cannot_be_hashed_equals_nothing(
    purpose: Facts, made: Callable[[], Any]
) -> None:
    value = made()
    found = [purpose(meta={"of": value}) for _ in range(2)]
    assert found[0] != found[1], "not even itself"
    assert {len(one) for one in found if one} == {PURPOSE_BYTES}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda response: ("a", response), lambda response: ("b", response)),
        (lambda response: response.url, lambda response: response.body),
    ],
    ids=["constant", "name"],
)
def test_functions_on_one_line_are_told_apart(purpose: Facts, one: Any, other: Any) -> None:
    # A formatter must not part them: what they are made of is all that differs.
    assert purpose(renamed(one)) != purpose(renamed(other))


def renamed(function: Any) -> Any:
    function.__code__ = function.__code__.replace(co_firstlineno=1)
    return function


def test_items_of_two_classes_are_told_apart(purpose: Facts) -> None:
    assert purpose(meta={"of": Product(price=1)}) != purpose(meta={"of": Offer(price=1)})


def test_classes_with_long_names_are_told_apart(purpose: Facts) -> None:
    one, other = BenchOfTheCatalogue(1), BenchOfTheCatalogueOnSale(1)
    assert purpose(meta={"of": one}) != purpose(meta={"of": other})


def unfinished() -> Iterator[Any]:
    """Yield a callback that refers to what is only there when it is called, as spiders may."""

    def parse_later(response: Any) -> Any:
        return later

    yield parse_later
    later = 1


@pytest.mark.parametrize(
    "made",
    [lambda: next(unfinished()), lambda: 10**5000, lambda: Closed({"a": 1})],
    ids=["empty cell", "long number", "mapping that fails"],
)
def test_a_value_that_cannot_be_read_fails_no_request(
    purpose: Facts, made: Callable[[], Any]
) -> None:
    value = made()
    assert purpose(meta={"of": value}) != purpose(meta={"of": value})


def test_a_function_that_holds_the_spider_is_like_another_one(purpose: Facts) -> None:
    def callback(spider: Any, number: int) -> Callable[[Any], None]:
        return lambda response: spider.parse_item(response, number)

    spider = purpose.spider
    assert purpose(callback(spider, 1)) == purpose(callback(spider, 1))
    assert purpose(callback(spider, 1)) != purpose(callback(spider, 2))


def test_values_are_hashed_the_same_in_another_process() -> None:
    script = "from tests.crawl.test_requests import purposes; print(*purposes())"
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=FOLDER,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == purposes()


def purposes() -> list[str]:
    purpose = Facts()
    callbacks = [adder(1), partial(parse_page, name="x"), purpose.spider.parse]
    found = [purpose(meta={"of": one}, cb_kwargs={"to": one}) for one, _ in ALIKE.values()]
    found += [purpose(callback) for callback in callbacks]
    return [one.hex() if one else "none" for one in found]


# What Scrapy's documentation lists under "Request.meta special keys", and what its own components
# put there.
SCRAPYS = """allow_offsite autothrottle_dont_adjust_delay bindaddress cookiejar depth
dont_cache dont_merge_cookies dont_obey_robotstxt dont_redirect dont_retry
download_fail_on_dataloss download_latency download_maxsize download_slot download_timeout
download_warnsize ftp_password ftp_user give_up_log_level handle_httpstatus_all
handle_httpstatus_list http_auth_domain http_pass http_user is_start_request max_retry_times proxy
redirect_reasons redirect_times redirect_urls referrer_policy retry_times
verbatim_url""".split()  # noqa: SIM905
OF_PLUG_INS = ["simhash", "simhash_decision", "playwright", "playwright_page", "splash", "zyte_api"]


@pytest.mark.parametrize("name", SCRAPYS + OF_PLUG_INS)
def test_how_a_page_is_fetched_is_no_purpose(purpose: Facts, name: str) -> None:
    assert purpose(meta={name: 7}) is None
    assert purpose(meta={name: 7, "item": 7}) == purpose(meta={"item": 7}) is not None


@pytest.mark.parametrize("name", ["rule", "link_text"])
def test_what_rules_add_is_a_purpose_where_there_are_no_rules(name: str) -> None:
    """Other spiders have such keys of their own."""
    assert Facts()(meta={name: 1}) != Facts()(meta={name: 2})
    of_rules = Facts(ByRules, url="http://a.example/")
    assert of_rules(meta={name: 1}) == of_rules(meta={name: 2})


@pytest.mark.parametrize(
    ("one", "other"), [({"flags": ["a"]}, {"flags": ["b"]}), ({"body": "a"}, {"body": "b"})]
)
def test_flags_and_the_body_of_a_get_are_a_purpose(
    purpose: Facts, one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert purpose(**one) == purpose(**one)
    assert len({purpose(**one), purpose(**other), purpose()}) == 3
    assert purpose(method="POST", body="a") == purpose(method="POST", body="b")


def test_names_that_the_settings_ignore_are_no_purpose() -> None:
    purpose = Facts(SIMHASH_IGNORE_META="item, position")
    assert purpose(meta={"item": 1}, cb_kwargs={"position": 2}) is None
    assert purpose(meta={"items": 1}) is not None


@pytest.mark.parametrize("name", ["depth", "link_text", "redirect_urls", "rule", "zyte_of"])
def test_all_that_a_callback_gets_as_arguments_counts(name: str) -> None:
    rules = Facts(ByRules)
    assert rules(meta={name: 1}) is None
    assert rules(cb_kwargs={name: 1}) != rules(cb_kwargs={name: 2})
    purpose = Facts(SIMHASH_IGNORE_META=name)
    assert purpose(cb_kwargs={name: 1}) is None


def test_for_texts_only_the_callback_counts() -> None:
    purpose = Facts(SIMHASH_TAKES=TEXT)
    assert purpose(meta={"item": 1}, cb_kwargs={"position": 2}) is None
    parse_item = purpose.spider.parse_item  # type: ignore[attr-defined]
    found = purpose(parse_item, meta={"item": 1})
    assert found == purpose(parse_item) is not None
    items = Facts()
    assert found == items(items.spider.parse_item)  # type: ignore[attr-defined]


# Crawls -------------------------------------------------------------------------------------------


def same_pages(site: Site, *names: str) -> None:
    """Pages with one text, which the first page links to."""
    site["/"] = article(prose("start"), [*names])
    for name in names:
        site[name.partition("#")[0]] = article(prose("same"))


def by_request(result: Crawl) -> dict[str, list[str]]:
    """Path -> what is told to be another in its request, of the variants by request."""
    return {
        path_of(one["url"]): [told["text"] for told in one["new"]]
        for one in result.decisions
        if (one["verdict"], one["reason"]) == ("variant", "other_request")
    }


def item(**values: Any) -> dict[str, Any]:
    return {"callback": "parse_item", **values}


REVIEWS = {"callback": "parse_reviews"}


@pytest.mark.parametrize("takes", [ITEMS, TEXT])
def test_one_content_reaches_each_callback_once(
    site: Site, crawl: CrawlFixture, takes: str
) -> None:
    same_pages(site, "/item", "/reviews", "/item/2", "/reviews/2")
    asks = {"/item": item(), "/item/2": item(), "/reviews": REVIEWS, "/reviews/2": REVIEWS}
    result = crawl("Asks", ASKS=asks, SIMHASH_TAKES=takes)
    assert [one.get("callback") for one in result.items] == [None, "parse_item", "parse_reviews"]
    assert by_request(result) == {"/reviews": ["parse_reviews"]}
    kept = {path_of(one["url"]): one["representative"] for one in result.decisions}
    assert kept["/item/2"] == f"{site.url}/item"
    assert kept["/reviews/2"] == f"{site.url}/reviews"
    assert result.stats["simhash/variant/other_request"] == 1


def test_the_plain_rule_keeps_one_page_for_each_callback(site: Site, crawl: CrawlFixture) -> None:
    same_pages(site, "/item", "/reviews", "/item/2", "/reviews/2", "/reviews/3")
    for name in ("/item", "/reviews", "/item/2", "/reviews/2"):
        site[name] = article(prose("same", 2000))
    site["/reviews/3"] = article(prose("same", 2000) + " another")
    asks = {"/item": item(), "/item/2": item()}
    asks |= {f"/reviews{end}": REVIEWS for end in ("", "/2", "/3")}
    result = crawl("Asks", ASKS=asks, SIMHASH_SHARE=0)
    assert [one.get("callback") for one in result.items] == [None, "parse_item", "parse_reviews"]
    assert result.verdicts() == {
        "/": "unique",
        "/item": "unique",
        "/reviews": "unique",
        "/item/2": "exact_duplicate",
        "/reviews/2": "exact_duplicate",
        "/reviews/3": "near_duplicate",
    }


CARRIED: dict[str, Callable[[int], dict[str, Any]]] = {
    "meta": lambda number: {"meta": {"item": {"number": number}}},
    "cb_kwargs": lambda number: {"cb_kwargs": {"number": number}},
}
DETAILS = [f"/detail/{number}" for number in range(4)]


def carried(where: str) -> dict[str, Any]:
    """Requests for equal pages with an item each; a last one carries the item of the first."""
    asks = {name: item(**CARRIED[where](number)) for number, name in enumerate(DETAILS)}
    return {**asks, "/detail/copy": item(**CARRIED[where](0))}


@pytest.mark.parametrize("where", CARRIED)
def test_items_that_requests_carry_arrive(site: Site, crawl: CrawlFixture, where: str) -> None:
    same_pages(site, *DETAILS, "/detail/copy")
    result = crawl("Asks", ASKS=carried(where), SIMHASH_TAKES=ITEMS)
    assert [one.get("number") for one in result.items] == [None, 0, 1, 2, 3]
    name = {"meta": "meta['item']", "cb_kwargs": "cb_kwargs['number']"}[where]
    assert by_request(result) == {path: [name] for path in DETAILS[1:]}
    assert result.verdicts()["/detail/copy"] == "exact_duplicate"


@pytest.mark.parametrize("where", CARRIED)
def test_items_that_are_filled_in_after_their_requests_were_sent_arrive(
    site: Site, crawl: CrawlFixture, where: str
) -> None:
    same_pages(site, *DETAILS)
    asks = {name: item(**CARRIED[where](-1)) for name in DETAILS}
    result = crawl("FillsIn", ASKS=asks, SIMHASH_TAKES=ITEMS)
    assert [one.get("number") for one in result.items] == [None, 0, 1, 2, 3]


@pytest.mark.parametrize(
    "settings", [{"SIMHASH_TAKES": TEXT}, {"SIMHASH_IGNORE_META": ["item", "number"]}]
)
@pytest.mark.parametrize("where", CARRIED)
def test_items_that_requests_carry_do_not_count(
    site: Site, crawl: CrawlFixture, where: str, settings: dict[str, Any]
) -> None:
    same_pages(site, *DETAILS, "/detail/copy")
    result = crawl("Asks", ASKS=carried(where), **{"SIMHASH_TAKES": ITEMS, **settings})
    assert result.seen() == {"/", DETAILS[0]}


def test_a_rule_with_a_callback_gets_what_a_rule_that_follows_got(
    site: Site, crawl: CrawlFixture
) -> None:
    links = [f"/{kind}/{n}" for n in (1, 2) for kind in ("list", "item", "review")]
    same_pages(site, *links)
    result = crawl("ByRules", SIMHASH_TAKES=ITEMS)
    assert by_request(result) == {"/item/1": ["parse_item"], "/review/1": ["parse_review"]}
    assert {one["callback"]: path_of(one["url"]) for one in result.items} == {
        "parse_item": "/item/1",
        "parse_review": "/review/1",
    }
    for kind in ("list", "item", "review"):
        assert result.verdicts()[f"/{kind}/2"] == "exact_duplicate"


@pytest.mark.parametrize("spider", ["ByRules", "ByRulesFromStart"])
def test_the_page_that_rules_start_from_stands_for_those_they_follow(
    site: Site, crawl: CrawlFixture, spider: str
) -> None:
    """If the start page has a callback of its own, it does not."""
    same = article(prose("same"), ["/list/1", "/list/2"])
    site["/"] = site["/list/1"] = site["/list/2"] = same
    result = crawl(spider, SIMHASH_TAKES=ITEMS)
    is_plain = spider == "ByRules"
    assert result.verdicts() == {
        "/": "unique",
        "/list/1": "exact_duplicate" if is_plain else "variant",
        "/list/2": "exact_duplicate",
    }


@pytest.mark.parametrize("names", [ASKERS_SEEN, ASKERS_SEEN - 1])
def test_requests_that_each_come_from_somebody_else_are_said_once(
    caplog: pytest.LogCaptureFixture, names: int
) -> None:
    caplog.set_level("INFO", "scrapy_simhash")
    crawler = get_crawler(Shop)
    crawler.spider = Shop()
    variants = RequestVariants(RequestFacts(crawler, SimhashSettings()))
    for number in range(3 * ASKERS_SEEN):
        headers = {"Authorization": f"signature {number % names}"}
        variants.note(Request("http://a.example/", headers=headers), UNIQUE)
    said = [one for one in caplog.messages if "SIMHASH_IDENTITY_HEADERS" in one]
    assert len(said) == (names == ASKERS_SEEN)


MANY = [f"/detail/{number}" for number in range(30)]
ADVICE = "Most copies passed since their requests differ"


def positions() -> dict[str, Any]:
    """Requests that differ most in their position."""
    return {
        name: item(meta={"page": number // 10}, cb_kwargs={"position": number})
        for number, name in enumerate(MANY)
    }


def test_what_holds_most_copies_apart_is_said_once(site: Site, crawl: CrawlFixture) -> None:
    same_pages(site, *MANY)
    result = crawl("Asks", ASKS=positions(), SIMHASH_TAKES=ITEMS)
    assert result.stats["simhash/variant/other_request"] == len(MANY) - 1
    assert result.log.count(ADVICE) == 1
    assert "20 of 20 variants" in result.log


def test_nothing_is_said_of_polls(site: Site, crawl: CrawlFixture) -> None:
    polls = {f"{name}#{poll}": {"dont_filter": True} for poll in range(2) for name in MANY}
    same_pages(site, *MANY)
    site["/"] = article(prose("start"), [*polls])
    result = crawl("Asks", ASKS=polls, CONCURRENT_REQUESTS=1)
    assert result.stats["simhash/variant/other_request"] >= VARIANTS_SEEN
    assert ADVICE not in result.log


def test_what_differs_most_is_named(site: Site, crawl: CrawlFixture) -> None:
    same_pages(site, *MANY)
    result = crawl("Asks", ASKS=positions(), SIMHASH_TAKES=ITEMS)
    assert f"{ADVICE}, most in cb_kwargs['position']" in result.log


@pytest.mark.parametrize(
    ("place", "text", "said"),
    [
        ("depth", "1 instead of 3", "the depth: 20 of 20 variants"),
        ("callback", "parse_item", "the callback: 20 of 20 variants"),
    ],
)
def test_no_advice_is_given_where_no_name_is_to_be_ignored(
    caplog: pytest.LogCaptureFixture, place: str, text: str, said: str
) -> None:
    caplog.set_level("INFO", "scrapy_simhash")
    crawler = get_crawler(Shop)
    crawler.spider = spider = Shop()
    variants = RequestVariants(RequestFacts(crawler, SimhashSettings()))
    decision = Decision("variant", "other_request", new=(Told("request", place, text),))
    for number in range(VARIANTS_SEEN):
        callback = spider.parse_item if number % 2 else spider.parse_review
        meta = {"depth": number % 3, "title": "same"}
        variants.note(Request("http://a.example/", callback, meta=meta), decision)
    assert caplog.messages == [f"{ADVICE}, most in {said}"]


def test_nothing_is_said_where_few_variants_are_ones_by_request(
    site: Site, crawl: CrawlFixture
) -> None:
    same_pages(site, *MANY)
    for number, name in enumerate(MANY):
        site[name] = shop_page(f"<p>{number} EUR</p>" if number % 3 else "")
    asks = {name: item(cb_kwargs={"position": number}) for number, name in enumerate(MANY)}
    result = crawl("Asks", ASKS=asks, SIMHASH_TAKES=ITEMS)
    assert result.stats["simhash/variant"] >= VARIANTS_SEEN
    assert 0 < result.stats["simhash/variant/other_request"] < VARIANTS_SEEN / 2
    assert ADVICE not in result.log


# Pages that the spider asks for again ------------------------------------------------------------


POLLS = ["/b#1", "/b#2", "/b#3"]


def polled(site: Site) -> dict[str, Any]:
    """A page, its copy, and requests for the copy from three other pages."""
    site["/"] = article(prose("start"), ["/a", "/b", "/poll/0"])
    site["/a"] = site["/b"] = article(prose("same"))
    for number, link in enumerate(POLLS):
        more = [link, f"/poll/{number + 1}"]
        site[f"/poll/{number}"] = article(prose(f"poll{number}x"), more)
    site["/poll/3"] = article(prose("end"))
    return {link: {"dont_filter": True} for link in POLLS}


def reasons_on(result: Crawl) -> dict[str, list[str]]:
    """Path -> the reasons of the decisions on it, in order."""
    found: dict[str, list[str]] = {}
    for one in result.decisions:
        found.setdefault(path_of(one["url"]), []).append(one["reason"])
    return found


def verdicts_on(result: Crawl, path: str) -> list[str]:
    return [one["verdict"] for one in result.decisions if path_of(one["url"]) == path]


def test_a_dropped_address_that_is_asked_for_again_passes(site: Site, crawl: CrawlFixture) -> None:
    asks = polled(site)
    result = crawl("Asks", ASKS=asks, SIMHASH_WALLS="drop")
    assert verdicts_on(result, "/b") == ["exact_duplicate", *["refresh"] * len(POLLS)]
    assert [path_of(one["url"]) for one in result.items].count("/b") == len(POLLS)
    changes = [one["changed"] for one in result.decisions if one["verdict"] == "refresh"]
    assert changes == [False] * len(POLLS)


def test_a_dropped_address_passes_again_where_it_may_be_a_wall(
    site: Site, crawl: CrawlFixture
) -> None:
    asks = polled(site)
    result = crawl("Asks", ASKS=asks)
    assert [path_of(one["url"]) for one in result.items].count("/b") >= len(POLLS)
    assert set(verdicts_on(result, "/b")) == {"exact_duplicate", "refresh"}


def test_a_dropped_address_that_was_not_asked_for_on_purpose_is_dropped_again(
    site: Site, crawl: CrawlFixture
) -> None:
    polled(site)
    result = crawl("Asks", DUPEFILTER_CLASS="scrapy.dupefilters.BaseDupeFilter")
    assert verdicts_on(result, "/b") == ["exact_duplicate"] * (1 + len(POLLS))
    assert "/b" not in result.seen()


def test_polls_by_callbacks_pass_where_no_filter_holds_them_back(
    site: Site, crawl: CrawlFixture
) -> None:
    site["/"] = article(prose("start"), ["/a", "/b"])
    site["/a"] = site["/b"] = article(prose("same"))
    result = crawl("Polls", DUPEFILTER_CLASS="scrapy.dupefilters.BaseDupeFilter")
    assert Counter(path_of(one["url"]) for one in result.items) == {"/": 1, "/a": 4, "/b": 4}


def test_the_first_of_several_polls_passes_if_the_others_were_made_before_its_answer(
    site: Site, crawl: CrawlFixture
) -> None:
    site["/"] = article(prose("start"), ["/a", *POLLS, "/c"])
    site["/a"] = site["/b"] = site["/c"] = article(prose("same"))
    asks: dict[str, Any] = {link: {"dont_filter": True} for link in POLLS}
    asks["/c"] = {"dont_filter": True, "priority": -1}
    result = crawl("Asks", ASKS={**asks, "/a": {"priority": 1}}, CONCURRENT_REQUESTS=1)
    assert verdicts_on(result, "/b") == ["variant", *["refresh"] * (len(POLLS) - 1)]
    assert verdicts_on(result, "/c") == ["exact_duplicate"], "it is asked for once"
    assert reasons_on(result)["/b"][0] == "other_request"
    (new,) = next(one for one in result.decisions if one["verdict"] == "variant")["new"]
    assert (new["place"], new["text"]) == ("meta", "asked for more than once")


def test_a_dropped_address_is_dropped_again_in_the_next_crawl(
    site: Site, crawl: CrawlFixture
) -> None:
    """What one crawl has dropped, it may ask for again; another one was not given anything."""
    site["/"] = article(prose("start"), ["/a", "/b"])
    site["/a"] = site["/b"] = article(prose("same"))
    asks = {"/b": {"dont_filter": True}}
    assert crawl("Asks", ASKS=asks).verdicts()["/b"] == "exact_duplicate"
    assert verdicts_on(crawl("Asks", ASKS=asks), "/b") == ["exact_duplicate"] * 2


# Requests that no page led to ---------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"SPIDER_MIDDLEWARES": {DEPTH_MIDDLEWARE: None}}])
def test_what_a_spider_is_fed_with_is_no_duplicate_and_what_it_leads_to_may_be(
    site: Site, crawl: CrawlFixture, settings: dict[str, Any]
) -> None:
    site["/"] = article(prose("start"))
    site["/a"] = site["/b"] = article(prose("same"), ["/c", "/d"])
    site["/c"] = site["/d"] = article(prose("other"))
    result = crawl("Fed", FED=["/a", "/b"], CONCURRENT_REQUESTS=1, **settings)
    passed = [path_of(one["url"]) for one in result.decisions if one["action"] == "pass"]
    assert [*map(passed.count, ("/a", "/b"))] == [2, 2]
    assert {"/c", "/d"} & {*passed} != {"/c", "/d"}


# Depth -------------------------------------------------------------------------------------------

# The last link of a page is asked for first, and what it leads to before the others.  Scrapy asks
# for the next page while the spider looks at one: that is one that is not there.
DEEP_FIRST = {"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.LifoMemoryQueue"}
NOWHERE = [f"/nowhere/{number}" for number in range(4)]


def near_and_far(site: Site, *more: str) -> None:
    """A content at depth 3, then at depth 1, with further links."""
    site["/"] = article(prose("start"), ["/near", *NOWHERE, "/a"])
    site["/a"] = article(prose("a"), ["/a/b"])
    site["/a/b"] = article(prose("b"), ["/far"])
    site["/near"] = site["/far"] = article(prose("same"), [*more])
    for path in more:
        site[path] = article(prose(path))


def test_a_copy_nearer_to_the_start_passes(site: Site, crawl: CrawlFixture) -> None:
    near_and_far(site)
    result = crawl(DEPTH_LIMIT=3, **DEEP_FIRST)
    assert by_request(result) == {"/near": ["2 levels below instead of 0"]}
    assert {"/near", "/far"} <= result.seen()


@pytest.mark.parametrize(
    ("settings", "dropped"),
    [
        ({"DEPTH_LIMIT": 3}, "/far"),
        (DEEP_FIRST, "/near"),
        ({**DEEP_FIRST, "DEPTH_LIMIT": 0}, "/near"),
    ],
    ids=["deeper", "no limit", "limit off"],
)
def test_a_copy_that_leads_no_further_is_dropped(
    site: Site, crawl: CrawlFixture, settings: dict[str, Any], dropped: str
) -> None:
    near_and_far(site)
    assert {"/near", "/far"} - crawl(**settings).seen() == {dropped}


def test_a_copy_at_the_same_depth_is_dropped(site: Site, crawl: CrawlFixture) -> None:
    same_pages(site, "/one", "/two")
    assert crawl(DEPTH_LIMIT=2).seen() == {"/", "/one"}


@pytest.mark.parametrize("share", [0.9, 0])
def test_what_the_limit_cuts_is_reached_from_a_copy_nearer_to_the_start(
    site: Site, crawl: CrawlFixture, share: float
) -> None:
    near_and_far(site, "/item")
    result = crawl(DEPTH_LIMIT=3, SIMHASH_SHARE=share, **DEEP_FIRST)
    assert "/item" in result.seen()


@pytest.mark.parametrize("is_followed", [True, False])
def test_a_link_that_stands_on_a_page_at_the_limit_is_new_elsewhere(
    site: Site, crawl: CrawlFixture, is_followed: bool
) -> None:
    site["/"] = article(prose("start"), ["/copy", "/kept", *NOWHERE, "/a"])
    site["/a"] = article(prose("a"), ["/edge"])
    site["/edge"] = article(prose("edge"), ["/item" if is_followed else "/item#no"])
    site["/item"] = article(prose("item"))
    site["/kept"] = article(prose("same"))
    site["/copy"] = article(prose("same"), ["/item"])
    result = crawl("Asks", ASKS={"/item#no": None}, DEPTH_LIMIT=2, **DEEP_FIRST)
    assert reasons_on(result)["/copy"] == ["new_links"]
    assert "/item" in result.seen()


def test_a_link_that_the_limit_cut_is_new_elsewhere(site: Site, crawl: CrawlFixture) -> None:
    """Another page held it before, but the spider did not follow it there."""
    site["/"] = article(prose("start"), ["/copy", "/kept", *NOWHERE, "/a", "/held"])
    site["/held"] = article(prose("held"), ["/item#no"])
    site["/a"] = article(prose("a"), ["/edge"])
    site["/edge"] = article(prose("edge"), ["/item"])
    site["/item"] = article(prose("item"))
    site["/kept"] = article(prose("same"))
    site["/copy"] = article(prose("same"), ["/item"])
    result = crawl("Asks", ASKS={"/item#no": None}, DEPTH_LIMIT=2, **DEEP_FIRST)
    judged = [path_of(one["url"]) for one in result.decisions if "nowhere" not in one["url"]]
    assert judged[:6] == ["/", "/held", "/a", "/edge", "/kept", "/copy"]
    assert "/item" in result.seen()


def test_what_the_limit_cut_is_new_though_its_page_has_led_on(
    site: Site, crawl: CrawlFixture
) -> None:
    site["/"] = article(prose("start"), ["/copy", "/kept", *NOWHERE, "/a"])
    site["/a"] = article(prose("a"), ["/edge"])
    site["/edge"] = article(prose("edge"), ["/item", "/far"])
    site["/item"], site["/far"] = article(prose("item")), article(prose("far"))
    site["/kept"] = article(prose("same"))
    site["/copy"] = article(prose("same"), ["/item"])
    asks = {"/far": {"meta": {"depth_reset": True}}}
    result = crawl("Asks", ASKS=asks, DEPTH_LIMIT=2, **DEEP_FIRST)
    assert reasons_on(result)["/copy"] == ["new_links"]
    assert {"/far", "/item"} <= result.seen()


# Accounts and sessions ---------------------------------------------------------------------------

ACCOUNTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "authorization": lambda name: {"headers": {"Authorization": f"Bearer {name}"}},
    "key": lambda name: {"headers": {"X-Api-Key": name}},
    "cookies": lambda name: {"cookies": {"session": name}},
    "cookie header": lambda name: {
        "headers": {"Cookie": f"session={name}"},
        "meta": {"dont_merge_cookies": True},
    },
    "password": lambda name: {"meta": {"http_user": name, "http_pass": "secret"}},
    "jar": lambda name: {"meta": {"cookiejar": name}},
}


@pytest.mark.parametrize("how", ACCOUNTS)
@pytest.mark.parametrize("takes", [ITEMS, TEXT])
def test_each_account_gets_its_pages(site: Site, crawl: CrawlFixture, how: str, takes: str) -> None:
    same_pages(site, "/ann/1", "/ben/1", "/ann/2", "/nobody/1", "/nobody/2")
    account = ACCOUNTS[how]
    asks = {"/ann/1": account("ann"), "/ann/2": account("ann"), "/ben/1": account("ben")}
    result = crawl("Asks", ASKS=asks, SIMHASH_TAKES=takes)
    assert result.seen() == {"/", "/ann/1", "/ben/1", "/nobody/1"}


@pytest.mark.parametrize("how", [how for how in ACCOUNTS if how != "jar"])
def test_headers_that_tell_nobody_apart_do_not_count(
    site: Site, crawl: CrawlFixture, how: str
) -> None:
    same_pages(site, "/ann/1", "/ben/1")
    asks = {f"/{name}/1": ACCOUNTS[how](name) for name in ("ann", "ben")}
    result = crawl("Asks", ASKS=asks, SIMHASH_IDENTITY_HEADERS=[])
    assert result.seen() == {"/", "/ann/1"}


@pytest.mark.parametrize("how", ACCOUNTS)
def test_each_account_gets_its_pages_after_a_redirect(
    site: Site, crawl: CrawlFixture, how: str
) -> None:
    site["/"] = article(prose("start"), ["/ann", "/ben"])
    for name in ("ann", "ben"):
        site[f"/{name}"] = Reply(status=302, headers={"Location": f"/{name}/home"})
        site[f"/{name}/home"] = article(prose("same"))
    asks = {f"/{name}": ACCOUNTS[how](name) for name in ("ann", "ben")}
    assert crawl("Asks", ASKS=asks).seen() == {"/", "/ann/home", "/ben/home"}


def test_a_password_for_the_whole_crawl_is_no_account(site: Site, crawl: CrawlFixture) -> None:
    """Scrapy sends it with the requests that have none of their own, also after a redirect."""
    everywhere = {"HTTPAUTH_USER": "ann", "HTTPAUTH_PASS": "x", "HTTPAUTH_DOMAIN": None}
    same_pages(site, "/one", "/two")
    site["/two"] = Reply(status=302, headers={"Location": "/three"})
    site["/three"] = article(prose("same"))
    assert crawl(**everywhere).seen() == {"/", "/one"}


def test_what_a_middleware_adds_to_a_request_does_not_count(
    site: Site, crawl: CrawlFixture
) -> None:
    """The spider did not ask for it."""
    same_pages(site, "/one", "/two")
    stamps = {"tests.spiders.Stamps": 543}
    result = crawl(DOWNLOADER_MIDDLEWARES=stamps, SIMHASH_TAKES=ITEMS)
    assert result.stats["stamped"] == 3
    assert result.seen() == {"/", "/one"}


@pytest.mark.parametrize("when", ["Requested", "Answered"])
def test_a_callback_counts_that_a_middleware_has_set(
    site: Site, crawl: CrawlFixture, when: str
) -> None:
    same_pages(site, "/one", "/two?reviews", "/three?reviews")
    middlewares = {f"tests.spiders.SetsCallback{when}": 543}
    result = crawl("Asks", DOWNLOADER_MIDDLEWARES=middlewares, SIMHASH_TAKES=ITEMS)
    assert result.seen() == {"/", "/one", "/two?reviews"}


def test_a_cookie_header_counts_where_cookies_are_off(site: Site, crawl: CrawlFixture) -> None:
    same_pages(site, "/ann/1", "/ben/1")
    asks = {f"/{name}/1": {"headers": {"Cookie": f"session={name}"}} for name in ("ann", "ben")}
    assert crawl("Asks", ASKS=asks, COOKIES_ENABLED=False).seen() == {"/", "/ann/1", "/ben/1"}


def test_a_page_that_the_server_remembers_by_its_address_arrives(
    site: Site, crawl: CrawlFixture
) -> None:
    """The spider sends the form of each of them, for which the county is in the session."""
    names = [f"/search?county={county}" for county in (5, 6, 7)]
    same_pages(site, *names)
    for name in names:
        county = name.partition("?")[2]
        site[name] = Reply(article(prose("same")), headers={"Set-Cookie": f"{county}; Path=/"})
    assert crawl().seen() == {"/", *names}


def test_a_session_cookie_changes_nothing(site: Site, crawl: CrawlFixture) -> None:
    names = [f"/search?county={county}" for county in (5, 6, 7)]
    same_pages(site, *names)
    for number, name in enumerate(names):
        cookie = f"session=8a{number}f; Path=/; HttpOnly"
        site[name] = Reply(article(prose("same")), headers={"Set-Cookie": cookie})
    assert crawl().seen() == {"/", names[0]}


# Browsers, and errbacks ---------------------------------------------------------------------------

IN_BROWSER = {"DOWNLOAD_HANDLERS": {"http": "tests.spiders.OpensBrowserPages"}}
WITH_PAGE: dict[str, Any] = {"meta": {"playwright_include_page": True}}


@pytest.mark.parametrize("closing", ["works", "fails", "hangs"])
def test_the_browser_page_of_a_dropped_page_is_closed(
    site: Site, crawl: CrawlFixture, closing: str
) -> None:
    same_pages(site, "/kept", "/copy")
    asks = {"/kept": WITH_PAGE, "/copy": {**WITH_PAGE, "errback": "failed"}}
    result = crawl("Asks", ASKS=asks, **IN_BROWSER, CLOSING=closing)
    assert result.simhash_stats().get("browser_pages_left_open", 0) == (closing == "hangs")
    assert result.stats["errors/NearDuplicate"] == 1
    assert result.seen() == {"/", "/kept"}
    assert {name: n for name, n in result.stats.items() if name.startswith("closed")} == {
        "closed/copy": 1
    }


@pytest.mark.parametrize("meta", [{}, WITH_PAGE["meta"]], ids=["plain", "with a browser page"])
def test_no_second_page_of_a_browser_is_opened(
    site: Site, crawl: CrawlFixture, meta: Mapping[str, Any]
) -> None:
    names = [f"/bench/{number}" for number in range(6)]
    same_pages(site, *names)
    for name in names:
        site[name] = shop_page(f'<p><img src="{name}.png"></p>')
    asks = {name: {"meta": dict(meta)} for name in names}
    result = crawl("Asks", ASKS=asks, **IN_BROWSER, SIMHASH_TAKES=ITEMS)
    assert result.seen() == {"/", *names}
    assert ("simhash/second_visits" in result.stats) is not bool(meta)
    assert any(site.asked[name] > 1 for name in names) is not bool(meta)


NO_ERRBACK = "A page is dropped whose request has no errback, though others have one"


def test_a_dropped_page_without_an_errback_is_told_once(site: Site, crawl: CrawlFixture) -> None:
    same_pages(site, "/kept", "/with", "/without", "/too")
    result = crawl("Asks", ASKS={"/with": {"errback": "failed"}})
    assert result.log.count(NO_ERRBACK) == 1
    assert f"{NO_ERRBACK}: <GET {site.url}/without>" in result.log
    assert result.stats["errors/NearDuplicate"] == 1


@pytest.mark.parametrize("errback", [{}, {"errback": "failed"}], ids=["none", "all"])
def test_nothing_is_told_of_errbacks_where_all_requests_are_alike(
    site: Site, crawl: CrawlFixture, errback: dict[str, str]
) -> None:
    same_pages(site, "/kept", "/copy")
    result = crawl("Asks", ASKS={"/kept": errback, "/copy": errback})
    assert result.seen() == {"/", "/kept"}
    assert NO_ERRBACK not in result.log


def test_a_purpose_does_not_change_what_a_request_carries(purpose: Facts) -> None:
    item = product(1)
    purpose(meta={"item": item, "more": [1, 2]})
    assert ItemAdapter(item).asdict() == {"price": 1}


def test_a_rule_that_is_gone_is_like_no_other() -> None:
    """A job may be resumed by a spider that has fewer rules now."""
    crawler = get_crawler(ByRules)
    crawler.spider = spider = ByRules.from_crawler(crawler, url="http://a.example/")
    facts = RequestFacts(crawler, SimhashSettings.read({}))
    gone = Request("http://a.example/", callback=spider._callback, meta={"rule": 7})
    assert facts.read(gone).purpose != facts.read(gone).purpose


class Rendered(Request):
    """A request of a user's class, which no ``replace`` makes again."""

    def __init__(self, wait: int, *arguments: Any, **values: Any) -> None:
        super().__init__(*arguments, **values)
        self.wait = wait


def test_a_copy_of_a_request_has_all_that_it_holds() -> None:
    request = Rendered(
        5, "http://a.example/1", headers={"X-Of": "1"}, cb_kwargs={"a": 1}, priority=3, body=b"x"
    )
    other = copied(request, url="http://a.example/2", meta={"of": 2}, dont_filter=True)
    assert isinstance(other, Rendered)
    assert (other.url, other.wait, other.meta) == ("http://a.example/2", 5, {"of": 2})
    assert (other.cb_kwargs, other.priority, other.body) == ({"a": 1}, 3, b"x")
    assert other.dont_filter
    other.headers["X-Of"] = "2"
    other.cb_kwargs["a"] = 2
    assert (request.url, request.meta, request.dont_filter) == ("http://a.example/1", {}, False)
    assert (request.headers["X-Of"], request.cb_kwargs) == (b"1", {"a": 1})
