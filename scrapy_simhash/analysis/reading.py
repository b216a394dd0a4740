"""What is read of a page: the blocks of its text, and its elements as they come."""

from __future__ import annotations

from typing import NamedTuple

# A block with at least this share of its characters in links is a menu entry, a breadcrumb or a
# "next" link (measured on such blocks: 0.8 to 1).  A list of operands that are links has 0.71.
LINK_SHARE = 0.8


class Block(NamedTuple):
    """The text of one block-level element and its id.

    *is_beside* says that the block is in a sidebar or the like, *is_links* that it consists of
    links, *is_heading* that it is in an ``h1``, *is_in_content* that it is in a ``main`` or
    ``article``.
    """

    text: str
    id: int
    is_beside: bool
    is_links: bool
    is_heading: bool = False
    is_in_content: bool = False


# What a walk meets, in order: an element with its attributes (names and values in turn); the end of
# an element; a text.
Event = tuple[str, tuple[str, ...]] | None | str
