"""The main text of a page by resiliparse, some ten times faster than trafilatura.

The one place that imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_simhash.analysis.features import normalise, tokenise
from scrapy_simhash.extras import extra_version

if TYPE_CHECKING:
    from resiliparse.parse.html import HTMLTree

# On 521 real pages its main content of fewer words was a slogan or a notice.
MIN_WORDS = 50


def resiliparse_version() -> str:
    """Return the installed version, without loading it.

    :raises SettingsError: it is not installed.
    """
    return extra_version("resiliparse", "the extractor 'resiliparse'")


def resiliparse_text(html: str) -> str:
    """Return the main text of a page; all of its text where that has under 50 words.

    Where there is none at all, the text in ``<noscript>``: some forums have it only there.
    Nested deeper than some thousand levels, a page takes it minutes: see to that before.
    """
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    # It refuses a string with lone surrogates, which some codecs of Python's let through.
    tree: HTMLTree = HTMLTree.parse_from_bytes(html.encode("utf-8", "replace"), "utf-8")
    text: str = extract_plain_text(tree, main_content=True, alt_texts=False)
    if len(tokenise(normalise(text))) < MIN_WORDS:
        text = extract_plain_text(tree, alt_texts=False)
    return text or extract_plain_text(tree, alt_texts=False, noscript=True)
