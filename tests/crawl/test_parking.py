"""What a rule says is kept already is parked, and given back when the rule was wrong."""

from __future__ import annotations

import json
import pickle
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from scrapy import Request
from scrapy.exceptions import DontCloseSpider

from scrapy_simhash import RuledOut
from scrapy_simhash.crawl.parked import ParkedBy, ParkedRequest, ParkedRequests, read_parked
from scrapy_simhash.crawl.parking import Parking
from scrapy_simhash.crawl.rules import SimhashRulesMiddleware
from scrapy_simhash.url_rules.evidence import Sample, sample_size
from scrapy_simhash.url_rules.rule import AddressRule
from tests.command_line import simhash, simhash_json
from tests.conftest import (
    CrawlFixture,
    Reply,
    Site,
    article,
    crawl_job,
    path_of,
    prose,
    run_job,
    start_job,
)
from tests.crawl.parked import index_with_rule, rules_in_use, teach
from tests.crawl.test_rules import rules_stats
from tests.forking import Job
from tests.pages import UNIQUE
from tests.proven_rules import prove

PAGES = 150
# So many pairs of addresses make the first rule hold.
FIRST = 45
SID = AddressRule("parameter", "a.example", "sid", "")
USE = {"SIMHASH_RULES": "use"}


@pytest.fixture
def knows_rule(site: Site, tmp_path: Path) -> None:
    """The crawls begin with a rule that holds."""
    index_with_rule(tmp_path, site.url)


def content(name: str) -> str:
    return article(prose(f"topic{name}x"))


def fill(
    site: Site, differs: Callable[[int], bool] = lambda page: False, pages: int = PAGES
) -> set[str]:
    """Pages at two addresses each; at the second one, some differ.  Return one path a content."""
    paths = [f"/a/p{i}{one}" for i in range(pages) for one in ("", "?sid=1")]
    site["/"] = article(prose("start"), paths)
    contents = {"/"}
    for i in range(pages):
        contents.add(f"/a/p{i}")
        site[f"/a/p{i}"] = site[f"/a/p{i}?sid=1"] = content(str(i))
        if differs(i):
            site[f"/a/p{i}?sid=1"] = content(f"other{i}")
            contents.add(f"/a/p{i}?sid=1")
    return contents


def downloads(site: Site) -> int:
    return sum(count for path, count in site.asked.items() if "sid" in path)


def test_files_are_reached_behind_a_parameter_that_pages_do_not_need(
    site: Site, crawl: CrawlFixture
) -> None:
    """Of each page, there is one as HTML, too, and one as a file."""
    pages = [f"/a/p?id={number}" for number in range(PAGES)]
    files = [f"{page}&fmt=pdf" for page in pages]
    site["/"] = article(prose("start"), [*pages, *(f"{page}&fmt=html" for page in pages), *files])
    for number, page in enumerate(pages):
        site[page] = site[f"{page}&fmt=html"] = content(str(number))
        site[files[number]] = Reply(
            f"%PDF-1.4 {number}", headers={"Content-Type": "application/pdf"}
        )
    done = crawl("Parks", **USE)
    assert rules_stats(done)["parked"] > PAGES / 2, "the rule waited, or held"
    assert {file for file in files if not site.asked[file]} == set()


