"""What this package raises; every class derives from :class:`SimhashError`.

A message gives name, rule and value, and what to do next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

# Why a page could not be analysed; decision/page.py lists these among all reasons of a decision.
AnalysisReason = Literal[
    "no_text",
    "too_many_tags",
    "too_deep",
    "extraction_failed",
    "timed_out",
    "worker_died",
    "workers_busy",
]


# What the setting decides alone in the scheme of an index.
_TAKES = re.compile(r"scheme '(content \d+ for )(\w+'; .* ')\1")


class SimhashError(Exception):
    """Base of all errors of this package."""


class SettingsError(SimhashError, ValueError):
    """A setting has a value that its rule refuses."""


class AnalysisError(SimhashError):
    """A page could not be analysed; *reason* is the short code that its decision gets."""

    def __init__(self, reason: AnalysisReason, detail: str) -> None:
        super().__init__(reason, detail)  # both, so that it can come from a worker
        self.reason: AnalysisReason = reason
        self.detail = detail

    def __str__(self) -> str:
        return self.detail


class FingerprintIndexError(SimhashError):
    """An index cannot be used."""


class IndexFormatError(FingerprintIndexError):
    """The file is no index, is damaged, or is of a format that this version does not read."""


class IndexMismatchError(FingerprintIndexError):
    """The index was built with other parameters than this crawl asks for."""


def differing(one: object, other: object) -> tuple[str, str]:
    """Return two values of a parameter as a message shows them: of schemes, the parts that differ.

    >>> differing("features words-3; content 8 for items", "features words-3; content 8 for text")
    ("'content 8 for items'", "'content 8 for text'")
    """
    parts, others = str(one).split("; "), str(other).split("; ")
    if len(parts) != len(others) or len(parts) == 1:
        return repr(one), repr(other)
    pairs = [pair for pair in zip(parts, others, strict=True) if pair[0] != pair[1]]
    shown = ("; ".join(side) for side in zip(*pairs, strict=True))
    return repr(next(shown)), repr(next(shown))


def refuse_mismatch(
    place: object, parts: Iterable[tuple[str, object, object]], advice: str
) -> None:
    """Refuse an index by its parameters: the name of each, what it has, and what a crawl asks for.

    :raises IndexMismatchError: two differ; *advice* says what to do.
    """
    for name, has, wanted in parts:
        if has != wanted:
            its, asked = differing(has, wanted)
            told = f"{place} was built with {name} {its}; this crawl asks for {asked}. {advice}"
            raise IndexMismatchError(_TAKES.sub(r"SIMHASH_TAKES = '\2", told))


class IndexUnavailableError(FingerprintIndexError):
    """The index did not answer: busy, disk full, lost.  The page was not recorded."""


class ServerAwayError(IndexUnavailableError):
    """The server of the index does not answer."""


class SourceError(SimhashError):
    """A page, a decisions feed or another source cannot be read, or what is made of it written."""
