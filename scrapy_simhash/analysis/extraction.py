"""The main text of a page, by a named extractor or by a callable of the user's.

The extractor ``auto`` reads both views of a page.  resiliparse, which is about ten times faster
than trafilatura, finds the main text, and the content view (content.py) says what is in place on
the page: all blocks that are not beside the content.  Of ten pages of a benchmark, nine need no
more:

- A page whose text in place is nearly all links is a list; its text is what is in place.
- Otherwise the lines that resiliparse found count, each long one once, without those that the
  content view has beside the content.
- If that is little of the text in place, one of the two is wrong.  Trafilatura decides, which takes
  ten times as long; on short and on huge pages, the text in place counts instead.

The numbers below are from 659 pages of the Web Content Extraction Benchmark
(benchmarks/bench_extraction.py, word F1 of all pages); docs/quality.md has what was tried.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simhash.analysis.content import LEAST_SHARE
from scrapy_simhash.analysis.features import FeatureScheme
from scrapy_simhash.analysis.fingerprint import fingerprint_text
from scrapy_simhash.analysis.reading import Block, Event
from scrapy_simhash.analysis.tree import has_marks
from scrapy_simhash.errors import AnalysisError, SettingsError
from scrapy_simhash.settings import extra_version

if TYPE_CHECKING:
    from resiliparse.parse.html import HTMLTree

Extractor = Callable[[bytes, "str | None", str], str]

DEFAULT_EXTRACTOR = "auto"

_NEEDS_RESILIPARSE = "the extractor 'resiliparse' (SIMHASH_EXTRACTOR)"
# The identity of each named extractor, with its version, as a scheme states it.
NAMED: dict[str, Callable[[], str]] = {
    "auto": lambda: f"auto-1 of {NAMED['resiliparse']()} and {NAMED['trafilatura']()}",
    "trafilatura": lambda: f"trafilatura-{version('trafilatura')} with threads",
    "resiliparse": lambda: f"resiliparse-{extra_version('resiliparse', _NEEDS_RESILIPARSE)}",
    "text": lambda: "text-1",
}

# The extractors that read the blocks of a page, and those that may ask trafilatura.
READS_BLOCKS = frozenset({"auto", "text"})
ASKS_TRAFILATURA = frozenset({"auto", "trafilatura"})

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

logger = logging.getLogger(__name__)

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


def main_text(name: str, page: ParsedPage) -> str:
    """Return the main text of a page by the extractor *name*; it may change the tree.

    :raises TypeError: a callable of the user's returned something other than a string.
    :raises AnalysisError: resiliparse, if that is the extractor, might take gigabytes.
    """
    if name in NAMED and page.tree is None:
        return ""
    if name in ASKS_TRAFILATURA:
        thread = is_thread(page.body)
        careful = partial(trafilatura_text, page.tree, thread)
        if name == "trafilatura":
            return careful()
        return auto_text(_html_of(page), page.tree, page.blocks, thread, careful)
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
    if page.tree is None or not has_marks(page.tree):
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
            "without it needs 'scrapy simhash import --like' then.",
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
    if not is_thread and not _has_words(text, MIN_WORDS_BESIDE_COMMENTS):
        html = html.lower()
        if any(name in html for name in COMMENT_NAMES):
            text = _main_text(tree, comments=True)
    return [line for line in (" ".join(line.split()) for line in text.split("\n")) if line]


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


def _has_words(text: str, least: int) -> bool:
    """Whether a text begins with at least *least* words, of up to 20 characters on the mean.

    Each CJK character is one.  Most texts that have them show it in a third of that length.
    Cost: O(*least*).
    """
    return any(fingerprint_text(text[: n * least], _WORDS).tokens >= least for n in (7, 20))


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
        if _has_words(text, MIN_WORDS):
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


def resolved(name: str) -> str:
    """Return the name of the extractor that is used: for "auto" without resiliparse, trafilatura.

    Then the log says so once.
    """
    return "trafilatura" if name == "auto" and not has_resiliparse() else name


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
