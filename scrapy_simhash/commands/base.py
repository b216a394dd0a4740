"""What every subcommand of ``scrapy simhash`` has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import Console

from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.tables.design import MAX_DISTANCE

if TYPE_CHECKING:
    import argparse


class Subcommand(ABC):
    """A subcommand: first it finds something out (or does it), then it shows that."""

    name: ClassVar[str]
    summary: ClassVar[str]

    @classmethod
    @abstractmethod
    def add_arguments(cls, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    @classmethod
    @abstractmethod
    def find(cls, options: argparse.Namespace) -> Any:
        """Return what was found, as values that JSON has; None if that is shown already.

        :raises SimhashError: it could not be done; the message is for the user.
        """

    @classmethod
    @abstractmethod
    def show(cls, found: Any, console: Console) -> None:
        """Print what was found for people to read."""

    @classmethod
    def exit_code(cls, found: Any) -> int:
        """Return the exit code that says what was found."""
        return 0


def add_index(parser: argparse.ArgumentParser, name: str = "index") -> None:
    """Declare the argument that nearly every subcommand has."""
    parser.add_argument(
        name, metavar=name.upper(), help="the path of an index file, or the URL of a Redis server"
    )


def settings_of(options: argparse.Namespace) -> SimhashSettings:
    """Return the settings ``SIMHASH_*`` of the project, and of ``-s`` on the command line."""
    return SimhashSettings.read(options.scrapy_settings)


def add_distance(parser: argparse.ArgumentParser) -> None:
    """Declare ``--distance``."""
    parser.add_argument(
        "--distance",
        type=int,
        choices=range(MAX_DISTANCE + 1),
        default=3,
        metavar="K",
        help="bits that near-duplicates may differ in, 0 to 7 (default: 3)",
    )
