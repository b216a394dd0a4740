# cython: annotation_typing=False, binding=False
"""What a page's values keep where something changes by itself: the cuts of each place."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from scrapy_simhash.hashes import hash_of, long_hash_of, mix

# What of a value changed: everything; a parameter or segment of an address, or words of one (a
# part, a piece); what is between the beginning and the end of a text; so many words, between so
# many before and behind; what is between some words (with a number: AT_START, AT_END).  A segment
# is one of as many as the address has; what is between is one word, if it was (ONE_WORD).
Cut = tuple[str | int, ...]
WHOLE: Cut = ("whole",)
OF_ALL = ("whole", "segment", "piece", "between")
OF_PARAMETERS = ("parameter", "part")
AT_START, AT_END, ONE_WORD = 1, 2, 4
# A parameter of all links has no place.
EVERYWHERE = 0
# A place is followed by so many bits of what changes there: a text, an attribute.
_WHAT_BITS = 16

# A number, a time, a date or a price is one word; ``17,39.90,5``, ``301,4711`` and ``17:381`` are
# several.  What is written without a space is one name.
_NAMES = r"""
    (?<!\d) (?<!\d[.,'’]) (?:
        \d{1,3} (?:[.,'’]\u034f?\d{3})+ (?:[.,]\u034f?\d+)?
        | \d\d? (?::\u034f?[0-5]\d){1,2} (?:[.,]\u034f?\d+)?
        | \d+ (?:\.\u034f?\d+){1,3} | \d{1,7} ,\u034f?\d{1,3}
    ) (?![.,:'’]?\u034f?\d)
    | \d+ (?:\u034f\d+)+ | [^\W_]+ | [\W_]+
    """
NAMES = re.compile(_NAMES, re.VERBOSE)
# In scripts without spaces (Thai to Myanmar, Khmer, kana, Han, Hangul), each letter is a word.
_UNSPACED = r"\u0e00-\u109f\u1780-\u17ff\u3040-\u312f\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
WORDS = re.compile(_NAMES.replace(r"[^\W_]", rf"[{_UNSPACED}] | [^\W_{_UNSPACED}]"), re.VERBOSE)
# What a word is made of, if a field and what changes by itself may be written as one: ``17x5308``,
# ``4711.1795896569``.  A token has more, is longer, or is made of hexadecimal digits.
_PARTS = re.compile(r"\d+|[^\W\d_]+")
MOST_PARTS = 4
MOST_OF_WORD = 24
LEAST_OF_PART = 2
_NO_PARTS = re.compile(
    r"[\da-f]+ | \d{1,3} (?:[.,'’]\d{3})+ (?:[.,]\d+)? | \d+ [.,:]\d{1,3} | \d+ (?::\d\d){1,2}",
    re.VERBOSE,
)
# Stars, arrows, currencies and the like say something, in a text as a word does.
_SIGNS = re.compile(
    r"""(?: (?<![^\W_])[$+<>~^|] | [\u00a2-\u00b1\u00d7\u00f7\u20a0-\u20cf\u2100-\u2bff]
    | [\U0001f000-\U0001faff] )+""",
    re.VERBOSE,
)
# In an address, a number before a dot is a word.
_PIECES = re.compile(r"[^\W_]+|[\W_]+")
_DECIMALS = re.compile(r"(?<=\d)[.,]\d\d?$")
_MARK = "\0noise"
# What is in base64, and long enough to be no word; written as in an address, or with dots.
LEAST_ENCODED = 16
_BASE64 = re.compile(r"(?: [A-Za-z\d+/]+ | [\w-]+ ) ={0,2} (?![\w+/=-])", re.ASCII | re.VERBOSE)
_STANDARD = str.maketrans("-_", "+/", "=")


@dataclass(frozen=True)
class Cuts:
    """What to leave out of the values of a page: by the place and kind of each, its cuts."""

    parameters: frozenset[str] = frozenset()
    places: Mapping[int, tuple[Cut, ...]] = field(default_factory=dict)
    elements: frozenset[int] = frozenset()  # their places: 48 bits
    # Hashes of all words that come there by themselves, of the places where they are known.
    words: Mapping[int, frozenset[int]] = field(default_factory=dict)
    number: int = field(default=0, compare=False)  # another one in this process for other cuts

    def __bool__(self) -> bool:
        return bool(self.parameters or self.places)

    def has_box(self, place: int) -> bool:
        """Whether the element at a place shows something else at each visit."""
        return WHOLE in self.places.get(place, ())

    def are_noise(self, place: int, text: str, kept: str = "") -> bool:
        """Whether a text may be all noise of a place, but for what is kept of it.

        Not if it has words that are not among all that come there by themselves.
        """
        known = self.words.get(place)
        return known is None or known.issuperset(words_left_out(text, kept))

    def text(self, place: int, value: str) -> str:
        """Return what a value keeps, empty if it is all noise.  Cost: O(value x cuts)."""
        kept = self._text(place, value)
        return kept if self.are_noise(place, value, kept) else value

    def _text(self, place: int, value: str) -> str:
        for cut in self.places.get(place, ()):
            if cut == WHOLE:
                return ""
            if cut[0] == "words":
                value = _without_words(WORDS.findall(value), *map(int, cut[1:])) or value
            elif cut[0] == "near":
                value = _without(value, str(cut[1]), str(cut[2]), int(cut[3]))
            elif cut[0] == "between":
                ends = AT_START | AT_END | int(cut[3])
                value = _without(value, str(cut[1]), str(cut[2]), ends)
        return value

    def address(self, place: int, address: str) -> str:
        """Return what an address keeps, empty if it is all noise."""
        names = self.parameters
        # Of each segment, by its number, and each parameter, by its name, the words that are cut.
        found: dict[str | int, list[tuple[int, ...]]] = {}
        for cut in self.places.get(place, ()):
            if cut == WHOLE:
                return ""
            if cut[0] == "parameter":
                names = names | {str(cut[1])}
            elif cut[0] == "part":
                found.setdefault(cut[1], []).append(tuple(map(int, cut[2:])))
            elif cut[2] == address.partition("?")[0].count("/") + 1:
                found.setdefault(cut[1], []).append(tuple(map(int, cut[3:])))
        address = stripped(address, names)
        if not found:
            return address
        start, mark, query = address.partition("?")
        segments = [_kept(one, found.get(at, ())) for at, one in enumerate(start.split("/"))]
        parameters = [one.partition("=") for one in query.split("&")]
        pairs = [name + is_ + _kept(value, found.get(name, ())) for name, is_, value in parameters]
        return f"{'/'.join(segments)}{mark}{'&'.join(pairs)}"


def _kept(value: str, cuts: Iterable[tuple[int, ...]]) -> str:
    """Return what a segment or parameter keeps: nothing, or what the first cut leaves that fits."""
    for words in cuts:
        if not words:
            return _MARK
        kept = _without_words(pieces_of(value), *words)
        if kept is not None:
            return kept
    return value


def pieces_of(value: str) -> list[str]:
    """Return the words of a segment or parameter, and what is between them."""
    return _PIECES.findall(decoded(unquote(value)))


def _without_words(words: list[str], start: int, count: int, behind: int) -> str | None:
    """Return words as one value without some of them; None if they are not as many as before."""
    if len(words) != start + count + behind:
        return None
    return "".join((*words[:start], _MARK, *words[start + count :]))


def decoded(written: str) -> str:
    """Return a value with what is in base64 as the text that it says, if it says one.

    In data with a time, say, only that changes by itself, and not all that is encoded with it.
    """
    pieces: list[str] = []
    until = 0
    for start in _may_be_encoded(written):
        if found := _BASE64.match(written, start):
            pieces += written[until:start], _said_in(found)
            until = found.end()
    return "".join((*pieces, written[until:])) if pieces else written


def _may_be_encoded(written: str) -> list[int]:
    """Return where a value has words long enough to be in base64, with the signs of it.

    Hardly any text is written without a capital there, as most paths of addresses are.
    """
    found: list[int] = []
    start, has_capital = 0, False
    for at, letter in enumerate(written):
        if "a" <= letter <= "z" or "0" <= letter <= "9" or letter in "+/-_":
            continue
        if "A" <= letter <= "Z":
            has_capital = True
            continue
        if has_capital and at - start >= LEAST_ENCODED:
            found.append(start)
        start, has_capital = at + 1, False
    if has_capital and len(written) - start >= LEAST_ENCODED:
        found.append(start)
    return found


def _said_in(found: re.Match[str]) -> str:
    standard = found[0].translate(_STANDARD)
    standard += "=" * (-len(standard) % 4)
    try:
        data = b64decode(standard)
        said = data.decode()
    except ValueError:
        return found[0]
    # What is written with other last bits says the same, and is another name.
    is_it = b64encode(data).decode() == standard and "".join(said.split()).isprintable()
    return said if is_it else found[0]


def _without(value: str, before: str, behind: str, ends: int) -> str:
    """Return a value without what is between two pieces of it, which it may begin and end with.

    The nearest pieces count; with several of the first, nobody knows which of them is meant.
    """
    end = len(value)
    if ends & AT_END:
        end = end - len(behind) if value.endswith(behind) else -1
    start = value.rfind(before, 0, max(0, end)) if ends & AT_END else value.find(before)
    if ends & AT_START:
        start = 0 if value.startswith(before) else -1
    elif not ends & AT_END and value.count(before) > 1:
        start = -1
    if min(start, end) < 0:
        return value
    start += len(before)
    if not ends & AT_END:
        end = value.find(behind, start)
    if start > end or (ends & ONE_WORD and len(WORDS.findall(value[start:end])) > 1):
        return value
    return f"{value[:start]}{_MARK}{value[end:]}"


def words_left_out(text: str, kept: str) -> list[int]:
    """Return hashes of the words that a text has, and what is kept of it has not; 501.00 is 501.

    So they do of signs, and of the parts of a word.
    """
    words = _names(text) - _names(kept) if kept else _names(text)
    return [hash_of(word) for word in words]


def _names(text: str) -> Counter[str]:
    found = Counter(_SIGNS.findall(text))
    for word in NAMES.findall(text.casefold()):
        if word[0].isalnum():
            found[alphanumeric(_DECIMALS.sub("", word))] += 1
            parts = _PARTS.findall(word) if len(word) <= MOST_OF_WORD else ()
            if 1 < len(parts) <= MOST_PARTS and not _NO_PARTS.fullmatch(word):
                found.update(part for part in parts if len(part) >= LEAST_OF_PART)
    return found


def alphanumeric(value: str) -> str:
    """Return the letters and digits of a value."""
    return "".join(filter(str.isalnum, value))


def near_place(wide: int, before: int, rank: int) -> int:
    """Return where something changes that stands behind a text, as the one of a *rank* there.

    *wide* is what :func:`wide_place` returned, *before* a hash of the text.
    """
    return mix(mix(wide, before), rank)


def wide_place(place: int, kind: str, what: str) -> int:
    """Return where something changes: a place of 48 bits, and what changes in the element there."""
    return place << _WHAT_BITS | _what(kind, what)


def element_at(wide: int) -> int:
    """Return the place of the element in which something changes."""
    return wide >> _WHAT_BITS


@lru_cache(10_000)
def _what(kind: str, what: str) -> int:
    return long_hash_of(f"{kind} {what}") >> 64 - _WHAT_BITS


NO_CUTS = Cuts()


def stripped(address: str, names: Iterable[str]) -> str:
    """Return an address without the parameters of some names."""
    if not any(f"{name}=" in address for name in names):
        return address
    parts = urlsplit(address)
    without = set(names)
    own = [piece for piece in parts.query.split("&") if piece.partition("=")[0] not in without]
    return parts._replace(query="&".join(own)).geturl()


def with_stripped(address: str, names: Iterable[str]) -> list[str]:
    """Return an address, and what it is without the parameters of some names if it has any."""
    short = stripped(address, names)
    return [address] if short == address else [address, short]


def in_order(cuts: Iterable[Cut]) -> tuple[Cut, ...]:
    """Return cuts as they are applied: first those that count words, which others leave out."""
    return tuple(sorted(cuts, key=lambda cut: (cut[0] == "near", repr(cut))))


# What each cut is made of, beside its name.
_KINDS: dict[str, tuple[type, ...]] = {
    "whole": (),
    "parameter": (str,),
    "segment": (int, int),
    "piece": (int, int, int, int, int),
    "part": (str, int, int, int),
    "near": (str, str, int),
    "words": (int, int, int),
    "between": (str, str, int),
}


def is_cut(cut: Cut) -> bool:
    """Whether a cut is made of what cuts of its name are made of."""
    return tuple(map(type, cut[1:])) == _KINDS.get(str(cut[0]))
