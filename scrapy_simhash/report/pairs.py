"""Two pages of each large group, kept until the report shows what differs between them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import takewhile, zip_longest
from typing import Any, NamedTuple

from cachetools import LRUCache

from scrapy_simhash.analysis.content import visible_blocks
from scrapy_simhash.analysis.extraction import parse
from scrapy_simhash.report.collector import shortened
from scrapy_simhash.report.lines import Line

logger = logging.getLogger(__name__)

# Bodies are held as they came, not copied and not parsed while the crawl runs.  Of 521 real pages
# the median had 110 KB; these limits make 16 MB at the most.
MAX_BODY_BYTES = 256 << 10
PAIRS = 16
RECENT_BYTES = 8 << 20

# What is shown, and compared: reading on would not be looking.
SHOWN_PAIRS = 5
SHOWN_ROWS = 6
CONTEXT_WORDS = 6
MAX_BLOCKS = 1000


class Side(NamedTuple):
    """A page as it came."""

    url: str
    body: bytes
    encoding: str | None


@dataclass(slots=True)
class Pair:
    """Two pages of a group: *first* is the kept page, where it was still at hand.

    *second* is the duplicate that shares least with the kept page, *share* of its content.
    """

    first: Side
    second: Side | None = None
    share: float = 2.0
    members: int = 0

    def add(self, side: Side, share: float) -> None:
        if side.url != self.first.url and share < self.share:
            self.second, self.share = side, share


@dataclass(frozen=True)
class Row:
    """Where two texts differ: *first* and *second*, with what both have *before* and *after*."""

    before: str
    first: str
    second: str
    after: str


class Pairs:
    """Pairs of the largest groups, and the kept pages of late that may become part of one."""

    def __init__(self) -> None:
        self._recent: LRUCache[str, Side] = LRUCache(RECENT_BYTES, lambda side: len(side.body))
        self._pairs: dict[str, Pair] = {}

    def add(self, line: Line, body: bytes, encoding: str | None, members: int) -> None:
        """Take note of a judged page; its group has so many *members* by now.  O(1)."""
        if len(body) > MAX_BODY_BYTES:
            return
        side = Side(line.url, body, encoding)
        if not line.duplicate:
            self._recent[line.url] = side
            return
        pair = self._pairs.get(line.text)
        if pair is None:
            if not self._has_room(members):
                return
            pair = self._pairs[line.text] = Pair(self._recent.get(line.text, side))
        pair.members = members
        pair.add(side, 1.0 if line.share is None else line.share)

    def side_by_side(self) -> dict[str, dict[str, Any]]:
        """Return for the largest groups, by kept page, what differs; about 20 ms a pair."""
        found: dict[str, dict[str, Any]] = {}
        largest = sorted(self._pairs.items(), key=lambda item: -item[1].members)
        for kept, pair in largest:
            if len(found) == SHOWN_PAIRS:
                break
            if pair.second is not None:
                try:
                    rows = list(_differences(_texts(pair.first), _texts(pair.second)))
                except Exception:  # a hostile page may raise whatever it likes
                    logger.debug("Pages of %s could not be compared", kept, exc_info=True)
                    continue
                found[shortened(kept)] = {
                    "first": shortened(pair.first.url),
                    "second": shortened(pair.second.url),
                    "differences": len(rows),
                    "rows": [asdict(row) for row in rows[:SHOWN_ROWS]],
                }
        return found

    def _has_room(self, members: int) -> bool:
        """Whether a group of so many *members* is to have a pair; a smaller one makes room."""
        if len(self._pairs) < PAIRS:
            return True
        smallest, pair = min(self._pairs.items(), key=lambda item: item[1].members)
        if pair.members >= members:
            return False
        del self._pairs[smallest]
        return True


def _texts(side: Side) -> list[str]:
    """Return the texts of a page's blocks, without those that are beside its content."""
    tree = parse(side.body, side.encoding)
    blocks = [] if tree is None else visible_blocks(tree)
    own = [block for block in blocks if not block.is_beside and not block.is_links]
    return [block.text for block in (own or blocks)[:MAX_BLOCKS]]


def _differences(first: list[str], second: list[str]) -> Iterator[Row]:
    for tag, start, end, other_start, other_end in SequenceMatcher(
        None, first, second
    ).get_opcodes():
        if tag != "equal":
            for one, other in zip_longest(
                first[start:end], second[other_start:other_end], fillvalue=""
            ):
                yield _row(one.split(), other.split())


def _row(first: list[str], second: list[str]) -> Row:
    """Return the words between what two texts begin with and what they end with."""
    start = _alike(first, second)
    first, second, before = first[start:], second[start:], first[:start]
    end = _alike(first[::-1], second[::-1])
    after = first[len(first) - end :]
    return Row(
        before=shortened(" ".join(before[-CONTEXT_WORDS:])),
        first=shortened(" ".join(first[: len(first) - end])),
        second=shortened(" ".join(second[: len(second) - end])),
        after=shortened(" ".join(after[:CONTEXT_WORDS])),
    )


def _alike(first: Sequence[str], second: Sequence[str]) -> int:
    """Return with how many same words two lists begin."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
