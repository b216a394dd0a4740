"""Run one crawl, as tests/conftest.py's ``crawl`` asks for it.

On purpose without ``if __name__ == "__main__"``: Scrapy's documentation shows scripts like
this, and workers must not crawl once more when they start.
"""

import json
import signal
import sys
from pathlib import Path

from scrapy import signals

sys.path.insert(0, str(Path(__file__).parents[1]))

from scrapy_simhash.testing.child import run_spiders
from tests import spiders

# It is ignored where a shell or a CI system has put the tests into the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
job = json.loads(Path(sys.argv[1]).read_text())
with Path("started").open("a") as started:
    started.write("x")


def item_scraped(item: dict[str, object]) -> None:
    with Path("items.jsonl").open("a") as file:
        file.write(json.dumps(item) + "\n")


crawlers = run_spiders(
    [getattr(spiders, name) for name in job["spider"].split()],
    {"url": job["url"]},
    job["settings"],
    {signals.item_scraped: item_scraped},
)
with Path("stats.jsonl").open("a") as file:
    for crawler in crawlers:
        file.write(json.dumps(crawler.stats.get_stats(), default=str) + "\n")
