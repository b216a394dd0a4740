"""A page's content: its visible text without the blocks that the site repeats or that only link.

This is the second view of a page; the first is the main text that the extractor finds.  An
extractor may keep only a note that other pages share, or a whole menu.  The content holds all text
that is the page's own.  docs/quality.md gives the measured gain of each rule.

The gist of a page with little text is its words and numbers: what the next page of a calendar
varies.  Such a page differs from all others, and says nothing: its words come from a small set, and
its numbers are those of its address, or count up.
"""

from __future__ import annotations

import marshal
import re
import zlib
from array import array
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from scrapy_simhash.analysis.blocks import Block
from scrapy_simhash.analysis.events import MARK
from scrapy_simhash.analysis.features import normalise, shingles, unspaced_share
from scrapy_simhash.analysis.fingerprint import compiled, hash_feature, hash_features, majority
from scrapy_simhash.decision.sketch import MOST_SAMPLES, sketch_of
from scrapy_simhash.hashes import hash_of

# If the blocks in place that are not links hold less than this share of the page's own text in
# place, the page is a list of links (tags, archives, pagination), and its link blocks count too.
LEAST_SHARE = 0.2
# With fewer shingles in texts, links count as well: a heading above child links says little, and
# took 7 of 30 dropped pages of one site for another section.
LEAST_SHINGLES = 20

SHINGLE_WORDS = 3
SHINGLE_CHARACTERS = 5  # in scripts without spaces, where a word is one or two characters
UNSPACED_SHARE = 0.15

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


@dataclass(frozen=True, slots=True)
class Content:
    """A page's content in the form that an index stores.

    *fingerprint* is the simhash of its shingles, *sketch* a sample of them
    (:mod:`scrapy_simhash.decision.sketch`), *blocks* the ids of all blocks of the page.
    *heading* is the hash of what heads the page, None if nothing does.
    """

    fingerprint: int
    sketch: bytes
    blocks: tuple[int, ...]
    heading: int | None = None


def content_of(
    blocks: list[Block], template: Collection[int] = (), title: str = ""
) -> Content | None:
    """Return the content of a page, or None if there is none.

    *template* holds the ids of the blocks that the site is known to repeat.  What is in place
    beside them is the content.  A page that has nothing else in place is judged by its *title* and
    by its template: a sidebar or an advertisement is never the content of a page.
    """
    ids = tuple({block.id: None for block in blocks})
    in_place = [block for block in blocks if block.id not in template and not block.is_beside]
    if in_place:
        found = _shingles_in_place(in_place)
    else:
        repeated = [block for block in blocks if block.id in template]
        titled = Block(title, hash_feature(title), is_beside=False, is_links=False)
        found = _shingles_of([titled, *(repeated or blocks)])
    if not found.size:
        return None
    sketch = sketch_of(found.lowest, found.hidden, found.total)
    return Content(found.fingerprint, sketch, ids, _heading_of(blocks))


def _heading_of(blocks: list[Block]) -> int | None:
    """Return the hash of the headings of a page, None if it has none.

    All of them count, since the first may be the name of the site.  They count if they are
    template, too: where each page has a menu of all pages, every heading is.
    """
    headings = [block.text for block in blocks if block.is_heading and not block.is_beside]
    return hash_feature("\n".join(headings)) if headings else None


def pack_source(blocks: list[Block], title: str, state: Any) -> bytes:
    """Return what :func:`content_of` needs of a page, and a state of its values, compressed.

    A state has two parts.  The first is hashes, which would not get smaller, as the ids of blocks:
    to leave both as they are takes half of the time.
    """
    hashes, rest = state
    texts, ids, *flags = zip(*blocks, strict=True) if blocks else ((), ())
    packed = zlib.compress(marshal.dumps((title, rest, texts, *flags)), 1)
    return marshal.dumps((packed, hashes, array("Q", ids).tobytes()))


