"""The documentation says what is there: each setting, stat, reason and key, once."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import get_args

from scrapy_simhash.analysis.features import FeatureScheme
from scrapy_simhash.commands import subcommands
from scrapy_simhash.crawl.account import VERDICT_STATS
from scrapy_simhash.crawl.choices import DECISION_META_KEY, META_KEY
from scrapy_simhash.decision.holdings import Told
from scrapy_simhash.decision.page import Decision, Reason, Verdict
from scrapy_simhash.settings import PREFIX, SimhashSettings, setting_name
from tests.documents import DOCS, FOLDER, documented_settings, read

SOURCE = "\n".join(path.read_text() for path in (FOLDER / "scrapy_simhash").rglob("*.py"))


def table(document: str, *columns: int) -> list[tuple[str, ...]]:
    """Cells of the table rows of a document, without their backquotes."""
    rows = []
    for line in (DOCS / document).read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) > max(columns):
            rows.append(tuple(cells[column].replace("`", "") for column in columns))
    return rows


def test_every_setting_stands_in_the_docs_once_with_its_default() -> None:
    documented = [(s.name, s.default) for s in documented_settings() if s.name.startswith(PREFIX)]
    expected = {setting_name(field.name): field.default for field in fields(SimhashSettings)}
    shown = [
        (name, f'"{value}"' if isinstance(value, str) else str(value))
        for name, value in {**expected, "SIMHASH_FEATURES": "words-3"}.items()
    ]
    assert sorted(documented) == sorted(shown)


def test_what_is_said_of_a_setting_is_one_line_and_the_rest_is_folded() -> None:
    headings = re.findall(r"^### (.*)$", read("docs/settings.md"), re.MULTILINE)
    assert headings == [f"`{setting.name}`" for setting in documented_settings()]
    folded = re.compile(r"<details><summary>[^\n]+</summary>\n\n.*\n\n</details>", re.DOTALL)
    for setting in documented_settings():
        assert len(setting.line) <= 100, setting.line
        assert not setting.folded.strip() or folded.fullmatch(setting.folded.strip()), setting.name
        assert setting.folded.count("<details>") <= 1, setting.name


def test_every_subcommand_has_its_section() -> None:
    text = (DOCS / "commands.md").read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [c.name for c in subcommands()]


def test_every_stat_stands_in_the_docs_once() -> None:
    documented = [name for (name,) in table("stats.md", 0) if name.startswith("simhash/")]
    in_code = {
        re.sub(r"\{[^}]*\}", "<>", name) for name in re.findall(r'f?"(simhash/[^"]+)"', SOURCE)
    } - {"simhash/<>", "simhash/<>_seconds", "simhash/skipped/", "simhash/alarms/"}
    judged = {*get_args(Verdict)} - {"skipped"}
    verdicts = {f"simhash/{VERDICT_STATS.get(verdict, verdict)}" for verdict in judged}
    seconds = {"simhash/index_seconds", "simhash/analysis_seconds"}
    generic = [re.sub(r"<[^>]*>", "<>", name) for name in documented]
    assert sorted(generic) == sorted(in_code | verdicts | seconds)


def test_every_verdict_and_reason_stands_in_the_docs_once() -> None:
    rows = [row for row in table("decisions.md", 0, 1, 2) if re.fullmatch(r"\w+_?\w*", row[1])]
    rows = [row for row in rows if row[1] != "reason"]
    assert {verdict for verdict, _, _ in rows if verdict} == {*get_args(Verdict)}
    assert sorted(reason for _, reason, _ in rows) == sorted(get_args(Reason))


def test_every_field_of_the_feed_stands_in_the_docs() -> None:
    from scrapy_simhash.report.record import Record

    decision = Decision("variant", "new_links", new=(Told("link", "", "/"),), better=("longer",))
    record = Record.of(decision, url="", body_bytes=0, redirects=("/",))
    feed = (DOCS / "decisions.md").read_text().partition("## The decisions feed")[2]
    documented = [
        name
        for cell in re.findall(r"^\| (`.*?) \|", feed, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", cell)
    ]
    assert sorted(documented) == sorted(record.as_json())


def test_meta_keys_stand_in_the_docs() -> None:
    keys = re.findall(r"^## `(\w+)`", (DOCS / "meta.md").read_text(), re.MULTILINE)
    assert keys == [META_KEY, DECISION_META_KEY]


def test_named_schemes_of_the_docs_exist() -> None:
    text = (DOCS / "algorithm.md").read_text() + SOURCE
    names = set(re.findall(r"\b((?:words|jieba)-\d+(?:-(?:tf|logtf))?)\b(?!-)", text))
    assert "words-3" in names
    for name in names:
        FeatureScheme.from_name(name)


def test_links_between_documents_lead_somewhere() -> None:
    for document in [FOLDER / "README.md", *DOCS.glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_every_field_of_the_report_stands_in_the_docs() -> None:
    from scrapy_simhash.report.collector import Collector
    from scrapy_simhash.report.document import CrawlInfo, report_of
    from scrapy_simhash.settings import ALARMS

    report = report_of(Collector(), CrawlInfo())
    rows = table("report.md", 0, 1)
    documented = [name.strip() for row in rows for name in row[0].split(",")]
    assert set(report) <= set(documented)
    assert set(ALARMS) <= set(documented)
    totals = next(words for names, words in rows if names == "totals")
    assert set(report["totals"]) <= set(re.findall(r"\w+", totals))


def test_pictures_are_small() -> None:
    pictures = [*DOCS.rglob("*.png")]
    assert pictures
    for picture in pictures:
        assert picture.stat().st_size < 100_000, picture.name
