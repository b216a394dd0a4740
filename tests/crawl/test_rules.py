"""A crawl learns rules for addresses, says what they would save, and acts on none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.index.site_knowledge import rules_key
from scrapy_simhash.settings import ITEMS
from scrapy_simhash.url_rules.book import SiteRules
from scrapy_simhash.url_rules.learner import Learner
from tests.command_line import INDEX, simhash, simhash_json
from tests.conftest import Crawl, CrawlFixture, Reply, Site, article, path_of, prose
from tests.crawl.parked import index_with_rule
from tests.documents import printed
from tests.indexes import open_index
from tests.pages import PARAMETERS

PAGES = 70
# So many duplicates put a rule on trial, and so many trials after them are enough.
LEARNED_AFTER = 2 + 45
# These put a rule on trial, before copies come that have links.
WITHOUT_LINKS = 2


def fill(site: Site, pages: int = PAGES, end: str = "?sid=1") -> None:
    """Pages that are linked at two addresses each."""
    paths = [f"/a/p{i}{one}" for i in range(pages) for one in ("", end)]
    site["/"] = article(prose("start"), paths)
    for i in range(pages):
        for path in (f"/a/p{i}", f"/a/p{i}{end}"):
            site[path] = article(prose(f"page{i}x"))


def rules_stats(done: Crawl) -> dict[str, Any]:
    found = done.simhash_stats()
    return {
        name.removeprefix("rules/"): value
        for name, value in found.items()
        if name.startswith("rules/")
    }


def test_a_rule_is_learned_and_what_it_would_save_is_told(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    fill(site)
    done = crawl(SIMHASH_REPORT_FILE="report.html", CONCURRENT_REQUESTS=1)
    stats = rules_stats(done)
    assert (stats["learned"], stats.get("failures", 0), stats.get("lost", 0)) == (1, 0, 0)
    assert LEARNED_AFTER - 2 <= stats["keys"] <= PAGES - 2
    assert PAGES - LEARNED_AFTER - 5 <= stats["known"] <= PAGES - LEARNED_AFTER
    assert all(site.asked[f"/a/p{i}?sid=1"] == 1 for i in range(PAGES)), "it acts on nothing"
    host = site.url.partition("//")[2]
    advice = f"Ignore the parameter sid on {host}"
    (row,) = json.loads((tmp_path / "report.json").read_text())["rules"]
    assert (row["advice"], row["lost"]) == (advice, 0)
    # Two have suggested the rule; it was right about all others, and foretold some of them.
    assert stats["known"] < row["duplicates"] == PAGES - 2
    assert row["body_bytes"] > done.stats["simhash/rules/known_bytes"] > 0
    assert row["templates"] == ["/a/*"]
    assert advice in (tmp_path / "report.html").read_text()
    shown = printed("docs/rules.md", "INFO: Learned")
    assert shown.replace("www.example.com", host) in done.log
    assert "1 rule for addresses learned" in done.log


def test_links_that_differ_only_by_the_rule_are_no_failure(site: Site, crawl: CrawlFixture) -> None:
    mirrored = [f"{mirror}/a/p{i}" for i in range(PAGES) for mirror in ("", "/mirror")]
    site["/"] = article(prose("start"), mirrored)
    for i in range(PAGES):
        for mirror in ("", "/mirror"):
            leads_to = [f"{mirror}/a/q{i}"] if i >= WITHOUT_LINKS else []
            site[f"{mirror}/a/p{i}"] = article(prose(f"page{i}x"), leads_to)
            site[f"{mirror}/a/q{i}"] = article(prose(f"other{i}x"))
    done = crawl(CONCURRENT_REQUESTS=1)
    stats = rules_stats(done)
    assert done.stats["simhash/variant/new_links"] == PAGES - WITHOUT_LINKS > 0
    assert (stats["learned"], stats.get("failures", 0), stats.get("lost", 0)) == (1, 0, 0)


def test_the_next_crawl_knows_the_rule(site: Site, crawl: CrawlFixture) -> None:
    fill(site)
    assert rules_stats(crawl())["learned"] == 1
    stats = rules_stats(crawl(CONCURRENT_REQUESTS=1))
    assert "learned" not in stats
    assert stats["known"] >= PAGES - 5, "but of one address of each page, one has to be fetched"


@pytest.fixture
def learned(site: Site, tmp_path: Path) -> Path:
    """A folder in which crawls know a rule from the start."""
    index_with_rule(tmp_path, site.url)
    return tmp_path


@pytest.mark.usefixtures("learned")
def test_rules_that_are_off_stay_for_later_crawls(site: Site, crawl: CrawlFixture) -> None:
    fill(site, pages=10)
    assert not rules_stats(crawl(SIMHASH_RULES="off"))
    stats = rules_stats(crawl())
    assert "learned" not in stats
    assert stats["known"] >= 5


def test_rules_are_learned_by_a_middleware_that_is_enabled_by_hand(
    site: Site, crawl: CrawlFixture
) -> None:
    fill(site, pages=10)
    judging = {"scrapy_simhash.crawl.judging.SimhashDownloaderMiddleware": 70}
    rules = {"scrapy_simhash.crawl.rules.SimhashRulesMiddleware": 541}
    account = {"scrapy_simhash.crawl.account.SimhashAccount": 500}
    by_hand = {"ADDONS": {}, "EXTENSIONS": account, "SIMHASH_INDEX": "memory:"}
    assert not rules_stats(crawl(**by_hand, DOWNLOADER_MIDDLEWARES=judging))
    done = crawl(**by_hand, DOWNLOADER_MIDDLEWARES={**judging, **rules})
    assert rules_stats(done)["keys"] >= 5
    off = crawl(**by_hand, DOWNLOADER_MIDDLEWARES={**judging, **rules}, SIMHASH_RULES="off")
    assert off.simhash_stats()["judged"] > 10
    assert not rules_stats(off)


def test_a_mistake_in_rules_costs_no_page_and_is_told(site: Site, crawl: CrawlFixture) -> None:
    fill(site, pages=5)
    done = crawl("BreaksRules")
    assert done.returncode == 0
    assert {f"/a/p{i}" for i in range(5)} <= done.seen()
    stats = done.simhash_stats()
    assert (stats["kept"], stats["exact_duplicate"], stats.get("skipped")) == (6, 5, None)
    assert stats["rules/errors"] == 6 + 11, "traps learn from kept pages, rules from all"
    assert done.log.count("WARNING: Error in SimhashRulesMiddleware") == 1
    assert not rules_stats(done).keys() - {"errors"}


def test_redirects_and_walls_teach_nothing(site: Site, crawl: CrawlFixture) -> None:
    fill(site, pages=30)
    wall = article(prose("please log in"))
    for i in range(30):
        site[f"/a/p{i}?sid=1"] = Reply(status=302, headers={"Location": f"/a/p{i}?sid=2"})
        site[f"/a/p{i}?sid=2"] = article(prose(f"page{i}x"))
        if i % 2:
            site[f"/a/p{i}"] = site[f"/a/p{i}?sid=1"] = wall
    done = crawl()
    assert "near_duplicate" in done.simhash_stats() or done.stats["simhash/exact_duplicate"]
    assert rules_stats(done).get("keys", 0) <= 1


def test_pages_that_need_the_parameter_are_no_rule(site: Site, crawl: CrawlFixture) -> None:
    fill(site)
    for i in range(PAGES):
        if i % 9 == 0:
            site[f"/a/p{i}?sid=1"] = article(prose(f"other{i}x"))
    stats = rules_stats(crawl())
    assert "learned" not in stats
    assert stats["failures"] >= 1


def test_a_rule_says_what_it_waits_for(site: Site, crawl: CrawlFixture, tmp_path: Path) -> None:
    fill(site, pages=42)
    crawl(CONCURRENT_REQUESTS=1)
    listed = " ".join(simhash(tmp_path, "rules", str(INDEX)).stdout.split())
    shown = printed("docs/rules.md", "www.example.com").replace("/read/*", "/a/*")
    assert listed.startswith(shown.replace("www.example.com", site.url.partition("//")[2]))


def test_the_command_lists_and_forgets(site: Site, learned: Path) -> None:
    host = site.url.partition("//")[2]
    (rule,) = simhash_json(learned, "rules", str(INDEX))["rules"]
    assert (rule["host"], rule["drop"], rule["failures"]) == (host, "sid", 0)
    assert rule["keys"] >= 45
    assert rule["folders"][-1]["stage"] == "young"
    shown = simhash(learned, "rules", str(INDEX)).stdout
    assert "sid" in shown
    assert "/a/*" in shown

    assert simhash(learned, "rules", str(INDEX), "--forget").returncode == 2
    of_site = ("rules", str(INDEX), "--site", host)
    assert simhash_json(learned, *of_site, "--forget", "7")["forgotten"] == 0
    assert simhash(learned, *of_site, "--forget", "1").stdout == "1 rule forgotten\n"
    assert simhash_json(learned, *of_site)["rules"] == []
    assert "No rule" in simhash(learned, *of_site).stdout


def test_the_command_tells_what_a_rule_was_wrong_about(
    site: Site, crawl: CrawlFixture, learned: Path
) -> None:
    fill(site, pages=40)
    for i in range(20, 40):
        site[f"/a/p{i}?sid=1"] = article(prose(f"other{i}x"))
    done = crawl("Parks", SIMHASH_RULES="use", SIMHASH_REPORT_FILE="report.html")
    assert {f"/a/p{i}?sid=1" for i in range(20, 40)} <= done.seen()
    (row,) = json.loads((learned / "report.json").read_text())["rules"]
    assert row["failures"] >= 1
    (rule,) = simhash_json(learned, "rules", str(INDEX))["rules"]
    assert rule["holds"] == []
    listed = simhash(learned, "rules", str(INDEX)).stdout
    assert f"{row['failures']} with two" in listed
    assert "wrong at least once in each folder" in listed


def test_processes_share_rules_in_an_index(lasting_place: str) -> None:
    def learn(learner: Learner, first: int, last: int) -> None:
        for i in range(first, last):
            url = f"http://a.com/a/p{i}"
            learner.learn(url, url)
            learner.learn(f"{url}?sid=1", url)

    with open_index(lasting_place, PARAMETERS) as one, open_index(lasting_place, PARAMETERS) as two:
        learn(Learner(one.learned.rules), 0, 30)
        one.learned.store_rules("a.com")
        two.learned.store_rules("a.com")
        (shared,) = two.learned.rules.all()
        before = shared.keys
        assert before >= 25
        other = Learner(two.learned.rules)
        learn(other, 0, 30)
        assert before <= shared.keys <= 30, "these may be the same keys"
        learn(other, 30, 80)
        assert shared.learned is not None
        two.learned.store_rules("a.com")
        one.learned.store_rules("a.com")
        (rule,) = one.learned.rules.all()
        assert rule.learned is not None
    with open_index(lasting_place, PARAMETERS) as later:
        (rule,) = later.learned.rules.all()
        assert rule.keys == shared.keys
        assert rule.acts() == ["/a/*"]
        ((key, state),) = list(later.templates())
        assert key == rules_key("a.com")
        assert len(SiteRules.from_bytes(state, rule.seen).hypotheses) == 1
        later.learned.forget_rule("a.com", rule.rule)
        assert not list(later.learned.rules.all())
    with open_index(lasting_place, PARAMETERS) as last:
        assert not list(last.learned.rules.all())


def test_rules_are_stored_at_the_end_at_the_latest(lasting_place: str) -> None:
    with open_index(lasting_place, PARAMETERS) as index:
        learner = Learner(index.learned.rules)
        for i in range(5):
            url = f"http://a.com/a/p{i}"
            learner.learn(url, url)
            learner.learn(f"{url}?sid=1", url)
    with open_index(lasting_place, PARAMETERS) as later:
        (rule,) = later.learned.rules.all()
        assert rule.keys in (2, 3)


def test_what_a_request_carries_is_no_part_of_a_rule(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    """A page that was kept for one request stands for those of requests with the same values."""
    use = {"SIMHASH_TAKES": ITEMS, "SIMHASH_RULES": "use", "SIMHASH_RULES_AUDIT": 0}
    index_with_rule(tmp_path, site.url, ITEMS)
    fill(site, pages=40)
    first = [f"/a/p{i}" for i in range(40)]
    again = [f"{path}?sid=1" for path in first]
    site["/"] = article(prose("start"), [*first, *again])
    asks = {path: {"cb_kwargs": {"item": i}} for i, path in enumerate(first)}
    same = {path: {"cb_kwargs": {"item": i}} for i, path in enumerate(again[:20])}
    other = {path: {"cb_kwargs": {"item": -i}} for i, path in enumerate(again[20:], 20)}
    done = crawl("Asks", **use, ASKS={**asks, **same, **other})
    assert 12 <= rules_stats(done)["parked"] <= 20
    arrived = [path_of(one["url"]) for one in done.items if one.get("item", 0) < 0]
    assert arrived == again[20:]


def test_pages_that_are_asked_for_again_teach_no_rule(site: Site, crawl: CrawlFixture) -> None:
    """They pass, but are copies: they do not show that the two addresses are two pages."""
    fill(site)
    pairs = [(f"/a/p{i}", f"/a/p{i}?sid=1") for i in range(PAGES)]
    links = [one for path, copy in pairs for one in (path, copy, f"{copy}#again")]
    site["/"] = article(prose("start"), links)
    asks = {f"{copy}#again": {"dont_filter": True} for _, copy in pairs}
    done = crawl("Asks", ASKS=asks, SIMHASH_WALLS="drop", CONCURRENT_REQUESTS=1)
    stats = rules_stats(done)
    assert done.stats["simhash/passed_again"] == PAGES
    assert (stats["learned"], stats.get("failures", 0), stats.get("lost", 0)) == (1, 0, 0)
    assert LEARNED_AFTER - 2 <= stats["keys"] <= PAGES - 2


@pytest.mark.parametrize("every", [4, 8])
def test_second_visits_that_teach_nothing_hide_no_failure(
    site: Site, crawl: CrawlFixture, every: int
) -> None:
    """Nothing changes by itself, and some pages say something else with the parameter."""
    names = [f"/p{number}" for number in range(120)]
    site["/"] = article(prose("start"), [*names, *(f"{name}?v=1" for name in names)])
    for number, name in enumerate(names):
        text = prose(f"page {number}", 120)
        states = "In stock", f"{number} left" if number % every == 3 else "In stock"
        for address, state in zip((name, f"{name}?v=1"), states, strict=True):
            site[address] = f"<html><body><main><p>{text}</p><b>{state}</b></main></body></html>"
    settings = {"SIMHASH_TAKES": ITEMS, "SIMHASH_RULES": "use", "CONCURRENT_REQUESTS": 1}
    stats = crawl(**settings).stats
    assert stats["simhash/second_visits_compared"] > 1
    assert stats["simhash/rules/failures"] == 120 // every
    assert not {"simhash/rules/learned", "simhash/rules/parked"} & stats.keys()
