"""The literals of code: of scripts, state objects, and any text like them."""

from __future__ import annotations

import re

from scrapy_simhash.analysis.fingerprint import compiled

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
