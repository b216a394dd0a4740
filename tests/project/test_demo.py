"""The demo site is what it says, and the demo finds it out."""

from __future__ import annotations

import json
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from scrapy_simhash.testing import CrawlFunction
from tests import forking
from tests.documents import FOLDER, blocks

EXAMPLE = FOLDER / "example_project"
sys.path.insert(0, str(EXAMPLE))

from demo_site.server import serve  # noqa: E402


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run of the demo leaves."""
    folder = tmp_path_factory.mktemp("demo")
    done = forking.run([EXAMPLE / "demo.py"], folder)
    assert done.returncode == 0, done.stderr
    assert "Found 75 pages: kept 34 (45 items), dropped 30" in done.stdout
    (folder / "printed.txt").write_text(done.stdout)
    return folder / "demo-output"


@pytest.fixture(scope="module")
def decisions(output: Path) -> dict[str, dict[str, str]]:
    """Path -> decision."""
    records = [json.loads(line) for line in (output / "decisions.jsonl").read_text().splitlines()]
    return {"/" + record["url"].split("/", 3)[3]: record for record in records}


def test_last_lines_say_where_to_look_next(output: Path) -> None:
    last = (output.parent / "printed.txt").read_text().split("\nLook next:\n")[1]
    (report,) = re.findall(r"^  the report +python3 -m webbrowser (\S+)$", last, re.MULTILINE)
    with urllib.request.urlopen(report) as page:
        assert b"<html" in page.read()
    assert f" {output} " in last
    pages = re.findall(r"\S+\.md", last)
    assert pages
    assert all((FOLDER / page).exists() for page in pages)


def shown_in(document: str, start: str) -> str:
    return next(block.text for block in blocks(document) if block.text.startswith(start))


def test_pair_in_the_readme_is_of_the_demo(decisions: dict[str, dict[str, str]]) -> None:
    shown = shown_in("README.md", "http://127.0.0.1/article")
    told = dict(re.findall(r"^http://127.0.0.1(\S+) +(\w+)", shown, re.MULTILINE))
    kept, copy = told
    assert told == {kept: "kept", copy: decisions[copy]["verdict"]}
    assert decisions[copy]["representative"].endswith(kept)
    assert f"of {kept}: {float(decisions[copy]['share']):.0%}" in shown.replace(" %", "%")


@pytest.mark.parametrize("document", ["README.md", "docs/index.md"])
def test_summary_in_the_documents_is_that_of_the_demo(output: Path, document: str) -> None:
    shown = shown_in(document, "INFO: Near-duplicates").rstrip()
    # The order of pages, session ids and clocks decide these.
    vary = r"[\d,.]+(?=(?: (?:exact|bytes|ms))\b)"
    summary = r"[\d,.]+".join(map(re.escape, re.split(vary, shown)))
    assert re.search(summary, (output / "crawl.log").read_text())


def group(decisions: dict[str, dict[str, str]], path: str) -> set[str]:
    """The pages that were found to be one with that at *path*."""

    def kept(record: dict[str, str]) -> str:
        return record["representative"] or record["url"]

    return {p for p, record in decisions.items() if kept(record) == kept(decisions[path])}


@pytest.mark.parametrize("slug", ["lamp-en", "ferry-en", "kites-ja"])
def test_print_view_session_link_and_mirror_are_one_page(
    decisions: dict[str, dict[str, str]], slug: str
) -> None:
    found = group(decisions, f"/article/{slug}")
    assert len(found) == 4
    assert {f"/print/{slug}", f"/mirror/article/{slug}"} < found


def test_login_wall_is_one_page(decisions: dict[str, dict[str, str]]) -> None:
    assert len(group(decisions, "/members/archive")) == 12


def test_pages_that_differ_by_a_word_are_one(decisions: dict[str, dict[str, str]]) -> None:
    assert group(decisions, "/harbour/monday") == {"/harbour/monday", "/harbour/tuesday"}
    verdicts = {decisions[f"/harbour/{day}"]["verdict"] for day in ("monday", "tuesday")}
    assert verdicts == {"unique", "near_duplicate"}


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("/lamps/argand", "/lamps/petroleum"),  # one template, two lamps
        ("/hours", "/closed"),  # short
        ("/articles?page=1", "/articles?page=2"),
        ("/tag/light", "/tag/weather"),
        ("/article/lamp-zh", "/article/lamp-ja"),  # one story, two languages
    ],
)
def test_pages_that_only_look_alike_are_kept(
    decisions: dict[str, dict[str, str]], one: str, two: str
) -> None:
    assert decisions[one]["verdict"] == decisions[two]["verdict"] == "unique"


def test_no_two_answers_are_the_same() -> None:
    with serve() as url:
        first, second = (urllib.request.urlopen(url + "hours").read() for _ in range(2))
        assert first != second
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(url + "articles?page=many")


def test_spider_keeps_one_of_each_article(simhash_crawl: CrawlFunction) -> None:
    with serve() as url:
        spider = "site_crawl.spiders.site.SiteSpider"
        result = simhash_crawl(spider, url, arguments={"url": url}, SIMHASH_TAKES="text")
    assert result.dropped["/print/lamp-en"] == "/article/lamp-en"
    assert result.dropped["/mirror/article/lamp-en"] == "/article/lamp-en"
    # Of twelve pages behind a login form, one is kept, and eleven pass once it is known.
    assert len(result.kept) == len(result.items) == 34 + 11
