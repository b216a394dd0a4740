"""What the elements of a page are: which begin a block, which show nothing, which are beside."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

from lxml.html import defs

T = TypeVar("T")

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
