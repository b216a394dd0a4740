"""The main text of a page by resiliparse, which is about ten times faster than trafilatura.

This is the only module that imports resiliparse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.analysis.features import normalise, tokenise
from scrapy_simhash.extras import extra_version

if TYPE_CHECKING:
    from resiliparse.parse.html import HTMLTree

# On 521 real pages, main content with fewer words was a slogan or a notice.
MIN_WORDS = 50


def resiliparse_version() -> str:
    """Return the installed version, without loading it.

    :raises SettingsError: it is not installed.
    """
    return extra_version("resiliparse", "the extractor 'resiliparse' (SIMHASH_EXTRACTOR)")


def resiliparse_text(html: str) -> str:
    """Return the main text of a page, or all of its text if the main text has under 50 words.

    If the page has no text at all, the result is the text in ``<noscript>``: some forums have
    text only there.  A page nested deeper than some thousand levels takes minutes: the caller must
    refuse such pages.
    """
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    # resiliparse refuses a string with lone surrogates; some codecs of Python let them through.
    tree: HTMLTree = HTMLTree.parse_from_bytes(html.encode("utf-8", "replace"), "utf-8")
    text: str = extract_plain_text(tree, main_content=True, alt_texts=False)
    if len(tokenise(normalise(text))) < MIN_WORDS:
        text = extract_plain_text(tree, alt_texts=False)
    return text or extract_plain_text(tree, alt_texts=False, noscript=True)
