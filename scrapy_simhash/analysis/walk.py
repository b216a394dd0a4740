"""One walk over the tree of a page: the blocks of its text, and its elements as they come.

The compiled module reads the nodes of libxml2, in a third of the time that lxml's elements take.
"""

from __future__ import annotations

from itertools import chain
from types import ModuleType

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simhash.analysis.elements import (
    BESIDE_ELEMENTS,
    BESIDE_ROLES,
    BLOCK_ELEMENTS,
    CONTENT_ELEMENTS,
    NEVER_BESIDE,
    UNSEEN_ELEMENTS,
    is_named_beside,
    is_named_beside_in_content,
)
from scrapy_simhash.analysis.fingerprint import hash_feature
from scrapy_simhash.analysis.reading import LINK_SHARE, Block, Event

compiled_walk: ModuleType | None
try:
    from scrapy_simhash.analysis import compiled_walk
except (ImportError, AttributeError, TypeError, ValueError):  # or lxml has another layout
    compiled_walk = None


def walk(tree: HtmlElement, with_events: bool = True) -> tuple[list[Block], list[Event]]:
    """Return the blocks of a page, and the events of the walk, each in order.

    Blocks without text are left out; without *with_events*, so are the events.

    Cost: O(nodes), and O(depth) for each element that is named like something beside the content.
    """
    if compiled_walk is not None:
        return compiled_walk.walk(tree, with_events)  # type: ignore[no-any-return]
    return reference_walk(tree, with_events)


def visible_blocks(tree: HtmlElement) -> list[Block]:
    """Return the blocks of a page alone."""
    return walk(tree, with_events=False)[0]


def reference_walk(tree: HtmlElement, with_events: bool) -> tuple[list[Block], list[Event]]:
    """Do the same as the compiled :func:`walk`, in one loop, for trees of any depth."""
    blocks: list[Block] = []
    events: list[Event] = []
    pieces: list[str] = []
    in_links = links = contents = headings = 0
    beside = unseen = None  # the outermost open elements of these kinds

    def finish() -> None:
        nonlocal in_links
        text = " ".join("".join(pieces).split())
        if text:
            is_links = in_links >= LINK_SHARE * (len(text) - text.count(" "))
            place = beside is not None, is_links, headings > 0, contents > 0
            blocks.append(Block(text, hash_feature(text), *place))
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
        elif tag == "a":
            links += 1 if starts else -1
        if starts:
            if with_events:
                events.append((tag, tuple(chain.from_iterable(element.items()))))
            if unseen is None and tag in UNSEEN_ELEMENTS:
                unseen = element
        elif event == "end":
            if with_events:
                events.append(None)
            if beside is element:
                beside = None
            if unseen is element:
                unseen = None
        text = element.text if starts else element.tail
        if text and with_events:
            events.append(text)
        if text and unseen is None and (pieces or not text.isspace()):
            pieces.append(text)
            if links:
                in_links += len("".join(text.split()))
    finish()
    return blocks, events


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
