"""Make the picture of the report in the documents: ``python docs/make_picture.py``.

The demo site is crawled, and Chromium, named by ``CHROMIUM`` or on the path, shows its report.
Needs Playwright (``pip install playwright``).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parent
DEMO = DOCS.parent / "example_project" / "demo.py"
PICTURE = DOCS / "_static" / "report.png"
# Of the page as it begins, in pixels.
WIDTH, HEIGHT = 1000, 760


def main() -> None:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        subprocess.run([sys.executable, str(DEMO)], cwd=folder, check=True)  # noqa: S603
        report = Path(folder, "demo-output", "report.html")
        # A container has no rights for a sandbox.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(report.as_uri())
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
