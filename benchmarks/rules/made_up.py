"""Sites of addresses alone, with aliases of each kind or hostile, crawled without a network.

Pages are judged by what they are; requests pass the rules' own middleware.  A wall is known when as
many pages had it as raise an alarm in a crawl.
"""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import NamedTuple

from scrapy import Request, Spider
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from scrapy_simhash.crawl.exceptions import RuledOut
from scrapy_simhash.crawl.parked import read_parked
from scrapy_simhash.crawl.requests import RequestFacts
from scrapy_simhash.crawl.rules import SimhashRulesMiddleware
from scrapy_simhash.crawl.setup import Parts
from scrapy_simhash.decision.page import Decision
from scrapy_simhash.index.opening import open_index
from scrapy_simhash.pipeline import Pipeline
from scrapy_simhash.report.alarms import ONE_TEXT_PAGES
from scrapy_simhash.settings import SimhashSettings

HOST = "http://www.site.com"
FOLDERS = "abcd"
# Names end with a slash, as those of many sites do; it is no digit that tells them apart.
_SYLLABLES = ["".join(pair) for pair in product("bcdfghklmnprst", "aeiou")]
NAMES = ["".join(pair) + "/" for pair in product(_SYLLABLES, repeat=2)]
MANY_FOLDERS = [f"at-{name[:-1]}" for name in NAMES[:40]]
ORDERS = ("as linked", "by chance", "aliases last", "aliases first")
WORTH: int = SimhashSettings().rules_audit
WALLS = ("wall", "please start a session")

COLUMNS = (
    "avoided",
    "after learning",
    "downloads a content",
    "needless after learning",
    "contents lost in crawls",
    "first rule, keys",
    "us",
)

# The content at an address when so much of the crawl is done, 0 to 1.
ContentAt = Callable[[float], str]
# Addresses of one page after the other; the first one is its own.
Site = list[list[tuple[str, ContentAt]]]


class Policy(NamedTuple):
    """How many downloads a lost page is worth."""

    worth: int = WORTH


def always(content: str) -> ContentAt:
    return lambda done: content


