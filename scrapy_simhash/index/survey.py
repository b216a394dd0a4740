"""What people do with an index as a whole: open it as it is, and look into it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any

from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index import redis_index
from scrapy_simhash.index.contract import Parameters
from scrapy_simhash.index.copying import LastingIndex
from scrapy_simhash.index.sqlite import schema
from scrapy_simhash.index.sqlite.index import SQLiteIndex
from scrapy_simhash.places import is_in_redis, masked

# As many of the largest groups and hosts as one wants to read.
SHOWN = 10


def exists(place: str) -> bool:
    """Whether there is an index at *place*, or something else.

    :raises SimhashError: the server that it is in cannot be asked.
    """
    if not is_in_redis(place):
        return Path(place).exists()
    with suppress(IndexUnavailableError):
        open_existing(place).close()
        return True
    return False


def open_existing(place: str) -> LastingIndex:
    """Return the index at *place*, to be tended, not to judge pages with.

    :raises SimhashError: there is none, or it cannot be used.
    """
    found: LastingIndex | None = None
    if is_in_redis(place):
        found = redis_index().existing(place)
    elif Path(place).exists():
        stored = schema.stored_parameters(Path(place))
        found = SQLiteIndex(place, Parameters(stored["scheme"], stored["scope"], distance=0))
    if found is None:
        raise _absent(place)
    return found


def file_of(place: str, doing: str) -> Path:
    """Return the path of an index that is a file, as *doing* needs it.

    :raises IndexUnavailableError: it is none, or it is not there.
    """
    if is_in_redis(place):
        raise IndexUnavailableError(
            f"{doing} needs an index that is a file: got {masked(place)}. Make one of it by "
            f'"scrapy simhash copy".'
        )
    if not Path(place).exists():
        raise _absent(place)
    return Path(place)


def _absent(place: str) -> IndexUnavailableError:
    return IndexUnavailableError(f"{masked(place)} is not there: no crawl has made an index yet")


@dataclass(frozen=True)
class Survey:
    """What is in an index, in numbers."""

    path: str
    scheme: str
    scope: str
    file_bytes: int | None
    pages: int
    kept: int
    duplicates: int
    first_judged: int | None
    last_judged: int | None
    sites_learned: int
    crawls: list[dict[str, Any]]
    largest_groups: list[dict[str, Any]]

    def as_record(self) -> dict[str, Any]:
        """Return the numbers, ready for JSON."""
        return asdict(self)


def survey(place: str) -> Survey:
    """Return what is in the index at *place*.  Cost: reads the rows once, but no sketches.

    :raises SimhashError: there is none, or it cannot be used.
    """
    judged_by: Counter[int | None] = Counter()
    groups: Counter[int] = Counter()
    first, last = inf, -inf
    with open_existing(place) as index:
        for row in index.brief_rows():
            judged_by[row.crawl] += 1
            first, last = min(first, row.judged_at), max(last, row.judged_at)
            if row.representative is not None:
                groups[row.representative] += 1
        largest = sorted(groups, key=lambda row_id: (-groups[row_id], row_id))[:SHOWN]
        pages, duplicates = judged_by.total(), groups.total()
        return Survey(
            path=str(index),
            scheme=index.parameters.scheme,
            scope=index.parameters.scope,
            file_bytes=None if is_in_redis(place) else Path(place).stat().st_size,
            pages=pages,
            kept=pages - duplicates,
            duplicates=duplicates,
            first_judged=int(first) if pages else None,
            last_judged=int(last) if pages else None,
            sites_learned=sum(1 for _ in index.learned()),
            crawls=[
                {
                    "spider": crawl.spider,
                    "started": crawl.started_at,
                    "finished": crawl.finished_at,
                    "pages": judged_by[crawl.id],
                }
                for crawl in index.crawls()
            ],
            largest_groups=[
                {"url": row.url, "duplicates": groups[row_id]}
                for row_id, row in ((row_id, index.row(row_id)) for row_id in largest)
                if row is not None
            ],
        )


def ids_where(
    index: LastingIndex, spider: str | None, is_meant: Callable[[str], bool] | None
) -> list[int]:
    """Return the ids of the pages that a spider's crawls judged last, and whose URL is meant.

    None stands for every spider, and for every URL.
    """
    crawls = {crawl.id for crawl in index.crawls() if crawl.spider == spider}
    return [
        row.id
        for row in index.brief_rows()
        if (spider is None or row.crawl in crawls) and (is_meant is None or is_meant(row.url))
    ]
