"""What of an archive is not read, counted by its kind, with some places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Places of each kind.
SHOWN = 5


@dataclass
class Unread:
    """Counts what is not read: by the type of its record, or by what is wrong with it.

    *places* are the first ones of each kind, in the order of their files' names: a file with the
    byte, line or row.  So it is the same in whatever order those of several files are added.
    """

    counts: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    def add(self, file: str, kind: str, offset: int) -> None:
        """Count what begins at a place in a file."""
        self._add(kind, 1, [(file, offset)])

    def update(self, other: Unread) -> None:
        """Count what another one has counted, too."""
        for kind, count in other.counts.items():
            self._add(kind, count, other.places[kind])

    def _add(self, kind: str, count: int, places: list[tuple[str, int]]) -> None:
        self.counts[kind] += count
        known = self.places.setdefault(kind, [])
        if len(known) < SHOWN or places[0] < known[-1]:
            self.places[kind] = sorted([*known, *places])[:SHOWN]

    def as_json(self) -> dict[str, Any]:
        """Return the counts and places in values that JSON has, the most first."""
        return {
            kind: {
                "records": self.counts[kind],
                "first": [{"file": file, "offset": offset} for file, offset in self.places[kind]],
            }
            for kind in self._ranked()
        }

    def lines(self) -> list[str]:
        """Return the same for people: a line for each kind, with its first place."""
        line = "not read ({}): {:,}, the first in {} at {:,}"
        return [line.format(one, self.counts[one], *self.places[one][0]) for one in self._ranked()]

    def _ranked(self) -> list[str]:
        return sorted(self.counts, key=lambda kind: (-self.counts[kind], kind))

    @classmethod
    def from_json(cls, mapping: Mapping[str, Any]) -> Unread:
        """Return what :meth:`as_json` made its values of."""
        unread = cls()
        for kind, found in mapping.items():
            places = [(one["file"], one["offset"]) for one in found["first"]]
            unread._add(kind, found["records"], places)
        return unread
