"""Requests that rules park: in a crawl without an engine, and those that a crawl has left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

from scrapy import Request
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.parked import ParkedRequests
from scrapy_simhash.crawl.requests import RequestFacts
from scrapy_simhash.crawl.rules import SimhashRulesMiddleware
from scrapy_simhash.crawl.setup import Parts
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.url_rules.learner import PageForRules
from tests.conftest import path_of
from tests.indexes import open_index
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
        rules.close(is_done=True)


def teach(rules: SimhashRulesMiddleware, pages: int) -> None:
    """Have the rules learn that ``sid`` does not matter, from pages at two addresses each."""
    for number in range(pages):
        url = f"http://a.com/a/p{number}"
        rules._learner.learn(PageForRules(url, url))
        rules._learner.learn(PageForRules(f"{url}?sid=1", url))


def parked_in(file: Path) -> set[str]:
    """The paths of the requests in a file, which is removed when it is empty."""
    if not file.exists():
        return set()
    with closing(ParkedRequests(file, is_read_only=True)) as store:
        return {path_of(row.url) for row in store.all()}
