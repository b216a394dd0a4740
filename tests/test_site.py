"""The pages of the documentation site: names, code and commands in them; and the site's check."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
from pathlib import Path

import pytest
from scrapy.settings import Settings

import scrapy_simhash
from docs.check_site import main
from scrapy_simhash.commands import SimhashCommand
from tests.conftest import Site, article, prose
from tests.test_cookbook import BLOCK, crawl

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read(page: str) -> str:
    return (DOCS / page).read_text("utf-8")


def test_every_public_name_is_in_the_reference() -> None:
    directive = r"^\.\. (?:auto\w+|py:data):: (?:scrapy_simhash\.)?([\w.]+)$"
    listed = set(re.findall(directive, read("api.md"), re.MULTILINE))
    signals = {"signals.page_judged", "signals.alarm_raised"}
    assert {*scrapy_simhash.__all__} - {"__version__", "signals"} | signals <= listed
    # Those that no directive imports.
    assert all(hasattr(scrapy_simhash.signals, name.partition(".")[2]) for name in signals)


def test_every_page_is_linked_from_the_front_page() -> None:
    linked = set(re.findall(r"\]\((\w+\.md)\)", read("index.md")))
    assert linked == {*PAGES} - {"index.md"}


@pytest.mark.parametrize("page", PAGES)
def test_settings_and_code_of_a_page_are_right(page: str) -> None:
    for code in PYTHON.findall(read(page)):
        ast.parse(code)
    # SIMHASH_BUILD is no setting: setup.py reads it from the environment.
    for name in set(re.findall(r"(?<![A-Z_])SIMHASH_[A-Z_]*[A-Z]\b", read(page))) - {
        "SIMHASH_BUILD"
    }:
        assert f"### `{name}`\n" in read("settings.md"), name


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_have_the_arguments_that_there_are(page: str) -> None:
    parser, command = argparse.ArgumentParser(), SimhashCommand()
    command.settings = Settings()
    command.add_options(parser)
    for line in re.findall(r"^scrapy simhash (\w.*)$", read(page), re.MULTILINE):
        words = shlex.split(re.split(r" [|>] ", line)[0])
        assert parser.parse_args(words).subcommand.name == words[0]


def test_signals_reach_the_spider_of_the_example(site: Site, tmp_path: Path) -> None:
    site["/"] = article(prose("start"), ["/a", "/copy"])
    site["/a"] = site["/copy"] = article(prose("lamp"))
    ((name, code),) = BLOCK.findall(read("signals.md"))
    crawl(tmp_path, site, {name: code}, 'LOG_FILE = "crawl.log"\n')
    assert f"{site.url}/copy is {site.url}/a\n" in (tmp_path / "crawl.log").read_text()


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="two.html#there">to an element</a><a href="#here">within</a>', None),
        ('<a href="https://a.example/">another site</a>', None),
        ('<a href="three.html">no page</a>', "leads nowhere: three.html"),
        ('<a href="two.html#nothing">no element</a>', "names no element: two.html#nothing"),
        ('<img src="gone.png">', "leads nowhere: gone.png"),
        ('<script src="https://cdn.example/a.js"></script>', "loads https://cdn.example/a.js"),
        ('<link rel="stylesheet" href="//cdn.example/a.css">', "loads //cdn.example/a.css"),
    ],
)
def test_check_of_the_built_site(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], body: str, problem: str | None
) -> None:
    (tmp_path / "one.html").write_text(f'<html><body id="here">{body}</body></html>')
    (tmp_path / "two.html").write_text('<html><body id="there"></body></html>')
    assert main(tmp_path) == (problem is not None)
    assert capsys.readouterr().err == (f"one.html: {problem}\n" if problem else "")


def test_check_finds_fonts_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text("<html></html>")
    (tmp_path / "a.css").write_text("@font-face { src: url('fonts/a.woff') }")
    assert main(tmp_path) == 0
    (tmp_path / "a.css").write_text("@font-face { src: url('https://cdn.example/a.woff') }")
    assert main(tmp_path) == 1
