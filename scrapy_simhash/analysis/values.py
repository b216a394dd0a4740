# cython: annotation_typing=False, boundscheck=False, initializedcheck=False, binding=False
"""Everything on a page as values: texts, elements with their attributes, literals, addresses.

No list says which elements or attributes count: all do, except those of :data:`NEVER`.  A *run* is
a text with the inline elements in it, between two block-level elements.  A run or an element with
under :data:`SMALL_BYTES` of text is *small*: one value with all that is in it, such as a badge, a
cell or the row of a table.  Whatever is missing in it, or in another order, makes another value.
In any other element, the values follow each other::

    <div class="offer">          the element with its attributes
      <h2>Bench</h2>             small                      a heading begins a chain
      <p>39 EUR</p>              small                      the price below this heading
      <p>A bench of ...</p>      long: H(text, True, True)  counts wherever it stands, with whether
                                 H(h2, p, text)             something small is before or behind it
      <p>sold out</p>            small
    </div>                       H(text, p, end)            the chain to the end: nothing is missing

A *chain* of small children is one value: a page that has another price below this heading, or none,
has another one.  What a section repeats is known of each child by itself.  Items of a list and rows
of a table are in no chain: a list in another order holds the same, one with fewer items does not.
The literals of a script are chained with the three before each.

Addresses are values of their own, each with the element that it is in, since two addresses may lead
to one page (:mod:`scrapy_simhash.decision.rewriting`).  Where a value names its own page, the name
is left out.  Beside the content (navigation and the like) a link is no value: the menu of another
page marks another entry.  Nor are the links in a head that lead on.  The spider must know where
they lead: that is for the crawl to say.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import TypeAlias
from urllib.parse import quote, urljoin, urlsplit

from lxml.html import HtmlElement

from scrapy_simhash.analysis.reading import (
    BESIDE_ELEMENTS,
    BESIDE_ROLES,
    BLOCK_ELEMENTS,
    CONTENT_ELEMENTS,
    LINK_RELATIONS,
    MAX_ADDRESS,
    MAX_REMEMBERED,
    WHOLE_PAGE,
    Event,
    literals,
    without_digits,
)
from scrapy_simhash.decision.holdings import ANYWHERE, BESIDE, PLACE, PageAddress, PageValues, Told
from scrapy_simhash.decision.noise import NO_CUTS, Atom, Cuts, stripped
from scrapy_simhash.decision.rewriting import ESCAPED_AND, own_address
from scrapy_simhash.hashes import address_id, long_hash_of, mix

# A text with under ten words, about: longer ones say what they are about.
SMALL_BYTES = 60
# A page with more addresses is not compared.
MAX_ADDRESSES = 10_000
# So many of the named elements around one tell where it is: a rotating box has a name of its own.
NAMED_AROUND = 3
# Literals beyond these count as one, so that a hostile page costs no more than others.
MAX_LITERALS = 20_000
# The literals of a script are at most this many values.
MOST_OF_SCRIPT = 64
MAX_SCRIPT_CHARACTERS = 1 << 20
# Of the long texts of an element, so many are told apart by their rank, from both ends.
MOST_RANKS = 3
# What is told of a value, in characters, and of how many values.
MAX_TOLD = 100
MOST_TOLD = 600

# Attributes that name an element for other elements of its page, or change without a meaning;
# docs/values.md has the reasons.
NEVER = frozenset(
    {
        *("aria-controls", "aria-describedby", "aria-labelledby", "aria-owns", "for", "headers"),
        *("id", "integrity", "nonce"),
    }
)
# Attributes of an element that tell which one it is, for its place and those in it; for its own.
_NAMES = ("class", "id", "role")
_NAMING = ("name", "property", "itemprop", "rel", "http-equiv")
_ADDRESSES = frozenset(
    {
        *("action", "background", "cite", "data", "formaction", "href", "longdesc", "manifest"),
        *("ping", "poster", "src", "srcset", "imagesrcset"),
    }
)
_LISTS = frozenset({"srcset", "imagesrcset", "ping"})
_SHOWN = frozenset({"src", "srcset", "imagesrcset", "poster", "data", "background"})
# What a link in a head leads to: to another page, to a part of this one, to this one.
_RELATIONS = (
    ("link", LINK_RELATIONS),
    (
        "media",
        frozenset({"icon", "manifest", "modulepreload", "prefetch", "preload", "stylesheet"}),
    ),
    ("name", frozenset({"canonical"})),
)
_LINKING = frozenset({"a", "area", "link"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_FREE = frozenset({"article", "li", "option", "tr"})
_LOADING = frozenset({"link", "script", "style"})  # no fields, but what a page needs
_APART = frozenset({"head", "html"})  # what they hold has no order

_STYLE_ADDRESS = re.compile(r"""url\(\s*["']?([^"')]+)""")

# Characters of an address that mean nothing but themselves; no dots that lead to another folder.
_is_plain = re.compile(
    r"(?!//|[?]|.*(?<![^/])\.\.?(?:/|$))[A-Za-z0-9/_~%&=+:,;@!$*()?.-]+"
).fullmatch

MASK = (1 << 64) - 1
# A place has 48 bits where what changes is looked up, 16 in a value.
_WIDE = (1 << 48) - 1
_END = 0x9E3779B97F4A7C15

# Short elements that have no address, and do not name their page, are remembered with what they
# are: at most 30 MB.
KNOWN_ELEMENTS = 20_000
_known: dict[tuple[str, tuple[str, ...]], tuple[str, str, bool, str, int]] = {}
# The attribute of an input that says its value, if that is not "value".
_REPEATING = {"checkbox": "checked", "radio": "checked"}
_CONTROLS = frozenset({"form", "input", "option", "select"})

# A kind, an address, and the element that has it.
Led: TypeAlias = "tuple[str, str, Frame]"
# A small child of an element: its value, tag, place and what is shown of it; where it leads.
Unit: TypeAlias = "tuple[int, str, int, Shown, list[Led]]"
# What is shown of a value: a text, or those of its parts.
Shown: TypeAlias = "str | list[Shown]"
State = tuple[bytes, ...]
# Of each value itself, and the number of its chain; of each chain its id, and its base; of each
# long text its number, itself, its place, and whether something small is before it (1) or behind
# it (2); the chains of what is small.
_CODES = "QiQiiQQbi"
NO_STATE: State = (b"",) * len(_CODES)


def read_values(events: Iterable[Event], url: str, base: str, cuts: Cuts = NO_CUTS) -> Reader:
    """Read the values of the page at *url*, whose links are relative to *base*.

    *cuts* say what changes by itself there.  Cost: O(events and their characters).
    """
    reader = Reader(url, base, cuts)
    reader.read(events)
    return reader


def atoms_of(events: Iterable[Event], url: str, base: str) -> dict[int, list[Atom]]:
    """Return the texts of a page from which what changes by itself is learned, by their places."""
    reader = Reader(url, base)
    reader.atoms = {}
    reader.read(events)
    return reader.atoms


def links_of(events: Iterable[Event], base: str, cuts: Cuts = NO_CUTS) -> PageValues:
    """Return the links of a page alone, without the parameters that change by themselves."""
    reader = Reader(base, base)
    found = {}
    for event in events:
        if not isinstance(event, tuple) or event[0] not in _LINKING:
            continue
        held = dict(zip(event[1][::2], event[1][1::2], strict=True))
        if event[0] == "link" and "next" not in held.get("rel", "").lower().split():
            continue
        address = stripped(reader.address(held.get("href", "").strip()), cuts.parameters)
        if address:
            found[address] = PageAddress("link", 0, 0, address, True, 0)
    if len(found) > MAX_ADDRESSES:
        return PageValues(is_whole=False)
    return PageValues(addresses=tuple(found.values()))


def base_of(tree: HtmlElement, url: str) -> str:
    """Return what the links of the page at *url* are relative to."""
    base = tree.find(".//base")
    try:
        return urljoin(url, base.get("href") or "") if base is not None else url
    except ValueError:  # no address at all
        return url


def values_under(state: State, template: Container[int]) -> PageValues:
    """Return the values of a page under a template, from what :meth:`Reader.state` returned.

    They are not told, and have no addresses.
    """
    found = PageValues()
    _sort_out([array(*one) for one in zip(_CODES, state, strict=True)], template, found)
    return found


def _sort_out(held: list[array[int]], template: Container[int], found: PageValues) -> bytearray:
    """Tell the values of a page's own from what its section repeats; return which are its own."""
    loose, chain_of, ids, bases = held[:4]
    is_own = bytearray(one not in template for one in loose)
    # A chain is the page's own if one in it is, and chained if it begins after one that is.
    kinds = bytearray(2 if base >= 0 and is_own[base] else 0 for base in bases)
    for number, chain in enumerate(chain_of):
        if is_own[number]:
            kinds[chain] = 1
    for number, chain in enumerate(chain_of):
        kind = kinds[chain]
        if kind == 1 and not is_own[number]:
            continue
        value = ids[chain] & ~PLACE | loose[number] & PLACE
        if kind == 1:
            found.own.append(value)
            found.own_loose.append(loose[number])
        elif kind == 2:
            found.chained.append(value)
        else:
            found.repeated.append(value)
    _note_shapes(held, template, found, is_own, kinds)
    return is_own


def _note_shapes(
    held: list[array[int]],
    template: Container[int],
    found: PageValues,
    is_own: bytearray,
    kinds: bytearray,
) -> None:
    """Note what pages of this section hold less around what they show than others."""
    loose, chain_of, ids, bases, longs, texts, places, around, smalls = held
    shapes: set[int] = set()
    first, count = dict.fromkeys(places, 0), Counter(places)
    for number, text, place, flags in zip(longs, texts, places, around, strict=True):
        ranks = first[place], count[place] - first[place] - 1
        first[place] += 1
        sides = []  # what there may be before it, and behind it
        for side in (0, 1):
            there = flags >> side & 1
            shape = mix(mix(place, side), min(ranks[side], MOST_RANKS)) & ~PLACE | ANYWHERE
            if not there:
                shapes.add(shape)
            sides.append((0, 1) if not there and shape in template else (there,))
        if is_own[number] and sides != [(flags & 1,), (flags >> 1,)]:
            found.shaped[ids[chain_of[number]] & ~PLACE | ANYWHERE] = tuple(
                mix(mix(text, before), behind) >> 32 for before, behind in product(*sides)
            )
    shape_of = dict.fromkeys(smalls, 0)
    bare = {
        chain: loose[bases[chain]] if bases[chain] >= 0 and is_own[bases[chain]] else 0
        for chain in smalls
    }
    for number, chain in enumerate(chain_of):
        if chain in shape_of:
            place = loose[number] & PLACE
            shape_of[chain] = mix(shape_of[chain], place) & ~PLACE | ANYWHERE
            if is_own[number] and place != ANYWHERE:
                bare[chain] = mix(bare[chain], loose[number])
    shapes.update(shape_of.values())
    found.shapes.extend(shapes)
    found.bare.extend(bare[chain] for chain in smalls if kinds[chain] == 1)
    for number, chain in enumerate(chain_of):
        if is_own[number] and shape_of.get(chain) in template:
            value = ids[chain] & ~PLACE | loose[number] & PLACE
            found.shaped[value] = (bare[chain] >> 32,)


class Frame:
    """An open element."""

    def __init__(self, tag: str, parent: Frame | None) -> None:
        self.tag = tag
        self.is_block = tag in BLOCK_ELEMENTS
        self.around: tuple[str, ...] = ()
        # Where it is, with its own names: what changes there; and without: what may stand there.
        self.place = self.outer = 0
        self.attributes = 0  # their hash, 0 if there are none
        self.shown = ""
        self.kind = "link"  # of what its href leads to
        self.size = 0  # bytes of text
        self.is_big = False
        self.is_beside = self.is_content = self.is_link = self.is_get = self.is_apart = False
        self.names_page = False
        self.is_noise = False
        self.boxes: tuple[int, ...] = ()  # the places of the elements around, and its own
        self.control = ""
        self.run = self.run_size = 0
        self.pieces: list[Shown] = []  # of the run, as they are shown
        # The chain so far, its number if it has one yet, and the last value in it by itself; what
        # it begins after, and the first value of all, by their numbers.
        self.chain = self.last = self.first = 0
        self.chain_number = self.base = self.first_number = -1
        # The number and hash of the long text, or big child, that is the last child so far.
        self.long_number = self.long_at = -1
        self.long = 0
        self.items = 0  # the sum of what has no order
        # Of small children, while the element is small itself.
        self.units: list[Unit] = []
        # What its attributes lead to, and what is in the run.
        self.addresses: list[Led] = []
        self.run_addresses: list[Led] = []
        if parent is not None:
            self._inherit(parent)

    def _inherit(self, parent: Frame) -> None:
        self.around = parent.around
        self.is_beside = parent.is_beside
        self.is_content = parent.is_content
        self.is_get = parent.is_get
        self.is_link = parent.is_link
        self.is_noise = parent.is_noise
        self.boxes = parent.boxes
        self.control = parent.control


class Reader:
    """Reads the events of one page."""

    def __init__(self, url: str, base: str, cuts: Cuts = NO_CUTS) -> None:
        self._cuts = cuts if cuts else None
        self.atoms: dict[int, list[Atom]] | None = None
        self._base = base
        parts = urlsplit(base)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._folder = f"{self._origin}{parts.path.rpartition('/')[0]}/"
        self._own = own_address(url)
        query = urlsplit(url).query
        self._parameters = frozenset(query.split("&")) if query else frozenset()
        self._held = [array(code) for code in _CODES]
        self._loose, self._chain_of, self._ids, self._bases = self._held[:4]
        self._longs, self._texts, self._text_places, self._around, self._smalls = self._held[4:]
        self._counts: dict[int, int] = {}
        self._addresses: list[PageAddress] = []
        self._shown: list[tuple[str, tuple[str, ...], str, Shown]] = []
        self._whole: dict[str, str] = {}
        self._places: dict[tuple[tuple[str, ...], str], int] = {}
        self._wide: dict[tuple[int, str, str], int] = {}
        self._characters = self._literals = 0
        self._is_watching = False

    def read(self, events: Iterable[Event]) -> None:
        """Read the events of a page, in order."""
        self._is_watching = self._cuts is not None or self.atoms is not None
        root = Frame("", None)
        root.is_big = root.is_apart = True
        open_: list[Frame] = [root]
        frame = root
        pieces: list[str] = []
        for event in events:
            if isinstance(event, str):
                pieces.append(event)  # a comment may have been between two
                continue
            if pieces:
                self._say(frame, pieces[0] if len(pieces) == 1 else "".join(pieces))
                pieces.clear()
            if event is None:
                open_.pop()
                parent = open_[len(open_) - 1]
                self._close(frame, parent)
                frame = parent
                continue
            frame = self._begin(frame, event)
            open_.append(frame)

    def _begin(self, frame: Frame, event: tuple[str, tuple[str, ...]]) -> Frame:
        child = Frame(event[0], frame)
        if child.is_block:
            self._end_run(frame)
        self._open(child, event)
        return child

    def values(self, template: Container[int], tell_all: bool = False) -> PageValues:
        """Return what was read, under a template; *tell_all* says what each value is."""
        if len(self._addresses) > MAX_ADDRESSES:
            return PageValues(is_whole=False)
        told: dict[int, Told] = {}
        found = PageValues(loose=self._loose, addresses=tuple(self._addresses), told=told)
        is_own = _sort_out(self._held, template, found)
        if all(one[0] == "end" for one, own in zip(self._shown, is_own, strict=True) if own):
            found = replace(found, is_shell=True)
        if tell_all or len(found.own) <= MOST_TOLD:
            for number, (kind, around, tag, text) in enumerate(self._shown):
                if kind == "end" or not (tell_all or is_own[number]):
                    continue
                value = self._ids[self._chain_of[number]] & ~PLACE | self._loose[number] & PLACE
                place = " ".join((*around[-1:], tag)) if tag else ""
                shown = _text_of(text)
                if value in told:  # of one chain
                    shown = f"{told[value].text}, {shown}"[:MAX_TOLD]
                told[value] = Told(kind, place[:MAX_TOLD], shown)
        return found

    def state(self) -> State:
        """Return what the values under another template can be told from."""
        return tuple(one.tobytes() for one in self._held)

    def _open(self, frame: Frame, event: tuple[str, tuple[str, ...]]) -> None:
        tag = frame.tag
        frame.is_apart = tag in _APART
        if tag in CONTENT_ELEMENTS:
            frame.is_content = True
        elif tag in BESIDE_ELEMENTS and (tag == "nav" or not frame.is_content):
            frame.is_beside = True
        if tag == "form":
            frame.is_get = True
        if not event[1]:
            frame.place = frame.outer = self._place_of(frame.around, tag)
            self._watch(frame)
            return
        known = None if self._is_watching else _known.get(event)
        if known is not None:
            names, called, is_beside, frame.shown, frame.attributes = known
        else:
            held = dict(zip(event[1][::2], event[1][1::2], strict=True))
            names, called, is_beside = self._element(frame, held)
        frame.outer = self._place_of(frame.around, called)
        if names:
            frame.around = (*frame.around, names)[-NAMED_AROUND:]
        frame.is_beside = frame.is_beside or is_beside
        frame.place = self._place_of(frame.around, called)
        if known is not None:
            return
        self._watch(frame)
        self._read_attributes(frame, held)
        is_plain = not frame.addresses and not frame.names_page and not frame.is_link
        is_short = sum(map(len, event[1])) <= MAX_REMEMBERED
        if is_plain and is_short and not self._is_watching and tag not in _CONTROLS:
            if len(_known) >= KNOWN_ELEMENTS:
                _known.clear()
            _known[event] = names, called, is_beside, frame.shown, frame.attributes

    def _watch(self, frame: Frame) -> None:
        """Take note of an element where something changes by itself: it may be all of it."""
        if self.atoms is not None:
            frame.boxes = (*frame.boxes, self._wide_place(frame, "box", ""))
        elif self._cuts is not None and not frame.is_noise:
            frame.is_noise = self._cuts.has_box(self._wide_place(frame, "box", ""))

    def _element(self, frame: Frame, held: dict[str, str]) -> tuple[str, str, bool]:
        """Return what names an element, what its place is called, and if it is beside by role."""
        tag = called = frame.tag
        names = ""
        if tag not in WHOLE_PAGE:
            names = " ".join(held[name] for name in _NAMES if name in held)
            if names and (names := without_digits(names)):
                names = f"{tag} {names}"
        for name in _NAMING:
            if name in held:
                called = f"{tag} {held[name][:MAX_TOLD]}"
                break
        if tag == "form":
            frame.is_get = held.get("method", "get").lower() == "get"
        elif tag == "link":
            rel = set(held.get("rel", "").lower().split())
            frame.kind = next((kind for kind, words in _RELATIONS if words & rel), "data")
        elif tag == "select":
            frame.control = held.get("name", "")
        return names, called, held.get("role") in BESIDE_ROLES

    def _read_attributes(self, frame: Frame, held: dict[str, str]) -> None:
        tag = frame.tag
        if frame.is_get and self._is_own_field(frame, held):
            return
        seen = []
        for name, value in held.items():
            if name in NEVER or (name == "name" and tag == "a"):
                continue
            value = self._attribute(frame, held, name, value.strip())
            if value:
                seen.append(f"{name}={value}" if value != "\0none" else name)
        if seen:
            if len(seen) > 1:
                seen.sort()
            frame.shown = f"<{tag} {' '.join(seen)}>"
            frame.attributes = long_hash_of(frame.shown)

    def _attribute(self, frame: Frame, held: dict[str, str], name: str, value: str) -> str:
        """Return what counts of an attribute, empty for nothing; take note of its addresses."""
        tag = frame.tag
        if not value:
            return "\0none"
        if frame.is_get and self._is_own_control(frame, held, name):
            return ""
        if name in _LISTS and "data:" not in value:
            for one in value.replace(",", " , ").split(" , ") if name != "ping" else value.split():
                if one := one.split(None, 1)[0] if one.strip() else "":
                    self._take_address(frame, name, one)
            return "\0address"
        if name in _ADDRESSES or value.startswith(("http://", "https://", "/")):
            if value.startswith("#"):
                is_route = value.startswith(("#/", "#!"))
                if name == "href" and tag in _LINKING and not is_route and len(value) > 1:
                    return "\0fragment"
            elif " " not in value and self._take_address(frame, name, value):
                if name == "href" and tag in ("a", "area"):
                    frame.is_link = True
                elif name == "href" and tag == "link":
                    frame.is_link = frame.kind == "link"
                return "\0address"
        elif "url(" in value and name == "style":
            for one in _STYLE_ADDRESS.findall(value):
                self._take_address(frame, name, one)
        own = self._own.out_of(value)
        if own != value:
            frame.names_page = True
        return self._cut(frame, "value", name, own) if self._is_watching else own

    def _is_own_field(self, frame: Frame, held: dict[str, str]) -> bool:
        """Whether an element is a hidden field that repeats a parameter of the page's address.

        A page whose address has no such parameter has no such field.  A session is a parameter of
        each address that a form leads to.
        """
        if frame.tag != "input" or held.get("type", "").lower() != "hidden":
            return False
        is_session = self._cuts is not None and held.get("name", "") in self._cuts.parameters
        return is_session or self._is_own_control(frame, held, "value")

    def _is_own_control(self, frame: Frame, held: dict[str, str], name: str) -> bool:
        """Whether a control of a form repeats a parameter of the page's address."""
        if not self._parameters:
            return False
        if frame.tag == "input" and name == _REPEATING.get(held.get("type", ""), "value"):
            control = held.get("name", "")
        elif frame.tag == "option" and name == "selected":
            control = frame.control
        else:
            return False
        value = held.get("value", "")
        return f"{quote(control, safe='')}={quote(value, safe='')}" in self._parameters

    def _cut(self, frame: Frame, kind: str, what: str, value: str) -> str:
        """Return what a value keeps of itself where something changes by itself."""
        wide = self._wide_place(frame, kind, what)
        if self.atoms is not None:
            # The names of an element are those of its place.
            boxes = () if what in _NAMES else frame.boxes
            self.atoms.setdefault(wide, []).append(Atom(kind, value, frame.is_beside, boxes))
        elif self._cuts is not None:
            if kind == "address":
                return self._cuts.address(wide, value)
            return self._cuts.text(wide, value)
        return value

    def _wide_place(self, frame: Frame, kind: str, what: str) -> int:
        key = frame.place, kind, what
        wide = self._wide.get(key)
        if wide is None:
            wide = self._wide[key] = mix(frame.place, long_hash_of(f"{kind} {what}"))
        return wide

    def _take_address(self, frame: Frame, name: str, written: str) -> bool:
        address = self.address(written)
        if not address:
            return False
        if self._is_watching:
            address = self._cut(frame, "address", name, address)
        if address:
            kind = frame.kind if name == "href" else "media" if name in _SHOWN else "data"
            frame.addresses.append((kind, address, frame))
        return True

    def address(self, written: str) -> str:
        """Return a whole address; empty if it is not one of http or https."""
        if "#/" not in written and "#!" not in written:
            written = written.partition("#")[0].rstrip()
        if not written or len(written) > MAX_ADDRESS:
            return ""
        address = self._whole.get(written)
        if address is None:
            address = self._whole[written] = self._joined(written)
        return address

    def _joined(self, written: str) -> str:
        # Joining takes 10 us, half of the time of a page of links; of these, it would refuse none.
        if _is_plain(written):
            if written.startswith(("http://", "https://")):
                return written
            if written.startswith("/"):
                return self._origin + written
            if ":" not in written:
                return self._folder + written
        try:
            address = urljoin(self._base, written)
        except ValueError:  # no address at all
            return ""
        return address if address.startswith(("http://", "https://")) else ""

    def _place_of(self, around: tuple[str, ...], tag: str) -> int:
        place = self._places.get((around, tag))
        if place is None:
            place = self._places[around, tag] = long_hash_of("\0".join((*around, tag))) & _WIDE | 2
        return place

    def _say(self, frame: Frame, text: str) -> None:
        tag = frame.tag
        if tag == "script" and not frame.is_noise:
            self._read_code(frame, text)
            return
        if tag == "style":
            for one in _STYLE_ADDRESS.findall(text) if "url(" in text else ():
                self._take_address(frame, "src", one)
            return
        if text.isspace() or frame.is_noise or (frame.is_link and frame.is_beside):
            return
        text = " ".join(text.split())
        text = self._own.out_of(text)
        if self._is_watching:
            text = self._cut(frame, "text", "", text)
            if not text:
                return
        value = long_hash_of(text)
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        frame.run = mix(frame.run, value)
        frame.run_size += size
        frame.pieces.append(text)
        frame.size += size

    def _end_run(self, frame: Frame) -> None:
        """Take what was said since the last block-level element for a child of an element."""
        if frame.run:
            unit = frame.run, "", frame.outer, frame.pieces, frame.run_addresses
            size = frame.run_size
            frame.run = frame.run_size = 0
            frame.pieces, frame.run_addresses = [], []
            if size < SMALL_BYTES:
                self._add(frame, unit)
            else:
                self._grow(frame)
                self._add_long(frame, unit)

    def _close(self, frame: Frame, parent: Frame) -> None:
        if frame.is_noise or (frame.is_link and (frame.is_beside or frame.tag == "link")):
            self._place_addresses(frame.addresses, 0)
            return
        if not frame.is_block and not frame.is_big and not frame.units and not parent.is_apart:
            self._close_inline(frame, parent)
            return
        self._end_run(frame)
        if not frame.is_block:
            self._end_run(parent)
        if frame.size >= SMALL_BYTES or frame.is_beside or frame.is_apart:
            self._grow(frame)
        if frame.is_big:
            self._close_big(frame, parent)
            return
        if not frame.attributes and not frame.units:
            return  # an empty element says nothing
        value = mix(_tag_hash(frame.tag), frame.attributes)
        shown: list[Shown] = [frame.shown] if frame.shown else []
        for unit in frame.units:
            value = mix(value, unit[0])
            shown.append(unit[3])
            frame.addresses += unit[4]
        parent.size += frame.size
        self._add(parent, (value, frame.tag, frame.outer, shown, frame.addresses))

    def _close_inline(self, frame: Frame, parent: Frame) -> None:
        """Take an inline element for a part of the run that it is in."""
        if not frame.attributes and not frame.run:
            self._place_addresses(frame.addresses, 0)
            return
        value = mix(mix(_tag_hash(frame.tag), frame.attributes), frame.run)
        parent.run = mix(parent.run, value)
        parent.run_size += frame.run_size
        parent.size += frame.run_size
        if frame.shown:
            parent.pieces.append(frame.shown)
        parent.pieces += frame.pieces
        parent.run_addresses += frame.addresses
        parent.run_addresses += frame.run_addresses

    def _close_big(self, frame: Frame, parent: Frame) -> None:
        if frame.attributes:
            place = BESIDE if frame.is_beside else frame.outer
            self._emit(frame.attributes, place, "element", frame, frame.shown)
        self._place_addresses(frame.addresses, mix(frame.attributes, frame.first))
        parent.size += frame.size
        if frame.is_beside:
            return
        if not frame.is_apart:
            self._end_long(frame, is_before_small=False)
            self._end_chain(frame, _END, f"... </{frame.tag}>")
        if frame.items:  # a list with fewer items is another one
            self._emit(frame.items, ANYWHERE, "text", frame, f"<{frame.tag}> ...")
        self._grow(parent)
        if not frame.first:  # a list, which has no order
            frame.first = mix(_tag_hash(frame.tag), frame.attributes)
        if not parent.is_apart:
            child = mix(frame.first, frame.attributes != 0)
            self._begin_long(parent, child, f"<{frame.tag}> ...")
        if frame.tag in _FREE:
            parent.items = _sum(parent.items, mix(frame.first, frame.items))
        elif not parent.first:
            parent.first, parent.first_number = frame.first, frame.first_number

    def _add(self, frame: Frame, unit: Unit) -> None:
        """Take note of a small child of an element."""
        if frame.is_big:
            self._add_small(frame, unit)
        else:
            frame.units.append(unit)
            if frame.size >= SMALL_BYTES:
                self._grow(frame)

    def _grow(self, frame: Frame) -> None:
        """Let an element be big from now on: what it holds are values."""
        if frame.is_big:
            return
        frame.is_big = True
        for unit in frame.units:
            self._add_small(frame, unit)
        frame.units = []

    def _add_small(self, frame: Frame, unit: Unit) -> None:
        value, tag, place, shown, addresses = unit
        self._place_addresses(addresses, value)
        if frame.is_beside or frame.is_apart:
            self._emit(value, BESIDE if frame.is_beside else place, "text", frame, shown)
            return
        if tag in _FREE and frame.tag != "ol" and " " in _text_of(shown):
            self._emit(value, place, "text", frame, shown)
            frame.items = _sum(frame.items, value)
            return
        self._end_long(frame, is_before_small=True)
        if tag in _HEADINGS:
            self._end_chain(frame, value, shown)
            frame.chain, frame.base = 0, -1
        number = self._chain(frame, value, place, "text", shown)
        frame.chain, frame.last = mix(frame.chain, value), value
        if not frame.first:
            frame.first, frame.first_number = value, number

    def _add_long(self, frame: Frame, unit: Unit) -> None:
        value, _, _, shown, addresses = unit
        self._place_addresses(addresses, value)
        if frame.is_beside or frame.is_apart:
            place = BESIDE if frame.is_beside else ANYWHERE
            self._emit(value, place, "text", frame, shown)
            return
        self._begin_long(frame, value, shown)
        if not frame.first:
            frame.first, frame.first_number = value, frame.base

    def _begin_long(self, frame: Frame, value: int, shown: Shown) -> None:
        """Take note of a long text, or a big child: whether something small is before it, too."""
        self._end_long(frame, is_before_small=False)
        frame.long = mix(value, frame.chain_number >= 0)
        frame.long_at = len(self._longs)
        self._texts.append(value)
        self._text_places.append(frame.outer)
        self._around.append(frame.chain_number >= 0)
        self._end_chain(frame, value, shown)
        frame.long_number = len(self._ids)
        self._ids.append(0)
        self._bases.append(-1)
        frame.base = self._note(value, ANYWHERE, frame.long_number, "text", frame, shown)
        self._longs.append(frame.base)
        frame.chain = frame.last = value

    def _end_long(self, frame: Frame, is_before_small: bool) -> None:
        """Take note of whether something small is behind a long text, or a big child."""
        if frame.long_number >= 0:
            self._ids[frame.long_number] = self._counted(mix(frame.long, is_before_small))
            if is_before_small:
                self._around[frame.long_at] += 2
            frame.long_number = -1

    def _chain(self, frame: Frame, value: int, place: int, kind: str, shown: Shown) -> int:
        """Take note of one more value in the chain of an element, and return its number."""
        if frame.chain_number < 0:
            frame.chain_number = len(self._ids)
            self._smalls.append(frame.chain_number)
            self._ids.append(0)
            self._bases.append(frame.base)
        return self._note(value, place, frame.chain_number, kind, frame, shown)

    def _end_chain(self, frame: Frame, end: int, shown: Shown) -> None:
        """End the chain of an element, if there is one, by what comes after it."""
        if frame.chain_number >= 0:
            self._chain(frame, mix(frame.last, end), ANYWHERE, "end", shown)
            self._ids[frame.chain_number] = self._counted(mix(frame.chain, end))
            frame.chain_number = -1

    def _counted(self, value: int) -> int:
        """Return a value, or another one if it comes again."""
        times = self._counts.get(value, 0)
        self._counts[value] = times + 1
        return mix(value, times) if times else value

    def _emit(self, value: int, place: int, kind: str, frame: Frame, shown: Shown) -> int:
        """Take note of a value in no chain, and return its number; if it comes again, of another.

        Beside the content, how often it comes does not count.
        """
        if frame.is_beside and value in self._counts:
            return -1
        value = self._counted(value)
        self._ids.append(value)
        self._bases.append(-1)
        return self._note(value, place, len(self._ids) - 1, kind, frame, shown)

    def _note(
        self, value: int, place: int, chain: int, kind: str, frame: Frame, shown: Shown
    ) -> int:
        self._loose.append(value & ~PLACE | place & PLACE)
        self._chain_of.append(chain)
        self._shown.append((kind, frame.around, frame.tag, shown))
        return len(self._loose) - 1

    def _place_addresses(self, found: list[Led], anchor: int) -> None:
        """Take note of where a value leads, in this order."""
        for number, (kind, address, frame) in enumerate(found):
            is_beside = frame.is_link and (frame.is_beside or frame.tag == "link")
            is_beside = is_beside or frame.is_noise
            self._note_address(kind, frame, mix(anchor, number), address, is_beside)

    def _note_address(
        self, kind: str, frame: Frame, anchor: int, address: str, is_beside: bool
    ) -> None:
        place = BESIDE if frame.is_beside else frame.outer
        if frame.tag in _LOADING:
            place = ANYWHERE
        number = address_id(self._own.without(address), anchor, place)
        self._addresses.append(PageAddress(kind, place, anchor, address, is_beside, number))
        if not is_beside and number not in self._counts:
            self._counts[number] = 1
            self._ids.append(number)
            self._bases.append(-1)
            self._note(number, place, len(self._ids) - 1, kind, frame, address)

    def _read_code(self, frame: Frame, code: str) -> None:
        """Take note of the literals of a script, each with the name before it."""
        self._characters += len(code)
        found: list[tuple[str, str]] = []
        if self._characters <= MAX_SCRIPT_CHARACTERS and self._literals <= MAX_LITERALS:
            found = _literals(code)
            self._literals += len(found)
        if not found or self._literals > MAX_LITERALS:
            whole = long_hash_of(code)
            self._emit(whole, frame.place, "data", frame, code[:MAX_TOLD])
            return
        # Of many literals, some together are one value.
        size = 1 + len(found) // MOST_OF_SCRIPT
        before: tuple[int, int, int] = (0, 0, 0)
        base, value, in_value = -1, 0, 0
        shown: list[Shown] = []
        found.append(("", ""))  # the end, by which the last one is told from none
        for number, (name, literal) in enumerate(found, start=1):
            address = ""
            if literal.startswith(("http://", "https://", "/")) and " " not in literal:
                for escaped in ESCAPED_AND:
                    literal = literal.replace(escaped, "&")
                address = self.address(literal)
            if address:
                if self._is_watching:
                    address = self._cut(frame, "address", name, address)
                if address:
                    anchor = mix(long_hash_of(name), before[0])
                    self._note_address("data", frame, anchor, address, False)
            else:
                literal = self._own.out_of(literal)
                if self._is_watching:
                    literal = self._cut(frame, "value", name, literal)
                value = mix(value, long_hash_of(f"{name}\0{literal}"))
                shown.append(f"{name}: {literal}")
                in_value += 1
            if not in_value or (in_value < size and number < len(found)):
                continue
            chained = mix(mix(mix(value, before[0]), before[1]), before[2])
            self._ids.append(self._counted(chained))
            self._bases.append(base)
            base = self._note(value, frame.place, len(self._ids) - 1, "data", frame, shown)
            before = value, before[0], before[1]
            value, in_value, shown = 0, 0, []


def _sum(one: int, other: int) -> int:
    return (one + other) & MASK


def _literals(code: str) -> list[tuple[str, str]]:
    """Return the literals of code without their quotes, each after its name."""
    return [
        (name, text[1:-1].replace("\\/", "/") if text[0] in "\"'" else text)
        for name, text in literals(code)
    ]


def _text_of(shown: Shown) -> str:
    """Return the beginning of what is shown of a value."""
    waiting, text = [shown], ""
    while waiting and len(text) < MAX_TOLD:
        one = waiting.pop()
        if isinstance(one, str):
            text = f"{text} {one}" if text else one
        else:
            waiting += reversed(one)
    return text[:MAX_TOLD].replace("\0", "")


@lru_cache(1_000)
def _tag_hash(tag: str) -> int:
    return long_hash_of(tag)
