# cython: annotation_typing=False, boundscheck=False, initializedcheck=False, binding=False
"""The addresses on a page: which they are, where each of them comes, and what links are called."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from collections.abc import Set as AbstractSet
from urllib.parse import urljoin, urlsplit

from scrapy_simhash.analysis.blocks import Event
from scrapy_simhash.analysis.events import (
    MAX_ADDRESS,
    Element,
    Text,
    hash_without_numbers,
    is_plain,
    is_whole,
)
from scrapy_simhash.analysis.growing import doubled, room_for
from scrapy_simhash.decision.cuts import EVERYWHERE, stripped
from scrapy_simhash.decision.holdings import BESIDE_KIND, CUT_KIND, KINDS, NOWHERE, PLACE, Addresses
from scrapy_simhash.decision.rewriting import OwnAddress
from scrapy_simhash.hashes import long_hash_of, mix

# A page with more addresses is not compared.
MAX_ADDRESSES = 10_000

# A number of a page has less digits.
MOST_DIGITS = 10

# So many elements around a link are looked at, each with so many events before it.
MOST_AROUND = 2
MOST_BEFORE = 50

# A parameter that is left out of fewer of the links on a page may be that of what a box is about.
SESSION_SHARE = 0.5

_LINK = KINDS.index("link")
_BESIDE, _CUT = BESIDE_KIND, CUT_KIND
_VALUE, _FRAME = (1 << 64) - 1 - PLACE, NOWHERE
_BREAKS = dict.fromkeys(map(ord, "\t\n\r"))


class PageAddresses:
    """The addresses on a page with the address *own*, whose links are relative to *base*.

    *names* are the parameters that are left out, *parameters* those of the page's own address, as
    they are written.  Of each different address there is a row; of each
    time that one comes, in the order of the page, a number.
    """

    def __init__(
        self, base: str, own: OwnAddress, names: AbstractSet[str], parameters: AbstractSet[str]
    ) -> None:
        self.names = names
        self._base = base
        parts = urlsplit(base)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._folder = urljoin(base, "x")[:-1]
        self._own = own
        self._parameters = parameters
        self._carried: frozenset[str] = frozenset()
        self._needles = own.needles
        # The rows by what is written on the page; of each its address, its hash as it is, and
        # without the page's own.
        self._row_as_written: dict[str, int] = {}
        self._row_of_whole: dict[str, int] = {}
        self._names_of_rows: dict[int, int] = {}
        self._texts: list[str] = []
        self._hashes: list[int] = []
        self._unnamed: list[int] = []
        # Of each number: its row, kind, place, anchor, id and what is before it, and the events of
        # its element and of the nearest named one; in arrays with room for more.
        self.count = 0
        self.rows, self.kinds, self.inside, self.named_at = map(room_for, "iiii")
        self._places, self._anchors, self._ids, self._befores = map(room_for, "QQQQ")
        self._is_placed = room_for("i")
        # Of each link that is cut: its row, that of what is left, and its place.
        self._cuts: list[tuple[int, int, int]] = []
        # What is written with a parameter that is left out, by the rows of what is left.
        self._whole: dict[int, list[str]] = {}
        self.said = 0  # by links that are no values
        # Of each anchor and place the row there, -1 if there are several; of each anchor the
        # same for all places in the content, or beside it.
        self._row_at: dict[int, int] = {}
        # How often each value has come so far.
        self._times: dict[int, int] = {}

    def carry(self, events: list[Event]) -> None:
        """Find which parameters of the page's own most of its links carry, as they do a session.

        What others have may be on its copies, too, whatever these have in their own addresses.
        """
        links, counts = 0, Counter[str]()
        for element, one in written_in(events):
            if element.kind.is_linking and ("://" not in one or one.startswith(self._origin)):
                links += 1
                counts.update(one.partition("?")[2].partition("#")[0].split("&"))
        least = SESSION_SHARE * links
        self._carried = frozenset([one for one in self._parameters if counts[one] >= least])

    def row_of(self, written: str, number: int = 0) -> int:
        """Return the row of an address as it is written; of one that is whole, *number* is a hash.

        It is -1 if it is none of http or https, and -2 if nothing of it stays.
        """
        row = self._row_as_written.get(written)
        if row is None:
            row = -1
            if number and not self.names:
                row = self.row_of_whole(written, number)
            elif len(written) <= MAX_ADDRESS and (address := self._joined(written)):
                if "#" in address:
                    start, _, place = address.partition("#")
                    if self._own.is_a_name(start) and not place.startswith(("/", "!")):
                        address = start  # a tab of this page, say
                left = stripped(address, self.names) if self.names else address
                row = self.row_of_whole(left) if left else -2
                if left != address:
                    self._whole.setdefault(row, []).append(address)
            self._row_as_written[written] = row
        return row

    def row_of_whole(self, address: str, number: int = 0) -> int:
        """Return the row of a whole address; *number* is its hash, 0 if that is not known."""
        row = self._row_of_whole.get(address)
        if row is None:
            row = self._row_of_whole[address] = len(self._texts)
            self._texts.append(address)
            number = number or long_hash_of(address)
            self._hashes.append(number)
            if self.may_name_page(address):
                number = long_hash_of(self._own.without(address))
            self._unnamed.append(number)
        return row

    def text_of(self, row: int) -> str:
        """Return the address in a row."""
        return self._texts[row]

    def _joined(self, written: str) -> str:
        """Return a whole address; empty if it is not one of http or https."""
        # Joining takes 10 us, half of the time of a page of links; of these, it would refuse none.
        folder, rest = self._folder, written
        while rest[:1] == "." and rest.startswith(("../", "./")):
            if rest[1] == ".":
                folder = self._above(folder)
            rest = rest.partition("/")[2]
        if is_whole(written):
            return written
        if "//" not in rest and "/." not in rest and is_plain(rest):
            if rest.startswith("/"):
                if rest is written:
                    return self._origin + rest
            elif ":" not in rest:
                return folder + rest
        if not written:
            return ""
        try:  # as browsers do, without line breaks and tabs (URL Standard, section 4.4)
            address = urljoin(self._base, written.translate(_BREAKS))
        except ValueError:  # no address at all
            return ""
        return address if address.startswith(("http://", "https://")) else ""

    def _above(self, folder: str) -> str:
        """Return the folder that one is in; of that of the whole host, itself."""
        above = folder[: folder.rfind("/", 0, -1) + 1]
        return above if len(above) > len(self._origin) else folder

    def may_name_page(self, text: str) -> bool:
        """Whether a text may have the page's own address in it."""
        for needle in self._needles:  # noqa: SIM110 - a generator takes ten times as long
            if needle in text:
                return True
        return False

    def collect(self, row: int, kind: int, place: int, inside: int, named_at: int) -> int:
        """Take note of an address in an element, and return its number: its value is known later.

        *kind* is a number of :data:`~scrapy_simhash.decision.holdings.KINDS`, *inside* and
        *named_at* are the events of its element and of the nearest named one.
        """
        number = self.count
        if number == len(self.rows):
            self._make_room()
        self.rows[number] = row
        self.kinds[number] = kind
        self.inside[number] = inside
        self.named_at[number] = named_at
        self._places[number] = place
        self._anchors[number] = self._ids[number] = self._befores[number] = 0
        self._is_placed[number] = False
        self.count = number + 1
        return number

    def _make_room(self) -> None:
        self.rows, self.kinds = doubled("i", self.rows), doubled("i", self.kinds)
        self.inside, self.named_at = doubled("i", self.inside), doubled("i", self.named_at)
        self._places, self._anchors = doubled("Q", self._places), doubled("Q", self._anchors)
        self._ids, self._befores = doubled("Q", self._ids), doubled("Q", self._befores)
        self._is_placed = doubled("i", self._is_placed)

    def note_cut(self, row: int, left: int, place: int) -> None:
        """Note that of a link at a place, as written, only what is in another row is left."""
        self._cuts.append((row, left, place))

    def forget(self, first: int) -> None:
        """Forget the addresses from a number on."""
        self.count = first

    def stand_at(self, first: int, place: int, is_beside: bool) -> None:
        """Note where the addresses from a number on are, and if they are no values."""
        for number in range(first, self.count):
            self._places[number] = place
            if is_beside:
                self.kinds[number] |= _BESIDE

    def note_box(self, first: int, place: int) -> None:
        """Note that the addresses from a number on are in a box that shows others at each visit."""
        for number in range(first, self.count):
            if not self.kinds[number] & _CUT:
                if self.kinds[number] & ~_BESIDE == _LINK:
                    self.note_cut(self.rows[number], -2, place)
                self.kinds[number] |= _CUT

    def place(self, first: int, last: int, anchor: int, before: int = 0) -> None:
        """Take note of what some addresses are in that are in nothing yet, in this order.

        *before* is what is before them: which record they belong to.  They belong to each other.
        """
        number = 0
        for at in range(first, last):
            number += not self._is_placed[at]
        if number > 1:
            before = self._named(before, first, last, True)
        number = 0
        for at in range(first, last):
            if not self._is_placed[at]:
                self.place_one(at, mix(anchor, number), before)
                number += 1

    def call(self, first: int, last: int, call: int) -> None:
        """Take note of what the links of an element are called, which are no values."""
        for at in range(first, last):
            if not self._is_placed[at]:
                self.place_one(at, call, 0)

    def place_one(self, at: int, anchor: int, before: int) -> None:
        """Take note of what an address is in; see :meth:`place`."""
        row = self.rows[at]
        self._anchors[at], self._befores[at] = anchor, before
        self._is_placed[at] = True
        if not self.kinds[at] & _BESIDE:
            for place in (self._places[at], self._places[at] & _FRAME):
                there = mix(anchor, place)
                if self._row_at.setdefault(there, row) != row:
                    self._row_at[there] = -1

    def belong(self, first: int, last: int, record: int) -> None:
        """Take note of a record that some addresses are in, as a whole; they belong to each other.

        What each has of a page's own address, or of a folder, may differ on a copy.  Cost:
        O(addresses in it), for each of the records around one: 0.3 s for 9,000 in 200 records.
        """
        record = self._named(record, first, last, False)
        for at in range(first, last):
            self._befores[at] = mix(self._befores[at], record)

    def _named(self, record: int, first: int, last: int, is_left: bool) -> int:
        """Return a record with the names in it of values; *is_left*: that are in nothing yet."""
        for at in range(first, last):
            if not self.kinds[at] & _BESIDE and not (is_left and self._is_placed[at]):
                record = mix(record, self.name_of(self.rows[at]))
        return record

    def name_of(self, row: int) -> int:
        """Return a hash of the last segment of an address, without what all links have."""
        name = self._names_of_rows.get(row)
        if name is None:
            last, mark, query = self._texts[row].rpartition("/")[2].partition("?")
            last = last.partition(";")[0]
            if mark:
                parts = [part for part in query.split("&") if part not in self._carried]
                last = "&".join((last, *parts))
            name = self._names_of_rows[row] = long_hash_of(last)
        return name

    def value_at(self, at: int) -> int:
        """Return the value that an address is; 0 if it is none.

        Where several may stand in one place, each belongs to what is before it, and to its record,
        and one that comes again is another value.  One that is alone in its place, where others
        stand in other places, is taken note of once more, with that.
        """
        if self.kinds[at] & _BESIDE or not self._is_placed[at]:
            return 0
        place, number = self._places[at], self._unnamed[self.rows[at]]
        anchor = self._anchors[at]
        is_one_of_several = self._row_at[mix(anchor, place)] < 0
        if is_one_of_several:
            anchor = mix(anchor, self._befores[at])
        value = mix(number, anchor) & _VALUE | place
        times = self._times.get(value, 0)
        self._times[value] = times + 1
        if times and is_one_of_several:
            anchor = mix(anchor, times)
            value = mix(number, anchor) & _VALUE | place
        self._anchors[at], self._ids[at] = anchor, value
        if not (times or is_one_of_several) and self._row_at[mix(anchor, place & _FRAME)] < 0:
            inside, named_at = self.inside[at], self.named_at[at]
            again = self.collect(self.rows[at], self.kinds[at], place, inside, named_at)
            self.place_one(again, mix(anchor, place), 0)
        return 0 if times and not is_one_of_several else value

    def found(self) -> Addresses:
        """Return all that are placed."""
        chosen = [number for number in range(self.count) if self._is_placed[number]]
        if self._whole:
            self._note_few(chosen)
        return Addresses(
            "\n".join(self._texts),
            array("Q", self._hashes),
            array("I", [self.rows[number] for number in chosen]),
            array("H", [self._places[number] for number in chosen]),
            array("Q", [self._anchors[number] for number in chosen]),
            array("Q", [self._ids[number] for number in chosen]),
            bytes([self.kinds[number] for number in chosen]),
            self.said,
            tuple(self._cuts),
        )

    def _note_few(self, chosen: list[int]) -> None:
        """Note the links with a parameter that is left out, if few links have it."""
        rows = {self.rows[number] for number in chosen if self.kinds[number] & ~_BESIDE == _LINK}
        written = [(one, row) for row in rows for one in self._whole.get(row, ())]
        if len(written) >= SESSION_SHARE * len(rows):
            return
        others = self.names - {one.partition("=")[0] for one in self._parameters}
        for one, row in written:
            if stripped(one, others) != one:
                self.note_cut(self.row_of_whole(one), row, EVERYWHERE)


