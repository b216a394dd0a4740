"""The places of a page: what surrounds an element, so that pages of one layout share it.

A place is a hash of 32 bits of the element's tag, of what it is asked for (an attribute, say), and
of the nearest elements around it that have a class, id or role.  Names with a digit are left out:
they number things.  So are those of the whole body: they say what kind of page it is.
"""

from __future__ import annotations

from scrapy_simhash.rule.hashes import hash_of


class Places:
    """The places of one page; what is known of an element is not looked up again."""

    def __init__(self) -> None:
        self._known: dict[tuple[tuple[str, ...], str], PlacesOfElement] = {}

    def of(self, around: tuple[str, ...], tag: str) -> PlacesOfElement:
        """Return the places of all that an element with a *tag* has; *around* it are names."""
        known = self._known.get((around, tag))
        if known is None:
            known = self._known[around, tag] = PlacesOfElement("\0".join((*around, tag)))
        return known


class PlacesOfElement(dict[str, int]):
    """The place of each thing that an element is asked for."""

    def __init__(self, element: str) -> None:
        self._element = element

    def __missing__(self, what: str) -> int:
        place = self[what] = hash_of(f"{self._element} {what}")
        return place
