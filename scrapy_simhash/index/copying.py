"""Copying pages from one lasting index to another as they are, with nothing judged anew."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from scrapy_simhash.errors import IndexMismatchError
from scrapy_simhash.index.base import LastingIndex
from scrapy_simhash.rule.page import Row


async def copy(source: LastingIndex, target: LastingIndex) -> AsyncGenerator[Row, None]:
    """Copy the content of *source*, and yield each of its rows when it is in *target*.

    An interrupted copy continues when it is started again: rows that are in *target* stay.  Kept
    pages are copied first, so that each duplicate finds its kept page.  No crawl of *target*
    has met its pages yet.  Cost: memory for one number for each page.

    :raises IndexMismatchError: the two differ in scheme or scope.
    """
    for name in ("scheme", "scope"):
        one, other = getattr(source.parameters, name), getattr(target.parameters, name)
        if one != other:
            raise IndexMismatchError(
                f"{target} has {name} {other!r}, and {source} {one!r}: name another target."
            )
    crawls: dict[int | None, int | None] = {
        crawl.id: await target.adopt_crawl(crawl) for crawl in await source.crawls()
    }
    async for site, state in source.templates():
        await target.adopt_template(site, state)
    ids: dict[int | None, int | None] = {None: None}
    for are_kept in (True, False):
        async for row in source.rows():
            if row.is_kept == are_kept:
                page = replace(row.page, crawl=crawls.get(row.page.crawl), met_by=None)
                ids[row.id] = await target.adopt(page, ids[row.representative])
                yield row
