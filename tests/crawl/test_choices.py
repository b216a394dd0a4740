"""Rules of the user's own: which pages are judged, and what becomes of them."""

from __future__ import annotations

import codecs
from functools import partial
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, JsonResponse, Response, TextResponse, XmlResponse
from scrapy.spiders import CrawlSpider, Rule

from scrapy_simhash.crawl import choices
from scrapy_simhash.crawl.walls import MOST_ASKED, MOST_IN_VAIN
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.settings import SimhashSettings
from tests.conftest import CrawlFixture, Reply, Site, article, prose

URL = "http://a.example/shop/lamp?id=5"
HTML = f"<html><body><p>{prose('lamp')}</p></body></html>".encode()


def why_not(
    response: Response | None = None, request: Request | None = None, **settings: Any
) -> str | None:
    read = SimhashSettings.read({f"SIMHASH_{name}": value for name, value in settings.items()})
    return choices.why_not(read, request or Request(URL), response or HtmlResponse(URL, body=HTML))


def parse_item(response: Response) -> None:
    """A callback."""


@pytest.mark.parametrize(
    ("only", "but", "reason"),
    [
        ([], [], None),
        (["/shop/"], [], None),
        (["/blog/"], [], "left_out"),
        (r"id=\d{1,3}", [], None),  # one rule, though it has a comma
        (["/blog/", "glob:http://a.example/shop/*"], [], None),
        (["glob:/shop/*"], [], "left_out"),  # a glob is about the whole URL
        (["callback:parse_item"], [], None),
        (["callback:parse"], [], "left_out"),
        ([], ["callback:parse_item"], "left_out"),
        ([], ["/shop/"], "left_out"),
        (["/shop/"], ["lamp"], "left_out"),
        ([], ["/blog/"], None),
    ],
)
def test_rules_say_which_pages_are_judged(only: Any, but: Any, reason: str | None) -> None:
    request = Request(URL, callback=parse_item)
    assert why_not(request=request, ONLY=only, EXCEPT=but) == reason


class Rules(CrawlSpider):
    name = "rules"
    rules = (Rule(callback="parse_item"), Rule())

    def parse_item(self, response: Response) -> None:
        """A callback."""


def test_callback_of_a_rule_and_of_a_partial_has_a_name() -> None:
    spider = Rules()
    by_rule = Request(URL, callback=spider._callback, meta={"rule": 0})
    assert why_not(request=by_rule, EXCEPT="callback:parse_item") == "left_out"
    without = Request(URL, callback=spider._callback, meta={"rule": 1})
    assert why_not(request=without, EXCEPT="callback:parse_item") is None
    part = Request(URL, callback=partial(partial(spider.parse_item)))
    assert why_not(request=part, EXCEPT="callback:parse_item") == "left_out"


def test_request_without_a_callback_goes_to_parse() -> None:
    assert why_not(EXCEPT="callback:parse") == "left_out"


@pytest.mark.parametrize("wish", [True, "drop"])
def test_request_that_asks_for_a_verdict_gets_one(wish: object) -> None:
    assert why_not(request=Request(URL, meta={"simhash": wish}), EXCEPT=".") is None


def test_rule_that_is_no_pattern_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"SIMHASH_ONLY must be a list of regular expressions"):
        why_not(ONLY=["("])


@pytest.mark.parametrize(
    ("response", "is_html"),
    [
        (TextResponse(URL, headers={"Content-Type": "text/html"}, body=HTML, encoding="utf-8"), 1),
        (TextResponse(URL, headers={"Content-Type": "application/xhtml+xml"}, body=HTML), 1),
        (TextResponse(URL, body=HTML, encoding="utf-8"), 1),
        (TextResponse(URL, headers={"Content-Type": "text/plain"}, body=HTML), 0),
        (TextResponse(URL, body=b"only words", encoding="utf-8"), 0),
        (JsonResponse(URL, body=HTML, encoding="utf-8"), 0),
        (XmlResponse(URL, body=HTML, encoding="utf-8"), 0),
        (Response(URL, body=HTML), 0),
        (HtmlResponse(URL, body=b"\1" + HTML, encoding="utf-8"), 0),
        (HtmlResponse(URL, body=b"\x1b" + HTML, encoding="utf-8"), 0),
    ],
)
def test_html_is_known_by_its_class_its_header_or_its_first_bytes(
    response: Response, is_html: bool
) -> None:
    assert why_not(response) == (None if is_html else "not_html")


