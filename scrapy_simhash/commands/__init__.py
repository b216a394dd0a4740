"""``scrapy simhash ...``: ask and tend an index from the shell.

How a command moves through this package: Scrapy loads :class:`SimhashCommand`, which lets each
subcommand declare its arguments (``add_arguments``) and runs the one that the user names.  Its
``find`` does the work and returns what it has found: in values that JSON has for programs, in lines
and tables for people, and with an exit code that says whether it is bad.  A
:class:`~scrapy_simhash.errors.SimhashError` on the way becomes a line on standard error.

:func:`subcommands` lists them all, and :mod:`~scrapy_simhash.commands.base` says what each must
have.  :mod:`~scrapy_simhash.commands.sources` has the pages that they analyse.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_simhash.errors import SimhashError

if TYPE_CHECKING:
    from scrapy_simhash.commands.base import Subcommand

FAILED = 2
SUBCOMMANDS = (
    "report:ReportCommand",
    "check:CheckCommand",
    "check:ExplainCommand",
    "tending:StatsCommand",
    "rules:RulesCommand",
    "tending:ForgetCommand",
    "transfer:ImportCommand",
    "transfer:ExportCommand",
    "tending:RepairCommand",
    "batch:BatchCommand",
)


def subcommands() -> Sequence[Subcommand]:
    """Return all subcommands, in the order in which the help and the documents list them.

    Scrapy loads this module before every crawl.  The subcommands, which no crawl needs, take 0.1 s
    to import, and the garbage collector would walk their 10,000 objects: so they are imported here.
    """
    return [resolve_name(f"{__name__}.{one}")() for one in SUBCOMMANDS]


class SimhashCommand(ScrapyCommand):
    """The command ``simhash`` of Scrapy, which runs its subcommands.

    Each takes ``--json``.  Exit code 0: done; 1: done, and what was found is bad; 2: it could
    not be done, and standard error says why.
    """

    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}  # noqa: RUF012 - as Scrapy's commands have it

    def short_desc(self) -> str:
        return "Ask and tend an index of near-duplicate pages"

    def syntax(self) -> str:
        return "<subcommand> [options]"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        top = parser.add_subparsers(
            title="Subcommands", prog="scrapy simhash", metavar="<subcommand>"
        )
        for subcommand in subcommands():
            own = top.add_parser(
                subcommand.name, help=subcommand.summary, description=subcommand.summary
            )
            subcommand.add_arguments(own)
            own.add_argument("--json", action="store_true", help="print JSON, for programs")
            own.set_defaults(subcommand=subcommand)
            super().add_options(own)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        if "subcommand" not in opts:
            raise UsageError  # which shows them all
        super().process_options(args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}", print_help=False)
        from scrapy_simhash.commands.base import find_index, print_shown  # no crawl needs it

        opts.scrapy_settings = self.settings
        subcommand: Subcommand = opts.subcommand
        try:
            find_index(opts)
            found = asyncio.run(subcommand.find(opts))
            if found is not None:
                if opts.json:
                    print(json.dumps(found.document, indent=2))
                else:
                    print_shown(found.shown)
                self.exitcode = found.exit_code
            sys.stdout.flush()
        except SimhashError as exc:
            print(f"scrapy simhash {subcommand.name}: {exc}", file=sys.stderr)
            self.exitcode = FAILED
        except BrokenPipeError:
            # The reader of the output, such as "head", has ended.  Python would complain once
            # more when it flushes at exit (docs.python.org/3/library/signal.html#note-on-sigpipe).
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
