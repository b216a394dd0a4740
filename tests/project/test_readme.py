"""README.md, line by line: from a clone to the report on a spider of one's own."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Site, article, prose
from tests.documents import FOLDER, blocks
from tests.project.shells import Shell
from tests.project.test_packaging import tracked

SPIDER = """
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Own(CrawlSpider):
    name = "own"
    start_urls = ["{url}"]
    rules = [Rule(LinkExtractor(), callback="parse_page", follow=True)]

    def parse_page(self, response):
        yield {{"url": response.url}}
"""
# What a reader types: what follows "## Use it", after the lines that make the environment.
TYPED = [
    block
    for block in blocks("README.md")
    if block.line > (FOLDER / "README.md").read_text("utf-8").split("## Use it")[0].count("\n")
    and block.language in ("sh", "python")
]
LINES = 8


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    # Compiling would take minutes, and .ci/release-check does it.
    shell = Shell(tmp_path, SIMHASH_BUILD="pure", PYTHONPATH="")
    yield shell
    shell.close()


def test_the_readme_needs_few_lines() -> None:
    typed = [line for block in TYPED for line in block.text.splitlines()]
    assert len(["git clone", "python -m venv", *typed]) <= LINES


@pytest.mark.long
def test_what_the_readme_says_leads_to_a_report_on_ones_own_spider(
    shell: Shell, site: Site, tmp_path: Path
) -> None:
    site["/"] = article(prose("start"), ["/a", "/a?utm_source=b", "/other"])
    site["/a"] = site["/a?utm_source=b"] = article(prose("the same text"), ["/"])
    site["/other"] = article(prose("other"), ["/"])
    for name in tracked():
        (tmp_path / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(FOLDER / name, tmp_path / "clone" / name)
    # A project that somebody has.
    shell.type(f"{sys.executable} -m venv own && . own/bin/activate")
    (install, settings, crawl) = TYPED
    shell.type(f"cd clone && {install.text.strip()} > installed.log 2>&1 && cd ..")
    shell.type("scrapy startproject house > started.log && cd house")
    project = tmp_path / "house" / "house"
    (project / "spiders" / "own.py").write_text(SPIDER.format(url=site.url))
    with (project / "settings.py").open("a") as file:
        file.write(f"\nDOWNLOAD_DELAY = 0\n{settings.text}")
    command = crawl.text.strip().replace("NAME", "own")
    shell.type(f"{command} 2> observe.log")
    observed = (tmp_path / "house" / "observe.log").read_text()
    assert re.search(r"would drop 1 of 5 pages.*; see report-own.html; then remove", observed)
    assert "1 would be dropped" in (tmp_path / "house" / "report-own.html").read_text()
    without = (project / "settings.py").read_text().replace(settings.text.splitlines()[1], "")
    (project / "settings.py").write_text(without)
    shell.type(f"{command} 2> drop.log")
    assert "\n  1 dropped, of " in (tmp_path / "house" / "drop.log").read_text()
