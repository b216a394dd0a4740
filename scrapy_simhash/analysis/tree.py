"""The tree of a page: how it is parsed, which of its words are not shown, and the walk over it.

Each word that a page holds but does not show, by its own markup, gets a mark, so that it is another
word than the same one where it is shown.  Hidden text therefore never equals shown text: a page
that hides the text of another page does not stand for it, and a page with another hidden tab is
another page.  What a stylesheet or a script hides is not known.

One walk then reads the blocks of text and the elements.  The compiled module reads the nodes of
libxml2, in a third of the time that lxml's elements take; the Python code does the same.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from types import ModuleType

import regex
from lxml import etree
from lxml.html import HtmlElement, fromstring
from w3lib.encoding import html_to_unicode

from scrapy_simhash.analysis.features import TOKEN
from scrapy_simhash.analysis.fingerprint import hash_feature
from scrapy_simhash.analysis.reading import (
    BESIDE_ELEMENTS,
    BESIDE_ROLES,
    BLOCK_ELEMENTS,
    CONTENT_ELEMENTS,
    HIDDEN_ELEMENTS,
    LEAST_SHOWN,
    LINK_SHARE,
    MARK,
    MAX_ADDRESS,
    MAX_REMEMBERED,
    NEVER_BESIDE,
    UNSEEN_ELEMENTS,
    Block,
    Event,
    Outline,
    Walked,
    is_named_beside,
    is_named_beside_in_content,
    remembering,
)

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
# What libxml2 may stop at: control characters, and U+FFFE and U+FFFF in UTF-8.
_CONTROLS = bytes({*range(0x20)} - {0x09, 0x0A, 0x0D})
_NONCHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")
# A page counts as HTML if it begins with this, or has a head and a body.
_BEGINNING = 50
# A root that is closed where it begins would have no content.
_CLOSED_ROOT = re.compile(rb"(<html\b[^<>]*?)\s*/>", re.IGNORECASE)
_ROOT_WITHIN = 4096

_ELEMENTS = ("dialog", *sorted(HIDDEN_ELEMENTS))
# In the order of the page.  A union takes half the time of one step with all conditions; each of
# its parts walks over all nodes, and most pages have none of the elements.
_ATTRIBUTES = ".//@hidden/.. | .//@style/.."
_may_hide = etree.XPath(_ATTRIBUTES)
_THESE = (_ATTRIBUTES, *(f".//{tag}" for tag in _ELEMENTS))
_may_hide_with_elements = etree.XPath(" | ".join(_THESE))
# Values of "style" that are remembered.
KNOWN_STYLES = 1_000
# Elements whose text is code.
_CODE = frozenset({"script", "style"})

# A comment that is not closed runs to the end (CSS Syntax, section 4.3.2).
_NO_CHARACTERS = re.compile(r"/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|\s+")
_ZERO = r"(?:0+(?:\.0*)?|\.0+)(?:%|[a-z]+)?(?=[;!]|\Z)"
# Far outside of the page: 1,000 pixels, or 100 of a larger unit.  Layouts move by less.
_FAR = r"-(?:\d{4,}|999|\d{3}(?:\.\d+)?(?:%|r?em|ch|ex|v[wh]|in|cm|pc))"
_HIDING = re.compile(
    rf"""(?<![^;])(?:
    display:none | (?:content-)?visibility:(?:hidden|collapse) | (?:opacity|font-size):{_ZERO}
    | (?:text-indent|left|right|top|bottom|margin(?:-left|-right|-top)?):{_FAR}
    | transform:[^;]*(?:scale(?:3d|[xy])?\(0[,)]|translate(?:3d|[xy])?\({_FAR})
    | clip:rect\((?:[01](?:px)?,?){{4}}\) | clip-path:(?:inset\((?:50|100)%|circle\(0)
    )""",
    re.VERBOSE,
)
_NO_OVERFLOW = re.compile(r"(?<![^;])overflow(?:-[xy])?:(?:hidden|clip)")
_NO_SIZE = re.compile(rf"(?<![^;])(?:max-)?(?:height|width):(?:1px|{_ZERO})")

# Tokens, and words that have none.
_MARKED = regex.compile(rf"{TOKEN}|(?<!\S)[^\s\p{{L}}\p{{M}}\p{{N}}]++(?!\S)", regex.V1)

# What a parser lets through, but no text may be set to (XML 1.0, section 2.2).
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def decode(body: bytes, encoding: str | None) -> str:
    """Return *body* as text, as Scrapy decodes it: a byte order mark wins, bad bytes are replaced.

    NUL characters are left out: an HTML parser may stop at one.
    """
    content_type = f"text/html; charset={encoding}" if encoding else None
    return html_to_unicode(content_type, body)[1].replace("\x00", "")


def parse(html: str) -> HtmlElement | None:
    """Return the tree of a page, hidden words marked; None if it is not HTML.

    It is the tree that trafilatura makes of the text, with what comes after ``</html>``.
    """
    # From bytes, which libxml2 reads in three quarters of the time.
    text = html.encode("utf-8", "surrogatepass").translate(None, _CONTROLS)
    for character in _NONCHARACTERS:
        text = text.replace(character, b"")
    text = _CLOSED_ROOT.sub(rb"\1>", text[:_ROOT_WITHIN], count=1) + text[_ROOT_WITHIN:]
    try:
        tree: HtmlElement = fromstring(text, parser=_PARSER)
    except etree.LxmlError:  # there is nothing in it
        return None
    if "html" not in html[:_BEGINNING].lower() and len(tree) < 2:
        return None
    _join(tree)
    mark_hidden(tree)
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


def mark_hidden(tree: HtmlElement) -> None:
    """Mark the words that a page does not show.

    Cost: O(elements), and O(nodes in hidden elements) more.
    """
    hidden = hidden_in(tree) if compiled_walk is None else compiled_walk.hidden_in(tree, is_hiding)
    for outermost in hidden:
        for node in outermost.iter():
            if (text := node.text) and not text.isspace() and _is_text(node.tag):
                node.text = _marked(text)
            if (tail := node.tail) and not tail.isspace() and node is not outermost:
                node.tail = _marked(tail)


def hidden_in(tree: HtmlElement) -> list[HtmlElement]:
    """Return the outermost elements that a page hides, in order."""
    within: set[HtmlElement] = set()
    found = []
    has_elements = next(tree.iter(*_ELEMENTS), None) is not None
    for element in (_may_hide_with_elements if has_elements else _may_hide)(tree):
        if element not in within and _is_hidden(element):
            found.append(element)
            within.update(element.iter())
    return found


def has_marks(tree: HtmlElement) -> bool:
    """Whether there are marked words in a tree."""
    if compiled_walk is not None:
        return compiled_walk.has_text(tree, MARK.encode())  # type: ignore[no-any-return]
    return MARK.encode() in etree.tostring(tree, encoding="utf-8", method="text")


@remembering(KNOWN_STYLES)
def is_hiding(style: str) -> bool:
    """Whether the value of a ``style`` attribute hides the text of its element.

    >>> is_hiding("position: absolute; left: -9999px"), is_hiding("color: red")
    (True, False)
    """
    style = _NO_CHARACTERS.sub("", style.lower())
    if _HIDING.search(style):
        return True
    return _NO_OVERFLOW.search(style) is not None and _NO_SIZE.search(style) is not None


def _is_text(tag: object) -> bool:
    """Whether what is in an element is text: not code, nor a comment."""
    return isinstance(tag, str) and tag not in _CODE


def _is_hidden(element: HtmlElement) -> bool:
    if element.tag in HIDDEN_ELEMENTS or element.get("hidden") is not None:
        return True
    if element.tag == "dialog" and element.get("open") is None:
        return True
    return is_hiding(element.get("style", ""))


def _marked(text: str) -> str:
    """Return a text with the mark at the end of each token, and of each word that has none."""
    return _MARKED.sub(rf"\g<0>{MARK}", _NOT_XML.sub(" ", text))


def walk(tree: HtmlElement, with_events: bool = True) -> Walked:
    """Return the blocks of a page, the events of the walk, and where the blocks are, in order.

    Blocks without text are left out; without *with_events*, so are the events.  On a page that
    shows next to nothing without scripts, as some forums do, the blocks are those in ``noscript``.

    Cost: O(nodes), and O(depth) for each element that is named like something beside the content.
    """
    if compiled_walk is not None:
        return compiled_walk.walk(tree, with_events)  # type: ignore[no-any-return]
    return reference_walk(tree, with_events)


def visible_blocks(tree: HtmlElement) -> list[Block]:
    """Return the blocks of a page alone."""
    return walk(tree, with_events=False).blocks


class _Side:
    """The blocks that a page shows, or those in its ``noscript``, with their places."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.places: list[tuple[int, float]] = []
        self.shown = 0


def reference_walk(tree: HtmlElement, with_events: bool) -> Walked:
    """Do what the compiled :func:`walk` does, in one loop, for trees of any depth."""
    side, other = _Side(), _Side()
    sections = [(-1, "")]
    open_ones: list[tuple[HtmlElement, int]] = []  # block-level elements, -1 or their sections
    events: list[Event] = []
    pieces: list[str] = []
    in_links = links = contents = headings = 0
    beside = unseen = unscripted = None  # the outermost open elements of these kinds
    in_other = False

    def section() -> int:
        number = 0
        for depth, (element, known) in enumerate(open_ones):
            if known < 0:
                names = f"{element.tag} {element.get('class', '')} {element.get('id', '')}"
                sections.append((number, names[:MAX_REMEMBERED]))
                known = len(sections) - 1
                open_ones[depth] = element, known
            number = known
        return number

    def finish() -> None:
        nonlocal in_links
        text = " ".join("".join(pieces).split())
        if text:
            shown = len(text) - text.count(" ")
            is_links = in_links >= LINK_SHARE * shown
            block = Block(text, hash_feature(text), beside is not None, is_links, headings > 0)
            side.blocks.append(block)
            side.places.append((section(), in_links / shown))
            side.shown += shown
        pieces.clear()
        in_links = 0

    for event, element in etree.iterwalk(tree, events=("start", "end", "comment", "pi")):
        tag = element.tag
        starts = event == "start"
        if tag in BLOCK_ELEMENTS:
            if pieces:
                finish()
            if tag in CONTENT_ELEMENTS:
                contents += 1 if starts else -1
            elif tag == "h1":
                headings += 1 if starts else -1
            if starts and beside is None and _is_beside(element, contents > 0):
                beside = element
            if starts:
                open_ones.append((element, -1))
            else:
                open_ones.pop()
        elif tag == "a":
            links += 1 if starts else -1
        if starts:
            if with_events:
                events.append((tag, tuple(chain.from_iterable(element.items()))))
            if unseen is None and tag in UNSEEN_ELEMENTS:
                if tag == "noscript" and unscripted is None:
                    unscripted = element
                else:
                    unseen = element
        elif event == "end":
            if with_events:
                events.append(None)
            if beside is element:
                beside = None
            if unseen is element:
                unseen = None
            if unscripted is element:
                if in_other:
                    finish()
                    side, other = other, side
                unscripted, in_other = None, False
        text = element.text if starts else element.tail
        if text and with_events:
            events.append(text)
        if not text or unseen is not None:
            continue
        if unscripted is not None and not in_other and not text.isspace():
            finish()
            side, other = other, side
            in_other = True
        if (unscripted is None or in_other) and (pieces or not text.isspace()):
            pieces.append(text)
            if links:
                in_links += len("".join(text.split()))
    finish()
    if side.shown < LEAST_SHOWN <= other.shown:
        side = other
    return Walked(side.blocks, events, Outline(sections, side.places))


def _is_beside(element: HtmlElement, in_content: bool) -> bool:
    """Whether a block-level element begins what is beside the content.

    *in_content* says that it is in a ``main`` or ``article``.
    """
    if element.tag in BESIDE_ELEMENTS:
        return not in_content or element.tag == "nav"
    if element.tag in NEVER_BESIDE:
        return False
    if element.get("role") in BESIDE_ROLES:
        return True
    names = f"{element.get('class', '')} {element.get('id', '')}"
    is_named = is_named_beside_in_content if in_content else is_named_beside
    if names == " " or not is_named(names):
        return False
    # What holds the content is not beside it: the main column may be named "sidebar-left".
    return next(element.iterdescendants("h1", "main"), None) is None
