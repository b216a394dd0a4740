# cython: annotation_typing=False, boundscheck=False, initializedcheck=False, binding=False
"""The open elements while the values of a page are read, and their small children."""

from __future__ import annotations

from scrapy_simhash.analysis.blocks import Event
from scrapy_simhash.analysis.events import Element, Tag
from scrapy_simhash.decision.differences import Place

# More elements beside the content in one depth belong to records.
MOST_SIDEBARS = 3


def beside_the_content(events: list[Event]) -> set[int]:
    """Return the numbers of the headers, footers and asides that are those of the page.

    They are outside of a content element, and less deep than all others of their tag: a card or a
    section may have its own.  Of sidebars, there are up to :data:`MOST_SIDEBARS`.
    """
    depth, content = 0, -1
    least: dict[str, int] = {}
    found: dict[str, list[int]] = {}
    for at, event in enumerate(events):
        if event is None:
            depth -= 1
            if depth == content:
                content = -1
        elif type(event) is Element:
            kind = event.kind
            if content < 0 and kind.is_beside and not kind.is_nav:
                if depth < least.get(kind.name, 1 << 30):
                    least[kind.name] = depth
                    found[kind.name] = []
                if depth == least[kind.name]:
                    found[kind.name].append(at)
            elif content < 0 and kind.is_content:
                content = depth
            depth += 1
    beside: set[int] = set()
    for name, numbers in found.items():
        if len(numbers) <= (MOST_SIDEBARS if name == "aside" else 1):
            beside.update(numbers)
    return beside


class Unit:
    """A small child of an element: its value and place, and where it is on the page.

    *at* and *end* are the numbers of its first event and of the one behind it, *first* and *last*
    the same of its addresses.  *is_spaced*: what is shown of it has a space.
    *shape* is a hash of its elements, with their names, but without what they say.
    """

    def __init__(
        self, value: int, kind: Tag | None, place: int, at: int, end: int, first: int, last: int
    ) -> None:
        self.value = value
        self.shape = 0
        self.place = place
        self.is_spaced = False
        self.at, self.end = at, end
        self.first, self.last = first, last
        self.is_heading = kind is not None and kind.is_heading
        self.is_free = kind is not None and kind.is_free
        self.is_meta = kind is not None and kind.is_meta


class Frame:
    """An open element; one that has ended serves for another."""

    def begin(self, element: Element, parent: Frame | None, at: int, address: int) -> None:
        """Stand for an element from now on; see the fields."""
        self.element = element
        self.kind = element.kind
        self.at, self.address = at, address  # its event, and the first of its addresses
        self.is_block = element.kind.is_block
        self.is_nothing = element.kind.is_nothing
        # Where it is, with its own names: what changes there; and without: what may stand there.
        self.place = self.outer = 0
        self.attributes = 0  # their hash, 0 if there are none
        self.size = 0  # bytes of text
        self.is_big = self.is_code = self.is_cut = False
        self.is_apart = element.kind.is_apart
        # The run: a hash, its bytes, its first event and address, -1 if there is none.
        self.run = self.run_size = 0
        self.run_at = self.run_address = -1
        # What is shown so far of the run, and of the small children: how many texts and elements,
        # and whether there is a space in one.
        self.run_shown = self.shown = 0
        self.run_is_spaced = self.is_spaced = False
        # Whether a space is behind it so far; its shape: that of a title if all of it is bold.
        self.is_run_apart = False
        self.run_shape = 0
        # How it is built: what it begins with; of a row, also how many cells it has.
        self.built = 0
        # The chain so far, its number if it has one yet, and the last value in it by itself; what
        # it begins after, and the first value of all, by their numbers.
        self.chain = self.last = self.first = 0
        self.chain_number = self.base = self.first_number = -1
        # The addresses before all that is said in it, and what they are in; -1 if there are none.
        self.waiting = self.waiting_end = -1
        self.waiting_in = 0
        # What a value in it belongs to: the last heading, or what is before the first long child.
        # What it begins with, by which it is told apart: that, and its first long child.
        self.record = self.title = 0
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.is_titled = self.has_links = False
        # The number and hash of the long text, or big child, that is the last child so far.
        self.long_number = self.long_at = -1
        self.long = 0
        # The sum of what has no order; all of it in order; the shape of the first, and whether
        # others have another one: then they have an order.
        self.items = self.in_order = self.shape = 0
        # What small children before them are no parts of it, as headings among rows.
        self.heads = 0
        # All small children in order; the sum of all others, and how many they are; whether
        # something small is in one of these.
        self.smalls = self.others = self.parts = 0
        self.has_small_parts = False
        self.are_unlike = False
        # Children one after the other at one place, each with addresses, are a list: its place, the
        # first address of the last, and what all of them are behind.
        self.listed = self.listed_near = 0
        self.listed_address = -1
        # Small children, while the element is small itself; None if there are none.
        self.units: list[Unit] | None = None
        if parent is None:
            # The hashes of the three nearest named elements, and the event of the nearest.
            self.near = self.far = self.farthest = 0
            self.named_at = -1
            self.is_beside = self.is_content = self.is_link = self.is_get = self.is_noise = False
            self.is_spaced_text = self.is_in_head = False
            self.boxes: tuple[Place, ...] = ()  # the places of the elements around, and its own
            self.control = ""
            return
        self.near, self.far, self.farthest = parent.near, parent.far, parent.farthest
        self.named_at = parent.named_at
        self.is_beside = parent.is_beside
        self.is_content = parent.is_content
        self.is_link = parent.is_link
        self.is_get = parent.is_get
        self.is_noise = parent.is_noise
        self.is_in_head = parent.is_in_head or element.kind.is_head
        self.is_spaced_text = parent.is_spaced_text or element.kind.is_spaced
        self.boxes = parent.boxes
        self.control = parent.control