def test_known_pages_are_not_downloaded_and_nothing_is_lost(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    contents = fill(site)
    done = crawl("Parks", **USE, SIMHASH_RULES_AUDIT=40)
    stats = rules_stats(done)
    assert done.seen() == contents
    assert PAGES - 12 <= stats["parked"] <= PAGES - 5
    looked_at = stats["audited"]
    assert looked_at >= max(FIRST - 10, sample_size(stats["parked"], 40))
    assert looked_at < FIRST + 10
    assert downloads(site) == PAGES - stats["parked"] + looked_at
    assert done.stats["errors/RuledOut"] == stats["parked"]
    (file,) = (tmp_path / ".scrapy" / "simhash").glob("*.parked/*.sqlite")
    left = stats["parked"] - looked_at
    index = ".scrapy/simhash/links.simhash"
    for place in (index, str(file), str(file.parent)):
        (row,) = simhash_json(tmp_path, "rules", place, "--parked")["rules"]
        assert row["requests"] == left
        assert row["rule"].startswith("Ignore the parameter sid")
    assert "Ignore the parameter sid" in simhash(tmp_path, "rules", index, "--parked").stdout
    assert (
        simhash_json(tmp_path, "rules", index, "--parked", "--write", "urls.jsonl")["written"]
        == left
    )
    lines = [json.loads(line) for line in (tmp_path / "urls.jsonl").read_text().splitlines()]
    assert len({line["url"] for line in lines}) == left
    assert {line["template"] for line in lines} == {"/a/*"}
    assert simhash(tmp_path, "rules", index, "--parked", "--write", "urls.jsonl").returncode == 2
    assert simhash(tmp_path, "rules", "nowhere", "--parked").returncode == 2


@pytest.mark.usefixtures("knows_rule")
def test_a_rule_that_is_only_suggested_parks_nothing(site: Site, crawl: CrawlFixture) -> None:
    fill(site, pages=20)
    stats = rules_stats(crawl("Parks"))
    assert stats["known"] == 20
    assert "parked" not in stats
    assert downloads(site) == 20


@pytest.mark.usefixtures("knows_rule")
@pytest.mark.parametrize("audit", [5, pytest.param(59, marks=pytest.mark.long)])
def test_all_is_given_back_when_a_parameter_starts_to_matter(
    site: Site, crawl: CrawlFixture, audit: int
) -> None:
    contents = fill(site, lambda page: page >= 20, pages=60)
    done = crawl("Parks", **USE, SIMHASH_RULES_AUDIT=audit)
    stats = rules_stats(done)
    assert done.seen() == contents
    assert stats["released"] + stats.get("audited", 0) == stats["parked"]
    assert stats["failures"] >= 1


def test_a_section_in_which_a_parameter_matters_costs_the_others_nothing_more(
    site: Site, crawl: CrawlFixture
) -> None:
    contents = fill(site)
    differing = [f"/d/p{i}{end}" for i in range(20) for end in ("", "?sid=1")]
    paths = [f"/a/p{i}{end}" for i in range(PAGES) for end in ("", "?sid=1")]
    site["/"] = article(prose("start"), paths[:20] + differing[:20] + paths[20:] + differing[20:])
    for path in differing:
        site[path] = content(path)
    done = crawl("Parks", **USE, SIMHASH_RULES_AUDIT=0, CONCURRENT_REQUESTS=1)
    stats = rules_stats(done)
    assert done.seen() == contents | {*differing}
    assert 16 <= stats["failures"] <= 20
    assert stats["parked"] - stats["audited"] - stats.get("released", 0) >= 20


@pytest.mark.usefixtures("knows_rule")
def test_pages_that_differ_are_found_when_half_are_looked_at(
    site: Site, crawl: CrawlFixture
) -> None:
    contents = fill(site, lambda page: page % 3 == 0, pages=40)  # one crawl in 5,000 finds none
    done = crawl("Parks", **USE, SIMHASH_RULES_AUDIT=1000)
    assert done.seen() == contents


@pytest.mark.usefixtures("knows_rule")
def test_what_a_rule_parked_is_sent_at_its_first_failure(site: Site, crawl: CrawlFixture) -> None:
    """Not only when the spider is idle; what was found last is asked for first."""
    fill(site, lambda page: page < 80, pages=90)  # one in 5,000 crawls explores none of these
    order: list[str] = []

    def noting(path: str, body: str) -> Callable[[int], str]:
        def visited(visit: int) -> str:
            order.append(path)
            return body

        return visited

    pages = {path: str(reply.body) for path, reply in site.pages.items()}
    for path, body in pages.items():
        site[path] = noting(path, body)
    crawl("Parks", **USE, SCHEDULER_MEMORY_QUEUE="scrapy.squeues.LifoMemoryQueue")
    assert {f"/a/p{i}" for i in range(90)} <= set(order[: order.index("/a/p0") + 1])


def test_what_was_parked_for_a_kept_page_is_sent_when_it_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.random", lambda: 1.0)  # nothing is explored
    with rules_in_use(tmp_path, "http://a.com/") as (rules, sent):
        teach(rules._learner, 300)
        again = [Request(f"http://a.com/a/p{i}?sid=2") for i in range(100)]
        parked = []
        for request in again:
            try:
                rules.process_request(request)
            except RuledOut as exc:
                parked.append(exc.url)
        assert len(parked) == 100
        kept = parked[3].partition("?")[0]
        rules.page_taken_back(Request(kept), kept)
        assert [request.url for request in sent] == [parked[3]]
        rules.request_ended(sent[0], UNIQUE)
        assert rules._learner.say(parked[4]).known is not None, "it was not wrong"


def test_what_other_middlewares_add_to_a_request_before_it_is_parked_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.random", lambda: 1.0)  # nothing is explored
    with rules_in_use(tmp_path, "http://a.com/") as (rules, sent):
        teach(rules._learner, 60)
        request = Request("http://a.com/a/p1?sid=2")
        as_made = rules._facts.read(request)
        request.headers["Authorization"] = "Basic of a middleware"
        request.meta["token"] = "of a middleware"
        with pytest.raises(RuledOut):
            rules.process_request(request)
        rules.page_taken_back(Request("http://a.com/a/p1"), "http://a.com/a/p1")
        (again,) = sent
        assert rules._facts.read(again) == as_made
        rules.request_ended(again, UNIQUE)
        assert rules._facts.read(again) != as_made, "what a callback copies from it is its own"


@pytest.mark.usefixtures("knows_rule")
def test_robots_txt_is_asked_before_a_request_is_parked(site: Site, crawl: CrawlFixture) -> None:
    contents = fill(site, pages=40)
    site["/robots.txt"] = Reply("User-agent: *\nDisallow: /a/p1*?sid", content_type="text/plain")
    forbidden = {path for path in site.pages if path.startswith("/a/p1") and "sid" in path}
    done = crawl("Parks", **USE, SIMHASH_RULES_AUDIT=40, ROBOTSTXT_OBEY=True)
    stats = rules_stats(done)
    assert done.seen() == contents
    assert not forbidden & {*site.asked}
    assert len(forbidden) == 11
    # Each request is counted once: as forbidden, parked or sent.
    assert done.stats["robotstxt/forbidden"] == 11
    assert done.stats["robotstxt/request_count"] == 1
    assert done.stats["errors/RuledOut"] == stats["parked"]
    sids = 40 - len(forbidden) - stats["parked"]
    assert downloads(site) == sids + stats["audited"]


@pytest.mark.usefixtures("knows_rule")
@pytest.mark.parametrize("walls", ["pass", pytest.param("drop", marks=pytest.mark.long)])
def test_what_was_parked_for_a_wall_is_sent(site: Site, crawl: CrawlFixture, walls: str) -> None:
    """It is kept at one address, of which the rule knows an alias; some crawls explore that."""
    contents = fill(site, pages=20)
    names = [f"/a/q{i}" for i in range(20)]
    aliases = [f"/a/p{i}{one}" for i in range(20) for one in ("", "?sid=1")]
    site["/"] = article(prose("start"), [*aliases, names[0], f"{names[0]}?sid=1", *names])
    for name in names:
        site[name] = article(prose("please log in"))
    site[f"{names[0]}?sid=1"] = content("behind")
    done = crawl("Parks", **USE, SIMHASH_WALLS=walls, SIMHASH_RULES_AUDIT=0)
    assert contents | {f"{names[0]}?sid=1"} <= done.seen()


@pytest.mark.usefixtures("knows_rule")
def test_exempt_requests_are_sent(site: Site, crawl: CrawlFixture) -> None:
    fill(site, pages=40)
    ways = ["dont_filter", "post", "body", "retry", "unjudged", "function"]
    links = [f"/a/p{i}{one}" for i in range(40) for one in ("", "?sid=1")]
    special = [f"/a/p{i}?sid={k}how={way}" for k, way in enumerate(ways) for i in range(30, 40)]
    plain = [f"/a/p{i}?sid=how=plain" for i in range(10, 40)]
    site["/"] = article(prose("start"), [*links, *special, *plain])
    for path in (*special, *plain):
        site[path] = content(path.partition("?")[0][4:])
    done = crawl("Parks", **USE, SIMHASH_RULES_AUDIT=0)
    assert not {path: site.asked[path] for path in special if site.asked[path] != 1}, done.log
    assert sum(site.asked[path] for path in plain) < 20


@pytest.mark.usefixtures("knows_rule")
def test_no_parked_request_is_lost_when_the_crawl_is_killed(site: Site, tmp_path: Path) -> None:
    """What it had parked is in the file, and is looked at when the crawl goes on.

    By then the pages differ, which the keys cannot tell any more.
    """
    fill(site, pages=90)
    settings: dict[str, Any] = {
        **USE,
        "JOBDIR": str(tmp_path / "job"),
        "SIMHASH_RULES_AUDIT": 1000,
    }
    running: list[Job] = []
    killed: list[int] = []

    def kill(visit: int) -> str:
        if not killed:
            killed.append(visit)
            running[0].send_signal(signal.SIGKILL)
        return content("10")

    site["/a/p10"] = site["/a/p10?sid=1"] = kill  # the last link is taken first
    job = crawl_job(site, tmp_path, "Parks", **settings)
    with start_job(job, tmp_path) as process:
        running.append(process)
        process.wait()
    assert process.returncode == -signal.SIGKILL
    with sqlite3.connect(tmp_path / "job" / "simhash-parked.sqlite") as connection:
        parked = {path_of(url) for (url,) in connection.execute("SELECT url FROM parked")}
    connection.close()
    assert len(parked) > 50
    for path in parked:
        site[path] = content(f"other{path[4:].partition('?')[0]}")
    done = run_job(crawl_job(site, tmp_path, "Parks", **settings), tmp_path)
    assert parked <= done.seen()
    assert rules_stats(done)["recovered"] >= 1
    assert not (tmp_path / "job" / "simhash-parked.sqlite").exists(), "nothing is left in it"


def released(store: ParkedRequests, *where: Any, **values: Any) -> list[ParkedRequest]:
    store.release(*where, **values)
    return store.take_owed(10)


def test_what_two_rules_have_parked_together_is_that_of_both(tmp_path: Path) -> None:
    other = AddressRule("suffix", "a.example", ".print", "")
    store = ParkedRequests(tmp_path / "parked.sqlite")
    store.park(
        "http://a.example/a/p.print?sid=1",
        b"request",
        ParkedBy(SID, "/a/*", 1, others=[(other, "/a/*")]),
    )
    store.park("http://a.example/a/p?sid=1", b"request", ParkedBy(SID, "/a/*", 2))
    assert store.keys() == {SID: {"/a/*": 2}}
    (together,) = released(store, other)
    assert together.url == "http://a.example/a/p.print?sid=1"
    assert len(released(store, SID)) == 1
    store.answered(together.id)
    store.park("http://a.example/a/p?sid=2", b"request", ParkedBy(SID, "/a/*", 3))
    assert released(store, other) == []
    store.close()


def test_the_rules_of_a_site_are_audited_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.random", lambda: 1.0)  # nothing is explored
    ends = {"a.example": ("?sid=1", ".print"), "other.example": ("?sid=1",)}
    with rules_in_use(tmp_path, "http://a.example", SIMHASH_RULES_AUDIT=40) as (rules, sent):
        for host, aliases in ends.items():
            site = rules._index.learned.rules.site(host)
            for rule in (SID, AddressRule("suffix", "a.example", ".print", "")):
                prove(site, replace(rule, host=host), "/a/*")
            for i in range(100):
                url = f"http://{host}/a/p{i}"
                rules._learner.learn(url, url)
                for end in aliases:
                    with suppress(RuledOut):  # two addresses in 256 seem to be one
                        rules.process_request(Request(url + end))
        store = rules._parking._store
        parked = {rule: sum(keys.values()) for rule, keys in store.keys().items()}
        assert len(parked) == 3
        with pytest.raises(DontCloseSpider):
            rules._parking.spider_idle()
    looked_at = Counter(urlsplit(request.url).netloc for request in sent)
    for host, aliases in ends.items():
        of_site = sum(n for rule, n in parked.items() if rule.host == host)
        assert of_site > 95 * len(aliases)
        assert 0 <= looked_at[host] - sample_size(of_site, 40) < len(aliases)


def parking_by_proven(rules: SimhashRulesMiddleware) -> Parking:
    """What parks requests by rules, one of which is proven."""
    prove(rules._index.learned.rules.site("a.example"), SID, "/a/*")
    return rules._parking


def test_nothing_is_sent_of_keys_that_all_had_their_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an earlier run of a job may have left them."""
    monkeypatch.setattr("random.random", lambda: 1.0)  # nothing is explored
    with rules_in_use(tmp_path, "http://a.example", SIMHASH_RULES_AUDIT=40) as (rules, sent):
        parking = parking_by_proven(rules)
        store = parking._store
        store.park("http://a.example/a/p?sid=1", b"request", ParkedBy(SID, "/a/*", 1, looked=True))
        assert store.keys() == {SID: {"/a/*": 0}}
        parking.spider_idle()
        assert store.keys() == {SID: {"/a/*": 0}}
    assert not sent


def test_what_is_not_audited_by_chance_takes_no_looks_from_a_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("random.random", lambda: 1.0)  # nothing is explored
    trap = AddressRule("trap", "a.example", "a.example/day/N", "")
    refuted = AddressRule("suffix", "a.example", ".print", "")
    with rules_in_use(tmp_path, "http://a.example", SIMHASH_RULES_AUDIT=40) as (rules, sent):
        parking = parking_by_proven(rules)
        store = parking._store
        for i in range(100):
            for rule, url in (
                (SID, f"http://a.example/a/p{i}?sid=1"),
                (trap, f"http://a.example/day/{i}"),
                (refuted, f"http://a.example/a/p{i}.print"),
            ):
                request = pickle.dumps(Request(url).to_dict(), protocol=4)
                store.park(url, request, ParkedBy(rule, "/a/*", i))
        with pytest.raises(DontCloseSpider):
            parking.spider_idle()
        assert len(sent) == sum("print" in request.url for request in sent) == 100
        for refuted_request in [*sent]:
            rules.request_ended(refuted_request, None)
        with pytest.raises(DontCloseSpider):
            parking.spider_idle()
    assert sum("sid" in request.url for request in sent) == sample_size(100, 40)


def test_requests_are_taken_of_one_template(tmp_path: Path) -> None:
    other = AddressRule("suffix", "a.example", ".print", "")
    store = ParkedRequests(tmp_path / "parked.sqlite")
    store.park("http://a.example/a/p?sid=1", b"request", ParkedBy(SID, "/a/*", 1))
    store.park("http://a.example/b/p?sid=1", b"request", ParkedBy(SID, "/b/*", 2))
    store.park(
        "http://a.example/a/p.print?sid=1",
        b"request",
        ParkedBy(other, "/a/*", 3, others=[(SID, "/a/*")]),
    )
    taken = released(store, SID, "/b/*")
    assert [path_of(row.url) for row in taken] == ["/b/p?sid=1", "/a/p.print?sid=1"]
    assert [path_of(row.url) for row in released(store, SID, "/a/*")] == ["/a/p?sid=1"]
    store.close()


def test_a_sample_has_some_requests_of_each_template_that_is_not_tried(tmp_path: Path) -> None:
    store = ParkedRequests(tmp_path / "parked.sqlite")
    for folder, requests in (("a", 20), ("b", 10), ("c", 1)):
        for i in range(requests):
            key = ord(folder) * 100 + i
            store.park(
                f"http://a.example/{folder}/p{i}", b"request", ParkedBy(SID, f"/{folder}/*", key)
            )

    def sample(limit: int, each: int) -> Counter[str]:
        wanted = Sample(["/a/*", "/b/*", "/c/*"], limit, each)
        rows = store.sample(SID, wanted, ["/", "/a/*"])
        with store._connection:
            store._connection.execute("UPDATE parked SET state = 0, looked = 0")
        return Counter(row.pattern for row in rows)

    assert sample(0, 3) == {"/b/*": 3, "/c/*": 1}
    assert sample(0, 0) == {}
    assert sample(10, 3).total() == 10
    assert sample(10, 3)["/b/*"] >= 3
    assert {sample(31, 3).total() for _ in range(3)} == {31}
    assert len({frozenset(sample(4, 0).items()) for _ in range(50)}) > 1
    store.close()


def test_a_sample_has_the_requests_with_values_that_are_rare(tmp_path: Path) -> None:
    """Of each page, one address of four is taken: a value that few pages have is among them."""

    def sampled(*others: str, keys: int = 10, limit: int = 40) -> Counter[str]:
        """So many of 40 pages have the last of the other values."""
        store = ParkedRequests(tmp_path / "parked.sqlite")
        for key in range(40):
            for value in ("a", *others) if key < keys else ("a", *others[:-1]):
                why = ParkedBy(SID, "/a/*", key, left_out=value.replace("N", str(key)))
                store.park(f"http://a.example/a/p{key}?sid={value}", b"request", why)
        rows = store.sample(SID, Sample(["/a/*"], limit, 0), [])
        store.close()
        (tmp_path / "parked.sqlite").unlink()
        return Counter(row.url.partition("=")[2] for row in rows)

    values = sampled("b", "c", "z")
    assert (values["z"], values.total(), len(values)) == (10, 40, 4)
    assert sampled("N1", "N2", "N3")["a"], "all others are rare"
    assert sampled("b", "c", "z", keys=3, limit=3) == {"z": 3}, "where they are few, they are first"


def test_all_keys_come_into_a_sample_alike_however_many_requests_they_have(tmp_path: Path) -> None:
    store = ParkedRequests(tmp_path / "parked.sqlite")
    for key in range(300):
        for number in range(1 + 9 * (key >= 150)):
            why = ParkedBy(SID, "/a/*", key, left_out=f"{number}")
            store.park(f"http://a.example/a/p{key}?sid={number}", b"request", why)
    rows = store.sample(SID, Sample(["/a/*"], 100, 0), [])
    store.close()
    few = sum(int(row.url.partition("/p")[2].partition("?")[0]) < 150 for row in rows)
    assert 25 < few < 75, "50 on average"


def test_the_file_of_parked_requests_keeps_what_is_not_answered(tmp_path: Path) -> None:
    path = tmp_path / "parked.sqlite"
    store = ParkedRequests(path)
    for i in range(5):
        store.park(f"http://a.example/a/p{i}", b"request", ParkedBy(SID, "/a/*", i))
    assert store.keys() == {SID: {"/a/*": 5}}
    (first,) = released(store, SID, key=0)
    assert released(store, AddressRule("trap", "a.example", "a.example/a/*", ""), key=1) == []
    (second,) = released(store, SID, key=1)
    assert (first.url, second.url) == ("http://a.example/a/p0", "http://a.example/a/p1")
    store.park("http://a.example/a/p4?sid=2", b"request", ParkedBy(SID, "/a/*", 4))
    assert len(store.sample(SID, Sample(["/a/*"], 2, 0), [])) == 2
    store.answered(first.id)
    assert store.keys()[SID]["/a/*"] <= 1, "a key that was looked at counts no more"
    store.close()
    later = ParkedRequests(path)
    assert len(later.take_owed(10)) == 3
    assert later.take_owed(10) == []
    for row in read_parked(path):
        later.answered(row.id)
    later.close()
    assert not path.exists()


def test_a_file_of_parked_requests_that_is_only_read_is_left_alone(tmp_path: Path) -> None:
    """Also one that a crawl writes: what it has parked is read."""
    path = tmp_path / "parked.sqlite"
    for n in range(2):
        store = ParkedRequests(path)
        store.park(f"http://a.example/a/p{n}", b"request", ParkedBy(SID, "/a/*", n))
        for is_open in (True, False):
            before = {*tmp_path.iterdir()}
            assert len([*read_parked(path)]) == n + 1
            assert {*tmp_path.iterdir()} == before
            if is_open:
                store.close()


@pytest.mark.usefixtures("knows_rule")
@pytest.mark.parametrize(
    "settings",
    [{"SIMHASH_ACTION": "flag"}, {"SIMHASH_POLICY": "tests.spiders.ReviewsPass"}],
)
def test_what_might_reach_the_spider_is_not_parked(
    site: Site, crawl: CrawlFixture, settings: dict[str, Any]
) -> None:
    fill(site, pages=20)
    stats = rules_stats(crawl("Parks", **USE, **settings))
    assert stats["known"] == 20
    assert "parked" not in stats


def test_a_file_that_cannot_be_used_stops_the_start(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    fill(site, pages=1)
    file = tmp_path / "job" / "simhash-parked.sqlite"
    file.parent.mkdir()
    file.write_bytes(b"something else " * 100)
    done = crawl("Parks", **USE, JOBDIR=str(file.parent))
    assert "SIMHASH_RULES 'use' keeps parked requests in" in done.log
    assert not site.asked
    assert file.read_bytes() == b"something else " * 100


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "parked.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE a (b)")
    connection.close()
    with pytest.raises(sqlite3.DatabaseError, match="no file of parked requests"):
        ParkedRequests(path)
