"""What a user sees where the plug-in refuses, warns, or stands back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import forking
from tests.commands import SCRAPY, simhash
from tests.conftest import CrawlFixture, Site, article, prose

SETTINGS = """
ADDONS = {"scrapy_simhash.Addon": 500}
SPIDER_MODULES = ["shop"]
SIMHASH_WORKERS = 0
TELNETCONSOLE_ENABLED = REMOTE_CONTROL_ENABLED = False
"""
SPIDER = '''
from scrapy import Spider

class Shop(Spider):
    name = "shop"
    start_urls = ["{url}/"]

    def parse(self, response):
        """Look at a page.

        @url {url}/
        @returns items 1
        """
        print("parsed", response.meta.get("simhash_decision"))
        yield {{"url": response.url}}
'''


@pytest.fixture
def project(site: Site, tmp_path: Path) -> Path:
    site["/"] = article(prose("start"))
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = settings\n")
    (tmp_path / "settings.py").write_text(SETTINGS)
    (tmp_path / "shop.py").write_text(SPIDER.format(url=site.url))
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    """Return what a command of Scrapy prints; it must end well."""
    done = forking.run([SCRAPY, *arguments], folder)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("fetch", "--spider", "shop", "URL"),
        ("view", "--spider", "shop", "URL"),
        ("parse", "--spider", "shop", "URL"),
        ("check", "shop"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_for_single_pages_leave_the_index_alone(
    project: Path, site: Site, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER", "true")
    run(project, *(site.url + "/" if one == "URL" else one for one in arguments))
    assert site.asked["/"] >= 1
    assert not (project / ".scrapy").exists()
    log = run(project, "crawl", "shop")
    assert "1 pages judged" in log
    assert (project / ".scrapy" / "simhash" / "shop.simhash").exists()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("SIMHASH_DISTANCE=9", "SettingsError: SIMHASH_DISTANCE must be a whole number from 0 to"),
        ("SIMHASH_FEATURES=verbs", "(SIMHASH_FEATURES) must be words-N or jieba-N"),
        ("SIMHASH_EXTRACTOR=none", "(SIMHASH_EXTRACTOR) must be 'auto' or"),
        ("SIMHASH_ENABLED=perhaps", "SIMHASH_ENABLED must be True or False: got 'perhaps'"),
        ("SIMHASH_INDEX=settings.py", "settings.py is not an index of scrapy-simhash"),
        ("CLOSESPIDER_SIMHASH_ALARM=a", "did you mean CLOSESPIDER_SIMHASH_ALARMS?"),
    ],
)
def test_refused_start_says_why_in_one_line(project: Path, setting: str, words: str) -> None:
    command: list[str | Path] = [SCRAPY, "crawl", "shop", "-s", setting]
    refused = forking.run([*command, "-s", "LOG_LEVEL=WARNING"], project)
    assert refused.returncode == 1
    (line,) = refused.stderr.splitlines()
    assert words in line
    whole = forking.run(command, project)
    assert "Traceback (most recent call last)" in whole.stderr


def test_repair_does_not_advise_to_repair(project: Path) -> None:
    run(project, "crawl", "shop")
    path = project / ".scrapy" / "simhash" / "shop.simhash"
    data = bytearray(path.read_bytes())
    data[100:4096] = b"\xff" * (4096 - 100)  # the first page after the header: no table is known
    path.write_bytes(data)
    stats = simhash(project, "stats", str(path))
    assert '"scrapy simhash repair" shows what can be mended' in stats.stderr
    repair = simhash(project, "repair", str(path))
    assert (stats.returncode, repair.returncode) == (2, 2)
    assert "is damaged" in repair.stderr
    assert 'scrapy simhash repair"' not in repair.stderr


def test_a_misspelt_spider_makes_no_index(project: Path) -> None:
    pages = project / "pages"
    pages.mkdir()
    (pages / "lamp.html").write_text(article(prose("lamp")))
    done = simhash(project, "import", "--spider", "shoop", str(pages))
    assert done.returncode == 2
    assert "there is no spider 'shoop' in this project, and no index of one" in done.stderr
    assert not list(project.rglob("*.simhash"))
    assert simhash(project, "import", "--spider", "shop", str(pages)).returncode == 0
    # An index outlives its spider.
    index = project / ".scrapy" / "simhash" / "shop.simhash"
    index.rename(index.with_stem("gone"))
    assert simhash(project, "stats", "--spider", "gone").returncode == 0


def test_links_that_no_drop_can_follow_are_warned_of(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"))
    warning = "SIMHASH_FOLLOW_DUPLICATE_LINKS has no effect"
    assert warning in crawl(SIMHASH_FOLLOW_DUPLICATE_LINKS=True).log
    settings = {"SIMHASH_FOLLOW_DUPLICATE_LINKS": True, "SIMHASH_ACTION": "flag"}
    assert warning not in crawl(**settings).log


def test_summary_says_what_scrapy_does_not_count(site: Site, crawl: CrawlFixture) -> None:
    site["/"] = article(prose("start"), ["/a", "/b"])
    site["/a"] = site["/b"] = article(prose("the same text"))
    result = crawl()
    assert result.stats["response_received_count"] == 2
    assert result.stats["downloader/response_count"] == 3
    assert "Scrapy's own counts of pages leave them out" in result.log


def test_commands_find_the_index_of_a_spider_by_its_name(project: Path) -> None:
    run(project, "crawl", "shop")
    place = project / ".scrapy" / "simhash" / "shop.simhash"
    by_path = simhash(project, "stats", str(place), "--json")
    assert by_path.returncode == 0
    assert simhash(project, "stats", "--spider", "shop", "--json").stdout == by_path.stdout
    assert simhash(project, "export", "--spider", "shop", "pages.jsonl").returncode == 0
    assert len((project / "pages.jsonl").read_text().splitlines()) == 2
    unknown = simhash(project, "stats", "--spider", "nobody")
    assert unknown.returncode == 2
    assert "no spider 'nobody' in this project, and no index of one" in unknown.stderr
    neither = simhash(project, "stats")
    assert neither.returncode == 2
    assert neither.stderr == (
        "scrapy simhash stats: say which index: its path or URL, or --spider NAME\n"
    )


def test_commands_know_the_settings_of_a_spider(project: Path) -> None:
    spider = project / "shop.py"
    line = '    custom_settings = {"SIMHASH_INDEX": "own.simhash"}\n'
    spider.write_text(spider.read_text().replace("    name =", f"{line}    name ="))
    run(project, "crawl", "shop")
    assert (project / "own.simhash").exists()
    assert "pages" in simhash(project, "stats", "--spider", "shop").stdout
    other = simhash(project, "stats", "--spider", "shop", "-s", "SIMHASH_INDEX=no.simhash")
    assert "no.simhash is not there" in other.stderr
