"""The literals of code are those that a pattern finds, compiled or not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_simhash.analysis import literals as module
from scrapy_simhash.analysis.events import MAX_NAME
from scrapy_simhash.analysis.literals import literals
from tests.pages import in_python

IN_PYTHON = in_python(module)
TOKEN = re.compile(
    r"""
    ("(?:[^"\\]|\\[\s\S]?)*(?:"|\Z)|'(?:[^'\\]|\\[\s\S]?)*(?:'|\Z))(\s*:)?  # a string, or a name
    | (?<![\w$])([A-Za-z_$][\w$]*)\s*[:=](?![=])                           # a name
    | (-?\b\d[\w.]*) | \b(true|false)\b
    """,
    re.VERBOSE,
)

# Where literals and names begin and end: digits and spaces of many scripts, half a pair.
PIECES = [
    *("true", "false", "a", "t", "_", "$", "0", "1.5e3", "-", ".", ":", "=", "==", " ", "\n", "\t"),
    *('"', "'", "\\", "\\\\", '\\"', "/", ",", "{", "\x00", "\x1f", "\u00a0", "\u0663", "\u00b2"),
    *("\u00df", "\u0661", "\u4e00", "\U0001d7d8", "\ud800", "n" * 99, "name"),
]
CODE = st.lists(st.one_of(st.sampled_from(PIECES), st.characters(codec=None)), max_size=40)


def by_the_pattern(code: str) -> list[tuple[str, str, str]]:
    found = []
    name, since = "", 0
    for token in TOKEN.finditer(code):
        string, is_name, identifier, number, word = token.groups()
        if identifier is not None:
            name = identifier[:MAX_NAME]
        elif is_name:
            name = string[1:-1][:MAX_NAME]
        else:
            found.append((name, string or number or word, code[since : token.start()]))
            since = token.end()
    return [*found, ("", "", code[since:])]


@given(CODE.map("".join))
def test_literals_are_found_the_same(code: str) -> None:
    assert literals(code) == IN_PYTHON.literals(code) == by_the_pattern(code)


# The other planes have no characters yet, or private ones: their beginnings stand for them.
PLANES = [(0, 0x10000), (0x10000, 0x34000), (0xE0000, 0xE1000)]
EMPTY_PLANES = [(plane << 16, (plane << 16) + 0x1000) for plane in (4, 13, 15, 16)]


@pytest.mark.parametrize(
    ("first", "end"),
    [PLANES[0], *(pytest.param(*p, marks=pytest.mark.long) for p in PLANES[1:]), *EMPTY_PLANES],
)
def test_every_character_is_read_the_same(first: int, end: int) -> None:
    for start in range(first, end, 0x1000):
        page = map(chr, range(start, start + 0x1000))
        code = "".join(f"1{one}2 {one}3 {one}=4 a{one}:5 true{one} " for one in page)
        assert literals(code) == by_the_pattern(code)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("a = 1; b: 'x'", [("a", "1"), ("b", "'x'")]),
        ("a == 1", [("", "1")]),
        ('"a" : -2.5px', [("a", "-2.5px")]),
        ("$b=true; xtrue, trues, $c false", [("$b", "true"), ("$b", "false")]),
        ("a1 b-2 c$3", [("", "-2"), ("", "3")]),
        (r'x = "a\"b" + "open', [("x", r'"a\"b"'), ("x", '"open')]),
        ('"\\', [("", '"\\')]),
        (f"{'n' * 200}: 1, '{'m' * 200}': 2", [("n" * MAX_NAME, "1"), ("m" * MAX_NAME, "2")]),
    ],
)
def test_literals_come_after_their_names(code: str, found: list[tuple[str, str]]) -> None:
    assert literals(code) == by_the_pattern(code)
    assert [(name, text) for name, text, _ in literals(code)] == [*found, ("", "")]


@given(CODE.map("".join))
def test_all_of_a_script_is_in_its_literals_and_between_them(code: str) -> None:
    assert "".join(between + text for _, text, between in literals(code)) == code
