"""Every fenced block of the documentation has a check; here are those of blocks that no test runs.

docs/tutorial.md is typed into a shell by test_tutorial.py, the files of docs/cookbook.md and of
docs/signals.md crawl in test_cookbook.py and test_site.py, and pytest runs README.md's examples.
"""

from __future__ import annotations

import argparse
import ast
import re
import shlex
from collections.abc import Callable
from configparser import ConfigParser
from itertools import dropwhile, takewhile

import pytest
from scrapy.commands import ScrapyCommand
from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.commands.startproject import Command as StartprojectCommand
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from scrapy_simhash.commands import SimhashCommand, subcommands
from scrapy_simhash.settings import PREFIX, SimhashSettings
from tests.documents import FOLDER, PAGES, Block, blocks, documented_settings, read

# SIMHASH_BUILD is no setting: setup.py reads it from the environment.
SETTINGS = {setting.name for setting in documented_settings()} | {"SIMHASH_BUILD"}
# What a system has beside Python.
PROGRAMS = {".", "cd", "grep", "gzip", "head", "kill", "python", "python3", "tail", "wc"}
# Output that another test compares: how it begins, and the test, which reads the page.
COMPARED = {
    "ACL SETUSER crawler on": "redis_servers.py",
    "65 pages are in": "batch/test_command.py",
    "INFO: Learned after": "crawl/test_rules.py",
    "INFO: Near-duplicates: 75": "project/test_demo.py",
    "http://127.0.0.1/article": "project/test_demo.py",
    "www.example.com\n  1. Ignore": "crawl/test_rules.py",
    "WARNING: A trap": "crawl/test_traps.py",
    "WARNING: Pages below": "crawl/test_missing.py",
}
SCRAPY_COMMANDS: dict[str, type[ScrapyCommand]] = {
    "simhash": SimhashCommand,
    "crawl": CrawlCommand,
    "startproject": StartprojectCommand,
}
IS_VARIABLE = re.compile(r"[A-Z_]+=")
PICTURES = ("response ─ middleware ─► worker", "| A | B | C | D |")


def check_settings_exist(text: str) -> None:
    named = set(re.findall(r"(?<![A-Z_])SIMHASH_[A-Z_]*[A-Z]\b", text))
    assert named <= SETTINGS, named - SETTINGS


def check_python(block: Block) -> None:
    """It compiles, what it names of the package exists, and its settings are accepted."""
    if block.text.startswith(">>> "):
        assert block.page == "README.md"
        return
    check_settings_exist(block.text)
    tree = ast.parse(block.text)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("scrapy_simhash"):
            for name in node.names:
                load_object(f"{node.module}.{name.name}")
    for path in re.findall(r'"(scrapy_simhash\.[\w.]+)"', block.text):
        load_object(path)
    if all(isinstance(n, ast.Assign) and ast.unparse(n.targets[0]).isupper() for n in tree.body):
        values: dict[str, object] = {}
        exec(block.text, values)
        SimhashSettings.read({name: values[name] for name in values if name.startswith(PREFIX)})


def command_of_scrapy(words: list[str]) -> None:
    command = SCRAPY_COMMANDS[words[0]]()
    command.settings = Settings()
    parser = argparse.ArgumentParser(exit_on_error=False)
    command.add_options(parser)
    options, names = parser.parse_known_args(words[1:])
    assert not [name for name in names if name.startswith("-")], names
    SimhashSettings.read(dict(setting.split("=", 1) for setting in options.set))


def command_of_make(words: list[str]) -> None:
    (targets,) = re.findall(r"^\.PHONY: (.*)$", read("Makefile"), re.MULTILINE)
    assert {*words} <= {*targets.split()}


def command_of_pip(words: list[str]) -> None:
    config = ConfigParser()
    config.read(FOLDER / "setup.cfg", encoding="utf-8")
    assert words[0] == "install"
    for word in words[1:]:
        extra = re.fullmatch(r"(?:scrapy-simhash|\.)(?:\[(\w+)\])?", word)
        assert extra or word in ("--no-binary", "--editable"), word
        assert not (extra and extra[1]) or extra[1] in config["options.extras_require"]


def command_of_spark(words: list[str]) -> None:
    """What it is to run is Scrapy; the options before that are its own."""
    command_of_scrapy(words[words.index("scrapy)") + 1 :])


