"""Arrays with room for more: to append to one takes a call, to set an item in one does not."""

from __future__ import annotations

from array import array

# More than most pages need: of each page there are twenty.
_ROOM = 1_024


def room_for(code: str) -> array[int]:
    """Return an array of zeros of a type."""
    return array(code, [0]) * _ROOM


def doubled(code: str, held: array[int]) -> array[int]:
    """Return an array of twice the length, which begins as one does."""
    return array(code, bytes(held) * 2)
