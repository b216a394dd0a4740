"""Trees of pages that are not there, but answer 200."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.hashes import long_hash_of
from scrapy_simhash.url_rules.dead_ends import MAX_FOUND, MAX_TREES, MissingPages
from tests.command_line import simhash_json
from tests.conftest import Crawl, CrawlFixture, Reply, Site, article, path_of, prose
from tests.documents import printed

HOST = "a.example"
ROOT = f"http://{HOST}/old/"
USE = {"SIMHASH_RULES": "use"}
MENU = ("products/", "about/", "help/contact.html")
MOST = 10


def tree_of(missing: MissingPages) -> Any:
    (tree,) = missing._trees.values()
    return tree


def test_the_site_is_asked_once_for_pages_below_that_say_the_same() -> None:
    missing = MissingPages()
    missing.begin(HOST, ROOT, [f"{ROOT}a/", f"{ROOT}b/", f"http://{HOST}/real/"], "sorry")
    tree = missing.tree_of(f"{ROOT}a/")
    assert tree is not None
    assert missing.tree_of(f"http://{HOST}/real/") is None
    assert missing.held(f"{ROOT}b/") is None, "the site was not asked yet"
    assert missing.grow(tree, f"{ROOT}a/", [f"{ROOT}a/a/"])
    assert not missing.grow(tree, f"{ROOT}b/", [])
    tree.state, tree.question = "asked", "7"
    assert missing.held(f"{ROOT}a/a/") is missing.asked("7") is tree
    missing.end(tree)
    assert missing.held(f"{ROOT}a/a/") is None
    assert missing.asked("7") is None, "a page has answered"
    missing.begin(HOST, f"http://{HOST}/new/", [f"http://{HOST}/new/a/"], "sorry")
    again = missing.tree_of(f"http://{HOST}/new/a/")
    assert again is not None
    assert not missing.grow(again, f"http://{HOST}/new/a/", []), "asked for this depth before"


def test_trees_of_hostile_sites_take_little_memory() -> None:
    missing = MissingPages()
    tracemalloc.start()
    for number in range(MAX_TREES + 5):
        root = f"{ROOT}{number}/{'x' * 1900}/"
        below = [f"{root}{i}/" for i in range(MAX_FOUND + 5)]
        missing.begin(HOST, root, below, "sorry")
        for url in below:
            tree = missing.tree_of(url)
            if tree is not None:
                missing.grow(tree, url, [])
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 25e6


def test_trees_that_are_one_do_not_grow_beyond_the_bound() -> None:
    missing = MissingPages()
    for number in range(5):
        root = f"{ROOT}{number}/"
        missing.begin(HOST, root, [f"{root}{i}/" for i in range(MAX_FOUND - 1)], "sorry")
    tree = missing.tree_of(f"{ROOT}0/0/")
    assert tree is not None
    missing.confirm(tree, lambda first: True)
    assert MAX_FOUND < len(tree.found) <= 2 * MAX_FOUND
    assert missing.missing() == [tree]


def test_links_of_the_first_folder_lead_to_the_pages_of_the_site() -> None:
    missing = MissingPages()
    missing.begin(HOST, f"http://{HOST}/gone", [f"http://{HOST}/shop/lamps/"], "sorry")
    assert missing.tree_of(f"http://{HOST}/shop/lamps/") is None


def test_what_another_page_leads_to_is_in_no_tree() -> None:
    missing = MissingPages()
    missing.begin(HOST, ROOT, [f"{ROOT}a/", f"{ROOT}b/"], "sorry")
    tree_of(missing).state = "missing"
    held = missing.held(f"{ROOT}a/")
    assert held is not None
    linked = [(held, long_hash_of(f"{ROOT}a/"))]
    assert missing.linked([f"{ROOT}a/", "http://elsewhere.example/"]) == linked
    assert missing.held(f"{ROOT}a/") is None
    assert missing.held(f"{ROOT}b/") is not None


def test_other_trees_that_are_alike_join() -> None:
    missing = MissingPages()
    for name in "abc":
        root = f"http://{HOST}/{name}/"
        missing.begin(HOST, root, [f"{root}x/"], "sorry" if name != "c" else "welcome")
    tree = missing.tree_of(f"http://{HOST}/a/x/")
    assert tree is not None
    missing.confirm(tree, lambda first: first == "sorry")
    assert missing.tree_of(f"http://{HOST}/b/x/") is tree
    assert missing.held(f"http://{HOST}/c/x/") is None
    assert missing.take_audits(tree.url, 9) == 1
    assert missing.take_audits(tree.url, 9) == 0


def test_trees_are_watched_in_bounded_memory() -> None:
    missing = MissingPages()
    for number in range(2 * MAX_TREES):
        root = f"http://{HOST}/{number}/"
        missing.begin(HOST, root, [f"{root}{i}/" for i in range(20)], "sorry")
    assert len(missing._trees) <= MAX_TREES
    assert len(missing._of) <= 20 * MAX_TREES
    missing.begin(HOST, ROOT, [f"{ROOT}{i}/" for i in range(2 * MAX_FOUND)], "sorry")
    assert len(missing._of) <= 20 * MAX_TREES + MAX_FOUND


def sorry(path: str, links: tuple[str, ...] = MENU, text: str = "") -> str:
    menu = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return (
        f"<html><head><title>Sorry</title></head><body><main><h1>Sorry</h1><p>The page {path} is "
        f"not here. {text or prose('sorry', 40)}</p><ul>{menu}</ul></main></body></html>"
    )


class Tree(dict[str, Reply]):
    """Two articles, and a folder in which everything is answered by one page."""

    def __init__(self, answer: Callable[[str], Reply]) -> None:
        super().__init__()
        self.answer = answer
        self["/"] = Reply(article(prose("start"), ["/a/1", "/a/2", "/shop/old/"]))
        self["/a/1"], self["/a/2"] = (Reply(article(prose(f"article{i}x"))) for i in "12")

    def get(self, path: str, default: Any = None) -> Any:
        if path.startswith("/shop/") and path not in self:
            return self.answer(path)
        return super().get(path, default)


def shop(site: Site) -> list[str]:
    return [path for path in site.asked if path.startswith("/shop/")]


def missing_stats(done: Crawl) -> dict[str, Any]:
    found = done.simhash_stats()
    return {
        name.removeprefix("missing/"): found[name] for name in found if name.startswith("missing/")
    }


@pytest.mark.parametrize("answer", [lambda path: sorry(""), sorry], ids=["one text", "named"])
@pytest.mark.parametrize("concurrent", [1, 16])
def test_an_endless_tree_ends(
    site: Site,
    crawl: CrawlFixture,
    tmp_path: Path,
    answer: Callable[[str], str],
    concurrent: int,
) -> None:
    site.pages = Tree(lambda path: Reply(answer(path)))
    done = crawl(
        "Parks",
        **USE,
        CONCURRENT_REQUESTS=concurrent,
        CLOSESPIDER_PAGECOUNT=200,
        SIMHASH_REPORT_FILE="report.html",
    )
    assert done.stats["finish_reason"] == "finished"
    assert len(shop(site)) <= MOST
    assert {"/a/1", "/a/2"} <= done.seen()
    assert missing_stats(done) == {"suspected": 1, "asked": 1, "found": 1}
    asked = {path_of(one["url"]) for one in done.decisions}
    assert len({*shop(site)} - asked) == 1, "the answer to the question is not judged"
    shown = printed("docs/rules.md", "WARNING: Pages below")
    assert shown.replace("http://www.example.com", site.url) in done.log
    (row,) = json.loads((tmp_path / "report.json").read_text())["traps"]
    assert row["pattern"] == f"{site.url}/shop/old/**"
    assert row["found_after"] + row["pages"] + 1 == len(shop(site))
    assert row["parked"] == done.stats["simhash/rules/parked"]
    (parked,) = simhash_json(tmp_path, "rules", ".scrapy/simhash/links.simhash", "--parked")[
        "rules"
    ]
    assert parked["rule"] == f"Stop below {site.url}/shop/old/, which is not there"


def test_the_site_is_not_asked_by_default(site: Site, crawl: CrawlFixture) -> None:
    site.pages = Tree(lambda path: Reply(sorry("")))
    done = crawl(CLOSESPIDER_PAGECOUNT=40)
    assert missing_stats(done) == {"suspected": 1}
    assert len(shop(site)) > MOST


@pytest.mark.parametrize("status", [404, 200])
def test_pages_that_are_there_are_not_lost(site: Site, crawl: CrawlFixture, status: int) -> None:
    """They say the same, and lead deeper; what is not there says something else."""
    names = [f"/shop/old/{a}/{b}/" for a in "123" for b in "456"]
    there = {"/shop/old/", *(f"/shop/old/{a}/" for a in "123")}

    def answer(path: str) -> Reply:
        if path in names:
            return Reply(article(prose(f"lamp{names.index(path)}x")))
        if path in there:
            return Reply(
                sorry("", tuple(f"{i}/" for i in ("123" if path == "/shop/old/" else "456")))
            )
        return Reply(article(prose("nothing of this name")), status=status)

    site.pages = Tree(answer)
    done = crawl("Parks", **USE, CLOSESPIDER_PAGECOUNT=200)
    assert {*names} <= done.seen()
    assert missing_stats(done) == {"suspected": 1, "asked": 1}


def test_what_another_page_leads_to_is_sent(site: Site, crawl: CrawlFixture) -> None:
    """The page comes when the request is parked already."""
    lamp = "/shop/old/help/contact.html"
    site.pages = Tree(lambda path: Reply(sorry("")))
    site.pages["/"] = Reply(article(prose("start"), ["/shop/old/", "/a/1"]))
    site.pages["/a/1"] = Reply(article(prose("one"), ["/a/2"]))
    site.pages["/a/2"] = Reply(article(prose("two"), [lamp]))
    site.pages[lamp] = Reply(article(prose("lamp")))
    done = crawl("Parks", **USE, SIMHASH_RULES_AUDIT=0, CLOSESPIDER_PAGECOUNT=30)
    assert lamp in done.seen()
    assert done.stats["simhash/rules/released"] == 1


def test_a_page_that_says_something_ends_the_tree(site: Site, crawl: CrawlFixture) -> None:
    """The one request that is parked is looked at when the spider is idle."""
    lamp = "/shop/old/lamp/"
    names = ("a/", "lamp/")
    site.pages = Tree(lambda path: Reply(sorry("", names if path == "/shop/old/" else ())))
    site.pages[lamp] = Reply(article(prose("lamp")))
    done = crawl("Parks", **USE, CLOSESPIDER_PAGECOUNT=30)
    assert lamp in done.seen()
    assert done.stats["simhash/rules/audited"] == 1


def test_a_question_that_fails_holds_nothing(site: Site, crawl: CrawlFixture) -> None:
    known = {"/shop/old/", *(f"/shop/old/{one}" for one in MENU)}
    pages = known | {f"/shop/old/{a}{b}" for a in MENU[:2] for b in MENU}

    def answer(path: str) -> Reply:
        if path in pages:
            return Reply(sorry("", MENU if path in known else ()))
        return Reply("", status=500)

    site.pages = Tree(answer)
    done = crawl("Parks", **USE, RETRY_TIMES=0, SIMHASH_ACTION="drop", CLOSESPIDER_PAGECOUNT=200)
    assert pages <= {*site.asked}
    assert "asked" in missing_stats(done)


def test_a_crawl_that_is_resumed_knows_what_is_not_there(site: Site, crawl: CrawlFixture) -> None:
    site.pages = Tree(lambda path: Reply(sorry("")))
    stopped = {**USE, "JOBDIR": "job", "CONCURRENT_REQUESTS": 1}
    first = crawl("Parks", **stopped, CLOSESPIDER_PAGECOUNT=5)
    assert first.stats["finish_reason"] == "closespider_pagecount"
    assert missing_stats(first)["found"] == 1
    before = len(shop(site))
    second = crawl("Parks", **stopped, CLOSESPIDER_PAGECOUNT=100)
    assert second.stats["finish_reason"] == "finished"
    assert {"/a/1", "/a/2"} <= second.seen()
    assert len(shop(site)) <= before + 1
    assert not missing_stats(second)


def test_a_question_without_an_answer_is_asked_again_by_the_next_run() -> None:
    missing = MissingPages()
    missing.begin(HOST, ROOT, [f"{ROOT}a/", f"{ROOT}b/"], "sorry")
    tree = tree_of(missing)
    assert missing.grow(tree, f"{ROOT}a/", [])
    tree.state, tree.question = "asked", "7"
    missing.resume()
    assert missing.held(f"{ROOT}b/") is missing.asked("7") is None
    assert missing.grow(tree, f"{ROOT}b/", [])
