"""Two pages of each large group, kept so that the report can show what differs between them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile, zip_longest
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import regex
from cachetools import LRUCache

from scrapy_simhash.analysis.features import UNSPACED
from scrapy_simhash.analysis.tree import decode, parse, visible_blocks
from scrapy_simhash.errors import AnalysisError
from scrapy_simhash.report.collector import shortened
from scrapy_simhash.report.record import FINGERPRINT_BITS, Record

if TYPE_CHECKING:
    from scrapy_simhash.workers.pool import Workers

logger = logging.getLogger(__name__)

# Bodies are held as they came, not copied and not parsed while the crawl runs.  The median of 521
# real pages had 110 KB; with these limits the bodies take at most 16 MB.
MAX_BODY_BYTES = 256 << 10
PAIRS = 16
RECENT_BYTES = 8 << 20
# What an entry takes beside its body and URL: 440 bytes, measured with 15,000 bodies of 93 bytes.
ENTRY_BYTES = 450

# Limits of what is compared and shown: nobody reads more at a glance.
SHOWN_PAIRS = 5
SHOWN_ROWS = 6
CONTEXT_PIECES = 8
MAX_BLOCKS = 1000

# A word, or one character of a script without spaces, and the space after it.
_pieces = regex.compile(rf"(?:[{UNSPACED}]|[^\s{UNSPACED}]+)\s*").findall


# Where two texts differ: "first" and "second", and what both have "before" and "after" it.
Difference = dict[str, str]


class Side(NamedTuple):
    """A page as it came."""

    url: str
    body: bytes
    encoding: str | None


@dataclass(slots=True)
class Pair:
    """Two pages of a group.

    *first* is the kept page, or another duplicate if the kept page is no longer held.  *second* is
    the duplicate that shares least with the kept page, and *share* how much of its content.
    *members* is the size of the group.
    """

    first: Side
    second: Side | None = None
    share: float = 2.0
    members: int = 0

    @property
    def weight(self) -> tuple[bool, int]:
        """The pairs with the highest weights are held: first those whose pages differ."""
        return self.share < 1, self.members

    def add(self, side: Side, share: float) -> None:
        if side.url != self.first.url and share < self.share:
            self.second, self.share = side, share


class Pairs:
    """Pairs of the largest groups, and the latest kept pages, which may become part of one."""

    def __init__(self) -> None:
        self._recent: LRUCache[str, Side] = LRUCache(RECENT_BYTES, _size)
        self._pairs: dict[str, Pair] = {}

    def add(self, record: Record, body: bytes, encoding: str | None, members: int) -> None:
        """Consider a judged page, whose group has *members* duplicates by now; O(1)."""
        if len(body) > MAX_BODY_BYTES:
            return
        side = Side(record.url, body, encoding)
        if not record.is_duplicate:
            self._recent[record.url] = side
            return
        share = record.decision.share
        if share is None:  # the plain rule knows the distance only
            share = 1 - (record.decision.distance or 0) / FINGERPRINT_BITS
        pair = self._pairs.get(record.kept_url)
        if pair is None:
            if len(self._pairs) == PAIRS:
                del self._pairs[min(self._pairs, key=lambda kept: self._pairs[kept].weight)]
            pair = self._pairs[record.kept_url] = Pair(self._recent.get(record.kept_url, side))
        pair.members = members
        pair.add(side, share)

    async def side_by_side(self, workers: Workers, limit_seconds: float) -> list[dict[str, Any]]:
        """Return what differs in pages of the largest groups, as far as it is found in time.

        A worker compares them: a hostile page may take it long.  On the LLVM documentation a pair
        takes 2 to 90 ms.
        """
        ends = monotonic() + limit_seconds
        found: list[dict[str, Any]] = []
        heaviest = sorted(self._pairs.items(), key=lambda item: item[1].weight, reverse=True)
        for kept, pair in heaviest:
            if len(found) == SHOWN_PAIRS or monotonic() > ends:
                break
            if pair.second is None:
                continue
            try:
                rows = await workers.run(differences, pair.first, pair.second)
            except AnalysisError as exc:
                logger.debug("Not compared: %s: %s", pair.first.url, exc)
            else:
                if rows:
                    found.append(
                        {
                            "representative": shortened(kept),
                            "pages": pair.members,
                            "first": shortened(pair.first.url),
                            "second": shortened(pair.second.url),
                            "differences": len(rows),
                            "rows": rows[:SHOWN_ROWS],
                        }
                    )
        return found


def _size(side: Side) -> int:
    return len(side.body) + len(side.url) + ENTRY_BYTES


def differences(first: Side, second: Side) -> list[Difference]:
    """Return where the texts of two pages differ; none where they are the same.

    Raises whatever a hostile page makes the parser raise.
    """
    texts = _texts(first), _texts(second)
    found = []
    for tag, start, end, other_start, other_end in SequenceMatcher(None, *texts).get_opcodes():
        if tag != "equal":
            blocks = texts[0][start:end], texts[1][other_start:other_end]
            for one, other in zip_longest(*blocks, fillvalue=""):
                found.append(_row(_pieces(one), _pieces(other)))
    return found


def _texts(side: Side) -> list[str]:
    """Return the texts of a page's blocks, without those beside its content if it has others."""
    tree = parse(decode(side.body, side.encoding))
    blocks = [] if tree is None else visible_blocks(tree)
    own = [block for block in blocks if not block.is_beside and not block.is_links]
    return [block.text for block in (own or blocks)[:MAX_BLOCKS]]


def _row(first: list[str], second: list[str]) -> Difference:
    """Return the pieces between the common start and the common end of two texts."""
    start = _alike(first, second)
    first, second, before = first[start:], second[start:], first[:start]
    end = _alike(first[::-1], second[::-1])
    after = first[len(first) - end :]
    pieces = {
        "before": before[-CONTEXT_PIECES:],
        "first": first[: len(first) - end],
        "second": second[: len(second) - end],
        "after": after[:CONTEXT_PIECES],
    }
    return {name: shortened("".join(some)) for name, some in pieces.items()}


def _alike(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many pieces at the start of two lists are the same, apart from their spaces."""
    pairs = zip(first, second, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].rstrip() == pair[1].rstrip(), pairs))
