"""A progress bar for what may take over a second, on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def progress(items: Iterable[T], doing: str, total: int | None) -> Iterable[T]:
    """Yield *items*, and show on a terminal how far that is."""
    from rich.console import Console  # 0.1 s, which not every crawl needs
    from rich.progress import track

    console = Console(stderr=True)
    return track(
        items, doing, total, console=console, transient=True, disable=not console.is_terminal
    )
