"""``scrapy simhash repair``: whether an index is whole."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console

from scrapy_simhash.commands.base import Subcommand, add_index
from scrapy_simhash.index.sqlite.repair import repair
from scrapy_simhash.index.survey import file_of

if TYPE_CHECKING:
    import argparse

BAD = 1


class RepairCommand(Subcommand):
    """Checks the file and every rule of its rows, and mends what it can without loss."""

    name = "repair"
    summary = "Check that an index is whole, and mend what can be mended without loss"

    @classmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        add_index(parser)

    @classmethod
    def find(cls, options: argparse.Namespace) -> Any:
        with Console(stderr=True).status("Checking"):
            problems = repair(file_of(options.index, "repair"))
        return {"clean": not problems, "problems": [asdict(problem) for problem in problems]}

    @classmethod
    def show(cls, found: Any, console: Console) -> None:
        if found["clean"]:
            console.print("The index is whole.")
        for problem in found["problems"]:
            ids = f" (ids {', '.join(map(str, problem['ids']))} ...)" if problem["ids"] else ""
            state = "mended" if problem["repaired"] else "NOT mended"
            console.print(
                f"{state}: {problem['count']:,} against: {problem['rule']}{ids}",
                markup=False,
                soft_wrap=True,
            )

    @classmethod
    def exit_code(cls, found: Any) -> int:
        return 0 if found["clean"] else BAD
