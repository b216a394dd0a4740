# cython: annotation_typing=False, boundscheck=False, initializedcheck=False, binding=False
"""Everything on a page as values: texts, elements with their attributes, literals, addresses.

No list says which elements or attributes count: all do, except those of :data:`NEVER`.  A *run* is
a text with the inline elements in it, between two block-level elements.  A run or an element with
under :data:`_SMALL_BYTES` of text is *small*: one value with all that is in it, such as a badge, a
cell or the row of a table.  Whatever is missing in it, or in another order, makes another value.
In any other element, the values follow each other::

    <div class="offer">          the element with its attributes
      <h2>Bench</h2>             small                      a heading begins a chain
      <p>39 EUR</p>              small                      the price below this heading
      <p>A bench of ...</p>      long: H(text, True, True)  counts wherever it stands, with whether
                                 H(h2, p, text)             something small is before or behind it
      <p>sold out</p>            small
    </div>                       H(text, p, end)            the chain to the end: nothing is missing

A *chain* of small children is one value: a page that has another price below this heading, or
none, has another one.  What a section repeats is known of each child by itself, and of chains that
are put together of such.  Items of a list and rows of a table are in no chain: a list in another
order holds the same, one with fewer items does not.  The literals of a script are chained with the
three before each.  Of several elements of one place and depth, each as a whole is a record: a
value, too, if it holds something small, to which the addresses in it belong.  So do those in an
object of a script to that.

Addresses are values of their own, each with the element that it is in, since two addresses may lead
to one page (:mod:`scrapy_simhash.decision.rewriting`).  Where a value names its own page, the name
is left out.  Beside the content (navigation and the like) a link is no value: the menu of another
page marks another entry.  Nor are the links in a head that lead on, and style sheets.  The spider
must know where they lead: that is for the crawl to say.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from dataclasses import replace
from urllib.parse import quote, unquote, urljoin, urlsplit

from lxml.html import HtmlElement

from scrapy_simhash.analysis.blocks import Event
from scrapy_simhash.analysis.events import (
    ADDRESS,
    FRAGMENT,
    NAMES,
    STYLE,
    Element,
    Text,
    element_of,
    is_address,
    is_whole,
    shown_of,
    style_addresses,
    told,
    without_fragment,
)
from scrapy_simhash.analysis.frames import Frame, Unit, beside_the_content
from scrapy_simhash.analysis.literals import Brackets, literals, without_quotes
from scrapy_simhash.analysis.own_values import MOST_RANKS, State, ValueRows, sort_out
from scrapy_simhash.analysis.page_addresses import (
    MAX_ADDRESSES,
    PageAddresses,
    call_of,
    written_in,
)
from scrapy_simhash.decision.cuts import NO_CUTS, Cuts, decoded, near_place, wide_place
from scrapy_simhash.decision.differences import Atom, Place, carried
from scrapy_simhash.decision.holdings import (
    BESIDE_BIT,
    BESIDE_KIND,
    CUT_KIND,
    HEAD_BIT,
    KINDS,
    MAX_TOLD,
    PLACE,
    PageValues,
    ToldValues,
)
from scrapy_simhash.decision.rewriting import ESCAPED_AND, OwnAddress
from scrapy_simhash.hashes import add, long_hash_of, mix

# A text with under ten words, about: longer ones say what they are about.
_SMALL_BYTES = 60
# Literals beyond these count as one, so that a hostile page costs no more than others.
MAX_LITERALS = 20_000
# The literals of a script are at most this many values.
MOST_OF_SCRIPT = 64
MAX_SCRIPT_CHARACTERS = 1 << 20
# The text of an element begins within so many events.
_MOST_BEFORE_TEXT = 50
# Whether all words in an element come there by themselves is looked up in so many events.
MOST_IN_BOX = 1_000
# Of so many own values it is told what they are.
MOST_TOLD = 1_500

# A place has 48 bits where what changes is looked up, 16 in a value.
_WIDE = (1 << 48) - 1
_PLACE = PLACE
_CUT = CUT_KIND
_VALUE = (1 << 64) - 1 - PLACE
_END = 0x9E3779B97F4A7C15

# The attribute of an input that says its value, if that is not "value".
_REPEATING = {"checkbox": "checked", "radio": "checked"}

_NUMBER = re.compile(r"\d+")
_BESIDE_BIT, _HEAD_BIT = BESIDE_BIT, HEAD_BIT
# Attributes that say no more of a hidden field than its parameter.
_OF_A_FIELD = frozenset({"class", "id", "name", "type", "value"})
# The kinds of values, by their numbers in KINDS.
TEXT_KIND, ELEMENT_KIND, DATA_KIND, LINK_KIND, MEDIA_KIND, NAME_KIND, END_KIND = range(7)
_NUMBER_OF_KIND = {name: number for number, name in enumerate(KINDS)}


def read_values(
    events: list[Event],
    url: str,
    base: str,
    cuts: Cuts = NO_CUTS,
    canonical: str | None = None,
) -> Reader:
    """Read the values of the page at *url*, whose links are relative to *base*.

    *cuts* say what changes by itself there, *canonical* is what it gives as its own address.
    Cost: O(events and their characters).
    """
    reader = Reader(url, base, cuts, canonical)
    reader.read(events)
    return reader


def atoms_of(events: list[Event], url: str, base: str) -> dict[int, list[Atom]]:
    """Return the texts of a page from which what changes by itself is learned, by their places."""
    reader = Reader(url, base)
    reader.atoms = {}
    reader.read(events)
    return reader.atoms


def links_of(events: list[Event], base: str, cuts: Cuts = NO_CUTS) -> PageValues:
    """Return the links of a page alone, without the parameters that change by themselves."""
    reader = Reader(base, base, Cuts(cuts.parameters) if cuts.parameters else NO_CUTS)
    written: list[tuple[str, int]] = []
    for at, event in enumerate(events):
        if type(event) is Element and event.kind.is_linking:
            held = event.held()
            if not event.kind.is_link or "next" in held.get("rel", "").lower().split():
                written.append((held.get("href", "").strip(), call_of(events, at)))
    return reader.links(written)


def base_of(tree: HtmlElement, url: str) -> str:
    """Return what the links of the page at *url* are relative to."""
    base = tree.find(".//base")
    try:
        return urljoin(url, base.get("href") or "") if base is not None else url
    except ValueError:  # no address at all
        return url


def session_parameters(events: list[Event], names: AbstractSet[str]) -> frozenset[str]:
    """Return those parameters that are of the visit on a page, as they are on others.

    Elsewhere, the same name may be that of an item.
    """
    addresses = {address for _, address in written_in(events) if "?" in address}
    return frozenset(names & carried(addresses).keys())


class Reader:
    """Reads the events of one page."""

    def __init__(
        self, url: str, base: str, cuts: Cuts = NO_CUTS, canonical: str | None = None
    ) -> None:
        self._cuts = cuts if cuts else None
        self.atoms: dict[int, list[Atom]] | None = None
        self._own = OwnAddress(url, canonical if is_whole(canonical or "") else None)
        query = urlsplit(url).query
        # A site that quotes the address in a link once more reads its parameters all the same.
        quoted = unquote(query).split("&") if "%26" in query else ()
        self._parameters = frozenset((*query.split("&"), *quoted)) if query else frozenset()
        self._numbers = frozenset(_NUMBER.findall(url))
        self._addresses = PageAddresses(base, self._own, cuts.parameters, self._parameters)
        self._rows = ValueRows()
        self._said: list[str] = []  # the literals that values are made of
        self._events: list[Event] = []
        self._frames: list[Frame] = []
        self._characters = self._literals = 0
        self._beside: set[int] = set()
        # What may be a record, at each place and depth: its hash, number (-1 if it is no value),
        # events and addresses.
        self._records: dict[int, list[tuple[int, int, int, int, int, int]]] = {}
        self._met: set[int] = set()  # the places of meta elements so far
        # The last text, and how many things changed since at each place.
        self._before = 0
        self._ranks: dict[int, int] = {}

    def read(self, events: list[Event]) -> None:
        """Read the events of a page, in order."""
        self._events = events
        self._beside = beside_the_content(events)
        if names := self._addresses.names:
            self._addresses.names = session_parameters(events, names)
        if self._parameters:
            self._addresses.carry(events)
        frames = self._frames
        frame = Frame()
        frame.begin(element_of("", ()), None, -1, 0)
        frame.is_big = frame.is_apart = True
        frames.append(frame)
        depth = 0
        for at, event in enumerate(events):
            if event is None:
                depth -= 1
                self._close(frame, frames[depth], at + 1)
                frame = frames[depth]
            elif type(event) is Element:
                depth += 1
                if depth == len(frames):
                    frames.append(Frame())
                child = frames[depth]
                if event.kind.is_block:
                    self._end_run(frame, at, self._addresses.count)
                child.begin(event, frame, at, self._addresses.count)
                self._open(child, frame)
                frame = child
            elif type(event) is Text:
                if event.text or event.is_wide or frame.is_spaced_text:
                    self._say(frame, event, at)
                elif frame.run:
                    frame.is_run_apart = True
            elif isinstance(event, str):
                self._read_code(frame, event)
        self._rows.end_chains()
        self._note_records()
        self._note_addresses()
        self._rows.end()

    def values(self, template: Collection[int], tell_all: bool = False) -> PageValues:
        """Return what was read, under a template; *tell_all* says what each value is."""
        if self._addresses.count > MAX_ADDRESSES:
            return PageValues(is_whole=False)
        found = PageValues(loose=self._rows.held[0], addresses=self._addresses.found())
        is_own = sort_out(self._rows.held, template, found)
        kinds = self._rows.kinds
        is_shell = all(kinds[n] == END_KIND for n, own in enumerate(is_own) if own == 1)
        told_values = self._told(None if tell_all else is_own)
        return replace(found, is_shell=is_shell, told_values=told_values)

    def links(self, written: list[tuple[str, int]]) -> PageValues:
        """Return links alone, each with its :func:`call_of`, as values of a page without others."""
        root = Frame()
        root.begin(element_of("", ()), None, -1, 0)
        rows = [(self._addresses.row_of(without_fragment(one)), call) for one, call in written]
        for row, call in dict.fromkeys(rows):
            if row >= 0:
                at = self._collect(root, row, LINK_KIND | BESIDE_KIND)
                self._addresses.place_one(at, call, 0)
        if self._addresses.count > MAX_ADDRESSES:
            return PageValues(is_whole=False)
        return PageValues(addresses=self._addresses.found())

    def state(self) -> State:
        """Return what the values under another template can be told from."""
        return self._rows.state()

    def _told(self, is_own: bytearray | None) -> ToldValues:
        """Return what some values are: their kinds, where they are, and how they begin."""
        places: dict[str, int] = {}
        values: list[int] = []
        kinds, numbers, texts = bytearray(), array("H"), []
        rows = self._rows
        last_at, last_named_at, place_number = -2, -2, 0
        for number in range(rows.count):
            if is_own is not None and not is_own[number]:
                continue
            if is_own is not None and len(values) == MOST_TOLD:
                break
            kind = rows.kinds[number]
            at, named_at = rows.inside[number], rows.named_at[number]
            if at != last_at or named_at != last_named_at:  # mostly, several are in one element
                place = "" if at < 0 else self._element_at(at).kind.name
                if at >= 0 and named_at >= 0:
                    place = f"{self._element_at(named_at).names} {place}"[:MAX_TOLD]
                place_number = places.setdefault(place, len(places)) & 0xFFFF
                last_at, last_named_at = at, named_at
            text = ""
            if kind != END_KIND:  # that is of all in the element
                text = self._text_at(kind, rows.first[number], rows.last[number])
            values.append(rows.id_of(number))
            kinds.append(kind)
            numbers.append(place_number)
            texts.append(text)
        ids = array("Q", values)
        return ToldValues(ids, bytes(kinds), numbers, tuple(places), "\n".join(texts))

    def _element_at(self, at: int) -> Element:
        return self._events[at]  # type: ignore[return-value]

    def _text_at(self, kind: int, at: int, end: int) -> str:
        """Return the beginning of what is shown of a value, in one line."""
        text = self._whole_text_at(kind, at, end)
        if len(text) > MAX_TOLD:
            text = text[:MAX_TOLD]
        if text.isprintable():  # neither a mark nor the end of a line is in it
            return text
        return " ".join(text.replace("\0", "").splitlines())

    def _whole_text_at(self, kind: int, at: int, end: int) -> str:
        if kind in (LINK_KIND, MEDIA_KIND, NAME_KIND) or (kind == DATA_KIND and end < 0):
            return self._addresses.text_of(at)
        if kind == DATA_KIND:
            return " ".join(self._said[at:end])
        if at == end:  # all of an element, by how its text begins
            name = self._element_at(at).kind.name
            within = self._events[at + 1 : at + _MOST_BEFORE_TEXT]
            texts = [one.text for one in within if type(one) is Text and one.text]
            return f"{name}: {texts[0]} ..." if texts else f"<{name}> ..."
        pieces, length = [], -1
        for number in range(at, end):
            event = self._events[number]
            piece = ""
            if type(event) is Element:
                piece = event.shown
            elif type(event) is Text:
                piece = event.text
            if piece:
                pieces.append(piece)
                length += 1 + len(piece)
                if length >= MAX_TOLD:
                    break
        return pieces[0] if len(pieces) == 1 else " ".join(pieces)

    def _open(self, frame: Frame, parent: Frame) -> None:
        element, kind = frame.element, frame.kind
        if not element.is_read:
            element.read()
        if kind.is_content:
            frame.is_content = True
        elif kind.is_beside and (kind.is_nav or frame.at in self._beside):
            frame.is_beside = True
        if element.is_beside_by_role and (element.is_nav_by_role or not frame.is_content):
            frame.is_beside = True
        if kind.is_form:
            frame.is_get = element.is_get
        elif kind.is_select:
            frame.control = element.control
        frame.outer = self._place(frame, element.called_number)
        if element.names_number:
            frame.farthest, frame.far, frame.near = frame.far, frame.near, element.names_number
            frame.named_at = frame.at
            frame.place = self._place(frame, element.called_number)
        else:
            frame.place = frame.outer
        is_next = parent.listed == frame.place and parent.listed_address < frame.address
        parent.listed, parent.listed_address = frame.place, frame.address
        if self._is_watching(frame):
            box = wide_place(frame.place, "box", "")
            near = parent.listed_near = parent.listed_near if is_next else self._near(box)
            if self.atoms is not None:
                frame.boxes = (*frame.boxes, Place(box, near))
            elif self._shows_others(frame.at, box) or self._shows_others(frame.at, near):
                frame.is_noise = True
        if not element.fields:
            return
        if self._is_plain(frame):
            frame.attributes = element.number
            frame.is_link = frame.is_link or element.leads
        else:
            self._read_attributes(frame)
        if frame.address < self._addresses.count:
            self._place_of_addresses(frame)

    def _is_plain(self, frame: Frame) -> bool:
        """Whether an element counts as it is; take note of its addresses, then."""
        element = frame.element
        if self.atoms is not None:
            return False
        if frame.is_get and frame.kind.is_control and (self._parameters or self._addresses.names):
            return False
        if self._cuts is not None and frame.place in self._cuts.elements:
            return False
        if element.words and self._addresses.may_name_page(element.words):
            return False
        if element.written:
            for _, kind, written, number in element.written:
                row = self._addresses.row_of(written, number)
                if row == -1:
                    self._addresses.forget(frame.address)
                    return False
                if row >= 0:
                    self._collect(frame, row, _NUMBER_OF_KIND[kind])
        return True

    def _read_attributes(self, frame: Frame) -> None:
        """Read what counts of an element where that depends on the page."""
        element = frame.element
        held = element.held() if frame.kind.is_control else {}
        if frame.is_get and frame.kind.is_control and self._is_own_field(frame, held):
            frame.is_nothing = True
            return
        seen = []
        for name, value, form in element.fields:
            if frame.is_get and value and self._is_own_control(frame, held, name):
                continue
            if form in (ADDRESS, STYLE):
                found = 0
                for of, kind, written, _ in element.written:
                    if of == name and self._take_address(frame, name, kind, written):
                        found += 1
                if form == ADDRESS and (found or name in ("srcset", "imagesrcset", "ping")):
                    if name == "href" and element.leads:
                        frame.is_link = True
                    seen.append(told(name, value, ADDRESS))
                    continue
            elif form == FRAGMENT:
                seen.append(told(name, value, FRAGMENT))
                continue
            if value:
                value = self._own.out_of(value)
                if self._is_watching(frame):
                    value = self._cut(frame, "value", name, value)
                    if not value:
                        continue
            seen.append(told(name, value, 0))
        if seen:
            frame.attributes = long_hash_of(shown_of(frame.kind.name, seen))

    def _place_of_addresses(self, frame: Frame) -> None:
        """Note where the addresses of an element are, once it is known if it is a link."""
        place = self._in_value(frame, frame.outer)
        is_beside = frame.is_noise or self._is_of_links(frame)
        self._addresses.stand_at(frame.address, place, is_beside)
        if frame.is_noise:
            self._addresses.note_box(frame.address, frame.place)

    def _is_of_links(self, frame: Frame) -> bool:
        """Whether an element leads elsewhere, from a place where that is no value."""
        return frame.is_link and (frame.is_beside or (frame.kind.is_link and frame.element.leads))

    def _is_own_field(self, frame: Frame, held: dict[str, str]) -> bool:
        """Whether an element is a hidden field that repeats a parameter of the page's address.

        A page whose address has no such parameter has no such field.  A session is a parameter of
        each address that a form leads to.
        """
        if frame.kind.name != "input" or held.get("type", "").lower() != "hidden":
            return False
        if not _OF_A_FIELD.issuperset(held):
            return False
        is_session = held.get("name", "") in self._addresses.names
        return is_session or self._is_own_control(frame, held, "value")

    def _is_own_control(self, frame: Frame, held: dict[str, str], name: str) -> bool:
        """Whether a control of a form repeats a parameter of the page's address."""
        if not self._parameters or not frame.kind.is_control:
            return False
        if frame.kind.name == "input" and name == _REPEATING.get(held.get("type", ""), "value"):
            control = held.get("name", "")
        elif frame.kind.name == "option" and name == "selected":
            control = frame.control
        else:
            return False
        value = held.get("value", "")
        return f"{quote(control, safe='')}={quote(value, safe='')}" in self._parameters

    def _is_watching(self, frame: Frame) -> bool:
        """Whether something in an element is cut, or may be from what is learned now."""
        if self.atoms is not None:
            return True
        return self._cuts is not None and frame.place in self._cuts.elements

    def _shows_others(self, at: int, box: int) -> bool:
        """Whether an element, by its event, shows something else at each visit."""
        if self._cuts is None or not self._cuts.has_box(box):
            return False
        return box not in self._cuts.words or self._cuts.are_noise(box, self._text_in(at))

    def _text_in(self, at: int) -> str:
        """Return what is said in an element, by its event, or how that begins."""
        texts: list[str] = []
        depth, end = 1, min(at + MOST_IN_BOX, len(self._events))
        for number in range(at + 1, end):
            event = self._events[number]
            if event is None:
                depth -= 1
                if not depth:
                    break
            elif type(event) is Element:
                depth += 1
            elif type(event) is Text:
                texts.append(event.text)
        return " ".join(texts)

    def _cut(self, frame: Frame, kind: str, what: str, value: str) -> str:
        """Return what a value keeps of itself where something changes by itself."""
        wide = wide_place(frame.place, kind, what)
        # What a meta element says is no matter of the title before it: its place has its name.
        near = 0 if frame.kind.is_meta else self._near(wide)
        if self.atoms is not None:
            # The names of an element are those of its place.
            boxes = () if what in NAMES else frame.boxes
            atom = Atom(kind, value, frame.is_beside, boxes, near)
            self.atoms.setdefault(wide, []).append(atom)
        elif self._cuts is not None:
            cut = self._cuts.address if kind == "address" else self._cuts.text
            value = cut(wide, value)
            return cut(near, value) if value and near else value
        return value

    def _near(self, wide: int) -> int:
        """Return where something is behind the last text."""
        rank = self._ranks.get(wide, 0)
        self._ranks[wide] = rank + 1
        return near_place(wide, self._before, min(rank, MOST_RANKS))

    def _note_text(self, number: int) -> None:
        """Note the last text, by which what is behind it is known."""
        if self.atoms is not None or self._cuts is not None:
            self._before = number
            self._ranks.clear()

    def _take_address(self, frame: Frame, name: str, kind: str, written: str) -> bool:
        """Take note of an address in an attribute; return whether it is one."""
        row = self._addresses.row_of(written)
        if row == -1:
            return False
        number = _NUMBER_OF_KIND[kind]
        if row >= 0 and self._is_watching(frame):
            whole = self._addresses.text_of(row)
            address = self._cut(frame, "address", name, whole)
            if address != whole:
                number |= _CUT
                left = self._addresses.row_of_whole(address) if address else -2
                if kind == "link":
                    self._addresses.note_cut(row, left, frame.place)
                row = left
        if row >= 0:
            self._collect(frame, row, number)
        return True

    def _collect(self, frame: Frame, row: int, kind: int) -> int:
        """Take note of an address in an element, and return its number."""
        place = self._in_value(frame, frame.outer)
        return self._addresses.collect(row, kind, place, frame.at, frame.named_at)

    def _in_value(self, frame: Frame, place: int) -> int:
        """Return a place as a value has it: 16 bits, of which two say where it is."""
        place &= _PLACE & ~_BESIDE_BIT & ~_HEAD_BIT
        is_in_head = frame.is_in_head or frame.kind.is_root
        return place | _BESIDE_BIT * frame.is_beside | _HEAD_BIT * is_in_head

    def _place(self, frame: Frame, called: int) -> int:
        """Return the place of what is called so in the nearest named elements."""
        return mix(mix(mix(frame.farthest, frame.far), frame.near), called) & _WIDE | 2

    def _say(self, frame: Frame, said: Text, at: int) -> None:
        """Take note of a text in an element."""
        self._add_text(frame, said, at)
        if said.text:
            self._note_text(said.number)

    def _add_text(self, frame: Frame, said: Text, at: int) -> None:
        if frame.is_noise:
            return
        if frame.is_link and frame.is_beside:  # no value
            self._addresses.said = add(self._addresses.said, said.number)
            return
        text, value, size = said.text, said.number, said.size
        if frame.is_spaced_text:
            text, value = said.raw, said.exact
        elif said.is_wide:
            text = said.raw
        is_changed = self._addresses.may_name_page(text)
        if is_changed:
            text = self._own.out_of(text)
        if self._is_watching(frame):
            text = self._cut(frame, "text", "", text)
            if not text:
                return
            is_changed = True
        if is_changed:
            value = long_hash_of(text)
            size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        if frame.run_at < 0:
            frame.run_at, frame.run_address = at, self._addresses.count
        if said.begins_apart:
            frame.is_run_apart = True
        self._run_on(frame, value)
        if said.ends_apart:
            frame.is_run_apart = True
        frame.run_size += size
        frame.run_shown += 1
        if not frame.run_is_spaced:
            frame.run_is_spaced = " " in text
        frame.size += size

    def _run_on(self, frame: Frame, value: int) -> None:
        """Add a text, or an inline element, to the run; whether a space is before it counts, too.

        An inline element may begin with a space: ``1<b> 29</b>``.
        """
        if frame.is_run_apart and (frame.run or not frame.is_block):
            value = mix(value, 1)
        frame.is_run_apart = False
        frame.run = mix(frame.run, value)
        frame.run_shape = 0

    def _end_run(self, frame: Frame, end: int, last: int) -> None:
        """Take what was said since the last block-level element for a child of an element.

        *end* and *last* are the numbers of the event and of the address behind it.
        """
        if frame.run:
            unit = Unit(frame.run, None, frame.outer, frame.run_at, end, frame.run_address, last)
            unit.shape = frame.run_shape
            frame.built = frame.built or mix(unit.shape, 1)
            unit.is_spaced = frame.run_is_spaced or frame.run_shown > 1
            is_small = frame.run_size < _SMALL_BYTES
            frame.run = frame.run_size = frame.run_shown = 0
            frame.run_at = frame.run_address = -1
            frame.run_is_spaced = frame.is_run_apart = False
            if is_small:
                self._add(frame, unit)
            else:
                self._grow(frame)
                self._add_long(frame, unit)

    def _close(self, frame: Frame, parent: Frame, end: int) -> None:
        last = self._addresses.count
        if frame.is_code:
            parent.others = add(parent.others, frame.others)
            parent.parts += 1
        if frame.is_noise or self._is_of_links(frame):
            if frame.element.leads:
                around = mix(parent.near, mix(parent.far, parent.farthest))
                call = mix(call_of(self._events, frame.at, self._numbers), around)
                self._addresses.call(frame.address, last, call)
                if not frame.is_noise:  # which of them says which text
                    self._addresses.said = add(self._addresses.said, call)
            self._addresses.place(frame.address, last, 0)
            parent.has_links = True
            return
        if not frame.is_block and not frame.is_big and frame.units is None and not parent.is_apart:
            self._close_inline(frame, parent)
            return
        self._end_run(frame, end - 1, last)
        if not frame.is_block:
            self._end_run(parent, frame.at, frame.address)
        if not parent.built:
            parent.built = mix(mix(frame.kind.number, frame.element.shape), frame.built)
        elif parent.kind.is_row:
            parent.built = mix(parent.built, frame.kind.number)
        is_bare = not frame.is_big and frame.units is None
        if is_bare and frame.has_links and frame.is_beside:  # the entry of a menu
            self._addresses.place(frame.address, last, 0)
            parent.has_links = True
            return
        is_outermost = frame.is_beside and not parent.is_beside
        if frame.size >= _SMALL_BYTES or frame.is_apart or is_outermost:
            self._grow(frame)
        if frame.is_big:
            self._close_big(frame, parent)
            return
        if is_bare and not frame.attributes and frame.is_nothing:
            return
        value = mix(frame.kind.number, frame.attributes)
        if frame.others and not frame.is_code:  # the code in it
            value = mix(value, frame.others)
        shape = mix(frame.kind.number, frame.element.shape)
        if frame.units is not None:
            for unit in frame.units:
                value = mix(value, unit.value)
                shape = mix(shape, unit.shape)
        parent.size += frame.size
        unit = Unit(value, frame.kind, frame.outer, frame.at, end, frame.address, last)
        unit.shape = shape
        unit.is_spaced = frame.attributes != 0 or frame.is_spaced or frame.shown > 1
        self._add(parent, unit)

    def _close_inline(self, frame: Frame, parent: Frame) -> None:
        """Take an inline element for a part of the run that it is in."""
        if frame.has_links:
            parent.has_links = True
        if not frame.run and (frame.is_beside and frame.has_links):
            self._addresses.place(frame.address, self._addresses.count, 0)
            return
        if not frame.attributes and not frame.run and frame.is_nothing:
            self._addresses.place(frame.address, self._addresses.count, 0)
            return
        if parent.run_at < 0:
            parent.run_at, parent.run_address = frame.at, frame.address
        value = mix(mix(frame.kind.number, frame.attributes), frame.run)
        if frame.is_run_apart:  # a space is the last in it
            value = mix(value, 1)
        is_first = not parent.run
        self._run_on(parent, value)
        if is_first:
            parent.run_shape = frame.kind.number
        parent.run_size += frame.run_size
        parent.size += frame.run_size
        parent.run_shown += frame.run_shown + (frame.attributes != 0)
        if frame.run_is_spaced or frame.attributes:
            parent.run_is_spaced = True

    def _close_big(self, frame: Frame, parent: Frame) -> None:
        last = self._addresses.count
        self._place_first(frame, 0)
        self._addresses.place(frame.address, last, mix(frame.attributes, frame.first))
        parent.size += frame.size
        # A list with fewer items is another one, and so is one in another order if it has one.
        items = frame.in_order if frame.are_unlike or frame.kind.is_ordered else frame.items
        if not frame.is_apart:
            self._end_long(frame, False)
            self._end_chain(frame, mix(_END, items))
        place = self._in_value(frame, frame.outer)
        if items:
            number = self._rows.begin(items, -1)
            self._rows.note(items, place, number, TEXT_KIND, frame, frame.at, frame.at)
        # Of others that have none, their parents say so.
        attributes = frame.attributes or (frame.kind.number if parent.is_apart else 0)
        if attributes:  # with what the element begins with
            title = mix(mix(attributes, frame.title), items)
            number = self._rows.begin(title, frame.first_number)
            at = frame.at
            self._rows.note(attributes, place, number, ELEMENT_KIND, frame, at, at + 1)
        if frame.is_beside and not parent.is_beside:
            return  # a page has it around its content, or has not
        self._end_record(frame, parent, items)
        self._grow(parent)
        if not frame.first:  # a list, which has no order
            frame.first = mix(frame.kind.number, frame.attributes)
        whole = mix(mix(mix(frame.first, frame.attributes), frame.title), items)
        if not parent.is_apart:
            child = mix(frame.first, frame.attributes != 0)
            self._begin_long(parent, child, whole, frame.place, frame.at, frame.at)
        if frame.kind.is_free:
            shape = mix(mix(frame.kind.number, frame.element.shape), frame.built)
            self._add_item(parent, mix(whole, frame.items), shape)
        elif not parent.first:
            parent.first, parent.first_number = frame.first, frame.first_number
        if frame.kind.is_heading:
            parent.record = whole

    def _end_record(self, frame: Frame, parent: Frame, items: int) -> None:
        """Take note of all of a big element: it is a record if there are several in its place.

        Its parts belong together, and to what is said around it.  What is small belongs already to
        what is beside it in the same element.
        """
        whole = mix(mix(frame.smalls, frame.others), mix(frame.attributes, items))
        # The cells of a row have an order, as its columns have.
        kind = parent.kind
        parent.others = mix(parent.others, whole) if kind.is_row else add(parent.others, whole)
        parent.parts += 1
        has_small = frame.smalls != 0 or items != 0 or frame.has_small_parts
        if has_small:
            parent.has_small_parts = True
        if frame.is_apart:
            return
        records = self._records.setdefault(mix(frame.place, frame.depth), [])
        if frame.parts == 1 and not (frame.smalls or items):  # what is in it says the same
            records.append((0, -1, frame.at, 0, 0, 0))
            return
        # What is small is one chain if there is nothing else, and no heading but the first.
        is_told = frame.parts > 1 or (has_small and (frame.parts or frame.is_cut))
        number = self._rows.begin(whole, -1) if is_told or frame.kind.is_row else -1
        loose = whole & _VALUE | self._in_value(frame, frame.outer)
        last = self._addresses.count
        records.append((loose, number, frame.at, frame.named_at, frame.address, last))

    def _note_records(self) -> None:
        """Take note of the records: rows, and the big elements that have others in their place."""
        for records in self._records.values():
            if len(records) == 1 and not self._element_at(records[0][2]).kind.is_row:
                continue
            for loose, number, at, named_at, first, last in records:
                if number >= 0:
                    self._rows.add(loose, number, TEXT_KIND, at, named_at, at, at)
                self._addresses.belong(first, last, loose)

    def _add_item(self, frame: Frame, value: int, shape: int) -> None:
        """Take note of a part of a list: if all have one shape, the order is a visitor's choice."""
        if not frame.in_order:
            frame.shape = shape
        elif frame.shape != shape:
            frame.are_unlike = True
        frame.items = add(frame.items, mix(value, frame.heads))
        frame.in_order = mix(frame.in_order, value)

    def _add(self, frame: Frame, unit: Unit) -> None:
        """Take note of a small child of an element."""
        if frame.is_big:
            self._add_small(frame, unit)
            return
        if frame.units is None:
            frame.units = []
        frame.units.append(unit)
        frame.shown += 1
        if unit.is_spaced:
            frame.is_spaced = True
        if frame.size >= _SMALL_BYTES:
            self._grow(frame)

    def _grow(self, frame: Frame) -> None:
        """Let an element be big from now on: what it holds are values."""
        if frame.is_big:
            return
        frame.is_big = True
        if frame.units is not None:
            for unit in frame.units:
                self._add_small(frame, unit)
            frame.units = None

    def _add_small(self, frame: Frame, unit: Unit) -> None:
        value = unit.value
        place = self._in_value(frame, unit.place)
        if unit.is_meta and frame.is_in_head:
            value = self._behind(frame, unit)
        if frame.is_apart:
            self._addresses.place(unit.first, unit.last, value)
            self._rows.emit(value, place, TEXT_KIND, frame, unit.at, unit.end)
            return
        is_item = unit.is_free and not frame.kind.is_ordered and unit.is_spaced
        if is_item or frame.chain:
            self._addresses.place(unit.first, unit.last, value, frame.chain)
        if is_item:
            self._rows.emit(value, place, TEXT_KIND, frame, unit.at, unit.end)
            self._add_item(frame, value, unit.shape)
            return
        self._place_first(frame, value)
        if not frame.chain and unit.first < unit.last:
            frame.waiting, frame.waiting_end, frame.waiting_in = unit.first, unit.last, value
        self._end_long(frame, True)
        frame.smalls = mix(frame.smalls, value)
        if unit.is_free:
            self._add_item(frame, value, mix(unit.shape, 1))
        else:
            frame.heads = mix(frame.heads, value)
        if unit.is_heading:
            self._end_chain(frame, value)
            if frame.chain:
                frame.is_cut = True
            frame.chain, frame.base = 0, -1
            frame.record = value
        number = self._chain(frame, value, place, TEXT_KIND, unit.at, unit.end)
        frame.chain, frame.last = mix(frame.chain, value), value
        if not frame.first:
            frame.first, frame.first_number = value, number

    def _place_first(self, frame: Frame, behind: int) -> None:
        """Place the addresses at the beginning of an element by what is *behind* them."""
        if frame.waiting >= 0:
            self._addresses.place(frame.waiting, frame.waiting_end, frame.waiting_in, behind)
            frame.waiting = -1

    def _behind(self, head: Frame, meta: Unit) -> int:
        """Return the value of a meta element; with the one before it if its name has come before.

        So it is known which picture is the first, and which currency an amount has.
        """
        value = mix(meta.value, head.last) if meta.place in self._met else meta.value
        self._met.add(meta.place)
        head.last = meta.value
        return value

    def _add_long(self, frame: Frame, unit: Unit) -> None:
        value = unit.value
        self._addresses.place(unit.first, unit.last, value, mix(frame.record, frame.chain))
        if frame.is_apart:
            place = self._in_value(frame, unit.place)
            self._rows.emit(value, place, TEXT_KIND, frame, unit.at, unit.end)
            return
        frame.others = add(frame.others, value)
        frame.parts += 1
        self._begin_long(frame, value, value, frame.outer, unit.at, unit.end)
        if not frame.first:
            frame.first, frame.first_number = value, frame.base

    def _begin_long(
        self, frame: Frame, value: int, whole: int, place: int, at: int, end: int
    ) -> None:
        """Take note of a long text, or a big child: whether something small is before it, too.

        *whole* is what tells it from others, for what is small around it.
        """
        self._end_long(frame, False)
        self._place_first(frame, whole)
        is_behind_small = frame.chain_number >= 0
        frame.long = mix(value, is_behind_small)
        self._end_chain(frame, whole)
        if not frame.is_titled:
            frame.is_titled = True
            frame.title = mix(frame.title, whole)
        frame.long_number = self._rows.chain(0, -1)
        place = self._in_value(frame, place)
        frame.base = self._rows.note(value, place, frame.long_number, TEXT_KIND, frame, at, end)
        frame.long_at = self._rows.note_long(frame.base, value, frame.outer, is_behind_small)
        frame.chain, frame.last = mix(frame.record, whole), value

    def _end_long(self, frame: Frame, is_before_small: bool) -> None:
        """Take note of whether something small is behind a long text, or a big child."""
        if frame.long_number >= 0:
            value = mix(frame.long, is_before_small)
            self._rows.end_long(frame.long_number, frame.long_at, value, is_before_small)
            frame.long_number = -1

    def _chain(self, frame: Frame, value: int, place: int, kind: int, at: int, end: int) -> int:
        """Take note of one more value in the chain of an element, and return its number."""
        if frame.chain_number < 0:
            frame.chain_number = self._rows.begin(0, frame.base)
            self._rows.smalls.append(frame.chain_number)
        return self._rows.note(value, place, frame.chain_number, kind, frame, at, end)

    def _end_chain(self, frame: Frame, end: int) -> None:
        """End the chain of an element, if there is one, by what comes after it."""
        if frame.chain_number < 0:
            return
        if not frame.is_titled:
            frame.title = mix(frame.title, frame.chain)
        if not frame.record:
            frame.record = frame.chain
        place = self._in_value(frame, 0)
        self._chain(frame, mix(frame.last, end), place, END_KIND, 0, 0)
        self._rows.ids[frame.chain_number] = mix(frame.chain, end)
        frame.chain_number = -1

    def _note_addresses(self) -> None:
        """Take note of the values that the addresses are."""
        of = self._addresses
        at = -1
        while (at := at + 1) < of.count:  # some come once more
            value = of.value_at(at)
            if value:
                chain = self._rows.chain(value, -1)
                inside, named_at = of.inside[at], of.named_at[at]
                kind = of.kinds[at] & ~_CUT
                self._rows.add(value, chain, kind, inside, named_at, of.rows[at], -1)

    def _read_code(self, frame: Frame, code: str) -> None:
        """Take note of the literals of a script, each with the name before it, or of a style."""
        if frame.kind.name != "script":
            for written in style_addresses(code):
                self._take_address(frame, "src", "media", written)
            self._place_of_addresses(frame)
            return
        if frame.is_noise:
            return
        self._characters += len(code)
        found: list[tuple[str, str, str]] = []
        if self._characters <= MAX_SCRIPT_CHARACTERS and self._literals <= MAX_LITERALS:
            found = literals(code)
            self._literals += len(found) - 1
        said = len(self._said)
        if len(found) < 2 or self._literals > MAX_LITERALS:
            self._said.append(code[:MAX_TOLD])
            whole = long_hash_of(self._own.out_of(" ".join(code.split())))
            place = self._in_value(frame, frame.place)
            self._rows.emit(whole, place, DATA_KIND, frame, said, said + 1)
            return
        # Of many literals, some together are one value.
        size = 1 + len(found) // MOST_OF_SCRIPT
        brackets = Brackets()
        # Of addresses with the same before them, each belongs to the literal behind it (the last
        # literal is empty, and no address) and to all in the brackets around it.
        waiting: list[tuple[int, int]] = []
        inside: list[tuple[int, int]] = []
        base, value, chained, in_value = -1, 0, 0, 0
        place = 0
        is_watching = self._is_watching(frame)
        # What is behind a script is behind the text before it, whether that is watched or not.
        before, ranks, self._ranks = self._before, self._ranks, {}
        for number, (name, literal, between) in enumerate(found, start=1):
            brackets.read(between)
            between = self._own.out_of(" ".join(between.split()))
            if is_watching:
                between = self._cut(frame, "value", f"{name} code", between)
            quote, literal = literal[:1] in ('"', "'"), without_quotes(literal)
            row = -1
            if is_address(name, literal):
                for escaped in ESCAPED_AND:
                    literal = literal.replace(escaped, "&")
                row = self._addresses.row_of(literal)
            one = long_hash_of(f"{name}\0{between}")
            if row != -1:
                if row >= 0 and is_watching:
                    address = self._cut(frame, "address", name, self._addresses.text_of(row))
                    row = self._addresses.row_of_whole(address) if address else -2
                if row >= 0:
                    of_name = self._in_value(frame, mix(frame.place, long_hash_of(name)))
                    at = self._addresses.collect(row, DATA_KIND, of_name, frame.at, frame.named_at)
                    waiting.append((at, mix(one, brackets.before[-1])))
                    inside.append((at, brackets.name(self._addresses.name_of(row))))
                brackets.add(one)
            else:
                said_now = literal
                literal = self._own.out_of(decoded(literal))
                if is_watching:
                    literal = self._cut(frame, "value", name, literal)
                    self._note_text(long_hash_of(said_now))
                one = mix(one, long_hash_of(literal) ^ quote)
                for at, anchor in waiting:
                    self._addresses.place_one(at, anchor, one)
                waiting.clear()
                if not in_value:
                    place = self._in_value(frame, mix(frame.place, long_hash_of(name)))
                value = mix(value, one)
                chained = mix(mix(chained, one), brackets.add(one))
                self._said.append(f"{name}: {literal}")
                in_value += 1
            if not in_value or (in_value < size and number < len(found)):
                continue
            chain = self._rows.begin(chained, base)
            base = self._rows.note(value, place, chain, DATA_KIND, frame, said, len(self._said))
            value, chained, in_value, said = 0, 0, 0, len(self._said)
        self._before, self._ranks = before, ranks
        wholes = brackets.wholes()
        for at, bracket in inside:
            self._addresses.belong(at, at + 1, wholes[bracket])
        frame.is_code, frame.others = True, wholes[0]
