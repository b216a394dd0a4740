"""The best copy: what a report says of it, and the canonical one in the place of the first."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.decision.page import Page, met_by
from scrapy_simhash.settings import CANONICAL, ITEMS
from tests.command_line import INDEX
from tests.conftest import Crawl, CrawlFixture, Site, article, path_of, prose
from tests.index.test_groups import kept_of, members
from tests.indexes import groups, open_index
from tests.pages import PARAMETERS, VERIFIED, exact, near, page, page_with_content

PREFER = {"SIMHASH_PREFER": "canonical", "CONCURRENT_REQUESTS": 1, "SIMHASH_TAKES": ITEMS}
PREFERRING = replace(PARAMETERS, prefer=CANONICAL)


def named(name: str, canonical: str, fingerprint: int = 0, crawl: int | None = None) -> Page:
    found = replace(page(name, fingerprint), canonical=f"http://site.example/{canonical}")
    return found if crawl is None else replace(found, met_by=met_by(crawl))


def test_the_canonical_copy_takes_the_place_of_the_first(place: str) -> None:
    with open_index(place, PREFERRING) as index:
        index.check_and_add(named("a", "best"))
        assert index.check_and_add(named("b", "best", 1)) == near("a", 1)
        best = index.check_and_add(page("best", 0b10))
        assert (best.verdict, best.reason) == ("refresh", "canonical")
        assert best.replaces == "http://site.example/a"
        assert groups(index) == {"best": None, "b": "best", "a": "best"}
        assert index.check_and_add(named("c", "best", 0b11)) == near("best", 1)
        # The other one is a copy, and names it still.
        assert index.check_and_add(named("a", "best")) == near("best", 1)


def test_the_first_is_kept_by_default(place: str) -> None:
    with open_index(place, PARAMETERS) as index:
        index.check_and_add(named("a", "best"))
        decision = index.check_and_add(page("best", 0))
        assert decision == exact("a")
        assert decision.better == ("canonical",)
        assert groups(index) == {"a": None, "best": "a"}


def test_a_copy_that_nobody_names_does_not_replace_another(place: str) -> None:
    with open_index(place, PREFERRING) as index:
        index.check_and_add(named("a", "best"))
        assert index.check_and_add(named("b", "b", 1)).is_duplicate
        index.check_and_add(page("x", 0xFF00))
        assert index.check_and_add(named("y", "y", 0xFF01)) == near("x", 1)


def test_a_named_page_with_another_text_replaces_nothing(place: str) -> None:
    """The home page, say, that all pages name."""
    with open_index(place, PREFERRING) as index:
        for number in range(4):
            index.check_and_add(named(f"{number}", "home", 0xFF << 8 * number))
        assert index.check_and_add(page("home", 0xFF << 40)).verdict == "unique"
        assert len(index) == 5


def test_of_pages_that_name_each_other_the_first_is_kept(place: str) -> None:
    with open_index(place, PREFERRING) as index:
        index.check_and_add(named("a", "b"))
        assert index.check_and_add(named("b", "a")).is_duplicate
        assert index.check_and_add(named("b", "a")).is_duplicate
        assert groups(index) == {"a": None, "b": "a"}


def test_of_several_kept_pages_that_which_names_it_is_replaced(lasting_place: str) -> None:
    parameters = replace(VERIFIED, prefer=CANONICAL)
    with open_index(lasting_place, parameters) as index:
        first, second = page_with_content("a", range(100)), page_with_content("b", range(15, 115))
        assert index.check_and_add(first).verdict == "unique"
        second = replace(second, canonical="http://site.example/best")
        assert index.check_and_add(second).verdict == "unique"
        best = index.check_and_add(page_with_content("best", range(7, 107)))
        assert best.replaces == "http://site.example/b"


def test_a_longer_copy_may_be_the_better_one(place: str) -> None:
    with open_index(place, VERIFIED) as index:
        index.check_and_add(page_with_content("a", range(100), tokens=100))
        longer = page_with_content("b", range(100), tokens=101)
        assert index.check_and_add(longer).better == ("longer",)
        assert (
            index.check_and_add(replace(longer, request_fingerprint=b"c" * 20, tokens=99)).better
            == ()
        )


CANONICAL_LINK = '<link rel="canonical" href="{}">'


def copy(topic: str, canonical: str = "", links: list[str] | None = None) -> str:
    head = CANONICAL_LINK.format(canonical) if canonical else ""
    return article(prose(topic), links).replace("<head>", f"<head>{head}")


def copied(item: dict[str, Any]) -> str:
    return path_of(item["url"])


def test_the_spider_gets_both_and_is_told_which_is_replaced(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    site["/"] = copy("start", links=["/a?sid=1", "/a?sid=2", "/a", "/a?sid=3"])
    for path in ("/a?sid=1", "/a?sid=2", "/a", "/a?sid=3"):
        site[path] = copy("the same", "/a")
    result = crawl("Listed", **PREFER, SIMHASH_REPORT_FILE="report.html")
    assert [(copied(one), one["flags"], one["replaces"]) for one in result.items] == [
        ("/", [], None),
        ("/a?sid=1", [], None),
        ("/a", ["replaces"], f"{site.url}/a?sid=1"),
    ]
    assert result.simhash_stats()["replaced"] == 1
    found = kept_of(tmp_path / INDEX)
    assert found == {"/": "/", **dict.fromkeys(["/a", "/a?sid=1", "/a?sid=2", "/a?sid=3"], "/a")}
    totals = json.loads((tmp_path / "report.json").read_text())["totals"]
    assert (totals["replaced"], totals["not_canonical"]) == (1, 0)


def test_the_report_says_how_many_groups_keep_another_copy_than_the_named_one(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    links = [f"/{name}?sid={sid}" for name in "abc" for sid in (1, 2)]
    site["/"] = copy("start", links=links)
    for link in links:
        site[link] = copy(f"page {link[1]}", "" if link[1] == "c" else link[:2])
    result = crawl("Listed", **{**PREFER, "SIMHASH_PREFER": "first"}, SIMHASH_REPORT_FILE="r.html")
    totals = json.loads((tmp_path / "r.json").read_text())["totals"]
    assert (totals["not_canonical"], totals["shorter"], totals["replaced"]) == (2, 0, 0)
    assert "names another address as canonical in 2 groups" in (tmp_path / "r.html").read_text()
    fed = [one.get("better") for one in result.decisions if one["verdict"] == "exact_duplicate"]
    assert sorted(map(str, fed)) == ["None", "['canonical']", "['canonical']"]


# Pages -> what they name, and what they say: that of which they name it or something else.
LIES: dict[str, dict[str, tuple[str, str]]] = {
    "all name the home page": {f"/{n}": ("/", f"text {n}") for n in range(6)},
    "all name one page that is there": {
        **{f"/{n}": ("/5", f"text {n}") for n in range(5)},
        "/5": ("", "text 5"),
    },
    "all name another domain": {
        f"/{n}": (f"http://other.example/{n}", f"text {n % 3}") for n in range(6)
    },
    "each names the next": {f"/{n}": (f"/{(n + 1) % 6}", "the same text") for n in range(6)},
    "each names one with another text": {
        f"/{n}": (f"/{(n + 1) % 6}", f"text {n % 2}") for n in range(6)
    },
    "all copies name the last": {f"/{n}": ("/5", "the same text") for n in range(6)},
}


def crawl_of(lies: dict[str, tuple[str, str]], site: Site, crawl: CrawlFixture) -> Crawl:
    site["/"] = copy("start", links=[*lies])
    for path, (canonical, text) in lies.items():
        site[path] = copy(text, canonical)
    return crawl("Listed", **PREFER)


@pytest.mark.parametrize("lies", LIES.values(), ids=LIES)
def test_of_each_text_an_item_is_scraped_whatever_pages_name(
    site: Site, crawl: CrawlFixture, tmp_path: Path, lies: dict[str, tuple[str, str]]
) -> None:
    result = crawl_of(lies, site, crawl)
    scraped = {lies[copied(one)][1] for one in result.items if copied(one) != "/"}
    assert scraped == {text for _, text in lies.values()}
    kept_of(tmp_path / INDEX)
    # Where a kept page names one that was met with its content, it is that one.
    rows = members(tmp_path / INDEX)
    of_group: dict[str, set[str]] = {}
    for row in rows:
        of_group.setdefault(row.kept, set()).add(row.url)
    wrong = [row for row in rows if row.url == row.kept and row.canonical in of_group[row.kept]]
    assert not wrong or lies is LIES["each names the next"]  # in a circle, none is the best


@pytest.mark.parametrize("rules", ["suggest", "use"])
def test_a_page_that_replaces_a_copy_of_itself_speaks_for_rules(
    site: Site, crawl: CrawlFixture, rules: str
) -> None:
    links = [f"/p{n}{end}" for n in range(150) for end in ("?sid=1", "", "?sid=2")]
    site["/"] = copy("start", links=links)
    for link in links:
        path = link.partition("?")[0]
        site[link] = copy(f"text{path[1:]}x", path)
    stats = crawl("Listed", **PREFER, SIMHASH_RULES=rules).simhash_stats()
    # With "use", chance says which copy of a page is tried.
    assert stats["replaced"] == 150 or (rules == "use" and stats["replaced"] > 0)
    assert stats["rules/learned"] == 1
    assert not {"rules/failures", "rules/lost", "rules/recovered"} & stats.keys()
