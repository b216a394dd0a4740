"""The places of a page: what surrounds an element, so that pages of one layout share it.

A place is a hash of 32 bits of the element's tag, of what it is asked for (an attribute, say), and
of the nearest elements around it that have a class, id or role.  Names with a digit are left out:
they number things.  So are those of the whole body: they say what kind of page it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from lxml.html import HtmlElement

from scrapy_simhash.rule.hashes import hash_of

WHOLE_PAGE = frozenset({"body", "html"})
T = TypeVar("T")

# So many of the named elements around one tell where it is: a rotating box has a name of its own.
NAMED_AROUND = 3


class Places:
    """The places of one page; what is known of an element is not looked up again."""

    def __init__(self) -> None:
        self._around: dict[HtmlElement, tuple[str, ...]] = {}
        self._hashes: dict[tuple[tuple[str, ...], str], int] = {}

    def place(self, element: HtmlElement, what: str) -> int:
        """Return the place of *what* an element has.  Cost: O(depth) at worst."""
        key = self._names_around(element), f"{element.tag} {what}"
        place = self._hashes.get(key)
        if place is None:
            place = self._hashes[key] = hash_of("\0".join((*key[0], key[1])))
        return place

    def _names_around(self, element: HtmlElement) -> tuple[str, ...]:
        return inherited(element, self._around, (), _within)


def inherited(
    element: HtmlElement,
    known: dict[HtmlElement, T],
    outermost: T,
    within: Callable[[HtmlElement, T], T],
) -> T:
    """Return what an element has of those around it: *within* says what each makes of it.

    *outermost* is what there is around the whole page.  *known* remembers each element.
    """
    path = []
    above: HtmlElement | None = element
    while above is not None and above not in known:
        path.append(above)
        above = above.getparent()
    around = outermost if above is None else known[above]
    for one in reversed(path):
        around = known[one] = within(one, around)
    return around


def _within(element: HtmlElement, around: tuple[str, ...]) -> tuple[str, ...]:
    name = _name_of(element)
    return (*around, name)[-NAMED_AROUND:] if name else around


def _name_of(element: HtmlElement) -> str:
    """Return tag, class, id and role; empty if it has only a tag."""
    attributes = element.attrib
    if not attributes or element.tag in WHOLE_PAGE:
        return ""
    names = f"{attributes.get('class', '')} {attributes.get('id', '')} {attributes.get('role', '')}"
    words = [word for word in names.split() if word.isalpha() or not _has_digit(word)]
    return " ".join((element.tag, *words)) if words else ""


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))
