"""An endless calendar ends, and what it holds is not lost."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request

from scrapy_simhash import RuledOut
from scrapy_simhash.crawl.dead_ends import PageText
from scrapy_simhash.settings import ITEMS
from scrapy_simhash.url_rules.dead_ends import BUDGET
from tests.command_line import simhash_json
from tests.conftest import (
    Crawl,
    CrawlFixture,
    Reply,
    Site,
    article,
    crawl_job,
    prose,
    run_job,
)
from tests.crawl.parked import parked_in, rules_in_use
from tests.documents import printed
from tests.pages import UNIQUE, exact, page

USE = {"SIMHASH_RULES": "use"}
MOST = 60
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def day_page(day: int, text: str = "There is nothing on this day", *links: str) -> str:
    anchors = "".join(f'<a href="{link}">more</a>' for link in (f"/day/{day + 1}", *links))
    return (
        f"<html><head><title>Day {day}</title></head><body><main><h1>{WEEKDAYS[day % 7]}, day {day}"
        f"</h1><p>{text}.</p><p>{anchors}</p></main></body></html>"
    )


class Calendar(dict[str, Reply]):
    """Articles, and a day that leads to the next one, for ever; on some days there is something."""

    def __init__(self, special: dict[int, str] | None = None) -> None:
        super().__init__()
        self.special = special or {}
        self["/"] = Reply(article(prose("start"), ["/day/1", *[f"/a/{i}" for i in range(9)]]))
        for i in range(9):
            self[f"/a/{i}"] = Reply(article(prose(f"article{i}x")))

    def get(self, path: str, default: Any = None) -> Any:
        if not path.startswith("/day/"):
            return super().get(path, default)
        day = int(path.rpartition("/")[2])
        return Reply(self.special.get(day) or day_page(day))


def days(site: Site) -> int:
    return sum(path.startswith("/day/") for path in site.asked)


def traps_stats(done: Crawl) -> dict[str, Any]:
    found = done.simhash_stats()
    return {name: found[name] for name in found if name.startswith("traps/")}


@pytest.mark.parametrize("concurrent", [1, 16])
def test_an_endless_calendar_ends(
    site: Site, crawl: CrawlFixture, tmp_path: Path, concurrent: int
) -> None:
    site.pages = Calendar()
    done = crawl(
        "Parks",
        **USE,
        CONCURRENT_REQUESTS=concurrent,
        CLOSESPIDER_PAGECOUNT=300,
        SIMHASH_REPORT_FILE="report.html",
    )
    assert done.stats["finish_reason"] == "finished"
    assert BUDGET <= days(site) <= MOST
    assert {f"/a/{i}" for i in range(9)} <= done.seen()
    assert traps_stats(done)["traps/found"] == 1
    assert done.stats["errors/RuledOut"] == done.stats["simhash/rules/parked"]
    host = site.url.partition("//")[2]
    assert done.log.count("A trap after") == 1
    shown = printed("docs/rules.md", "WARNING: A trap")
    assert shown.replace("www.example.com/calendar/N/N", f"{host}/day/N") in done.log
    (row,) = json.loads((tmp_path / "report.json").read_text())["traps"]
    assert (row["pattern"], row["found_after"]) == (f"{host}/day/N", BUDGET)
    assert row["pages"] + BUDGET == days(site)
    assert row["parked"] == done.stats["simhash/rules/parked"]
    assert f"{host}/day/N" in (tmp_path / "report.html").read_text()
    (parked,) = simhash_json(tmp_path, "rules", ".scrapy/simhash/links.simhash", "--parked")[
        "rules"
    ]
    assert parked["rule"] == f"Stop at {host}/day/N"


@pytest.mark.parametrize("policy", ["origin", "no-referrer"])
def test_a_trap_ends_though_pages_do_not_say_where_links_are(
    site: Site, crawl: CrawlFixture, policy: str
) -> None:
    site.pages = Calendar()
    done = crawl("Parks", **USE, REFERRER_POLICY=policy, CLOSESPIDER_PAGECOUNT=300)
    assert done.stats["finish_reason"] == "finished"
    assert days(site) <= MOST


def test_a_trap_is_only_told_by_default(site: Site, crawl: CrawlFixture) -> None:
    site.pages = Calendar()
    done = crawl(CLOSESPIDER_PAGECOUNT=100)
    assert done.stats["finish_reason"] == "closespider_pagecount"
    stats = traps_stats(done)
    assert stats["traps/found"] == 1
    assert stats["traps/pages"] >= 100 - BUDGET - 12
    assert 'Set SIMHASH_RULES to "use" to stop there' in done.log


def test_no_trap_is_looked_for_without_rules(site: Site, crawl: CrawlFixture) -> None:
    site.pages = Calendar()
    assert not traps_stats(crawl(SIMHASH_RULES="off", CLOSESPIDER_PAGECOUNT=100))


@pytest.mark.parametrize("events", [6, 30])
def test_what_happens_on_parked_days_is_not_lost(
    site: Site, crawl: CrawlFixture, events: int
) -> None:
    """Many are found by exploration, few when the spider is idle."""
    special = {day: day_page(day, prose(f"event{day}x")) for day in range(1000, 1000 + events)}
    at = BUDGET - 1
    special[at] = day_page(at, "See also", *[f"/day/{day}" for day in special])
    site.pages = Calendar(special)
    done = crawl("Parks", **USE, CLOSESPIDER_PAGECOUNT=400)
    assert {f"/day/{day}" for day in special} <= done.seen()
    assert done.stats["simhash/traps/ended"] >= 1
    assert done.stats["simhash/rules/released"] >= 1


@pytest.mark.parametrize("text", ["picture", "words", "data", "links"])
def test_an_archive_with_content_is_no_trap(site: Site, crawl: CrawlFixture, text: str) -> None:
    """Pages in a row that lead to one another alone, and differ in one thing each."""
    last = 90
    special = {}
    for day in range(1, last + 1):
        page = {
            "picture": day_page(day).replace("<p>", f'<p><img src="/{day}.jpg">', 1),
            "words": day_page(day, prose(f"weather{day}x", 30)),
            "data": day_page(day).replace("<p>", f'<p data-max="{(7 * day) % 31}.{day % 9}">', 1),
            "links": day_page(day, "More", f"/event/{day}"),
        }[text]
        special[day] = page.replace(f'href="/day/{last + 1}"', 'href="/"')
    site.pages = Calendar(special)
    for day in range(1, last + 1):
        site.pages[f"/event/{day}"] = Reply(article(prose(f"event{day}x")))
    done = crawl("Parks", **USE, CLOSESPIDER_PAGECOUNT=400, SIMHASH_TAKES=ITEMS)
    assert {f"/day/{day}" for day in range(1, last + 1)} <= done.seen()
    assert not traps_stats(done)


def test_what_a_trap_has_parked_waits_for_the_next_run(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    site.pages = Calendar()
    settings = {**USE, "JOBDIR": str(tmp_path / "job"), "CLOSESPIDER_PAGECOUNT": 400}
    crawl("Parks", **settings)
    first = days(site)
    crawl("Parks", **settings)
    assert first < days(site) <= first + 10


def test_a_crawl_that_is_resumed_goes_on_to_learn(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    """Each page leads to articles that were crawled before it was stopped."""
    articles = [f"/a/{i}" for i in range(9)]
    site.pages = Calendar({i: day_page(i, "There is nothing", *articles) for i in range(400)})
    stopped = {**USE, "JOBDIR": "job", "CONCURRENT_REQUESTS": 1}
    first = crawl("Parks", **stopped, CLOSESPIDER_PAGECOUNT=30)
    assert first.stats["finish_reason"] == "closespider_pagecount"
    assert 15 <= days(site) < BUDGET
    state = tmp_path / "job" / "simhash-traps.state"
    assert state.exists()
    second = crawl("Parks", **stopped, CLOSESPIDER_PAGECOUNT=100)
    assert second.stats["finish_reason"] == "finished"
    assert traps_stats(second)["traps/found"] == 1
    assert days(site) <= BUDGET + 6
    assert not state.exists(), "the next crawl begins anew"


def test_what_is_known_of_traps_may_be_damaged(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    site.pages = Calendar()
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "simhash-traps.state").write_text("damaged")
    done = crawl("Parks", **USE, JOBDIR="job", CLOSESPIDER_PAGECOUNT=200)
    assert done.stats["finish_reason"] == "finished"
    assert {f"/a/{i}" for i in range(9)} <= done.seen()
    assert "The state of the traps starts anew" in done.log
    assert (tmp_path / "job" / "simhash-traps.unreadable").exists()
    assert not (tmp_path / "job" / "simhash-traps.state").exists(), "the crawl is done"


@pytest.mark.parametrize("at", ["requests.seen", "simhash-traps.state"], ids=["before", "while"])
def test_a_kill_before_or_while_the_state_is_saved_loses_no_parked_request(
    site: Site, tmp_path: Path, at: str
) -> None:
    ways = range(1000, 11_000, 1000)
    site.pages = Calendar(
        {i: day_page(i, "There is nothing", *[f"/day/{i + way}" for way in ways]) for i in range(9)}
    )
    for i in range(90):
        site[f"/a/{i}"] = article(prose(f"article{i}x"), [f"/a/{i + 1}"])
    settings: dict[str, Any] = {
        **USE,
        "JOBDIR": "job",
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        # Scrapy does not read a file that the kill has cut.
        "EXTENSIONS": {"scrapy.extensions.spiderstate.SpiderState": None},
    }
    stopped = {**settings, "CLOSESPIDER_PAGECOUNT": 70, "KILLED_AT": at}
    job = crawl_job(site, tmp_path, "KilledAtTheEnd", **stopped)
    killed = run_job(job, tmp_path)
    assert killed.returncode == -signal.SIGKILL
    file = tmp_path / "job" / "simhash-parked.sqlite"
    parked, first = parked_in(file), days(site)
    assert len(parked) >= 5
    done = run_job(crawl_job(site, tmp_path, "Parks", **settings), tmp_path)
    assert done.stats["finish_reason"] == "finished"
    assert "Traceback" not in done.log
    assert "cannot be read" not in done.log
    assert parked <= parked_in(file) | {*site.asked}
    assert {f"/a/{i}" for i in range(90)} <= {*site.asked}
    assert days(site) <= first + 10, "the trap is still known"


def test_exempt_requests_are_sent(site: Site, crawl: CrawlFixture) -> None:
    site.pages = Calendar()
    crawl("Unfiltered", **USE, CLOSESPIDER_PAGECOUNT=100)
    assert days(site) > MOST


def test_days_to_which_other_pages_lead_are_sent(site: Site, crawl: CrawlFixture) -> None:
    """The trap is found before the last ones are crawled."""
    linked = [f"/day/{day}" for day in range(1000, 6000, 100)]
    site.pages = Calendar({5900: day_page(5900, prose("event5900x"))})
    site.pages["/"] = Reply(article(prose("start"), [*linked, "/a/1"]))
    done = crawl("Parks", **USE, CONCURRENT_REQUESTS=1, CLOSESPIDER_PAGECOUNT=400)
    assert done.stats["finish_reason"] == "finished"
    assert {*linked} <= done.seen()
    assert done.stats["simhash/traps/ended"] == 1


def test_a_trap_keeps_what_pages_outside_lead_to(tmp_path: Path) -> None:
    """Days lie below their month, as pages that are not there do below the one that led to them."""
    with rules_in_use(tmp_path, "http://site.example/") as (rules, sent):
        rules.dead_ends._traps.restore("site.example/day/N/N")
        month, day, later = (
            page(name, i) for i, name in enumerate(["day/5", "day/5/31", "day/6/1"])
        )
        request = Request(month.url)
        rules.dead_ends._learn_missing(request, PageText(month, None), UNIQUE, [day.url], list)
        with pytest.raises(RuledOut):
            rules.process_request(Request(day.url))
        rules.dead_ends._learn_missing(
            request, PageText(later, None), UNIQUE, [day.url], lambda _: []
        )
        assert not sent


def test_a_trap_keeps_no_request_that_carries_what_none_of_its_pages_had(tmp_path: Path) -> None:
    """An item that was begun in a listing, say; a section that all days carry is no such thing."""
    with rules_in_use(tmp_path, "http://site.example/") as (rules, sent):
        rules.dead_ends._traps.restore("site.example/day/N")

        def ask(day: int, carried: str) -> Request:
            return Request(f"http://site.example/day/{day}", cb_kwargs={"of": carried})

        rules.process_request(ask(1, "item"))
        rules.dead_ends.learn(ask(1, "item"), page("day/1", 1), exact("day/0"), None, list)
        rules.process_request(ask(2, "other item"))
        with pytest.raises(RuledOut):
            rules.process_request(ask(2, "item"))
        with pytest.raises(RuledOut):
            rules.process_request(Request("http://site.example/day/3"))
        assert not sent


@pytest.mark.parametrize("files", [{10, 20}, set(range(10_000))], ids=["two", "each day"])
def test_an_endless_calendar_that_leads_to_files_ends(
    site: Site, crawl: CrawlFixture, files: set[int]
) -> None:
    """Those of each day say nothing new, as far as anybody looks; after the others come no more."""
    special = {i: day_page(i, "There is nothing", f"/file/{i}") for i in files}
    site.pages = Calendar(special)
    for i in files:
        site.pages[f"/file/{i}"] = Reply(f"day {i}", content_type="text/calendar")
    done = crawl("Parks", **USE, CLOSESPIDER_PAGECOUNT=400)
    assert done.stats["finish_reason"] == "finished"
    assert days(site) <= (3 * BUDGET + 12 if len(files) == 2 else MOST)


LAST = 130


FIRST_FIRST = {"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue", "DEPTH_PRIORITY": 1}


def item_page(number: int, kind: str) -> Reply:
    if kind == "file":
        return Reply(f"%PDF-1.4 {number}", content_type="application/pdf")
    if kind == "short":
        return Reply(day_page(number, f"Concert {prose(f'e{number}', 3)}").replace("/day/", "/a/"))
    return Reply(article(prose(f"event{number}x")))


@pytest.mark.parametrize("order", [{}, FIRST_FIRST], ids=["last first", "first first"])
@pytest.mark.parametrize("kind", ["page", "file", "short"])
@pytest.mark.parametrize("every", [10, pytest.param(30, marks=pytest.mark.long)])
def test_items_that_only_a_calendar_leads_to_are_reached(
    site: Site,
    crawl: CrawlFixture,
    order: dict[str, Any],
    kind: str,
    every: int,
) -> None:
    """The calendar has an end; some days lead to an item."""
    items = {day: f"/event/{day}" for day in range(every, LAST, every)}
    special = {day: day_page(day, "There is nothing", item) for day, item in items.items()}
    special[LAST] = day_page(LAST).replace(f"/day/{LAST + 1}", "/")
    site.pages = Calendar(special)
    for day, item in items.items():
        site.pages[item] = item_page(day, kind)
    crawl("Parks", **USE, **order, CLOSESPIDER_PAGECOUNT=500)
    assert {*items.values()} <= {*site.asked}


@pytest.mark.parametrize("to", ["file", "redirect"])
def test_files_and_redirects_are_reached_behind_pages_that_say_nothing(
    site: Site, crawl: CrawlFixture, to: str
) -> None:
    """Records with one text lead to documents: one of three is missing, the others are there."""
    site["/"] = article(prose("start"), [f"/record?id={number}" for number in range(100, 200)])
    ends = []
    for number in range(100, 200):
        document = f"/document?id={number}"
        site[f"/record?id={number}"] = article("There is nothing about it.", [document])
        if number % 3 == 0:
            site[document] = article("There is no document of it.")
        elif to == "file":
            site[document] = Reply(f"Scan {number}", headers={"Content-Type": "text/plain"})
            ends.append(document)
        else:
            ends.append(f"/scans/{number}")
            site[document] = Reply(status=302, headers={"Location": ends[-1]})
            site[ends[-1]] = article(prose(f"scan{number}x"))
    result = crawl("Parks", **USE, SIMHASH_TAKES=ITEMS)
    assert result.stats["simhash/traps/found"] >= 1
    assert [end for end in ends if not site.asked[end]] == []
