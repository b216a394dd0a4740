"""Indexes for tests that wait for each answer."""

from __future__ import annotations

import asyncio
import atexit
import inspect
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.index import opening
from scrapy_simhash.index.site_knowledge import Learned
from scrapy_simhash.index.sqlite.index import SQLiteIndex

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")

# One for all, so that two indexes can be used together.
LOOP = asyncio.new_event_loop()
atexit.register(LOOP.close)


class Blocking:
    """An index, or what it has learned, whose coroutines are run to their end.

    What yields asynchronously gives a list; ``len()`` counts representatives.
    """

    def __init__(self, index: Any) -> None:
        self.index = index

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return LOOP.run_until_complete(coroutine)

    def __getattr__(self, name: str) -> Any:
        if name == "index":  # not made
            raise AttributeError(name)
        found = getattr(self.index, name)
        if isinstance(found, Learned):
            return Blocking(found)
        if not inspect.ismethod(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            result = found(*arguments, **named)
            if isinstance(result, AsyncIterator):
                return self.run(_listed(result))
            return self.run(result) if inspect.iscoroutine(result) else result

        return call

    def __len__(self) -> int:
        kept: int = self.run(self.index.counts()).kept
        return kept

    def __str__(self) -> str:
        return str(self.index)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.run(self.index.close())


async def stored_nowhere(key: str, merge: Callable[[bytes | None], bytes]) -> bytes:
    """What is learned of a site, for tests without an index."""
    return merge(None)


async def _listed(items: AsyncIterator[T]) -> list[T]:
    return [item async for item in items]


def open_index(place: str | Path, parameters: Parameters) -> Blocking:
    return Blocking(opening.open_index(str(place), parameters))


def urls_in(path: Path) -> set[str]:
    """The pages in an index, opened with the parameters that it says it has."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        stored = dict(connection.execute("SELECT name, value FROM parameters"))
    with open_index(path, Parameters(stored["scheme"], stored["scope"])) as index:
        return {row.page.url for row in index.rows()}


def write_segments(index: Blocking) -> int:
    """Write the segments that are due, as a crawl does meanwhile; return how many were."""
    assert isinstance(index.index, SQLiteIndex)
    segments = index.index._segments
    with closing(sqlite3.connect(index.path, isolation_level=None)) as connection:
        return sum(1 for _ in iter(lambda: segments.write(connection), False))


def ids_by_name(index: Blocking) -> dict[str, int]:
    return {row.page.url.rpartition("/")[2]: row.id for row in index.rows()}


def groups(index: Blocking) -> dict[str, str | None]:
    """Name -> name of its representative."""
    rows = list(index.rows())
    names = {row.id: row.page.url.rpartition("/")[2] for row in rows}
    return {
        names[row.id]: None if row.representative is None else names[row.representative]
        for row in rows
    }
