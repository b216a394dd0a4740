"""How much of their content two pages share, by their sketches as they are stored.

``Comparison`` is the compiled class (compiled.pyx), or the one below if that is not built.  Blocks
of the site's template do not count.  What a section repeats is not stored with its pages: beside a
kept page of another section, it does not count either (:class:`BySection`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import ModuleType
from typing import TYPE_CHECKING, Generic, TypeVar

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

T = TypeVar("T")


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


class BySection(Generic[T]):
    """What *make* makes of a page of a *section*, once for each section that it is compared with.

    *make* takes the ids of what does not count: of the *template*, and of what *template_of* says
    that the other section repeats.
    """

    def __init__(
        self,
        template: Collection[int],
        section: str,
        template_of: TemplateOf,
        make: Callable[[Collection[int]], T],
    ) -> None:
        self._template = template
        self._section = section
        self._template_of = template_of
        self._make = make
        self._made: dict[str, T] = {}

    @property
    def own(self) -> T:
        """What counts beside pages of its own section."""
        return self.beside(self._section)

    def beside(self, section: str) -> T:
        """Return what counts beside a page of a section; the same as :attr:`own` if too many are.

        Cost: that of *make* for each of the first :data:`MAX_SECTIONS` sections that repeat more.
        """
        made = self._made
        if section not in made:
            if section == self._section:
                made[section] = self._make(self._template)
            elif len(made) >= MAX_SECTIONS:
                return self.own
            else:
                more = self._template_of(section).difference(self._template)
                made[section] = self._make({*self._template, *more}) if more else self.own
        return made[section]


class Comparisons:
    """Compares a page with kept pages of its own section, and of others.

    *template* holds the ids of the blocks that do not count, *template_of* returns those that
    another section repeats.
    """

    def __init__(
        self, own: bytes, template: Collection[int], section: str, template_of: TemplateOf
    ) -> None:
        self._begun = BySection(
            template, section, template_of, lambda template: Comparison(own, marks(template))
        )

    def overlap(self, other: bytes, section: str) -> Overlap:
        """Return what the page shares with one of a section, at least.

        Cost: 10 us; 100 us for the first page of each section.
        """
        own = self._begun.own
        found = own.overlap(other)
        if found.share == 1 or (beside := self._begun.beside(section)) is own:
            return found
        return max(found, beside.overlap(other), key=lambda one: one.share)


def marks(template: Collection[int]) -> set[int]:
    """Return the marks that the blocks of a template have in sketches."""
    return {mark(block) for block in template}
