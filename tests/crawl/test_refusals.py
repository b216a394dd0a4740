"""What a user sees where the plug-in refuses, warns, or stands back."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from scrapy.utils.test import get_crawler

from scrapy_simhash.addon import DOWNLOADER_MIDDLEWARE_ORDER
from scrapy_simhash.crawl import OLDEST_SCRAPY
from scrapy_simhash.crawl.parking import parking_place
from scrapy_simhash.crawl.run import INDEXES
from scrapy_simhash.crawl.setup import index_of
from scrapy_simhash.settings import SimhashSettings
from tests import forking
from tests.command_line import SCRAPY, simhash
from tests.conftest import FOLDER, CrawlFixture, Site, article, prose
from tests.pages import PARAMETERS
from tests.spiders import Links

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


def test_an_old_scrapy_is_refused_in_one_line() -> None:
    old = "scrapy.version_info = 2, 13, 4; scrapy.__version__ = '2.13.4'"
    script = f"import scrapy; {old}; import scrapy_simhash.addon"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        f"scrapy-simhash needs Scrapy {OLDEST_SCRAPY} or later, and found 2.13.4: pip install "
        f'"scrapy>={OLDEST_SCRAPY}", or take scrapy_simhash.Addon out of ADDONS\n'
    )
    assert f"scrapy>={OLDEST_SCRAPY}\n" in (FOLDER / "setup.cfg").read_text()
    assert f"scrapy=={OLDEST_SCRAPY}.*" in (FOLDER / "Makefile").read_text()


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
    log = run(project, *(site.url + "/" if one == "URL" else one for one in arguments))
    assert log.count("so no page is judged") <= 1
    assert "Disabled" not in log
    assert site.asked["/"] >= 1
    assert not (project / ".scrapy").exists()
    log = run(project, "crawl", "shop")
    assert "1 page judged" in log
    assert (project / ".scrapy" / "simhash" / "shop.simhash").exists()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("SIMHASH_DISTANCE=9", "SettingsError: SIMHASH_DISTANCE must be a whole number from 0 to"),
        ("SIMHASH_FEATURES=verbs", "(SIMHASH_FEATURES) must be words-N or jieba-N"),
        ("SIMHASH_EXTRACTOR=none", "(SIMHASH_EXTRACTOR) must be 'auto' or"),
        ("SIMHASH_ENABLED=perhaps", "SIMHASH_ENABLED must be True or False: got 'perhaps'"),
        ("SIMHASH_INDEX=settings.py", "settings.py is not an index of scrapy-simhash"),
        ("SIMHASH_CLOSE_ON=trap,fire", "SIMHASH_CLOSE_ON must be a list of one_text, trap"),
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
    assert '"scrapy simhash repair INDEX" shows what can be mended' in stats.stderr
    repair = simhash(project, "repair", str(path))
    assert (stats.returncode, repair.returncode) == (2, 2)
    assert "is damaged" in repair.stderr
    assert "scrapy simhash repair INDEX" not in repair.stderr


def test_a_misspelt_spider_makes_no_index(project: Path) -> None:
    pages = project / "pages"
    pages.mkdir()
    (pages / "lamp.html").write_text(article(prose("lamp")))
    done = simhash(project, "import", "--spider", "shoop", str(pages))
    assert done.returncode == 2
    assert "there is no spider 'shoop' in this project, and no index of one" in done.stderr
    assert "The spiders are: shop" in done.stderr
    assert not list(project.rglob("*.simhash"))
    assert simhash(project, "import", "--spider", "shop", str(pages)).returncode == 0
    # An index outlives its spider.
    index = project / ".scrapy" / "simhash" / "shop.simhash"
    index.rename(index.with_stem("gone"))
    assert simhash(project, "stats", "--spider", "gone").returncode == 0


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
    assert len((project / "pages.jsonl").read_text().splitlines()) == 1
    unknown = simhash(project, "stats", "--spider", "nobody")
    assert unknown.returncode == 2
    assert "no spider 'nobody' in this project, and no index of one" in unknown.stderr
    for subcommand in ("stats", "rules", "import"):
        named = simhash(project, subcommand, "shop", *(["."] if subcommand == "import" else []))
        assert named.returncode == 2
        assert named.stderr == (
            f"scrapy simhash {subcommand}: shop is not there: did you mean --spider shop?\n"
        )
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


@pytest.mark.parametrize("rules", ["suggest", "use"])
@pytest.mark.parametrize("in_the_way", [".scrapy", ".scrapy/simhash"])
def test_crawl_whose_default_place_cannot_be_written_goes_on_in_memory(
    project: Path, in_the_way: str, rules: str
) -> None:
    (project / in_the_way).parent.mkdir(exist_ok=True)
    (project / in_the_way).write_text("a file, where a folder should be")
    log = run(project, "crawl", "shop", "-s", f"SIMHASH_RULES={rules}")
    (line,) = [one for one in log.splitlines() if "The index is in memory" in one]
    assert "WARNING: The index is in memory, so the next crawl does not know these pages" in line
    assert "shop.simhash cannot be made" in line
    assert "Set SIMHASH_INDEX to a place that can be written" in line
    assert "1 page judged" in log
    assert "0 pages in memory" in log
    assert ("WARNING: No requests are parked, as they cannot be kept" in log) == (rules == "use")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("SIMHASH_INDEX=file/shop.simhash", "file/shop.simhash cannot be made"),
        ("SIMHASH_INDEX=file", "file is not an index of scrapy-simhash"),
        ("SIMHASH_DECISIONS_FILE=file/decisions.jsonl", "SIMHASH_DECISIONS_FILE must be a path"),
    ],
)
def test_place_that_the_user_chose_is_refused_if_it_cannot_be_written(
    project: Path, setting: str, words: str
) -> None:
    (project / "file").write_text("no folder, and no index" * 100)
    refused = forking.run([SCRAPY, "crawl", "shop", "-s", setting], project)
    assert refused.returncode == 1
    assert words in refused.stderr


def test_file_of_something_else_at_the_default_place_is_refused(project: Path) -> None:
    place = project / ".scrapy" / "simhash" / "shop.simhash"
    place.parent.mkdir(parents=True)
    place.write_text("something else" * 100)
    refused = forking.run([SCRAPY, "crawl", "shop"], project)
    assert refused.returncode == 1
    assert "shop.simhash is not an index of scrapy-simhash" in refused.stderr
    assert place.read_text() == "something else" * 100


def test_data_folder_that_cannot_be_made_leaves_the_index_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Scrapy itself makes it."""

    def read_only(path: str) -> str:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("scrapy_simhash.crawl.setup.data_path", read_only)
    crawler = get_crawler(Links)
    index, _ = index_of(crawler, SimhashSettings(), PARAMETERS)
    asyncio.run(INDEXES.give_back(index))
    assert str(index) == "memory:"
    assert parking_place(crawler, SimhashSettings(rules="use")) is None
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "Permission denied" in caplog.text


