"""The main text of a page by both of its views, and by trafilatura where they disagree.

resiliparse finds the main text, and the content view (content.py) says what stands in place on the
page: all blocks that are not beside the content.  Of ten pages of a benchmark, nine need no more:

- A page whose text in place is nearly all links is a list; its text is what stands in place.
- Otherwise the lines that resiliparse found count, each long one once, without those that the
  content view has beside the content.
- If that is little of the text in place, one of the two is wrong.  Trafilatura decides, which takes
  ten times as long; on short and on huge pages, the text in place counts instead.

The numbers below are from 659 pages of the Web Content Extraction Benchmark
(benchmarks/bench_extraction.py, word F1 of all pages); docs/quality.md has what was tried.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lxml.html import HtmlElement

from scrapy_simhash.analysis.content import LEAST_SHARE
from scrapy_simhash.analysis.resiliparse_text import (
    MIN_WORDS,
    has_words,
    main_lines,
    may_explode,
    resiliparse_text,
)

if TYPE_CHECKING:
    from scrapy_simhash.analysis.reading import Block

# The main text is trusted if it has more than this share of the characters of the texts in place.
# At 0.2: .840, at 0.3: .845, at 0.4: .848; at 0.5 and 0.6: .846, with up to twice as many pages
# for trafilatura.
TRUSTED_SHARE = 0.4
# A line of this many characters counts once: pages hold text twice, for narrow screens or in
# quotations (all pages .844 without this rule, .848 with it; forums .76 and .79).  Short lines are
# prices, cells and code.
REPEATED_CHARACTERS = 60
# What is beside the content is taken out unless more than this share of the text would go: then
# the page names its main column like a sidebar.
BESIDE_SHARE = 0.5
# On 12 pages with fewer characters in place, F1 is .32 by trafilatura and .58 by what is in place.
SHORT_CHARACTERS = 1000
# On pages of more tags trafilatura takes 0.2 to 0.4 s (F1 .851 without this limit, .848 with it).
MOST_TAGS = 5000

THREAD_MARKS = (b"DiscussionForumPosting", b"QAPage")


def is_thread(body: bytes) -> bool:
    """Whether a page is marked as a thread by schema.org's types for forums.

    Of 60 pages of forums, 39 are, and none of 599 others.
    """
    return any(mark in body for mark in THREAD_MARKS)


def auto_text(
    html: str,
    tree: HtmlElement,
    blocks: list[Block],
    is_thread: bool,
    careful: Callable[[], str],
) -> str:
    """Return the main text of a page; *careful* returns that by trafilatura.

    *tree* and *blocks* are those of *html*.  A page that would take resiliparse gigabytes goes
    without it.
    """
    tags = html.count("<")
    in_place = [block for block in blocks if not block.is_beside]
    characters = sum(len(block.text) for block in in_place)
    in_texts = sum(len(block.text) for block in in_place if not block.is_links)
    all_in_place = "\n".join(block.text for block in in_place)
    if characters >= SHORT_CHARACTERS and in_texts < LEAST_SHARE * characters:
        return all_in_place
    explodes = may_explode(tree, tags)
    text = "" if explodes else "\n".join(_own_lines(main_lines(html, is_thread), blocks))
    if len(text) > TRUSTED_SHARE * in_texts:
        return text
    if in_texts >= SHORT_CHARACTERS and tags <= MOST_TAGS:
        text = careful()
        if has_words(text, MIN_WORDS):
            return text
    return all_in_place or ("" if explodes else resiliparse_text(html))


def _own_lines(lines: list[str], blocks: list[Block]) -> list[str]:
    """Return the lines without what is said again, and without what is beside the content."""
    said: set[str] = set()
    once = []
    for line in lines:
        if line not in said or len(line) < REPEATED_CHARACTERS:
            once.append(line)
        said.add(line)
    beside = {block.text for block in blocks if block.is_beside}
    beside.difference_update(block.text for block in blocks if not block.is_beside)
    own = [line for line in once if line not in beside]
    return own if _length(own) >= (1 - BESIDE_SHARE) * _length(once) else once


def _length(lines: list[str]) -> int:
    return sum(map(len, lines))
