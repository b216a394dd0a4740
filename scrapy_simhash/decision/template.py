# cython: annotation_typing=False, binding=False
"""What a site repeats on page after page, learned while crawling.

A block (the text of one block-level element) is template if it occurs on over 30 % of the site's
distinct pages, by two standard errors, a value of :mod:`scrapy_simhash.analysis.values` if it
occurs on 90 % of a section's.  Old pages weigh less and less (half after 200 pages), so a
changed template is learned anew.  Blocks are counted in two generations.  A block that did not
occur for a whole generation is forgotten: so memory is bounded, and no single page bears the cost
of removing blocks.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Collection
from contextlib import suppress
from itertools import chain
from math import sqrt
from typing import NamedTuple


class Threshold(NamedTuple):
    """What is template: what is on more than a *share* of the pages, by so many standard *errors*.

    It stays template until it is on a share below *lasting*.
    """

    share: float
    errors: float
    lasting: float


# On four documentation sites, content blocks occurred on at most 25 % of the pages and template
# blocks on at least 47 %.  Older pages still have what was template.
BLOCKS = Threshold(0.3, 2.0, 0.0)
# A value on fewer pages of a section is a field, such as "in stock".  One that another has followed
# in its place is none of the section any more, but one near 90 % must not come and go.
VALUES = Threshold(0.9, 0.0, 0.45)
WINDOW_PAGES = 300
# From this many pages on, a template is settled, and its blocks stay template: older pages still
# have them.  The first pages come from one part of a site, and what they have in common is not what
# the site repeats: if 20 pages were enough, recall at 0.95 on the documentation of a
# machine-learning library would be 78 % in crawl order instead of 98 %.
LASTING_PAGES = 30
# A generation ends with half this many blocks: after 160 pages with 25 new blocks each.  On
# simulated pages with 20, 60 and 400 blocks of their own, 0.02 % of the template blocks were
# classified differently than with 20,000 blocks.  8,000 blocks take under 1 MB for each site.
MAX_BLOCKS = 8_000
# A block that occurs on a smaller share of the pages is far from being template, and is not stored.
# Pages have about 60 blocks, so at most 600 blocks occur on a larger share.
NOTABLE_SHARE = 0.1
# A template is stored after this many more pages plus half of those that it knows: first after 20
# pages, then less and less often, in the end after 160.  Storing takes under 0.2 ms.
SAVE_PAGES = 10
MAX_SITES = 1_000
# A page teaches at most this many blocks, from its two ends, where templates are: a page of 5 MB
# has a million.
MAX_TAUGHT = 4_000
# All templates together have at most this many, of about 125 bytes each: 60 MB.
MAX_ALL_BLOCKS = 500_000

_COUNT = struct.Struct(">Qf?")
_PAGES = struct.Struct(">f")


class Template:
    """The blocks of one site, by their 64-bit ids, with the number of pages that have them."""

    def __init__(self, least: Threshold = BLOCKS) -> None:
        self._least = least
        self._weight = 1.0
        self._pages = 0.0
        self._recent: dict[int, float] = {}
        self._earlier: dict[int, float] = {}
        self._frequent: set[int] = set()
        self._lasting: set[int] = set()
        self._blocks: frozenset[int] = frozenset()

    @property
    def pages(self) -> float:
        """Return the number of pages that it was learned from; old pages weigh less."""
        return self._pages / self._weight

    @property
    def blocks(self) -> frozenset[int]:
        """Return the ids of the blocks that are template now; none before it is settled."""
        return self._blocks if self.pages >= LASTING_PAGES else frozenset()

    @property
    def likely_blocks(self) -> frozenset[int]:
        """Return the ids of the blocks that are template, or will be one if nothing changes."""
        return self._blocks

    def learn(self, blocks: Collection[int]) -> None:
        """Count the blocks of one more page that is not like an earlier one.

        Cost: O(blocks of the page, of which :data:`MAX_TAUGHT` count, and of the template).
        """
        # Each new page weighs more, so the older counts need not shrink.
        self._weight /= 1 - 1 / WINDOW_PAGES
        self._pages += self._weight
        weight, recent, earlier = self._weight, self._recent, self._earlier
        threshold, met = self._threshold(), set(_ends(blocks))
        # The threshold only rises: blocks of this page alone get above it, and others below.
        frequent = self._frequent
        frequent -= {block for block in frequent - met if self._count(block) <= threshold}
        for block in met:
            recent[block] = count = (recent.get(block) or earlier.pop(block, 0.0)) + weight
            if count > threshold:
                frequent.add(block)
        self._note_frequent(met)
        if len(self._recent) > MAX_BLOCKS // 2:
            self._begin_generation()
        if self._weight > 1e100:
            self._rescale()

    def merge(self, other: Template) -> None:
        """Learn what *other* has learned from pages of the same site, the same or different ones.

        The share of a block is the mean of both shares, weighted by the pages that each knows.  The
        number of pages is that of the template that knows more: pages that both know must not
        count twice.
        """
        pages, others = self.pages, other.pages
        if not others:
            return
        self._pages += others * self._weight
        others_counts = other._earlier | other._recent
        for block, count in others_counts.items():
            count = self._count(block) + count / other._weight * self._weight
            self._earlier.pop(block, None)
            self._recent[block] = count
        # All counts, and the pages, shrink as the weight grows.
        self._weight *= (pages + others) / max(pages, others)
        self._lasting |= other._lasting
        threshold = self._threshold()
        met = self._frequent.union(others_counts)
        self._frequent = {block for block in met if self._count(block) > threshold}
        self._note_frequent(set())

    def _threshold(self) -> float:
        """Return the count above which a block is template."""
        pages, share = self.pages, self._least.share
        enough = share * pages + self._least.errors * sqrt(share * (1 - share) * pages)
        return enough * self._weight

    def _note_frequent(self, met: set[int]) -> None:
        """Make the template of frequent and lasting blocks; *met* are no rarer than before."""
        frequent, lasting = self._frequent, self._lasting
        if self.pages >= LASTING_PAGES:
            lasting |= frequent
            least = self._least.lasting * self._pages
            if least:
                lasting -= {one for one in lasting - met if self._count(one) <= least}
        blocks = lasting if frequent <= lasting else frequent | lasting
        if blocks != self._blocks:
            self._blocks = frozenset(blocks)

    def __len__(self) -> int:
        """Return the number of blocks that are counted."""
        return len(self._recent) + len(self._earlier)

    def reduced(self) -> Template:
        """Return the template with the blocks that are stored, at most a few hundred."""
        return Template.from_bytes(self.to_bytes(), self._least)

    def _count(self, block: int) -> float:
        return self._recent.get(block) or self._earlier.get(block, 0.0)

    def _begin_generation(self) -> None:
        """Forget the blocks that did not occur for a generation, except frequent ones."""
        for block in self._frequent & self._earlier.keys():
            self._recent[block] = self._earlier[block]
        self._earlier, self._recent = self._recent, {}

    def _rescale(self) -> None:
        """Scale the counts back to a weight of 1, once in 69,000 pages."""
        for counts in (self._recent, self._earlier):
            for block in counts:
                counts[block] /= self._weight
        self._pages /= self._weight
        self._weight = 1.0

    def to_bytes(self) -> bytes:
        """Return the state to store: blocks that may be template and occur on over one page."""
        least = max(1.5, NOTABLE_SHARE * self.pages) * self._weight
        counts = chain(self._earlier.items(), self._recent.items())
        notable = {block for block, count in counts if count > least}
        rows = [
            (block, self._count(block) / self._weight, block in self._lasting)
            for block in notable | self._lasting
        ]
        return _PAGES.pack(self.pages) + b"".join(_COUNT.pack(*row) for row in rows)

    @classmethod
    def from_bytes(cls, stored: bytes, least: Threshold = BLOCKS) -> Template:
        """Return the template that :meth:`to_bytes` stored.

        :raises ValueError: it is not a template.
        """
        template = cls(least)
        try:
            (template._pages,) = _PAGES.unpack_from(stored)
            for block, count, lasting in _COUNT.iter_unpack(stored[_PAGES.size :]):
                if not 0 <= count <= WINDOW_PAGES:
                    raise ValueError(f"no template: a block occurs on {count} pages")
                template._recent[block] = count
                if lasting:
                    template._lasting.add(block)
        except (struct.error, TypeError) as exc:
            raise ValueError(f"no template: {exc}") from exc
        if not 0 <= template._pages <= WINDOW_PAGES:
            raise ValueError(
                f"no template: pages must be from 0 to {WINDOW_PAGES}: got {template._pages}"
            )
        template._frequent = set(template._recent)
        template._blocks = frozenset(template._lasting)
        return template


def _ends(blocks: Collection[int]) -> Collection[int]:
    """Return the blocks of a page that teach."""
    if len(blocks) <= MAX_TAUGHT:
        return blocks
    in_order = tuple(blocks)
    return in_order[: MAX_TAUGHT // 2] + in_order[-MAX_TAUGHT // 2 :]


class Templates:
    """The templates of the sites of a crawl; the least recently used is forgotten first.

    If all together have too many blocks, the least recently used ones are reduced to what is
    stored of them.
    """

    def __init__(self, least: Threshold = BLOCKS) -> None:
        self._least = least
        self._sites: OrderedDict[str, Template] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._size = 0
        # Sites in the order in which they will be reduced.
        self._whole: OrderedDict[str, None] = OrderedDict()
        self._learned: Counter[str] = Counter()
        # The states that are stored, as far as this process knows.
        self._stored: dict[str, bytes] = {}

    def blocks(self, site: str) -> frozenset[int]:
        """Return the ids of the blocks that are template on *site* now."""
        template = self._sites.get(site)
        return frozenset() if template is None else template.blocks

    def likely_blocks(self, site: str) -> frozenset[int]:
        """Return the same with those of a template that is not settled."""
        template = self._sites.get(site)
        return frozenset() if template is None else template.likely_blocks

    def pages(self, site: str) -> float:
        """Return the number of pages that *site* was learned from; old pages weigh less."""
        template = self._sites.get(site)
        return 0.0 if template is None else template.pages

    def learn(self, site: str, blocks: Collection[int]) -> None:
        """Count the blocks of one more page of *site*."""
        if site not in self._sites:
            self._sites[site] = self._new()
        self._sites[site].learn(blocks)
        self._learned[site] += 1
        self._use(site)

    def take_due(self, site: str) -> bool:
        """Whether the state of *site* is due to be stored; True resets the count of new pages.

        Cost: O(1).  Storing is due after enough pages to make its cost for each page small.
        """
        template = self._sites.get(site)
        if template is None or self._learned[site] < SAVE_PAGES + template.pages / 2:
            return False
        del self._learned[site]
        return True

    def take_changed(self) -> list[str]:
        """Return the sites with something learned since their state was last taken."""
        changed = [site for site in self._learned if site in self._sites]
        self._learned.clear()
        return changed

    def merged(self, site: str, stored: bytes | None) -> bytes:
        """Return the state of *site* to store, merged with the state that others have *stored*."""
        template = self._sites.get(site)
        if template is None:  # forgotten meanwhile
            return stored or self._new().to_bytes()
        if stored is not None and stored != self._stored.get(site):
            with suppress(ValueError):  # the stored state is damaged, and will be replaced
                template.merge(self._restored(stored))
        return template.to_bytes()

    def note_stored(self, site: str, state: bytes) -> None:
        """Note that the state from :meth:`merged` is stored."""
        self._stored[site] = state

    def note_lost(self, site: str) -> None:
        """Note that a taken state could not be stored; it will be taken again."""
        self._learned[site] += 1

    def restore(self, site: str, stored: bytes) -> None:
        """Take over the stored state of a site.

        :raises ValueError: it is not a template.
        """
        self._sites[site] = self._restored(stored)
        self._stored[site] = stored
        self._use(site)

    def _new(self) -> Template:
        return Template(self._least)

    def _restored(self, stored: bytes) -> Template:
        return Template.from_bytes(stored, self._least)

    def _use(self, site: str) -> None:
        self._sites.move_to_end(site)
        self._whole[site] = None
        self._whole.move_to_end(site)
        self._weigh(site)
        while self._size > MAX_ALL_BLOCKS and len(self._whole) > 1:
            reduced, _ = self._whole.popitem(last=False)
            self._sites[reduced] = self._sites[reduced].reduced()
            self._weigh(reduced)
        while len(self._sites) > MAX_SITES or (
            self._size > MAX_ALL_BLOCKS and len(self._sites) > 1
        ):
            forgotten, _ = self._sites.popitem(last=False)
            self._size -= self._sizes.pop(forgotten)
            self._whole.pop(forgotten, None)
            self._stored.pop(forgotten, None)
            self._learned.pop(forgotten, None)

    def _weigh(self, site: str) -> None:
        size = len(self._sites[site])
        self._size += size - self._sizes.get(site, 0)
        self._sizes[site] = size
