"""A shell for the commands of the documentation."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

DONE = "-- done --"


class Shell:
    """A shell that commands are typed into, in a folder."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self._process = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
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
