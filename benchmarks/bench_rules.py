"""What do rules for addresses save, and what do they lose?

    python benchmarks/bench_rules.py                       # made-up sites, in four orders
    python benchmarks/bench_rules.py --simulate 1000       # how often a wrong rule may act
    python benchmarks/bench_rules.py --site SITE --tools TOOLS  # a crawl of an archived site

*Made-up sites* have aliases of each kind, or are hostile.  Their pages are judged by what they are,
without a crawl: this shows the learning, and the parking as crawl/parking.py does it, and nothing
of the verdicts.  *An archived site* is crawled, with aliases, without rules and with them; a
content is one gold text, and lost if no page with 80 % of it was seen.  Downloads are avoidable if
their content was downloaded before.

It leaves out: traps, soft 404, and the tools of others.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from scrapy_simhash.addresses.book import RuleBook
from scrapy_simhash.addresses.learner import Judged, Learner
from scrapy_simhash.addresses.sightings import Sightings
from scrapy_simhash.crawl.parking import EXPLORED

HOST = "http://www.site.com"
AUDITED = 59
FOLDERS, PAGES = 4, 150
# Names end with a slash, as those of many sites do; it is no digit that tells them apart.
NAMES = ["".join(three) + "/" for three in product("bcdfghklmn", "aeiou", "bcd")]
ORDERS = ("as linked", "by chance", "aliases last", "aliases first")

# The content at an address when so much of the crawl is done, 0 to 1.
ContentAt = Callable[[float], str]
# Addresses of one page after the other; the first one is its own.
Site = list[list[tuple[str, ContentAt]]]


class Outcome(NamedTuple):
    """One crawl: its downloads, those in the second half, and the contents that it reached."""

    downloads: int
    late: int
    contents: set[str]
    avoidable: int
    late_avoidable: int
    first_rule: int | None
    match_us: float
    bytes_a_key: float


def always(content: str) -> ContentAt:
    return lambda done: content


def alias_site(alias: Callable[[str, str, int], str]) -> Site:
    """Pages at two addresses each; *alias* makes the second one of folder, name and number."""
    return [
        [
            (f"{HOST}/{folder}/{NAMES[i]}", always(f"{folder}{i}")),
            (alias(folder, NAMES[i], i), always(f"{folder}{i}")),
        ]
        for i in range(PAGES)
        for folder in "abcd"[:FOLDERS]
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


def hostile_sites() -> dict[str, Site]:
    """Sites on which a rule is wrong somewhere, or at some time."""

    def site(content: Callable[[str, int], ContentAt]) -> Site:
        """Only at the second address, contents may differ."""
        pages = alias_site(ALIASES["session id"])
        return [
            [first, (second[0], content(second[0].split("/")[3], at // FOLDERS))]
            for at, (first, second) in enumerate(pages)
        ]

    def opening(content: str) -> ContentAt:
        return lambda done: "wall" if done < 0.5 else content

    walled = [
        [(url, opening(content(1.0))) for url, content in page]
        for page in alias_site(ALIASES["session id"])
    ]
    required = [
        [(page[0][0], always("please start a session")), page[1]]
        for page in alias_site(ALIASES["session id"])
    ]
    return {
        "matters in one section": site(
            lambda folder, i: always(f"{folder}{i}" + ("other" if folder == "d" else ""))
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


def crawled(addresses: list[tuple[str, ContentAt]], uses_rules: bool, seed: int) -> Outcome:
    """Crawl without a network: what is parked is explored, released and audited as in a crawl."""
    rng, sightings = random.Random(seed), Sightings()
    book = RuleBook()
    learner = Learner(book, sightings)
    kept: dict[str, str] = {}
    parked: dict[Any, list[tuple[str, ContentAt]]] = {}
    downloads = late = avoidable = late_avoidable = 0
    first_rule: int | None = None
    cpu = 0.0

    def download(url: str, content_at: ContentAt, done: float) -> None:
        nonlocal downloads, late, avoidable, late_avoidable, first_rule
        content = content_at(done)
        is_late = done >= 0.5
        downloads, late = downloads + 1, late + is_late
        if content in kept:
            avoidable, late_avoidable = avoidable + 1, late_avoidable + is_late
        lesson = learner.learn(Judged(url, kept.setdefault(content, url)))
        if lesson.learned and first_rule is None:
            first_rule = lesson.learned[0].keys
        for one in lesson.refuted:
            for other_url, other_content in parked.pop(one.rule, ()):
                download(other_url, other_content, done)

    for at, (url, content_at) in enumerate(addresses):
        began = time.process_time()
        match = learner.match(url) if uses_rules else None
        cpu += time.process_time() - began
        if match is not None and rng.random() >= EXPLORED[match.stage]:
            parked.setdefault(match.hypothesis.rule, []).append((url, content_at))
        else:
            download(url, content_at, at / len(addresses))
    for rule in [*parked]:
        sample = rng.sample(parked[rule], min(AUDITED, len(parked[rule])))
        parked[rule] = [one for one in parked[rule] if one not in sample]
        for url, content_at in sample:
            download(url, content_at, 1.0)
    return Outcome(
        downloads,
        late,
        set(kept),
        avoidable,
        late_avoidable,
        first_rule,
        1e6 * cpu / len(addresses),
        sightings.nbytes / max(1, len(sightings)),
    )


def made_up(orders: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each site, over all orders and *orders* seeds."""
    sites = {name: alias_site(alias) for name, alias in ALIASES.items()} | hostile_sites()
    for name, site in sites.items():
        lost, saved, late_saved, first, cpu, size = 0, [], [], [], 0.0, 0.0
        for order in ORDERS:
            for seed in range(orders):
                addresses = ordered(site, order, seed)
                full = crawled(addresses, False, seed)
                ruled = crawled(addresses, True, seed)
                lost += len(full.contents - ruled.contents)
                saved.append((full.downloads - ruled.downloads) / max(1, full.avoidable))
                if full.late_avoidable >= PAGES:  # of fewer, a share says little
                    late_saved.append((full.late - ruled.late) / full.late_avoidable)
                first += [ruled.first_rule] if ruled.first_rule is not None else []
                cpu, size = max(cpu, ruled.match_us), max(size, ruled.bytes_a_key)
        yield (
            name,
            f"{min(saved):.0%} to {max(saved):.0%}",
            f"{min(late_saved):.0%} to {max(late_saved):.0%}" if late_saved else "-",
            str(lost),
            str(max(first, default="-")),
            f"{cpu:.1f}",
            f"{size:.1f}",
        )


