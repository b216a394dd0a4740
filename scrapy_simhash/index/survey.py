"""What is done with a whole index: sum it up, tell its groups, select from it, and copy it."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import NamedTuple

from scrapy_simhash.decision.comparison import Comparisons
from scrapy_simhash.decision.page import Page, Row
from scrapy_simhash.errors import IndexMismatchError, differing
from scrapy_simhash.index.base import Index
from scrapy_simhash.index.opening import open_lasting
from scrapy_simhash.index.site_knowledge import Learned, site_of_rules
from scrapy_simhash.settings import is_in_redis
from scrapy_simhash.url_rules.book import SiteRules
from scrapy_simhash.urls import section_of

# Number of the largest groups to show.
SHOWN = 10


@dataclass(frozen=True)
class CrawlPages:
    """A crawl, its start and end (None if it has not ended), and the pages that it judged last."""

    spider: str
    started: int
    finished: int | None
    pages: int


@dataclass(frozen=True)
class GroupSize:
    """The URL of a kept page, and the number of its duplicates."""

    url: str
    duplicates: int


@dataclass(frozen=True)
class Survey:
    """The content of an index in numbers; times are in seconds since the epoch."""

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
    crawls: list[CrawlPages]
    largest_groups: list[GroupSize]


async def survey(place: str) -> Survey:
    """Return a summary of the index at *place*.  Cost: reads the rows once.

    :raises SimhashError: there is no index, or it cannot be used.
    """
    judged_by: Counter[int | None] = Counter()
    groups: Counter[int] = Counter()
    first, last = inf, -inf
    async with open_lasting(place) as index:
        async for row in index.rows():
            judged_by[row.page.crawl] += 1
            first, last = min(first, row.page.judged_at), max(last, row.page.judged_at)
            if row.representative is not None:
                groups[row.representative] += 1
        largest = sorted(groups, key=lambda row_id: (-groups[row_id], row_id))[:SHOWN]
        kept_pages = [(row_id, await index.row(row_id)) for row_id in largest]
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
            sites_learned=len({key.partition(" ")[0] async for key, _ in index.templates()}),
            crawls=[
                CrawlPages(crawl.spider, crawl.started_at, crawl.finished_at, judged_by[crawl.id])
                for crawl in await index.crawls()
            ],
            largest_groups=[
                GroupSize(row.page.url, groups[row_id])
                for row_id, row in kept_pages
                if row is not None
            ],
        )


class Member(NamedTuple):
    """A page, and the URL of the kept page of its group, which may be its own.

    *verdict* is "kept", "near_duplicate" or "exact_duplicate", *share* how much of its content a
    duplicate has in common with the kept page, as both are stored; None if it is not known.
    *judged_at* is in seconds since the epoch, *canonical* another URL that it gives as its own.
    """

    kept: str
    url: str
    verdict: str
    share: float | None
    judged_at: int
    canonical: str | None


async def groups(place: str) -> AsyncGenerator[Member, None]:
    """Yield all pages of the index at *place*: each kept one, then its duplicates, oldest first.

    Cost: reads the rows twice, and takes 100 bytes of memory for each duplicate.

    :raises SimhashError: there is no index, or it cannot be used.
    """
    async with open_lasting(place) as index:
        async for member in members(index):
            yield member


async def members(index: Index) -> AsyncGenerator[Member, None]:
    """Yield all pages of an open index as :func:`groups` does."""
    duplicates: defaultdict[int, list[int]] = defaultdict(list)
    async for row in index.rows():
        if row.representative is not None:
            duplicates[row.representative].append(row.id)
    async for row in index.rows():
        if row.is_kept:
            kept = row.page
            yield Member(kept.url, kept.url, "kept", None, int(kept.judged_at), kept.canonical)
            for row_id in duplicates.get(row.id, ()):
                found = await index.row(row_id)  # a crawl may go on
                if found and found.representative == row.id:
                    yield _duplicate(found.page, kept, index.learned)


def _duplicate(page: Page, kept: Page, learned: Learned) -> Member:
    """Return a duplicate with the share of its content that it has in common with its kept page."""
    share = None
    if page.sketch is not None and kept.sketch is not None:
        section = section_of(page.url)
        site = learned.of(replace(page, section=section))
        compared = Comparisons(page.sketch, site.template, section, site.template_of)
        share = compared.overlap(kept.sketch, section_of(kept.url)).share
    is_exact = page.digest == kept.digest and share in (None, 1)
    verdict = "exact_duplicate" if is_exact else "near_duplicate"
    return Member(kept.url, page.url, verdict, share, int(page.judged_at), page.canonical)


async def rules_in(index: Index, site: str | None) -> dict[str, SiteRules]:
    """Return the rules for addresses that an index holds, by site: of all sites, or of one."""
    found = {}
    async for key, state in index.templates():
        of = site_of_rules(key)
        if of is not None and site in (None, of):
            with suppress(ValueError):  # damaged: a crawl learns them again
                found[of] = SiteRules.from_bytes(state, time.time())
    return found


async def copy(source: Index, target: Index) -> AsyncGenerator[Row, None]:
    """Copy the content of *source*, and yield each of its rows when it is in *target*.

    An interrupted copy continues when it is started again: rows that are in *target* stay.  Kept
    pages are copied first, so that each duplicate finds its kept page.  No crawl of *target*
    has met its pages yet.  Cost: memory for one number for each page.

    :raises IndexMismatchError: the two differ in scheme or scope.
    """
    for name in ("scheme", "scope"):
        one, other = getattr(source.parameters, name), getattr(target.parameters, name)
        if one != other:
            its, own = differing(other, one)
            raise IndexMismatchError(
                f"{target} has {name} {its}, and {source} {own}: name another target."
            )
    known = {replace(crawl, id=0): crawl.id for crawl in reversed(await target.crawls())}
    crawls: dict[int | None, int] = {}
    for crawl in await source.crawls():
        same = replace(crawl, id=0)
        if same not in known:
            known[same] = await target.add_crawl(crawl)
        crawls[crawl.id] = known[same]
    async for site, state in source.templates():
        await target.learned.adopt(site, state)
    ids: dict[int | None, int | None] = {None: None}
    for are_kept in (True, False):
        async for row in source.rows():
            if row.is_kept == are_kept:
                page = replace(row.page, crawl=crawls.get(row.page.crawl), met_by=None)
                ids[row.id] = await target.adopt(page, ids[row.representative])
                yield row
