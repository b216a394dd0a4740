# cython: annotation_typing=False, boundscheck=False, initializedcheck=False, binding=False
"""The blocks of a page's text, and where they are.

A block is the text of a block-level element, or a part of it before, between or behind others::

    <div>Oak <b>bench</b><p>39 EUR</p></div>        "Oak bench", "39 EUR"
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from scrapy_simhash.analysis.events import Element, Text, is_named_menu
from scrapy_simhash.hashes import long_hash_of

# What a page without scripts shows is read where the page shows less than this without them, and
# there is at least as much of it: else it asks to switch them on.  In characters.
LEAST_SHOWN = 250

# A block with at least this share of its characters in links is a menu entry, a breadcrumb or a
# "next" link (measured on such blocks: 0.8 to 1).  A list of operands that are links has 0.71.
LINK_SHARE = 0.8

# An element that is named as a menu is one if at least this share of its characters is in links.
MENU_LINK_SHARE = 0.5


class Block(NamedTuple):
    """The text of one block-level element and its id.

    *is_beside* says that the block is in a sidebar or the like, *is_links* that it consists of
    links, *is_heading* that it is in an ``h1``.
    """

    text: str
    id: int
    is_beside: bool
    is_links: bool
    is_heading: bool = False


class Outline(NamedTuple):
    """Where the blocks of a page are: its *sections*, and of each block the *place*.

    A section is a block-level element that holds a block: the number of the section around it, -1
    for the first, and its tag, class and id with a space between two, up to MAX_REMEMBERED
    characters.  A place is the number of the innermost section and the share of the block's
    characters that are in links.
    """

    sections: list[tuple[int, str]]
    places: list[tuple[int, float]]


# An element, its end, a text, code.
Event: TypeAlias = "Element | Text | str | None"


class Walked(NamedTuple):
    """What a walk over a page read: its blocks, what it met, and where the blocks are."""

    blocks: list[Block]
    events: list[Event]
    outline: Outline


NOTHING = Walked([], [], Outline([], []))


def blocks_of(events: list[Event]) -> Walked:
    """Return the blocks of a page, in order; those without text are left out.

    On a page that shows next to nothing without scripts, as some forums do, the blocks are those in
    ``noscript``.  Cost: O(events), and O(depth) for each element that is named like something
    beside the content.
    """
    reader = _BlockReader(events)
    reader.read()
    blocks, places = reader.chosen()
    return Walked(blocks, events, Outline(reader.sections, places))


class _BlockReader:
    """One walk: what is open, the texts of the block so far, and what was found."""

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.sections = [(-1, "")]
        # The blocks that the page shows, and those in noscript; there, the other way round.
        self.blocks: list[Block] = []
        self.places: list[tuple[int, float]] = []
        self.other_blocks: list[Block] = []
        self.other_places: list[tuple[int, float]] = []
        self.shown = self.other_shown = 0
        self.in_other = False
        # The open elements, and the numbers of their sections: -1 if they have none yet, -2 if they
        # are not block-level.
        self.open: list[Element] = []
        self.numbers: list[int] = []
        self.texts: list[Text] = []
        self.in_links = self.links = self.contents = self.headings = 0
        # The depths of the outermost open elements of these kinds, -1 if there is none.
        self.beside = self.unseen = self.noscript = -1

    def read(self) -> None:
        for at, event in enumerate(self.events):
            if event is None:
                self._close()
            elif type(event) is Element:
                self._open(event, at)
            elif type(event) is Text and self.unseen < 0:
                self._say(event)
        self._finish()

    def chosen(self) -> tuple[list[Block], list[tuple[int, float]]]:
        """Return the blocks that count, with their places."""
        if self.shown < LEAST_SHOWN <= self.other_shown:
            return self.other_blocks, self.other_places
        return self.blocks, self.places

    def _open(self, element: Element, at: int) -> None:
        kind = element.kind
        depth = len(self.open)
        if kind.is_block:
            if self.texts:
                self._finish()
            self.contents += kind.is_content
            self.headings += kind.is_first_heading
            if self.beside < 0 and self._begins_beside(element, at):
                self.beside = depth
        elif kind.is_anchor:
            self.links += 1
        if kind.is_unseen and self.unseen < 0:
            if kind.is_noscript and self.noscript < 0:
                self.noscript = depth
            else:
                self.unseen = depth
        self.open.append(element)
        self.numbers.append(-1 if kind.is_block else -2)

    def _close(self) -> None:
        depth = len(self.open) - 1
        kind = self.open[depth].kind
        if kind.is_block:
            if self.texts:
                self._finish()
            self.contents -= kind.is_content
            self.headings -= kind.is_first_heading
        elif kind.is_anchor:
            self.links -= 1
        self.open.pop()
        self.numbers.pop()
        if self.beside == depth:
            self.beside = -1
        if self.unseen == depth:
            self.unseen = -1
        if self.noscript == depth:
            if self.in_other:
                self._change_sides()
            self.noscript = -1

    def _begins_beside(self, element: Element, at: int) -> bool:
        """Whether a block-level element begins what is beside the content."""
        kind = element.kind
        if kind.is_beside:
            return self.contents == 0 or bool(kind.is_nav)
        if kind.is_never_beside:
            return False
        if element.is_beside_by_role:
            return True
        if not element.class_names or not element.is_named_beside(self.contents > 0):
            return False
        return not self._holds_content(element, at)

    def _holds_content(self, element: Element, at: int) -> bool:
        """Whether the content is in an element: then that is not beside it, whatever its name.

        What is named as a menu, and hardly links, is content itself.
        """
        depth = shown = linked = 0
        link = -1  # the depth of the open one
        for number in range(at + 1, len(self.events)):
            event = self.events[number]
            if event is None:
                depth -= 1
                if depth < 0:
                    break
                if depth == link:
                    link = -1
            elif type(event) is Element:
                found = event
                if found.kind.is_first_heading or found.kind.is_main:
                    return True
                if link < 0 and found.kind.is_anchor:
                    link = depth
                depth += 1
            elif type(event) is Text:
                text = event
                shown += text.shown
                if link >= 0:
                    linked += text.shown
        return linked < MENU_LINK_SHARE * shown and is_named_menu(element.class_names)

    def _say(self, text: Text) -> None:
        if self.noscript >= 0 and not self.in_other:
            if not text.text:
                return
            self._change_sides()
        if text.text or self.texts:
            self.texts.append(text)
            if self.links:
                self.in_links += text.shown

    def _change_sides(self) -> None:
        self._finish()
        self.blocks, self.other_blocks = self.other_blocks, self.blocks
        self.places, self.other_places = self.other_places, self.places
        self.shown, self.other_shown = self.other_shown, self.shown
        self.in_other = not self.in_other

    def _finish(self) -> None:
        """Make the texts so far a block."""
        texts = self.texts
        if not texts:
            return
        first = texts[0]
        text, number, shown = first.text, first.number, first.shown
        if len(texts) > 1:
            pieces = [text]
            is_apart = first.ends_apart
            for one in texts[1:]:
                if not one.text:
                    is_apart = True
                    continue
                if is_apart or one.begins_apart:
                    pieces.append(" ")
                pieces.append(one.text)
                is_apart = one.ends_apart
                shown += one.shown
            if len(pieces) > 1:
                text = "".join(pieces)
                number = long_hash_of(text)
        is_links = self.in_links >= LINK_SHARE * shown
        # Without the call of its own __new__, which Python runs.
        block = tuple.__new__(Block, (text, number, self.beside >= 0, is_links, self.headings > 0))
        self.blocks.append(block)
        self.places.append((self._section(), self.in_links / shown))
        self.shown += shown
        self.texts = []
        self.in_links = 0

    def _section(self) -> int:
        """Return the number of the innermost open section; number those that have none."""
        numbers = self.numbers
        at = len(numbers) - 1
        while at >= 0 and numbers[at] < 0:
            at -= 1
        number = numbers[at] if at >= 0 else 0
        for inner in range(at + 1, len(numbers)):
            if numbers[inner] == -1:
                element = self.open[inner]
                self.sections.append((number, element.outline()))
                number = numbers[inner] = len(self.sections) - 1
        return number
