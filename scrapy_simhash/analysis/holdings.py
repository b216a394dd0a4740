"""What a spider could take from a page beside its text: where its links lead, and what names it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from lxml import etree
from lxml.html import HtmlElement

from scrapy_simhash.analysis.content import (
    BLOCK_ELEMENTS,
    CONTENT_ELEMENTS,
    MAX_ADDRESS,
    is_beside,
    is_named_beside,
)
from scrapy_simhash.rule.hashes import hash_of
from scrapy_simhash.rule.identity import identity_of

# A page with more links is not compared by them.
MAX_LINKS = 10_000
# Structured data beyond these limits is not read, so that a hostile page costs no more than others.
MAX_DATA_CHARACTERS = 1 << 20
MAX_DATA_VALUES = 20_000
MAX_VALUE_CHARACTERS = 200

_LINKING = etree.XPath("//a[@href] | //area[@href] | //link[@href][@rel]")
_MARKED = etree.XPath("//*[@itemprop or @property]")
_SCRIPTS = etree.XPath("//script[@type]")

# Properties of schema.org whose values name a thing (schema.org/Product, /Book, /identifier).
IDENTIFIERS = frozenset(
    {
        *("sku", "gtin", "gtin8", "gtin12", "gtin13", "gtin14", "mpn", "isbn", "productid"),
        "identifier",
    }
)


def links_of(tree: HtmlElement, url: str) -> tuple[str, ...] | None:
    """Return the addresses that a page at *url* links to in its content, each once, in order.

    Only addresses of http and https, without fragments.  Links in navigation and sidebars are left
    out, but not those of a pagination.  None says that there are too many to be compared.

    Cost: O(links x depth of the tree) at worst; links with one parent share the look at it.
    """
    base = tree.find(".//base")
    if base is not None and base.get("href"):
        url = _joined(url, base.get("href")) or url
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    places = _Places()
    found: dict[str, None] = {}
    taken: set[str] = set()  # as they are written; many differ in the fragment only
    for element in _LINKING(tree):
        href = element.get("href").partition("#")[0].strip()
        if not href or href in taken or len(href) > MAX_ADDRESS:
            continue
        is_next = "next" in element.get("rel", "").lower().split()
        if not is_next and (element.tag == "link" or places.is_beside(element.getparent())):
            continue
        taken.add(href)
        address = _address(href, url, origin)
        if address:
            found[address] = None
            if len(found) > MAX_LINKS:
                return None
    return tuple(found)


def _address(href: str, url: str, origin: str) -> str | None:
    """Return a whole address; None if it is not one of http or https."""
    # Joining takes 2 us; of these, it would change or refuse none.
    is_plain = href.isascii() and "[" not in href and "]" not in href
    if is_plain and href.startswith(("http://", "https://")):
        return href
    if href.startswith("/") and not href.startswith("//") and "/." not in href:
        return origin + href
    joined = _joined(url, href)
    return joined if joined and joined.startswith(("http://", "https://")) else None


def _joined(url: str, href: str) -> str | None:
    try:
        return urljoin(url, href)
    except ValueError:  # no address at all
        return None


class _Places:
    """Where the elements of a page are: beside its content, or not, in a pagination or not."""

    def __init__(self) -> None:
        self._known: dict[HtmlElement, _Place] = {}
        self._named_beside = cache(is_named_beside)

    def is_beside(self, element: HtmlElement | None) -> bool:
        """Whether an element is in something beside the content that is not a pagination.

        Cost: O(depth); what is known of an ancestor is not looked up again.
        """
        path = []
        while element is not None and element not in self._known:
            path.append(element)
            element = element.getparent()
        place = _Place(False, False) if element is None else self._known[element]
        for one in reversed(path):
            place = self._known[one] = self._within(one, place)
        return place.is_beside

    def _within(self, element: HtmlElement, around: _Place) -> _Place:
        tag = element.tag
        if tag not in BLOCK_ELEMENTS:
            return around
        in_content = around.in_content or tag in CONTENT_ELEMENTS
        beside = around.is_beside or is_beside(element, in_content, self._named_beside)
        return _Place(beside and not _is_pagination(element), in_content)


class _Place(NamedTuple):
    is_beside: bool
    in_content: bool


def _is_pagination(element: HtmlElement) -> bool:
    names = f"{element.get('class', '')} {element.get('id', '')}".lower()
    return "pagination" in names or "pager" in names


def identity_in(tree: HtmlElement) -> bytes | None:
    """Return what the identifiers that a page gives of its things come to; None if it gives none.

    Identifiers of schema.org (:data:`IDENTIFIERS`) are read from JSON-LD, microdata and RDFa.
    """
    found = {
        (name, " ".join(value.split()))
        for name, value in (*_in_json(tree), *_in_attributes(tree))
        if value.strip() and len(value) <= MAX_VALUE_CHARACTERS
    }
    return identity_of({hash_of(f"{name}\0{value}") for name, value in found})


def _in_attributes(tree: HtmlElement) -> Iterator[tuple[str, str]]:
    """Yield name and value of identifiers in microdata (itemprop) and RDFa (property)."""
    for element in _MARKED(tree):
        yield from _named(element, element.get("itemprop") or element.get("property"))


def _named(element: HtmlElement, names: str) -> Iterator[tuple[str, str]]:
    for name in names.lower().split():
        last = name.replace(":", "/").rpartition("/")[2]
        if last in IDENTIFIERS:
            value = element.get("content") or element.get("value") or element.text_content()
            yield last, value


def _in_json(tree: HtmlElement) -> Iterator[tuple[str, str]]:
    """Yield name and value of identifiers in JSON-LD; what cannot be read counts for nothing."""
    room = MAX_DATA_CHARACTERS
    for script in _SCRIPTS(tree):
        if script.get("type").strip().lower() != "application/ld+json":
            continue
        text = script.text or ""
        room -= len(text)
        if room < 0:
            return
        try:
            yield from _identifiers(json.loads(text))
        except (ValueError, RecursionError):
            continue


def _identifiers(value: object) -> Iterator[tuple[str, str]]:
    """Yield name and value of the identifiers anywhere in a JSON value."""
    waiting: list[tuple[str, object]] = [("", value)]
    for _ in range(MAX_DATA_VALUES):
        if not waiting:
            return
        name, one = waiting.pop()
        if isinstance(one, dict):
            # An identifier may be a PropertyValue, which has the value in "value".
            waiting += _members(name, one)
        elif isinstance(one, list):
            waiting += [(name, item) for item in one]
        elif name in IDENTIFIERS and isinstance(one, (str, int)):
            yield name, str(one)


def _members(name: str, value: dict[object, object]) -> Iterable[tuple[str, object]]:
    for key, member in value.items():
        own = str(key).rpartition(":")[2].lower()
        yield (name if own in ("value", "@value") and name in IDENTIFIERS else own), member
