"""Two pages of each large group, kept until the report shows what differs between them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import islice, takewhile, zip_longest
from typing import Any, NamedTuple

import regex
from cachetools import LRUCache

from scrapy_simhash.analysis.content import visible_blocks
from scrapy_simhash.analysis.extraction import parse
from scrapy_simhash.report.collector import shortened
from scrapy_simhash.report.lines import FINGERPRINT_BITS, Line

logger = logging.getLogger(__name__)

# Bodies are held as they came, not copied and not parsed while the crawl runs.  Of 521 real pages
# the median had 110 KB; these limits make 16 MB at the most.
MAX_BODY_BYTES = 256 << 10
PAIRS = 16
RECENT_BYTES = 8 << 20
# What an entry takes besides its body and URL, measured with 15,000 bodies of 93 bytes: 440.
ENTRY_BYTES = 450

# What is shown, and compared: reading on would not be looking.
SHOWN_PAIRS = 5
SHOWN_ROWS = 6
CONTEXT_PIECES = 8
MAX_BLOCKS = 1000

# A word, or one character of a script without spaces, and the space after it.
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_pieces = regex.compile(rf"(?:[{_UNSPACED}]|[^\s{_UNSPACED}]+)\s*").findall


class Side(NamedTuple):
    """A page as it came."""

    url: str
    body: bytes
    encoding: str | None


@dataclass(slots=True)
class Pair:
    """Two pages of a group: *first* is the kept page, where it was still at hand.

    *second* is the duplicate that shares least with the kept page, *share* of its content: where
    that is all, there is less to look at than in a smaller group.
    """

    first: Side
    second: Side | None = None
    share: float = 2.0
    members: int = 0

    @property
    def weight(self) -> tuple[bool, int]:
        """What decides which pairs are held."""
        return self.share < 1, self.members

    def add(self, side: Side, share: float) -> None:
        if side.url != self.first.url and share < self.share:
            self.second, self.share = side, share


@dataclass(frozen=True)
class Difference:
    """Where two texts differ: *first* and *second*, with what both have *before* and *after*."""

    before: str
    first: str
    second: str
    after: str


class Pairs:
    """Pairs of the largest groups, and the kept pages of late that may become part of one."""

    def __init__(self) -> None:
        self._recent: LRUCache[str, Side] = LRUCache(RECENT_BYTES, _size)
        self._pairs: dict[str, Pair] = {}

    def add(self, line: Line, body: bytes, encoding: str | None, members: int) -> None:
        """Take note of a judged page; its group has so many *members* by now.  O(1)."""
        if len(body) > MAX_BODY_BYTES:
            return
        side = Side(line.url, body, encoding)
        if not line.duplicate:
            self._recent[line.url] = side
            return
        share = line.share
        if share is None:  # the plain rule knows the distance only
            share = 1 - (line.distance or 0) / FINGERPRINT_BITS
        pair = self._pairs.get(line.text)
        if pair is None:
            if not self._has_room((share < 1, members)):
                return
            pair = self._pairs[line.text] = Pair(self._recent.get(line.text, side))
        pair.members = members
        pair.add(side, share)

    def side_by_side(self) -> list[dict[str, Any]]:
        """Return of the largest groups of pages that differ in what they do.

        2 to 90 ms a pair on the LLVM documentation.
        """
        heaviest = sorted(self._pairs.items(), key=lambda item: item[1].weight, reverse=True)
        compared = (_compared(kept, pair) for kept, pair in heaviest)
        return list(islice(filter(None, compared), SHOWN_PAIRS))

    def _has_room(self, weight: tuple[bool, int]) -> bool:
        """Whether a pair of this weight is to be held; a lighter one makes room."""
        if len(self._pairs) < PAIRS:
            return True
        lightest, pair = min(self._pairs.items(), key=lambda item: item[1].weight)
        if pair.weight >= weight:
            return False
        del self._pairs[lightest]
        return True


def _size(side: Side) -> int:
    return len(side.body) + len(side.url) + ENTRY_BYTES


def _compared(kept: str, pair: Pair) -> dict[str, Any] | None:
    """Return what differs between two pages, None where nothing does."""
    if pair.second is None:
        return None
    try:
        rows = list(_differences(_texts(pair.first), _texts(pair.second)))
    except Exception:  # a hostile page may raise whatever it likes
        logger.debug("Not compared: %s", pair.first.url, exc_info=True)
        return None
    if not rows:
        return None
    return {
        "representative": shortened(kept),
        "pages": pair.members,
        "first": shortened(pair.first.url),
        "second": shortened(pair.second.url),
        "differences": len(rows),
        "rows": [asdict(row) for row in rows[:SHOWN_ROWS]],
    }


def _texts(side: Side) -> list[str]:
    """Return the texts of a page's blocks, without those that are beside its content."""
    tree = parse(side.body, side.encoding)
    blocks = [] if tree is None else visible_blocks(tree)
    own = [block for block in blocks if not block.is_beside and not block.is_links]
    return [block.text for block in (own or blocks)[:MAX_BLOCKS]]


def _differences(first: list[str], second: list[str]) -> Iterator[Difference]:
    for tag, start, end, other_start, other_end in SequenceMatcher(
        None, first, second
    ).get_opcodes():
        if tag != "equal":
            for one, other in zip_longest(
                first[start:end], second[other_start:other_end], fillvalue=""
            ):
                yield _row(_pieces(one), _pieces(other))


def _row(first: list[str], second: list[str]) -> Difference:
    """Return the pieces between what two texts begin with and what they end with."""
    start = _alike(first, second)
    first, second, before = first[start:], second[start:], first[:start]
    end = _alike(first[::-1], second[::-1])
    after = first[len(first) - end :]
    return Difference(
        before=shortened("".join(before[-CONTEXT_PIECES:])),
        first=shortened("".join(first[: len(first) - end])),
        second=shortened("".join(second[: len(second) - end])),
        after=shortened("".join(after[:CONTEXT_PIECES])),
    )


def _alike(first: Sequence[str], second: Sequence[str]) -> int:
    """Return with how many same pieces two lists begin, whatever space is after them."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].rstrip() == pair[1].rstrip(), pairs))
