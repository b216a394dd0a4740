"""Make the pictures of the report in report.md: ``python docs/make_pictures.py``.

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
PICTURES = DOCS / "_static"
MARGIN = 16
# Name, colour scheme, and width in pixels.
SHOTS = [("report-wide.png", "light", 800), ("report-narrow.png", "dark", 360)]


def main() -> None:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        subprocess.run([sys.executable, str(DEMO)], cwd=folder, check=True)  # noqa: S603
        report = Path(folder, "demo-output", "report.html")
        # A container has no rights for a sandbox.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, scheme, width in SHOTS:
            page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
            page.goto(report.as_uri())
            bottom = page.locator("figure.picture summary").first.bounding_box()["y"]
            top = page.locator("figure.picture").bounding_box()["y"] - MARGIN
            clip = {"x": 0, "y": top, "width": width, "height": bottom - top}
            page.screenshot(path=PICTURES / name, full_page=True, clip=clip)
        browser.close()


if __name__ == "__main__":
    main()
