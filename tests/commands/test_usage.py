"""``scrapy simhash ...``: what users see who type it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import forking
from tests.command_line import SCRAPY, simhash, simhash_json


def test_every_subcommand_is_listed(tmp_path: Path) -> None:
    done = simhash(tmp_path, "--help")
    assert done.returncode == 0
    assert "tables" in done.stdout


@pytest.mark.parametrize("scrapy", [[SCRAPY], [sys.executable, "-m", "scrapy"]])
def test_command_runs_as_a_user_starts_it(scrapy: list[str | Path], tmp_path: Path) -> None:
    done = subprocess.run(
        [*scrapy, "simhash", "design"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Chosen: " in done.stdout


def test_without_a_subcommand_all_are_listed(tmp_path: Path) -> None:
    done = forking.run([SCRAPY, "simhash"], tmp_path)
    assert (done.returncode, done.stderr) == (2, "")
    assert done.stdout == simhash(tmp_path, "--help").stdout


def test_what_is_left_over_is_refused(tmp_path: Path) -> None:
    done = simhash(tmp_path, "design", "more")
    assert done.returncode == 2
    assert "unrecognized arguments: more" in done.stderr


def test_a_reader_that_has_had_enough_is_no_error() -> None:
    with subprocess.Popen(
        [SCRAPY, "simhash", "design", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == ""
    assert running.returncode == 0


def test_design_lists_the_papers_tables_and_marks_one(tmp_path: Path) -> None:
    found = simhash_json(tmp_path, "design", "--pages", "1e8", "--distance", "3")
    by_name = {row["name"]: row for row in found["designs"]}
    assert by_name["blocks 6"]["tables"] == 20
    assert by_name["blocks 4"]["candidates"] == 4 * 1e8 / 2**16
    assert sum(row["chosen"] for row in found["designs"]) == 1


def test_design_keeps_to_the_memory_given(tmp_path: Path) -> None:
    found = simhash_json(tmp_path, "design", "--pages", "10000000", "--memory", "4e8")
    (chosen,) = (row for row in found["designs"] if row["chosen"])
    assert chosen["bytes"] <= 4e8


def test_design_shows_a_table(tmp_path: Path) -> None:
    done = simhash(tmp_path, "design", "--distance", "7")
    assert done.returncode == 0
    assert "split 4" in done.stdout
    assert "Chosen: " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pages", "0"], "above 0: got 0"),
        (["--pages", "many"], "invalid count value: 'many'"),
        (["--distance", "8"], "invalid choice: 8"),
    ],
)
def test_design_refuses_what_makes_no_sense(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = simhash(tmp_path, "design", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
