"""A crawl sees each content once, and the next crawl sees it again, wherever it is then."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import (
    Crawl,
    CrawlFixture,
    Site,
    article,
    crawl_job,
    crawl_result,
    ended,
    prose,
    run_job,
    start_job,
)

ITEMS = 20
PATHS = [f"/item{i}" for i in range(ITEMS)]
WHOLE = Counter(dict.fromkeys(PATHS, 1))


def open_session(site: Site, name: str, wait: Callable[[], object] = bool) -> str:
    """Let a start page lead to all items in a session, and return its address."""

    def start(visit: int) -> str:
        if visit == 1:  # the next one tells what changes by itself, and not every crawl makes it
            wait()
        return article(prose("start"), [f"{path}?sid={name}" for path in PATHS])

    site[f"/?sid={name}"] = start
    for path in PATHS:
        site[f"{path}?sid={name}"] = article(prose(f"of{path[1:]}x"))
    return f"/?sid={name}"


def contents(results: list[Crawl]) -> Counter[str]:
    """How often each content became an item; start pages are none."""
    paths = Counter(urlsplit(item["url"]).path for result in results for item in result.items)
    del paths["/"]
    return paths


def side_by_side(jobs: dict[Path, list[str]]) -> list[Crawl]:
    """Run crawls at the same time, each in a folder of its own."""
    with ExitStack() as stack:
        started = {
            folder: stack.enter_context(start_job(job, folder)) for folder, job in jobs.items()
        }
        results = [ended(one, folder) for folder, one in started.items()]
    for result in results:
        assert result.returncode == 0, result.log
    return results


def folders(parent: Path, *names: str) -> list[Path]:
    made = [parent / name for name in names]
    for folder in made:
        folder.mkdir()
    return made


@pytest.mark.parametrize(("skipped", "again"), [(False, 1 + ITEMS), ("moved", 1)])
def test_next_crawl_gets_what_has_another_address_now(
    site: Site, tmp_path: Path, lasting_place: str, skipped: bool | str, again: int
) -> None:
    settings: dict[str, Any] = {"SIMHASH_INDEX": lasting_place, "SIMHASH_SKIP_UNCHANGED": skipped}
    items = []
    for folder in folders(tmp_path, "first", "second", "third"):
        start = open_session(site, folder.name)
        result = run_job(crawl_job(site, folder, start=start, **settings), folder)
        items.append(len(result.items))
    assert items == [1 + ITEMS, again, again]
    assert result.stats.get("simhash/moved", 0) == (0 if skipped else 1 + ITEMS)
    assert ("21 at another address than before" in result.log) == (not skipped)


def test_copies_within_the_next_crawl_are_dropped(site: Site, crawl: CrawlFixture) -> None:
    crawl(start=open_session(site, "one"))
    open_session(site, "two")
    open_session(site, "three")
    addresses = [f"{path}?sid={name}" for name in ("two", "three") for path in PATHS]
    site["/"] = article(prose("another"), addresses)
    result = crawl(start="/")
    reasons = Counter(decision["reason"] for decision in result.decisions[1 + ITEMS :])
    assert reasons == {"new_text": 1, "moved": ITEMS, "same_text": ITEMS}


def test_known_copy_with_a_new_link_is_not_unchanged(site: Site, crawl: CrawlFixture) -> None:
    """It takes the place of a page of an earlier crawl, and leads on."""
    text = prose("lamp", 400)
    site["/"] = article(prose("start"), ["/a", "/b"])
    site["/a"] = site["/b"] = article(text, ["/k"])
    site["/k"] = article(prose("boat"))
    crawl(SIMHASH_SKIP_UNCHANGED=True)
    site["/"] = article(prose("start"), ["/b", "/a"])
    site["/b"] = article(text, ["/e"])
    site["/e"] = article(prose("cup"))
    result = crawl(SIMHASH_SKIP_UNCHANGED=True)
    assert "/e" in result.seen()


def test_rule_for_addresses_is_judged_by_pages_of_earlier_crawls_too(
    site: Site, crawl: CrawlFixture
) -> None:
    """Half of the mirror has texts of its own, so its new pages may lead to others."""
    same, other = [f"/p{i}" for i in range(8)], [f"/q{i}" for i in range(8)]
    paths = [*same, *other]

    def mirror(path: str, name: str) -> str:
        return article(prose(name, 400), [f"{path}/c"])

    for path in paths:
        site[path] = mirror(path, path[1:] + "x")
        mirrored = path[1:] if path in same else f"m{path[1:]}"
        site[f"/m{path}"] = mirror(f"/m{path}", f"{mirrored}x")
        site[f"{path}/c"] = site[f"/m{path}/c"] = article(prose(f"child{path[1:]}x"))
    for path in other:
        site[f"/m{path}/c"] = article(prose(f"otherchild{path[1:]}x"))
    site["/"] = article(prose("start"), [*paths, *[f"/m{path}" for path in paths]])
    crawl()
    for path in ("/r", "/m/r"):
        site[path] = article(prose("rose", 400), [path.replace("r", "s")])
    site["/s"], site["/m/s"] = article(prose("sea")), article(prose("sky"))
    links = [*paths, *[f"/m{path}" for path in paths], "/r", "/m/r"]
    site["/"] = article(prose("start"), links)
    assert "/m/s" in crawl().seen()


@pytest.mark.parametrize("takes", ["items", "text"])
@pytest.mark.parametrize(
    "before", [0, pytest.param(1, marks=pytest.mark.long)], ids=["new index", "old index"]
)
def test_processes_that_run_at_the_same_time_with_one_name_are_one_crawl(
    site: Site, tmp_path: Path, lasting_place: str, before: int, takes: str
) -> None:
    settings: dict[str, Any] = {"SIMHASH_INDEX": lasting_place, "CONCURRENT_REQUESTS": 4}
    settings["SIMHASH_TAKES"] = takes
    for folder in folders(tmp_path, *["before"] * before):
        run_job(crawl_job(site, folder, start=open_session(site, "old"), **settings), folder)
    barrier = threading.Barrier(4, timeout=60)  # all have begun before the first item is asked for
    jobs = {
        folder: crawl_job(
            site,
            folder,
            start=open_session(site, folder.name, barrier.wait),
            SIMHASH_CRAWL="one",
            **settings,
        )
        for folder in folders(tmp_path, "a", "b", "c", "d")
    }
    found = contents(side_by_side(jobs))
    assert found.keys() == WHOLE.keys()
    # While a process does not know yet what the section repeats, as others do, all of it is new.
    assert found.total() <= (1 if takes == "text" else 1.5) * WHOLE.total()


@pytest.mark.parametrize("other", ["Links", "OtherLinks"])
def test_two_arguments_or_spiders_are_two_crawls(
    site: Site, tmp_path: Path, lasting_place: str, other: str
) -> None:
    """The address to start from is an argument."""
    barrier = threading.Barrier(2, timeout=60)
    jobs = {
        folder: crawl_job(
            site,
            folder,
            spider,
            open_session(site, folder.name, barrier.wait),
            SIMHASH_INDEX=lasting_place,
        )
        for folder, spider in zip(folders(tmp_path, "a", "b"), ("Links", other), strict=True)
    }
    for result in side_by_side(jobs):
        assert contents([result]) == WHOLE


def test_runs_with_the_name_of_a_crawl_are_one(
    site: Site, tmp_path: Path, lasting_place: str
) -> None:
    results = []
    runs = [("a", "Links", "monday"), ("b", "OtherLinks", "monday"), ("c", "Links", "tuesday")]
    for (name, spider, crawl_name), folder in zip(
        runs, folders(tmp_path, "a", "b", "c"), strict=True
    ):
        job = crawl_job(
            site,
            folder,
            spider,
            open_session(site, name),
            SIMHASH_INDEX=lasting_place,
            SIMHASH_CRAWL=crawl_name,
        )
        results.append(contents([run_job(job, folder)]))
    assert results == [WHOLE, Counter(), WHOLE]


@pytest.mark.parametrize("resumes", [True, False])
def test_killed_crawl_goes_on_where_it_was_if_it_resumes_its_job(
    site: Site, tmp_path: Path, resumes: bool
) -> None:
    site["/"] = article(prose("start"), [*PATHS, "/last"])
    for path in PATHS:
        site[path] = article(prose(f"of{path[1:]}x"))
    settings = {"JOBDIR": "job", "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue"}
    job = crawl_job(site, tmp_path, **settings)
    with start_job(job, tmp_path) as first:

        def kill(visit: int) -> str:
            while (tmp_path / "items.jsonl").read_bytes().count(b"\n") < 1 + ITEMS:
                threading.Event().wait(0.01)  # the spider still looks at the page before
            first.send_signal(signal.SIGKILL)
            return ""

        site["/last"] = kill
        first.wait()
    assert len(crawl_result(0, "", tmp_path).items) == 1 + ITEMS
    copies = [f"/copy{i}" for i in range(ITEMS)]
    site["/"] = article(prose("start"), copies)
    for path, copy in zip(PATHS, copies, strict=True):
        site[copy] = site.pages[path]
    if not resumes:
        (tmp_path / "job").rename(tmp_path / "old job")
    result = run_job(job, tmp_path)
    assert result.returncode == 0, result.log
    reasons = Counter(d["reason"] for d in result.decisions if "/copy" in d["url"])
    assert reasons == {"same_text" if resumes else "moved": ITEMS}
