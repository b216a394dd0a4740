"""What every subcommand of ``scrapy simhash`` has, and what many need."""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, NamedTuple

from rich.console import Console, RenderableType
from rich.progress import Progress

from scrapy_simhash.crawl.setup import index_place, settings_of_spider, spiders
from scrapy_simhash.errors import SettingsError
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.report.html import printable
from scrapy_simhash.settings import SimhashSettings, is_in_redis

INDEX_HELP = "the path of an index file, or the URL of a Redis server"


class Result(NamedTuple):
    """What a subcommand has found or done: in values that JSON has, and as people read it.

    A line that is *shown* may hold what a stranger wrote, such as a URL: its controls are escaped.
    """

    document: object
    shown: Iterable[RenderableType]
    exit_code: int = 0


class Subcommand(ABC):
    """A subcommand: it finds something out, or does it."""

    name: ClassVar[str]
    summary: ClassVar[str]

    @abstractmethod
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    @abstractmethod
    async def find(self, options: argparse.Namespace) -> Result | None:
        """Return what was found; None if it is printed already.

        :raises SimhashError: it could not be done; the message is for the user.
        """


def add_index_or_spider(parser: argparse.ArgumentParser) -> None:
    """Declare ``INDEX``, and ``--spider``, which may stand for it: see :func:`find_index`."""
    parser.add_argument("index", metavar="INDEX", nargs="?", help=f"{INDEX_HELP}; or --spider")
    parser.add_argument(
        "--spider", default="", help="the index of this spider, or one of its scope"
    )


def find_index(options: argparse.Namespace) -> None:
    """Let ``options.index`` be that of ``options.spider``, if only this is given, and its settings.

    :raises SettingsError: neither is given, the settings of the spider are wrong, there is neither
        a spider of this name nor a file of its index, or an index has the name of a spider.
    """
    index: str | None = getattr(options, "index", "")
    if index and options.spider == "" and not (is_in_redis(index) or Path(index).exists()):
        if index in spiders(options.scrapy_settings):
            raise SettingsError(f"{index} is not there: did you mean --spider {index}?")
    elif index is None:
        if not options.spider:
            raise SettingsError("say which index: its path or URL, or --spider NAME")
        settings = settings_of_spider(options.spider, options.scrapy_settings)
        place = index_place(SimhashSettings.read(settings), options.spider)
        is_missing = not is_in_redis(place) and not Path(place).exists()
        if is_missing and options.spider not in spiders(settings):
            raise SettingsError(
                f"there is no spider {options.spider!r} in this project, and no index of one: "
                f"{place} does not exist. The spiders are: {', '.join(spiders(settings)) or 'none'}"
            )
        options.scrapy_settings, options.index = settings, place


def print_shown(shown: Iterable[RenderableType]) -> None:
    """Print lines and tables for people to read."""
    console = Console()
    for one in shown:
        if isinstance(one, str):
            console.print(printable(one), markup=False, soft_wrap=True)
        else:
            console.print(one)


def pipeline_of(options: argparse.Namespace) -> Pipeline:
    """Return the pipeline of the settings of the project, and of ``-s`` on the command line.

    SIMHASH_MAX_WAITING does not count: a command can always wait for its workers.

    :raises SettingsError: a setting has a wrong value.
    """
    settings = SimhashSettings.read(options.scrapy_settings)
    return Pipeline.of(replace(settings, max_waiting=None))


@contextmanager
def progress(doing: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Give a function that moves the bar on by a number of steps, or does nothing off a terminal.

    A *total* of None says that the number of steps is not known.  At the end the bar disappears.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda steps: None
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(doing, total=total)
        yield lambda steps: bar.advance(task, steps)
