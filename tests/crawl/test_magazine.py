"""A magazine of 40 articles at 2,000 addresses: observe, drop, use rules; no article is lost."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.settings import ITEMS
from tests.command_line import INDEX, simhash
from tests.conftest import Crawl, Site, crawl_job, ended, start_job
from tests.documents import FOLDER

sys.path.insert(0, str(FOLDER / "example_project"))

from demo_site.magazine import ARTICLES, Magazine
from demo_site.server import serve

ADDRESSES = 1_900


class Counting(Magazine):
    """A magazine that counts the requests for each of its addresses."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def answer(self, target: str) -> str | None:
        self.asked[target] += 1
        return super().answer(target)


@pytest.fixture
def magazine(site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counting]:
    """The magazine with a third of its sessions, at the URL of *site*."""
    monkeypatch.setattr("demo_site.magazine.SESSIONS", 5)
    magazine = Counting()
    with serve(site=magazine) as url:
        site.url = url.rstrip("/")
        yield magazine


def articles(done: Crawl) -> int:
    """How many articles the spider got, at whatever addresses."""
    found = (re.search(r"/(?:read|print)/(\d+)", item["url"]) for item in done.items)
    return len({one[1] for one in found if one is not None})


@pytest.mark.long
def test_rules_are_observed_and_used(magazine: Counting, site: Site, tmp_path: Path) -> None:
    def crawl(spider: str = "Links", **settings: Any) -> Crawl:
        (tmp_path / "items.jsonl").unlink(missing_ok=True)
        magazine.asked.clear()
        job = crawl_job(site, tmp_path, spider, **settings)
        with start_job(job, tmp_path) as started:
            return ended(started, tmp_path, timeout=600)

    settings = {"SIMHASH_TAKES": ITEMS, "SIMHASH_REPORT_FILE": "report.html"}
    observed = crawl(**settings, SIMHASH_ACTION="observe")
    everything = magazine.asked.total()
    assert everything >= ADDRESSES
    assert articles(observed) == ARTICLES

    listed = simhash(tmp_path, "rules", str(INDEX)).stdout
    waiting = re.findall(r"^ *(\d+)\. (.*)\n.*\n +waits: (\d+) of \d+ pairs", listed, re.M)
    numbers = [number for number, advice, right in waiting if int(right) >= ARTICLES - 1]
    assert numbers, listed
    assert "with two" not in listed

    dropping = crawl(**settings)
    assert magazine.asked.total() < everything
    assert articles(dropping) == ARTICLES

    used = crawl("Parks", **settings, SIMHASH_RULES="use")
    assert used.stats["simhash/rules/parked"] > 0
    assert magazine.asked.total() < everything
    assert articles(used) == ARTICLES
