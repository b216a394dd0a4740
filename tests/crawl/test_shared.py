"""Spiders that run in one process share workers and an index."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.run import Shared
from scrapy_simhash.crawl.setup import parts_of
from scrapy_simhash.errors import IndexMismatchError
from scrapy_simhash.index.opening import observed_place, open_index
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.settings import TEXT, SimhashSettings
from tests.conftest import CrawlFixture, Site, article, prose
from tests.spiders import Links


class Resource:
    closed = 0

    async def close(self) -> None:
        self.closed += 1


def test_resource_is_closed_by_the_last_who_holds_it() -> None:
    shared: Shared[Resource] = Shared()
    one, again, other = (shared.take(key, Resource) for key in "aab")
    assert one is again
    assert one is not other
    for closed in (0, 1, 1):
        asyncio.run(shared.give_back(one))
        assert one.closed == closed
    assert shared.take("a", Resource) is not one
    assert shared.take("b", Resource) is other


@pytest.mark.parametrize("index", ["memory:", "one.simhash", None])
def test_two_spiders_share_workers_and_an_index_of_the_same_name(
    site: Site, crawl: CrawlFixture, tmp_path: Path, index: str | None
) -> None:
    site["/"] = article(prose("start"), ["/a", "/b"])
    site["/a"] = article(prose("lamp"))
    site["/b"] = article(prose("bread"))
    result = crawl(
        "Counted AlsoCounted",
        SIMHASH_INDEX=index,
        SIMHASH_WORKERS=2,
    )
    assert result.returncode == 0, result.log
    verdicts = Counter(d["verdict"] for d in result.decisions)
    assert verdicts == ({"unique": 6} if index is None else {"unique": 3, "refresh": 3})
    stats = [json.loads(line) for line in (tmp_path / "stats.jsonl").read_text().splitlines()]
    assert max(one["test/workers"] for one in stats) == 2
    assert sum(one.get("simhash/analyses_avoided", 0) for one in stats) == 3


def test_a_start_that_is_refused_leaves_no_file_open(tmp_path: Path) -> None:
    """The process may go on: a daemon, or a script with several crawls."""
    given = {"SIMHASH_INDEX": str(tmp_path / "seen.db"), "SIMHASH_ACTION": "observe"}
    crawler, settings = get_crawler(Links), SimhashSettings.read(given)
    observed = observed_place(given["SIMHASH_INDEX"])
    texts = Pipeline.of(replace(settings, takes=TEXT)).parameters

    async def start() -> None:
        await open_index(observed, texts).close()
        before = len([*Path("/proc/self/fd").iterdir()])
        with pytest.raises(IndexMismatchError):
            parts_of(crawler, settings)
        await asyncio.sleep(0.01)
        assert len([*Path("/proc/self/fd").iterdir()]) == before

    asyncio.run(start())


@pytest.mark.parametrize("index", ["seen.db", None])
def test_files_stay_where_they_are_when_the_working_folder_changes(
    site: Site, crawl: CrawlFixture, tmp_path: Path, index: str | None
) -> None:
    site["/"] = article(prose("start"), ["/page"])
    site["/page"] = article(prose("page"))
    result = crawl("Moves", SIMHASH_INDEX=index, SIMHASH_REPORT_FILE="report.html")
    assert [one["verdict"] for one in result.decisions] == ["unique", "unique"]
    assert (tmp_path / "report.html").exists()
    found = {one.name for one in (tmp_path / "elsewhere").iterdir()}
    assert found == {"items.jsonl", "stats.jsonl"}
