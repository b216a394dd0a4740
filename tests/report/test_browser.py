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
from scrapy_simhash.report.record import OUTCOMES
from tests.reports import record, variant
from tests.sample_reports import HOSTILE, SITE, collected, everywhere, session_ids

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
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        CHROMIUM is None, reason=f"no Chromium here: none of {', '.join(NAMES)} is installed"
    ),
]

NARROW, MIDDLE, WIDE = ({"width": width, "height": 900} for width in (360, 800, 1400))
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

    def cut_off(self) -> list[str]:
        """Texts that stand out of the picture or of their box; tables have boxes that scroll."""
        outside: list[str] = self.page.evaluate(
            """() => {
            const width = document.documentElement.clientWidth;
            const texts = document.querySelectorAll("svg text");
            const boxes = document.querySelectorAll(".figures > div, .legend li, p, dd");
            return [
                ...[...texts].filter((one) => one.getBoundingClientRect().right > width - 15),
                ...[...boxes].filter((one) => one.scrollWidth > one.clientWidth + 1),
            ].map((one) => one.textContent);
            }"""
        )
        return outside


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [NARROW, MIDDLE, WIDE], ids=["narrow", "middle", "wide"])
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
    assert sections.count() == 10
    for number in range(sections.count()):
        assert sections.nth(number).is_visible()
    background = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == PAPER[scheme]
    assert opened.page.get_by_role("img", name="Bars").bounding_box()["height"] > 300
    assert not opened.overflows()
    assert opened.cut_off() == []
    assert opened.is_quiet()


def test_picture_shows_its_proportions(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path / "report.html", html_of(collected(*session_ids())))
    parts = opened.page.locator("svg[role=img] g .part").all()
    heights = [_box(part)["height"] for part in parts]
    assert max(heights) > 10 * min(heights)
    kept, dropped, skipped = map(_box, opened.page.locator("svg[role=img] > .part").all()[:3])
    assert dropped["width"] == pytest.approx(45 / 19 * kept["width"], rel=0.02)
    assert skipped["width"] == pytest.approx(1 / 19 * kept["width"], abs=2)
    assert opened.is_quiet()


@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_huge_numbers_and_long_names_are_not_cut_off(
    browser: Any, tmp_path: Path, viewport: dict[str, int]
) -> None:
    records = [
        record(f"{SITE}/{'W' * (60 + i)}/{i}", second=i)
        if reason is None
        else variant(f"{SITE}/{'W' * (60 + i)}/{i}", f"{SITE}/near", reason, second=i)
        for i, reason in enumerate((None, "other_site", "new_links") * 15)
    ]
    report = collected(*records)
    for row in (*report["outcomes"], *report["sections"], *report["timeline"]["bins"]):
        row.update({name: 10**7 * row[name] for name in (*OUTCOMES, "pages") if name in row})
    totals = report["totals"]
    totals.update(judged=45 * 10**7, duplicates=10**7, body_bytes=10**15, analysis_seconds=1e8)
    opened = Opened(browser, tmp_path / "report.html", html_of(report), viewport=viewport)
    assert opened.page.get_by_text("450,000,000 pages").first.is_visible()
    assert not opened.overflows()
    assert opened.cut_off() == []


def sortable() -> str:
    """A page whose groups have 1 to 3 duplicates of 2 MB, 10 kB and 999 bytes."""
    sizes = (2_000_000, 10_000, 999)
    return html_of(
        collected(
            *(
                record(f"{SITE}/{name}?{i}", f"{SITE}/{name}", body_bytes=size // (number + 1))
                for number, (name, size) in enumerate(zip("bca", sizes, strict=True))
                for i in range(number + 1)
            )
        )
    )


GROUPS = "with most duplicates"


def test_heading_sorts_its_table_by_mouse_and_keyboard(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path / "report.html", sortable())
    table = opened.page.locator("table").filter(has=opened.page.get_by_text(GROUPS))

    def sorted_by(name: str) -> list[str]:
        names = table.locator("tbody th > a").all_inner_texts()
        assert opened.page.locator("th[aria-sort]").all_inner_texts() == [name]
        return [name[-1] for name in names]

    assert [name[-1] for name in table.locator("tbody th > a").all_inner_texts()] == list("acb")
    table.get_by_role("button", name="Bytes").click()
    assert sorted_by("Bytes") == list("bca")
    table.get_by_role("button", name="Bytes").press("Enter")
    assert sorted_by("Bytes") == list("acb")
    assert table.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    table.get_by_role("button", name="Kept page").press("Space")
    assert sorted_by("Kept page") == list("abc")
    assert opened.is_quiet()


def test_every_table_of_rows_can_be_sorted(browser: Any, tmp_path: Path) -> None:
    opened = Opened(browser, tmp_path / "report.html", html_of(everywhere("http://a.example/")))
    opened.page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
    tables = opened.page.locator("table:not(.sides)").all()
    assert len(tables) > 10
    for table in tables:
        rows = table.locator("tbody tr").count()
        for button in table.locator("thead button").all():
            button.click()
        assert table.locator("tbody tr").count() == rows
        assert (table.locator("thead button").count() == 0) == (rows < 2)
    assert opened.is_quiet()


def test_page_is_whole_without_a_script(browser: Any, tmp_path: Path) -> None:
    opened = Opened(
        browser, tmp_path / "report.html", sortable(), java_script_enabled=False, viewport=NARROW
    )
    assert opened.page.locator("button").count() == 0
    assert opened.page.get_by_role("columnheader", name="Bytes").first.is_visible()
    assert opened.page.get_by_role("img", name="Bars").is_visible()
    opened.page.get_by_text("The numbers").click()
    assert opened.page.get_by_text("by section of the site").last.is_visible()


def test_no_other_script_runs(browser: Any, tmp_path: Path) -> None:
    html = sortable().replace("</main>", "</main><script>document.title = 'taken'</script>")
    opened = Opened(browser, tmp_path / "report.html", html)
    assert opened.page.title() != "taken"
    assert "Content Security Policy" in "".join(opened.happened)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_does_nothing(browser: Any, tmp_path: Path, text: str) -> None:
    opened = Opened(browser, tmp_path / "report.html", html_of(everywhere(text)), viewport=NARROW)
    for link in opened.page.locator("main a").all():
        assert link.get_attribute("href").startswith(("http://", "https://", "#"))
    opened.page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
    assert opened.cut_off() == []
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
    example = opened.page.get_by_text(f"{SITE}/article/0?sid=0").first
    assert _box(example)["height"] > 5, "what is folded is printed, too"
    assert opened.page.pdf().startswith(b"%PDF-")


def _box(locator: Any) -> dict[str, float]:
    box: dict[str, float] = locator.bounding_box()
    return box
