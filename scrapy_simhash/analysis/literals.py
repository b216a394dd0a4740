# cython: annotation_typing=False, boundscheck=False, initializedcheck=False, binding=False
"""The literals of scripts and JSON, and the brackets in which they stand."""

from __future__ import annotations

from scrapy_simhash.analysis.events import MAX_NAME
from scrapy_simhash.hashes import add, mix

_MAX_NAME = MAX_NAME
# Of a hostile script, so many brackets are told apart.
MAX_NESTING = 1_000


def literals(code: str) -> list[tuple[str, str, str]]:
    """Return the literals of code: strings with their quotes, numbers and truths.

    Each has the name before it, and the code since the literal before.  An empty one is at the end.
    A string runs to the end of the code if its quote is missing, and a name or number begins where
    a word does: each character is read twice at most, however long a word is.

    >>> literals("a = 2; on('x', {y: true})")
    [('a', '2', 'a = '), ('a', "'x'", '; on('), ('y', 'true', ', {y: '), ('', '', '})')]
    """
    found = []
    name, at, since = "", 0, 0
    before = " "
    while at < len(code):
        character = code[at]
        if character in "\"'":
            end = _end_of_string(code, at)
            after = _past_spaces(code, end)
            if after < len(code) and code[after] == ":":
                name = code[at + 1 : min(end - 1, at + 1 + _MAX_NAME)]
                at = after + 1
            else:
                found.append((name, code[at:end], code[since:at]))
                at = since = end
        elif character != "-" and _is_of_word(before, "_"):
            at += 1
        else:
            word = _end_of_word(code, at, "_")
            if before != "$" and (after := _behind_name(code, at, word)):
                name = code[at : min(_end_of_word(code, word, "$"), at + _MAX_NAME)]
                at = after
            elif end := _end_of_number(code, at, word) or _end_of_truth(code, at, word):
                found.append((name, code[at:end], code[since:at]))
                at = since = end
            else:
                at = max(at + 1, word)
        before = code[at - 1]
    found.append(("", "", code[since:]))
    return found


def _past_spaces(code: str, at: int) -> int:
    while at < len(code) and code[at].isspace():
        at += 1
    return at


def _is_of_word(character: str, also: str) -> bool:
    """Whether a character may be in a word, which may have another one in it."""
    if character >= "\x80":  # two calls
        return character.isalnum()
    return (
        "a" <= character <= "z"
        or "A" <= character <= "Z"
        or "0" <= character <= "9"
        or character == "_"
        or character == also
    )


def _end_of_word(code: str, at: int, also: str) -> int:
    """Return where a word ends, which may have another character in it."""
    while at < len(code) and _is_of_word(code[at], also):
        at += 1
    return at


def _end_of_string(code: str, at: int) -> int:
    """Return where a string ends whose quote is at *at*: at the latest with the code."""
    quote = code[at]
    at += 1
    while at < len(code) and code[at] != quote:
        at += 2 if code[at] == "\\" else 1
    return min(at + 1, len(code))


def _behind_name(code: str, at: int, word: int) -> int:
    """Return what is behind a name at *at* and the ``:`` or ``=`` after it; 0 if none is there.

    *word* is where the word ends that begins there.
    """
    first = code[at]
    if not ("a" <= first <= "z" or "A" <= first <= "Z" or first in "_$"):
        return 0
    at = _past_spaces(code, _end_of_word(code, word, "$"))
    if at == len(code) or code[at] not in ":=":
        return 0
    return 0 if at + 1 < len(code) and code[at + 1] == "=" else at + 1


def _end_of_number(code: str, at: int, word: int) -> int:
    """Return where a number ends that begins at *at*, as a word does; 0 if none does."""
    if code[at] == "-":
        at = word = at + 1
    if at == len(code) or not (
        "0" <= code[at] <= "9" or (code[at] >= "\x80" and code[at].isdecimal())
    ):
        return 0
    return _end_of_word(code, word, ".")


def _end_of_truth(code: str, at: int, word: int) -> int:
    """Return where the word ends that begins at *at* if it is ``true`` or ``false``; 0 if not."""
    return word if code[at] in "tf" and code[at:word] in ("true", "false") else 0


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
