"""Every judged page is a kept page or a duplicate of one, whatever happens, and can be listed."""

from __future__ import annotations

import csv
import json
import signal
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash import groups
from scrapy_simhash.decision.page import Page, met_by
from scrapy_simhash.index.survey import Member
from tests.command_line import INDEX, simhash, simhash_json
from tests.conftest import CrawlFixture, Site, article, crawl_job, path_of, prose, start_job
from tests.indexes import LOOP, open_index
from tests.pages import PARAMETERS, VERIFIED, page, page_with_content

CANONICAL = '<head><link rel="canonical" href="/a">'


def members(place: str | Path) -> list[Member]:
    async def found() -> list[Member]:
        return [one async for one in groups(str(place))]

    return LOOP.run_until_complete(found())


def kept_of(place: str | Path) -> dict[str, str]:
    """Path of each page -> path of its kept page; fails if a page has two, or none that is kept."""
    listed = members(place)
    found = {path_of(one.url): path_of(one.kept) for one in listed}
    assert len(found) == len(listed)
    kept = {path_of(one.url) for one in listed if one.verdict == "kept"}
    assert {*found.values()} == kept
    assert all(found[path] == path for path in kept)
    return found


def judged(result: Any) -> set[str]:
    return {path_of(one["url"]) for one in result.decisions if one["verdict"] != "skipped"}


def test_each_kept_page_comes_before_its_duplicates(lasting_place: str) -> None:
    with open_index(lasting_place, VERIFIED) as index:
        for name, content in [("a", range(100)), ("b", range(500, 600)), ("c", range(1, 101))]:
            index.check_and_add(replace(page_with_content(name, content), judged_at=1_000))
        same = replace(page_with_content("d", range(500, 600)), canonical="http://site.example/b")
        index.check_and_add(same)
    rows = [(path_of(m.kept), path_of(m.url), m.verdict, m.share) for m in members(lasting_place)]
    assert rows == [
        ("/a", "/a", "kept", None),
        ("/a", "/c", "near_duplicate", pytest.approx(0.98, abs=0.01)),
        ("/b", "/b", "kept", None),
        ("/b", "/d", "exact_duplicate", 1.0),
    ]
    assert members(lasting_place)[-1].canonical == "http://site.example/b"
    assert members(lasting_place)[0].judged_at == 1_000


def test_without_contents_there_is_no_share(lasting_place: str) -> None:
    with open_index(lasting_place, PARAMETERS) as index:
        for name, fingerprint, text in [("a", 0, "x"), ("b", 1, "y"), ("c", 0, "x")]:
            index.check_and_add(page(name, fingerprint, text=text))
    verdicts = [(path_of(m.url), m.verdict, m.share) for m in members(lasting_place)]
    assert verdicts == [
        ("/a", "kept", None),
        ("/b", "near_duplicate", None),
        ("/c", "exact_duplicate", None),
    ]


def test_a_page_that_became_kept_later_comes_before_duplicates_with_smaller_ids(
    lasting_place: str,
) -> None:
    def at(name: str, fingerprint: int) -> Page:
        return replace(page(name, fingerprint), met_by=met_by(1))

    with open_index(lasting_place, PARAMETERS) as index:
        for name, fingerprint in [("a", 0), ("b", 0), ("c", 0xFF), ("b", 0xFF)]:
            index.check_and_add(at(name, fingerprint))
    assert kept_of(lasting_place) == {"/a": "/a", "/b": "/c", "/c": "/c"}


@pytest.fixture
def copies(site: Site) -> Site:
    site["/"] = article(prose("start"), ["/a", "/b", "/c", "/d"])
    site["/a"] = article(prose("the same text"))
    for path in ("/b", "/c"):
        site[path] = article(prose("the same text")).replace("<head>", CANONICAL)
    site["/d"] = article(prose("another"))
    return site


WHOLE = {"/": "/", "/a": "/a", "/b": "/a", "/c": "/a", "/d": "/d"}


@pytest.mark.parametrize("form", [".jsonl", ".csv"])
def test_groups_are_written_as_a_table(
    copies: Site, crawl: CrawlFixture, tmp_path: Path, form: str
) -> None:
    result = crawl()
    file = tmp_path / f"groups{form}"
    assert simhash_json(tmp_path, "export", str(INDEX), file.name)["pages"] == 5
    if form == ".jsonl":
        rows = [json.loads(line) for line in file.read_text().splitlines()]
    else:
        with file.open(newline="") as opened:
            rows = list(csv.DictReader(opened))
    assert {path_of(row["url"]): path_of(row["kept"]) for row in rows} == WHOLE
    fed = {one["url"]: (one["verdict"], one["share"]) for one in result.decisions}
    for row in rows:
        assert tuple(row) == Member._fields
        share = float(row["share"]) if row["share"] else None
        expected = fed[row["url"]]
        assert (row["verdict"], share) in (expected, ("kept", None))
    last = next(row for row in rows if row["url"].endswith("/c"))
    assert last["canonical"] == f"{copies.url}/a"
    assert str(last["judged_at"]).startswith("20")
    assert str(last["judged_at"]).endswith("+00:00")


def test_no_file_is_made_of_an_index_that_is_not_there(tmp_path: Path) -> None:
    done = simhash(tmp_path, "export", "none.simhash", "groups.csv")
    assert done.returncode == 2
    assert not [*tmp_path.glob("*.csv")]


def test_every_judged_page_has_its_kept_page_after_forget_a_move_and_another_crawl(
    copies: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    first = crawl()
    assert kept_of(tmp_path / INDEX) == WHOLE
    simhash_json(tmp_path, "forget", str(INDEX), "--url", f"{copies.url}/a")
    assert kept_of(tmp_path / INDEX) == {"/": "/", "/b": "/b", "/c": "/b", "/d": "/d"}
    # The next crawl meets the others in another order, and one text at a new address only.
    copies["/"] = article(prose("start"), ["/c", "/a", "/b", "/new"])
    copies["/new"] = copies.pages["/d"]
    second = crawl()
    assert second.stats["simhash/moved"] == 2
    found = kept_of(tmp_path / INDEX)
    assert found.keys() == judged(first) | judged(second)
    assert {found[path] for path in ("/a", "/b", "/c")} == {"/c"}
    assert found["/d"] == found["/new"] == "/new"


def test_every_judged_page_has_its_kept_page_after_a_kill_and_a_resume(
    copies: Site, crawl: CrawlFixture, tmp_path: Path
) -> None:
    links = [f"/{letter}{number}" for number in range(40) for letter in "ab"]
    copies["/"] = article(prose("start"), links)
    for link in links:
        copies[link] = article(prose(f"text {link[2:]}"))
    settings: dict[str, Any] = {"SIMHASH_CRAWL": "one", "CONCURRENT_REQUESTS": 2}
    feed = tmp_path / "decisions.jsonl"
    with start_job(crawl_job(copies, tmp_path, **settings), tmp_path) as started:
        while not feed.exists() or feed.read_bytes().count(b"\n") < 20:
            assert started.poll() is None
            time.sleep(0.01)
        started.send_signal(signal.SIGKILL)
    lines = feed.read_text().splitlines()
    assert kept_of(tmp_path / INDEX).keys() >= {path_of(json.loads(one)["url"]) for one in lines}
    assert len(lines) < len(links)
    assert crawl(**settings).returncode == 0
    found = kept_of(tmp_path / INDEX)
    assert found.keys() == {"/", *links}
    of_text = defaultdict(set)
    for link in links:
        of_text[link[2:]].add(found[link])
    assert {len(kept) for kept in of_text.values()} == {1}
