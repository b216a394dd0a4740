"""The main text of pages of any kind."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from lxml import etree

from scrapy_simhash.analysis.analyser import Analyser
from scrapy_simhash.analysis.events import MARK, Element
from scrapy_simhash.analysis.extraction import (
    ParsedPage,
    extractor_identity,
    load_extractor,
    main_text,
    may_explode,
    resiliparse_text,
    trafilatura_text,
)
from scrapy_simhash.analysis.tree import decode, parse, walk
from scrapy_simhash.errors import AnalysisError, SettingsError
from tests.conftest import EXTRACTORS, article, needs_resiliparse, prose

URL = "http://site.example/"


def trafilaturas(page: str) -> str:
    tree = parse(page)
    assert tree is not None
    return trafilatura_text(tree)


def test_menu_and_comments_are_left_out() -> None:
    page = article(prose("lamp"), ["/menu-entry"]).replace(
        "</main>",
        '</main><div id="comments" class="comments"><h3>Comments</h3>'
        f'<div class="comment"><p>{prose("quarrel")}</p></div></div>',
    )
    text = trafilaturas(page)
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
        (b"a\x00b\xff", "utf-8", "ab\uf7ff"),
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


@pytest.mark.parametrize(
    "page",
    [
        article(prose("lamp")),
        "<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0//EN' 'http://www.w3.org/x.dtd'>\n"
        "<html xmlns='http://www.w3.org/1999/xhtml'><body><p>lamp<br/>one</p></body></html>",
        "<html lang='en' />\n<body><p>lamp</p></body>",
        "<?xml version='1.0' encoding='utf-16'?><html><body><p>lamp</p></body></html>",
        "<html><body><p>la\x01mp\x1f</p><p title='\ufffe'>\uffff\U0001f4a1</p></body></html>",
        "<div><p>lamp</p><!-- a note --><?php a ?><input><select><option>one</select></div>",
        "<title>lamp</title><p>one",
        "<p>lamp</p>",
        "lamp",
        "",
    ],
    ids=range(10),
)
def test_tree_is_that_of_trafilatura(page: str) -> None:
    from trafilatura import load_html

    one, two = parse(page), load_html(page)
    assert (one is None) == (two is None)
    if one is not None:
        assert etree.tostring(one, method="html") == etree.tostring(two, method="html")


@pytest.mark.parametrize("name", EXTRACTORS)
def test_named_extractors_find_the_text(name: str) -> None:
    html = article(prose("lamp"), ["/menu-entry"])
    tree = parse(html)
    assert tree is not None
    page = ParsedPage(html.encode(), "utf-8", URL, html, tree, *walk(tree))
    text = main_text(name, page)
    found = [word for word in ("lamp1", "menu-entry", "Page") if word in text]
    assert found == (["lamp1", "menu-entry"] if name == "text" else ["lamp1"])


@pytest.mark.parametrize("name", EXTRACTORS)
def test_named_extractors_stand_in_the_scheme_with_their_version(name: str) -> None:
    release = {"auto": "2", "text": "1"}.get(name) or version(name)
    assert f"extractor {name}-{release}" in Analyser.create(extractor=name).identity


@needs_resiliparse
def test_resiliparse_takes_all_text_where_its_main_text_is_a_note() -> None:
    rows = "".join(f"<tr><td>row{i}</td></tr>" for i in range(60))
    page = f"<html><body><div><table>{rows}</table></div><article>A note.</article></body></html>"
    assert "row59" in resiliparse_text(page)
    assert "A note." in resiliparse_text(page)


@needs_resiliparse
def test_resiliparse_takes_noscript_where_nothing_else_is_left() -> None:
    page = f"<html><body><noscript><p>{prose('topic')}</p></noscript></body></html>"
    assert "topic1" in resiliparse_text(page)
    assert "hidden" not in resiliparse_text(
        f"<html><body><p>{prose('topic')}</p><noscript>hidden</noscript></body></html>"
    )


@needs_resiliparse
def test_page_that_would_take_resiliparse_gigabytes_is_refused() -> None:
    def unclosed(elements: int) -> str:
        """A page of elements that HTML opens again in each paragraph that follows."""
        rows = "".join(f"<p><b data-n={i}>row{i}" for i in range(elements))
        return f"<html><head></head><body>{rows}</body></html>"

    tree = parse(unclosed(100))
    assert tree is not None
    assert not may_explode(tree, 200)
    with pytest.raises(AnalysisError, match="gigabytes") as refused:
        Analyser.create(extractor="resiliparse").analyse(unclosed(4000).encode(), "utf-8", URL)
    assert refused.value.reason == "extraction_failed"


def test_comments_are_main_text_of_trafilatura_on_a_thread_only() -> None:
    analyser = Analyser.create(extractor="trafilatura")
    mark = '<script type="application/ld+json">{"@type": "DiscussionForumPosting"}</script>'
    comments = (
        '<div id="comments" class="comments"><h3>Comments</h3>'
        f'<div class="comment"><p>{prose("answer", 300)}</p></div></div>'
    )
    page = article(prose("question", 600)).replace("</main>", f"</main>{comments}")
    text = analyser.main_text(page.encode(), "utf-8", URL)
    assert "question1" in text
    assert "answer1" not in text
    text = analyser.main_text(page.replace("</title>", f"</title>{mark}").encode(), "utf-8", URL)
    assert "question1" in text
    assert "answer1" in text


@needs_resiliparse
def test_resiliparse_takes_lone_surrogates() -> None:
    assert "topic1" in resiliparse_text(f"<html><body><p>\ud800 {prose('topic')}</p></body></html>")


def test_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("scrapy_simhash.settings.version", missing)
    with pytest.raises(SettingsError, match=r"pip install scrapy-simhash\[resiliparse\]"):
        Analyser.create(extractor="resiliparse")


def nested(levels: int) -> bytes:
    """A page with *levels* nested elements, html, body and p included, and text in the deepest."""
    inner = levels - 3
    html = f"{'<div>' * inner}<p>{prose('deep')}</p>{'</div>' * inner}{prose('after')}"
    return f"<html><body>{html}</body></html>".encode()


@pytest.mark.parametrize("name", EXTRACTORS)
def test_page_that_is_nested_too_deep_is_refused(name: str) -> None:
    analyser = Analyser.create(extractor=name)
    with pytest.raises(AnalysisError, match="nested deeper than 255 levels") as refused:
        analyser.analyse(nested(256), "utf-8", URL)
    assert refused.value.reason == "too_deep"
    with pytest.raises(AnalysisError, match="nested deeper"):
        analyser.analyse(nested(3000), "utf-8", URL)


def test_nothing_is_left_out_within_the_limit_of_depth() -> None:
    analysis = Analyser.create(extractor="text").analyse(nested(255), "utf-8", URL)
    assert analysis.tokens == len(f"{prose('deep')} {prose('after')}".split())


def test_page_of_too_many_tags_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scrapy_simhash.analysis.analyser.MAX_TAGS", 11)
    analyser = Analyser.create()
    page = b"<html><body><p>one</p><p>two</p><p>three</p></body></html>"
    assert analyser.analyse(page, "utf-8", URL).content is not None
    with pytest.raises(AnalysisError, match="12 tags are more than 11") as refused:
        analyser.analyse(page.replace(b"one", b"one<br>").replace(b"two", b"<br>"), "utf-8", URL)
    assert refused.value.reason == "too_many_tags"


def test_error_of_the_analysis_survives_the_way_from_a_worker() -> None:
    error = pickle.loads(pickle.dumps(AnalysisError("too_deep", "300 levels")))
    assert (error.reason, str(error)) == ("too_deep", "300 levels")


def test_text_after_a_nul_is_not_lost() -> None:
    assert "after1" in trafilaturas(article("before \x00 " + prose("after")))


def test_scheme_names_extractor_and_version() -> None:
    trafilatura = Analyser.create(extractor="trafilatura").identity
    assert f"extractor trafilatura-{version('trafilatura')} with threads" in trafilatura
    custom = Analyser.create(extractor="tests.extractors.rude_text").identity
    assert custom.endswith("extractor tests.extractors.rude_text; content 24 for items")


def test_extractor_in_the_script_that_runs_is_refused(tmp_path: Path) -> None:
    """Workers would import it, and so run the whole script again."""
    script = tmp_path / "crawl_script.py"
    script.write_text(
        "from scrapy_simhash.analysis.extraction import load_extractor\n"
        "def text(body, encoding, url): return ''\n"
        "load_extractor('crawl_script.text')\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert "a worker would run the main script" in done.stderr


def test_script_from_the_standard_input_may_name_an_extractor() -> None:
    script = (
        "from scrapy_simhash.analysis.extraction import load_extractor as load\nload('json.loads')"
    )
    subprocess.run([sys.executable, "-"], input=script, text=True, check=True)


def test_text_without_features_is_no_text() -> None:
    words = [f"{letter}{i}" for letter in "abc" for i in range(30)]
    analyser = Analyser.create(features="words-1", stop_words=words)
    analysis = analyser.analyse(article(" ".join(words), title="").encode(), "utf-8", URL)
    assert analysis.tokens == 0


def test_version_of_a_custom_extractor_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["tests.extractors"], "__version__", "2.1", raising=False)
    assert extractor_identity("tests.extractors.rude_text") == "tests.extractors.rude_text-2.1"


@pytest.mark.parametrize(
    "name", ["", "no.such", "os.sep", "__main__.extract", "a..b", "math.nothing"]
)
def test_unknown_extractor_is_refused(name: str) -> None:
    with pytest.raises(
        SettingsError, match=r"an extractor \(SIMHASH_EXTRACTOR\) must be"
    ) as refused:
        load_extractor(name)
    assert repr(name) in str(refused.value)


@pytest.mark.parametrize("beginning", ["", "<html>", "<!DOCTYPE html><html><body>"])
def test_what_stands_after_the_end_of_html_is_part_of_the_page(beginning: str) -> None:
    html = f"{beginning}<p>Some text.</p></html>More. <a href='/x'>A link</a></html><p hidden>Last."
    tree = parse(html)
    assert tree is not None
    blocks, events, _ = walk(tree)
    assert [block.text for block in blocks] == ["Some text.", "More. A link", f"Last{MARK}."]
    assert (
        sum(1 for one in events if isinstance(one, Element) and one.attributes == ("href", "/x"))
        == 1
    )
    assert "A lamp" in trafilaturas(f"{beginning}<h1>A heading</h1></html><p>{'A lamp. ' * 40}</p>")
