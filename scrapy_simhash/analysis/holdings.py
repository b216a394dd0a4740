"""What a spider could take from a page beside its text: links, media, data, and what names it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from itertools import chain
from operator import xor
from typing import Literal, NamedTuple
from urllib.parse import urljoin, urlsplit

from lxml.html import HtmlElement

from scrapy_simhash.analysis.content import BLOCK_ELEMENTS, CONTENT_ELEMENTS, MAX_ADDRESS, is_beside
from scrapy_simhash.analysis.embedded import Value, values_in_code, values_in_json
from scrapy_simhash.analysis.fingerprint import hash_feature
from scrapy_simhash.analysis.places import Places, inherited
from scrapy_simhash.rule.hashes import hash_of
from scrapy_simhash.rule.identity import identity_of

# A page with more addresses is not compared by them.
MAX_ADDRESSES = 10_000
# Values beyond these limits count as one, so that a hostile page costs no more than others.
MAX_VALUES = 5_000
MAX_SCRIPT_CHARACTERS = 1 << 20
# More values in one place count as one: all of them together.
MAX_IN_PLACE = 16
MAX_IDENTIFIER = 200
# Scripts that are remembered, and their longest, in characters: a few megabytes.
REMEMBERED_SCRIPTS = 64
KNOWN_NAMES = 1_000
MAX_REMEMBERED = 100_000

# Attributes that hold the address of something to follow, or to show, by tag.
_LINKS = {"a": "href", "area": "href", "link": "href"}
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
_STYLE_ADDRESS = re.compile(r"""url\(\s*["']?([^"')]+)""")

# Properties of schema.org whose values name a thing (schema.org/Product, /Book, /identifier).
IDENTIFIERS = frozenset(
    {
        *("sku", "gtin", "gtin8", "gtin12", "gtin13", "gtin14", "mpn", "isbn", "productid"),
        "identifier",
    }
)

Addresses = Mapping[int, tuple[str, ...]]
_Kind = Literal["link", "media", "field", "property", "data", "code"]


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a page holds, by the places of the page (:mod:`scrapy_simhash.analysis.places`).

    *links* are the addresses that a spider can follow, *media* those of pictures and the like,
    *mentioned* those in data: whole, of http and https, without fragments.  *data* are the 64-bit
    hashes of all other values, each with the name of its attribute, or its names in JSON.
    *identity* is what names the page (:mod:`scrapy_simhash.rule.identity`).  *is_whole* is False if
    there are too many addresses to be compared; then there are none.
    """

    links: Addresses = field(default_factory=dict)
    media: Addresses = field(default_factory=dict)
    mentioned: Addresses = field(default_factory=dict)
    data: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    identity: bytes | None = None
    is_whole: bool = True

    def addresses(self) -> Iterator[str]:
        """Yield all addresses; one that stands in two places comes twice."""
        for kind in (self.links, self.media, self.mentioned):
            yield from chain.from_iterable(kind.values())


NOTHING = Holdings()


def holdings_of(
    tree: HtmlElement,
    url: str,
    names: Iterable[tuple[str, str]] = (),
    told: dict[int, str] | None = None,
) -> Holdings:
    """Return what a page at *url* holds; *told* gets the names and value behind each hash of data.

    *names* are further names of the page, each with the rule that found it.

    Cost: O(elements x depth) at worst; elements with one parent share the look at what surrounds
    them.
    """
    base = tree.find(".//base")
    if base is not None and base.get("href"):
        url = _joined(url, base.get("href")) or url
    reader = _Reader(url, told)
    for rule, name in names:
        reader.note_name(rule, name)
    for element in tree.iter("*"):
        reader.read(element)
    return reader.holdings()


# The names of a value, the value, and the hash of both; None if the value is an address.
_Datum = tuple[str, str, "int | None"]


class _Around(NamedTuple):
    """Where an element stands: beside the content, or within a content element."""

    is_beside: bool
    in_content: bool


class _Reader:
    """Reads one page, element by element."""

    def __init__(self, url: str, told: dict[int, str] | None) -> None:
        self._url = url
        self._told = told
        parts = urlsplit(url)
        self._scheme = f"{parts.scheme}:"
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._folders = parts.path.split("/")[1:-1]
        self._places = Places()
        self._around: dict[HtmlElement, _Around] = {}
        self._whole: dict[str, str | None] = {}  # many links differ in the fragment only
        self._links: dict[int, dict[str, None]] = defaultdict(dict)
        self._media: dict[int, dict[str, None]] = defaultdict(dict)
        self._mentioned: dict[int, dict[str, None]] = defaultdict(dict)
        self._data: dict[int, set[int]] = defaultdict(set)
        self._identifiers: set[int] = set()
        self._values_read = self._characters_read = self._rest = 0

    def read(self, element: HtmlElement) -> None:
        """Take note of what an element holds."""
        tag = element.tag
        if tag == "script":
            self._read_script(element)
            return
        attributes = element.items()
        if not attributes:
            return
        for name, value in attributes:
            kind = _kind_of(tag, name)
            if kind is None:
                continue
            if kind == "link":
                if self._is_followed(element):
                    self._add_address(self._links, element, name, value)
            elif kind == "media":
                for one in _sources(name, value):
                    self._add_address(self._media, element, name, one)
            elif kind == "field":
                if name == "title" and tag in _LINKS and self._is_beside(element):
                    continue  # it says where the link leads
                self._add(element, _data_of(f"{name} {element.get('name', '')}", value))
            elif kind == "property":
                self._read_property(element, value)
            elif kind == "data":
                self._read_data(element, name, value)
            else:
                self._add(element, _data_in_code(name, value))

    def note_name(self, rule: str, name: str) -> None:
        """Take note of what names the page, under a rule or as an identifier."""
        name = " ".join(name.split())
        if name:
            self._identifiers.add(hash_of(f"{rule}\0{name}"))

    def _is_followed(self, element: HtmlElement) -> bool:
        """Whether the link that an element is counts as one to follow."""
        words = element.get("rel", "").lower().split()
        if element.tag == "link":
            return "next" in words
        # "Show the source", "share this"
        return "nofollow" not in words or not self._is_beside(element)

    def _is_beside(self, element: HtmlElement) -> bool:
        """Whether an element is beside the content; what is known of those around it is kept."""
        return inherited(element, self._around, _Around(False, False), _within).is_beside

    def holdings(self) -> Holdings:
        """Return what was found."""
        found = [
            {place: tuple(addresses) for place, addresses in kind.items()}
            for kind in (self._links, self._media, self._mentioned)
        ]
        number = sum(len(addresses) for kind in found for addresses in kind.values())
        links, media, mentioned = found if number <= MAX_ADDRESSES else ({}, {}, {})
        data = {place: _together(values) for place, values in self._data.items()}
        if self._rest:
            data[0] = (self._rest,)
        identity = identity_of(self._identifiers)
        return Holdings(links, media, mentioned, data, identity, number <= MAX_ADDRESSES)

    def _read_script(self, element: HtmlElement) -> None:
        text = element.text
        if not text:
            return
        self._characters_read += len(text)
        if self._characters_read > MAX_SCRIPT_CHARACTERS:
            self._add_rest(hash_feature(text))
            return
        kind = element.get("type", "").strip().lower()
        values = values_in_json(text) if "json" in kind else None
        if values is None:
            self._add(element, _data_in_code(kind, text))
        elif kind == "application/ld+json":
            self._add(element, _data_among(kind, self._noting_identifiers(values)))
        else:
            self._add(element, _data_among(kind, values))

    def _noting_identifiers(self, values: Iterable[Value]) -> Iterator[Value]:
        for one in values:
            names = [name.rpartition(":")[2].lower() for name in one[0][-2:]]
            # An identifier may be a PropertyValue, which has the value in "value".
            if names and names[-1] in ("value", "@value"):
                names.pop()
            if names:
                self._note_identifier(names[-1], one[1])
            yield one

    def _read_property(self, element: HtmlElement, names: str) -> None:
        """Take note of a value in microdata (itemprop) or RDFa (property)."""
        value = element.get("content")
        if value is not None:
            self._add(element, _data_of(f"content {names}", value))
        for name in names.lower().split():
            last = name.replace(":", "/").rpartition("/")[2]
            if last in IDENTIFIERS:
                self._note_identifier(last, value or element.get("value") or element.text_content())

    def _note_identifier(self, name: str, value: str) -> None:
        if name in IDENTIFIERS and len(value) <= MAX_IDENTIFIER:
            self.note_name(name, value)

    def _read_data(self, element: HtmlElement, name: str, value: str) -> None:
        if value.startswith(("{", "[")):
            values = values_in_json(value)
            if values is not None:
                self._add(element, _data_among(name, values))
                return
        self._add(element, _data_of(name, value))

    def _add(self, element: HtmlElement, data: Sequence[_Datum]) -> None:
        room = max(0, MAX_VALUES - self._values_read)
        self._values_read += len(data)
        places = self._places.of(element)
        for what, value, datum in data[:room]:
            if datum is None:
                self._add_address(self._mentioned, element, what, value)
            else:
                self._data[places[what]].add(datum)
                if self._told is not None:
                    self._told[datum] = f"{what}: {value}"
        for what, value, datum in data[room:]:
            self._add_rest(hash_feature(f"{what}\0{value}") if datum is None else datum)

    def _add_rest(self, value: int) -> None:
        # The sum: two equal values must not cancel each other.
        self._rest = (self._rest + value) % (1 << 64)

    def _add_address(
        self, kind: dict[int, dict[str, None]], element: HtmlElement, what: str, written: str
    ) -> None:
        written = written.strip()
        if written.startswith("data:"):  # a picture within the page
            self._add(element, _data_of(what, written))
            return
        written = written.partition("#")[0].rstrip()
        if not written or len(written) > MAX_ADDRESS:
            return
        address = self._whole.get(written, "")
        if address == "":
            address = self._whole[written] = self._address(written)
        if address is not None:
            kind[self._places.of(element)[what]][address] = None

    def _address(self, href: str) -> str | None:
        """Return a whole address; None if it is not one of http or https."""
        # Joining takes 3 us a link, half of the time of all; of these, it would refuse none.
        if _is_plain(href):
            if href.startswith(("http://", "https://")):
                return href
            if href.startswith("/") and not href.startswith("//"):
                return self._origin + href
            if ":" not in href and (href[0].isalnum() or href.startswith("../")):
                return self._in_folder(href)
        joined = self._scheme + href if _is_of_host(href) else _joined(self._url, href)
        return joined if joined and joined.startswith(("http://", "https://")) else None

    def _in_folder(self, href: str) -> str:
        """Return the address of what is named from the page's own folder, or one above it."""
        up = 0
        while href.startswith("../", 3 * up):
            up += 1
        folders = self._folders[: max(0, len(self._folders) - up)]
        return "/".join((self._origin, *folders, href[3 * up :]))


def _within(element: HtmlElement, around: _Around) -> _Around:
    if element.tag not in BLOCK_ELEMENTS or around.is_beside:
        return around
    in_content = around.in_content or element.tag in CONTENT_ELEMENTS
    return _Around(is_beside(element, in_content), in_content)


def _data_of(what: str, value: str) -> Sequence[_Datum]:
    value = value.strip()
    if not value:
        return ()
    if value.startswith(("http://", "https://", "/")) and " " not in value:
        return ((what, value, None),)
    # Where it stands does not count: a print view has it elsewhere.
    return ((what, value, hash_feature(f"{what}\0{value}")),)


def _data_among(what: str, values: Iterable[Value]) -> Sequence[_Datum]:
    found: list[_Datum] = []
    for names, text in values:
        found += _data_of(" ".join((what, *names)), text)
    return found


def _data_in_code(what: str, code: str) -> Sequence[_Datum]:
    """Return the data in code, each once; that of a script on many pages is looked up."""
    if len(code) > MAX_REMEMBERED:
        return _data_among(what, values_in_code(code))
    return _remembered(what, code)


@lru_cache(REMEMBERED_SCRIPTS)
def _remembered(what: str, code: str) -> Sequence[_Datum]:
    return tuple(dict.fromkeys(_data_among(what, values_in_code(code))))


def _together(values: set[int]) -> tuple[int, ...]:
    """Return the values of one place, or one that stands for all of many."""
    return tuple(values) if len(values) <= MAX_IN_PLACE else (reduce(xor, values),)


def _sources(name: str, value: str) -> Iterable[str]:
    """Return the addresses in an attribute that names media."""
    if name == "style":
        return _STYLE_ADDRESS.findall(value) if "url(" in value else ()
    if name != "srcset":
        return (value,)
    if "data:" in value:  # such an address has commas of its own
        return (value,)
    # Each comes before its width or density, and a comma.
    return [candidate.strip().partition(" ")[0] for candidate in value.split(",")]


@lru_cache(KNOWN_NAMES)
def _kind_of(tag: str, name: str) -> _Kind | None:
    """Return what an attribute holds, None if it is nothing of interest."""
    if name == _LINKS.get(tag):
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


# Characters of an address that mean nothing but themselves, and dots above it at the start.
_is_plain = re.compile(r"(?:\.\./)*(?!\.|.*/\.)[A-Za-z0-9/_~%&=+:,;@!$*()?.-]+").fullmatch
# A plain address without a scheme, with nothing in it that is empty.
_is_of_host = re.compile(r"//[A-Za-z0-9][A-Za-z0-9/_~%&=+:,@!$*()?.-]*(?<!\?)").fullmatch


def _joined(url: str, href: str) -> str | None:
    try:
        return urljoin(url, href)
    except ValueError:  # no address at all
        return None
