"""Real crawls: the report at their end, and alarms while they run."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash import __version__
from tests.command_line import simhash_json
from tests.conftest import CrawlFixture, Reply, Site, article, crawl_job, prose, run_job

sys.path.insert(0, str(Path(__file__).parents[2] / "example_project"))

from demo_site.server import MEMBERS_PAGES, serve

REPORT = "reports/%(name)s.html"


def report_in(folder: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((folder / "reports" / "links.json").read_text())
    return report


@pytest.fixture
def aliases(site: Site) -> Site:
    """Ten articles, each with three session ids."""
    links = [f"/article{i}" for i in range(10)]
    links += [f"/article{i}?sid={sid}" for i in range(10) for sid in range(3)]
    site["/"] = article(prose("start"), links)
    for link in links:
        site[link] = article(prose(f"topic{link.partition('?')[0][8:]}x"))
    return site


def test_report_stands_there_when_the_crawl_ends(
    aliases: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    result = crawl(SIMHASH_REPORT_FILE=REPORT)
    assert result.returncode == 0
    html = (tmp_path / "reports" / "links.html").read_text()
    assert "Ignore the parameter sid" in html
    report = report_in(tmp_path)
    assert report["totals"]["duplicates"] == result.stats["simhash/exact_duplicate"] == 30
    assert report["totals"]["analysis_seconds"] > 0
    assert report["totals"]["links_not_followed"] == 0
    assert report["settings"]["SIMHASH_TAKES"] == "'text'"
    assert report["versions"].keys() == {"Python", "scrapy-simhash", "Scrapy", "trafilatura"}
    assert re.search(r"\d+ +\d+ +0   Ignore the parameter sid", result.log)
    assert sorted(path.name for path in (tmp_path / "reports").iterdir()) == [
        "links.html",
        "links.json",
    ]


def test_report_of_a_crawl_is_the_one_made_from_its_feed(
    aliases: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    aliases["/article0?sid=0"] = Reply(status=302, headers={"Location": "/article1?sid=9"})
    aliases["/article1?sid=9"] = article(prose("topic1x"))
    crawl(SIMHASH_REPORT_FILE=REPORT)
    report = report_in(tmp_path)
    from_feed = simhash_json(tmp_path, "report", str(tmp_path / "decisions.jsonl"))
    known_to_a_crawl = {
        *("name", "made", "settings", "versions", "side_by_side", "rules", "summary")
    }
    for key in report.keys() - known_to_a_crawl - {"totals"}:
        assert from_feed[key] == report[key]
    (learned,), (of_feed,) = report["rules"], from_feed["rules"]
    for name in ("advice", "keys", "failures", "duplicates", "body_bytes", "waits_for"):
        assert of_feed[name] == learned[name]
    assert (learned["number"], of_feed["number"]) == (1, None)
    assert from_feed["summary"]["saved"] == report["summary"]["saved"]
    assert from_feed["totals"] == {**report["totals"], "links_not_followed": None}


def test_report_of_a_crawl_without_rules_suggests_none(
    aliases: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    crawl(SIMHASH_REPORT_FILE=REPORT, SIMHASH_RULES="off")
    report = report_in(tmp_path)
    assert report["rules"] == []
    assert "rules for addresses" not in report["summary"]["saved"]
    assert "for addresses was learned" in (tmp_path / "reports" / "links.html").read_text()


def test_password_in_a_setting_does_not_reach_the_report(
    aliases: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    # A name that a file may have: an index on a server has such an address.
    crawl(SIMHASH_REPORT_FILE=REPORT, SIMHASH_DECISIONS_FILE="feed://me:s3cret@db.example/x.jsonl")
    assert report_in(tmp_path)["settings"]["SIMHASH_DECISIONS_FILE"] == (
        "'feed://me:***@db.example/x.jsonl'"
    )
    assert "s3cret" not in (tmp_path / "reports" / "links.html").read_text()


def test_links_of_flagged_pages_are_counted(
    aliases: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    named = aliases.pages["/"].body
    assert isinstance(named, str)
    ignored = '<ul><li data-ignored><a href="/more">/more</a></li>'
    aliases["/"] = named.replace("<ul>", ignored)
    aliases["/article0?sid=0"] = article(prose("topic0x"), ["/more"])
    crawl(SIMHASH_REPORT_FILE=REPORT, SIMHASH_ACTION="flag")
    assert report_in(tmp_path)["totals"]["links_not_followed"] == 1


def test_resumed_crawl_goes_on_counting(aliases: Site, crawl: CrawlFixture, tmp_path: Path) -> None:
    first = crawl(JOBDIR="job", CLOSESPIDER_PAGECOUNT=5, SIMHASH_REPORT_FILE=REPORT)
    before = report_in(tmp_path)["totals"]["pages"]
    second = crawl(JOBDIR="job", SIMHASH_REPORT_FILE=REPORT)
    assert 0 < before < 41
    assert first.returncode == second.returncode == 0
    assert report_in(tmp_path)["totals"]["pages"] == len(second.decisions)


@pytest.mark.parametrize("version", [__version__, "0.0.1", ""])
def test_state_that_cannot_be_read_is_set_aside(
    aliases: Site, crawl: CrawlFixture, tmp_path: Path, version: str
) -> None:
    (tmp_path / "job").mkdir()
    damaged = f"scrapy-simhash {version} report state\nxyz"
    (tmp_path / "job" / "simhash-report.state").write_text(damaged)
    result = crawl(JOBDIR="job", SIMHASH_REPORT_FILE=REPORT)
    assert result.returncode == 0
    assert "The state of the report starts anew" in result.log
    assert (tmp_path / "job" / "simhash-report.unreadable").read_bytes().endswith(b"xyz")
    assert report_in(tmp_path)["totals"]["pages"] == 41


def test_report_that_cannot_be_written_at_the_end_is_an_error_in_the_log(
    aliases: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    (tmp_path / "reports" / "links.html").mkdir(parents=True)
    result = crawl(SIMHASH_REPORT_FILE=REPORT)
    assert result.returncode == 0
    assert "could not be written" in result.log
    assert "With SIMHASH_DECISIONS_FILE, it can be made again" in result.log
    assert len(result.seen()) == 11


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"SIMHASH_REPORT_FILE": "report.txt"}, "must be the path of a file that ends in .html"),
        ({"SIMHASH_REPORT_FILE": "%(day)s.html"}, "no % but in"),
        ({"SIMHASH_REPORT_FILE": "job.json/a.html"}, "a path that can be written"),
    ],
)
def test_settings_that_make_no_sense_stop_the_crawl(
    site: Site, crawl: CrawlFixture, settings: dict[str, Any], message: str
) -> None:
    result = crawl(**settings)
    assert result.returncode == 1
    assert message in result.log


def test_login_wall_of_the_demo_raises_an_alarm_within_50_pages(tmp_path: Path) -> None:
    with serve() as url:
        demo = Site.__new__(Site)
        demo.url = url.rstrip("/")
        job = crawl_job(demo, tmp_path, "HearsAlarms", SIMHASH_REPORT_FILE="r.html")
        result = run_job(job, tmp_path)
    assert result.returncode == 0, result.log
    wall = [f"/members/{page}" for page in MEMBERS_PAGES]
    first = min(i for i, path in enumerate(result.verdicts()) if path in wall)
    (alarm,) = json.loads((tmp_path / "r.json").read_text())["alarms"]
    assert alarm["name"] == "one_text"
    assert "/members/" in alarm["subject"]
    assert alarm["page"] - first <= 50
    assert result.stats["simhash/alarms/one_text"] == result.stats["heard/one_text"] == 1
    assert result.log.count("Alarm one_text at page") == 1


class Endless(dict[str, Reply]):
    """A calendar that links to the next day for ever, and never has an entry."""

    def get(self, path: str, default: Any = None) -> Reply:
        day = int(path.rpartition("/")[2] or 0)
        return Reply(article(prose("calendar"), [f"/calendar/2031/{day + 1}"]))


def test_trap_is_recognised_within_50_pages_and_the_crawl_ends(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    site.pages = Endless()
    result = crawl(
        SIMHASH_ACTION="observe",
        SIMHASH_CLOSE_ON="trap",
        CLOSESPIDER_PAGECOUNT=500,
        SIMHASH_REPORT_FILE=REPORT,
    )
    assert result.returncode == 0
    assert result.stats["finish_reason"] == "simhash_trap"
    alarms = {alarm["name"]: alarm for alarm in report_in(tmp_path)["alarms"]}
    assert alarms["trap"]["subject"].endswith("/calendar/N/*")
    assert alarms["trap"]["page"] <= 50


def test_resumed_crawl_is_closed_again_by_what_it_meets_itself(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    days = [f"/calendar/2031/{day}" for day in range(100)]
    site["/"] = article(prose("start"), days)
    for day in days:
        site[day] = article(prose("calendar"))
    settings = {
        "JOBDIR": "job",
        "SIMHASH_CLOSE_ON": ["trap"],
        "SIMHASH_REPORT_FILE": REPORT,
    }
    first = crawl(**settings)
    second = crawl(**settings)
    assert first.stats["finish_reason"] == second.stats["finish_reason"] == "simhash_trap"
    assert len(second.decisions) - len(first.decisions) >= 20
    report = report_in(tmp_path)
    assert report["totals"]["pages"] == len(second.decisions)
    assert [alarm["name"] for alarm in report["alarms"]].count("trap") == 1


def test_site_whose_text_is_suddenly_gone_raises_an_alarm(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    links = [f"/{i}" for i in range(60)]
    site["/"] = article(prose("start"), links)
    for i, link in enumerate(links):
        site[link] = article(prose(f"topic{i}x")) if i < 30 else "<html><body></body></html>"
    crawl(SIMHASH_REPORT_FILE=REPORT)
    (alarm,) = report_in(tmp_path)["alarms"]
    assert alarm["name"] == "no_text"
    assert alarm["page"] == 51


def test_clean_crawl_raises_no_alarm(aliases: Site, crawl: CrawlFixture) -> None:
    for i in range(10):
        aliases[f"/article{i}"] = article(prose(f"topic{i}x"), [f"/story{i}-{j}" for j in range(9)])
        for j in range(9):
            aliases[f"/story{i}-{j}"] = article(prose(f"story{i}and{j}x"))
    result = crawl()
    assert result.stats["simhash/judged"] == 131
    assert not [name for name in result.stats if name.startswith("simhash/alarms/")]
