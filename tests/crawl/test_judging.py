"""Real crawls of a real server: what a page meets on its way through."""

from __future__ import annotations

import gzip
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_simhash.settings import TEXT
from scrapy_simhash.testing import CrawlFunction
from tests import spiders
from tests.conftest import CrawlFixture, Reply, Site, article, path_of, prose


@pytest.fixture
def twins(site: Site) -> Site:
    """/a and /b have the same text but for a word; /other another; /b links to /behind.

    The start page has this link, too, which the spider does not follow there: /b leads nowhere new.
    """
    start = article(prose("start"), ["/a", "/b", "/other"])
    site["/"] = start.replace("<ul>", '<ul><li data-ignored><a href="/behind">/behind</a></li>')
    site["/a"] = article(prose("lamp", 2000))
    site["/b"] = article(prose("lamp", 2000) + " afterword", ["/behind"])
    site["/other"] = article(prose("bread"))
    site["/behind"] = article(prose("behind"))
    return site


def test_one_line_of_settings_drops_near_duplicates(twins: Site, crawl: CrawlFixture) -> None:
    result = crawl()
    assert result.returncode == 0
    assert result.seen() == {"/", "/a", "/other"}
    assert result.verdicts() == {
        "/": "unique",
        "/a": "unique",
        "/b": "near_duplicate",
        "/other": "unique",
    }
    [dropped] = [d for d in result.decisions if d["action"] == "drop"]
    assert dropped["representative"] == f"{twins.url}/a"
    assert dropped["distance"] <= 7
    assert dropped["reason"] == "share_in_common"
    assert dropped["share"] >= 0.9
    assert len(dropped["fingerprint"]) == 16
    assert dropped["tokens"] == 2001
    assert f"Dropped: {twins.url}/b is a near-duplicate of {twins.url}/a (distance " in result.log


def test_the_class_of_a_spider_may_have_no_name(twins: Site, crawl: CrawlFixture) -> None:
    result = crawl("Nameless")
    assert result.returncode == 0
    assert result.seen() == {"/", "/a", "/other"}


def test_canonical_address_chooses_among_kept_pages(site: Site, crawl: CrawlFixture) -> None:
    words = prose("lamp", 1500).split()
    one, between, other = (article(" ".join(words[i : i + 1200])) for i in (0, 50, 100))
    canonical = '<head><link rel="canonical" href="a">'
    site["/"] = article(prose("start"), ["/a", "/b", "/x", "/y", "/z"])
    site["/a"], site["/b"], site["/x"] = one, other, between
    site["/y"] = between.replace("<head>", canonical)
    site["/z"] = article(prose("bread")).replace("<head>", canonical)
    result = crawl()
    assert result.verdicts() == {
        "/": "unique",
        "/a": "unique",
        "/b": "unique",
        "/z": "unique",
        "/x": "near_duplicate",
        "/y": "near_duplicate",
    }
    named = {path_of(d["url"]): d["representative"] for d in result.decisions}
    assert (named["/x"], named["/y"]) == (f"{site.url}/b", f"{site.url}/a")


def test_account_is_in_stats_and_log(twins: Site, crawl: CrawlFixture) -> None:
    twins["/b"] = body = article(prose("lamp", 2000))
    result = crawl()
    assert result.simhash_stats() == {
        "judged": 4,
        "kept": 3,
        "exact_duplicate": 1,
        "analyses_avoided": 1,
        "distance/0": 1,
        "dropped": 1,
    }
    assert result.stats["simhash/dropped_bytes"] == len(body)
    assert result.stats["simhash/analysis_seconds"] > 0
    assert result.stats["simhash/index_seconds"] > 0
    assert "4 pages judged, 3 kept, 1 duplicate (25.0%; 1 exact)\n" in result.log
    assert f"\n  1 dropped, of {len(body):,} bytes\n" in result.log


