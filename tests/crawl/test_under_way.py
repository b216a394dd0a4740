"""A request that is a twin of one under way waits for its verdict, and is never lost by it."""

from __future__ import annotations

import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from scrapy import Request
from scrapy import signals as scrapy_signals
from scrapy.exceptions import DontCloseSpider

from scrapy_simhash import RuledOut
from scrapy_simhash.crawl import parking
from scrapy_simhash.crawl.rules import SimhashRulesMiddleware
from scrapy_simhash.decision.page import Decision
from scrapy_simhash.url_rules.rule import AddressRule
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
from tests.crawl.parked import index_with_rule, parked_in, rules_in_use, teach
from tests.crawl.test_rules import rules_stats
from tests.forking import Job
from tests.pages import UNIQUE
from tests.proven_rules import prove

HOST = "http://a.com"
FILE = "parked.sqlite"
AT_ONCE = {"CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}


class Requests:
    """A crawl with a proven rule for ``/a/*?sid``, as its requests see it."""

    def __init__(self, rules: SimhashRulesMiddleware, sent: list[Request]) -> None:
        self.rules = rules
        self.sent = sent

    def ask(self, path: str, **values: Any) -> bool:
        """Ask for a page; return whether it is sent."""
        try:
            self.rules.process_request(Request(HOST + path, **values))
        except RuledOut:
            return False
        return True

    def judge(self, path: str, kept: str | None = None) -> None:
        """Have a page judged: a kept one, or a copy of another one."""
        self.rules._learner.learn(HOST + path, HOST + (kept or path))
        decision = UNIQUE if kept is None else Decision("exact_duplicate", "same_text", HOST + kept)
        self.rules.request_ended(Request(HOST + path), decision)

    def fail(self, path: str, **values: Any) -> None:
        """Have a request end without a verdict."""
        self.rules.request_ended(Request(HOST + path, **values), None)

    def take_back(self, path: str) -> None:
        """Have a kept page taken back."""
        self.rules.page_taken_back(Request(HOST + path), HOST + path)

    def idle(self) -> None:
        with pytest.raises(DontCloseSpider):
            self.rules._parking.spider_idle()

    @property
    def paths(self) -> list[str]:
        """What was sent after all."""
        return [path_of(request.url) for request in self.sent]


@pytest.fixture
def requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Requests]:
    monkeypatch.setattr(parking, "EXPLORED", dict.fromkeys(parking.EXPLORED, 0.0))
    with rules_in_use(tmp_path, HOST, SIMHASH_RULES_AUDIT=0) as (rules, sent):
        teach(rules._learner, 60)
        yield Requests(rules, sent)


@pytest.mark.parametrize("first", ["/a/new", "/a/new?sid=7"])
def test_a_twin_is_parked_when_the_first_one_is_kept(requests: Requests, first: str) -> None:
    assert requests.ask(first)
    assert requests.ask(first), "it is no twin of itself"
    assert not requests.ask("/a/new?sid=1")
    assert requests.ask("/a/other?sid=1")
    assert requests.ask("/b/new?sid=1"), "the rule does not act there"
    assert requests.ask("/a/new?sid=1", meta={"cookiejar": 2})
    requests.judge(first)
    assert requests.sent == []
    assert not requests.ask("/a/new?sid=2"), "known now"
    requests.take_back(first)
    assert sorted(requests.paths) == ["/a/new?sid=1", "/a/new?sid=2"], "it is parked like others"


@pytest.mark.parametrize(
    "end",
    [
        *("error", "copy", "unjudged", "redirect", "known redirect", "forbidden redirect"),
        *("taken over", "idle"),
    ],
)
def test_a_twin_is_sent_when_the_first_one_is_not_kept(requests: Requests, end: str) -> None:
    assert requests.ask("/a/new")
    assert not requests.ask("/a/new?sid=1")
    assert requests.ask("/a/other")
    if end == "error":
        requests.fail("/a/new")
    elif end == "copy":
        requests.judge("/a/new", kept="/a/p1")
    elif end == "unjudged":
        requests.rules.request_ended(Request(f"{HOST}/a/new"), Decision("skipped", "status"))
    elif end == "redirect":
        assert requests.ask("/login", meta={"redirect_urls": [f"{HOST}/a/new"]})
    elif end == "known redirect":
        again = Request(f"{HOST}/login", meta={"redirect_urls": [f"{HOST}/a/new"]})
        requests.rules._crawler.signals.send_catch_log(
            scrapy_signals.request_dropped, request=again, spider=requests.rules._crawler.spider
        )
    elif end == "forbidden redirect":  # by robots.txt, say
        requests.fail("/login", meta={"redirect_urls": [f"{HOST}/a/new"]})
    elif end == "taken over":
        for i in range(parking.MOST_UNDER_WAY):
            assert requests.ask(f"/a/more{i}")
    else:
        requests.idle()
    assert requests.paths == ["/a/new?sid=1"]
    assert requests.ask("/a/new?sid=1", meta=requests.sent[0].meta), "it waits for nothing more"
    requests.rules.request_ended(requests.sent[0], UNIQUE)
    assert not requests.ask("/a/p3?sid=2"), "the rule was not wrong"


