"""What names a page by the user's wish."""

from __future__ import annotations

import pytest

from scrapy_simhash.analysis.page import Analyser
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.rule.identity import is_another
from tests.conftest import CrawlFixture, Site, article, prose

URL = "http://a.example/law?no=17"


def number_in_url(body: bytes, encoding: str | None, url: str) -> list[str]:
    return [url.partition("=")[2]]


def wrong_number(body: bytes, encoding: str | None, url: str) -> list[int]:
    return [17]


def identity(rule: str, html: str, url: str = URL) -> bytes | None:
    body = f"<html><head><title>Laws</title></head><body>{html}<p>Text.</p></body></html>"
    analyser = Analyser.create(extractor="text", keep_apart=[rule])
    return analyser.analyse(body.encode(), "utf-8", url).holdings.identity


@pytest.mark.parametrize(
    ("rule", "html"),
    [
        ("headings", "<h2>Decree {}</h2>"),
        ("css:.number", '<b class="number">No. {}</b>'),
        ("css:meta[name=number]", '<meta name="number" content="{}">'),
        ("css:input#no", '<input id="no" value="{}">'),
    ],
)
def test_pages_with_other_names_are_others(rule: str, html: str) -> None:
    one, other = identity(rule, html.format(17)), identity(rule, html.format(18))
    assert is_another(one, other)
    assert not is_another(one, identity(rule, html.format(17) + "<p>And a notice.</p>"))
    assert identity(rule, "") is None


def test_the_title_and_a_function_name_a_page() -> None:
    assert identity("title", "") is not None
    rule = "tests.test_naming.number_in_url"
    assert is_another(identity(rule, ""), identity(rule, "", URL.replace("17", "18")))
    assert Analyser.create(keep_apart=[rule]).reads_urls
    assert not Analyser.create(keep_apart=["title"]).reads_urls


def test_what_names_pages_is_part_of_the_scheme() -> None:
    one = Analyser.create(keep_apart=["title", "headings"]).identity
    assert one == Analyser.create(keep_apart=["headings", "title"]).identity
    assert one.endswith("; keep apart headings; keep apart title")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("css:h1[", "is no CSS selector"),
        ("heading", "must be 'headings', 'title', 'css:SELECTOR' or the import path"),
        ("tests.test_naming.URL", "cannot be called"),
    ],
)
def test_wrong_rules_are_refused(rule: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Analyser.create(keep_apart=[rule])


def test_a_function_that_returns_no_strings_fails_the_page() -> None:
    with pytest.raises(Exception, match="must return strings: got int"):
        identity("tests.test_naming.wrong_number", "")


def test_laws_that_differ_in_their_number_are_kept(site: Site, crawl: CrawlFixture) -> None:
    names = ["/17", "/18"]
    site["/"] = article(prose("start"), [*names, "/copy"])
    for name in names:
        site[name] = article(prose("law", 2000)).replace("<p>", f"<h1>Decree {name}</h1><p>")
    site["/copy"] = article(prose("law", 2000)).replace("<p>", "<h1>Decree /17</h1><p>")
    result = crawl(SIMHASH_KEEP_APART="headings")
    assert result.seen() == {"/", *names}
    assert result.stats["simhash/kept_apart/other_identity"] == 1