def alias_site(
    alias: Callable[[str, str, int], str], pages: int, folders: Sequence[str] = FOLDERS
) -> Site:
    """Pages at two addresses each; *alias* makes the second one of folder, name and number."""
    return [
        [
            (f"{HOST}/{folder}/{NAMES[i]}", always(f"{folder}{i}")),
            (alias(folder, NAMES[i], i), always(f"{folder}{i}")),
        ]
        for i in range(pages // len(folders))
        for folder in folders
    ]


ALIASES: dict[str, Callable[[str, str, int], str]] = {
    "session id": lambda folder, name, i: f"{HOST}/{folder}/{name}?sid={i * 7919:x}",
    "tracking": lambda folder, name, i: f"{HOST}/{folder}/{name}?utm_source=a&utm_medium=b",
    "sort order": lambda folder, name, i: f"{HOST}/{folder}/{name}?sort={'ab'[i % 2]}",
    "jsessionid": lambda folder, name, i: f"{HOST}/{folder}/{name[:-1]};jsessionid={i * 7919:x}/",
    "print view": lambda folder, name, i: f"{HOST}/print/{folder}/{name}",
    "mirror": lambda folder, name, i: f"{HOST}/mirror/x/{folder}/{name}",
    "index file": lambda folder, name, i: f"{HOST}/{folder}/{name}index.html",
    "host": lambda folder, name, i: f"http://m.site.com/{folder}/{name}",
}


def handbooks(pages: int) -> dict[str, Site]:
    """Small sites in which the addresses of a page multiply in one way; *pages* have content."""
    rng = random.Random(1)

    def site(alias: Callable[[str], str], aliases: float) -> Site:
        """Each page has so many aliases, on the mean."""
        found: Site = []
        for i in range(pages):
            path = f"/{FOLDERS[i % 3]}/{NAMES[i]}" if i % 4 else f"/{NAMES[i]}"
            count = int(aliases) + (rng.random() < aliases % 1)
            urls = dict.fromkeys([HOST + path, *(alias(path) for _ in range(count))])
            found.append([(url, always(path)) for url in urls])
        return found

    def with_version(path: str) -> str:
        return f"{HOST}{path}?v={rng.randrange(8)}"

    def with_select(alike: int) -> Site:
        """There is one page of which the version matters, but not at first."""
        versions = site(with_version, 10)
        places = sorted(rng.sample(range(pages), 60))
        for i, at in enumerate(places):
            content = always(f"select {max(alike, i)}")
            versions.insert(at + i, [(f"{HOST}/select?v={i}", content)])
        return versions

    def with_language(path: str) -> str:
        return f"{HOST}{path}?lang={rng.choice('abcd')}"

    translated = site(with_language, 4)
    for page in rng.sample(translated, 12):
        path = page[0][0].removeprefix(HOST)
        page.append((f"{HOST}{path}?lang=z", always(f"{path} in z")))
    places = [f"p{i}" for i in range(12)]
    return {
        "handbook, ref=": site(lambda path: f"{HOST}{path}?ref={rng.choice(places)}", 5),
        "handbook, mirror": site(lambda path: f"{HOST}/mirror{path}", 1.15),
        "handbook, print": site(lambda path: f"{HOST}/print{path}", 1.05),
        "handbook, print and ref=": site(
            lambda path: rng.choice((f"{HOST}/print{path}", f"{HOST}{path}?ref=top")), 3
        ),
        "handbook, view=": site(lambda path: f"{HOST}{path}?view={rng.choice('abcd')}", 3.5),
        "handbook, ;jsessionid": site(
            lambda path: f"{HOST}{path[:-1]};jsessionid={rng.getrandbits(64):x}/", 20
        ),
        "handbook, a token at each link": site(
            lambda path: f"{HOST}{path}?sid={rng.getrandbits(64):x}", 8.5
        ),
        "handbook, ?v= that matters in /select": with_select(0),
        "handbook, ?v= that matters in /select from the sixth on": with_select(5),
        "handbook, lang= of which one value matters on 12 pages": translated,
        "handbook, host and ref=, also both": site(
            lambda path: rng.choice(
                (
                    f"http://m.site.com{path}",
                    f"http://m.site.com{path}?ref=a",
                    f"{HOST}{path}?ref=a",
                )
            ),
            5,
        ),
    }


def hostile_sites(pages: int) -> dict[str, Site]:
    """Sites on which a rule is wrong somewhere, or at some time."""

    def site(content: Callable[[str, int], ContentAt], folders: Sequence[str] = FOLDERS) -> Site:
        """Only at the second address, contents may differ."""
        aliases = alias_site(ALIASES["session id"], pages, folders)
        return [
            [first, (second[0], content(second[0].split("/")[3], at // len(folders)))]
            for at, (first, second) in enumerate(aliases)
        ]

    def opening(content: str) -> ContentAt:
        return lambda done: WALLS[0] if done < 0.5 else content

    walled = [
        [(url, opening(content(1.0))) for url, content in page]
        for page in alias_site(ALIASES["session id"], pages)
    ]
    required = [
        [(page[0][0], always(WALLS[1])), page[1]]
        for page in alias_site(ALIASES["session id"], pages)
    ]
    return {
        "matters in one section": site(
            lambda folder, i: always(f"{folder}{i}" + ("other" if folder == "d" else ""))
        ),
        "matters in two of 40 sections": site(
            lambda folder, i: always(
                f"{folder}{i}" + ("other" if folder in MANY_FOLDERS[9:40:20] else "")
            ),
            MANY_FOLDERS,
        ),
        "matters on a third of two of 40 sections": site(
            lambda folder, i: always(
                f"{folder}{i}" + ("other" if folder in MANY_FOLDERS[9:40:20] and i % 3 == 2 else "")
            ),
            MANY_FOLDERS,
        ),
        "starts to matter midway": site(
            lambda folder, i: lambda done: f"{folder}{i}" + ("other" if done > 0.5 else "")
        ),
        "matters on 2 % of pages": site(
            lambda folder, i: always(f"{folder}{i}" + ("other" if i % 50 == 49 else ""))
        ),
        "wall that opens later": walled,
        "session id is required": required,
    }


def ordered(site: Site, order: str, seed: int) -> list[tuple[str, ContentAt]]:
    """Return the addresses of a site in the order in which a crawl meets them."""
    flat = [one for page in site for one in page]
    if order == "by chance":
        random.Random(seed).shuffle(flat)
    elif order == "aliases last":
        flat = [page[0] for page in site] + [one for page in site for one in page[1:]]
    elif order == "aliases first":
        flat = [one for page in site for one in page[1:]] + [page[0] for page in site]
    return flat


class _Spider(Spider):
    name = "dry"

    def parse(self, response: Response) -> None:
        """Take no page: none is sent."""


@dataclass
class Dry:
    """One crawl without a network; *needless* counts downloads after the first rule, by cause.

    Needless is a download whose content was downloaded before.  Requests go through the middleware,
    which parks, explores, tries, releases and audits them as in any crawl.
    """

    policy: Policy | None
    seed: int
    contents: set[str] = field(default_factory=set)
    downloads: int = 0
    repeated: int = 0
    parked: int = 0
    needless: Counter[str] = field(default_factory=Counter)
    first_rule: int | None = None
    cpu: float = 0.0
    # How many downloads there were when so many addresses were met.
    course: list[int] = field(default_factory=list)

    def crawl(self, addresses: list[tuple[str, ContentAt]]) -> Dry:
        """Download what no rule parks."""
        random.seed(self.seed)
        self._kept: dict[str, str] = {}
        self._met: Counter[str] = Counter()
        content_at = dict(addresses)
        if self.policy is None:
            for at, (url, content) in enumerate(addresses):
                self._take(url, content(at / len(addresses)), "no rule")
                self.course.append(self.downloads)
            return self
        settings = SimhashSettings(rules="use", index="memory:", rules_audit=self.policy.worth)
        crawler = get_crawler(_Spider)
        crawler.spider = spider = crawler._create_spider()
        sent: deque[Request] = deque()
        crawler.engine = SimpleNamespace(crawl=sent.append)  # type: ignore[assignment]
        pipeline = Pipeline.of(settings)
        index = open_index("memory:", pipeline.parameters)
        parts = Parts(pipeline, index, RequestFacts(crawler, settings))
        with TemporaryDirectory() as folder:
            file = Path(folder, "parked.sqlite")
            self._rules = SimhashRulesMiddleware(crawler, parts, file)
            parking = self._rules._parking
            explored = "simhash/rules/explored"
            for at, (url, content) in enumerate(addresses):
                done, request = at / len(addresses), Request(url, callback=spider.parse)
                before, began = crawler.stats.get_value(explored, 0), time.process_time()
                with suppress(RuledOut):
                    self._rules.process_request(request)
                    self.cpu += time.process_time() - began
                    is_explored = crawler.stats.get_value(explored, 0) > before
                    self._download(request, content(done), "explored" if is_explored else "no rule")
                while sent:
                    self._download(
                        released := sent.popleft(), content_at[released.url](done), "released"
                    )
                self.course.append(self.downloads)
            is_idle = True
            while is_idle:
                with suppress(DontCloseSpider):
                    parking.spider_idle()
                    is_idle = False
                while sent:
                    late = sent.popleft()
                    self._download(late, content_at[late.url](1.0), "sent when idle")
                    self.course.append(self.downloads)
            self.parked = len(list(read_parked(file)))
            parking.close()
        self.cpu *= 1e6 / len(addresses)
        return self

    def _take(self, url: str, content: str, why: str) -> str:
        """Count a download; return the URL at which its content is kept."""
        self.downloads += 1
        if content in self._kept:
            self.repeated += 1
            if self.first_rule is not None:
                self.needless[why] += 1
        self.contents.add(content)
        return self._kept.setdefault(content, url)

    def _download(self, request: Request, content: str, why: str) -> None:
        kept = self._take(request.url, content, why)
        self._met[content] += 1
        if content in WALLS and self._met[content] >= ONE_TEXT_PAGES:
            self._rules._forget(kept, "")
            self._rules.request_ended(request, Decision("exact_duplicate", "same_text"))
            return
        lesson = self._rules._learner.learn(request.url, kept)
        if lesson.learned and self.first_rule is None:
            self.first_rule = lesson.learned[0].keys
        self._rules._tell(lesson)
        is_kept = kept == request.url
        decision = (
            Decision("unique", "new_text") if is_kept else Decision("exact_duplicate", "same_text")
        )
        self._rules.request_ended(request, decision)


def crawls(site: Site, seeds: int, policy: Policy | None) -> list[Dry]:
    """Crawl a site in all orders, with several seeds each; without rules if there is no policy."""
    return [
        Dry(policy, seed).crawl(ordered(site, order, seed))
        for order in ORDERS
        for seed in range(seeds)
    ]


def row(name: str, without: list[Dry], with_rules: list[Dry]) -> tuple[str, ...]:
    """Return the row of a site, from crawls in the same orders without rules and with them."""
    found = list(zip(without, with_rules, strict=True))
    whole = [(full.downloads - own.downloads) / max(1, full.repeated) for full, own in found]
    after = []
    ratio = [own.downloads / len(full.contents) for full, own in found]
    causes: Counter[str] = Counter()
    for own in with_rules:
        if own.first_rule is not None:
            repeated = own.parked + own.needless.total()
            after.append(own.parked / max(1, repeated))
            causes += own.needless
    losses = [len(full.contents - own.contents) for full, own in found]
    first = max((own.first_rule for own in with_rules if own.first_rule is not None), default=0)
    return (
        name,
        _range(whole),
        _range(after),
        f"{min(ratio):.2f} to {max(ratio):.2f}",
        ", ".join(f"{why} {n / causes.total():.0%}" for why, n in causes.most_common()) or "-",
        f"{sum(losses)} in {sum(map(bool, losses))} of {len(losses)}",
        str(first or "-"),
        f"{max(own.cpu for own in with_rules):.1f}",
    )


def _range(shares: list[float]) -> str:
    return f"{min(shares):.0%} to {max(shares):.0%}" if shares else "-"
