"""A page's content: its visible text without the blocks that the site repeats or that only link.

This is the second view of a page; the first is the main text that the extractor finds.  An
extractor may keep only a note that other pages share, or a whole menu.  The content holds all text
that is the page's own.  docs/quality.md gives the measured gain of each rule.
"""

from __future__ import annotations

import marshal
import re
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from lxml import etree
from lxml.html import HtmlElement, defs

from scrapy_simhash.analysis.engine import compiled
from scrapy_simhash.analysis.features import normalise, shingles
from scrapy_simhash.analysis.fingerprint import hash_feature, hash_features, majority
from scrapy_simhash.analysis.hidden import MARK
from scrapy_simhash.analysis.remembering import remembering
from scrapy_simhash.analysis.scripts import unspaced_share
from scrapy_simhash.rule.sketch import Sketch

# Elements that begin a new block: lxml's list, and the elements that HTML 5 added.
BLOCK_ELEMENTS = defs.block_tags - {"del", "ins"} | {
    *("article", "aside", "body", "br", "button", "details", "dialog", "figcaption", "figure"),
    *("footer", "header", "hgroup", "html", "main", "nav", "section", "select", "summary"),
}
# Elements whose text is not shown on the page.
UNSEEN_ELEMENTS = frozenset(
    {"head", "iframe", "math", "noscript", "object", "script", "style", "svg"}
)

# Elements that are beside the content, unless they are inside a content element.
BESIDE_ELEMENTS = frozenset({"aside", "footer", "header", "nav"})
CONTENT_ELEMENTS = frozenset({"article", "main"})
_NEVER_BESIDE = CONTENT_ELEMENTS | {"body", "html"}
BESIDE_ROLES = frozenset({"banner", "complementary", "contentinfo", "navigation", "search"})
# Class names and ids that live sites give to such elements; "-" and "_" are ignored.
BESIDE_NAMES = frozenset(
    {
        *("ad", "ads", "advert", "advertisement", "advertising", "banner", "breadcrumb"),
        *("breadcrumbs", "cookie", "cookies", "footer", "masthead", "menu", "nav", "navbar"),
        *("navfooter", "navheader", "navigation", "newsletter", "pagination", "promo", "related"),
        *("sidebar", "social", "sponsor", "sponsored", "toolbar", "topbar"),
    }
)

# A block with at least this share of its characters in links is a menu entry, a breadcrumb or a
# "next" link (measured on such blocks: 0.8 to 1).  A list of operands that are links has 0.71.
LINK_SHARE = 0.8
# If the blocks in place that are not links hold less than this share of the page's own text in
# place, the page is a list of links (tags, archives, pagination), and its link blocks count too.
LEAST_SHARE = 0.2
# With fewer shingles in texts, links count as well: a heading above child links says little, and
# took 7 of 30 dropped pages of one site for another section.
LEAST_SHINGLES = 20

# All browsers and servers accept URLs of up to about this length (RFC 9110, section 4.1, asks for
# 8,000 bytes).  A longer one is not a real address, and is ignored.
MAX_ADDRESS = 8_000

# Names of elements that are remembered.
KNOWN_NAMES = 2_000

_SEPARATORS = re.compile(r"[^a-z0-9]+")
_JOINERS = re.compile(r"[-_]+")
# "has-sidebar" says what an element has, not what it is.
_PROPERTIES = re.compile(r"\b(?:has|no|with|without)[-_]\S*")
# An article has a footer of its own, as with the elements.
_PARTS_OF_CONTENT = re.compile(r"banner|footer", re.IGNORECASE)

SHINGLE_WORDS = 3
SHINGLE_CHARACTERS = 5  # in scripts without spaces, where a word is one or two characters
UNSPACED_SHARE = 0.15


class Block(NamedTuple):
    """The text of one block-level element and its id.

    *is_beside* says that the block is in a sidebar or the like, *is_links* that it consists of
    links, *is_heading* that it is in an ``h1``.
    """

    text: str
    id: int
    is_beside: bool
    is_links: bool
    is_heading: bool = False


