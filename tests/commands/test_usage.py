"""``scrapy simhash ...``: what users see who type it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scrapy_simhash.commands import subcommands
from tests import forking
from tests.command_line import SCRAPY, simhash
from tests.conftest import article, prose


def test_every_subcommand_is_listed(tmp_path: Path) -> None:
    done = simhash(tmp_path, "--help")
    assert done.returncode == 0
    assert all(one.name in done.stdout for one in subcommands())


@pytest.fixture
def explain(tmp_path: Path) -> list[str]:
    """The arguments of a subcommand that needs no index, and prints a page."""
    for name in ("one.html", "two.html"):
        (tmp_path / name).write_text(article(prose(name)))
    return ["simhash", "explain", "one.html", "two.html"]


@pytest.mark.parametrize("scrapy", [[SCRAPY], [sys.executable, "-m", "scrapy"]])
def test_command_runs_as_a_user_starts_it(
    scrapy: list[str | Path], explain: list[str], tmp_path: Path
) -> None:
    done = subprocess.run(
        [*scrapy, *explain],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "verdict on the second: " in done.stdout


def test_without_a_subcommand_all_are_listed(tmp_path: Path) -> None:
    done = forking.run([SCRAPY, "simhash"], tmp_path)
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout == simhash(tmp_path, "--help").stdout


def test_what_is_left_over_is_refused(tmp_path: Path) -> None:
    done = simhash(tmp_path, "stats", "an.simhash", "more")
    assert done.returncode == 2
    assert "unrecognized arguments: more" in done.stderr


def test_a_reader_that_has_had_enough_is_no_error(explain: list[str], tmp_path: Path) -> None:
    with subprocess.Popen(
        [SCRAPY, *explain, "--json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == ""
    assert running.returncode == 0
