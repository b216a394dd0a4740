"""The benchmark of crawls: it says why there is nothing to measure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "measured_crawl.py"


def test_a_crawl_that_ends_within_its_warm_up_says_so(tmp_path: Path) -> None:
    job = tmp_path / "job.json"
    given = {"urls": ["data:,page"], "settings": {}, "warm_up": 50, "tick": False}
    job.write_text(json.dumps(given))
    done = subprocess.run([sys.executable, SCRIPT, job], capture_output=True, text=True)
    assert done.returncode == 1
    assert "got pages=1, warm_up=50" in done.stderr
    assert "Traceback" not in done.stderr
