"""Test the installed package from a folder with tests/ but without the package's sources.

    python test_wheel.py compiled|pure

``compiled``: every compiled module must be there and is tested.  ``pure``: none may be there, and
the twins in Python are tested.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

MODULES = (*("analysis.compiled", "analysis.compiled_walk", "tables.compiled"),)
TESTS = (
    *("tables/test_engines", "tables/test_build", "tables/test_design"),
    *("analysis/test_fingerprint", "analysis/test_text", "analysis/test_walk"),
    "decision/test_sketch",
)
# The others need what only POSIX has.
TESTS_ON_WINDOWS = ("tables/test_engines", "analysis/test_fingerprint")


def main(kind: str) -> str | int:
    """Return the exit status: a message, or that of the tests."""
    if Path("scrapy_simhash").exists():
        return "the package's sources are here, and would be tested instead of the wheel"
    found = {name for name in MODULES if importlib.util.find_spec(f"scrapy_simhash.{name}")}
    if found != (set(MODULES) if kind == "compiled" else set()):
        return f"a {kind} wheel has these compiled modules: {sorted(found)}"
    if kind == "compiled":
        from scrapy_simhash.tables.compiled import SCANNERS

        print("This processor's scanners, each of which is tested:", *SCANNERS)
    windows = os.name == "nt"
    tests = [f"tests/{name}.py" for name in (TESTS_ON_WINDOWS if windows else TESTS)]
    # The fixtures of all tests run servers and fork.
    options = ["--noconftest"] if windows else []
    return subprocess.call([sys.executable, "-m", "pytest", "-q", "-m", "", *options, *tests])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
