"""The values of the rule: a page, a stored page, what an index found, and a decision.

:class:`Page` is the one list of the stored fields: each of them carries its :class:`Kind`.  Every
index and the export derive from it how they write and read the field.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import Enum
from operator import attrgetter
from typing import Annotated, Literal, NamedTuple, get_args, get_origin, get_type_hints

from scrapy_simhash.decision.holdings import NO_VALUES, PageValues, Told
from scrapy_simhash.errors import AnalysisReason

Verdict = Literal["unique", "variant", "near_duplicate", "exact_duplicate", "refresh", "skipped"]
DUPLICATES: frozenset[Verdict] = frozenset({"near_duplicate", "exact_duplicate"})

# Why a page has its verdict; docs/decisions.md explains each reason.
Reason = Literal[
    # unique, variant, near_duplicate, exact_duplicate
    "new_text",
    "shell",
    "new_links",
    "new_media",
    "new_data",
    "other_request",
    "other_site",
    "share_in_common",
    "within_distance",
    "same_text",
    "wall",
    # refresh
    "seen_before",
    "unchanged",
    "moved",
    "canonical",
    # skipped
    "opt_out",
    "left_out",
    "bad_meta",
    "method",
    "status",
    "not_html",
    "too_large",
    AnalysisReason,
    "index_unavailable",
    "internal_error",
]
# Why a variant is one.
VARIANT_REASONS: tuple[Reason, ...] = (
    "new_text",
    "new_links",
    "new_media",
    "new_data",
    "other_request",
    "other_site",
)
# It is kept for addresses that the spider was not handed.
NEW_ADDRESSES: tuple[Reason, ...] = ("new_links", "new_media")


# The first half is a hash of the callback, the second one of what it gets beside the page.
PURPOSE_BYTES = 16

# A page that shares so much with a kept one may be a copy in which something changes by itself.
NOISE_SHARE = 0.75


class Kind(Enum):
    """The kind of value that a stored field holds."""

    TEXT = "text"
    BYTES = "bytes of any length"
    SKETCH = "bytes of a sketch"
    DIGEST = "16 bytes"
    BITS = "an unsigned integer of 64 bits"
    COUNT = "an integer from 0 on"
    NUMBER = "an integer from 1 on"
    SECONDS = "seconds since the epoch, stored as a whole number"


class View(NamedTuple):
    """What of a page depends on what its site repeats."""

    content_fingerprint: int
    sketch: bytes
    own_values: bytes | None
    holds: PageValues


# Returns what a page is under a template; None if it has no content.
ViewUnder = Callable[[Collection[int]], "View | None"]


@dataclass(frozen=True, slots=True)
class Page:
    """A page as an index sees it.

    *request_fingerprint* is Scrapy's own, *scope* the part of the index to compare with,
    *fingerprint* the 64-bit simhash of the main text, *digest* 16 bytes that equal texts share,
    *crawl* the number of the crawl's run that fetched it, and *met_by* the crawls that have met it
    (:mod:`scrapy_simhash.decision.page`); None if it is judged for no crawl: then all kept pages
    stand for others.  The second view of a page, for an index that verifies: *content_fingerprint*
    and *sketch* (:mod:`scrapy_simhash.decision.sketch`).  *addresses* are the hashes of the links
    and media that it holds, None if there are too many, and *own_values* those of its values
    (:mod:`scrapy_simhash.decision.holdings`), None if they are not compared; *heading* is the hash
    of what heads it, None if nothing does.  *purpose* is a hash of what the request gives to its
    callback beside the page, None for nothing, and *levels* how many levels below the page are
    followed, None if all are.  *canonical* is the URL that the page gives as its own
    (rel=canonical), None if that is *url*.  It chooses among kept pages that are equally good as
    its representative, and says which other site may have the page.  *validators*: see
    :mod:`scrapy_simhash.crawl.validators`.

    Not stored: the ids of the page's *blocks* on *site*, the *section* of the site that it is in
    (:func:`~scrapy_simhash.urls.section_of`; empty if there are no sections), and what it
    *holds*: its values.  *is_asked_again*: the spider asks for the page whether it was judged
    before or not.  *is_poll*: callbacks have asked for it more than once, and it is a duplicate of
    no other page; others may be its duplicates.  *is_unmodified*: the server says that it is as it
    was stored; only that is known of it.  *view_under* computes the second view anew; a page
    has it if the template of its site was not settled.
    """

    url: Annotated[str, Kind.TEXT]
    request_fingerprint: Annotated[bytes, Kind.BYTES]
    scope: Annotated[str, Kind.TEXT]
    fingerprint: Annotated[int, Kind.BITS]
    digest: Annotated[bytes, Kind.DIGEST]
    tokens: Annotated[int, Kind.COUNT]
    judged_at: Annotated[float, Kind.SECONDS]
    crawl: Annotated[int | None, Kind.NUMBER] = None
    met_by: Annotated[bytes | None, Kind.DIGEST] = None
    content_fingerprint: Annotated[int | None, Kind.BITS] = None
    addresses: Annotated[bytes | None, Kind.BYTES] = None
    own_values: Annotated[bytes | None, Kind.BYTES] = None
    heading: Annotated[int | None, Kind.BITS] = None
    purpose: Annotated[bytes | None, Kind.DIGEST] = None
    levels: Annotated[int | None, Kind.COUNT] = None
    canonical: Annotated[str | None, Kind.TEXT] = None
    validators: Annotated[bytes | None, Kind.BYTES] = None
    sketch: Annotated[bytes | None, Kind.SKETCH] = None
    site: str = ""
    section: str = ""
    blocks: tuple[int, ...] = ()
    holds: PageValues = field(default=NO_VALUES, compare=False, repr=False)
    is_asked_again: bool = False
    is_poll: bool = False
    is_unmodified: bool = False
    view_under: ViewUnder | None = field(default=None, compare=False, repr=False)

    def distance_to(self, other: Page) -> int:
        """Return the number of bits in which the fingerprints of two main texts differ."""
        return (self.fingerprint ^ other.fingerprint).bit_count()

    def stored(self) -> Page:
        """Return the page with its stored fields alone."""
        return Page(*_stored_values(self))


class StoredField(NamedTuple):
    """A field of a page that is stored; an *optional* one may be None."""

    name: str
    kind: Kind
    optional: bool


# In the order of the class, where they are first.
STORED: tuple[StoredField, ...] = tuple(
    StoredField(name, get_args(hint)[1], type(None) in get_args(get_args(hint)[0]))
    for name, hint in get_type_hints(Page, include_extras=True).items()
    if get_origin(hint) is Annotated
)
_stored_values = attrgetter(*(field.name for field in STORED))


@dataclass(frozen=True, slots=True)
class Row:
    """A stored page: *representative* is the id of its kept page, None if it is one itself."""

    id: int
    page: Page
    representative: int | None = None

    @property
    def is_kept(self) -> bool:
        """Whether other pages are compared with this one."""
        return self.representative is None


@dataclass(frozen=True, slots=True)
class Found:
    """The rows of an index that a page is judged by.

    *own* is the row of the page's request.  *delivered* says whether the run that judged this row
    is known to have passed it on to its spider.  *same_text* are the representatives in the page's
    scope with its digest, oldest first.  *near* are the representatives within the distance, each
    with its distance: those found by the content first, then those found by the main text; in each
    view the closest first, then the oldest.  An index that finds them by the keys of their
    sketches, with verification, gives those with a key in common, most in common first.
    *are_left_out* says that there may be more of them than the index looks at for one page.
    *alike* are representatives that share rare values with the page.
    """

    own: Row | None = None
    delivered: bool = False
    same_text: Iterable[Row] = ()
    near: Iterable[tuple[Row, int]] = ()
    are_left_out: bool = False
    alike: Iterable[Row] = ()


class NearMiss(NamedTuple):
    """A kept page that is similar to another; the fields are those of :class:`Decision`."""

    share: float
    distance: int
    url: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on one page, and why.

    *representative* is the URL of the kept page, *distance* the number of bits in which the
    fingerprints of the two main texts differ; both are None for a page without a kept page.
    Of a ``variant``, they say which kept page it is near.
    *share* is the share of text in common, if it was verified.  *changed* says whether the text of
    a ``refresh`` has changed; it is None for any other verdict.  The *representative* of a
    ``refresh`` is where its text was before: at its own address, unless it has ``moved``.
    *closest* is the candidate that shares most with a unique page, but not enough; it does not
    count when decisions are compared.
    *is_crowded* says that a page is unique, but was not compared with all that are like it: there
    are too many.  *new* are some of the addresses in a page that was kept for them.
    *is_alias*: these are known under the rule that makes the page's address that of *closest*, or
    under a trusted one that is about it; or a ``refresh`` is *beside* others a duplicate.
    *kept_addresses* are those of the representative (:mod:`scrapy_simhash.decision.holdings`),
    *renamed* the numbers of those of the page that the representative has under another name.
    *better* says why a duplicate may be the better copy: its kept page names another address than
    its own as ``canonical``, or the duplicate is ``longer``.
    """

    verdict: Verdict
    reason: Reason
    representative: str | None = None
    distance: int | None = None
    share: float | None = None
    changed: bool | None = None
    closest: NearMiss | None = field(default=None, compare=False)
    is_crowded: bool = field(default=False, compare=False)
    new: tuple[Told, ...] = field(default=(), compare=False)
    is_alias: bool = field(default=False, compare=False)
    kept_addresses: bytes | None = field(default=None, compare=False, repr=False)
    renamed: tuple[int, ...] = field(default=(), compare=False, repr=False)
    better: tuple[str, ...] = field(default=(), compare=False)
    beside: Decision | None = field(default=None, compare=False, repr=False)

    @property
    def replaces(self) -> str | None:
        """The URL of the page whose place this one takes in this crawl, as its canonical copy."""
        return self.representative if self.reason == "canonical" else None

    @property
    def may_be_noise(self) -> bool:
        """Whether what is new beside a kept page may only have changed by itself."""
        if self.verdict == "unique":
            return self.closest is not None and self.closest.share >= NOISE_SHARE
        return self.verdict == "variant" and self.reason not in ("other_request", "other_site")

    @property
    def is_kept(self) -> bool:
        """Whether the page is new to the index, and stands for others from now on."""
        return self.verdict in ("unique", "variant")

    @property
    def stands_for_others(self) -> bool:
        """Whether the page is a kept one: new to the index, or met again."""
        return self.is_kept or self.verdict == "refresh"

    @property
    def is_duplicate(self) -> bool:
        """Whether the page is a duplicate of a kept one."""
        return self.verdict in DUPLICATES

    def kept_url(self, url: str) -> str:
        """Return the URL of the kept page that has the text of the page at *url*: maybe its own."""
        return self.representative or url if self.is_duplicate else url

    def content_url(self, url: str) -> str:
        """Return the same; for an alias that of the page which it is like, or which it replaces."""
        if self.is_alias and self.beside is not None:
            return self.beside.kept_url(url)
        found = self.closest.url if self.is_alias and self.closest else self.kept_url(url)
        return self.replaces or found

    @property
    def is_unchanged(self) -> bool:
        """Whether the page has not changed since an earlier crawl passed it on to its spider."""
        return self.reason == "unchanged"


# The crawls that have met a kept page: the numbers of the latest ones, of which 0 is none.  A crawl
# that was forgotten meets the page once more.
_NUMBERS = struct.Struct(">4I")
MAX_CRAWLS = 4


def met_by(*crawls: int) -> bytes:
    """Return the stored form of the numbers of crawls, the latest first, at most four of them."""
    numbers = crawls[:MAX_CRAWLS]
    return _NUMBERS.pack(*numbers, *[0] * (MAX_CRAWLS - len(numbers)))


def crawls_in(stored: bytes | None) -> tuple[int, ...]:
    """Return the numbers of the crawls that have met a page, the latest first."""
    return () if stored is None else tuple(filter(None, _NUMBERS.unpack(stored)))


def together(now: bytes | None, before: bytes | None) -> bytes | None:
    """Return who has met a page that is met again; *now* comes first."""
    numbers = dict.fromkeys(crawls_in(now) + crawls_in(before))
    return met_by(*numbers) if numbers else None
