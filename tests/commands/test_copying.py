"""``scrapy simhash import`` of an index, and the other commands, on an index in Redis."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.decision.page import Page, Row, met_by
from scrapy_simhash.errors import IndexMismatchError
from scrapy_simhash.index.base import Index
from scrapy_simhash.index.survey import copy
from tests import command_line as commands
from tests.conftest import CrawlFixture, Site, article, prose
from tests.fault_writer import page_of
from tests.indexes import Blocking, open_index
from tests.pages import PARAMETERS, VERIFIED, near, page, page_with_content
from tests.redis_servers import new_redis_url


def opened(place: str, verified: bool = False) -> Blocking:
    return open_index(place, VERIFIED if verified else PARAMETERS)


def copied(source: Blocking, target: Blocking, rows: int | None = None) -> list[Row]:
    """Copy *rows* of them, all by default."""

    async def some() -> list[Row]:
        assert isinstance(source.index, Index)
        assert isinstance(target.index, Index)
        found: list[Row] = []
        async with aclosing(copy(source.index, target.index)) as copying:
            async for row in copying:
                found.append(row)
                if len(found) == rows:
                    break
        return found

    return target.run(some())


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "copied.simhash")


def told(index: Blocking) -> dict[tuple[str, str], tuple[Page, str | None]]:
    """What is in an index, but for its numbers: pages by scope and URL, with their kept pages."""
    rows = index.rows()
    urls = {row.id: row.page.url for row in rows}
    crawls = {crawl.id: crawl.started_at for crawl in index.crawls()}
    return {
        (row.page.scope, row.page.url): (
            # A file has whole seconds.
            replace(
                row.page,
                crawl=crawls.get(row.page.crawl or 0),
                judged_at=int(row.page.judged_at),
            ),
            None if row.representative is None else urls[row.representative],
        )
        for row in rows
    }


def fill(index: Blocking) -> None:
    run = index.begin_crawl("spider")
    for i in range(300):
        scope = f"{i % 3}.example"
        for writer in range(2):
            index.check_and_add(replace(page_of(i, writer), scope=scope, crawl=run.id))
    index.end_crawl(run)
    # A duplicate that is older than the page that it points to.
    index.check_and_add(page("old", 0b0))
    index.check_and_add(page("moves", 0b1))
    index.check_and_add(page("new", 0xFF00))
    index.check_and_add(page("moves", 0xFF01))


@pytest.mark.parametrize("to_redis", [True, False], ids=["to Redis", "to a file"])
def test_all_that_is_in_an_index_is_in_its_copy(path: str, to_redis: bool) -> None:
    places = (path, new_redis_url()) if to_redis else (new_redis_url(), path)
    with opened(places[0]) as source, opened(places[1]) as target:
        fill(source)
        assert len(copied(source, target)) == 603
        assert told(target) == told(source)
        assert target.counts() == source.counts()
        assert target.check_and_add(page("another", 0xFF10)) == near("new", 1)
        again = replace(page_of(3, 0), scope="0.example", crawl=target.begin_crawl("spider").id)
        assert target.check_and_add(again).reason == "unchanged"


def test_no_crawl_has_met_the_pages_of_a_copy(path: str, redis_url: str) -> None:
    """The numbers of crawls are those of one index."""
    with opened(path) as source, opened(redis_url) as target:
        source.check_and_add(replace(page("a", 0b0), met_by=met_by(1)))
        copied(source, target)
        assert [row.page.met_by for row in target.rows()] == [None]
        assert target.check_and_add(replace(page("b", 0b1), met_by=met_by(1))).reason == "moved"


def test_copy_that_was_broken_off_goes_on(path: str, redis_url: str) -> None:
    with opened(path) as source, opened(redis_url) as target:
        fill(source)
        copied(source, target, rows=100)
        assert target.counts().pages == 100
        copied(source, target)
        assert told(target) == told(source)
        assert len(target.crawls()) == 1


def test_what_sites_repeat_is_copied(path: str, redis_url: str) -> None:
    with opened(path, verified=True) as source:
        for i in range(40):
            content = range(1000 * i + 1, 1000 * i + 51)
            fingerprint = page_of(i, 0).fingerprint
            source.check_and_add(
                page_with_content(f"{i}", content, fingerprint, content_fingerprint=fingerprint)
            )
    with opened(path, verified=True) as source, opened(redis_url, verified=True) as target:
        copied(source, target)
    with opened(redis_url, verified=True) as target:
        assert target.learned.template("site.example") == {1}


def test_index_of_another_kind_is_no_target(path: str, redis_url: str) -> None:
    with opened(path) as source:
        fill(source)
        with (
            open_index(redis_url, replace(PARAMETERS, scheme="other")) as target,
            pytest.raises(IndexMismatchError, match="has scheme 'other'"),
        ):
            copied(source, target)


def simhash(folder: Path, *arguments: str, expected: int = 0) -> Any:
    done = commands.simhash(folder, *arguments, "--json")
    assert done.returncode == expected, done.stderr
    assert ":PASSWORD@1" not in done.stdout + done.stderr
    assert "secret" not in done.stdout + done.stderr
    return json.loads(done.stdout) if done.stdout else done.stderr


def test_commands_tend_an_index_in_redis(
    site: Site, crawl: CrawlFixture, tmp_path: Path, redis_url: str
) -> None:
    site["/"] = article(prose("start"), ["/a", "/copy", "/b"])
    site["/a"] = site["/copy"] = article(prose("lamp"))
    site["/b"] = article(prose("boat"))
    crawl(SIMHASH_INDEX=redis_url)
    settings = ("-s", "SIMHASH_WORKERS=0")

    stats = simhash(tmp_path, "stats", redis_url)
    assert (stats["pages"], stats["kept"]) == (4, 3)
    assert [one["pages"] for one in stats["crawls"]] == [4]
    assert stats["largest_groups"] == [{"url": f"{site.url}/a", "duplicates": 1}]

    (tmp_path / "page.html").write_text(article(prose("boat")))
    checked = simhash(
        tmp_path, "check", redis_url, "page.html", "--url", f"{site.url}/x", *settings
    )
    assert checked["verdict"] == "exact_duplicate"

    assert simhash(tmp_path, "export", redis_url, "pages.jsonl")["pages"] == 4
    copied = simhash(tmp_path, "import", "copied.simhash", redis_url, *settings)
    assert copied == {"pages": 4, "copied": 4}
    assert simhash(tmp_path, "stats", "copied.simhash")["kept"] == 3
    assert simhash(tmp_path, "repair", "copied.simhash")["clean"]

    forgotten = simhash(tmp_path, "forget", redis_url, "--url", f"{site.url}/a")
    assert forgotten == {"forgotten": 1, "pages": 3, "kept": 3, "is_missing": False}
    # Of the page that took its place, it is not known which crawl passed it on.
    assert simhash(tmp_path, "forget", redis_url, "--spider", "links")["pages"] == 1


def test_what_a_command_cannot_do_in_redis_is_said(tmp_path: Path, redis_url: str) -> None:
    assert "is not there" in simhash(tmp_path, "stats", redis_url, expected=2)
    assert "needs an index that is a file" in simhash(tmp_path, "repair", redis_url, expected=2)
    wrong = "redis://user:secret@host/zero"
    assert "must be redis://" in simhash(tmp_path, "stats", wrong, expected=2)
