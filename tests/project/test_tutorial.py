"""docs/tutorial.md, typed into a shell command by command."""

from __future__ import annotations

import doctest
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents import FOLDER, blocks, read
from tests.project.shells import Shell
from tests.redis_servers import free_port

BLOCKS = blocks("docs/tutorial.md")
# Installing needs a network, and this environment has the package.
INSTALL = read("docs/tutorial.md").split("\n## Install\n")[1].partition("\n## ")[0]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    project = tmp_path / "example_project"
    ignored = shutil.ignore_patterns(".scrapy", "*.jsonl", "__pycache__")
    shutil.copytree(FOLDER / "example_project", project, ignore=ignored)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    shell = Shell(project, PATH=path, PYTHONPATH=str(FOLDER), TMPDIR=str(project))
    yield shell
    shell.close()


def test_every_command_prints_what_the_tutorial_says(shell: Shell) -> None:
    printed, port = "", str(free_port())
    for block in BLOCKS:
        text = block.text.replace("8000", port)
        if block.language == "sh" and block.text not in INSTALL:
            printed = "".join(map(shell.type, text.splitlines()))
        elif block.language == "text":
            assert doctest.OutputChecker().check_output(text, printed, FLAGS), printed
        elif block.language == "python":  # to be added to the file that its first line names
            file = Path(shell.type("pwd").strip(), text.partition("\n")[0].removeprefix("# "))
            with file.open("a", encoding="utf-8") as opened:
                opened.write(f"\n{text}")
