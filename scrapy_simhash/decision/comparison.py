# cython: annotation_typing=False, boundscheck=False, wraparound=False, binding=False
"""How much of their content two pages share, by their sketches as they are stored.

Blocks of the site's template do not count.  What a section repeats is not stored with its pages:
beside a kept page of another section, it does not count either (:class:`Comparisons`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection
from typing import NamedTuple

from scrapy_simhash.decision.sketch import (
    HEAD_BYTES,
    HIDDEN,
    NO_LIMIT,
    WORD_BYTES,
    mark,
    total_of,
)

# With fewer samples, a share says nothing, unless the samples are the whole page.
MIN_SAMPLES = 20

# A page is compared with kept ones of so many sections; what others repeat counts as their own.
MAX_SECTIONS = 5

# Returns the ids of the blocks that a section of a site is known to repeat, as Index.template does.
TemplateOf = Callable[[str], frozenset[int]]


class Overlap(NamedTuple):
    """The estimated Jaccard similarity of two pages, and the number of shingles compared.

    *first_in_second* says that the second page has all shingles of the first, *second_in_first*
    that the first has all of the second, *hidden_in_second* that the second has all that the first
    one hides.  *is_exact* says that this holds for all shingles and not only for samples: both
    samples are whole, or the totals are equal.
    """

    share: float
    compared: int
    first_in_second: bool
    second_in_first: bool
    hidden_in_second: bool
    is_exact: bool


class Comparison:
    """Compares a page with others, by sketches.

    Samples from a block with its mark in *template* are left out on both sides, unless both
    pages have no others.
    """

    def __init__(self, own: bytes, template: Collection[int] = ()) -> None:
        self._own = own
        self._template = frozenset(template)
        self._samples: set[int] = set()
        self._limit, _, _, _ = self._read(own, NO_LIMIT, True)
        self._in_order = sorted(self._samples)
        self._hidden = [sample for sample in self._in_order if sample & HIDDEN]

    def overlap(self, other: bytes) -> Overlap:
        """Return the share of shingles that the page, the first, and another have in common.

        The share is exact if both samples are whole, and 0 if too few are left.  Cost: 7 us; if
        this is not compiled, 70 us.
        """
        its_limit, two, common, common_hidden = self._read(other, self._limit, False)
        limit = min(self._limit, its_limit)
        one = bisect_right(self._in_order, limit)
        if not one and not two and self._template:
            return Comparison(self._own).overlap(other)
        compared = one + two - common
        if compared < (1 if limit == NO_LIMIT else MIN_SAMPLES):
            return Overlap(0.0, compared, False, False, False, False)
        is_exact = limit == NO_LIMIT or total_of(self._own) == total_of(other)
        has_hidden = common_hidden == bisect_right(self._hidden, limit)
        return Overlap(
            common / compared, compared, common == one, common == two, has_hidden, is_exact
        )

    def _read(self, stored: bytes, most: int, is_own: bool) -> tuple[int, int, int, int]:
        """Return the hash up to which a sketch has all of its page's, and numbers of its samples.

        These are of all up to *most* that count, of those that the page has, and of the hidden ones
        of these.  If it *is_own*, note what the page has.
        """
        count = common = hidden = highest = 0
        at, end = HEAD_BYTES, len(stored) - WORD_BYTES + 1
        while at < end:
            counts = (stored[at] << 8 | stored[at + 1]) not in self._template
            behind = min(at + WORD_BYTES * (1 + stored[at + 2]), end)
            at += WORD_BYTES
            while at < behind:
                sample = stored[at] << 16 | stored[at + 1] << 8 | stored[at + 2]
                at += WORD_BYTES
                if sample > highest:  # max() takes as long as all else
                    highest = sample
                if counts and sample <= most:
                    count += 1
                    if is_own:
                        self._samples.add(sample)
                    elif sample in self._samples:
                        common += 1
                        hidden += sample & HIDDEN
        return NO_LIMIT if stored[0] else highest, count, common, hidden


def overlap(one: bytes, other: bytes, template: Collection[int] = ()) -> Overlap:
    """Return what one :class:`Comparison` says."""
    return Comparison(one, template).overlap(other)


def no_template(_section: str) -> frozenset[int]:
    """Return that no section is known to repeat anything."""
    return frozenset()


class Comparisons:
    """Compares a page with kept pages of its own section, and of others.

    *template* holds the ids of the blocks that do not count, *template_of* returns those that
    another section repeats.
    """

    def __init__(
        self, own: bytes, template: Collection[int], section: str, template_of: TemplateOf
    ) -> None:
        self._own = own
        self._template = template
        self._template_of = template_of
        self._in_section = Comparison(own, marks(template))
        self._begun = {section: self._in_section}

    def overlap(self, other: bytes, section: str) -> Overlap:
        """Return what the page shares with one of a section, at least.

        Cost: 10 us; 100 us for the first page of each of :data:`MAX_SECTIONS` sections.
        """
        own = self._in_section
        found = own.overlap(other)
        if found.share == 1 or (beside := self._beside(section)) is own:
            return found
        return max(found, beside.overlap(other), key=lambda one: one.share)

    def _beside(self, section: str) -> Comparison:
        """Return the comparison with pages of a section; of too many, that with its own."""
        begun = self._begun
        if section not in begun:
            if len(begun) >= MAX_SECTIONS:
                return self._in_section
            more = self._template_of(section).difference(self._template)
            beside = Comparison(self._own, marks({*self._template, *more})) if more else None
            begun[section] = beside or self._in_section
        return begun[section]


def marks(template: Collection[int]) -> set[int]:
    """Return the marks that the blocks of a template have in sketches."""
    return {mark(block) for block in template}
