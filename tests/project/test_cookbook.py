"""Every example of docs/cookbook.md, run against a site on loopback."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import forking
from tests.command_line import SCRAPY
from tests.conftest import Site, article, path_of, prose
from tests.redis_servers import RedisServer

COOKBOOK = Path(__file__).parents[2] / "docs" / "cookbook.md"
BLOCK = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUIET = """
SPIDER_MODULES = ["spider"]
TELNETCONSOLE_ENABLED = REMOTE_CONTROL_ENABLED = False
SIMHASH_WORKERS = 0
CONCURRENT_REQUESTS = 1
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"
"""
SPIDER = """
import scrapy


class Everything(scrapy.Spider):
    name = "everything"
    start_urls = ["https://shop.example/"]

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")
"""


def recipe(heading: str, number: int = 0) -> dict[str, str]:
    """The files of a section; of several with one name, that of a number."""
    section = COOKBOOK.read_text("utf-8").split(f"\n## {heading}\n")[1].partition("\n## ")[0]
    files: dict[str, list[str]] = {}
    for name, code in BLOCK.findall(section):
        files.setdefault(name, []).append(code)
    return {name: codes[number % len(codes)] for name, codes in files.items()}


def crawl(folder: Path, site: Site, files: dict[str, str], more: str = "") -> list[dict[str, Any]]:
    """Crawl with the files of a recipe and the example's spider, and return the items."""
    plain = {"settings.py": 'ADDONS = {"scrapy_simhash.Addon": 500}\n', "spider.py": SPIDER}
    for name, code in {**plain, **files}.items():
        text = code.replace("https://shop.example", site.url)
        (folder / name).write_text(text + (QUIET + more if name == "settings.py" else ""))
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = settings\n")
    (name,) = re.findall(r'name = "(\w+)"', (folder / "spider.py").read_text())
    done = forking.run([SCRAPY, "crawl", name, "-O", "items.jsonl"], folder)
    assert done.returncode == 0, done.stderr
    (folder / "log").write_text(done.stderr)
    # Spidermon shows the traceback of each monitor that fails.
    assert "Traceback" not in done.stderr.partition(" MONITORS ")[0]
    return [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]


def at_first(wall: str, page: str) -> Callable[[int], str]:
    """What a path shows that shows a wall at the first visit."""
    return lambda visit: wall if visit == 1 else page


def paths(items: list[dict[str, Any]]) -> list[str]:
    return sorted(path_of(item["url"]) for item in items)


@pytest.fixture
def copies(site: Site) -> Site:
    site["/"] = article(prose("start"), ["/a", "/copy", "/b"])
    site["/a"] = site["/copy"] = article(prose("lamp"))
    site["/b"] = article(prose("boat"))
    return site


def test_observe(copies: Site, tmp_path: Path) -> None:
    assert paths(crawl(tmp_path, copies, recipe("First: observe"))) == ["/", "/a", "/b", "/copy"]
    assert "/copy" in (tmp_path / "report.html").read_text()
    lines = (tmp_path / "decisions.jsonl").read_text().splitlines()
    assert Counter(json.loads(line)["verdict"] for line in lines)["exact_duplicate"] == 1


def test_shop(site: Site, tmp_path: Path) -> None:
    """Variants that differ in their number only, and a copy of the first."""
    names = ["/lamp/1", "/lamp/2", "/print/1", "/cart", "/account/cart"]
    site["/"] = article(prose("start"), names)
    text = prose("lamp", 400)
    for name in names[:3]:
        number = f'<p class="article-number">{name[-1]}</p>'
        site[name] = article(text).replace("<article>", f"<article>{number}", 1)
    site["/cart"] = site["/account/cart"] = article(prose("cart"))
    expected = ["/", "/account/cart", "/cart", "/lamp/1", "/lamp/2"]
    assert paths(crawl(tmp_path, site, recipe("A shop"))) == expected


FORM = article(prose("log in")).replace(
    "<article>", '<article><form id="login" method="post" action="/session"><input name="a"></form>'
)


def test_login(site: Site, tmp_path: Path) -> None:
    """The session ends in the middle: three pages are the form once."""
    pages = [f"/page{i}" for i in range(6)]
    site["/login"] = FORM
    site["/session"] = article(prose("welcome"), pages)
    for i, page in enumerate(pages):
        whole = article(prose(f"topic{i}x"))
        site[page] = at_first(FORM, whole) if i in (2, 3, 4) else whole
    items = crawl(tmp_path, site, recipe("A login"))
    assert paths(items) == pages
    assert all("topic" in item["text"] for item in items)


def test_captcha(site: Site, tmp_path: Path) -> None:
    pages = [f"/page{i}" for i in range(6)]
    captcha = article(prose("are you human")).replace("<article>", '<article id="captcha">')
    site["/"] = article(prose("start"), pages)
    for i, page in enumerate(pages):
        whole = article(prose(f"topic{i}x"))
        site[page] = at_first(captcha, whole) if i > 1 else whole
    assert paths(crawl(tmp_path, site, recipe("Captchas and retries"))) == ["/", *pages]


