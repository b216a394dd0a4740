# cython: annotation_typing=False, boundscheck=False, initializedcheck=False, binding=False
"""The literals of scripts and JSON, and the brackets in which they stand."""

from __future__ import annotations

import re
from typing import NamedTuple

from scrapy_simhash.analysis.events import MAX_NAME
from scrapy_simhash.analysis.fingerprint import compiled
from scrapy_simhash.hashes import add, mix

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

# Of a hostile script, so many brackets are told apart.
MAX_NESTING = 1_000


class Literal(NamedTuple):
    """A string in quotes, a number or a truth in code, with the *name* before it.

    *between* is the code since the literal before.
    """

    name: str
    text: str
    between: str


def literals(code: str) -> list[Literal]:
    """Return the literals of code, and an empty one at its end, by the compiled module if built.

    >>> [(one.name, one.text, one.between) for one in literals("a = 2; on('x', {y: true})")]
    [('a', '2', 'a = '), ('a', "'x'", '; on('), ('y', 'true', ', {y: '), ('', '', '})')]
    """
    if compiled is not None:
        return [*map(Literal._make, compiled.literals(code, MAX_NAME))]
    found = []
    name, since = "", 0
    for token in _TOKEN.finditer(code):
        string, is_name, identifier, number, word = token.groups()
        if identifier is not None:
            name = identifier[:MAX_NAME]
        elif is_name:
            name = string[1:-1][:MAX_NAME]
        else:
            found.append(Literal(name, string or number or word, code[since : token.start()]))
            since = token.end()
    return [*found, Literal("", "", code[since:])]


class Brackets:
    """The brackets of code that are open, and what belongs together in each.

    What stands behind an inner bracket belongs to what is in it, as the price in
    ``{"options": {"size": "S"}, "price": 39}``.  Of a list, objects have no order, nor have the
    statements of a script; arrays do, and objects or calls with one literal, as in ``[[1], [2]]``.
    """

    def __init__(self) -> None:
        # Of each: what is before in it and in those around; the sum of its parts; if it is a list;
        # how many literals are in it.
        self.before = [0]
        self._parts = [0]
        self._are_lists = [True]
        self._sizes = [0]
        # Its number; by number the one around it, all that is in it, and the names in it.
        self._open = [0]
        self._around = [0]
        self._wholes = [0]
        self._names = [0]

    def read(self, code: str) -> None:
        """Open and close what code without literals does."""
        last = len(self.before) - 1
        for character in code:
            if character in "([{":
                if last < MAX_NESTING:
                    self.before.append(self.before[last])
                    self._parts.append(0)
                    self._are_lists.append(character == "[")
                    self._sizes.append(0)
                    self._around.append(self._open[last])
                    self._open.append(len(self._wholes))
                    self._wholes.append(0)
                    self._names.append(0)
                    last += 1
            elif character in ")]}" and last:
                whole = mix(self.before.pop(), self._parts.pop())
                is_ordered = self._are_lists.pop()
                size = self._sizes.pop()
                self._wholes[self._open.pop()] = whole
                last -= 1
                self._sizes[last] += size
                if self._are_lists[last] and size > 1 and not is_ordered:
                    self._parts[last] = add(self._parts[last], whole)
                else:
                    self.before[last] = mix(self.before[last], whole)

    def add(self, value: int) -> int:
        """Add a literal to the innermost bracket; return what was before in it."""
        last = len(self.before) - 1
        before = self.before[last]
        self.before[last] = mix(before, value)
        self._sizes[last] += 1
        return before

    def name(self, value: int) -> int:
        """Name what is in the innermost bracket; return the number of that."""
        bracket = self._open[-1]
        self._names[bracket] = mix(self._names[bracket], value)
        return bracket

    def wholes(self) -> list[int]:
        """Return what tells each bracket from others: all in it and in those around it.

        The first is all that was read.
        """
        whole = mix(self.before[0], self._parts[0])
        found = [whole]
        for bracket in range(1, len(self._wholes)):
            around = self._around[bracket]
            held = mix(self._wholes[bracket], self._names[bracket])
            found.append(mix(found[around] if around else 0, held))
        return found


def without_quotes(literal: str) -> str:
    """Return a string without its quotes."""
    return literal[1:-1].replace("\\/", "/") if literal[:1] in ('"', "'") else literal
