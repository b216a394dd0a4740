"""What is read of a page: the blocks of its text, and what its elements hold."""

from __future__ import annotations

from typing import Literal, NamedTuple

from scrapy_simhash.analysis.attributes import Kind

# A block with at least this share of its characters in links is a menu entry, a breadcrumb or a
# "next" link (measured on such blocks: 0.8 to 1).  A list of operands that are links has 0.71.
LINK_SHARE = 0.8
# So many of the named elements around one tell where it is: a rotating box has a name of its own.
NAMED_AROUND = 3
# A longer text names nothing.
MAX_IDENTIFIER = 200


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


class Finding(NamedTuple):
    """What one element holds: an attribute, or the code of a script.

    *name* and *value* are those of the attribute; a script has its code as value.  *aside* is what
    else tells what it is: the ``rel`` of a link, the ``name`` of a field, the ``content`` of a
    property, the ``type`` of a script; of an identifier, what it says, cut after
    :data:`MAX_IDENTIFIER` characters and one.  *around* are tag, class, id and role of the nearest
    elements that have names, itself included, outermost first.  *is_beside* says that the element
    is beside the content.
    """

    kind: Kind | Literal["script", "identifier"]
    tag: str
    name: str
    value: str
    aside: str | None
    around: tuple[str, ...]
    is_beside: bool
