"""What the rules of a site cost a request that they do not park."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.requests import RequestFacts
from scrapy_simhash.crawl.rules import SimhashRulesMiddleware
from scrapy_simhash.crawl.setup import Parts
from scrapy_simhash.index.opening import open_index
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.url_rules.learner import Sighting, Sightings
from scrapy_simhash.url_rules.rule import AddressRule

HOST, OTHER = "www.site.com", "m.site.com"
FOUR = (
    AddressRule("parameter", HOST, "sid", ""),
    AddressRule("parameter", HOST, "utm_medium&utm_source", ""),
    AddressRule("path", HOST, "/print/", "/"),
    AddressRule("path_parameter", HOST, "jsessionid", ""),
)
UTM = "utm_source=a&utm_medium=b"
# Rules that hold, and an address for each number: what applies to it is in the name.
CASES: dict[str, tuple[tuple[AddressRule, ...], Callable[[int], str]]] = {
    "no rule": ((), lambda i: f"http://{HOST}/a/b/lamp{i}/?sid={i}"),
    "the one rule": (FOUR[:1], lambda i: f"http://{HOST}/a/b/lamp{i}/?sid={i}"),
    "none of four": (FOUR, lambda i: f"http://{HOST}/a/b/lamp{i}/?page=3"),
    "one of four": (FOUR, lambda i: f"http://{HOST}/a/b/lamp{i}/?sid={i}"),
    "two of four, parameters": (FOUR, lambda i: f"http://{HOST}/a/b/lamp{i}/?sid={i}&{UTM}"),
    "two of four, path and parameter": (
        FOUR,
        lambda i: f"http://{HOST}/print/a/b/lamp{i}/?sid={i}",
    ),
    "two of four, host and parameter": (
        (*FOUR[:3], AddressRule("host", OTHER, OTHER, HOST)),
        lambda i: f"http://{OTHER}/a/b/lamp{i}/?sid={i}",
    ),
    "four of four": (
        FOUR,
        lambda i: f"http://{HOST}/print/a/b/lamp{i};jsessionid={i}/?sid={i}&{UTM}",
    ),
}
REQUESTS, BATCH, ROUNDS = 2_000, 400, 9
# They prove each of the rules.
TRIALS = 1_000
# Keys that the crawl has met before.
MET = 100_000


class _Spider(Spider):
    name = "cost"

    def parse(self, response: Response) -> None:
        """Take no page: none is sent."""


def rows() -> Iterator[tuple[str, float]]:
    """Yield each case, and the microseconds of CPU a request: the least of some rounds."""
    for name, (rules, url_of) in CASES.items():
        yield name, min(_round(rules, url_of) for _ in range(ROUNDS))


def _round(rules: tuple[AddressRule, ...], url_of: Callable[[int], str]) -> float:
    settings = SimhashSettings(rules="use", index="memory:")
    crawler = get_crawler(_Spider)
    crawler.spider = spider = _Spider()
    spent, rng = 0.0, random.Random(1)
    met = Sightings()
    for _ in range(MET):
        met.put(rng.getrandbits(64), Sighting.of(1, 2, is_kept=True))
    with tempfile.TemporaryDirectory() as folder:
        for start in range(0, REQUESTS, BATCH):  # as many as may be under way
            pipeline = Pipeline.of(settings)
            index = open_index("memory:", pipeline.parameters)
            parts = Parts(pipeline, index, RequestFacts(crawler, settings))
            learned = SimhashRulesMiddleware(crawler, parts, Path(folder, f"{start}.sqlite"))
            learned._learner._sightings = met
            site = index.learned.rules.site(HOST)
            for rule in rules:
                hypothesis = site.put_on_trial(rule, 0.0)
                assert hypothesis is not None
                for _ in range(TRIALS):
                    hypothesis.count("/a/b/*", True, 0.0)
            numbers = random.Random(start).sample(range(10**6), BATCH)
            requests = [Request(url_of(i), callback=spider.parse) for i in numbers]
            began = time.process_time()
            for request in requests:
                learned.process_request(request)
            spent += time.process_time() - began
            learned._parking.close()
    return spent / REQUESTS * 1e6
