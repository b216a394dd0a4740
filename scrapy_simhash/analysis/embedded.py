"""Values in what scripts hold: JSON, state objects, and the literals of other code.

A value comes with the names under which it stands: of JSON the last :data:`MAX_NAMES`, of code the
one before it.  Positions in a list do not count: a list in another order holds the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

# JSON in a string in a script, and once more in that.
MAX_LEVELS = 3
# Of the names that lead to a value, the last ones count, and their beginnings: half a megabyte of
# name before each of 200,000 values took 31 s.
MAX_NAMES = 8
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


# The names that lead to a value, and the value as text.
Value = tuple[tuple[str, ...], str]


def values_in_json(text: str) -> Iterator[Value] | None:
    """Return the values of a JSON document; None if it is none."""
    try:
        return _members(json.loads(text))
    except (ValueError, RecursionError):
        return None


def values_in_code(text: str, level: int = 1) -> Iterator[Value]:
    """Yield the literals of JavaScript or of any text like it; of a string with code, its own."""
    name = ""
    for token in _TOKEN.finditer(text):
        string, is_name, identifier, number, word = token.groups()
        if identifier is not None:
            name = identifier[:MAX_NAME]
        elif string is None:
            yield (name,), number or word
        elif is_name:
            name = string[1:-1][:MAX_NAME]
        elif '\\"' in string and level < MAX_LEVELS:
            inner = string[1:-1].replace('\\"', '"').replace("\\\\", "\\")
            for names, text_within in values_in_code(inner, level + 1):
                yield (name, *names), text_within
        else:
            yield (name,), string[1:-1].replace("\\/", "/")


def _members(document: object) -> Iterator[Value]:
    waiting: list[tuple[tuple[str, ...], object]] = [((), document)]
    while waiting:
        names, one = waiting.pop()
        if isinstance(one, dict):
            waiting += [
                ((*names, name[:MAX_NAME])[-MAX_NAMES:], member) for name, member in one.items()
            ]
        elif isinstance(one, list):
            waiting += [(names, member) for member in one]
        elif isinstance(one, str):
            yield names, one
        elif one is not None:
            yield names, json.dumps(one)
