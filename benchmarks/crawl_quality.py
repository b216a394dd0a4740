"""How often are the decisions of a real crawl of a real site right?

Serves the archive of a site from a separate process, crawls it with the example project's
spider and the whole plug-in, and scores the decisions feed against gold texts.  The
server and the scorer are scripts: ``SERVER ARCHIVE`` prints its URL and serves,
``SCORER DECISIONS GOLD`` prints a report.

Leaves out: the speed of the crawl (the server shares the machine), and sites without gold texts
(somebody has to read their pages).

    python benchmarks/crawl_quality.py --server serve.py --scorer score.py SITE_FOLDER \
        [-s SIMHASH_DISTANCE=6 ...]

With ``--redis URL``, two processes crawl the site together: scrapy-redis shares the requests, and
the index is on the same server, which should be empty.

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


SHARED = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "SCHEDULER_PERSIST": True,
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
}


def crawl(starts: list[str], options: list[str], feed: Path) -> subprocess.Popen[bytes]:
    """Start a crawl that writes its decisions to *feed*, and its log beside it."""
    feed.unlink(missing_ok=True)
    own = [f"SIMHASH_DECISIONS_FILE={feed}", f"LOG_FILE={feed.with_suffix('.log')}"]
    return subprocess.Popen(
        [sys.executable, "-m", "scrapy", "crawl", "site", "-a", "url=" + " ".join(starts)]
        + [word for option in own + options for word in ("-s", option)],
        cwd=PROJECT,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--server", type=Path, required=True)
    parser.add_argument("--scorer", type=Path, required=True)
    parser.add_argument("--variants", help="serve changing pages, as live sites do, by this seed")
    parser.add_argument(
        "--redis", metavar="URL", help="crawl by two processes, through this server"
    )
    parser.add_argument("-s", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--keep", type=Path, help="folder for the decisions and the log")
    args = parser.parse_args()

    folder = args.keep or Path(tempfile.mkdtemp(prefix="crawl-quality-"))
    folder.mkdir(parents=True, exist_ok=True)
    decisions = (folder / "decisions.jsonl").resolve()
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
            settings: dict[str, object] = {"SIMHASH_INDEX": "memory:", "LOG_LEVEL": "INFO"}
            if args.redis:
                settings |= SHARED | {"REDIS_URL": args.redis, "SIMHASH_INDEX": args.redis}
            options = [f"{name}={value}" for name, value in settings.items()] + args.settings
            started = time.monotonic()
            count = 2 if args.redis else 1
            feeds = [folder.resolve() / f"decisions-{number}.jsonl" for number in range(count)]
            for process in [crawl(starts, options, feed) for feed in feeds]:
                if process.wait():
                    sys.exit(f"a crawl ended with {process.returncode}: see the log in {folder}")
            decisions.write_text("".join(feed.read_text() for feed in feeds))
            print(f"{args.site.name}: {time.monotonic() - started:.0f} s, {folder}")
        finally:
            server.terminate()
    score = [sys.executable, str(args.scorer), str(decisions), str(args.site / "gold.jsonl.gz")]
    subprocess.run(score, check=True)


if __name__ == "__main__":
    main()