@pytest.mark.parametrize("encoding", ["iso-2022-jp", "iso-2022-kr", "utf-16", "shift_jis"])
def test_text_in_encodings_with_binary_bytes_is_text(encoding: str) -> None:
    text = "<html><body><p>한국어</p></body></html>" if "kr" in encoding else "<html><p>日本語</p>"
    body = codecs.encode(text, encoding)
    assert why_not(HtmlResponse(URL, body=body, encoding=encoding)) is None


def sent_as_html(text: str, encoding: str = "utf-8") -> HtmlResponse:
    return HtmlResponse(URL, body=text.encode(encoding), encoding=encoding)


RSS = f"<rss><channel><title>News</title><item>{prose('lamp')}</item></channel></rss>"
DECLARATION = '<?xml version="1.0" encoding="utf-8"?>\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    [
        RSS,
        DECLARATION + RSS,
        f"\ufeff \n{RSS}",
        f'{DECLARATION}<!-- <html> --><!DOCTYPE rss [ <!ENTITY a "<b>"> ]> <!-- -->{RSS}',
        f'{DECLARATION}<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title></feed>',
        "<urlset><url><loc>http://a.example/?<body></loc></url></urlset>",
        f"{DECLARATION}<title>News</title>",
        ' \n{"html": "<html><body><p>News</p></body></html>"}',
        '["<html>"]',
    ],
)
@pytest.mark.parametrize("wish", [None, True])
def test_xml_and_json_that_are_sent_as_html_are_not_judged(
    text: str, encoding: str, wish: object
) -> None:
    request = Request(URL, meta={"simhash": wish})
    assert why_not(sent_as_html(text, encoding), request) == "not_html"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-be"])
@pytest.mark.parametrize(
    "text",
    [
        f"{DECLARATION}<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0//EN'><html xmlns='a'>x</html>",
        f"{DECLARATION}<HTML><p>x",
        "<!-- saved --><!doctype html><p>x",
        "<!-- --" * 1000 + "--><title>x</title>",
        "<script>x</script><html><p>x",
        "<my-app><p>x</p></my-app><body>",
        "Warning: x in /index.php <frameset>",
        f"<p>{'x' * 20_000}<head>",
        "",  # that is a page without a text
        " \n",
    ],
)
def test_page_is_known_by_what_pages_begin_with(text: str, encoding: str) -> None:
    assert why_not(sent_as_html(text, encoding)) is None


@pytest.mark.parametrize(
    "text",
    [f"<p>{prose('lamp')}</p>", "only words", f"<header>{'x' * 100_000}</header><html>"],
)
@pytest.mark.parametrize(
    ("wish", "reason"), [(None, "not_html"), (True, None), ("drop", None), (5, "bad_meta")]
)
def test_fragment_is_judged_where_its_request_asks_for_it(
    text: str, wish: object, reason: str | None
) -> None:
    assert why_not(sent_as_html(text), Request(URL, meta={"simhash": wish})) == reason


def test_page_in_an_encoding_of_iso_2022_is_judged(site: Site, crawl: CrawlFixture) -> None:
    text = "".join(chr(0x4E00 + 7 * i % 2000) for i in range(200))
    text = text.encode("iso-2022-jp", "ignore").decode("iso-2022-jp")
    page = Reply(
        article(text * 3).encode("iso-2022-jp"), content_type="text/html; charset=iso-2022-jp"
    )
    site["/"] = article(prose("start"), ["/a", "/b"])
    site["/a"] = site["/b"] = page
    assert crawl().verdicts() == {"/": "unique", "/a": "unique", "/b": "exact_duplicate"}


@pytest.fixture
def copies(site: Site) -> Site:
    names = ["/shop/a", "/shop/b", "/review/a", "/review/b", "/mistake", "/error"]
    site["/"] = article(prose("start"), names)
    for name in names:
        site[name] = article(prose("the same text"))
    return site