def unpack_source(source: bytes) -> tuple[list[Block], str, Any]:
    """Return the blocks, the title and the state that :func:`pack_source` packed."""
    packed, hashes, ids = marshal.loads(source)  # noqa: S302 - our own
    title, rest, texts, *flags = marshal.loads(zlib.decompress(packed))  # noqa: S302
    blocks = map(Block._make, zip(texts, array("Q", ids), *flags, strict=True))
    return list(blocks), title, (hashes, rest)


class Shingles(NamedTuple):
    """The different shingles of some blocks: their simhash, the sum of their hashes, their number.

    *lowest* are the lowest :data:`~.sketch.MOST_SAMPLES` hashes, in order, each with the id of the
    first block that has it, *hidden* are those of these that the page does not show.
    """

    fingerprint: int
    total: int
    size: int
    lowest: dict[int, int]
    hidden: set[int]


def _shingles_in_place(in_place: list[Block]) -> Shingles:
    """Return the shingles of the blocks in place: without links, if that leaves enough text."""
    texts = [block for block in in_place if not block.is_links]
    if _length(texts) >= LEAST_SHARE * _length(in_place):
        found = _shingles_of(texts)
        if found.size >= LEAST_SHINGLES:
            return found
    return _shingles_of(in_place)


def _shingles_of(blocks: list[Block]) -> Shingles:
    """Return the shingles of *blocks*, by the compiled module if it is built."""
    texts = [normalise(block.text) for block in blocks]
    if compiled is None:
        return _reference_shingles(blocks, texts)
    fingerprint, total, count, lowest_ones = compiled.sample_runs(
        [(text, _is_unspaced(text)) for text in texts],
        SHINGLE_WORDS,
        SHINGLE_CHARACTERS,
        MOST_SAMPLES,
    )
    ids = {value: blocks[number].id for value, number, _ in lowest_ones}
    hidden = {value for value, _, is_hidden in lowest_ones if is_hidden}
    return Shingles(fingerprint, total, count, ids, hidden)


def _reference_shingles(blocks: list[Block], texts: list[str]) -> Shingles:
    found: dict[int, tuple[int, bool]] = {}
    for block, text in zip(reversed(blocks), reversed(texts), strict=True):
        runs = text_shingles(text)
        hidden = [(block.id, MARK in run) for run in runs]
        found.update(zip(hash_features(runs), hidden, strict=True))
    lowest = {value: found[value] for value in sorted(found)[:MOST_SAMPLES]}
    return Shingles(
        majority(list(found)),
        sum(found) % (1 << 64),
        len(found),
        {value: block for value, (block, _) in lowest.items()},
        {value for value, (_, is_hidden) in lowest.items() if is_hidden},
    )


def _length(blocks: list[Block]) -> int:
    return sum(len(block.text) for block in blocks)


def text_shingles(text: str) -> list[str]:
    """Return the shingles of one block: runs of words as they are written, or of characters.

    Punctuation counts: in a reference, ``a[i]`` is not ``a(i)``.  Each word is in the middle of
    one run, so a table of single words weighs as much as a sentence of the same length.

    >>> text_shingles("size: 1 dword.")
    [' size: 1', 'size: 1 dword.', '1 dword. ']
    >>> text_shingles("网页去重方法")
    ['网页去重方', '页去重方法']
    """
    words = text.split()
    if _is_unspaced(text):
        characters = "".join(words)
        runs = range(max(1, len(characters) - SHINGLE_CHARACTERS + 1))
        return [characters[i : i + SHINGLE_CHARACTERS] for i in runs]
    return shingles(["", *words, ""], SHINGLE_WORDS) if words else []


def _is_unspaced(text: str) -> bool:
    """Whether more than 15 % of a text's characters are in scripts without spaces."""
    return unspaced_share(text) > UNSPACED_SHARE


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

    In scripts without spaces, whose letters have no case, a number is between words.
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
