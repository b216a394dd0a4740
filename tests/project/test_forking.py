"""The fork server of the tests: a script meets there what it meets in a Python of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forking

# What a script sees of where it runs.
SCRIPT = """
import json, os, signal, sys
print("to stderr", file=sys.stderr)
json.dump(
    {
        "name": __name__,
        "argv": sys.argv,
        "path": sys.path,
        "folder": os.getcwd(),
        "variable": os.environ.get("VARIABLE"),
        "input": sys.stdin.read(),
        "terminal": sys.stdout.isatty(),
        "sigint": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
        "reactor": "twisted.internet.reactor" in sys.modules,
        "executable": sys.executable,
        "warnings": [str(one) for one in sys.warnoptions],
    },
    sys.stdout,
)
sys.exit(3)
"""


def test_script_runs_as_in_a_python_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    monkeypatch.setenv("VARIABLE", "value")
    own = subprocess.run(
        [sys.executable, script, "a", "b"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    forked = forking.run([script, "a", "b"], tmp_path)
    assert json.loads(forked.stdout) == json.loads(own.stdout)
    assert json.loads(forked.stdout)["variable"] == "value"
    assert (forked.returncode, forked.stderr) == (own.returncode, own.stderr) == (3, "to stderr\n")


def test_nothing_passes_from_one_script_to_the_next(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys\nprint(hasattr(sys, 'mark'))\nsys.mark = True\n")
    assert [forking.run([script], tmp_path).stdout for _ in range(2)] == ["False\n"] * 2


@pytest.mark.parametrize(
    ("code", "returncode", "words"),
    [
        ("raise ValueError('wrong')", 1, "ValueError: wrong"),
        ("import os; os.kill(os.getpid(), 9)", -9, ""),
        ("import sys; sys.exit('no more')", 1, "no more"),
        ("import threading; threading.Timer(0.1, print, ['later']).start()", 0, "later"),
        ("import atexit; atexit.register(print, 'at the end')", 0, "at the end"),
    ],
)
def test_end_of_a_script_is_told(tmp_path: Path, code: str, returncode: int, words: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(code)
    done = forking.run([script], tmp_path)
    assert done.returncode == returncode
    assert words in done.stdout + done.stderr


def test_script_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import signal\nsignal.pause()\n")
    with pytest.raises(subprocess.TimeoutExpired):
        forking.run([script], tmp_path, timeout=0.1)
    script.write_text("print('next')\n")
    assert forking.run([script], tmp_path).stdout == "next\n"