def test_pages_that_rules_leave_out_pass_unjudged(copies: Site, crawl: CrawlFixture) -> None:
    result = crawl(SIMHASH_ONLY=["/shop/", "/review/"], SIMHASH_EXCEPT=["/review/b"])
    assert result.seen() == {"/", "/shop/a", "/review/b", "/mistake", "/error"}
    assert result.simhash_stats()["skipped/left_out"] == 4
    assert "not judged: 4 (left_out 4)" in result.log


def test_policy_of_the_user_decides_and_its_mistakes_cost_no_page(
    copies: Site, crawl: CrawlFixture
) -> None:
    result = crawl(SIMHASH_POLICY="tests.spiders.ReviewsPass")
    assert result.seen() == {"/", "/shop/a", "/review/a", "/review/b", "/mistake", "/error"}
    assert result.verdicts()["/review/b"] == "exact_duplicate"
    assert result.simhash_stats()["policy_errors"] == 2
    assert "Page passed, since SIMHASH_POLICY failed" in result.log


def test_page_of_its_own_that_a_policy_drops_stands_for_no_copy(
    copies: Site, crawl: CrawlFixture
) -> None:
    copies["/"] = article(prose("start"), ["/secret", "/shop/a", "/shop/b"])
    copies["/secret"] = copies.pages["/shop/a"]
    result = crawl(SIMHASH_POLICY="tests.spiders.ReviewsPass")
    assert result.seen() == {"/", "/shop/a"}
    assert result.simhash_stats()["dropped"] == 2
    assert "Logging error" not in result.log
    assert "Traceback" not in result.log


