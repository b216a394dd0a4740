"""What people do with an index file as a whole: open it as it is, and look into it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index import file
from scrapy_simhash.index.contract import IndexParameters
from scrapy_simhash.index.sqlite import SQLiteIndex

# As many of the largest groups and hosts as one wants to read.
SHOWN = 10


def require(path: Path) -> None:
    """Refuse to make an index where there is none: this is not a crawl.

    :raises IndexUnavailableError: there is none.
    """
    if not path.exists():
        raise IndexUnavailableError(f"{path} is not there: no crawl has made an index yet")


def parameters_of(path: Path, distance: int = 0, share: float | None = None) -> IndexParameters:
    """Return what the index at *path* was built for.

    :raises FingerprintIndexError: there is none, or it cannot be used.
    """
    require(path)
    stored = file.stored_parameters(path)
    return IndexParameters(stored["scheme"], stored["scope"], distance, share=share)


def open_existing(path: Path) -> SQLiteIndex:
    """Return the index at *path*, to be tended, not to judge pages with."""
    return SQLiteIndex(path, parameters_of(path))


@dataclass(frozen=True)
class Survey:
    """What is in an index, in numbers."""

    path: str
    scheme: str
    scope: str
    file_bytes: int
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


def survey(path: Path) -> Survey:
    """Return what is in the index at *path*.  Cost: reads the rows once, but no sketches.

    :raises FingerprintIndexError: there is none, or it cannot be used.
    """
    parameters = parameters_of(path)
    file.bring_up_to_date(path)
    with file.errors_translated(path), closing(file.read_only(path)) as connection:
        pages, kept, first, last = connection.execute(
            "SELECT count(*), coalesce(sum(representative IS NULL), 0),"
            " min(judged_at), max(judged_at) FROM pages"
        ).fetchone()
        (sites,) = connection.execute("SELECT count(*) FROM templates").fetchone()
        crawls = connection.execute(
            "SELECT spider, started_at, finished_at, count(pages.id) FROM crawls"
            " LEFT JOIN pages ON pages.crawl = crawls.id GROUP BY crawls.id ORDER BY crawls.id"
        ).fetchall()
        groups = connection.execute(
            "SELECT kept.url, found.size FROM (SELECT representative, count(*) AS size FROM pages"
            " WHERE representative IS NOT NULL GROUP BY representative"
            " ORDER BY size DESC, representative LIMIT ?) AS found"
            " JOIN pages AS kept ON kept.id = found.representative"
            " ORDER BY found.size DESC, kept.id",
            (SHOWN,),
        ).fetchall()
    return Survey(
        path=str(path),
        scheme=parameters.scheme,
        scope=parameters.scope,
        file_bytes=path.stat().st_size,
        pages=pages,
        kept=kept,
        duplicates=pages - kept,
        first_judged=first,
        last_judged=last,
        sites_learned=sites,
        crawls=[
            {"spider": spider, "started": started, "finished": finished, "pages": judged}
            for spider, started, finished, judged in crawls
        ],
        largest_groups=[{"url": url, "duplicates": size} for url, size in groups],
    )


def ids_where(
    path: str | os.PathLike[str], spider: str | None, is_meant: Callable[[str], bool] | None
) -> list[int]:
    """Return the ids of the pages that a spider's crawls judged last, and whose URL is meant.

    None stands for every spider, and for every URL.
    """
    with file.errors_translated(Path(path)), closing(file.read_only(Path(path))) as connection:
        rows: Iterator[tuple[int, str]] = iter(
            connection.execute(
                "SELECT pages.id, url FROM pages LEFT JOIN crawls ON crawls.id = pages.crawl"
                " WHERE ?1 IS NULL OR spider = ?1",
                (spider,),
            )
        )
        return [row_id for row_id, url in rows if is_meant is None or is_meant(url)]
