"""How much of their content two pages share, by their sketches as they are stored.

``Comparison`` is the compiled class (compiled.pyx), or the one below if that is not built.  Blocks
of the site's template do not count.  What a section repeats is not stored with its pages: beside a
kept page of another section, it does not count either (:class:`Comparisons`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import ModuleType
from typing import TYPE_CHECKING

from scrapy_simhash.decision.sketch import HIDDEN, MIN_SAMPLES, NO_LIMIT, Overlap, Sketch, mark

compiled: ModuleType | None
try:
    from scrapy_simhash.decision import compiled
except ImportError:
    compiled = None

# A page is compared with kept ones of so many sections; what others repeat counts as their own.
MAX_SECTIONS = 5

# Returns the ids of the blocks that a section of a site is known to repeat, as Index.template does.
TemplateOf = Callable[[str], frozenset[int]]


class ReferenceComparison:
    """Compares a page with others: its own samples are taken out of its sketch once.

    Samples from a block with its mark in *template* are left out on both sides, unless both
    pages have no others.
    """

    def __init__(self, own: bytes, template: Collection[int] = ()) -> None:
        self._stored = own
        self._own = Sketch.from_bytes(own)
        self._template = template
        self._samples = self._own.up_to(self._own.limit, template)
        self._hidden = [value for value in self._samples if value & HIDDEN]

    def overlap(self, other: bytes) -> Overlap:
        """Return the share of shingles that the page, the first, and another have in common.

        The share is exact if both samples are whole, and 0 if too few are left.  Cost: 25 us;
        compiled 3 us.
        """
        its = Sketch.from_bytes(other)
        limit = min(self._own.limit, its.limit)
        one, two = self._up_to(limit), its.up_to(limit, self._template)
        if not one and not two and self._template:
            return ReferenceComparison(self._stored).overlap(other)
        common = len(one & two)
        compared = len(one) + len(two) - common
        if compared < (1 if limit == NO_LIMIT else MIN_SAMPLES):
            return Overlap(0.0, compared, False, False, False, False)
        return Overlap(
            share=common / compared,
            compared=compared,
            first_in_second=common == len(one),
            second_in_first=common == len(two),
            hidden_in_second=all(value in two for value in self._hidden if value <= limit),
            is_exact=limit == NO_LIMIT or self._own.total == its.total,
        )

    def _up_to(self, limit: int) -> set[int]:
        if self._own.limit <= limit:
            return self._samples
        return {value for value in self._samples if value <= limit}


if TYPE_CHECKING or compiled is None:
    Comparison = ReferenceComparison
else:
    Comparison = compiled.CompiledComparison


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
