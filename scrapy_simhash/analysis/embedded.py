"""Values in what scripts hold: JSON, state objects, and the literals of other code.

A value comes with the names under which it stands: of JSON the last :data:`MAX_NAMES`, of code the
one before it.  Positions in a list do not count: a list in another order holds the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from scrapy_simhash.analysis.engine import compiled

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
    for name, literal in literals(text):
        if literal[0] not in "\"'":
            yield (name,), literal
        elif '\\"' in literal and level < MAX_LEVELS:
            inner = literal[1:-1].replace('\\"', '"').replace("\\\\", "\\")
            for names, text_within in values_in_code(inner, level + 1):
                yield (name, *names), text_within
        else:
            yield (name,), literal[1:-1].replace("\\/", "/")


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
