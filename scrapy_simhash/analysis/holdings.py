"""What a spider could take from a page beside its text: links, media, data, and what names it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from itertools import chain
from operator import xor
from urllib.parse import urljoin, urlsplit

from lxml.html import HtmlElement

from scrapy_simhash.analysis.attributes import IDENTIFIERS, LINKS, identifiers_in
from scrapy_simhash.analysis.content import MAX_ADDRESS
from scrapy_simhash.analysis.embedded import Value, values_in_code, values_in_json
from scrapy_simhash.analysis.fingerprint import hash_feature
from scrapy_simhash.analysis.places import Places
from scrapy_simhash.analysis.reading import MAX_IDENTIFIER, Block, Finding
from scrapy_simhash.rule.hashes import hash_of
from scrapy_simhash.rule.identity import identity_of

# A page with more addresses is not compared by them.
MAX_ADDRESSES = 10_000
# Values beyond these limits count as one, so that a hostile page costs no more than others.
MAX_VALUES = 5_000
MAX_SCRIPT_CHARACTERS = 1 << 20
# More values in one place count as one: all of them together.
MAX_IN_PLACE = 16
# Scripts that are remembered, and their longest, in characters: a few megabytes.
REMEMBERED_SCRIPTS = 64
MAX_REMEMBERED = 100_000

# The name of the text that only looks as if it were beside the content, and its place.
TEXT_NAMED_BESIDE = "text named beside the content"
PLACE_NAMED_BESIDE = hash_of(TEXT_NAMED_BESIDE)

_STYLE_ADDRESS = re.compile(r"""url\(\s*["']?([^"')]+)""")

Addresses = Mapping[int, tuple[str, ...]]


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
    blocks: Iterable[Block],
    findings: Iterable[Finding],
    url: str,
    names: Iterable[tuple[str, str]] = (),
    told: dict[int, str] | None = None,
) -> Holdings:
    """Return what a page at *url* holds, by the *blocks* and *findings* of its *tree*.

    *told* gets the names and value behind each hash of data.  *names* are further names of the
    page, each with the rule that found it.
    """
    base = tree.find(".//base")
    if base is not None and base.get("href"):
        url = _joined(url, base.get("href")) or url
    reader = _Reader(url, told)
    for rule, name in names:
        reader.note_name(rule, name)
    for finding in findings:
        reader.read(finding)
    reader.note_text(blocks)
    return reader.holdings()


# The names of a value, the value, and the hash of both; None if the value is an address.
_Datum = tuple[str, str, "int | None"]


class _Reader:
    """Reads what the elements of one page hold."""

    def __init__(self, url: str, told: dict[int, str] | None) -> None:
        self._url = url
        self._told = told
        parts = urlsplit(url)
        self._scheme = f"{parts.scheme}:"
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._folders = parts.path.split("/")[1:-1]
        self._places = Places()
        self._whole: dict[str, str | None] = {}  # many links differ in the fragment only
        self._links: dict[int, dict[str, None]] = defaultdict(dict)
        self._media: dict[int, dict[str, None]] = defaultdict(dict)
        self._mentioned: dict[int, dict[str, None]] = defaultdict(dict)
        self._data: dict[int, set[int]] = defaultdict(set)
        self._identifiers: set[int] = set()
        self._values_read = self._characters_read = self._rest = 0

    def read(self, finding: Finding) -> None:
        """Take note of what an element holds."""
        kind, tag, name, value, aside, _, is_beside = finding
        if kind == "link":
            if _is_followed(finding):
                self._add_address(self._links, finding, name, value)
        elif kind == "media":
            for one in _sources(name, value):
                self._add_address(self._media, finding, name, one)
        elif kind == "field":
            if name != "title" or tag not in LINKS or not is_beside:
                self._add(finding, _data_of(f"{name} {aside}", value))
            # else it says where the link leads
        elif kind == "property":
            if aside is not None:
                self._add(finding, _data_of(f"content {value}", aside))
        elif kind == "identifier":
            for one in identifiers_in(value):
                self._note_identifier(one, aside or "")
        elif kind == "data":
            self._read_data(finding)
        elif kind == "code":
            self._add(finding, _data_in_code(name, value))
        else:
            self._read_script(finding)

    def note_name(self, rule: str, name: str) -> None:
        """Take note of what names the page, under a rule or as an identifier."""
        name = " ".join(name.split())
        if name:
            self._identifiers.add(hash_of(f"{rule}\0{name}"))

    def note_text(self, blocks: Iterable[Block]) -> None:
        """Take note of the text in the content that is named as if it were beside it, if long.

        A restaurant's dishes may be in a ``menu``.  That is no text of the page: it may as well be
        an advertisement.  As data, it counts until it is known to change by itself.
        """
        in_place, beside = 0, []
        for block in blocks:
            if block.is_links:
                continue
            if not block.is_beside:
                in_place += len(block.text)
            elif block.is_in_content:
                beside.append(block.text)
        if sum(map(len, beside)) > in_place:
            text = " ".join(beside)
            datum = hash_feature(f"{TEXT_NAMED_BESIDE}\0{text}")
            self._data[PLACE_NAMED_BESIDE].add(datum)
            if self._told is not None:
                self._told[datum] = f"{TEXT_NAMED_BESIDE}: {text}"

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

    def _read_script(self, finding: Finding) -> None:
        text = finding.value
        self._characters_read += len(text)
        if self._characters_read > MAX_SCRIPT_CHARACTERS:
            self._add_rest(hash_feature(text))
            return
        kind = (finding.aside or "").strip().lower()
        values = values_in_json(text) if "json" in kind else None
        if values is None:
            self._add(finding, _data_in_code(kind, text))
        elif kind == "application/ld+json":
            self._add(finding, _data_among(kind, self._noting_identifiers(values)))
        else:
            self._add(finding, _data_among(kind, values))

    def _noting_identifiers(self, values: Iterable[Value]) -> Iterator[Value]:
        for one in values:
            names = [name.rpartition(":")[2].lower() for name in one[0][-2:]]
            # An identifier may be a PropertyValue, which has the value in "value".
            if names and names[-1] in ("value", "@value"):
                names.pop()
            if names:
                self._note_identifier(names[-1], one[1])
            yield one

    def _note_identifier(self, name: str, value: str) -> None:
        if name in IDENTIFIERS and len(value) <= MAX_IDENTIFIER:
            self.note_name(name, value)

    def _read_data(self, finding: Finding) -> None:
        name, value = finding.name, finding.value
        if value.startswith(("{", "[")):
            values = values_in_json(value)
            if values is not None:
                self._add(finding, _data_among(name, values))
                return
        self._add(finding, _data_of(name, value))

    def _add(self, finding: Finding, data: Sequence[_Datum]) -> None:
        room = max(0, MAX_VALUES - self._values_read)
        self._values_read += len(data)
        places = self._places.of(finding.around, finding.tag)
        for what, value, datum in data[:room]:
            if datum is None:
                self._add_address(self._mentioned, finding, what, value)
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
        self, kind: dict[int, dict[str, None]], finding: Finding, what: str, written: str
    ) -> None:
        written = written.strip()
        if written.startswith("data:"):  # a picture within the page
            self._add(finding, _data_of(what, written))
            return
        written = written.partition("#")[0].rstrip()
        if not written or len(written) > MAX_ADDRESS:
            return
        address = self._whole.get(written, "")
        if address == "":
            address = self._whole[written] = self._address(written)
        if address is not None:
            kind[self._places.of(finding.around, finding.tag)[what]][address] = None

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


def _is_followed(finding: Finding) -> bool:
    """Whether an address counts as one to follow."""
    words = (finding.aside or "").lower().split()
    if finding.tag == "link":
        return "next" in words
    # "Show the source", "share this"
    return "nofollow" not in words or not finding.is_beside


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


# Characters of an address that mean nothing but themselves, and dots above it at the start.
_is_plain = re.compile(r"(?:\.\./)*(?!\.|.*/\.)[A-Za-z0-9/_~%&=+:,;@!$*()?.-]+").fullmatch
# A plain address without a scheme, with nothing in it that is empty.
_is_of_host = re.compile(r"//[A-Za-z0-9][A-Za-z0-9/_~%&=+:,@!$*()?.-]*(?<!\?)").fullmatch


def _joined(url: str, href: str) -> str | None:
    try:
        return urljoin(url, href)
    except ValueError:  # no address at all
        return None