def written_in(events: Iterable[Event]) -> Iterator[tuple[Element, str]]:
    """Yield the elements of a page with each address in them, as it is written."""
    for event in events:
        if type(event) is Element:
            if not event.is_read:
                event.read()
            for _, _, address, _ in event.written:
                yield event, address


def call_of(events: list[Event], at: int, numbers: Container[str] = ()) -> int:
    """Return a hash of what a link is called, by its event, on a page of these *numbers*.

    These are what it and the elements in it are named, its texts, and what the element before it is
    named, all without numbers.  A spider may follow the links that are called "next", the one
    behind the number of its page, or that with the number after it.
    """
    element: Element = events[at]  # type: ignore[assignment]
    call = mix(element.call(), _before(events, at))
    depth, number = 1, at + 1
    while depth and number < len(events):
        event = events[number]
        number += 1
        if event is None:
            depth -= 1
        elif type(event) is Element:
            depth += 1
            call = mix(call, event.call())
        elif type(event) is Text and event.text:
            call = mix(call, hash_without_numbers(event.text))
            if _is_next(event.text, numbers):
                call = mix(call, 1)
    return call


def _is_next(text: str, numbers: Container[str]) -> bool:
    """Whether a text is the number after one of a page."""
    is_number = len(text) < MOST_DIGITS and text.isdecimal()
    return is_number and str(int(text) - 1) in numbers


def _before(events: list[Event], at: int) -> int:
    """Return a hash of the names of the element before one, or before one that begins with it.

    It is 0 if there is none, or if it is too long.
    """
    number = at - 1
    for _ in range(MOST_AROUND):
        while number >= 0 and type(events[number]) is Text:
            number -= 1
        if number < 0:
            return 0
        if events[number] is None:
            break
        number -= 1  # the element around
    last, depth = max(0, number - MOST_BEFORE), 0
    while number >= last:
        event = events[number]
        number -= 1
        if event is None:
            depth += 1
        elif type(event) is Element:
            depth -= 1
            if depth <= 0:
                return event.call() if depth == 0 else 0
    return 0
