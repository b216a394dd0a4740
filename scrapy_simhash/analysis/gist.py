"""The words and numbers of a page with little text: what the next page of a calendar varies.

A page of a calendar differs from all others, and says nothing: its words come from a small set, and
its numbers are those of its address, or count up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from scrapy_simhash.rule.hashes import hash_of

# A page with more has text of its own.  A month with 31 days has about 300 characters and 20
# different words, one with a form for each day about 1,500 and 40.
MAX_CHARACTERS = 3_000
MAX_WORDS = 200
MAX_NUMBERS = 200
# A longer number is a word: no date has one.
MAX_DIGITS = 8

_RUN = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"(\d+)(?:st|nd|rd|th)?")
_PART = re.compile(r"\d+|\D+")


class Gist(NamedTuple):
    """The *words* of a page, as 32-bit hashes, and its *numbers* in order, unless they count up."""

    words: frozenset[int]
    numbers: tuple[int, ...]


def gist_of(texts: Iterable[str]) -> Gist | None:
    """Return the gist of these texts together; None if they are empty, or there is too much.

    >>> gist_of(["May 2031", "28 29 30 1 2 3 4", "at 19:30"]).numbers
    (2031, 19, 30)
    """
    text = "\n".join(texts)
    if not text or len(text) > MAX_CHARACTERS:
        return None
    runs = _RUN.findall(text.casefold())
    words = {run for run in runs if run.isalpha()}
    if len(words) > MAX_WORDS:
        return None
    numbers: list[int] = []
    for part in chain.from_iterable(_parts(run) for run in runs if not run.isalpha()):
        if part.isdecimal() and len(part) <= MAX_DIGITS:
            numbers.append(int(part))
        else:
            words.add(part)
    if len(words) > MAX_WORDS:
        return None
    left = tuple(_not_counting(numbers))
    return None if len(left) > MAX_NUMBERS else Gist(frozenset(map(hash_of, words)), left)


def numbers_in(text: str) -> Iterator[int]:
    """Yield the numbers in a text, such as an address, as those of a gist are written."""
    for digits in re.findall(r"\d+", text):
        if len(digits) <= MAX_DIGITS:
            yield int(digits)


def _parts(run: str) -> Iterable[str]:
    """Return the words and numbers of a run of letters and digits: "12th" is a number, "b12" none.

    In scripts without spaces, whose letters have no case, a number stands between words.
    """
    if (number := _NUMBER.fullmatch(run)) is not None:
        return (number[1],)
    return (run,) if any(map(str.islower, run)) else _PART.findall(run)


def _not_counting(numbers: list[int]) -> Iterator[int]:
    """Yield the numbers that neither follow the one before nor come before the next, by one."""
    for at, number in enumerate(numbers):
        follows = at > 0 and numbers[at - 1] + 1 == number
        leads = at + 1 < len(numbers) and number + 1 == numbers[at + 1]
        if not follows and not leads:
            yield number
