"""A process that judges pages, some at once, until it is killed, or has no more; one line for each.

    fault_writer.py INDEX FIRST COUNT WRITER [FILE_LIMIT]

Page i is near page i of every other writer, and far from all others. With a limit, no file may
grow above so many bytes, as on a full disk; a page that was not taken is told as such.
"""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path

from scrapy_simhash.decision.page import Page
from scrapy_simhash.errors import IndexUnavailableError
from scrapy_simhash.index.opening import open_index
from scrapy_simhash.index.sqlite import index as index_file
from scrapy_simhash.index.sqlite import segments
from tests.forking import FOLDER, Job
from tests.pages import PARAMETERS, page

AT_ONCE = 3


def spread(i: int) -> int:
    """A fingerprint that is far from those of all other i (Fibonacci hashing)."""
    return (i + 1) * 0x9E3779B97F4A7C15 % (1 << 64)


def page_of(i: int, writer: int) -> Page:
    return page(f"{i}-{writer}", spread(i) ^ 1 << writer, text=f"{i} {writer}")


def writer(
    place: str | Path,
    first: int,
    count: int,
    number: int = 0,
    limit: int | None = None,
    *,
    piped: bool = False,
) -> Job:
    """Start such a process; if it is *piped*, its lines can be read while it runs."""
    limits = [] if limit is None else [str(limit)]
    arguments = [__file__, place, str(first), str(count), str(number), *limits]
    return Job(arguments, FOLDER, FOLDER, piped=piped)


def written(writers: list[Job]) -> list[str]:
    """Wait for the end of processes, and return their lines."""
    lines = []
    for one in writers:
        with one:
            ended = one.wait()
        assert ended.returncode == 0, ended.stderr
        lines += ended.stdout.splitlines()
    return lines


async def main(path: str, first: str, count: str, writer: str, limit: str = "") -> None:
    # So that few pages meet many checkpoints and segments, and none gives up on a busy machine.
    index_file.EVERY_WRITES = 20
    index_file.PAUSE_SECONDS = 0.0
    segments.SPAN = 30
    index_file.LONG_LOG = 200
    index_file.BUSY_SECONDS = 60.0
    async with open_index(path, PARAMETERS) as index:
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))

        async def told(i: int) -> None:
            try:
                verdict: str = (await index.check_and_add(page_of(i, int(writer)))).verdict
            except IndexUnavailableError:
                verdict = "passed"
            print(i, verdict, flush=True)

        end = int(first) + int(count)
        for start in range(int(first), end, AT_ONCE):
            await asyncio.gather(*map(told, range(start, min(start + AT_ONCE, end))))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
