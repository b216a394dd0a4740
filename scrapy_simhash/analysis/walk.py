"""One walk over the tree of a page: the blocks of its text, and what its elements hold.

The compiled module reads the nodes of libxml2, in a third of the time that lxml's elements take.
"""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simhash.analysis.attributes import identifiers_in, kind_of
from scrapy_simhash.analysis.elements import (
    BESIDE_ELEMENTS,
    BESIDE_ROLES,
    BLOCK_ELEMENTS,
    CONTENT_ELEMENTS,
    NEVER_BESIDE,
    UNSEEN_ELEMENTS,
    WHOLE_PAGE,
    is_named_beside,
    is_named_beside_in_content,
    without_digits,
)
from scrapy_simhash.analysis.engine import compiled_walk
from scrapy_simhash.analysis.fingerprint import hash_feature
from scrapy_simhash.analysis.reading import (
    LINK_SHARE,
    MAX_IDENTIFIER,
    NAMED_AROUND,
    Block,
    Finding,
)


def walk(tree: HtmlElement, with_findings: bool = True) -> tuple[list[Block], list[Finding]]:
    """Return the blocks of a page and what its elements hold, each in order.

    Blocks without text are left out; without *with_findings*, so is all that elements hold.

    Cost: O(nodes), and O(depth) for each element that is named like something beside the content.
    """
    if compiled_walk is not None:
        return compiled_walk.walk(tree, with_findings)  # type: ignore[no-any-return]
    return reference_walk(tree, with_findings)


def visible_blocks(tree: HtmlElement) -> list[Block]:
    """Return the blocks of a page alone."""
    return walk(tree, with_findings=False)[0]


def reference_walk(tree: HtmlElement, with_findings: bool) -> tuple[list[Block], list[Finding]]:
    """Do the same as the compiled :func:`walk`, in one loop, for trees of any depth."""
    blocks: list[Block] = []
    findings: list[Finding] = []
    pieces: list[str] = []
    path = _Path()
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
            path.open(element)
            if unseen is None and tag in UNSEEN_ELEMENTS:
                unseen = element
            for found in _held_by(element) if with_findings else ():
                findings.append(Finding._make((*found, path.around(), beside is not None)))
        elif event == "end":
            path.close()
            if beside is element:
                beside = None
            if unseen is element:
                unseen = None
        text = element.text if starts else element.tail
        if text and unseen is None and (pieces or not text.isspace()):
            pieces.append(text)
            if links:
                in_links += len("".join(text.split()))
    finish()
    return blocks, findings


class _Path:
    """The open elements, and what names those around each."""

    def __init__(self) -> None:
        self._open: list[HtmlElement] = []
        self._around: list[tuple[str, ...]] = []  # of the first of them

    def open(self, element: HtmlElement) -> None:
        self._open.append(element)

    def close(self) -> None:
        self._open.pop()
        del self._around[len(self._open) :]

    def around(self) -> tuple[str, ...]:
        """Return what names the innermost open element and those around it."""
        for element in self._open[len(self._around) :]:
            around = self._around[-1] if self._around else ()
            name = _name_of(element)
            self._around.append((*around, name)[-NAMED_AROUND:] if name else around)
        return self._around[-1]


def _name_of(element: HtmlElement) -> str:
    """Return tag, class, id and role; empty if it has only a tag."""
    get = element.get
    names = f"{get('class', '')} {get('id', '')} {get('role', '')}"
    if names == "  " or element.tag in WHOLE_PAGE:
        return ""
    words = without_digits(names)
    return f"{element.tag} {words}" if words else ""


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


def _held_by(element: HtmlElement) -> Iterator[tuple[str, str, str, str, str | None]]:
    """Yield kind, tag, name, value and what stands aside of all that an element holds."""
    tag, get = element.tag, element.get
    if tag == "script":
        if element.text:
            yield "script", tag, "", element.text, get("type", "")
        return
    for name, value in element.items():
        kind = kind_of(tag, name)
        aside = None
        if kind is None:
            continue
        if kind == "link":
            aside = get("rel", "")
        elif kind == "field":
            aside = get("name", "")
        elif kind == "property":
            aside = get("content")
            if identifiers_in(value):
                said = aside or get("value") or element.text_content()
                yield "identifier", tag, name, value, said[: MAX_IDENTIFIER + 1]
        yield kind, tag, name, value, aside
