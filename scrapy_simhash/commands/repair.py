"""``scrapy simhash repair``: whether an index is whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy_simhash.commands.base import Subcommand, add_index_or_spider
from scrapy_simhash.commands.progress import progress
from scrapy_simhash.index.opening import file_of
from scrapy_simhash.index.sqlite.repair import Problem, repair

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

BAD = 1


@dataclass(frozen=True)
class Repaired:
    """Whether an index was whole, and what was wrong with it."""

    clean: bool
    problems: list[Problem]


class RepairCommand(Subcommand[Repaired]):
    """Checks the file and every rule of its rows, and mends what it can without loss."""

    name = "repair"
    summary = "Check that an index is whole, and mend what can be mended without loss"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_index_or_spider(parser)

    async def find(self, options: argparse.Namespace) -> Repaired:
        with progress("Checking", None):
            problems = repair(file_of(options.index, "repair"))
        return Repaired(clean=not problems, problems=problems)

    def show(self, found: Repaired, console: Console) -> None:
        if found.clean:
            console.print("The index is whole.")
        for problem in found.problems:
            ids = f" (ids {', '.join(map(str, problem.ids))} ...)" if problem.ids else ""
            state = "mended" if problem.repaired else "NOT mended"
            console.print(
                f"{state}: {problem.count:,} against: {problem.rule}{ids}",
                markup=False,
                soft_wrap=True,
            )

    def exit_code(self, found: Repaired) -> int:
        return 0 if found.clean else BAD
