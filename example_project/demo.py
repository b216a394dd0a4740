"""Serve the demo site, crawl it with the plug-in, and show what was found.

    python demo.py

Everything that the crawl leaves is in ``demo-output/`` of the working directory.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from demo_site.server import serve
from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).parent
OUTPUT = Path("demo-output").resolve()


def crawl(url: str) -> None:
    """Run ``scrapy crawl site`` on the site, as a user would."""
    settings = {
        "SIMHASH_INDEX": OUTPUT / "demo.simhash",
        "SIMHASH_DECISIONS_FILE": OUTPUT / "decisions.jsonl",
        "SIMHASH_REPORT_FILE": OUTPUT / "report.html",
        "LOG_FILE": OUTPUT / "crawl.log",
    }
    command = [sys.executable, "-m", "scrapy", "crawl", "site", "-a", f"url={url}"]
    command += ["-O", f"{OUTPUT / 'items.jsonl'}:jsonlines"]
    for name, value in settings.items():
        command += ["-s", f"{name}={value}"]
    subprocess.run(command, cwd=PROJECT, check=True)


def show(console: Console) -> None:
    """Print one line for each page that was not kept as new, and the sums."""
    decisions = [json.loads(line) for line in (OUTPUT / "decisions.jsonl").open()]
    items = (OUTPUT / "items.jsonl").read_text().count("\n")

    table = Table(title="Near-duplicates on the demo site")
    for column in ("page", "verdict", "distance", "of the kept page", "action"):
        table.add_column(column, overflow="fold")
    for one in sorted(decisions, key=lambda d: (str(d["representative"]), d["url"])):
        if one["representative"]:
            table.add_row(
                short(one["url"]),
                one["verdict"],
                str(one["distance"]),
                short(one["representative"]),
                one["action"],
            )
    console.print(table)

    def having(key: str, value: str) -> list[dict[str, Any]]:
        return [one for one in decisions if one[key] == value]

    dropped = having("action", "drop")
    kept = having("verdict", "unique") + having("verdict", "variant")
    saved = sum(one["body_bytes"] for one in dropped)
    whole = sum(one["body_bytes"] for one in decisions)
    console.print(
        f"\nFound {len(decisions)} pages: kept {len(kept)} "
        f"({items} items), dropped {len(dropped)}, "
        f"could not judge {len(having('verdict', 'skipped'))}.\n"
        f"Saved {saved:,} of {whole:,} bytes from being parsed and stored, and the links of "
        f"{len(dropped)} pages from being followed.\n"
    )
    # Each on a line of its own, however long, so that it can be copied.
    console.print(
        "Look next:\n"
        f"  the report       python3 -m webbrowser {(OUTPUT / 'report.html').as_uri()}\n"
        f"  all that is left {OUTPUT} (log, items, decisions, index)\n"
        "  step by step     docs/tutorial.md, on this site\n"
        "  your own crawl   README.md, then docs/pitfalls.md: when not to drop",
        highlight=False,
        soft_wrap=True,
    )


def short(url: str) -> str:
    """The path and query of a URL, readable."""
    split = urlsplit(url)
    return unquote(split.path + (f"?{split.query}" if split.query else ""))


def main() -> None:
    if OUTPUT.exists():
        shutil.rmtree(OUTPUT)
    OUTPUT.mkdir()
    with serve() as url:
        crawl(url)
    show(Console(width=None if sys.stdout.isatty() else 110))


if __name__ == "__main__":
    main()
