"""What every subcommand of ``scrapy simhash`` has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import argparse

    from rich.console import Console


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
        """Return what was found, as values that JSON has.

        :raises SimhashError: it could not be done; the message is for the user.
        """

    @classmethod
    @abstractmethod
    def show(cls, found: Any, console: Console) -> None:
        """Print what was found for people to read."""