def test_next_crawl_continues_from_the_index(
    twins: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    crawl()
    twins["/other"] = article(prose("bread"), ["/new"])
    twins["/new"] = article(prose("lamp", 2000))
    result = crawl()
    assert [(path_of(d["url"]), d["verdict"]) for d in result.decisions[4:]] == [
        ("/", "refresh"),
        ("/a", "refresh"),
        ("/b", "near_duplicate"),
        ("/other", "refresh"),
        ("/new", "exact_duplicate"),
    ]
    place = tmp_path / ".scrapy" / "simhash" / "links"
    assert f"Near-duplicates: drop; kept before: 3 pages in {place}" in result.log


def test_flag_keeps_items_and_cuts_links(twins: Site, crawl: CrawlFixture) -> None:
    result = crawl(SIMHASH_ACTION="flag")
    assert result.seen() == {"/", "/a", "/b", "/other"}
    flagged = next(item for item in result.items if item["url"].endswith("/b"))
    assert flagged["flags"] == ["near-duplicate"]
    assert flagged["verdict"] == "near_duplicate"
    assert flagged["representative"] == f"{twins.url}/a"
    assert [item["flags"] for item in result.items if item is not flagged] == [[], [], []]
    assert result.stats["simhash/links_not_followed"] == 1
    assert result.stats["simhash/flagged"] == 1


def test_observe_changes_nothing_but_the_account(twins: Site, crawl: CrawlFixture) -> None:
    result = crawl(SIMHASH_ACTION="observe")
    assert result.seen() == {"/", "/a", "/b", "/other", "/behind"}
    assert result.verdicts()["/b"] == "near_duplicate"
    assert all(not item["flags"] for item in result.items)


def test_observe_says_what_a_drop_would_save(twins: Site, crawl: CrawlFixture) -> None:
    observed = crawl(SIMHASH_ACTION="observe", SIMHASH_REPORT_FILE="%(name)s.html")
    said = "would drop 1 of 5 pages, and not follow their links; "
    assert f"\n  {said}see links.html; then remove SIMHASH_ACTION\n" in observed.log
    assert "dropped" not in observed.log
    dropping = crawl()
    assert observed.stats["downloader/request_count"] == 5
    assert dropping.stats["downloader/request_count"] == 4


def test_observe_keeps_its_pages_to_itself(
    twins: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    first = crawl(SIMHASH_ACTION="observe").simhash_stats()
    held = {}
    for index in (tmp_path / ".scrapy" / "simhash").glob("*.simhash"):
        with closing(sqlite3.connect(index)) as connection:
            held[index.name] = [
                connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > 0
                for table in ("pages", "templates")
            ]
    assert held == {"links.observed.simhash": [True, False], "links.simhash": [False, True]}
    stats = crawl().simhash_stats()
    assert stats == crawl(SIMHASH_INDEX="other.simhash").simhash_stats()
    assert "passed_again" not in stats
    assert crawl(SIMHASH_ACTION="observe").simhash_stats() == first


def test_errback_gets_a_near_duplicate(twins: Site, crawl: CrawlFixture) -> None:
    result = crawl("Errback")
    [error] = [item for item in result.items if "error" in item]
    assert error["url"] == f"{twins.url}/b"
    assert error["representative"] == f"{twins.url}/a"
    assert "is a near-duplicate of" in error["error"]


@pytest.mark.usefixtures("forked_crawls")
@pytest.mark.parametrize("reactor", [True, False])
def test_crawl_with_and_without_a_reactor(
    twins: Site, simhash_crawl: CrawlFunction, reactor: bool
) -> None:
    arguments = {"url": f"{twins.url}/"}
    settings = {
        "TWISTED_REACTOR_ENABLED": reactor,
        "SIMHASH_WORKERS": 1,
        "SIMHASH_TAKES": TEXT,
    }
    result = simhash_crawl(spiders.Links, twins.url, arguments=arguments, **settings)
    assert result.kept == {"/", "/a", "/other"}
    assert result.dropped == {"/b": "/a"}


def test_request_meta_overrides_the_action(site: Site, crawl: CrawlFixture) -> None:
    wishes = ["first/none", "a/false", "b/drop", "c/flag", "d/observe", "e/dorp"]
    site["/"] = article(prose("start"), [f"/{wish}" for wish in wishes])
    for wish in wishes:
        site[f"/{wish}"] = article(prose("same"))
    result = crawl("Wishes", SIMHASH_ACTION="drop")
    assert [(d["verdict"], d["reason"], d["action"]) for d in result.decisions] == [
        ("unique", "new_text", "pass"),
        ("unique", "new_text", "pass"),
        ("skipped", "opt_out", "pass"),
        ("exact_duplicate", "same_text", "drop"),
        ("exact_duplicate", "same_text", "flag"),
        ("exact_duplicate", "same_text", "pass"),
        ("skipped", "bad_meta", "pass"),
    ]
    assert len(result.items) == 6


def test_only_html_pages_that_succeeded_are_judged(site: Site, crawl: CrawlFixture) -> None:
    page = article(prose("same"))
    site["/"] = article(prose("start"), ["/page", "/json", "/pdf", "/png", "/lost", "/gone", "/to"])
    site["/page"] = page
    site["/json"] = Reply('{"a": 1}', content_type="application/json")
    site["/pdf"] = Reply(b"%PDF-1.7\n\x00\x01\x02\x03", content_type="text/html")
    site["/png"] = Reply(b"\x89PNG\r\n\x1a\n\x00", content_type="image/png")
    site["/lost"] = Reply(page, status=404)
    site["/to"] = Reply(page, status=302, headers={"Location": "/moved"})
    site["/moved"] = page
    result = crawl("Links", HTTPERROR_ALLOW_ALL=True, METAREFRESH_ENABLED=False)
    reasons = {item["url"].rpartition("/")[2]: item for item in result.decisions}
    assert {name: d["reason"] for name, d in reasons.items()} == {
        "": "new_text",
        "page": "new_text",
        "json": "not_html",
        "pdf": "not_html",
        "png": "not_html",
        "lost": "status",
        "gone": "status",
        "moved": "same_text",
    }
    assert result.seen() == {"/", "/page", "/json", "/pdf", "/png", "/lost", "/gone"} - {"/moved"}
    assert result.simhash_stats()["skipped/not_html"] == 3


def test_robots_txt_and_requests_without_a_callback_pass(site: Site, crawl: CrawlFixture) -> None:
    page = article(prose("same"))
    site["/robots.txt"] = Reply(page)
    site["/"] = article(prose("start"), ["/again"])
    site["/again"] = article(prose("again"))
    site["/same"] = page
    result = crawl("Fetches", ROBOTSTXT_OBEY=True)
    assert result.stats["item_scraped_count"] == 2
    assert set(result.verdicts()) == {"/", "/again"}


def test_start_requests_are_judged_but_never_dropped(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("same"), ["/copy"])
    site["/copy"] = article(prose("same"), ["/"])
    settings = {"SIMHASH_INDEX": "shared.simhash", "SIMHASH_SKIP_UNCHANGED": "moved"}
    first = crawl(**settings)
    assert first.verdicts() == {"/": "unique", "/copy": "exact_duplicate"}
    second = crawl(start="/copy", **settings)
    assert [(path_of(d["url"]), d["verdict"], d["action"]) for d in second.decisions[2:]] == [
        ("/copy", "exact_duplicate", "pass"),
        ("/", "refresh", "drop"),  # no start request here, and unchanged
    ]
    assert second.stats["simhash/start_requests_protected"] == 1
    third = crawl("StartsAnyPage", start="/copy", **settings)
    assert third.decisions[-1]["action"] == "drop"


def test_links_of_a_flagged_start_request_are_followed(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("same"), ["/copy"])
    site["/copy"] = article(prose("same"), ["/next"])
    site["/next"] = article(prose("next"))
    settings = {"SIMHASH_INDEX": "shared.simhash", "SIMHASH_SKIP_UNCHANGED": "moved"}
    crawl(**settings)
    second = crawl(start="/copy", SIMHASH_ACTION="flag", **settings)
    assert second.seen() == {"/", "/copy", "/next"}


def test_verdict_and_start_mark_do_not_leak_into_child_requests(
    site: Site, crawl: CrawlFixture
) -> None:
    site["/"] = article(prose("same"), ["/copy", "/other"])
    site["/copy"] = article(prose("same"))
    site["/other"] = article(prose("other"))
    result = crawl("CountsCopies")
    assert result.stats["copied/True"] == 2
    assert result.stats["leaked/False"] == 3
    assert "leaked/True" not in result.stats
    assert result.seen() == {"/", "/other"}


def test_signal_is_sent_for_each_decision(twins: Site, crawl: CrawlFixture) -> None:
    result = crawl("Listens")
    assert result.stats["heard/unique"] == 3
    assert result.stats["heard/near_duplicate"] == 1


def test_short_pages_are_compared_exactly_and_empty_ones_not(
    site: Site, crawl: CrawlFixture
) -> None:
    site["/"] = article(prose("start"), ["/s1", "/s2", "/s3", "/e1", "/e2", "/e3"])
    site["/s1"] = site["/s2"] = article("Sorry, we are closed today.")
    site["/s3"] = article("Sorry, we are closed tomorrow.")
    site["/e1"] = site["/e2"] = ""
    site["/e3"] = "<html><body></body></html>"
    result = crawl()
    assert result.verdicts() == {
        "/": "unique",
        "/s1": "unique",
        "/s2": "exact_duplicate",
        "/s3": "unique",
        "/e1": "skipped",
        "/e2": "skipped",
        "/e3": "skipped",
    }
    assert result.simhash_stats()["skipped/no_text"] == 3


def test_pages_over_the_limit_pass(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"), ["/a", "/b"])
    site["/a"] = site["/b"] = article(prose("same")) + " " * (5 << 20)
    result = crawl()
    assert result.seen() == {"/", "/a", "/b"}
    assert result.simhash_stats()["skipped/too_large"] == 2


@pytest.mark.parametrize("encoding", ["utf-8", "shift_jis", "utf-16", "euc-jp"])
def test_pages_are_read_in_their_encoding(site: Site, crawl: CrawlFixture, encoding: str) -> None:
    text = "".join(f"灯台守は{i}段の階段を毎晩のぼり、ランプに火をともした。" for i in range(40))
    site["/"] = article(prose("start"), ["/encoded", "/utf8"])
    body = article(text).encode(encoding)
    site["/encoded"] = Reply(body, content_type=f"text/html; charset={encoding}")
    site["/utf8"] = article(text)
    result = crawl()
    assert result.verdicts()["/utf8"] == "exact_duplicate"
    assert result.decisions[1]["tokens"] > 500


def test_compressed_pages_are_judged_unpacked(site: Site, crawl: CrawlFixture) -> None:
    page = article(prose("same"))
    site["/"] = article(prose("start"), ["/plain", "/packed"])
    site["/plain"] = page
    site["/packed"] = Reply(gzip.compress(page.encode()), headers={"Content-Encoding": "gzip"})
    result = crawl()
    assert result.verdicts()["/packed"] == "exact_duplicate"


def test_mistake_of_the_plug_in_costs_no_page(twins: Site, crawl: CrawlFixture) -> None:
    result = crawl("Breaks")
    assert result.returncode == 0
    assert result.seen() == {"/", "/a", "/b", "/other", "/behind"}
    assert result.simhash_stats() == {"skipped": 5, "skipped/internal_error": 5}
    assert result.log.count("Page passed unjudged (internal_error)") == 1


def test_pages_that_share_only_their_main_text_are_kept(site: Site, crawl: CrawlFixture) -> None:
    """An extractor that keeps no more than a note that pages share must not make them one."""
    note = f"<article><p>{prose('note')}</p></article>"
    site["/"] = article(prose("start"), ["/days", "/months"])
    for path in ("/days", "/months"):
        rows = "".join(f"<tr><td>{path}{i}</td><td>{i * 7}</td></tr>" for i in range(60))
        site[path] = f"<html><body><table>{rows}</table>{note}</body></html>"
    plain = crawl(SIMHASH_EXTRACTOR="tests.extractors.note_text", SIMHASH_SHARE=0)
    assert plain.verdicts()["/months"] == "exact_duplicate"
    verified = crawl(SIMHASH_EXTRACTOR="tests.extractors.note_text", SIMHASH_INDEX="memory:")
    assert [d["verdict"] for d in verified.decisions[3:]] == ["unique"] * 3


def test_scope_keeps_hosts_apart(site: Site, crawl: CrawlFixture) -> None:
    other_host = site.url.replace("127.0.0.1", "localhost")
    site["/"] = article(prose("start"), ["/a", f"{other_host}/a", f"{other_host}/b"])
    site["/a"] = site["/b"] = article(prose("same"))
    result = crawl(SIMHASH_SCOPE="host")
    assert [d["verdict"] for d in result.decisions] == ["unique"] * 3 + ["exact_duplicate"]
    assert result.decisions[-1]["representative"] == f"{other_host}/a"


def test_the_collector_of_garbage_is_spared_what_is_there_at_the_start(
    twins: Site, crawl: CrawlFixture
) -> None:
    assert crawl("Frozen", SIMHASH_ENABLED=False).items == [{"frozen": 0}]
    assert crawl("Frozen").items[-1]["frozen"] > 20_000


def test_it_is_spared_the_list_of_domains_that_the_first_page_needs() -> None:
    code = """if True:
        import gc
        from scrapy_simhash.crawl.setup import spare_the_collector
        from scrapy_simhash.urls import owner_of
        spare_the_collector()
        owner_of("http://one.example/")
        print(len(gc.get_objects()))
    """
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    assert int(done.stdout) < 5_000


def test_switched_off_it_is_not_there(twins: Site, crawl: CrawlFixture) -> None:
    result = crawl(SIMHASH_ENABLED=False)
    assert result.seen() == {"/", "/a", "/b", "/other", "/behind"}
    assert not result.simhash_stats()
    assert not result.decisions


def test_components_can_be_enabled_by_hand(twins: Site, crawl: CrawlFixture) -> None:
    result = crawl(
        ADDONS={},
        DOWNLOADER_MIDDLEWARES={"scrapy_simhash.crawl.judging.SimhashDownloaderMiddleware": 540},
        SPIDER_MIDDLEWARES={"scrapy_simhash.crawl.links.SimhashLinksMiddleware": 20},
        EXTENSIONS={"scrapy_simhash.crawl.account.SimhashAccount": 500},
    )
    assert result.simhash_stats()["dropped"] == 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"SIMHASH_DISTANCE": 8}, "SIMHASH_DISTANCE must be a whole number from 0 to 7: got 8"),
        ({"SIMHASH_FEATURES": "wrods-3"}, "(SIMHASH_FEATURES) must be words-N"),
        ({"SIMHASH_EXTRACTOR": "no.such.module"}, "got 'no.such.module'"),
        ({"SIMHASH_DISTNACE": 3}, "did you mean SIMHASH_DISTANCE"),
        ({"SIMHASH_DECISIONS_FILE": "/proc/none/x"}, "SIMHASH_DECISIONS_FILE must be a path"),
        ({"SIMHASH_INDEX": "job.json"}, "job.json is not an index"),
        (
            {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
            "TWISTED_REACTOR must be the asyncio reactor",
        ),
    ],
)
def test_wrong_settings_stop_the_crawl_at_start(
    twins: Site, crawl: CrawlFixture, settings: dict[str, object], words: str
) -> None:
    result = crawl("Links", **settings)
    assert words in result.log
    assert result.returncode == 1
    assert not twins.asked


def test_shell_shows_every_page_and_remembers_none(twins: Site, tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "scrapy", "shell", f"{twins.url}/a"),
            *("-s", 'ADDONS={"scrapy_simhash.Addon": 500}'),
            *("-c", f"fetch('{twins.url}/b') or (response.status, response.url, response.meta)"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert f"(200, '{twins.url}/b'" in done.stdout
    assert "Traceback" not in done.stderr
    assert "No crawl is going on, so no page is judged" in done.stderr
    assert not list(tmp_path.iterdir())