def test_what_waits_is_sent_when_its_rule_fails(requests: Requests) -> None:
    assert requests.ask("/a/new")
    assert not requests.ask("/a/new?sid=1")
    rule = next(iter(requests.rules._index.learned.rules.all())).rule
    requests.rules._learner.fail(rule, "/a/*", False, f"{HOST}/a/lamp")
    requests.rules._parking.release(rule, "/b/*")
    assert requests.paths == []
    requests.rules._parking.release(rule)
    assert requests.paths == ["/a/new?sid=1"]
    requests.judge("/a/new")
    assert requests.paths == ["/a/new?sid=1"]


def test_what_rules_park_together_is_sent_when_one_of_them_fails(requests: Requests) -> None:
    both = {
        AddressRule("parameter", "a.com", "sid", ""),
        AddressRule("suffix", "a.com", ".print", ""),
    }
    site = requests.rules._index.learned.rules.site("a.com")
    for rule in both:
        prove(site, rule, "/a/*")
    requests.judge("/a/new")
    for path in ("/a/new.print?sid=7", "/a/p1.print?sid=7", "/a/p2.print", "/a/p2?sid=7"):
        assert not requests.ask(path)
    match = requests.rules._learner.say(f"{HOST}/a/new.print?sid=7").known
    assert match is not None
    ((other, pattern),) = match.others
    assert pattern == "/a/*"
    assert {match.hypothesis.rule, other} == both
    requests.rules._parking.release(other)
    alone = "/a/p2?sid=7" if other.drop == "sid" else "/a/p2.print"
    assert requests.paths == ["/a/new.print?sid=7", "/a/p1.print?sid=7", alone]


def test_all_that_waits_is_reached_whatever_becomes_of_the_first(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    """The first one is missing, fails, is too large, leads elsewhere, or is a copy; or is kept."""
    index_with_rule(tmp_path, site.url)

    def late(text: str) -> Callable[[int], str]:
        """Answer after the twin was asked for, also on a busy machine."""

        def answer(_visit: int) -> str:
            Event().wait(0.05)
            return text

        return answer

    firsts: dict[str, Reply] = {
        "missing": Reply(late("gone"), 404),
        "failing": Reply(late("failure"), 500),
        "cancelled": Reply(late("x" * 300_000)),
        "leading": Reply(late(""), 302, headers={"Location": "/common"}),
        "copy": Reply(late(article(prose("common")))),
    }
    kinds = [*firsts, "kept"]
    paths = [f"/a/{kind}{i}" for i in range(12) for kind in kinds]
    site["/"] = article(
        prose("start"), ["/common", *[f"{path}{end}" for path in paths for end in ("", "?sid=1")]]
    )
    site["/common"] = article(prose("common"))
    for path in paths:
        text = article(prose(f"other{path[3:]}x"))
        kind = path[3:].rstrip("0123456789")
        site[path], site[f"{path}?sid=1"] = firsts.get(kind, Reply(text)), Reply(text)
    settings: dict[str, Any] = {"SIMHASH_RULES": "use", "SIMHASH_RULES_AUDIT": 0, **AT_ONCE}
    done = crawl("Parks", RETRY_TIMES=1, DOWNLOAD_MAXSIZE=200_000, **settings)
    stats = rules_stats(done)
    seen = done.seen()
    for path in paths:
        twin = f"{path}?sid=1"
        assert twin in seen or ("kept" in path and path in seen)
    assert stats["released"] > 20, stats
    assert stats["parked"] - stats["released"] > 3
    assert sum(site.asked[f"/a/kept{i}?sid=1"] for i in range(12)) < 12
    assert "failures" not in stats
    assert "recovered" not in stats


def test_a_twin_that_waits_outlives_a_kill(site: Site, tmp_path: Path) -> None:
    index_with_rule(tmp_path, site.url)
    running: list[Job] = []
    file = tmp_path / "job" / "simhash-parked.sqlite"

    def kill(visit: int) -> str:
        if visit == 1:
            while not waiting():
                Event().wait(0.01)
            running[0].send_signal(signal.SIGKILL)
        return "gone"

    def waiting() -> int:
        with closing(sqlite3.connect(file)) as connection:
            (count,) = connection.execute("SELECT count(*) FROM parked").fetchone()
        return int(count)

    twins = [f"/a/new?sid={i}" for i in range(20)]
    site["/"] = article(prose("start"), ["/a/new", *twins])
    site["/a/new"] = Reply(kill, 404)
    for twin in twins:
        site[twin] = article(prose("something new"))
    settings: dict[str, Any] = {
        "JOBDIR": str(file.parent),
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SIMHASH_RULES": "use",
        "SIMHASH_RULES_AUDIT": 0,
        **AT_ONCE,
    }
    job = crawl_job(site, tmp_path, "Parks", **settings)
    with start_job(job, tmp_path) as process:
        running.append(process)
        process.wait()
    assert process.returncode == -signal.SIGKILL
    left = parked_in(file)
    assert left
    # After a kill, a disk queue of Scrapy may count requests that it cannot give: it never ends.
    shutil.rmtree(file.parent / "requests.queue")
    done = run_job(crawl_job(site, tmp_path, "Parks", **settings), tmp_path)
    assert set(twins) & done.seen()
    # One that is sent to explore the rule may be kept before the answer to the first one: then the
    # others stay parked for it.
    assert left <= {path for path in twins if site.asked[path]} | parked_in(file)
    assert "recovered" not in rules_stats(done)
