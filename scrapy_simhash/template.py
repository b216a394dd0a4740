"""What a site repeats on page after page, learned while crawling.

A block (the text of one block-level element) is template while it stands on more than 30 %
of the site's distinct pages, beyond doubt: its count must be two standard errors above that.
Old pages weigh less and less (by half after 200), so that a site whose template changes is
learned anew, and what is rare is forgotten: memory stays bounded.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Collection
from math import sqrt

# Of four documentation sites, content blocks stood on at most 25 % of the pages and template
# blocks on at least 47 %.
SHARE = 0.3
STANDARD_ERRORS = 2.0
WINDOW_PAGES = 300
# From so many pages on, what is template stays it: older pages carry it still.
LASTING_PAGES = 30
MAX_BLOCKS = 20_000
# A template is due to be stored after so many more pages, and half of those that it knows: at first
# after 20 pages, then less and less often, in the end after 160. Storing 20,000 blocks takes 3 ms,
# so about 20 us for each page.
SAVE_PAGES = 10
MAX_SITES = 1_000

_COUNT = struct.Struct(">Qf?")
_PAGES = struct.Struct(">f")


class Template:
    """The blocks of one site, by their 64-bit ids, with how often they were seen."""

    def __init__(self) -> None:
        self._weight = 1.0
        self._pages = 0.0
        self._counts: dict[int, float] = {}
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
        for block in set(blocks):
            self._counts[block] = self._counts.get(block, 0.0) + self._weight
        pages = self._pages / self._weight
        enough = SHARE * pages + STANDARD_ERRORS * sqrt(SHARE * (1 - SHARE) * pages)
        threshold = enough * self._weight
        # The threshold only ever rises: no block gets above it but those of this page.
        self._frequent = {
            block for block in self._frequent.union(blocks) if self._counts[block] > threshold
        }
        if pages >= LASTING_PAGES:
            self._lasting |= self._frequent
        if self._frequent | self._lasting != self._blocks:
            self._blocks = frozenset(self._frequent | self._lasting)
        if len(self._counts) > MAX_BLOCKS or self._weight > 1e100:
            self._forget()

    def _forget(self) -> None:
        """Drop the blocks that are seen least, and bring the counts back to a weight of 1."""
        by_count = sorted(self._counts.items(), key=lambda pair: -pair[1])[: MAX_BLOCKS // 2]
        self._counts = {block: count / self._weight for block, count in by_count}
        self._frequent &= self._counts.keys()
        self._pages /= self._weight
        self._weight = 1.0

    def to_bytes(self) -> bytes:
        """Return the state to store; what was seen on one page only is not kept."""
        rows = [
            (block, count / self._weight, block in self._lasting)
            for block, count in self._counts.items()
            if count > 1.5 * self._weight or block in self._lasting
        ]
        gone = [(block, 0.0, True) for block in self._lasting - self._counts.keys()]
        return _PAGES.pack(self._pages / self._weight) + b"".join(
            _COUNT.pack(*row) for row in rows + gone
        )

    @classmethod
    def from_bytes(cls, stored: bytes) -> Template:
        """Return the template that :meth:`to_bytes` stored."""
        template = cls()
        (template._pages,) = _PAGES.unpack_from(stored)
        for block, count, lasting in _COUNT.iter_unpack(stored[_PAGES.size :]):
            template._counts[block] = count
            template._frequent.add(block)
            if lasting:
                template._lasting.add(block)
        template._blocks = frozenset(template._lasting)
        return template


class Templates:
    """The templates of the sites of a crawl; the least recently used is forgotten first."""

    def __init__(self) -> None:
        self._sites: OrderedDict[str, Template] = OrderedDict()
        self._learned: Counter[str] = Counter()

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

    def restore(self, site: str, stored: bytes) -> None:
        """Put back what :meth:`take_changed` gave.

        :raises ValueError: it is something else.
        """
        try:
            template = Template.from_bytes(stored)
        except (struct.error, TypeError) as exc:
            raise ValueError(f"no template: {exc}") from exc
        if not template.pages >= 0:
            raise ValueError(f"no template: pages must be at least 0: got {template.pages}")
        self._sites[site] = template
        self._use(site)

    def _use(self, site: str) -> None:
        self._sites.move_to_end(site)
        if len(self._sites) > MAX_SITES:
            self._sites.popitem(last=False)
