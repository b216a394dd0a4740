"""Rules that hold from the start of a crawl, and what they park in one without an engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

from scrapy import Request
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.parked import read_parked
from scrapy_simhash.crawl.requests import RequestFacts
from scrapy_simhash.crawl.rules import SimhashRulesMiddleware
from scrapy_simhash.crawl.setup import Parts
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.settings import TEXT, SimhashSettings
from scrapy_simhash.url_rules.learner import Learner
from tests.command_line import INDEX
from tests.conftest import path_of
from tests.indexes import LOOP, open_index
from tests.pages import PARAMETERS
from tests.spiders import Parks


@contextmanager
def rules_in_use(
    folder: Path, site: str, **settings: object
) -> Iterator[tuple[SimhashRulesMiddleware, list[Request]]]:
    """The rules of a crawl of *site*, and the requests that they send."""
    crawler = get_crawler(Parks)
    crawler.spider = crawler._create_spider(url=site)
    sent: list[Request] = []
    crawler.engine = SimpleNamespace(crawl=sent.append)  # type: ignore[assignment]
    in_use = SimhashSettings.read({"SIMHASH_RULES": "use", **settings})
    with open_index("memory:", PARAMETERS) as index:
        parts = Parts(Pipeline.of(in_use), index.index, RequestFacts(crawler, in_use))
        rules = SimhashRulesMiddleware(crawler, parts, folder / "parked.sqlite")
        yield rules, sent
        LOOP.run_until_complete(rules.spider_closed("finished"))


def teach(learner: Learner, pages: int, site: str = "http://a.com") -> None:
    """Have it learn that ``sid`` does not matter, from pages in ``/a/`` at two addresses each."""
    for number in range(pages):
        url = f"{site}/a/p{number}"
        learner.learn(url, url)
        learner.learn(f"{url}?sid=1", url)


def index_with_rule(folder: Path, site: str, takes: str = TEXT) -> None:
    """Make the index of a crawl in *folder*, with the rule of :func:`teach` and no page."""
    file = folder / INDEX
    file.parent.mkdir(parents=True)
    parameters = Pipeline.of(SimhashSettings.read({"SIMHASH_TAKES": takes})).parameters
    with open_index(file, parameters) as index:
        teach(Learner(index.learned.rules), 60, site)


def parked_in(file: Path) -> set[str]:
    """The paths of the requests in a file, which is removed when it is empty."""
    return {path_of(row.url) for row in read_parked(file)} if file.exists() else set()