def simulate(sites: int) -> None:
    """Sites with ten parameters each, of which each is right in some share of its pages."""
    rng, wrong_sites, rules, wrong_rules = random.Random(1), 0, 0, 0
    for _ in range(sites):
        book = RuleBook()
        learner = Learner(book)
        kept: dict[str, str] = {}
        rates = [rng.choice([0.5, 0.8, 0.899, 1.0, 1.0]) for _ in range(10)]
        for i in range(150):
            for name in range(10):
                for end, content in (
                    ("", f"p{name}-{i}"),
                    (f"?x{name}=1", f"p{name}-{i}" + "x" * (rng.random() > rates[name])),
                ):
                    url = f"{HOST}/a/p{name}-{i}{end}"
                    learner.learn(Judged(url, kept.setdefault(content, url)))
        learned = [one for one in book.all() if one.learned is not None]
        wrong = sum(rates[int(one.rule.drop[1:])] < 0.9 for one in learned if one.rule.drop)
        rules, wrong_rules, wrong_sites = (
            rules + len(learned),
            wrong_rules + wrong,
            wrong_sites + bool(wrong),
        )
    print(f"{sites:,} sites: {rules:,} rules held at some time, {wrong_rules:,} of them wrong")
    print(f"sites with a wrong rule: {wrong_sites / sites:.2%} (the bound is 5 %)")


