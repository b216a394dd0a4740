"""Which attributes of which elements hold something that a spider could take."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from scrapy_simhash.analysis.remembering import remembering

Kind = Literal["link", "media", "field", "property", "data", "code"]

KNOWN_ATTRIBUTES = 1_000

# Attributes that hold the address of something to follow, or to show, by tag.
LINKS = {"a": "href", "area": "href", "link": "href"}
_MEDIA: dict[str, frozenset[str]] = {
    **dict.fromkeys(("img", "source", "input"), frozenset({"src", "srcset"})),
    **dict.fromkeys(("audio", "embed", "frame", "iframe", "track"), frozenset({"src"})),
    "video": frozenset({"src", "poster"}),
    "object": frozenset({"data"}),
}
# Attributes that hold data, of any tag; so do those that begin with "data-".
_DATA = frozenset(
    {
        *("action", "alt", "aria-description", "aria-label", "datetime", "download"),
        *("formaction", "label", "placeholder", "title", "value"),
    }
)
_PROPERTIES = frozenset({"itemprop", "property"})


@lru_cache(KNOWN_ATTRIBUTES)
def kind_of(tag: str, name: str) -> Kind | None:
    """Return what an attribute holds, None if it is nothing of interest."""
    if name == LINKS.get(tag):
        return "link"
    if name == "style" or name in _MEDIA.get(tag, ()):
        return "media"
    if tag == "link":  # its title is that of another page
        return None
    if name in _DATA:
        return "field"
    if name in _PROPERTIES:
        return "property"
    if name.startswith("data-"):
        return "data"
    return "code" if name.startswith("on") else None


# Properties of schema.org whose values name a thing (schema.org/Product, /Book, /identifier).
IDENTIFIERS = frozenset(
    {
        *("sku", "gtin", "gtin8", "gtin12", "gtin13", "gtin14", "mpn", "isbn", "productid"),
        "identifier",
    }
)


@remembering(KNOWN_ATTRIBUTES)
def identifiers_in(names: str) -> tuple[str, ...]:
    """Return those of the names of a property that are identifiers, without what is before them."""
    last = (name.replace(":", "/").rpartition("/")[2] for name in names.lower().split())
    return tuple(name for name in last if name in IDENTIFIERS)