MIDDLEWARES = """
class Changes:
    def process_response(self, request, response):
        return response

class Asks:
    def process_request(self, request):
        pass

class Refuses:
    def process_spider_input(self, response):
        pass

class Yields:
    async def process_spider_output(self, response, result):
        async for one in result:
            yield one
"""


def test_middlewares_between_the_verdict_and_the_spider_are_named(project: Path) -> None:
    (project / "mine.py").write_text(MIDDLEWARES)
    settings = project / "settings.py"
    downloader = '{"mine.Asks": 1, "mine.Changes": ORDER}'
    for place, names in ((-1, "mine.Changes, mine.Refuses"), (1, "mine.Refuses"), (1, None)):
        order = str(DOWNLOADER_MIDDLEWARE_ORDER + place)
        mine = f"\nDOWNLOADER_MIDDLEWARES = {downloader.replace('ORDER', order)}\n"
        spider = '"mine.Yields": 543' + (', "mine.Refuses": 544' if names else "")
        settings.write_text(f"{SETTINGS}{mine}SPIDER_MIDDLEWARES = {{{spider}}}\n")
        log = run(project, "crawl", "shop")
        lines = [one for one in log.splitlines() if "Pages are judged before" in one]
        assert len(lines) == (names is not None)
        if names:
            assert f"INFO: Pages are judged before these middlewares get them: {names}." in lines[0]
            assert "an order above that of SimhashDownloaderMiddleware" in lines[0]
