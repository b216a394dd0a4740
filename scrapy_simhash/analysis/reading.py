"""What is read of a page: the blocks of its text, its elements, and the literals of its code."""

from __future__ import annotations

import re
from typing import NamedTuple

from scrapy_simhash.analysis.fingerprint import compiled

# A block with at least this share of its characters in links is a menu entry, a breadcrumb or a
# "next" link (measured on such blocks: 0.8 to 1).  A list of operands that are links has 0.71.
LINK_SHARE = 0.8

# All browsers and servers accept URLs of up to about this length (RFC 9110, section 4.1, asks for
# 8,000 bytes).  A longer one is not a real address, and is ignored.
MAX_ADDRESS = 8_000

# Of a name, its beginning counts: half a megabyte of name before each of 200,000 values took 31 s.
MAX_NAME = 100

# A string runs to the end of the text where its quote is missing, and a name begins where a word
# does: each character is read once.  With names within words, a word of 46 KB took 11 s.
_TOKEN = re.compile(
    r"""
    ("(?:[^"\\]|\\[\s\S]?)*(?:"|\Z)|'(?:[^'\\]|\\[\s\S]?)*(?:'|\Z))(\s*:)?  # a string, or a name
    | (?<![\w$])([A-Za-z_$][\w$]*)\s*[:=](?![=])                           # a name
    | (-?\b\d[\w.]*) | \b(true|false)\b
    """,
    re.VERBOSE,
)


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


# What a walk meets, in order: an element with its attributes (names and values in turn); the end of
# an element; a text.
Event = tuple[str, tuple[str, ...]] | None | str


def literals(text: str) -> list[tuple[str, str]]:
    """Return each literal of code after the name before it, by the compiled module if it is built.

    >>> literals("size = 2; on('click', {again: true})")
    [('size', '2'), ('size', "'click'"), ('again', 'true')]
    """
    if compiled is not None:
        return compiled.literals(text, MAX_NAME)  # type: ignore[no-any-return]
    found = []
    name = ""
    for token in _TOKEN.finditer(text):
        string, is_name, identifier, number, word = token.groups()
        if identifier is not None:
            name = identifier[:MAX_NAME]
        elif is_name:
            name = string[1:-1][:MAX_NAME]
        else:
            found.append((name, string or number or word))
    return found
