"""Pages of a real browser, by scrapy-playwright: a dropped one is closed, and the crawl ends.

It takes the Chromium of the system.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Site, article, crawl_job, ended, prose, start_job

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        find_spec("scrapy_playwright") is None or CHROMIUM is None,
        reason="no scrapy-playwright, or no Chromium",
    ),
]

CONTEXTS = 16
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
BROWSER: dict[str, Any] = {
    "DOWNLOAD_HANDLERS": {"http": "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"},
    "PLAYWRIGHT_LAUNCH_OPTIONS": {"executable_path": CHROMIUM, "args": FLAGS},
    # A page that stays open takes the only place of its context.
    "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": 1,
    "CLOSESPIDER_TIMEOUT": 240,
}


def test_a_crawl_with_pages_of_a_browser_ends(site: Site, tmp_path: Path) -> None:
    pages = [f"/page/{i}" for i in range(40)]
    copies = [f"{page}?ref=menu" for page in pages[:30]]
    site["/"] = article(prose("start"), [*pages, *copies])
    for page in pages:
        site[page] = site[f"{page}?ref=menu"] = article(prose(f"text{page[6:]}x"))
    job = crawl_job(site, tmp_path, "Browses", CONTEXTS=CONTEXTS, **BROWSER)
    with start_job(job, tmp_path) as started:
        result = ended(started, tmp_path, timeout=300)  # a busy machine takes over two minutes
    assert result.stats["finish_reason"] == "finished"
    assert result.stats["simhash/dropped"] == len(copies)
    assert len(result.seen()) == 1 + len(pages)
    assert result.stats["playwright/page_count"] == len(pages) + len(copies)