@pytest.mark.parametrize(
    ("number", "again"), [(0, ["/", "/a?moved", "/b"]), (1, ["/", "/b"])], ids=["crawl", "ever"]
)
def test_crawling_again(copies: Site, tmp_path: Path, number: int, again: list[str]) -> None:
    files = recipe("Crawling again", number)
    copies["/c"] = article(prose("cup"))
    copies["/"] = article(prose("start"), ["/a", "/b", "/c"])
    assert paths(crawl(tmp_path, copies, files)) == ["/", "/a", "/b", "/c"]
    copies["/"] = article(prose("start"), ["/a?moved", "/b", "/c"])
    copies["/a?moved"] = copies.pages["/a"]
    copies["/b"] = article(prose("another boat"))
    assert paths(crawl(tmp_path, copies, files)) == again


def test_scrapyd_needs_nothing_but_the_add_on(copies: Site, tmp_path: Path) -> None:
    """The crawl of a real scrapyd is in tests/crawl/test_scrapyd.py, with the same settings."""
    assert recipe("scrapyd") == {"settings.py": 'ADDONS = {"scrapy_simhash.Addon": 500}\n'}


def test_scrapy_redis(copies: Site, tmp_path: Path) -> None:
    with RedisServer(tmp_path / "redis") as server:
        files = recipe("scrapy-redis")
        settings = files["settings.py"].replace("redis://redis.example:6379", server.url)
        items = [crawl(tmp_path, copies, {"settings.py": settings}) for _ in range(2)]
        with server.client() as client:
            assert client.keys("simhash:1:*:about")
    assert paths(items[0]) == ["/", "/a", "/b"]


@pytest.mark.long
def test_playwright(copies: Site, tmp_path: Path) -> None:
    pytest.importorskip("scrapy_playwright", reason="scrapy-playwright is not installed")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if browser is None:
        pytest.skip("Chromium is not installed")
    launch = {"executable_path": browser, "args": ["--no-sandbox"]}
    more = f"PLAYWRIGHT_LAUNCH_OPTIONS = {launch}\n"
    assert paths(crawl(tmp_path, copies, recipe("Playwright"), more)) == ["/", "/a", "/b"]


def test_prometheus(copies: Site, tmp_path: Path) -> None:
    """Prometheus' own parser reads the file."""
    parser = pytest.importorskip("prometheus_client.parser", reason="prometheus_client is missing")
    files = recipe("Prometheus")
    place = {"/var/lib/node_exporter": str(tmp_path)}
    files["settings.py"] = files["settings.py"].replace(*place.popitem())
    crawl(tmp_path, copies, files)
    text = (tmp_path / "everything.prom").read_text()
    (family,) = parser.text_string_to_metric_families(text)
    found = {sample.labels["stat"]: sample.value for sample in family.samples}
    assert found["simhash/judged"] == 4
    assert found["simhash/exact_duplicate"] == 1
    assert {sample.labels["spider"] for sample in family.samples} == {"everything"}


def test_spidermon(copies: Site, tmp_path: Path) -> None:
    """One of the expressions is false for a crawl of two pages and eleven copies."""
    pytest.importorskip("spidermon", reason="Spidermon is not installed")
    names = ["no alarm", "at most 90 % duplicates", "at most 1 % failed", "pages were judged"]
    names += ["the decisions feed is whole"]
    files = recipe("Spidermon")
    crawl(tmp_path, copies, files)
    log = (tmp_path / "log").read_text()
    assert [name for name in names if f"Near-duplicates/{name}... OK" not in log] == []
    copies["/"] = article(prose("start"), [f"/copy{i}" for i in range(25)])
    for i in range(25):
        copies[f"/copy{i}"] = article(prose("copy"))
    crawl(tmp_path, copies, files, 'SIMHASH_INDEX = "memory:"\n')
    log = (tmp_path / "log").read_text()
    assert f"Near-duplicates/{names[0]}... FAIL" in log
    assert f"Near-duplicates/{names[1]}... FAIL" in log
    assert f"Near-duplicates/{names[2]}... OK" in log


def test_policy(site: Site, tmp_path: Path) -> None:
    site["/"] = article(prose("start"), ["/a", "/priced", "/copy"])
    site["/a"] = site["/copy"] = article(prose("lamp"))
    site["/priced"] = article(prose("lamp")).replace("<p>", '<p class="price">', 1)
    found = paths(crawl(tmp_path, site, recipe("Pages of your own choice")))
    assert found == ["/", "/a", "/priced"]


def test_site_is_left_alone_after_an_alarm_and_no_other(site: Site, tmp_path: Path) -> None:
    clean = site.url.replace("127.0.0.1", "localhost")
    site["/"] = article(prose("start"), ["/day/0", f"{clean}/story/0"])
    for i in range(50):
        site[f"/day/{i}"] = article(prose("day"), [f"/day/{i + 1}"])
        site[f"/story/{i}"] = article(prose(f"story{i}x"), [f"/story/{i + 1}"])
    settings = 'SIMHASH_ACTION = "observe"\nSIMHASH_INDEX = "memory:"\n'
    items = crawl(tmp_path, site, recipe("A site that is left alone"), settings)
    found = Counter(path.split("/")[1] for path in paths(items))
    assert found["day"] < found["story"] == 50


def test_every_example_has_a_test() -> None:
    headings = re.findall(r"^## (.*)$", COOKBOOK.read_text("utf-8"), re.MULTILINE)
    source = Path(__file__).read_text("utf-8")
    assert [heading for heading in headings if f'recipe("{heading}"' not in source] == []
