"""The documentation site: its pages, the names and options in them, and the check of the site."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest
from scrapy.settings import Settings

import scrapy_simhash
from docs.check_site import main
from docs.options import with_options
from scrapy_simhash.commands import SimhashCommand, subcommands
from scrapy_simhash.commands.base import Subcommand
from tests.conftest import Site, article, prose
from tests.documents import DOCS, read
from tests.project.test_cookbook import BLOCK, crawl


def test_every_public_name_is_in_the_reference() -> None:
    directive = r"^\.\. (?:auto\w+|py:data):: (?:scrapy_simhash\.)?([\w.]+)$"
    listed = set(re.findall(directive, read("docs/api.md"), re.MULTILINE))
    signals = {"signals.page_judged", "signals.alarm_raised"}
    assert {*scrapy_simhash.__all__} - {"__version__", "signals"} | signals <= listed
    # Those that no directive imports.
    assert all(hasattr(scrapy_simhash.signals, name.partition(".")[2]) for name in signals)


def test_every_page_is_linked_from_the_front_page() -> None:
    linked = set(re.findall(r"\]\((\w+\.md)\)", read("docs/index.md")))
    assert linked == {path.name for path in DOCS.glob("*.md")} - {"index.md"}


def test_options_of_the_commands_are_those_of_their_help() -> None:
    page = read("docs/commands.md")
    assert page == with_options(page), "python docs/options.py writes them"


@pytest.mark.parametrize("subcommand", subcommands(), ids=lambda subcommand: subcommand.name)
def test_every_option_that_help_shows_is_in_the_section(
    subcommand: Subcommand, capsys: pytest.CaptureFixture[str]
) -> None:
    parser, command = argparse.ArgumentParser(), SimhashCommand()
    command.settings = Settings()
    command.add_options(parser)
    with pytest.raises(SystemExit):
        parser.parse_args([*subcommand.name.split(), "--help"])
    shown = capsys.readouterr().out.partition("\noptions:\n")[2].partition("\nGlobal Options:")[0]
    section = read("docs/commands.md").split(f"\n## {subcommand.name}\n")[1].partition("\n## ")[0]
    options = {*re.findall(r"^  (--[\w-]+)", shown, re.MULTILINE)}
    assert options - {"--json"} == {*re.findall(r"^\| `(--[\w-]+)", section, re.MULTILINE)}


def test_signals_reach_the_spider_of_the_example(site: Site, tmp_path: Path) -> None:
    site["/"] = article(prose("start"), ["/a", "/copy"])
    site["/a"] = site["/copy"] = article(prose("lamp"))
    ((name, code),) = BLOCK.findall(read("docs/signals.md"))
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
