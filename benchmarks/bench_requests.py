"""Does a crawl lose items when what a spider does with a page depends on its request?

A page that says what an earlier one said may still be needed: another callback takes other items
from it, its request carries an item begun in a listing, another account asked for it, or it is a
wall that the spider has to climb.  Crawls small seeded sites on loopback, each with a spider of its
own, without the plug-in, with it (``drop``: all settings at their defaults) and with rules in use
(``rules``: ``SIMHASH_RULES = "use"``).  Each crawl is a process of its own in an empty folder.
Requests go out one after the other (``CONCURRENT_REQUESTS = 1``), so that pages come in the same
order each time, except where several at once are the point: ``session``, ``wall/captcha``,
``wall/consent``, ``browser``, ``depth/deepest-first``, ``depth/together`` and
``around/two-crawls``.  There, figures of two runs differ.

Prints, for each scenario: distinct items without the plug-in; how many of them each mode lost;
requests, errors in the log, and seconds of each mode, in the order of the modes.  Then the sum.
A loss with a word behind it is documented: *address* if pages matter because of their address
alone.

Leaves out: what a drop saves, and copies that arrive again (bench_reach.py).

    python benchmarks/bench_requests.py [SCENARIO ...] [--modes drop,rules] [-s NAME=VALUE]
                                        [--json FILE] [--list]

SCENARIO is a name, or the first part of names: ``wall`` or ``wall/retry``.  The file has the lost
items and the stats ``simhash/*``.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from asked.crawl import MODES, SCENARIOS, WITHOUT, Crawl, measure


def chosen(parser: argparse.ArgumentParser, asked: list[str]) -> list[str]:
    """Return the names of the scenarios that were asked for, all if none was."""
    for one in asked:
        if not any(one in (name, name.partition("/")[0]) for name in SCENARIOS):
            parser.error(f"there is no scenario {one!r}; --list prints all")
    return [
        name for name in SCENARIOS if not asked or name in asked or name.partition("/")[0] in asked
    ]


def line(name: str, *cells: object) -> str:
    widths = (6, 10, 17, 9, 16)
    return f"{name:24}" + " ".join(f"{cell!s:>{w}}" for cell, w in zip(cells, widths, strict=True))


def row(name: str, crawls: list[Crawl]) -> str:
    """Return the row of one scenario, or of the sum."""
    return line(
        name,
        len(crawls[0].items),
        "/".join(str(len(crawl.lost)) for crawl in crawls[1:]),
        "/".join(str(crawl.requests) for crawl in crawls),
        "/".join(str(crawl.errors) for crawl in crawls),
        "/".join(f"{crawl.seconds:.1f}" for crawl in crawls),
    )


def total(found: dict[str, list[Crawl]]) -> list[Crawl]:
    """Return one crawl for each mode, with the sums of all scenarios."""
    return [
        Crawl(
            of_mode[0].mode,
            [item for crawl in of_mode for item in crawl.items],
            [item for crawl in of_mode for item in crawl.lost],
            sum(crawl.requests for crawl in of_mode),
            sum(crawl.errors for crawl in of_mode),
            sum(crawl.seconds for crawl in of_mode),
            {},
        )
        for of_mode in zip(*found.values(), strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    parser.add_argument("--modes", default="drop,rules", help="beside off: drop, rules or both")
    parser.add_argument("-s", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    names, modes = chosen(parser, args.scenarios), args.modes.split(",")
    if unknown := [mode for mode in modes if mode not in MODES]:
        parser.error(f"there is no mode {unknown[0]!r}; there are {', '.join(MODES)}")
    if args.list:
        for name in names:
            print(f"{name:24}{SCENARIOS[name].about}")
        return
    settings = dict(setting.split("=", 1) for setting in args.settings)
    print("modes: " + "/".join([WITHOUT, *(mode for mode in modes if mode != WITHOUT)]))
    print(line("scenario", "items", "lost", "requests", "errors", "seconds"))
    found = {}
    for name in names:
        found[name] = measure(name, modes, settings)
        has_lost = any(crawl.lost for crawl in found[name])
        reason = f"  {SCENARIOS[name].known}" if has_lost else ""
        print((row(name, found[name]) + reason).rstrip(), flush=True)
    print(row("all", total(found)))
    new = {name: crawls for name, crawls in found.items() if not SCENARIOS[name].known}
    if new:
        print(row("without documented", total(new)))
    if args.json:
        told = {name: [asdict(crawl) for crawl in crawls] for name, crawls in found.items()}
        args.json.write_text(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
