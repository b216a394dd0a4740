"""A progress bar on a terminal, for work that may take over a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress


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
