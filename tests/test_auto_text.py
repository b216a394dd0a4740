"""The extractor "auto": which of its ways a page takes, and what it is without resiliparse."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator

import pytest

from scrapy_simhash.analysis.analyser import Analyser
from scrapy_simhash.analysis.extraction import (
    MOST_TAGS,
    REPEATED_CHARACTERS,
    SHORT_CHARACTERS,
    auto_text,
    has_resiliparse,
    is_thread,
    main_lines,
    may_explode,
)
from scrapy_simhash.analysis.tree import parse, visible_blocks
from scrapy_simhash.errors import AnalysisError
from tests.conftest import article, needs_resiliparse, prose

URL = "http://site.example/"

COMMENTS = (
    '<div id="comments" class="comments"><h3>Comments</h3>'
    f'<div class="comment"><p>{prose("answer", 300)}</p></div></div>'
)
MARK = '<script type="application/ld+json">{"@type": "DiscussionForumPosting"}</script>'


def asked_trafilatura() -> str:
    return prose("careful")


def page_of(body: str) -> str:
    return f"<html><head><title>Page</title></head><body>{body}</body></html>"


def texted(html: str) -> str:
    """The text of a page; that of trafilatura is the prose "careful"."""
    tree = parse(html)
    assert tree is not None
    return auto_text(html, tree, visible_blocks(tree), is_thread(html.encode()), asked_trafilatura)


def paragraphs(topic: str, count: int = 30) -> str:
    return "".join(f"<p>{prose(f'{topic}{i}x', 20)}</p>" for i in range(count))


@needs_resiliparse
def test_page_on_which_the_views_agree_does_without_trafilatura() -> None:
    text = texted(article(prose("lamp", 400), ["/menu-entry"]))
    assert "lamp1" in text
    assert "careful" not in text
    assert "menu-entry" not in text


def hidden_from_resiliparse(html: str) -> str:
    """A page of which resiliparse finds a note only; the rest is in place for the content view."""
    return page_of(f'<div class="modal">{html}</div><article><p>{prose("note", 30)}</p></article>')


@needs_resiliparse
def test_trafilatura_decides_where_resiliparse_finds_little_of_the_text_in_place() -> None:
    assert texted(hidden_from_resiliparse(paragraphs("row"))) == asked_trafilatura()


@needs_resiliparse
def test_text_in_place_counts_where_trafilatura_finds_little() -> None:
    html = hidden_from_resiliparse(paragraphs("row"))
    tree = parse(html)
    assert tree is not None
    text = auto_text(html, tree, visible_blocks(tree), False, lambda: "A note.")
    assert "row29x1" in text


@needs_resiliparse
def test_short_and_huge_pages_do_without_trafilatura() -> None:
    short = hidden_from_resiliparse(paragraphs("row", 4))
    assert len(short) < SHORT_CHARACTERS
    assert "row2x1" in texted(short)
    huge = hidden_from_resiliparse(paragraphs("row") + "<br>" * MOST_TAGS)
    assert "row29x1" in texted(huge)
    assert "careful" not in texted(huge)


@needs_resiliparse
def test_text_of_a_list_of_links_is_all_that_stands_in_place() -> None:
    links = "".join(f'<li><a href="/{i}">{prose(f"entry{i}x", 10)}</a></li>' for i in range(60))
    text = texted(page_of(f"<p>{prose('note', 60)}</p><ul>{links}</ul>"))
    assert "entry59x1" in text
    assert "note1" in text


@needs_resiliparse
def test_what_is_beside_the_content_is_not_main_text() -> None:
    ad = prose("bargain", 20)
    page = article(prose("lamp", 400)).replace("<p>", f'<div class="ad">{ad}</div><p>')
    assert "bargain1" not in texted(page)


@needs_resiliparse
def test_main_column_that_is_named_like_what_is_beside_it_is_main_text() -> None:
    page = page_of(f'<p>{prose("note", 40)}</p><div class="masthead">{paragraphs("lamp")}</div>')
    assert "note1" in texted(page)
    assert "lamp0x1" in texted(page)
    assert "lamp29x1" in texted(page)


@needs_resiliparse
def test_long_line_counts_once_and_short_ones_as_often_as_they_stand() -> None:
    line = prose("line", 20)
    assert len(line) >= REPEATED_CHARACTERS
    page = article(prose("lamp", 400)).replace("</p>", f"</p><p>{line}</p><p>Free</p>" * 3)
    text = texted(page)
    assert text.count(line) == 1
    assert text.count("Free") == 3


@needs_resiliparse
def test_page_without_text_in_place_has_what_resiliparse_finds() -> None:
    assert "topic1" in texted(page_of(f"<noscript><p>{prose('topic')}</p></noscript>"))
    assert texted(page_of("")) == ""


@pytest.mark.parametrize("name", [pytest.param("auto", marks=needs_resiliparse), "trafilatura"])
def test_comments_are_main_text_on_a_thread_only(name: str) -> None:
    analyser = Analyser.create(extractor=name)
    page = article(prose("question", 600)).replace("</main>", f"</main>{COMMENTS}")
    text = analyser.main_text(page.encode(), "utf-8", URL)
    assert "question1" in text
    assert "answer1" not in text
    text = analyser.main_text(page.replace("</title>", f"</title>{MARK}").encode(), "utf-8", URL)
    assert "question1" in text
    assert "answer1" in text


@needs_resiliparse
def test_comments_are_main_text_where_hardly_anything_else_is() -> None:
    page = article(prose("question", 40)).replace("</main>", f"</main>{COMMENTS}")
    assert "answer1" in texted(page)


@needs_resiliparse
@pytest.mark.parametrize("name", ["comments", "post-comment", "COMMENT_LIST", "Reply"])
def test_what_resiliparse_takes_for_comments_is_looked_for_where_it_may_be(name: str) -> None:
    from resiliparse.extract.html2text import extract_plain_text

    comments = f'<div class="{name}"><p>{prose("answer", 300)}</p></div>'
    html = article(prose("question", 40)).replace("</main>", f"</main>{comments}")
    texts = [extract_plain_text(html, main_content=True, comments=flag) for flag in (False, True)]
    assert ["answer1" in text for text in texts] == [False, True]
    assert "answer1" in " ".join(main_lines(html, is_thread=False))


def unclosed(elements: int) -> str:
    """A page of elements that HTML opens again in each paragraph that follows."""
    return page_of("".join(f"<p><b data-n={i}>row{i}" for i in range(elements)))


@needs_resiliparse
def test_page_that_would_take_resiliparse_gigabytes_goes_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = parse(unclosed(100))
    assert tree is not None
    assert not may_explode(tree, 200)

    def refuse(html: str, is_thread: bool) -> list[str]:
        raise AssertionError("resiliparse must not see this page")

    monkeypatch.setattr("scrapy_simhash.analysis.extraction.main_lines", refuse)
    assert "row3999" in texted(unclosed(4000))
    with pytest.raises(AnalysisError, match="gigabytes") as refused:
        Analyser.create(extractor="resiliparse").analyse(unclosed(4000).encode(), "utf-8", URL)
    assert refused.value.reason == "extraction_failed"


@pytest.fixture
def without_resiliparse(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for module in ("resiliparse.extract.html2text", "resiliparse.parse.html"):
        monkeypatch.setitem(sys.modules, module, None)
    has_resiliparse.cache_clear()
    yield
    has_resiliparse.cache_clear()


@pytest.mark.usefixtures("without_resiliparse")
def test_auto_is_trafilatura_where_resiliparse_cannot_be_imported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        first, second = Analyser.create(extractor="auto"), Analyser.create(extractor="auto")
    assert first == second == Analyser.create(extractor="trafilatura")
    assert "lamp1" in first.main_text(article(prose("lamp")).encode(), "utf-8", URL)
    (record,) = caplog.records
    assert "the extractor 'auto' is 'trafilatura'" in record.getMessage()