def crawl_archive(base: str, start: list[str], settings: dict[str, Any], queue: Any) -> None:
    """Crawl a served site; put the addresses of the parsed pages and the stats into *queue*."""
    from scrapy import Request, Spider
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.http import HtmlResponse, Response
    from scrapy.linkextractors import LinkExtractor

    seen: list[str] = []

    class Everything(Spider):
        name = "everything"
        start_urls = [base + path for path in start]  # noqa: RUF012
        links = LinkExtractor()

        def parse(self, response: Response) -> Iterator[Request]:
            if isinstance(response, HtmlResponse):
                seen.append(response.url)
                for link in self.links.extract_links(response):
                    if link.url.startswith(base):
                        yield Request(link.url.partition("#")[0])

    process = AsyncCrawlerProcess(
        {
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            "ADDONS": {"scrapy_simhash.Addon": 500},
            "SIMHASH_INDEX": "memory:",
            **settings,
        }
    )
    crawler = process.create_crawler(Everything)
    process.crawl(crawler)
    process.start()
    queue.put((seen, {k: v for k, v in crawler.stats.get_stats().items() if type(v) is int}))


def shingles(text: str) -> set[str]:
    """Return what two texts are compared by: runs of eight characters, for any script."""
    return {text[at : at + 8] for at in range(max(1, len(text) - 7))}


def alike(one: set[str], other: set[str]) -> bool:
    """Whether two texts share 80 %, as shared/tools/reach_crawl.py has it."""
    return len(one & other) >= 0.8 * len(one | other)


def archived(site: Path, tools: Path, aliases: float, variants: int | None) -> None:
    """Crawl an archived site without rules and with them, and print what was saved and lost."""
    sys.path.insert(0, str(tools))
    server_of = import_module("serve_site").SiteServer
    start = json.loads((site / "site.json").read_text())["start"]
    with gzip.open(site / "gold.jsonl.gz", "rt") as lines:
        gold = {row["path"]: row["text"] for row in map(json.loads, lines)}

    def contents(urls: list[str]) -> dict[str, str]:
        """Return the texts of pages, each with the address of one."""
        found = {}
        for url in urls:
            path = unquote(urlsplit(url).path).removeprefix("/print")
            for name in (path, path.rstrip("/") + "/index.html"):
                if gold.get(name, "").strip():
                    found[" ".join(gold[name].casefold().split())] = url
        return found

    context = multiprocessing.get_context("fork")
    runs: dict[str, tuple[list[str], dict[str, int]]] = {}
    for rules in ("off", "use"):
        with server_of(str(site / "site.tar.xz"), aliases=aliases, variants=variants) as server:
            queue = context.Queue()
            job = (server.url.rstrip("/"), start, {"SIMHASH_RULES": rules}, queue)
            process = context.Process(target=crawl_archive, args=job)
            process.start()
            runs[rules] = queue.get()
            process.join()
    (full, full_stats), (ruled, stats) = runs["off"], runs["use"]
    have = contents(ruled)
    parts = [shingles(text) for text in have]
    lost = {
        text: url
        for text, url in contents(full).items()
        if text not in have and not any(alike(shingles(text), other) for other in parts)
    }
    requests = "downloader/response_count"
    dropped = full_stats["simhash/dropped"]
    print(f"{site.name}: {full_stats[requests]:,} downloads without rules, {dropped:,} dropped")
    print(f"  with rules {stats[requests]:,}; contents {len(contents(full)):,}, lost {len(lost):,}")
    for url in [*lost.values()][:5]:
        print(f"    {url}")
    for name, value in sorted(stats.items()):
        if name.startswith("simhash/rules/"):
            print(f"  {name.removeprefix('simhash/rules/')}: {value:,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=3, help="seeds for each kind of order")
    parser.add_argument("--simulate", type=int, metavar="SITES")
    parser.add_argument("--site", type=Path)
    parser.add_argument("--tools", type=Path, help="the folder of serve_site.py")
    parser.add_argument("--aliases", type=float, default=0.5)
    parser.add_argument("--variants", type=int)
    options = parser.parse_args()
    if options.simulate:
        simulate(options.simulate)
    elif options.site:
        archived(options.site, options.tools, options.aliases, options.variants)
    else:
        print("site | avoided | in the second half | lost | first rule, keys | us | bytes a key")
        for row in made_up(options.orders):
            print(" | ".join(row), flush=True)


if __name__ == "__main__":
    main()
