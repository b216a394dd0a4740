"""A process that saves one state after the other until it is killed; one line for each.

    python -m tests.crawl.state_writer JOBDIR FIRST

State i is SIZE times the byte i.  It is so large that most of the time it is being written.
"""

from __future__ import annotations

import itertools
import sys

from scrapy import Spider
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.run import JobState

SIZE = 1 << 24


def state_in(job: str) -> JobState[bytes]:
    return JobState(get_crawler(Spider, {"JOBDIR": job}), "test")


if __name__ == "__main__":
    state = state_in(sys.argv[1])
    for i in itertools.count(int(sys.argv[2])):
        state.save(bytes([i % 256]) * SIZE)
        print(i, flush=True)
