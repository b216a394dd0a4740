"""Text that a page holds but does not show, by its own markup.

Each word of it gets a mark, so that it is another word than the same one where it is shown.  Hidden
text is therefore like hidden text, shown text like shown text, and never one like the other: a page
that hides the text of another page does not stand for it, and a page with another hidden tab is
another page.  What a stylesheet or a script hides is not known.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import regex
from lxml import etree

from scrapy_simhash.analysis.elements import HIDDEN_ELEMENTS
from scrapy_simhash.analysis.features import TOKEN
from scrapy_simhash.analysis.remembering import remembering
from scrapy_simhash.analysis.walk import compiled_walk

if TYPE_CHECKING:
    from lxml.html import HtmlElement

# The combining grapheme joiner: a mark that is not seen, that is part of a token, and that no
# normal form changes (Unicode 15, section 23.2).
MARK = "\u034f"

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
