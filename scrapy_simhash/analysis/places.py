"""The places of a page: what surrounds an element, so that pages of one layout share it.

A place is a hash of 32 bits of the element's tag, of what it is asked for (an attribute, say), and
of the nearest elements around it that have a class, id or role.  Names with a digit are left out:
they number things.  So are those of the whole body: they say what kind of page it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from lxml.html import HtmlElement

from scrapy_simhash.analysis.content import KNOWN_NAMES
from scrapy_simhash.analysis.remembering import remembering
from scrapy_simhash.rule.hashes import hash_of

WHOLE_PAGE = frozenset({"body", "html"})
T = TypeVar("T")

# So many of the named elements around one tell where it is: a rotating box has a name of its own.
NAMED_AROUND = 3

# A name with a digit, from its beginning on, so that a long one is read once.
_NUMBERED = re.compile(r"(?<!\S)[^\s0-9]*[0-9]\S*")


class Places:
    """The places of one page; what is known of an element is not looked up again."""

    def __init__(self) -> None:
        self._around: dict[HtmlElement, tuple[str, ...]] = {}
        self._known: dict[tuple[tuple[str, ...], str], PlacesOfElement] = {}

    def of(self, element: HtmlElement) -> PlacesOfElement:
        """Return the places of all that an element has.  Cost: O(depth) at worst."""
        key = inherited(element, self._around, (), self._within), element.tag
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = PlacesOfElement("\0".join((*key[0], key[1])))
        return known

    def _within(self, element: HtmlElement, around: tuple[str, ...]) -> tuple[str, ...]:
        name = self._name_of(element)
        return (*around, name)[-NAMED_AROUND:] if name else around

    def _name_of(self, element: HtmlElement) -> str:
        """Return tag, class, id and role; empty if it has only a tag."""
        get = element.get
        names = f"{get('class', '')} {get('id', '')} {get('role', '')}"
        if names == "  " or element.tag in WHOLE_PAGE:
            return ""
        words = _without_digits(names)
        return f"{element.tag} {words}" if words else ""


class PlacesOfElement(dict[str, int]):
    """The place of each thing that an element is asked for."""

    def __init__(self, element: str) -> None:
        self._element = element

    def __missing__(self, what: str) -> int:
        place = self[what] = hash_of(f"{self._element} {what}")
        return place


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


@remembering(KNOWN_NAMES)
def _without_digits(names: str) -> str:
    if names.isascii():
        return " ".join(_NUMBERED.sub("", names).split())
    return " ".join(word for word in names.split() if not any(map(str.isdigit, word)))
