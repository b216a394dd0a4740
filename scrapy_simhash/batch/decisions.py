"""From pages in their order to decisions: the greedy answer, as a crawl in this order gives it.

A page is a duplicate of an earlier *kept* page, never of a dropped one.  So the kept pages are the
lexicographically first maximal independent set of the graph whose edges the rule says, not its
connected components: of a chain of pages, each like the next, every other one may be kept.

Pages of which the rule says the same are one *class*, and only its first page can be kept: what
drops that drops the others, too, since they come later.

Pages have numbers: their ranks in the order of the batch.  Those that are kept already, in an
archive that is known, come first.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from cachetools import LRUCache

from scrapy_simhash.batch.rule import MIN_TOKENS, MOST_OF_KEY, Likeness, Seen, match, ranked
from scrapy_simhash.decision.judge import Parameters
from scrapy_simhash.tables import PermutedTables, design

NONE = -1
# What a page is, by its kind: the verdict and its reason, as in a crawl.
KINDS = (
    ("unique", "new_text"),
    ("exact_duplicate", "same_text"),
    ("near_duplicate", "within_distance"),
    ("near_duplicate", "share_in_common"),
)
KEPT, EXACT, NEAR, ALIKE = range(4)


class BatchDecisions:
    """What each page of a batch is, by its rank: kept, or a duplicate of an earlier *kept* page.

    *kept* is :data:`NONE` where the page itself is, *shares* are it by the plain rule, *kinds* are
    those of :data:`KINDS`.  *crowded* pages were not compared with all that share a key with them.
    All are kept until they are dropped.  Takes 15 bytes a page.
    """

    def __init__(self, pages: int) -> None:
        self.kept = array("q", [NONE]) * pages
        self.distances = array("b", [NONE]) * pages
        self.shares = array("f", [NONE]) * pages
        self.kinds = bytearray(pages)
        self.crowded = bytearray(pages)

    def drop(self, rank: int, kept: int, found: Likeness) -> None:
        """Note that a page is a duplicate of a *kept* one."""
        self.kept[rank], self.distances[rank] = kept, found.distance
        self.shares[rank] = found.share
        self.kinds[rank] = EXACT if found.is_exact else NEAR if found.share == NONE else ALIKE


class Groups:
    """The pages that share a key, of each key that 2 to :data:`MOST_OF_KEY` classes have.

    *keys* are lists of 64-bit integers: the keys of each class, by its number.  Keys of more
    classes are *crowded*, as are those that are known to be.  Takes 4 bytes for each key of a
    class, 25 for one that classes share, and 30 for each key while it is made.
    """

    def __init__(self, keys: pa.ListArray, crowded: pa.Array, most: int = MOST_OF_KEY) -> None:
        flat = keys.flatten()
        self._ends = memory_of(keys.offsets)
        self._flat = array("i", [NONE]) * len(flat)
        # By sorting: a table of all keys takes three times the memory, and most are of one class.
        rows = pc.sort_indices(flat)
        ordered = flat.take(rows)
        same = pc.equal(ordered.slice(1), ordered.slice(0, max(0, len(flat) - 1)))
        none = pa.array([False] * min(1, len(flat)), pa.bool_())
        is_first = pc.invert(pa.concat_arrays([none, same]))
        is_alone = pc.and_(is_first, pc.invert(pa.concat_arrays([same, none])))
        is_known = pc.is_in(ordered, crowded)
        counts = pc.or_(pc.invert(is_alone), is_known)
        rows, ordered, is_first = (one.filter(counts) for one in (rows, ordered, is_first))
        starts = pc.indices_nonzero(is_first).cast(pa.int64())
        ends = pa.concat_arrays([starts, pa.array([len(rows)])]).slice(1)
        sizes = pc.subtract(ends, starts)
        names = ordered.filter(is_first)
        left_out = pc.or_(pc.greater(sizes, most), pc.is_in(names, crowded))
        self.crowded = names.filter(left_out)
        self._sizes = memory_of(pc.if_else(left_out, NONE, sizes))
        groups = pc.subtract(pc.cumulative_sum(is_first.cast(pa.int32())), 1)
        for row, group in zip(memory_of(rows), memory_of(groups), strict=True):
            self._flat[row] = group
        self._starts = array("q", [0])
        for size in self._sizes:
            self._starts.append(self._starts[-1] + (size if size > 1 else 0))
        self._members = array("q", bytes(8 * self._starts[-1]))
        self._filled = bytearray(len(self._sizes))

    def _of(self, number: int) -> list[int]:
        flat = self._flat[self._ends[number] : self._ends[number + 1]]
        return [group for group in flat if group != NONE]

    def is_crowded(self, number: int) -> bool:
        """Whether a class has a key that too many have."""
        return any(self._sizes[group] < 0 for group in self._of(number))

    def kept(self, number: int) -> set[int]:
        """Return the kept pages that share a key with a class."""
        found: set[int] = set()
        for group in self._of(number):
            start = self._starts[group]
            found.update(self._members[start : start + self._filled[group]])
        return found

    def keep(self, number: int, rank: int) -> None:
        """Note that a page of a class is kept."""
        for group in self._of(number):
            if self._sizes[group] > 1:
                self._members[self._starts[group] + self._filled[group]] = rank
                self._filled[group] += 1


# The number of classes whose matches are remembered, for later pages of the same class.
CLASSES_KEPT = 100_000


def decide_verified(
    classes: Sequence[int],
    texts: Sequence[int],
    groups: Groups,
    page: Callable[[int], Seen],
    parameters: Parameters,
    known: int = 0,
) -> BatchDecisions:
    """Decide on pages by the verified rule, in their order.

    *classes* and *texts* are numbers of each page's class and text, in the order of their first
    pages, -1 for one that is like no other; *page* returns a page by its rank.  The first *known*
    pages are kept already.

    Cost: 40 us for each kept page that shares a key with a class, once.
    """
    decisions = BatchDecisions(len(classes))
    kept_of_text = array("q")
    of_class: LRUCache[int, dict[int, Likeness | None]] = LRUCache(CLASSES_KEPT)
    for rank, (number, text) in enumerate(zip(classes, texts, strict=True)):
        found = None
        if number >= 0:
            if text == len(kept_of_text):
                kept_of_text.append(NONE)
            near = groups.kept(number) | {kept_of_text[text]} - {NONE}
            if near and rank >= known:
                matches = of_class.setdefault(number, {})
                for one in near - matches.keys():
                    matches[one] = match(page(rank), page(one), parameters)
                found = _best_of(page(rank), matches, page)
            if found is None:
                groups.keep(number, rank)
                kept_of_text[text] = rank
                decisions.crowded[rank] = groups.is_crowded(number)
            else:
                decisions.drop(rank, *found)
    return decisions


def _best_of(
    page: Seen, matches: Mapping[int, Likeness | None], page_at: Callable[[int], Seen]
) -> tuple[int, Likeness] | None:
    """Return the best representative of a page: as in a crawl, and the oldest of several."""
    alike = [(one, found) for one, found in matches.items() if found is not None]
    if not alike:
        return None
    if len(alike) == 1:
        return alike[0]
    url, canonical = page.page.url, page.page.canonical

    def rank(one: tuple[int, Likeness]) -> tuple[bool, float, int, int]:
        return *ranked(url, canonical, page_at(one[0]).page.url, one[1].share), -one[0]

    return max(alike, key=rank)


# The tables are planned for this many pages at least.
PLANNED_PAGES = 1_000_000
PLANNED_BYTES = 64


def decide_plain(
    fingerprints: Sequence[int],
    digest: Callable[[int], bytes],
    tokens: Sequence[int],
    distance: int,
    known: int = 0,
) -> BatchDecisions:
    """Decide on pages by the paper's rule, in their order; *digest* returns one by rank.

    A page with -1 *tokens* is like no other, a text of fewer than :data:`MIN_TOKENS` is a duplicate
    of its equals alone.

    Cost: 3 us a page.
    """
    pages = max(len(fingerprints), PLANNED_PAGES)
    tables = PermutedTables(distance, design(pages, distance, pages * PLANNED_BYTES).tables)
    short: dict[bytes, int] = {}
    decisions = BatchDecisions(len(fingerprints))
    for rank, (fingerprint, count) in enumerate(zip(fingerprints, tokens, strict=True)):
        if count < 0:
            continue
        if count < MIN_TOKENS:
            kept = short.setdefault(digest(rank), rank)
            if kept != rank >= known:
                decisions.drop(rank, kept, Likeness(NONE, 0, True))
        elif rank < known:
            tables.add(fingerprint, rank)
        elif near := tables.check_and_add(fingerprint, rank):
            is_exact = near.distance == 0 and b"" != digest(rank) == digest(near.item)
            decisions.drop(rank, near.item, Likeness(NONE, near.distance, is_exact))
    return decisions


def memory_of(numbers: pa.Array) -> memoryview[int]:
    """Return the integers of an array without nulls, signed and not copied."""
    size = numbers.type.bit_width // 8
    start = numbers.offset * size
    data = memoryview(numbers.buffers()[1])[start : start + len(numbers) * size].cast("B")
    return data.cast("i") if size == 4 else data.cast("q")
