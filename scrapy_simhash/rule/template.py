"""What a site repeats on page after page, learned while crawling.

A block (the text of one block-level element) is template while it stands on more than 30 %
of the site's distinct pages, beyond doubt: its count must be two standard errors above that.
Old pages weigh less and less (by half after 200), so that a site whose template changes is
learned anew.  Blocks are counted in two generations, and those that were not met for a whole one
are forgotten: memory stays bounded, and no page pays for it.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Collection
from contextlib import suppress
from math import sqrt

# Of four documentation sites, content blocks stood on at most 25 % of the pages and template
# blocks on at least 47 %.
SHARE = 0.3
STANDARD_ERRORS = 2.0
WINDOW_PAGES = 300
# From so many pages on, what is template stays it: older pages carry it still.
LASTING_PAGES = 30
# A generation ends with half of them: 160 pages that bring 25 new blocks each. Of simulated pages
# with 20, 60 and 400 blocks of their own, 0.02 % of what is template was told otherwise than with
# 20,000; these take under 1 MB for each site.
MAX_BLOCKS = 8_000
# What stands on less is far from being template, and not stored. Pages have some 60 blocks, so
# that 600 at the most stand on more.
NOTABLE_SHARE = 0.1
# A template is due to be stored after so many more pages, and half of those that it knows: at first
# after 20 pages, then less and less often, in the end after 160. It takes under 0.2 ms.
SAVE_PAGES = 10
MAX_SITES = 1_000

_COUNT = struct.Struct(">Qf?")
_PAGES = struct.Struct(">f")


class Template:
    """The blocks of one site, by their 64-bit ids, with how often they were seen."""

    def __init__(self) -> None:
        self._weight = 1.0
        self._pages = 0.0
        self._recent: dict[int, float] = {}
        self._earlier: dict[int, float] = {}
        self._notable: set[int] = set()
        self._frequent: set[int] = set()
        self._lasting: set[int] = set()
        self._blocks: frozenset[int] = frozenset()

    @property
    def pages(self) -> float:
        """Return from how many pages it was learned, old ones weighing less."""
        return self._pages / self._weight

    @property
    def blocks(self) -> frozenset[int]:
        """Return the ids of the blocks that are template now."""
        return self._blocks

    def learn(self, blocks: Collection[int]) -> None:
        """Count the blocks of one more page that is not like an earlier one.

        Cost: O(blocks of the page and of the template).
        """
        # Instead of shrinking all counts for each page, new ones weigh more.
        self._weight /= 1 - 1 / WINDOW_PAGES
        self._pages += self._weight
        weight, recent, earlier = self._weight, self._recent, self._earlier
        notable, threshold = NOTABLE_SHARE * self._pages, self._threshold()
        met = set(blocks)
        # The threshold only ever rises: no block gets above it but those of this page.
        frequent = {block for block in self._frequent - met if self._count(block) > threshold}
        for block in met:
            recent[block] = count = (recent.get(block) or earlier.pop(block, 0.0)) + weight
            if count > notable:
                self._notable.add(block)
                if count > threshold:
                    frequent.add(block)
        self._note_frequent(frequent)
        if len(self._recent) > MAX_BLOCKS // 2:
            self._begin_generation()
        if self._weight > 1e100:
            self._rescale()

    def merge(self, other: Template) -> None:
        """Learn what *other* has learned from pages of the same site, these or different ones.

        A block's share is the mean of both, by the pages that they know; their number is that of
        the one that knows more, so that pages which both know are not taken for twice as many.
        """
        pages, others = self.pages, other.pages
        if not others:
            return
        self._pages += others * self._weight
        for block in other._notable:
            count = self._count(block) + other._count(block) / other._weight * self._weight
            self._earlier.pop(block, None)
            self._recent[block] = count
        # All counts, and the pages, shrink as the weight grows.
        self._weight *= (pages + others) / max(pages, others)
        self._notable |= other._notable
        self._lasting |= other._lasting
        threshold = self._threshold()
        met = self._frequent | other._notable
        self._note_frequent({block for block in met if self._count(block) > threshold})

    def _threshold(self) -> float:
        """Return the count above which a block is template."""
        pages = self.pages
        enough = SHARE * pages + STANDARD_ERRORS * sqrt(SHARE * (1 - SHARE) * pages)
        return enough * self._weight

    def _note_frequent(self, frequent: set[int]) -> None:
        """Take the blocks above the threshold for the template, and those that were long."""
        self._frequent = frequent
        if self.pages >= LASTING_PAGES:
            self._lasting |= frequent
        if frequent | self._lasting != self._blocks:
            self._blocks = frozenset(frequent | self._lasting)

    def _count(self, block: int) -> float:
        return self._recent.get(block) or self._earlier.get(block, 0.0)

    def _begin_generation(self) -> None:
        """Forget the blocks that were not met for a generation, but for frequent ones."""
        for block in self._frequent & self._earlier.keys():
            self._recent[block] = self._earlier[block]
        self._earlier, self._recent = self._recent, {}

    def _rescale(self) -> None:
        """Bring the counts back to a weight of 1, once in 69,000 pages."""
        for counts in (self._recent, self._earlier):
            for block in counts:
                counts[block] /= self._weight
        self._pages /= self._weight
        self._weight = 1.0

    def to_bytes(self) -> bytes:
        """Return the state to store: blocks that may be template, met on more than one page."""
        least = max(1.5, NOTABLE_SHARE * self.pages) * self._weight
        self._notable = {block for block in self._notable if self._count(block) > least}
        rows = [
            (block, self._count(block) / self._weight, block in self._lasting)
            for block in self._notable | self._lasting
        ]
        return _PAGES.pack(self.pages) + b"".join(_COUNT.pack(*row) for row in rows)

    @classmethod
    def from_bytes(cls, stored: bytes) -> Template:
        """Return the template that :meth:`to_bytes` stored.

        :raises ValueError: it is something else.
        """
        template = cls()
        try:
            (template._pages,) = _PAGES.unpack_from(stored)
            for block, count, lasting in _COUNT.iter_unpack(stored[_PAGES.size :]):
                if not 0 <= count <= WINDOW_PAGES:
                    raise ValueError(f"no template: a block was seen on {count} pages")
                template._recent[block] = count
                if lasting:
                    template._lasting.add(block)
        except (struct.error, TypeError) as exc:
            raise ValueError(f"no template: {exc}") from exc
        if not 0 <= template._pages <= WINDOW_PAGES:
            raise ValueError(
                f"no template: pages must be from 0 to {WINDOW_PAGES}: got {template._pages}"
            )
        template._notable = set(template._recent)
        template._frequent = set(template._recent)
        template._blocks = frozenset(template._lasting)
        return template


class Templates:
    """The templates of the sites of a crawl; the least recently used is forgotten first."""

    def __init__(self) -> None:
        self._sites: OrderedDict[str, Template] = OrderedDict()
        self._learned: Counter[str] = Counter()
        # What this process knows to be stored.
        self._stored: dict[str, bytes] = {}

    def blocks(self, site: str) -> frozenset[int]:
        """Return the ids of the blocks that are template on *site* now."""
        template = self._sites.get(site)
        return frozenset() if template is None else template.blocks

    def learn(self, site: str, blocks: Collection[int]) -> None:
        """Count the blocks of one more page of *site*."""
        self._sites.setdefault(site, Template()).learn(blocks)
        self._learned[site] += 1
        self._use(site)

    def take_changed(self) -> list[tuple[str, bytes]]:
        """Return each site of which something was learned since the last call, and its state."""
        changed = [
            (site, self._sites[site].to_bytes()) for site in self._learned if site in self._sites
        ]
        self._learned.clear()
        return changed

    def take_due(self, site: str) -> list[tuple[str, bytes]]:
        """Return the state of *site* if it has learned much since it was last taken, else nothing.

        Cost: O(blocks known), after so many pages that it is little for each.
        """
        template = self._sites.get(site)
        if template is None or self._learned[site] < SAVE_PAGES + template.pages / 2:
            return []
        del self._learned[site]
        return [(site, template.to_bytes())]

    def merged(self, site: str, state: bytes, stored: bytes | None) -> bytes:
        """Return what is to be *stored*: the *state* of a site, and what others learned of it."""
        if stored is not None and stored != self._stored.get(site):
            template = self._sites[site]
            with suppress(ValueError):  # damaged; this one takes its place
                template.merge(Template.from_bytes(stored))
            state = template.to_bytes()
        return state

    def note_stored(self, site: str, state: bytes) -> None:
        """Note that what :meth:`merged` returned is stored for good."""
        self._stored[site] = state

    def note_lost(self, site: str) -> None:
        """Let a state that was taken, but could not be stored, be taken again."""
        self._learned[site] += 1

    def restore(self, site: str, stored: bytes) -> None:
        """Put back what :meth:`take_changed` gave.

        :raises ValueError: it is something else.
        """
        self._sites[site] = Template.from_bytes(stored)
        self._stored[site] = stored
        self._use(site)

    def _use(self, site: str) -> None:
        self._sites.move_to_end(site)
        if len(self._sites) > MAX_SITES:
            forgotten, _ = self._sites.popitem(last=False)
            self._stored.pop(forgotten, None)
            self._learned.pop(forgotten, None)