@dataclass(frozen=True, slots=True)
class Content:
    """A page's content in the form that an index stores.

    *fingerprint* is the simhash of its shingles, *sketch* a sample of them
    (:class:`~scrapy_simhash.rule.sketch.Sketch`), *blocks* the ids of all blocks of the page.
    *heading* is the hash of what heads the page, None if nothing does.
    """

    fingerprint: int
    sketch: bytes
    blocks: tuple[int, ...]
    heading: int | None = None


def visible_blocks(tree: HtmlElement) -> list[Block]:
    """Return the blocks of a page in order; blocks without text are left out.

    This is one loop, for trees of any depth: a recursive version spent two thirds of its time in
    the calls for each piece of text.
    """
    found: list[Block] = []
    pieces: list[str] = []
    in_links = links = contents = headings = 0
    beside = None  # the outermost open element that is beside the content

    def finish() -> None:
        nonlocal in_links
        text = " ".join("".join(pieces).split())
        if text:
            is_links = in_links >= LINK_SHARE * (len(text) - text.count(" "))
            found.append(
                Block(text, hash_feature(text), beside is not None, is_links, headings > 0)
            )
        pieces.clear()
        in_links = 0

    walk = etree.iterwalk(tree, events=("start", "end", "comment", "pi"))
    for event, element in walk:
        tag = element.tag
        starts = event == "start"
        if starts and tag in UNSEEN_ELEMENTS:
            walk.skip_subtree()
            continue
        if tag in BLOCK_ELEMENTS:
            if pieces:
                finish()
            if tag in CONTENT_ELEMENTS:
                contents += 1 if starts else -1
            elif tag == "h1":
                headings += 1 if starts else -1
            if beside is element:
                beside = None
            elif starts and beside is None and is_beside(element, contents > 0):
                beside = element
        elif tag == "a":
            links += 1 if starts else -1
        text = element.text if starts else element.tail
        if text and (pieces or not text.isspace()):
            pieces.append(text)
            if links:
                in_links += len("".join(text.split()))
    finish()
    return found


def is_beside(element: HtmlElement, in_content: bool) -> bool:
    """Whether a block-level element begins what is beside the content.

    *in_content* says that it is in a ``main`` or ``article``.
    """
    if element.tag in BESIDE_ELEMENTS:
        return not in_content or element.tag == "nav"
    if element.tag in _NEVER_BESIDE:
        return False
    if element.get("role") in BESIDE_ROLES:
        return True
    names = f"{element.get('class', '')} {element.get('id', '')}"
    if names == " " or not is_named_beside(names):
        return False
    if in_content and not is_named_beside(_PARTS_OF_CONTENT.sub("", names)):
        return False
    # What holds the content is not beside it: the main column may be named "sidebar-left".
    return next(element.iterdescendants("h1", "main"), None) is None


@remembering(KNOWN_NAMES)
def is_named_beside(names: str) -> bool:
    """Whether one of the names in a class or id is that of something beside the content."""
    names = _PROPERTIES.sub("", names.lower())
    whole = _JOINERS.sub("", names).split()
    return not BESIDE_NAMES.isdisjoint([*whole, *_SEPARATORS.split(names)])


def title_of(tree: HtmlElement) -> str:
    """Return the title of a page, or an empty string if there is none."""
    return " ".join((tree.findtext(".//title") or "").split())


def canonical_of(tree: HtmlElement) -> str | None:
    """Return the address that a page gives as its own (rel=canonical), as it is written there."""
    head = tree.find("head")
    for link in () if head is None else head.iterchildren("link"):
        if "canonical" in link.get("rel", "").lower().split():
            address: str = link.get("href", "").strip()
            return address if 0 < len(address) <= MAX_ADDRESS else None
    return None


