"""The report in a real browser: Chromium, where there is one, driven by Playwright.

Playwright is told the browser of the system, named by ``CHROMIUM`` or on the path.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrapy_simhash.report.html import html_of
from tests.sample_reports import HOSTILE, collected, everywhere, session_ids

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
ARGUMENTS = [
    "--headless",
    # A container has no rights for a sandbox, and no graphics.
    "--no-sandbox",
    "--disable-gpu",
    # The browser asks the network for nothing of its own.
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason=f"no Chromium here: none of {', '.join(NAMES)} is installed"
)

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 28)"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


class Opened:
    """A page that was opened, with all that it asked for, said and did."""

    def __init__(self, browser: Any, path: Path, html: str, **context: Any) -> None:
        path.write_text(html, encoding="utf-8")
        self.page = browser.new_page(**context)
        self.happened: list[str] = []
        self.requests: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.happened.append(message.text))
        self.page.on("pageerror", lambda error: self.happened.append(str(error)))
        self.page.on("dialog", lambda dialog: self.happened.append(dialog.message))
        self.page.goto(path.as_uri())

    def is_quiet(self) -> bool:
        return len(self.requests) == 1 and not self.happened

    def overflows(self) -> bool:
        """Whether the page is wider than its window."""
        width = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        return bool(self.page.evaluate(width) > 0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_every_section_is_shown(
    browser: Any, tmp_path: Path, scheme: str, viewport: dict[str, int]
) -> None:
    opened = Opened(
        browser,
        tmp_path / "report.html",
        html_of(collected(*session_ids())),
        color_scheme=scheme,
        viewport=viewport,
    )
    sections = opened.page.locator("section")
    assert sections.count() == 9
    for number in range(sections.count()):
        assert sections.nth(number).is_visible()
    background = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == PAPER[scheme]
    assert opened.page.locator(".column").first.bounding_box()["height"] > 50
    assert not opened.overflows()
    assert opened.is_quiet()


def test_charts_show_their_proportions(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path / "report.html", html_of(collected(*session_ids())))
    heights = [box["height"] for box in map(_box, opened.page.locator(".column .duplicate").all())]
    assert max(heights) > 10 * (min(heights) + 1)
    assert opened.is_quiet()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_does_nothing(browser: Any, tmp_path: Path, text: str) -> None:
    opened = Opened(browser, tmp_path / "report.html", html_of(everywhere(text)), viewport=NARROW)
    for link in opened.page.locator("main a").all():
        assert link.get_attribute("href").startswith(("http://", "https://"))
    opened.page.locator("summary").click()
    assert not opened.overflows()
    assert opened.is_quiet()


def test_page_can_be_printed(browser: Any, tmp_path: Path) -> None:
    opened = Opened(
        browser, tmp_path / "report.html", html_of(collected(*session_ids())), color_scheme="dark"
    )
    opened.page.emulate_media(media="print")
    ink, paper = (
        opened.page.evaluate(f"getComputedStyle(document.body).{name}")
        for name in ("color", "backgroundColor")
    )
    assert (ink, paper) == ("rgb(0, 0, 0)", "rgb(255, 255, 255)")
    assert opened.page.pdf().startswith(b"%PDF-")


def _box(locator: Any) -> dict[str, float]:
    box: dict[str, float] = locator.bounding_box()
    return box
