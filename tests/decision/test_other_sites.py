"""Pages of other registered domains: one takes another's place only if it shows all of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from scrapy_simhash.decision.comparison import overlap
from scrapy_simhash.decision.judge import Judged, SiteKnowledge, judge
from scrapy_simhash.decision.page import Found, Page, Row
from scrapy_simhash.urls import owner_of
from tests.conftest import CrawlFixture, Site, article, prose
from tests.pages import VERIFIED, page_with_content

KEPT_URL = "https://docs.copies.org/manual/one.html"
COPIES = "https://copies.org/"
URL = "https://www.original.com/one.html"

# Two pages of which all samples are the same.
LONG, ALTERED = range(900), [*range(898), 900]


def at(url: str, content: Iterable[int], main_text: int = 0, canonical: str | None = None) -> Page:
    found = page_with_content(url, content, main_text)
    return replace(found, url=url, canonical=canonical)


def judged(page: Page, kept: Page) -> Judged:
    found = Found(near=[(Row(1, kept), 0)])
    return judge(page, found, VERIFIED, SiteKnowledge())


@pytest.mark.parametrize(
    ("page", "kept", "reason"),
    [
        # The same main text, and all of the content: equal, or with more on the kept page.
        (at(URL, range(100)), at(KEPT_URL, range(100)), "same_text"),
        (at(URL, range(90)), at(KEPT_URL, range(100)), "share_in_common"),
        # Something is missing on the kept page.
        (at(URL, range(100)), at(KEPT_URL, range(97)), "other_site"),
        # Another main text, and all of the content: of a long page, samples alone do not tell.
        (at(URL, range(90), 1), at(KEPT_URL, range(100), 2), "share_in_common"),
        (at(URL, range(900), 1), at(KEPT_URL, range(900), 2), "share_in_common"),
        (at(URL, LONG, 1), at(KEPT_URL, ALTERED, 2), "other_site"),
        (at(URL, range(15), 1), at(KEPT_URL, range(15), 2), "other_site"),
        # The site itself says where the page belongs.
        (at(URL, range(100), 1, KEPT_URL), at(KEPT_URL, range(97)), "share_in_common"),
        (
            at(URL, range(100), 1, COPIES),
            at(KEPT_URL, range(97)),
            "share_in_common",
        ),
        (at(URL, range(100), 1, "https://other.org/"), at(KEPT_URL, range(97)), "other_site"),
        (at("file:///one.html", range(100), 1), at(KEPT_URL, range(97)), "share_in_common"),
        # Not enough on any site.
        (at(URL, range(100)), at(KEPT_URL, range(40)), "new_text"),
    ],
)
def test_a_kept_page_of_another_site_must_have_all_of_a_page(
    page: Page, kept: Page, reason: str
) -> None:
    decision = judged(page, kept).decision
    assert decision.reason == reason
    if reason == "other_site":
        assert decision.verdict == "variant"
        assert decision.closest is not None
        assert decision.closest.url == KEPT_URL


def test_samples_alone_do_not_tell_of_a_long_page() -> None:
    sketches = [at(URL, content).sketch for content in (LONG, ALTERED)]
    one, other = (sketch for sketch in sketches if sketch is not None)
    assert (overlap(one, other).share, overlap(one, other).is_exact) == (1, False)
    assert overlap(one, one).is_exact


def test_within_a_registered_domain_the_hosts_do_not_matter() -> None:
    kept = at("http://mirror.original.com/one.html", range(97), 1)
    assert judged(at(URL, range(100), 2), kept).decision.reason == "share_in_common"


@pytest.mark.parametrize(
    ("url", "owner"),
    [
        ("https://www.News.example.co.uk/a", "example.co.uk"),
        ("https://one.github.io/", "one.github.io"),
        ("http://127.0.0.1:8000/", "127.0.0.1"),
        ("http://localhost/", "localhost"),
    ],
)
def test_owner_of_a_url(url: str, owner: str) -> None:
    assert owner_of(url) == owner


def other_site(site: Site) -> str:
    """The site under another name, which is no part of the same registered domain."""
    return site.url.replace("127.0.0.1", "localhost")


TEXT = f"<p>{prose('original', 300)}</p>"


@pytest.mark.parametrize("place", ["memory:", "file", "redis"], indirect=True)
def test_a_page_that_another_site_has_altered_is_kept(
    site: Site, crawl: CrawlFixture, place: str
) -> None:
    copies = other_site(site)
    site["/"] = article(
        prose("start"),
        [f"{copies}/whole", f"{copies}/altered", "/original", "/other", "/again", "/copy"],
    )
    site["/whole"] = article(TEXT)
    site["/altered"] = article(f"<p>{prose('other', 300)} pay to account 1</p>")
    site["/original"] = article(TEXT)
    site["/other"] = article(f"<p>{prose('other', 300)} pay to account 2</p>")
    site["/copy"] = site["/again"] = article(f"<p>{prose('other', 300)} pay to account 3</p>")
    result = crawl(SIMHASH_INDEX=place)
    reasons = {d["url"].removeprefix(site.url): d["reason"] for d in result.decisions}
    assert reasons["/original"] == "same_text"  # all of it is in a kept page
    assert reasons["/other"] == "other_site"
    assert reasons["/again"] == "share_in_common"  # within a site, as ever
    assert result.stats["simhash/variant/other_site"] == 1
    assert result.stats["simhash/of_another_site"] == 1


def test_links_to_the_own_site_keep_a_page(site: Site, crawl: CrawlFixture) -> None:
    copies = other_site(site)
    site["/"] = article(prose("start"), [f"{copies}/thief", "/original"])
    site["/thief"] = article(TEXT, [f"{copies}/next"])
    site["/original"] = article(TEXT, ["/next"])
    site["/next"] = article(prose("next"))
    result = crawl()
    reasons = {d["url"]: d["reason"] for d in result.decisions}
    assert reasons[f"{site.url}/original"] == "new_links"


def test_scope_site_lets_no_other_site_take_a_place(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"), [f"{other_site(site)}/thief", "/original"])
    site["/thief"] = site["/original"] = article(TEXT)
    assert crawl(SIMHASH_SCOPE="site").seen() == {"/", "/thief", "/original"}
