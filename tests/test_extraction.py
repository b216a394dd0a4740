"""The main text of a page, whatever the page is."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from scrapy_simhash.analysis.extraction import (
    decode,
    extractor_identity,
    load_extractor,
    parse,
    trafilatura_text,
)
from scrapy_simhash.analysis.page import Analyser, AnalysisError
from scrapy_simhash.errors import SettingsError
from tests.conftest import article, prose

URL = "http://site.example/"


def main_text(page: str) -> str:
    tree = parse(page.encode(), "utf-8")
    assert tree is not None
    return trafilatura_text(tree)


def test_menu_and_comments_are_left_out() -> None:
    page = article(prose("lamp"), ["/menu-entry"]).replace(
        "</main>",
        '</main><div id="comments" class="comments"><h3>Comments</h3>'
        f'<div class="comment"><p>{prose("quarrel")}</p></div></div>',
    )
    text = main_text(page)
    assert "lamp1" in text
    assert "menu-entry" not in text
    assert "quarrel1" not in text


def test_changing_blocks_leave_the_analysis_as_it_is() -> None:
    analyser = Analyser.create()
    page = article(prose("lamp", 300))
    busy = page.replace("<body>", '<body><div class="ad">Only today: shoes 12:03:11</div>')
    one, two = (analyser.analyse(p.encode(), "utf-8", URL) for p in (page, busy))
    assert one.digest == two.digest
    assert one.fingerprint == two.fingerprint


@pytest.mark.parametrize(
    ("body", "encoding", "text"),
    [
        (b"caf\xe9", "latin-1", "café"),
        (b"\xef\xbb\xbfcaf\xc3\xa9", "latin-1", "café"),  # the byte order mark wins
        (b"a\x00b\xff", "utf-8", "ab\ufffd"),
        (b"caf\xc3\xa9", None, "café"),
        (b"x", "no-such-encoding", "x"),
    ],
)
def test_decoding(body: bytes, encoding: str | None, text: str) -> None:
    assert decode(body, encoding) == text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00" * 1000,
        b"\xff\xfe\xfd" * 100,
        b"<" * 10_000,
        b"<div>" * 5_000,
        b'<?xml version="1.0" encoding="utf-16"?><html><body><p>x</p></body></html>',
        "<html><body><p>\ud800</p></body></html>".encode("utf-8", "surrogatepass"),
        b"<html><body>&#0;&#xd800;&#x110000;</body></html>",
        b"{}",
    ],
    ids=range(9),
)
def test_hostile_bodies_are_analysed_or_refused(body: bytes) -> None:
    analyser = Analyser.create()
    try:
        analysis = analyser.analyse(body, "utf-8", URL)
    except AnalysisError:
        return
    assert analysis.tokens < 50


def test_text_after_a_nul_is_not_lost() -> None:
    assert "after1" in main_text(article("before \x00 " + prose("after")))


def test_scheme_names_extractor_and_version() -> None:
    assert f"extractor trafilatura-{version('trafilatura')}" in Analyser.create().identity
    custom = Analyser.create(extractor="tests.spiders.rude_text").identity
    assert custom.endswith("extractor tests.spiders.rude_text; content 1")


def test_extractor_in_the_script_that_runs_is_refused(tmp_path: Path) -> None:
    """Workers would import it, that is, run the whole script once more."""
    script = tmp_path / "crawl_script.py"
    script.write_text(
        "from scrapy_simhash.analysis.extraction import load_extractor\n"
        "def text(body, encoding, url): return ''\n"
        "load_extractor('crawl_script.text')\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert "a worker would run the main script" in done.stderr


def test_text_without_features_is_no_text() -> None:
    words = [f"{letter}{i}" for letter in "abc" for i in range(30)]
    analyser = Analyser.create(features="words-1", stop_words=words)
    analysis = analyser.analyse(article(" ".join(words), title="").encode(), "utf-8", URL)
    assert analysis.tokens == 0


def test_version_of_a_custom_extractor_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tests.spiders"], "__version__", "2.1", raising=False)
    assert extractor_identity("tests.spiders.rude_text") == "tests.spiders.rude_text-2.1"


@pytest.mark.parametrize(
    "name", ["", "no.such", "os.sep", "__main__.extract", "a..b", "math.nothing"]
)
def test_unknown_extractor_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="an extractor must be") as refused:
        load_extractor(name)
    assert repr(name) in str(refused.value)
