"""What a page is beside kept pages of its own section, and of others.

What a section repeats is not stored with its pages.  So beside a kept page of another section, it
does not count either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Generic, TypeVar

# A page is compared with kept ones of so many sections; what others repeat counts as their own.
MAX_SECTIONS = 5

# Returns the ids of the blocks that a section of a site is known to repeat, as Index.template does.
TemplateOf = Callable[[str], frozenset[int]]

T = TypeVar("T")


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
