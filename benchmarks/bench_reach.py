"""What does a crawl reach without the plug-in, and what of that with it?

Crawls seeded sites on loopback, without the plug-in, with ``drop`` and with ``flag``, all other
settings at their defaults (``-s`` changes them).  Each page that an item can be taken from names it
in a ``<meta>`` that only the spider of this benchmark reads.  The spider follows ``href`` of ``a``
and ``area``, and ``data-href`` of buttons.

Sites:

- *shop* (listings with an introduction and cards wholly inside links, a pagination, products under
  session ids and as print views), *variants* (products with the same text and other identifiers in
  JSON-LD), *blog* (posts that only tag and date pages lead to), *application* (one shell, the data
  in a script), *gallery* (one text, other pictures);
- *kinds*: 24 kinds of pages, each of one text, whose items differ in one thing only: data in a
  script, a picture, a link, a field, an attribute ...  One row for each kind;
- *twins*: the same items, each at three addresses, with noise;
- *forum* (threads over several pages, at addresses of threads and of posts; short and locked
  threads; profiles), *news* (articles that pages of days and tags lead to, AMP versions), *wiki*
  (articles, old versions, differences, print views, talk), *calendar* (months, weeks and days, most
  without an event), *store* (a shop with facets, orders, variants, sessions, print views and
  reviews).

``kinds/pictures`` crawls one kind alone: its text is then the template of the site.

Noise is what differs at each visit of a page: a token, the id of the request, the time, numbers in
addresses of pictures, an advertisement, a box of related links, a session id in links, a comment.
Twins have all of it, the other sites none; ``--noise NAME,NAME`` chooses for all sites, and
``--noise each`` measures a site once for each.  The session id is in links to leaves only, which
twins have: elsewhere a crawl with new links at each visit would never end.

Prints, for each row: requests; items reached; items lost, of those reached without the plug-in;
items that arrived with the flag only; copies of an item that arrived again without the flag; the
stats ``simhash/kept_apart/*`` and ``simhash/second_visits`` (of a kind: the reasons of the
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

from reach import events, forum, kinds, news, shops, store, wiki
from reach.crawl import measure
from reach.noise import NOISE
from reach.pages import Site

# Of each site: how it is made, and its number of items (of kinds: of each kind).
SITES: dict[str, tuple[Callable[..., Site], int]] = {
    **{name: (site, 480) for name, site in shops.SITES.items()},
    "kinds": (kinds.kinds, 60),
    "twins": (kinds.twins, 60),
    "forum": (forum.forum, 160),
    "news": (news.news, 480),
    "wiki": (wiki.wiki, 150),
    "calendar": (events.calendar, 300),
    "store": (store.store, 360),
}
# With a row for each kind of page.
KINDS_OF = {"kinds", "twins"}
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
        name, _, kind = site.partition("/")
        if name not in SITES or (kind and (name not in KINDS_OF or kind not in kinds.KINDS)):
            parser.error(f"there is no site {site!r}")
    for name in (args.noise or "").split(","):
        if name not in ("", "all", "none", "each", *NOISE):
            parser.error(f"there is no noise {name!r}; there are {', '.join(NOISE)}")
    for setting in args.settings:
        if "=" not in setting:
            parser.error(f"-s takes NAME=VALUE: got {setting!r}")


def table(rows: list[dict[str, Any]]) -> None:
    print(
        f"{'site':26} {'mode':4} {'requests':>8} {'items':>6} {'lost':>5} {'flagged':>7} "
        f"{'copies':>6}  stats"
    )
    for row in rows:
        stats = ", ".join(f"{name} {times:,}" for name, times in row["stats"].items())
        if not row["is_whole"]:
            stats = f"STOPPED: too many pages; {stats}"
        print(
            f"{row['site']:26} {row['mode']:4} {row['requests']:8,} {row['items']:6,} "
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
    for name in args.sites or SITES:
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
