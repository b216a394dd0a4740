"""Sites of addresses alone, with aliases of each kind or hostile, crawled without a network.

Pages are judged by what they are, and parked as crawl/parking.py does it.
"""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

from scrapy_simhash.crawl.parking import EXPLORED, LOOKS
from scrapy_simhash.settings import SimhashSettings
from scrapy_simhash.url_rules.book import RuleBook
from scrapy_simhash.url_rules.evidence import sample_share
from scrapy_simhash.url_rules.learner import Learner, PageForRules, Sightings

HOST = "http://www.site.com"
FOLDERS = "abcd"
# Names end with a slash, as those of many sites do; it is no digit that tells them apart.
NAMES = ["".join(four) + "/" for four in product("bcdfghklmn", "aeiou", "bcdfgh", "aeiou")]
MANY_FOLDERS = [f"at-{name[:-1]}" for name in NAMES[:40]]
ORDERS = ("as linked", "by chance", "aliases last", "aliases first")
WORTH: int = SimhashSettings().rules_audit

COLUMNS = (
    "avoided",
    "after learning",
    "without the audit",
    "needless after learning",
    "contents lost in crawls",
    "first rule, keys",
    "us",
    "bytes a key",
)

# The content at an address when so much of the crawl is done, 0 to 1.
ContentAt = Callable[[float], str]
# Addresses of one page after the other; the first one is its own.
Site = list[list[tuple[str, ContentAt]]]


class Policy(NamedTuple):
    """How many downloads a lost page is worth, and the share that is explored, by stage."""

    worth: int = WORTH
    young: float = EXPLORED["young"]
    proven: float = EXPLORED["proven"]


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
        return lambda done: "wall" if done < 0.5 else content

    walled = [
        [(url, opening(content(1.0))) for url, content in page]
        for page in alias_site(ALIASES["session id"], pages)
    ]
    required = [
        [(page[0][0], always("please start a session")), page[1]]
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
        flat = [page[at] for at in range(2) for page in site]
    elif order == "aliases first":
        flat = [page[at] for at in (1, 0) for page in site]
    return flat


@dataclass
class Dry:
    """One crawl without a network; *needless* counts downloads after the first rule, by cause.

    Needless is a download whose content was downloaded before.  What is parked is explored,
    released and audited as in a crawl.
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
    nbytes: float = 0.0

    def crawl(self, addresses: list[tuple[str, ContentAt]]) -> Dry:
        """Download what no rule parks."""
        rng, self._sightings = random.Random(self.seed), Sightings()
        self._learner = Learner(RuleBook(), self._sightings)
        self._kept: dict[str, str] = {}
        self._waiting: dict[Any, list[tuple[str, str, ContentAt]]] = defaultdict(list)
        self._explored: Counter[Any] = Counter()
        for at, (url, content_at) in enumerate(addresses):
            done = at / len(addresses)
            began = time.process_time()
            match = self._learner.say(url).known if self.policy else None
            self.cpu += time.process_time() - began
            if match is None or self.policy is None:
                self._download(url, content_at, done, "no rule")
            elif rng.random() < getattr(self.policy, match.stage):
                self._explored[match.hypothesis.rule] += 1
                self._download(url, content_at, done, f"explored, {match.stage}")
            else:
                self._waiting[match.hypothesis.rule].append((match.pattern, url, content_at))
        if self.policy is not None and self.policy.worth:
            self._audit(rng, self.policy.worth)
        self.parked = sum(map(len, self._waiting.values()))
        self.cpu *= 1e6 / len(addresses)
        self.nbytes = self._sightings.nbytes / max(1, len(self._sightings))
        return self

    def _audit(self, rng: random.Random, worth: int) -> None:
        """Look at some of what each rule has parked, and at some of each template."""
        covered = {rule: len(rows) + self._explored[rule] for rule, rows in self._waiting.items()}
        by_site = sum(covered.values())
        for rule, requests in covered.items():
            rows = self._waiting[rule]
            rng.shuffle(rows)
            seen: Counter[str] = Counter()
            first: list[tuple[str, str, ContentAt]] = []
            tried = self._learner.tried(rule, LOOKS)
            for row in rows:
                seen[row[0]] += 1
                if seen[row[0]] <= LOOKS and row[0] not in tried:
                    first.append(row)
            others = [row for row in rows if row not in first]
            wanted = sample_share(requests, by_site, worth) - self._explored[rule]
            looked_at = [*first, *others][: max(wanted, len(first))]
            self._waiting[rule] = [row for row in rows if row not in looked_at]
            for _, url, content_at in looked_at:
                self._download(url, content_at, 1.0, "audited")

    def _download(self, url: str, content_at: ContentAt, done: float, why: str) -> None:
        content = content_at(done)
        self.downloads += 1
        if content in self._kept:
            self.repeated += 1
            if self.first_rule is not None:
                self.needless[why] += 1
        self.contents.add(content)
        lesson = self._learner.learn(PageForRules(url, self._kept.setdefault(content, url)))
        if lesson.learned and self.first_rule is None:
            self.first_rule = lesson.learned[0].keys
        for one, _ in lesson.suspended:
            self._explored.pop(one.rule, None)
            for _, other_url, other_content in self._waiting.pop(one.rule, ()):
                self._download(other_url, other_content, done, "released")


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
    after, apart = [], []
    causes: Counter[str] = Counter()
    for own in with_rules:
        if own.first_rule is not None:
            audited = own.needless["audited"]
            repeated = own.parked + own.needless.total()
            after.append(own.parked / max(1, repeated))
            apart.append((own.parked + audited) / max(1, repeated))
            causes += own.needless
    losses = [len(full.contents - own.contents) for full, own in found]
    first = max((own.first_rule for own in with_rules if own.first_rule is not None), default=0)
    return (
        name,
        _range(whole),
        _range(after),
        _range(apart),
        ", ".join(f"{why} {n / causes.total():.0%}" for why, n in causes.most_common()) or "-",
        f"{sum(losses)} in {sum(map(bool, losses))} of {len(losses)}",
        str(first or "-"),
        f"{max(own.cpu for own in with_rules):.1f}",
        f"{max(own.nbytes for own in with_rules):.1f}",
    )


def _range(shares: list[float]) -> str:
    return f"{min(shares):.0%} to {max(shares):.0%}" if shares else "-"
