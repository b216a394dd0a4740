"""The main text of a page, by a named extractor or by a callable of the user's.

The extractor ``auto`` takes the blocks that a model chooses (main_blocks.py): it reads the walk
that the analysis needs anyway, and no second parser runs.  trafilatura and resiliparse are there by
name; docs/quality.md compares them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simhash.analysis.blocks import Block, Event, Outline
from scrapy_simhash.analysis.features import FeatureScheme
from scrapy_simhash.analysis.fingerprint import fingerprint_text
from scrapy_simhash.analysis.main_blocks import main_blocks
from scrapy_simhash.analysis.tree import mark_hidden
from scrapy_simhash.errors import AnalysisError, SettingsError
from scrapy_simhash.settings import extra_version

if TYPE_CHECKING:
    from resiliparse.parse.html import HTMLTree

Extractor = Callable[[bytes, "str | None", str], str]

DEFAULT_EXTRACTOR = "auto"

_NEEDS_RESILIPARSE = "the extractor 'resiliparse' (SIMHASH_EXTRACTOR)"
# The identity of each named extractor, with its version, as a scheme states it.
NAMED: dict[str, Callable[[], str]] = {
    "auto": lambda: "auto-2",
    "trafilatura": lambda: f"trafilatura-{version('trafilatura')} with threads",
    "resiliparse": lambda: f"resiliparse-{extra_version('resiliparse', _NEEDS_RESILIPARSE)}",
    "text": lambda: "text-1",
}

# The extractors that read the blocks of a page.
READS_BLOCKS = frozenset({"auto", "text"})

# On 521 real pages, main content with fewer words was a slogan or a notice.
MIN_WORDS = 50
# HTML opens these again in each block that follows, until they are closed (HTML Standard,
# "reconstruct the active formatting elements"); at most three are open with the same attributes.
FORMATTING = (
    *("b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"),
)
SAME_FORMATTING = 3
# A page of 59 KB with 4,000 open elements took 18 s and 3 GB.  With as many copies as this, it is
# 1.6 s and 0.2 GB; 2 of 659 pages could have more, and none has.
MOST_COPIES = 1_000_000

THREAD_MARKS = (b"DiscussionForumPosting", b"QAPage")

# Counts words; the compiled module does so in a tenth of the time of a pattern.
_WORDS = FeatureScheme.from_name("words-1")


@dataclass(frozen=True)
class ParsedPage:
    """A page, its text as HTML, its tree (None if it is not HTML), and what is read of the tree."""

    body: bytes
    encoding: str | None
    url: str
    html: str
    tree: HtmlElement | None
    blocks: list[Block]
    events: list[Event]
    outline: Outline


def main_text(name: str, page: ParsedPage) -> str:
    """Return the main text of a page by the extractor *name*; it may change the tree.

    :raises TypeError: a callable of the user's returned something other than a string.
    :raises AnalysisError: resiliparse, if that is the extractor, might take gigabytes.
    """
    if name in NAMED and page.tree is None:
        return ""
    if name == "auto":
        return "\n".join(block.text for block in main_blocks(page.blocks, page.outline))
    if name == "trafilatura":
        mark_hidden(page.tree)
        return trafilatura_text(page.tree, is_thread(page.body))
    if name == "resiliparse":
        html = _html_of(page)
        if may_explode(page.tree, html.count("<")):
            raise AnalysisError("extraction_failed", "resiliparse might take gigabytes for it")
        return resiliparse_text(html)
    if name == "text":
        return "\n".join(block.text for block in page.blocks)
    text = load_extractor(name)(page.body, page.encoding, page.url)
    if not isinstance(text, str):
        raise TypeError(f"the extractor returned {type(text).__name__}, not str")
    return text


def _html_of(page: ParsedPage) -> str:
    """Return the HTML of a page for an extractor with a parser of its own, hidden words marked."""
    if page.tree is None or not mark_hidden(page.tree):
        return page.html
    return str(etree.tostring(page.tree, encoding="unicode", method="html"))


def trafilatura_text(tree: HtmlElement | None, comments: bool = False) -> str:
    """Return the main text that trafilatura finds, without metadata; may be empty.

    trafilatura may change the tree.  Comments make the same page differ from visit to visit:
    without them, recall on variants of real pages rose from 0.81 to 0.89 (3-shingles, k=3).  On a
    thread they are the page.
    """
    from trafilatura import extract

    return extract(tree, include_comments=comments, with_metadata=False) or ""


def may_explode(tree: HtmlElement, tags: int) -> bool:
    """Whether the tree of resiliparse may be many times as large as *tree*, which libxml2 parsed.

    libxml2 opens no element again.  Cost: O(formatting elements).
    """
    elements = list(tree.iter(*FORMATTING))
    if len(elements) * tags <= MOST_COPIES:
        return False
    kinds = {(element.tag, *element.items()) for element in elements}
    return min(SAME_FORMATTING * len(kinds), len(elements)) * tags > MOST_COPIES


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


def _parsed(html: str) -> HTMLTree:
    from resiliparse.parse.html import HTMLTree

    # resiliparse refuses a string with lone surrogates; some codecs of Python let them through.
    return HTMLTree.parse_from_bytes(html.encode("utf-8", "replace"), "utf-8")


def is_thread(body: bytes) -> bool:
    """Whether a page is marked as a thread by schema.org's types for forums.

    Of 60 pages of forums, 39 are, and none of 599 others.
    """
    return any(mark in body for mark in THREAD_MARKS)


@lru_cache
def load_extractor(name: str) -> Extractor:
    """Return the extractor at an import path.

    :raises SettingsError: there is none at that path, or it cannot be called.
    """
    try:
        if _is_in_main_script(name):
            raise ImportError("a worker would run the main script; put it into a module")
        found: Any = resolve_name(name)
        if not callable(found):
            raise ValueError(f"{found!r} cannot be called")
    except (ImportError, AttributeError, ValueError) as exc:
        raise SettingsError(
            f"an extractor (SIMHASH_EXTRACTOR) must be {' or '.join(map(repr, NAMED))} or the "
            f"import path of a callable (body, encoding, url) -> str: got {name!r} ({exc})"
        ) from exc
    return found  # type: ignore[no-any-return]


def _is_in_main_script(name: str) -> bool:
    """Whether importing *name* would run the script that this process was started with."""
    script = getattr(sys.modules["__main__"], "__file__", None)
    parts = name.replace(":", ".").split(".")
    if parts[0] == "__main__" or script is None or not Path(script).exists():
        return parts[0] == "__main__"
    for end in range(1, len(parts) + 1):
        spec = find_spec(".".join(parts[:end]))
        origin = None if spec is None else spec.origin
        if origin is not None and Path(origin).exists() and Path(origin).samefile(script):
            return True
        if spec is None or spec.submodule_search_locations is None:
            return False
    return False


def extractor_identity(name: str) -> str:
    """Return the extractor's name and version, as a scheme states them.

    The version of a callable is the ``__version__`` of its module, if it has one.

    :raises SettingsError: see :func:`load_extractor`.
    """
    if name in NAMED:
        return NAMED[name]()
    module = getattr(load_extractor(name), "__module__", None)
    release = getattr(sys.modules.get(module or ""), "__version__", None)
    return name if release is None else f"{name}-{release}"
