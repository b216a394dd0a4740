"""The tree of a page: how it is parsed, and the walk over it.

The compiled walk reads the nodes of libxml2; the Python code does the same by lxml's elements.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from itertools import chain
from types import ModuleType

from lxml import etree
from lxml.html import HtmlElement, fromstring
from w3lib.encoding import html_to_unicode

from scrapy_simhash.analysis.blocks import Block, Event, Walked, blocks_of
from scrapy_simhash.analysis.events import MAX_ADDRESS, element_of, marked, text_of

compiled_walk: ModuleType | None
try:
    from scrapy_simhash.analysis import compiled_walk
except (ImportError, AttributeError, TypeError, ValueError):  # or lxml has another layout
    compiled_walk = None

# The options are trafilatura's.  The class of all elements is given here, since lxml.html asks a
# function in Python for the class of each, in each walk through the tree.
_PARSER = etree.HTMLParser(
    encoding="utf-8",
    remove_comments=True,
    remove_pis=True,
    collect_ids=False,
    default_doctype=False,
)
_PARSER.set_element_class_lookup(etree.ElementDefaultClassLookup(element=HtmlElement))
# What takes the place of bytes that cannot be decoded: one character for all, or one for each, of a
# range for private use (Unicode 15, section 23.5).
_REPLACED = "\ufffd"
_TOLD_APART = "scrapy_simhash.told_apart"
_FIRST = 0xF700
# What libxml2 may stop at: control characters, and U+FFFE and U+FFFF in UTF-8.
_CONTROLS = bytes({*range(0x20)} - {0x09, 0x0A, 0x0D})
_NONCHARACTERS = b"\xef\xbf\xbe", b"\xef\xbf\xbf"
# A page counts as HTML if it begins with this, or has a head and a body.
_BEGINNING = 50
# A root that is closed where it begins would have no content.
_CLOSED_ROOT = re.compile(rb"(<html\b[^<>]*?)\s*/>", re.IGNORECASE)
_ROOT_WITHIN = 4096


def _tell_apart(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(chr(_FIRST + byte) for byte in wrong), error.end


codecs.register_error(_TOLD_APART, _tell_apart)


def decode(body: bytes, encoding: str | None) -> str:
    """Return *body* as text, as Scrapy decodes it: a byte order mark wins, bad bytes are replaced.

    NUL characters are left out: an HTML parser may stop at one.  A byte that the encoding does not
    have is told from others: the spider may know better what it means.
    """
    content_type = f"text/html; charset={encoding}" if encoding else None
    found, text = html_to_unicode(content_type, body)
    if _REPLACED in text:
        text = body.decode(found, _TOLD_APART).removeprefix("\ufeff")
    return text.replace("\x00", "")


def parse(html: str) -> HtmlElement | None:
    """Return the tree of a page; None if it is not HTML.

    It is the tree that trafilatura makes of the text, with what comes after ``</html>``.
    """
    # From bytes, which libxml2 reads in three quarters of the time.
    text = html.encode("utf-8", "surrogatepass").translate(None, _CONTROLS)
    for character in () if html.isascii() else _NONCHARACTERS:
        text = text.replace(character, b"")
    text = _CLOSED_ROOT.sub(rb"\1>", text[:_ROOT_WITHIN], count=1) + text[_ROOT_WITHIN:]
    try:
        tree: HtmlElement = fromstring(text, parser=_PARSER)
    except etree.LxmlError:  # there is nothing in it
        return None
    if "html" not in html[:_BEGINNING].lower() and len(tree) < 2:
        return None
    _join(tree)
    return tree


def _join(tree: HtmlElement) -> None:
    """Put what comes after ``</html>`` into the body, as browsers do.

    libxml2 2.14 makes another root of it, which XPath finds and a walk from the first one does not.
    """
    body = tree.find("body")
    for root in list(tree.getroottree().getroot().itersiblings()):
        (tree if body is None else body).append(root)


def is_deeper(tree: HtmlElement, levels: int) -> bool:
    """Whether elements are nested deeper than *levels*.  Cost: O(elements), in C."""
    return bool(_path_of(levels + 1)(tree))


@lru_cache
def _path_of(levels: int) -> etree.XPath:
    return etree.XPath(f"boolean({'/*' * levels})")


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


def mark_hidden(tree: HtmlElement) -> bool:
    """Mark the words that a page does not show, for an extractor that reads its tree.

    Return whether there are any.  The events of a walk have the marks by themselves.
    """
    found = False
    hidden: HtmlElement | None = None  # the outermost open element that hides what is in it
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        starts = event == "start"
        if starts and hidden is None and _hides(element):
            hidden = element
        text = element.text if starts else element.tail
        is_within = starts or element is not hidden
        if hidden is not None and is_within and text and not text.isspace():
            if not starts:
                element.tail = marked(text)
            elif not element_of(element.tag, ()).kind.is_code:
                element.text = marked(text)
            found = True
        if not starts and element is hidden:
            hidden = None
    return found


def _hides(element: HtmlElement) -> bool:
    return element_of(element.tag, tuple(chain.from_iterable(element.items()))).hides


def walk(tree: HtmlElement) -> Walked:
    """Return what a page holds, in order, with the blocks of its text.

    Cost: that of :func:`blocks_of`, and O(nodes).
    """
    events = reference_events if compiled_walk is None else compiled_walk.events_of
    return blocks_of(events(tree))


def visible_blocks(tree: HtmlElement) -> list[Block]:
    """Return the blocks of a page alone."""
    return walk(tree).blocks


def reference_events(tree: HtmlElement) -> list[Event]:
    """Do what the compiled walk does, in one loop, for trees of any depth."""
    events: list[Event] = []
    pieces: list[str] = []  # a comment may be between two
    hidden: HtmlElement | None = None  # the outermost open element that hides what is in it
    open_ones: list[bool] = [False]  # whether what is in an element is code

    def say() -> None:
        text = "".join(pieces)
        if text:
            events.append(text if open_ones[-1] else text_of(text, hidden is not None))
        pieces.clear()

    for event, node in etree.iterwalk(tree, events=("start", "end", "comment", "pi")):
        if event == "start":
            say()
            element = element_of(node.tag, tuple(chain.from_iterable(node.items())))
            events.append(element)
            open_ones.append(element.kind.is_code)
            if hidden is None and element.hides:
                hidden = node
            pieces.append(node.text or "")
            continue
        if event == "end":
            say()
            events.append(None)
            open_ones.pop()
            if node is hidden:
                hidden = None
        if node is not tree:
            pieces.append(node.tail or "")
    return events