def test_page_that_was_not_judged_is_not_taken_back(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"), ["/refused"])
    site["/refused"] = Reply("words", content_type="text/plain")
    result = crawl(ITEM_PIPELINES={"tests.spiders.Refuses": 1})
    assert "withdrawn" not in result.simhash_stats()


@pytest.mark.parametrize("policy", ["no.such.Class", "tests.spiders.Links", "json"])
def test_policy_that_is_none_is_refused(copies: Site, crawl: CrawlFixture, policy: str) -> None:
    refused = crawl(SIMHASH_POLICY=policy)
    assert refused.returncode == 1
    assert "SettingsError: SIMHASH_POLICY must be a class with the methods of" in refused.log


@pytest.mark.parametrize(
    ("policy", "passed"), [(None, 1), ("KeepsPages", 0), ("FailsToTakeBack", 1)]
)
@pytest.mark.parametrize("first", ["/refused", "/fails"])
def test_page_with_a_refused_item_does_not_stand_for_its_copies(
    site: Site, crawl: CrawlFixture, first: str, policy: str | None, passed: int
) -> None:
    site["/"] = article(prose("start"), [first, "/copy", "/other"])
    for path in (first, "/copy", "/other"):
        site[path] = article(prose("the same text"))
    pipelines = {"tests.spiders.Refuses": 1}
    if policy is not None:
        policy = f"tests.spiders.{policy}"
    result = crawl(ITEM_PIPELINES=pipelines, SIMHASH_POLICY=policy)
    assert len(result.seen() - {"/"}) == passed
    assert result.simhash_stats().get("withdrawn", 0) == passed


def test_copies_are_not_asked_for_again_where_a_pipeline_drops_those_of_all_pages(
    site: Site, crawl: CrawlFixture
) -> None:
    names = [f"/{page}/{copy}/refused" for page in range(50) for copy in range(3)]
    site["/"] = article(prose("start"), names)
    for name in names:
        site[name] = article(prose(f"topic{name.split('/')[1]}x"))
    result = crawl(
        ITEM_PIPELINES={"tests.spiders.Refuses": 1},
        CONCURRENT_REQUESTS=16,
        SCHEDULER_MEMORY_QUEUE="scrapy.squeues.LifoMemoryQueue",
    )
    assert MOST_IN_VAIN < result.stats["simhash/asked_again"] <= 50


@pytest.mark.parametrize("failing", [1, 3])
def test_what_was_dropped_for_a_page_that_a_callback_fails_on_is_asked_for_again(
    site: Site, crawl: CrawlFixture, failing: int
) -> None:
    names = [*(f"/fails/{i}" for i in range(failing)), *(f"/copy/{i}" for i in range(8))]
    site["/"] = article(prose("start"), names)
    for name in names:
        site[name] = article(prose("the same text"))
    result = crawl("FailsLate", SIMHASH_PROBES=0)
    assert len([name for name in result.seen() if name.startswith("/copy/")]) == 1
    assert max(site.asked.values()) <= 1 + MOST_ASKED
    assert result.stats["simhash/asked_again"] >= 8


def test_where_a_callback_fails_on_every_page_copies_are_asked_for_again_a_few_times(
    site: Site, crawl: CrawlFixture
) -> None:
    names = [f"/fails/{i}" for i in range(8)]  # so few raise no alarm
    site["/"] = article(prose("start"), names)
    for name in names:
        site[name] = article(prose("the same text"))
    crawl("FailsLate", SIMHASH_PROBES=0)
    assert max(site.asked.values()) <= 1 + MOST_ASKED


@pytest.mark.parametrize(
    ("wish", "expected"), [(None, "flagged"), ("observe", "passed"), ("drop", "dropped")]
)
def test_inline_download_passes_unless_it_asks_to_be_dropped(
    site: Site, crawl: CrawlFixture, wish: str | None, expected: str
) -> None:
    site["/"] = article(prose("start"), ["/a"])
    site["/a"] = site["/copy"] = site["/target"] = article(prose("the same text"))
    site["/moved"] = Reply(status=302, headers={"Location": "/target"})
    site["/new"] = article(prose("new"))
    result = crawl("Waits", INLINE=["/copy", "/moved", "/new"], INLINE_WISH=wish)
    flags = ["near-duplicate"] if expected == "flagged" else []
    found = [(item["url"][-4:], item["flags"]) for item in result.items if "inline" in item]
    if expected == "dropped":
        assert found == []
    else:
        assert found == [("copy", flags), ("rget", flags), ("/new", [])]
    assert result.verdicts()["/copy"] == "exact_duplicate"


def test_inline_download_of_a_known_page_makes_it_no_wall(site: Site, crawl: CrawlFixture) -> None:
    """A callback that looks at a page once more has not been refused it."""
    others = [f"/{i}" for i in range(6)]
    site["/"] = article(prose("start"), ["/a", *others, "/copy"])
    site["/a"] = site["/copy"] = article(prose("lamp"))
    for other in others:
        site[other] = article(prose(f"topic{other[1:]}x"))
    result = crawl("Waits", INLINE=["/a"], INLINE_AT="/a")
    assert result.decisions[-1]["action"] == "drop"


def test_what_an_inline_download_finds_changed_was_a_wall(site: Site, crawl: CrawlFixture) -> None:
    """Code polls a page until it is done: the same text at others, before that, says nothing."""

    def late(asked: int, name: str) -> str:
        return article(prose("please wait" if asked < 4 else name))

    names = ["boat", "lamp", "tree"]
    site["/"] = article(prose("start"), names)
    for name in names:
        site[f"/{name}"] = partial(late, name=name)
    result = crawl("PollsInline")
    assert sorted(item["url"][-4:] for item in result.items[1:]) == names


def test_inline_download_before_the_start_stands_for_no_page(
    site: Site, crawl: CrawlFixture
) -> None:
    site["/"] = article(prose("start"), ["/list"])
    site["/list"] = site["/list?first=1"] = article(prose("list"), ["/a"])
    site["/a"] = article(prose("lamp"))
    result = crawl("WaitsFirst")
    assert [item["url"][-2:] for item in result.items][1:] == ["st", "/a"]


def test_inline_download_stands_for_no_page(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"), ["/a", "/b"])
    site["/a"] = article(prose("lamp"))
    site["/b"] = site["/early"] = article(prose("boat"))
    result = crawl("Waits", INLINE=["/early"])
    assert result.verdicts() == {"/": "unique", "/a": "unique", "/early": "exact_duplicate"} | {
        "/b": "unique"
    }


def test_wish_that_nobody_knows_is_warned_of(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"), ["/a/Flag", "/b/Flag"])
    for name in ("a", "b"):
        site[f"/{name}/Flag"] = article(prose(name))
    result = crawl("Wishes")
    assert result.simhash_stats()["skipped/bad_meta"] == 2
    warning = "The meta key 'simhash' must be False, True or an action: got 'Flag', in <GET "
    assert result.log.count(warning) == 1
