"""The main text of a page by resiliparse, which is about ten times faster than trafilatura.

This is the only module that imports resiliparse.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

from scrapy_simhash.analysis.features import FeatureScheme
from scrapy_simhash.analysis.fingerprint import fingerprint_text
from scrapy_simhash.extras import extra_version

if TYPE_CHECKING:
    from lxml.html import HtmlElement
    from resiliparse.parse.html import HTMLTree

# On 521 real pages, main content with fewer words was a slogan or a notice.
MIN_WORDS = 50
# If fewer words are left without comments, the comments are the page: a thread that is not marked
# as one, or an article that is taken for comments.  Of 53 pages with comments, other articles have
# 498 words or more beside them (benchmarks/bench_extraction.py).
MIN_WORDS_BESIDE_COMMENTS = 200
# resiliparse 2.0 takes an element for comments if its class or id has one of these words.  Where
# none occurs, the page is not extracted a second time, which is 6 to 9 % of a short page's time.
COMMENT_NAMES = ("comment", "reply")

# HTML opens these again in each block that follows, until they are closed (HTML Standard,
# "reconstruct the active formatting elements"); at most three are open with the same attributes.
FORMATTING = (
    *("b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"),
)
SAME_FORMATTING = 3
# A page of 59 KB with 4,000 open elements took 18 s and 3 GB.  With as many copies as this, it is
# 1.6 s and 0.2 GB; 2 of 659 pages could have more, and none has.
MOST_COPIES = 1_000_000

logger = logging.getLogger(__name__)

# Counts words; the compiled module does so in a tenth of the time of a pattern.
_WORDS = FeatureScheme.from_name("words-1")


@cache
def has_resiliparse() -> bool:
    """Whether resiliparse can be imported; if it cannot, the log says so once."""
    try:
        import resiliparse.extract.html2text
        import resiliparse.parse.html  # noqa: F401
    except ImportError as exc:
        logger.warning(
            "resiliparse cannot be imported (%s): the extractor 'auto' is 'trafilatura', which "
            "takes several times as long. pip install resiliparse; an index that was made "
            "without it needs 'scrapy simhash rebuild' then.",
            exc,
        )
        return False
    return True


def may_explode(tree: HtmlElement, tags: int) -> bool:
    """Whether the tree of resiliparse may be many times as large as *tree*, which libxml2 parsed.

    libxml2 opens no element again.  Cost: O(formatting elements).
    """
    elements = list(tree.iter(*FORMATTING))
    if len(elements) * tags <= MOST_COPIES:
        return False
    kinds = {(element.tag, *element.items()) for element in elements}
    return min(SAME_FORMATTING * len(kinds), len(elements)) * tags > MOST_COPIES


def resiliparse_version() -> str:
    """Return the installed version, without loading it.

    :raises SettingsError: it is not installed.
    """
    return extra_version("resiliparse", "the extractor 'resiliparse' (SIMHASH_EXTRACTOR)")


def resiliparse_text(html: str) -> str:
    """Return the main text of a page, or all of its text if the main text has under 50 words.

    If the page has no text at all, the result is the text in ``<noscript>``: some forums have
    text only there.  A page nested deeper than some thousand levels takes minutes, and one that
    :func:`may_explode` gigabytes: the caller must refuse such pages.
    """
    from resiliparse.extract.html2text import extract_plain_text

    tree = _parsed(html)
    text: str = extract_plain_text(tree, main_content=True, alt_texts=False)
    if fingerprint_text(text, _WORDS).tokens < MIN_WORDS:
        text = extract_plain_text(tree, alt_texts=False)
    return text or extract_plain_text(tree, alt_texts=False, noscript=True)


def main_lines(html: str, is_thread: bool) -> list[str]:
    """Return the lines of the main text of a page, which has few words or none on some pages.

    Comments are main text on a thread, and where hardly anything else is.  The caller must
    refuse the same pages as for :func:`resiliparse_text`.
    """
    tree = _parsed(html)
    text = _main_text(tree, comments=is_thread)
    is_short = not is_thread and not has_words(text, MIN_WORDS_BESIDE_COMMENTS)
    if is_short and _may_have_comments(html):
        text = _main_text(tree, comments=True)
    return [line for line in (" ".join(line.split()) for line in text.split("\n")) if line]


def _may_have_comments(html: str) -> bool:
    html = html.lower()
    return any(name in html for name in COMMENT_NAMES)


def _main_text(tree: HTMLTree, comments: bool) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    text: str = extract_plain_text(
        tree,
        preserve_formatting=True,
        main_content=True,
        list_bullets=False,
        alt_texts=False,
        comments=comments,
    )
    return text


def _parsed(html: str) -> HTMLTree:
    from resiliparse.parse.html import HTMLTree

    # resiliparse refuses a string with lone surrogates; some codecs of Python let them through.
    return HTMLTree.parse_from_bytes(html.encode("utf-8", "replace"), "utf-8")


def has_words(text: str, least: int) -> bool:
    """Whether a text begins with at least *least* words, of up to 20 characters on the mean.

    Each CJK character is one.  Most texts that have them show it in a third of that length.
    Cost: O(*least*).
    """
    return any(fingerprint_text(text[: n * least], _WORDS).tokens >= least for n in (7, 20))