def content_of(
    blocks: list[Block], template: Collection[int] = (), title: str = ""
) -> Content | None:
    """Return the content of a page, or None if there is none.

    *template* holds the ids of the blocks that the site is known to repeat.  What is in place
    beside them is the content.  A page that has nothing else in place is judged by its *title* and
    by its template: a sidebar or an advertisement is never the content of a page.
    """
    ids = tuple({block.id: None for block in blocks})
    in_place = [block for block in blocks if block.id not in template and not block.is_beside]
    if in_place:
        hashes = _hashes_in_place(in_place)
    else:
        repeated = [block for block in blocks if block.id in template]
        titled = Block(title, hash_feature(title), is_beside=False, is_links=False)
        hashes = _hashes_of([titled, *(repeated or blocks)])
    if not hashes:
        return None
    sketch = Sketch.of(hashes, _hidden_in(blocks)).to_bytes()
    return Content(majority(list(hashes)), sketch, ids, _heading_of(blocks))


def _heading_of(blocks: list[Block]) -> int | None:
    """Return the hash of the headings of a page, None if it has none.

    All of them count, since the first may be the name of the site.  They count if they are
    template, too: where each page has a menu of all pages, every heading is.
    """
    headings = [block.text for block in blocks if block.is_heading and not block.is_beside]
    return hash_feature("\n".join(headings)) if headings else None


def pack_source(blocks: list[Block], title: str) -> bytes:
    """Return what :func:`content_of` needs of a page, compressed."""
    return zlib.compress(marshal.dumps((title, *zip(*blocks, strict=True))), 1)


def content_from(source: bytes, template: Collection[int]) -> Content | None:
    """Return the content of a page under a template, from what :func:`pack_source` returned."""
    title, *fields = marshal.loads(zlib.decompress(source))  # noqa: S302 - our own
    return content_of(list(map(Block._make, zip(*fields, strict=True))), template, title)


def _hashes_in_place(in_place: list[Block]) -> dict[int, int]:
    """Return the shingles of the blocks in place: without links, if that leaves enough text."""
    texts = [block for block in in_place if not block.is_links]
    if _length(texts) >= LEAST_SHARE * _length(in_place):
        hashes = _hashes_of(texts)
        if len(hashes) >= LEAST_SHINGLES:
            return hashes
    return _hashes_of(in_place)


def _hashes_of(blocks: list[Block]) -> dict[int, int]:
    """Return the hash of each shingle of *blocks* and the id of the first block that has it."""
    hashes: dict[int, int] = {}
    for block in reversed(blocks):
        hashes.update(dict.fromkeys(shingle_hashes(normalise(block.text)), block.id))
    return hashes


def _hidden_in(blocks: list[Block]) -> set[int]:
    """Return the hashes of the shingles of *blocks* that the page does not show."""
    texts = (normalise(block.text) for block in blocks if MARK in block.text)
    runs = (run for text in texts for run in text_shingles(text) if MARK in run)
    return set(hash_features(runs))


def _length(blocks: list[Block]) -> int:
    return sum(len(block.text) for block in blocks)


def text_shingles(text: str) -> list[str]:
    """Return the shingles of one block: runs of words as they are written, or of characters.

    Punctuation counts: in a reference, ``a[i]`` is not ``a(i)``.  Each word is in the middle of
    one run, so a table of single words weighs as much as a sentence of the same length.

    >>> text_shingles("size: 1 dword.")
    [' size: 1', 'size: 1 dword.', '1 dword. ']
    >>> text_shingles("网页去重方法")
    ['网页去重方', '页去重方法']
    """
    words = text.split()
    if _is_unspaced(text):
        characters = "".join(words)
        runs = range(max(1, len(characters) - SHINGLE_CHARACTERS + 1))
        return [characters[i : i + SHINGLE_CHARACTERS] for i in runs]
    return shingles(["", *words, ""], SHINGLE_WORDS) if words else []


def shingle_hashes(text: str) -> Iterable[int]:
    """Return the hashes of :func:`text_shingles`, by the compiled module if it is built."""
    if compiled is None:
        return hash_features(text_shingles(text))
    of_characters = _is_unspaced(text)
    width = SHINGLE_CHARACTERS if of_characters else SHINGLE_WORDS
    return compiled.hash_runs(text, width, of_characters)  # type: ignore[no-any-return]


def _is_unspaced(text: str) -> bool:
    """Whether more than 15 % of a text's characters are in scripts without spaces."""
    return unspaced_share(text) > UNSPACED_SHARE
