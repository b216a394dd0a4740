"""Real crawls through redirects: the last page is judged, and the way to it written down."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import CrawlFixture, Reply, Site, article, path_of, prose

MEMBERS = [f"/members/page{i}" for i in range(16)]


def moved(to: str) -> Reply:
    return Reply("", 302, headers={"Location": to})


def test_last_page_of_a_chain_is_judged_and_the_chain_recorded(
    site: Site, crawl: CrawlFixture
) -> None:
    site["/"] = article(prose("start"), ["/old", "/plain"])
    site["/old"] = moved("/older")
    site["/older"] = '<html><head><meta http-equiv="refresh" content="0; url=/new"></head></html>'
    site["/new"] = article(prose("new"))
    site["/plain"] = article(prose("plain"))
    result = crawl()
    records = {path_of(one["url"]): one for one in result.decisions}
    assert records.keys() == {"/", "/new", "/plain"}
    assert [path_of(url) for url in records["/new"]["redirects"]] == ["/old", "/older"]
    assert "redirects" not in records["/plain"]


def test_redirects_in_a_copied_meta_are_not_those_of_the_page(
    site: Site, crawl: CrawlFixture
) -> None:
    site["/"] = article(prose("start"), ["/old"])
    site["/old"] = moved("/new")
    site["/new"] = article(prose("new"), ["/plain", "/again"])
    site["/plain"] = article(prose("plain"))
    site["/again"] = moved("/end")
    site["/end"] = article(prose("end"))
    result = crawl("CopiesMeta")
    found = {
        path_of(one["url"]): list(map(path_of, one["redirects"]))
        for one in result.decisions
        if "redirects" in one
    }
    assert found == {"/new": ["/old"], "/end": ["/again"]}


def test_redirects_to_a_login_page_are_an_alarm_about_what_was_asked(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    site["/"] = article(prose("start"), [*MEMBERS, "/moved"])
    for path in MEMBERS:
        site[path] = moved(f"/login?next={path}")
        site[f"/login?next={path}"] = article(prose("login"))
    site["/moved"] = moved("/here")
    site["/here"] = article(prose("here"))
    crawl(SIMHASH_REPORT_FILE="report.html")
    report = json.loads((tmp_path / "report.json").read_text())
    alarm = next(alarm for alarm in report["alarms"] if alarm["name"] == "one_text")
    assert alarm["subject"] == f"{site.url}/login?next={MEMBERS[0]}"
    assert f"http://{alarm['host']}" == site.url
    # Ten were dropped before the alarm, and asked for again.
    assert report["totals"]["duplicates"] == 15 + 10


def test_alarm_on_a_wall_behind_a_redirect_names_the_site_that_was_asked(
    site: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    login = site.url.replace("127.0.0.1", "localhost")
    site["/"] = article(prose("start"), MEMBERS)
    for path in MEMBERS:
        site[path] = moved(f"{login}/login?next={path}")
        site[f"/login?next={path}"] = article(prose("login"))
    crawl(SIMHASH_REPORT_FILE="report.html")
    (alarm,) = json.loads((tmp_path / "report.json").read_text())["alarms"]
    assert (alarm["name"], alarm["subject"]) == ("one_text", f"{login}/login?next={MEMBERS[0]}")
    assert f"http://{alarm['host']}" == site.url
