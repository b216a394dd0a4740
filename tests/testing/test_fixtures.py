"""The fixtures for tests of users: what a crawl of a folder or a server keeps and drops."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response, TextResponse

from scrapy_simhash.testing import CrawlError, CrawlFunction, CrawlResult, SiteFunction
from tests.conftest import Site, article, prose

pytest_plugins = ["pytester"]

DOCUMENT = (Path(__file__).parents[2] / "docs" / "testing.md").read_text()
NEWS_SPIDER = """
from scrapy import Spider

class NewsSpider(Spider):
    name = "news"

    def parse(self, response):
        yield from response.follow_all(css="a")
"""


class News(Spider):
    """A spider that would crawl another host."""

    name = "news"
    allowed_domains = ("news.example",)
    start_urls = ["http://news.example/"]  # noqa: RUF012 - as Scrapy has it
    custom_settings = {"SIMHASH_INDEX": "lasting.simhash"}  # noqa: RUF012

    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        yield {"url": response.url, "status": response.status}
        assert isinstance(response, TextResponse)
        yield from response.follow_all(css="a")


class Section(News):
    """A spider that says itself where it starts."""

    def __init__(self, section: str) -> None:
        super().__init__()
        self.start_urls = [section]


class Failing(News):
    def parse(self, response: Response) -> Iterator[dict[str, Any] | Request]:
        raise ValueError("no title")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A start page, an article, its print view, and a link that leads nowhere."""
    folder = tmp_path / "site"
    folder.mkdir()
    links = ["article.html", "print.html", "gone.html", "http://news.example/"]
    (folder / "index.html").write_text(article(prose("start"), links))
    (folder / "article.html").write_text(article(prose("lamp", 300)))
    (folder / "print.html").write_text(article(prose("lamp", 300)))
    return folder


def test_example_of_the_docs_passes(pytester: pytest.Pytester, folder: Path) -> None:
    example = re.search(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
    assert example
    (pytester.mkpydir("myproject") / "spiders.py").write_text(NEWS_SPIDER)
    folder.rename(pytester.path / "site")
    pytester.makepyfile(example[1])
    done = pytester.runpytest_subprocess("-W", "error", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=1)


@pytest.mark.usefixtures("forked_crawls")
def test_folder_without_an_index_is_a_list_of_its_files(
    simhash_crawl: CrawlFunction, folder: Path
) -> None:
    (folder / "index.html").unlink()
    result = simhash_crawl(News, folder)
    assert result.kept == {"/", "/article.html"}
    assert result.dropped == {"/print.html": "/article.html"}
    assert [item["status"] for item in result.items] == [200, 200]
    assert [d["verdict"] for d in result.decisions] == ["unique", "unique", "exact_duplicate"]
    assert result.stats["simhash/dropped"] == 1
    assert "is a near-duplicate of" in result.log


@pytest.mark.usefixtures("forked_crawls")
def test_server_is_crawled_from_its_url(site: Site, simhash_crawl: CrawlFunction) -> None:
    site["/list?page=1"] = article(prose("start"), ["/a", "/b?print=1"])
    site["/a"] = site["/b?print=1"] = article(prose("lamp", 300))
    result = simhash_crawl("tests.testing.test_fixtures.News", f"{site.url}/list?page=1")
    assert result.kept == {"/list?page=1", "/a"}
    assert result.dropped == {"/b?print=1": "/a"}
    assert simhash_crawl(News, f"{site.url}/list?page=1", SIMHASH_ACTION="flag").dropped == {}


def test_spider_with_arguments_says_where_it_starts(
    simhash_crawl: CrawlFunction, simhash_site: SiteFunction, folder: Path
) -> None:
    url = simhash_site(folder)
    assert simhash_site(folder) == url
    result = simhash_crawl(Section, url, arguments={"section": f"{url}print.html"})
    assert result.kept == {"/print.html"}


@pytest.mark.usefixtures("forked_crawls")
def test_second_crawl_continues_with_a_lasting_index(
    simhash_crawl: CrawlFunction, folder: Path, tmp_path: Path
) -> None:
    settings = {"SIMHASH_INDEX": "pages.simhash", "SIMHASH_SKIP_UNCHANGED": True}
    simhash_crawl(News, folder, **settings)
    again = simhash_crawl(News, folder, **settings)
    assert again.kept == {"/"}
    assert again.dropped == {"/article.html": "/article.html", "/print.html": "/article.html"}
    assert (tmp_path / "pages.simhash").exists()
    assert not (tmp_path / "lasting.simhash").exists()


@pytest.mark.usefixtures("forked_crawls")
@pytest.mark.parametrize(
    ("spider", "settings", "message", "log"),
    [
        (Failing, {}, "failed in the spider, 1 times", "ValueError: no title"),
        (News, {"SIMHASH_DISTANCE": 8}, "failed with exit code 1", "SIMHASH_DISTANCE must be"),
        (News, {"ADDONS": {}}, "failed to get a page that could be judged", "Spider closed"),
        (News, {"timeout_seconds": 0.1}, "failed to end within 0.1 seconds", ""),
        ("tests.gone.News", {}, "failed with exit code 1", "No module named 'tests.gone'"),
        ("tests.spiders.Gone", {}, "failed with exit code 1", "has no attribute 'Gone'"),
    ],
)
def test_crawl_that_fails_shows_the_end_of_its_log(
    simhash_crawl: CrawlFunction,
    folder: Path,
    spider: type | str,
    settings: dict[str, Any],
    message: str,
    log: str,
) -> None:
    with pytest.raises(CrawlError, match=message) as failed:
        simhash_crawl(spider, folder, **settings)
    assert log in str(failed.value)


def test_what_cannot_be_crawled_is_refused(simhash_crawl: CrawlFunction, tmp_path: Path) -> None:
    class Local(News):
        pass

    with pytest.raises(ValueError, match="spider must be at the top of a module: got <class"):
        simhash_crawl(Local, "http://news.example/")
    with pytest.raises(ValueError, match=r"site must be a pathlib.Path or a URL: got 'site'"):
        simhash_crawl(News, "site")
    with pytest.raises(NotADirectoryError, match=r"site must be a folder: got '/.*/gone'"):
        simhash_crawl(News, tmp_path / "gone")


def test_every_field_of_the_result_stands_in_the_docs() -> None:
    documented = re.findall(r"^\| `(\w+)` \|", DOCUMENT, re.MULTILINE)
    assert documented == [field.name for field in fields(CrawlResult)]


def test_start_of_pytest_loads_nothing_heavy() -> None:
    code = "import sys, scrapy_simhash.testing; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "scrapy_simhash.testing" in loaded
    heavy = {"scrapy", "lxml", "twisted", "trafilatura", "regex", "mmh3", "http.server"}
    assert not loaded & heavy
    own = {name for name in loaded if name.startswith("scrapy_simhash.")}
    assert own == {"scrapy_simhash.testing"}
