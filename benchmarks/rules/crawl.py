"""Crawls an archived site with a strategy, and counts what was avoidable, avoided and lost."""

from __future__ import annotations

import multiprocessing
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from everything import crawl_everything
from scrapy import Request
from scrapy.http import Response

from rules import strategies
from rules.site import Answer, ArchivedSite, Proxy
from scrapy_simhash.crawl.parking import PARKED_META_KEY

# A strategy that follows aliases without an end stops here.
MOST_PAGES = 20_000
SCHEDULING: dict[str, dict[str, Any]] = {
    "breadth first": {
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    }
}
PRIORITIES: dict[str, Callable[[ArchivedSite, str], int]] = {
    "as linked": lambda site, url: 0,
    "breadth first": lambda site, url: 0,
    "by chance": lambda site, url: random.Random(url).randrange(1000),
    "aliases last": lambda site, url: -site.is_alias(url),
    "aliases first": lambda site, url: site.is_alias(url),
}


COLUMNS = (
    "downloads",
    "avoided",
    "after learning",
    "without the audit",
    "of the oracle's, after learning",
    "without the audit",
    "needless after learning",
    "contents",
    "lost",
)


class Sent(NamedTuple):
    """A request that was sent, and what was known by then.

    *explored* is how many requests were sent by then although a rule made them needless.
    """

    url: str
    is_learned: bool
    explored: int
    was_parked: bool
    has_twin: bool


@dataclass
class Crawl:
    """What was sent, in order; what was answered, in nearly the same order; and the stats."""

    answers: list[Answer]
    sent: list[Sent]
    stats: dict[str, int]

    def contents(self) -> dict[str, Answer]:
        """Return the first answer with each content."""
        found: dict[str, Answer] = {}
        for answer in self.answers:
            if answer.content is not None:
                found.setdefault(answer.content, answer)
        return found

    @property
    def repeated(self) -> int:
        """How many answers had a content that was met before."""
        return len(self.answers) - len({answer.content for answer in self.answers})


def crawl(site: ArchivedSite, strategy: str, order: str) -> Crawl:
    """Crawl a site in a process of its own, from its start."""
    site.restart()
    proxy = Proxy(site)
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    settings = {**strategies.STRATEGIES[strategy], **SCHEDULING.get(order, {})}
    child = context.Process(target=_crawl, args=(site, proxy.url, order, settings, results))
    child.start()
    stats, sent = results.get()
    child.join()
    proxy.close()
    return Crawl(list(site.answers), sent, stats)


def row(site: ArchivedSite, full: Crawl, found: Crawl) -> tuple[str, ...]:
    """Return the row of a crawl, beside one without rules; see :data:`COLUMNS`."""
    avoided = len(full.answers) - len(found.answers)
    learned_at = next((at for at, one in enumerate(found.sent) if one.is_learned), None)
    return (
        f"{len(found.answers):,}",
        f"{avoided / max(1, full.repeated):.0%}",
        *(("-",) * 5 if learned_at is None else _after_learning(site, found, learned_at)),
        f"{len(found.contents()):,}",
        f"{len(lost(site, full, found)):,}",
    )


def _after_learning(site: ArchivedSite, found: Crawl, learned_at: int) -> tuple[str, ...]:
    """Return the shares that were avoided since a rule could act, and the causes of the rest."""
    own = {
        what: found.stats.get(f"simhash/rules/{what}", 0)
        for what in ("parked", "released", "audited")
    }
    parked = own["parked"] - own["released"] - own["audited"]
    before = {answer.content for answer in found.answers[:learned_at]}
    late = [answer.content for answer in found.answers[learned_at:]]
    repeated = len(late) - len({*late} - before)
    causes = _causes(site, found.sent)
    shares = [
        share
        for needless in (repeated, causes.total())
        for share in (
            parked / max(1, parked + needless),
            (parked + own["audited"]) / max(1, parked + needless),
        )
    ]
    told = ", ".join(f"{cause} {n}" for cause, n in causes.most_common())
    return (*(f"{share:.0%}" for share in shares), told or "-")


def _causes(site: ArchivedSite, sent: list[Sent]) -> Counter[str]:
    """Return why requests were sent after learning that an oracle would not have sent."""
    causes: Counter[str] = Counter()
    known: set[str] = set()
    explored = 0
    for one in sent:
        key = site.key(one.url)
        if key in known and one.is_learned:
            if one.was_parked:
                causes["audited or released"] += 1
            elif one.explored > explored:
                causes["explored"] += 1
            else:
                causes["twin in flight" if one.has_twin else "no rule"] += 1
        known.add(key)
        explored = one.explored
    return causes


def _crawl(
    site: ArchivedSite, proxy: str, order: str, settings: dict[str, Any], results: Any
) -> None:
    """Crawl through a proxy; put the stats and the requests that were sent into *results*."""
    os.environ["http_proxy"] = proxy
    strategies.key_of = site.key
    sent: list[Sent] = []
    flying: Counter[str] = Counter()

    class Recorder:
        """Notes what is sent; it is the last one before the downloader."""

        def __init__(self, crawler: Any) -> None:
            self._stats = crawler.stats

        @classmethod
        def from_crawler(cls, crawler: Any) -> Recorder:
            return cls(crawler)

        def process_request(self, request: Request) -> None:
            page = site.path(request.url) or request.url
            sent.append(
                Sent(
                    request.url,
                    bool(self._stats.get_value("simhash/rules/learned")),
                    self._stats.get_value("simhash/rules/explored", 0),
                    PARKED_META_KEY in request.meta,
                    flying[page] > 0,
                )
            )
            flying[page] += 1

        def process_response(self, request: Request, response: Response) -> Response:
            flying[site.path(request.url) or request.url] -= 1
            return response

    def follow(url: str) -> Request | None:
        if site.path(url) is None:
            return None
        priority = PRIORITIES[order](site, url)
        return Request(url, priority=priority, meta={"avoid_dup_content": True})

    middlewares = {Recorder: 999, **settings.get("DOWNLOADER_MIDDLEWARES", {})}
    of_crawl = {
        "CLOSESPIDER_PAGECOUNT": MOST_PAGES,
        **settings,
        "DOWNLOADER_MIDDLEWARES": middlewares,
    }
    results.put((crawl_everything(of_crawl, site.starts, follow), sent))


def lost(site: ArchivedSite, full: Crawl, found: Crawl) -> list[Answer]:
    """Return answers of a full crawl of whose texts another one has met no 80 %."""
    have = {site.gold[content] for content in found.contents()}
    return [
        answer
        for content, answer in full.contents().items()
        if (text := site.gold[content]) not in have
        and not any(_are_alike(text, other) for other in have)
    ]


def _are_alike(one: str, other: str) -> bool:
    """Whether two texts share 80 % of their runs of eight characters, for any script."""
    if not 0.5 < len(one) / len(other) < 2:
        return False
    runs, others = _runs(one), _runs(other)
    return len(runs & others) >= 0.8 * len(runs | others)


@lru_cache(maxsize=100)
def _runs(text: str) -> frozenset[int]:
    return frozenset(hash(text[at : at + 8]) for at in range(max(1, len(text) - 7)))
