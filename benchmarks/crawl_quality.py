"""How right are the decisions of a real crawl of a real site?

Serves the archive of a site from a separate process, crawls it with the example project's
spider through the whole plug-in, and scores the decisions feed against gold texts.  The
server and the scorer are given as scripts: ``SERVER ARCHIVE`` prints its URL and serves,
``SCORER DECISIONS GOLD`` prints a report.

Leaves out: how fast the crawl was (the server shares the machine), and any site whose
pages nobody has read.

    python benchmarks/crawl_quality.py --server serve.py --scorer score.py SITE_FOLDER \
        [-s SIMHASH_DISTANCE=6 ...]

SITE_FOLDER holds ``site.tar.xz``, ``gold.jsonl.gz`` and ``site.json`` (with ``start``, the
paths to start from).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "example_project"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--server", type=Path, required=True)
    parser.add_argument("--scorer", type=Path, required=True)
    parser.add_argument("--variants", help="serve changing pages, as live sites do, by this seed")
    parser.add_argument("-s", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--keep", type=Path, help="folder for the decisions and the log")
    args = parser.parse_args()

    folder = args.keep or Path(tempfile.mkdtemp(prefix="crawl-quality-"))
    folder.mkdir(parents=True, exist_ok=True)
    decisions = (folder / "decisions.jsonl").resolve()
    decisions.unlink(missing_ok=True)
    serve = [sys.executable, str(args.server), str(args.site / "site.tar.xz")]
    if args.variants:
        serve += ["--variants", args.variants]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            base = server.stdout.readline().strip().rstrip("/")
            starts = [
                base + path for path in json.loads((args.site / "site.json").read_text())["start"]
            ]
            settings = {
                "SIMHASH_INDEX": "memory:",
                "SIMHASH_DECISIONS_FILE": decisions,
                "LOG_LEVEL": "INFO",
                "LOG_FILE": folder.resolve() / "crawl.log",
            }
            options = [f"{name}={value}" for name, value in settings.items()] + args.settings
            started = time.monotonic()
            subprocess.run(
                [sys.executable, "-m", "scrapy", "crawl", "site", "-a", "url=" + " ".join(starts)]
                + [word for option in options for word in ("-s", option)],
                cwd=PROJECT,
                check=True,
            )
            print(f"{args.site.name}: {time.monotonic() - started:.0f} s, {folder}")
        finally:
            server.terminate()
    score = [sys.executable, str(args.scorer), str(decisions), str(args.site / "gold.jsonl.gz")]
    subprocess.run(score, check=True)


if __name__ == "__main__":
    main()
