"""What do rules for addresses save, and what do they lose?

    python benchmarks/bench_rules.py                       # made-up sites, in four orders
    python benchmarks/bench_rules.py --audits 25           # what is lost, against what is looked at
    python benchmarks/bench_rules.py --simulate 1000       # how often a wrong rule may act
    python benchmarks/bench_rules.py --cost                # what a request costs
    python benchmarks/bench_rules.py --picture rules.svg   # downloads over time
    python benchmarks/bench_rules.py --sites SITES --tools TOOLS  # archived sites

*Made-up sites* have aliases of each kind, or are hostile.  They are crawled without a network: this
shows the learning and the parking, and nothing of the verdicts.  *Archived sites* are served at
three addresses a page and crawled by Scrapy, with our rules and with those of others.  One that is
not installed is left out: duplicate-url-discarder with its rules, and MaybeDont (with datasketch).

*Handbooks* are small sites of which the addresses multiply in one way each.

A download is avoidable if its content was downloaded before; a content is one gold text, and lost
if no page with 80 % of it was seen.  *After learning* is from when the first rule could act to the
end; without the audit, requests that are sent at the end to look whether a rule is right count as
avoided.  The oracle knows which addresses are one page.

It leaves out: traps and soft 404 (bench_traps.py).
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

from rules import cost, crawl, made_up, picture, site, strategies

from scrapy_simhash.url_rules.book import RuleBook
from scrapy_simhash.url_rules.learner import Learner

# Every kind of alias is on one site at least, two on each.
ALIASES_OF = {
    "apache2": ("session id", "mirror"),
    "atom-docs": ("index file", "sort order"),
    "debian-install": ("tracking", "print view"),
    "libreoffice-help": ("jsessionid", "host"),
    "llvm": ("session id", "tracking"),
}
# Of SIMHASH_RULES_AUDIT.
AUDITS = (0, 50, 100, 200, 380)
HOST = made_up.HOST


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
                    learner.learn(url, kept.setdefault(content, url))
        learned = [one for one in book.all() if one.learned is not None]
        wrong = sum(rates[int(one.rule.drop[1:])] < 0.9 for one in learned if one.rule.drop)
        rules, wrong_rules, wrong_sites = (
            rules + len(learned),
            wrong_rules + wrong,
            wrong_sites + bool(wrong),
        )
    print(f"{sites:,} sites: {rules:,} rules held at some time, {wrong_rules:,} of them wrong")
    print(f"sites with a wrong rule: {wrong_sites / sites:.2%} (the bound is 5 %)")


def audits(pages: int, seeds: int) -> Iterator[tuple[str, ...]]:
    """Yield what SIMHASH_RULES_AUDIT costs on one site, and loses on another."""
    alias = made_up.alias_site(made_up.ALIASES["session id"], pages)
    rare = made_up.hostile_sites(pages)["matters on 2 % of pages"]
    full, full_rare = made_up.crawls(alias, 1, None), made_up.crawls(rare, seeds, None)
    for worth in AUDITS:
        policy = made_up.Policy(worth)
        cost = made_up.row("", full, made_up.crawls(alias, 1, policy))
        loss = made_up.row("", full_rare, made_up.crawls(rare, seeds, policy))
        yield str(worth), *cost[1:4], loss[5]


def archived(
    one: site.ArchivedSite, orders: list[str], names: list[str]
) -> Iterator[tuple[str, ...]]:
    """Yield a row for each order and strategy on an archived site."""
    for order in orders:
        full = crawl.crawl(one, "none", order)
        for name in names:
            if packages := strategies.missing(name):
                yield order, name, f"not installed: {', '.join(packages)}"
                continue
            found = full if name == "none" else crawl.crawl(one, name, order)
            yield order, name, *crawl.row(one, full, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=3, help="seeds for each kind of order")
    parser.add_argument("--pages", type=int, help="of a site; 600 if it is made up, otherwise 300")
    parser.add_argument("--audits", type=int, metavar="SEEDS")
    parser.add_argument("--simulate", type=int, metavar="SITES")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--picture", type=Path, metavar="SVG")
    parser.add_argument("--sites", type=Path, help="the folder of archived sites")
    parser.add_argument("--site", action="append", help="only this one; may be repeated")
    parser.add_argument("--tools", type=Path, help="the folder of serve_site.py")
    parser.add_argument("--variants", type=int, help="pages change at each visit, by this seed")
    parser.add_argument("--order", action="append", choices=crawl.PRIORITIES)
    parser.add_argument("--strategy", action="append", choices=strategies.STRATEGIES)
    parser.add_argument("--hostile", action="append", choices=site.HOSTILE)
    options = parser.parse_args()
    if options.simulate:
        simulate(options.simulate)
    elif options.picture:
        made = made_up.handbooks(options.pages or 448)["handbook, view="]
        addresses = made_up.ordered(made, "by chance", 1)
        crawls = {
            name: made_up.Dry(policy, 1).crawl(addresses)
            for name, policy in (("dropping only", None), ("rules", made_up.Policy()))
        }
        courses = {name: one.course for name, one in crawls.items()}
        options.picture.write_text(picture.drawn(courses, len(made), len(addresses)))
    elif options.cost:
        print("rules that apply | us of CPU a request")
        for name, microseconds in cost.rows():
            print(f"{name} | {microseconds:.1f}", flush=True)
    elif options.audits:
        print(
            "SIMHASH_RULES_AUDIT | avoided | after learning | downloads a content | lost in crawls"
        )
        for row in audits(options.pages or 600, options.audits):
            print(" | ".join(row), flush=True)
    elif options.sites:
        print(" | ".join(("site", "order", "strategy", *crawl.COLUMNS)))
        for name in options.site or ALIASES_OF:
            for hostile in options.hostile or (None,):
                aliases = ("session id",) if hostile else ALIASES_OF[name]
                folder, pages = options.sites / name, options.pages or 300
                one = site.ArchivedSite(
                    folder, options.tools, pages, aliases, hostile, options.variants
                )
                title = hostile or f"{name}, {' and '.join(aliases)}"
                orders = options.order or ["as linked", "by chance"]
                for row in archived(one, orders, options.strategy or [*strategies.STRATEGIES]):
                    print(" | ".join((title, *row)), flush=True)
                one.close()
    else:
        print(" | ".join(("site", *made_up.COLUMNS)))
        pages = options.pages or 600
        sites = {name: made_up.alias_site(one, pages) for name, one in made_up.ALIASES.items()}
        sites |= made_up.handbooks(options.pages or 448) | made_up.hostile_sites(pages)
        for name, made in sites.items():
            without = made_up.crawls(made, options.orders, None)
            own = made_up.crawls(made, options.orders, made_up.Policy())
            print(" | ".join(made_up.row(name, without, own)), flush=True)


if __name__ == "__main__":
    main()
