"""A few hundred bytes of a page that tell how much of its text another page shares.

A sketch is a bottom-k sample (Broder, "On the resemblance and containment of documents",
SEQUENCES 1997; Cohen and Kaplan, "Summarizing data using bottom-k sketches", PODC 2007):
of all shingles of the page's content, those with the lowest hashes.  Each carries a mark of
the block that it stands in, so that the shingles of blocks which turn out to be the site's
template can still be left out when two pages are compared, however early they were seen.

::

    | sample is whole | hash, block | hash, block | ...      hashes rise; sizes in bytes
            1            4      2      4      2

Byte order is big-endian; the hash is the upper half of 64 bits, the mark the lower 16 bits
of the block's id.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import NamedTuple

# 1 + 85 x 6 bytes: as many as fit into 512.  The standard error of a share of 0.9 is 0.03.
SAMPLES = 85
# Below so many samples to go by, a share says nothing, unless the samples are the whole page.
MIN_SAMPLES = 20

_HEAD = struct.Struct(">?")
_SAMPLE = struct.Struct(">IH")


def mark(block: int) -> int:
    """Return the mark of a block in a sketch: the lower 16 bits of its id."""
    return block & 0xFFFF


@dataclass(frozen=True, slots=True)
class Sketch:
    """The samples of a page (hash -> block mark), rising; *whole* says that they are all."""

    whole: bool
    samples: Mapping[int, int]

    @classmethod
    def of(cls, shingles: Mapping[int, int]) -> Sketch:
        """Return the sketch of *shingles*: 64-bit hash -> id of the block it stands in."""
        lowest = nsmallest(SAMPLES, shingles.items())
        samples = {value >> 32: mark(block) for value, block in lowest}
        return cls(len(shingles) <= SAMPLES, samples)

    def to_bytes(self) -> bytes:
        """Return at most 512 bytes."""
        samples = b"".join(_SAMPLE.pack(value, mark) for value, mark in self.samples.items())
        return _HEAD.pack(self.whole) + samples

    @classmethod
    def from_bytes(cls, stored: bytes) -> Sketch:
        """Return what :meth:`to_bytes` stored."""
        (whole,) = _HEAD.unpack_from(stored)
        return cls(whole, dict(_SAMPLE.iter_unpack(stored[_HEAD.size :])))


class Overlap(NamedTuple):
    """The estimated Jaccard similarity of two pages, and how many shingles it goes by."""

    share: float
    compared: int


def overlap(a: Sketch, b: Sketch, template: Collection[int] = ()) -> Overlap:
    """Return what share of their shingles two pages have in common, from 0 to 1.

    Samples from a block whose mark is in *template* are left out on both sides, unless both
    pages have no others.  Exact where both samples are whole; 0 where too few are left.
    """
    limits = [max(sketch.samples, default=0) for sketch in (a, b) if not sketch.whole]
    limit = min(limits, default=1 << 32)
    one, two = (
        {value for value, mark in sketch.samples.items() if value <= limit and mark not in template}
        for sketch in (a, b)
    )
    union = one | two
    if not union and template:
        return overlap(a, b)
    if len(union) < (MIN_SAMPLES if limits else 1):
        return Overlap(0.0, len(union))
    return Overlap(len(one & two) / len(union), len(union))
