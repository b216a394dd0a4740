"""The command ``scrapy simhash``, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from scrapy_simhash.settings import TEXT
from tests import forking

# Where a crawl of the spider Links leaves its index.
INDEX = Path(".scrapy/simhash/links.simhash")
SCRAPY = Path(sys.executable).with_name("scrapy")


# The setting of the crawls of tests/conftest.py, whose indexes the subcommands open.
_TAKES = ("-s", f"SIMHASH_TAKES={TEXT}")


def simhash(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a subcommand in *folder*."""
    # Of an option that is given twice, the last one counts.
    return forking.run([SCRAPY, "simhash", *arguments[:1], *_TAKES, *arguments[1:]], folder)


def simhash_json(folder: Path, *arguments: str, code: int = 0) -> Any:
    """Return what a subcommand prints with ``--json``; it must end with *code*."""
    done = simhash(folder, *arguments, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)