COMMANDS: dict[str, Callable[[list[str]], None]] = {
    "scrapy": command_of_scrapy,
    "make": command_of_make,
    "pip": command_of_pip,
    "spark-submit": command_of_spark,
}


def check_shell(block: Block) -> None:
    """Its programs exist; the commands of this project have the arguments that there are."""
    check_settings_exist(block.text)
    for line in block.text.splitlines():
        words = [*dropwhile(IS_VARIABLE.match, shlex.split(re.sub(r" > \S+| &$", "", line), True))]
        while words:
            command = [*takewhile(lambda word: word != "|", words)]
            words = words[len(command) + 1 :]
            program, *arguments = command
            if program in COMMANDS:
                COMMANDS[program](arguments)
            else:
                assert program in PROGRAMS, program


def check_votes(text: str) -> None:
    """The sums of the votes are right, and the fingerprint is."""
    votes = [0, 0, 0]
    for weight, *bits in re.findall(r'^".*"\s+(\d)\s+(\d) (\d) (\d)', text, re.MULTILINE):
        given = [int(weight) if bit == "1" else -int(weight) for bit in bits]
        assert " ".join(f"{vote:+}" for vote in given) in text
        votes = [before + vote for before, vote in zip(votes, given, strict=True)]
    assert re.search(rf"^sums +{re.escape(' '.join(f'{vote:+}' for vote in votes))}$", text, re.M)
    assert re.search(rf"^fingerprint +{'  '.join(str(int(v > 0)) for v in votes)}$", text, re.M)


def check_text(block: Block) -> None:
    """It is a picture, or a test compares it."""
    if block.text.startswith("feature "):
        check_votes(block.text)
    elif block.page != "docs/tutorial.md" and not block.text.startswith(PICTURES):
        (test,) = [test for words, test in COMPARED.items() if block.text.startswith(words)]
        page = block.page.rpartition("/")[2]
        assert page in (FOLDER / "tests" / test).read_text("utf-8"), f"{test} does not read {page}"


def check_directives(block: Block) -> None:
    """Sphinx checks them; ``make docs`` takes its warnings for errors."""
    assert block.page in ("docs/api.md", "docs/changelog.md", "docs/index.md")


CHECKS: dict[str, Callable[[Block], None]] = {
    "python": check_python,
    "sh": check_shell,
    "text": check_text,
    "{eval-rst}": check_directives,
    "{include}": check_directives,
    "{toctree}": check_directives,
}


@pytest.mark.parametrize(
    "block",
    [block for page in PAGES for block in blocks(page)],
    ids=lambda block: f"{block.page}:{block.line}",
)
def test_every_block_has_a_check_and_passes_it(block: Block) -> None:
    language = block.language.partition(" ")[0]
    assert language in CHECKS, "say how blocks of this language are checked"
    CHECKS[language](block)


@pytest.mark.parametrize("page", PAGES)
def test_settings_and_subcommands_in_the_text_of_a_page_exist(page: str) -> None:
    check_settings_exist(read(page))
    for words in re.findall(r"`scrapy simhash (\w+[^`]*)`", read(page)):
        assert words.split()[0] in {one.name.split()[0] for one in subcommands()}


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "SIMHASH_NOTHING = True"),
        ("python", "SIMHASH_SHARE = 2"),
        ("python", "SIMHASH_SHARE ="),
        ("python", "from scrapy_simhash import Nothing"),
        ("python", 'EXTENSIONS = {"scrapy_simhash.crawl.Nothing": 500}'),
        ("python", ">>> 1 + 1\n3"),
        ("sh", "scrapy simhash nothing"),
        ("sh", "gzip -d | scrapy simhash stats INDEX --nothing"),
        ("sh", "scrapy crawl NAME -s SIMHASH_SHARE=2"),
        ("sh", "scrapy crawl NAME --nothing"),
        ("sh", "make nothing"),
        ("sh", "pip install scrapy-simhash[nothing]"),
        ("sh", "SIMHASH_NOTHING=1 make demo"),
        ("sh", "nothing"),
        ("text", "INFO: Closing spider"),
        ("text", 'feature hash\n"a" 1   1 1 0 -> +1 +1 -1\nsums   +1 +1 +1\n'),
        ("{toctree}", "nothing"),
    ],
)
def test_a_wrong_block_is_found(language: str, text: str) -> None:
    with pytest.raises((Exception, SystemExit)):
        CHECKS[language](Block("docs/why.md", 1, language, text))
