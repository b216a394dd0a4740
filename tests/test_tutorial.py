"""docs/tutorial.md, typed into a shell command by command."""

from __future__ import annotations

import doctest
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents import FOLDER, blocks, read
from tests.redis_servers import free_port

BLOCKS = blocks("docs/tutorial.md")
# Installing needs a network, and this environment has the package.
INSTALL = read("docs/tutorial.md").split("\n## Install\n")[1].partition("\n## ")[0]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
DONE = "-- done --"


class Shell:
    """A shell that commands are typed into, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(FOLDER), "TMPDIR": str(folder)}
        self._process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env={**environment, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that the server ends with the shell
        )

    def type(self, command: str) -> str:
        """Run a command, and return what it prints; one in the background must print a line."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if command.endswith("&"):
            self._process.stdin.write(f"{command}\n")
            self._process.stdin.flush()
            return self._process.stdout.readline()
        self._process.stdin.write(f"{command}\necho '{DONE}' $?\n")
        self._process.stdin.flush()
        lines: list[str] = []
        while not (line := self._process.stdout.readline()).startswith(DONE):
            assert line, f"the shell ended in {command}"
            lines.append(line)
        printed = "".join(lines)
        assert line == f"{DONE} 0\n", f"{command}\n{printed}"
        return printed

    def close(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        with self._process:
            pass


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    project = tmp_path / "example_project"
    ignored = shutil.ignore_patterns(".scrapy", "*.jsonl", "__pycache__")
    shutil.copytree(FOLDER / "example_project", project, ignore=ignored)
    shell = Shell(project)
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
