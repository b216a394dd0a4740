"""What is read of a page: its elements, the blocks of its text, and the literals of its code."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import NamedTuple, TypeVar

from lxml.html import defs

from scrapy_simhash.analysis.fingerprint import compiled

T = TypeVar("T")

# The combining grapheme joiner: a mark that is not seen, that is part of a token, and that no
# normal form changes (Unicode 15, section 23.2).
MARK = "\u034f"

# Elements that begin a new block: lxml's list, and the elements that HTML 5 added.
BLOCK_ELEMENTS = defs.block_tags - {"del", "ins"} | {
    *("article", "aside", "body", "br", "button", "details", "dialog", "figcaption", "figure"),
    *("footer", "header", "hgroup", "html", "main", "nav", "section", "select", "summary"),
}
# Elements whose text is not shown on the page.
UNSEEN_ELEMENTS = frozenset(
    {"head", "iframe", "math", "noscript", "object", "script", "style", "svg"}
)
# What a browser shows instead of the text in these, or only a script opens.
HIDDEN_ELEMENTS = frozenset(
    {"audio", "canvas", "datalist", "noembed", "noframes", "template", "video"}
)
# What a page without scripts shows is read where the page shows less than this without them, and
# there is at least as much of it: else it asks to switch them on.  In characters.
LEAST_SHOWN = 250
WHOLE_PAGE = frozenset({"body", "html"})

# Elements that are beside the content, unless they are inside a content element.
BESIDE_ELEMENTS = frozenset({"aside", "footer", "header", "nav"})
CONTENT_ELEMENTS = frozenset({"article", "main"})
NEVER_BESIDE = CONTENT_ELEMENTS | WHOLE_PAGE
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

# Names of elements that are remembered: the pages of a site have the same ones.
KNOWN_NAMES = 2_000
# Longer texts are not remembered, in characters: all of them take some hundred kilobytes at most.
# Of an outline's names, this much counts: to read half a million words of a class took 3 s.
MAX_REMEMBERED = 200

# Of a link in a head that leads to another page.
LINK_RELATIONS = frozenset(
    {
        *("author", "contents", "copyright", "first", "glossary", "help", "home", "index"),
        *("last", "next", "prev", "previous", "search", "start", "top", "up"),
    }
)

_SEPARATORS = re.compile(r"[^a-z0-9]+")
_JOINERS = re.compile(r"[-_]+")
# "has-sidebar" says what an element has, not what it is.
_PROPERTIES = re.compile(r"\b(?:has|no|with|without)[-_]\S*")
# An article has a footer of its own, as with the elements.
_PARTS_OF_CONTENT = re.compile(r"banner|footer", re.IGNORECASE)
# A name with a digit, from its beginning on, so that a long one is read once.
_NUMBERED = re.compile(r"(?<!\S)[^\s0-9]*[0-9]\S*")

# A block with at least this share of its characters in links is a menu entry, a breadcrumb or a
# "next" link (measured on such blocks: 0.8 to 1).  A list of operands that are links has 0.71.
LINK_SHARE = 0.8

# All browsers and servers accept URLs of up to about this length (RFC 9110, section 4.1, asks for
# 8,000 bytes).  A longer one is not a real address, and is ignored.
MAX_ADDRESS = 8_000

# Of a name, its beginning counts: half a megabyte of name before each of 200,000 values took 31 s.
MAX_NAME = 100

# A string runs to the end of the text where its quote is missing, and a name begins where a word
# does: each character is read once.  With names within words, a word of 46 KB took 11 s.
_TOKEN = re.compile(
    r"""
    ("(?:[^"\\]|\\[\s\S]?)*(?:"|\Z)|'(?:[^'\\]|\\[\s\S]?)*(?:'|\Z))(\s*:)?  # a string, or a name
    | (?<![\w$])([A-Za-z_$][\w$]*)\s*[:=](?![=])                           # a name
    | (-?\b\d[\w.]*) | \b(true|false)\b
    """,
    re.VERBOSE,
)


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


class Outline(NamedTuple):
    """Where the blocks of a page are: its *sections*, and of each block the *place*.

    A section is a block-level element that holds a block: the number of the section around it, -1
    for the first, and its tag, class and id with a space between two, up to MAX_REMEMBERED
    characters.  A place is the number of the innermost section and the share of the block's
    characters that are in links.
    """

    sections: list[tuple[int, str]]
    places: list[tuple[int, float]]


# What a walk meets, in order: an element with its attributes (names and values in turn); the end of
# an element; a text.
Event = tuple[str, tuple[str, ...]] | None | str


class Walked(NamedTuple):
    """What a walk over a page read: its blocks, what it met, and where the blocks are."""

    blocks: list[Block]
    events: list[Event]
    outline: Outline


NOTHING = Walked([], [], Outline([], []))


def literals(text: str) -> list[tuple[str, str]]:
    """Return each literal of code after the name before it, by the compiled module if it is built.

    >>> literals("size = 2; on('click', {again: true})")
    [('size', '2'), ('size', "'click'"), ('again', 'true')]
    """
    if compiled is not None:
        return compiled.literals(text, MAX_NAME)  # type: ignore[no-any-return]
    found = []
    name = ""
    for token in _TOKEN.finditer(text):
        string, is_name, identifier, number, word = token.groups()
        if identifier is not None:
            name = identifier[:MAX_NAME]
        elif is_name:
            name = string[1:-1][:MAX_NAME]
        else:
            found.append((name, string or number or word))
    return found


def remembering(most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Return a decorator by which a function remembers what it said of the last *most* texts."""

    def decorated(function: Callable[[str], T]) -> Callable[[str], T]:
        known = lru_cache(most)(function)

        @wraps(function)
        def remembered(text: str) -> T:
            return known(text) if len(text) <= MAX_REMEMBERED else function(text)

        return remembered

    return decorated


@remembering(KNOWN_NAMES)
def is_named_beside(names: str) -> bool:
    """Whether one of the names in a class or id is that of something beside the content."""
    names = _PROPERTIES.sub("", names.lower())
    whole = _JOINERS.sub("", names).split()
    return not BESIDE_NAMES.isdisjoint([*whole, *_SEPARATORS.split(names)])


@remembering(KNOWN_NAMES)
def is_named_beside_in_content(names: str) -> bool:
    """Say the same of an element within a ``main`` or ``article``, which has parts of its own."""
    return is_named_beside(names) and is_named_beside(_PARTS_OF_CONTENT.sub("", names))


@remembering(KNOWN_NAMES)
def without_digits(names: str) -> str:
    """Return the names in a class, id and role that have no digit: the others number things."""
    if names.isascii():
        return " ".join(_NUMBERED.sub("", names).split())
    return " ".join(word for word in names.split() if not any(map(str.isdigit, word)))
