"""What does a crawl reach without the plug-in, and what of that with it?

Crawls seeded sites on loopback, without the plug-in, with ``drop`` and with ``flag``, all other
settings at their defaults (``-s`` changes them).  The server names the items of a page in headers,
which only the spider of this benchmark reads.  The spider follows ``href`` of ``a`` and ``area``,
and ``data-href`` of buttons.

Sites:

- *shop* (listings with an introduction and cards wholly inside links, a pagination, products under
  session ids and as print views), *variants* (products with the same text and other identifiers in
  JSON-LD), *blog* (posts that only tag and date pages lead to), *application* (one shell, the data
  in a script), *gallery* (one text, other pictures);
- *kinds*: 100 kinds of pages, each of one text, whose items differ in one thing only: data in a
  script, a picture, a link, a field, an attribute, a class, a symbol ...  One row for each kind;
- *twins*: the items of the first 24 kinds, each at three addresses, with noise;
- *records*: pages of one form, one row for each form.  Some differ in few values: a price, the
  flats of a building, a register, dates, currencies, an exam question.  Some differ in the order or
  the class of what all have (a league table, free days), or in a badge that one page of two has.
  Others have new comments under a long article, names in links without a new address, a text in a
  class such as ``newsletter``, a shell that a script fills, or an id beside a signature that
  changes at each visit.  Half of the rows have each page at a second address;
- *forum* (threads over several pages, at addresses of threads and of posts; short and locked
  threads; profiles), *news* (articles that pages of days and tags lead to, AMP versions), *wiki*
  (articles, old versions, differences, print views, talk), *calendar* (months, weeks and days, most
  without an event), *store* (a shop with facets, orders, variants, sessions, print views and
  reviews).

``kinds/pictures`` crawls one kind alone: its text is then the template of the site.
``records/flats`` does the same with a row of records.  ``kinds/each`` and ``records/each`` crawl
every row alone, one after the other.

Noise is what differs at each visit of a page: a token, the id of the request, the time, numbers in
addresses of pictures, an advertisement, a box of related links, a session id in links, a comment.
Twins have all of it, the other sites none; ``--noise NAME,NAME`` chooses for all sites, and
``--noise each`` measures a site once for each.  The session id is in links to leaves only, which
twins have: elsewhere a crawl with new links at each visit would never end.

Prints, for each row: requests; items reached; items lost, of those reached without the plug-in;
items that arrived with the flag only; copies of an item that arrived again without the flag; the
stats ``simhash/variant*`` and ``simhash/second_visits`` (of a row: the reasons of the
decisions on its items).  Below the table is the share of all copies that arrived again.

Leaves out: real sites (tests against those need their archives), noise in the text itself, and how
fast the crawl is.

    python benchmarks/bench_reach.py [SITE ...] [--size N] [--noise all|none|each|NAME,NAME]
                                     [-s NAME=VALUE] [--json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from reach import events, forum, kinds, news, records, shops, store, wiki
from reach.crawl import measure
from reach.noise import NOISE
from reach.pages import Site

# Of each site: how it is made, and its number of items (of those with rows: of pages of each row).
SITES: dict[str, tuple[Callable[..., Site], int]] = {
    **{name: (site, 480) for name, site in shops.SITES.items()},
    "kinds": (kinds.kinds, 60),
    "twins": (kinds.twins, 60),
    "records": (records.records, 40),
    "forum": (forum.forum, 160),
    "news": (news.news, 480),
    "wiki": (wiki.wiki, 150),
    "calendar": (events.calendar, 300),
    "store": (store.store, 360),
}
# The rows of the sites that have them; each can be crawled alone.
ROWS: dict[str, list[str]] = {
    "kinds": kinds.NAMES,
    "twins": kinds.NAMES,
    "records": records.NAMES,
}
NOISY = {"twins"}


def noises(site: str, asked: str | None) -> dict[str, tuple[str, ...]]:
    """Return the sets of noise that a site is measured with, each with what to call it."""
    if asked is None:
        asked = "all" if site in NOISY else "none"
    if asked == "each":
        return {name: (name,) for name in NOISE}
    if asked == "none":
        return {"": ()}
    return {asked: tuple(NOISE) if asked == "all" else tuple(asked.split(","))}


def check(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    """Refuse names that nothing has."""
    for site in args.sites:
        name, _, row = site.partition("/")
        rows = ["each", *ROWS[name]] if name in ROWS else []
        if name not in SITES or (row and row not in rows):
            parser.error(f"there is no site {site!r}")
    for name in (args.noise or "").split(","):
        if name not in ("", "all", "none", "each", *NOISE):
            parser.error(f"there is no noise {name!r}; there are {', '.join(NOISE)}")
    for setting in args.settings:
        if "=" not in setting:
            parser.error(f"-s takes NAME=VALUE: got {setting!r}")


def alone(site: str) -> list[str]:
    """Return what to crawl for a site that was asked for: of ``kinds/each``, each kind."""
    name, _, row = site.partition("/")
    return [f"{name}/{one}" for one in ROWS[name]] if row == "each" else [site]


def table(rows: list[dict[str, Any]]) -> None:
    width = max(len(row["site"]) for row in rows)
    print(
        f"{'site':{width}} {'mode':4} {'requests':>8} {'items':>6} {'lost':>5} {'flagged':>7} "
        f"{'copies':>6}  stats"
    )
    for row in rows:
        stats = ", ".join(f"{name} {times:,}" for name, times in row["stats"].items())
        if not row["is_whole"]:
            stats = f"STOPPED: too many pages; {stats}"
        print(
            f"{row['site']:{width}} {row['mode']:4} {row['requests']:8,} {row['items']:6,} "
            f"{row['lost']:5,} {row['flagged']:7,} {row['copies']:6,}  {stats}".rstrip()
        )


def shares(rows: list[dict[str, Any]]) -> None:
    """Print what share of the copies that arrive without the plug-in still arrive with it."""
    without = {row["site"]: row["copies"] for row in rows if row["mode"] == "none"}
    for row in rows:
        if row["mode"] != "none" and not row["row"] and without[row["site"]]:
            share = row["copies"] / without[row["site"]]
            print(f"{row['site']}, {row['mode']}: {share:.1%} of the copies passed again")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sites", nargs="*", metavar="SITE", help=f"of {', '.join(SITES)}")
    parser.add_argument("--size", type=int, help="items of a site, of kinds items of each kind")
    parser.add_argument("--noise", help=f"all, none, each, or some of {', '.join(NOISE)}")
    parser.add_argument("-s", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    check(parser, args)
    settings = dict(setting.split("=", 1) for setting in args.settings)
    rows = []
    for name in (one for site in args.sites or SITES for one in alone(site)):
        site_name, _, kind = name.partition("/")
        make, size = SITES[site_name]
        site = make(args.size or size, *([kind] if kind else []))
        for called, noise in noises(site_name, args.noise).items():
            label = f"{name}+{called}" if noise else name
            for row in measure(site, noise, settings):
                rows.append({"site": f"{label} {row['row']}".strip(), **row})
    if args.json:
        print(json.dumps(rows))
        return
    table(rows)
    shares(rows)


if __name__ == "__main__":
    main()
